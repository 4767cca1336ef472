/* The transcript as text, and its sentences as a table. Both follow the alignment view's recording and selection. */

/* A node for each word; of long texts the browser lays out only what is near the window (content-visibility). A block
   ends with a sentence, so that its end reads as a paragraph's. */
const WORDS_A_BLOCK = 150;

parts.text = ({ root, element }) => {
  const act = (name, onclick) => h("button", { class: "ts-btn ts-tall", type: "button", onclick }, name);
  const copy = act("Copy text", onCopy);
  const others = [
    act("Compare decoders", () => compareThis()),
    act("Correct it", () => annotate("transcribe", page.document.doc)),
  ];
  const prose = h("div", { class: "ts-read", dir: "auto" });
  const reading = h("span", { class: "ts-tag", hidden: true, "data-reading": "" });
  const language = h("span", { class: "ts-tag", hidden: true, "data-language": "" });
  root.append(
    h(
      "section",
      { class: "ts-card" },
      h(
        "header",
        {},
        h("h2", {}, "Text"),
        language,
        reading,
        h("span", { class: "ts-dim ts-wide-only" }, "Click a word to hear it"),
        h("span", { class: "ts-grow" }),
        h("div", { class: "ts-actions" }, copy, others),
      ),
      h("div", { class: "ts-body" }, prose),
    ),
  );
  let nodes = [];
  let current = null;
  let pointed = null;

  function build() {
    const words = page.document?.tiers.words;
    reading.textContent = readingShown();
    reading.hidden = !reading.textContent;
    language.textContent = page.document?.language ?? "";
    language.hidden = !language.textContent;
    for (const one of others) one.disabled = !page.document;
    nodes = [];
    current = pointed = null;
    if (!words?.length) {
      prose.replaceChildren(h("p", { class: "ts-dim" }, "No words were heard in this recording."));
      return;
    }
    const blocks = [];
    let begun = -Infinity;
    for (let i = 0; i < words.length; i++) {
      const starts = words.sentence[i] !== words.sentence[i - 1] && i - begun >= WORDS_A_BLOCK;
      if (i === 0 || starts || i - begun >= 4 * WORDS_A_BLOCK) {
        blocks.push(h("span", { class: words.length > 3 * WORDS_A_BLOCK ? "ts-block" : "" }));
        begun = i;
      }
      const node = document.createElement("span");
      node.className = "ts-w";
      node.textContent = words.text[i];
      node.dataset.i = i;
      nodes.push(node);
      blocks.at(-1).append(node, " ");
    }
    prose.replaceChildren(...blocks);
    paint();
  }

  function paint() {
    const words = page.document?.tiers.words;
    if (!words) return;
    nodes.forEach((node, i) => {
      const { alpha, css } = tint(words.confidence[i]);
      node.style.background = alpha > 0.1 ? css : "";
      node.classList.toggle("ts-tint", alpha > 0.5);
      node.classList.toggle("ts-low", isLow(words.confidence[i]));
    });
    element.dataset.low = nodes.filter((node) => node.classList.contains("ts-low")).length;
  }

  function mark() {
    current?.classList.remove("ts-current");
    const index = page.selection?.tier === "sentences" ? null : page.selection?.word;
    current = index === null || index === undefined ? null : nodes[index];
    current?.classList.add("ts-current");
    scrollInside(prose, current);
  }

  function point(found) {
    pointed?.classList.remove("ts-pointed");
    const word = found && { words: found.index, tokens: page.document?.tiers.tokens.word[found.index] }[found.tier];
    pointed = word === undefined || word === null ? null : (nodes[word] ?? null);
    pointed?.classList.add("ts-pointed");
  }

  const wordOf = (event) => event.target.closest?.(".ts-w");
  prose.addEventListener("click", (event) => {
    const node = wordOf(event);
    if (node && !String(getSelection())) page.select("words", Number(node.dataset.i));
  });
  prose.addEventListener("pointerover", (event) => {
    const node = wordOf(event);
    emit("hover", node ? { tier: "words", index: Number(node.dataset.i), here: false } : null);
  });
  prose.addEventListener("pointerleave", () => emit("hover", null));

  async function onCopy() {
    await copyText(page.document?.text ?? "");
    copy.textContent = "Copied";
    setTimeout(() => (copy.textContent = "Copy text"), 1500);
  }

  on("document", build);
  on("selection", mark);
  on("pointed", point);
  on("threshold", paint);
  on("theme", paint);
  build();
};

