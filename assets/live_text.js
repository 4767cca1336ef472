/* The live text: words that stay, the draft behind them, and the sentences. Only what has changed is touched. */

const LIVE_BLOCK = 120; /* words of one block: of long texts the browser lays out only what is near the window */
const NEAR_END = 48; /* pixels from the end within which the text keeps following the voice */

function makeLiveText() {
  const final = h("span", { class: "ts-live-final" });
  const draft = h("span", { class: "ts-live-draft" });
  const caret = h("span", { class: "ts-live-caret", "aria-hidden": "true", hidden: true });
  const empty = h("span", { class: "ts-dim ts-live-empty" }, "Press Start and speak. Your words appear here.");
  const prose = h("div", { class: "ts-live-prose", dir: "auto", tabindex: 0, role: "log", "aria-label": "Live text" });
  const newer = h("button", { class: "ts-btn ts-live-newer", type: "button", hidden: true }, icon("down"), "Newer text");
  prose.append(empty, final, draft, caret);
  let words = []; /* {text, start, end, confidence, node} */

  const isAtEnd = () => prose.scrollHeight - prose.scrollTop - prose.clientHeight < NEAR_END;

  /* Rows [text, start, end, confidence] from the position `first` on; there are `count` in all. */
  function take({ first, items, count }, newDraft) {
    const follows = isAtEnd();
    items.forEach((item, i) => put(first + i, item));
    for (const { node } of words.splice(count)) remove(node);
    if (newDraft) draft.textContent = words.length ? newDraft.text : newDraft.text.trimStart();
    empty.hidden = words.length > 0 || draft.textContent !== "";
    if (follows) prose.scrollTop = prose.scrollHeight;
    newer.hidden = follows || isAtEnd();
  }

  function put(index, [text, start, end, confidence]) {
    let word = words[index];
    if (!word) {
      word = words[index] = { node: h("span", { class: "ts-w", "data-i": index }) };
      if (index % LIVE_BLOCK === 0) final.append(h("span", { class: index ? "ts-live-block" : "" }));
      final.lastChild.append(index ? " " : "", word.node);
    }
    if (word.text !== text) word.node.textContent = text;
    Object.assign(word, { text, start, end, confidence });
    paintWord(word);
  }

  function remove(node) {
    node.previousSibling?.remove();
    node.remove();
  }

  function paintWord({ node, confidence }) {
    const { alpha, css } = tint(confidence);
    node.style.background = alpha > 0.1 ? css : "";
    node.classList.toggle("ts-tint", alpha > 0.5);
    node.classList.toggle("ts-low", isLow(confidence));
  }

  function clear() {
    words = [];
    final.replaceChildren();
    draft.textContent = "";
    empty.hidden = false;
    newer.hidden = true;
  }

  const repaint = () => words.forEach(paintWord);
  newer.addEventListener("click", () => {
    prose.scrollTop = prose.scrollHeight;
    newer.hidden = true;
  });
  prose.addEventListener("scroll", () => isAtEnd() && (newer.hidden = true));
  on("threshold", repaint);
  on("theme", repaint);
  return {
    node: h("div", { class: "ts-live-text" }, prose, newer),
    prose,
    take,
    clear,
    listen: (isOn) => (caret.hidden = !isOn),
    word: (index) => words[index],
    text: () => words.map(({ text }) => text).join(" "),
    count: () => words.length,
  };
}

/* Sentences with their times, the newest first. onPlay(start, end) once there is something to play. */
function makeLiveSentences(onPlay) {
  const count = h("span", { class: "ts-dim" });
  const body = h("tbody");
  const node = h(
    "section",
    { class: "ts-card", hidden: true },
    h(
      "header",
      {},
      h("h2", {}, "Sentences"),
      count,
      h("span", { class: "ts-grow" }),
      h("span", { class: "ts-dim ts-small" }, "newest first"),
    ),
    h("div", { class: "ts-scroll ts-tall-list" }, h("table", { class: "ts-table ts-live-sentences" }, body)),
  );
  let rows = []; /* oldest first */

  function take({ first, items, count: total }) {
    items.forEach((item, i) => put(first + i, item));
    for (const { row } of rows.splice(total)) row.remove();
    count.textContent = amount(rows.length);
    node.hidden = rows.length === 0;
  }

  function put(index, [text, start, end, confidence]) {
    let entry = rows[index];
    if (!entry) {
      const cells = { start: h("span"), text: h("td", { class: "ts-sentence", dir: "auto" }) };
      cells.mark = h("span", { class: "ts-confidence" });
      const play = h("button", { class: "ts-play", type: "button", "aria-label": "Play this sentence" }, icon("play"));
      cells.row = h(
        "tr",
        {},
        h("td", { class: "ts-figure" }, h("div", { class: "ts-live-start" }, play, cells.start)),
        cells.text,
        h("td", { class: "ts-figure" }, cells.mark),
      );
      cells.row.addEventListener("click", () => String(getSelection()) || onPlay(rows[index].begin, rows[index].end));
      entry = rows[index] = cells;
      body.prepend(cells.row);
    }
    Object.assign(entry, { begin: start, end, confidence });
    entry.start.textContent = start >= 60 ? clock(start, 2) : start.toFixed(2);
    if (entry.text.textContent !== text) entry.text.textContent = text;
    entry.mark.textContent = confidence.toFixed(2);
    entry.mark.classList.toggle("ts-low", isLow(confidence));
  }

  function clear() {
    rows = [];
    body.replaceChildren();
    node.hidden = true;
  }

  on("threshold", () => rows.forEach(({ mark, confidence }) => mark.classList.toggle("ts-low", isLow(confidence))));
  return { node, take, clear, count: () => rows.length, playable: (isOn) => node.classList.toggle("ts-playable", isOn) };
}

/* What was heard live beside what the whole recording gives; `answer` is from components/live_difference.py. */
function differenceCard(answer) {
  const column = (title, words) =>
    h(
      "div",
      {},
      h("h3", { class: "ts-small" }, title),
      h(
        "p",
        { class: "ts-live-compared", dir: "auto" },
        words.flatMap(([text, kind]) => {
          if (kind === "same") return [text, " "];
          if (kind === "missing") return [h("span", { class: "ts-missing", title: "no word here" }, "–"), " "];
          return [h("b", { class: "ts-diff" }, text), " "];
        }),
      ),
    );
  const { differ, words, shift } = answer;
  const said = differ ? `${amount(differ)} of ${amount(words)} words differ` : "The same words";
  const moved = shift === null ? "" : `, boundaries ${Math.round(shift * 1000)} ms apart on average`;
  return h(
    "section",
    { class: "ts-card ts-live-difference", "data-differ": differ },
    h(
      "header",
      {},
      h("h2", {}, "Live and whole"),
      h("span", { class: "ts-grow" }),
      h("span", { class: "ts-dim ts-small" }, said + moved),
    ),
    h(
      "div",
      { class: "ts-body ts-pair" },
      column("Heard live, a few seconds at a time", answer.live),
      column("Heard as a whole, afterwards", answer.whole),
    ),
  );
}

/* In Transcribe: the comparison for a recording that was made in Live. Server function: live_beside(doc) */
parts.live_beside = ({ root, server }) => {
  let shown = "";
  async function show() {
    const doc = page.document?.doc;
    const key = doc ? `${doc}:${page.document.revision}` : "";
    if (key === shown) return;
    shown = key;
    root.replaceChildren();
    if (!doc) return;
    const answer = await server.live_beside(doc).catch(() => null);
    if (answer && key === shown) root.replaceChildren(differenceCard(answer));
  }
  on("document", show);
  show();
};
