/* The comparison's texts, side by side; words that differ are marked, and a missing one is an empty slot. Drawn from
   `lab` (see compare.js).

   An hour has some ten thousand words a decoder. A block of them is plain text until it comes near the visible part;
   only then does each word get a node of its own. Left on the element for tests: data-marks (marks of each decoder). */

const FILLED_AT_ONCE = 3; /* blocks of a text that are filled before anybody scrolls; of a short one, all */
const NEAR = "400px 0px";

parts.compare_texts = ({ root, element }) => {
  let texts = []; /* of each column what buildText gives */
  let built = null; /* of which data; the picture of a new comparison comes before its texts */
  let lit = [];
  let current = [];

  function build() {
    texts.forEach((text) => text.stop());
    lit = current = [];
    built = lab.data;
    if (!lab.data) {
      texts = [];
      return root.replaceChildren();
    }
    texts = lab.data.columns.map((_, k) => buildText(k));
    root.replaceChildren(
      h("div", { class: "ts-compare-texts", "data-columns": texts.length }, lab.data.columns.map(card)),
    );
    element.dataset.marks = texts.map(({ marks }) => marks).join();
    markCurrent();
  }

  function card({ name, seconds: took, factor }, k) {
    return h(
      "section",
      { class: "ts-card", "data-id": LETTERS[k] },
      h(
        "header",
        {},
        letterBadge(k),
        h("h2", { class: "ts-ellipsis" }, name),
        h("span", { class: "ts-grow" }),
        h("span", { class: "ts-mono ts-dim ts-nowrap" }, workOf(took, factor)),
      ),
      h("div", { class: "ts-body" }, texts[k].node),
    );
  }

  function markCurrent() {
    current.forEach((node) => node.classList.remove("ts-current"));
    current = [];
    if (lab.current === null || !built || built !== lab.data) return;
    const { readings, slots } = lab.data.differences[lab.current];
    texts.forEach((text, k) => {
      const node = readings[k] === null ? text.slot(slots[k], lab.current) : text.word(readings[k]);
      if (!node) return;
      node.classList.add("ts-current");
      current.push(node);
      scrollInside(text.node, node);
    });
  }

  function light() {
    lit.forEach((node) => node.classList.remove("ts-pointed"));
    lit = built === lab.data ? (lab.members[lab.pointed] ?? []).map(([k, i]) => texts[k].word(i)) : [];
    lit.forEach((node) => node.classList.add("ts-pointed"));
  }

  const place = ({ target }) => {
    const node = target.closest?.(".ts-w");
    return node ? [Number(node.closest("[data-column]").dataset.column), Number(node.dataset.i)] : null;
  };
  root.addEventListener("pointerover", (event) => {
    const found = place(event);
    pointAt(found ? lab.groups[found[0]][found[1]] : undefined);
  });
  root.addEventListener("pointerleave", () => pointAt(undefined));
  root.addEventListener("click", (event) => {
    if (String(getSelection())) return;
    const found = place(event);
    const empty = event.target.closest?.(".ts-missing");
    if (found) lab.select(`words${found[0]}`, found[1]);
    else if (empty) goTo(Number(empty.dataset.difference));
  });

  on("lab", build);
  on("lab:current", markCurrent);
  on("lab:pointed", light);
  build();
};

/* The text of one column: its node, the number of its marks, and the nodes of words and slots, made when asked for. */
function buildText(k) {
  const words = lab.document.tiers[`words${k}`];
  const marks = lab.marks[k];
  const slots = new Map(); /* word -> differences that have an empty slot before it */
  lab.data.differences.forEach(({ slots: places }, i) => {
    if (places[k] !== null) slots.set(places[k], [...(slots.get(places[k]) ?? []), i]);
  });
  const node = h("div", { class: "ts-compare-text", dir: "auto", "data-column": k });
  const empty = [...slots.values()].reduce((sum, { length }) => sum + length, 0);
  const count = Math.ceil(Math.max(words.length, empty ? 1 : 0) / WORDS_A_BLOCK);
  const blocks = Array.from({ length: count }, (_, b) => ({ filled: null, node: plain(b) }));
  const numbers = new Map(blocks.map((block, b) => [block.node, b]));
  node.append(...numbers.keys());
  if (!count) node.append(h("p", { class: "ts-dim" }, "No words were heard."));
  const watcher = new IntersectionObserver(
    (seen) => seen.forEach(({ isIntersecting, target }) => isIntersecting && fill(numbers.get(target))),
    { root: node, rootMargin: NEAR },
  );
  for (let b = 0; b < count; b++) {
    if (count <= FILLED_AT_ONCE || b === 0) fill(b);
    else watcher.observe(blocks[b].node);
  }

  /* Visit the words of a block, and the slots before each; behind the last word stand the last slots. */
  function each(b, visitWord, visitSlot) {
    const end = Math.min(words.length, (b + 1) * WORDS_A_BLOCK);
    for (let i = b * WORDS_A_BLOCK; i < end; i++) {
      slots.get(i)?.forEach(visitSlot);
      visitWord(i);
    }
    if (end === words.length) slots.get(end)?.forEach(visitSlot);
  }

  function plain(b) {
    const texts = [];
    each(b, (i) => texts.push(words.text[i]), () => texts.push("–"));
    return h("span", { class: count > FILLED_AT_ONCE ? "ts-block" : "" }, `${texts.join(" ")} `);
  }

  function fill(b) {
    const block = blocks[b];
    if (block.filled) return block.filled;
    watcher.unobserve(block.node);
    const nodes = [];
    block.filled = { words: new Map(), slots: new Map() };
    const add = (kind, key, made) => {
      block.filled[kind].set(key, made);
      nodes.push(made, " ");
    };
    each(
      b,
      (i) => {
        const at = marks.get(i);
        const isMarked = at !== undefined;
        add("words", i, h("span", { class: isMarked ? "ts-w ts-diff" : "ts-w", "data-i": i, "data-difference": at }, words.text[i]));
      },
      (i) => add("slots", i, h("span", { class: "ts-missing", "data-difference": i, title: "No word here" }, "–")),
    );
    block.node.replaceChildren(...nodes);
    return block.filled;
  }

  return {
    node,
    marks: marks.size + empty,
    word: (i) => fill(Math.floor(i / WORDS_A_BLOCK)).words.get(i),
    /* The slot of a difference, which stands before a word. */
    slot: (before, difference) =>
      before === null ? undefined : fill(Math.min(count - 1, Math.floor(before / WORDS_A_BLOCK))).slots.get(difference),
    stop: () => watcher.disconnect(),
  };
}