/* Bring a node into view inside its own scrolling box; the page itself stays where it is. */
function scrollInside(box, node) {
  if (!node || box.scrollHeight <= box.clientHeight) return;
  const [outer, inner] = [box.getBoundingClientRect(), node.getBoundingClientRect()];
  if (inner.top >= outer.top + 32 && inner.bottom <= outer.bottom) return;
  box.scrollTop += inner.top - outer.top - (outer.height - inner.height) / 2;
}

parts.sentences = ({ root, element }) => {
  const body = h("tbody");
  const head = h(
    "tr",
    {},
    h("th", {}, h("span", { class: "ts-offscreen" }, "Play")),
    h("th", { class: "ts-right" }, "Start, s"),
    h("th", {}, "Sentence"),
    h("th", { class: "ts-right ts-wide-only" }, "Words/s"),
    h("th", { class: "ts-right" }, "Confidence"),
  );
  const box = h(
    "div",
    { class: "ts-scroll ts-tall-list" },
    h("table", { class: "ts-table ts-sentences" }, h("thead", {}, head), body),
  );
  root.append(box);
  let rows = [];
  let selected = null;

  function build() {
    const sentences = page.document?.tiers.sentences;
    selected = null;
    rows = Array.from({ length: sentences?.length ?? 0 }, (_, i) => buildRow(sentences, i));
    body.replaceChildren(...rows.map((row) => row.node));
    paint();
  }

  function buildRow(sentences, i) {
    const length = sentences.end[i] - sentences.start[i];
    const bar = h("i");
    const confidence = h(
      "span",
      { class: "ts-confidence" },
      h("b", { class: "ts-wide-only" }, bar),
      h("span", {}, sentences.confidence[i].toFixed(2)),
    );
    const start = sentences.start[i];
    const node = h(
      "tr",
      { "data-i": i },
      h(
        "td",
        {},
        h("button", { class: "ts-play", type: "button", "aria-label": `Play sentence ${i + 1}` }, icon("play")),
      ),
      h("td", { class: "ts-figure" }, start >= 60 ? clock(start, 2) : start.toFixed(2)),
      h("td", { class: "ts-sentence", dir: "auto" }, sentences.text[i]),
      h("td", { class: "ts-figure ts-wide-only" }, length > 0 ? (sentences.words[i] / length).toFixed(1) : "–"),
      h("td", { class: "ts-figure" }, confidence),
    );
    return { node, bar, confidence };
  }

  function paint() {
    const sentences = page.document?.tiers.sentences;
    rows.forEach(({ bar, confidence }, i) => {
      bar.style.width = `${100 * clamp(sentences.confidence[i], 0, 1)}%`;
      bar.style.background = confidenceColour(sentences.confidence[i]);
      confidence.classList.toggle("ts-low", isLow(sentences.confidence[i]));
    });
    element.dataset.low = rows.filter(({ confidence }) => confidence.classList.contains("ts-low")).length;
  }

  function mark() {
    selected?.classList.remove("ts-selected");
    selected = rows[page.selection?.sentence]?.node ?? null;
    selected?.classList.add("ts-selected");
    scrollInside(box, selected);
  }

  body.addEventListener("click", (event) => {
    const row = event.target.closest("tr");
    if (row && !String(getSelection())) page.select("sentences", Number(row.dataset.i));
  });

  on("document", build);
  on("selection", mark);
  on("threshold", paint);
  on("theme", paint);
  build();
};

/* "7 of 78 below" beside the histogram's title; the chart itself comes from Python after the event "shown". */
parts.below = ({ root }) => {
  const show = () => {
    const tokens = page.document?.tiers.tokens;
    root.textContent = tokens ? `${amount(countLow(tokens))} of ${amount(tokens.length)} below` : "";
  };
  on("document", show);
  on("threshold", show);
  show();
};

/* The number of sentences, beside their title. */
parts.count = ({ root }) => {
  const show = () => (root.textContent = page.document ? amount(page.document.tiers.sentences.length) : "");
  on("document", show);
  show();
};

/* A place for a short text from Python, or from another part. */
parts.line = ({ root, props, watch }) => {
  const show = () => (root.textContent = props.value ?? "");
  watch("value", show);
  show();
};
