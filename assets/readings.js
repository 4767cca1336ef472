/* The readings that a beam found: pick one and it is what the tiers, the text and the downloads hold.

   Data: page.document.readings, from load_document (components/readings.py). Event to Python: pick {doc, reading} */

/* Words of a reading with those marked that differ from the best one's. */
function differenceNodes(runs) {
  const nodes = runs.map(([kind, text]) => {
    if (kind === "other") return h("b", { class: "ts-diff" }, text);
    if (kind === "missing") return h("span", { class: "ts-missing", title: `without “${text}”` }, "–");
    return h("span", { class: kind === "gap" ? "ts-dim" : "" }, text);
  });
  return nodes.flatMap((node) => [node, " "]);
}

parts.readings = ({ root, element, trigger }) => {
  const show = readingsCard({
    root,
    element,
    get: () => page.document?.readings,
    of: () => page.document.doc,
    pick: (reading) => trigger("pick", { doc: page.document.doc, reading }),
  });
  on("document", show);
  show();
};

let readingLists = 0;

/* The card. `get` answers the list, or nothing; `of` whose list it is; `pick` is told which reading. Returns what draws
   it anew. */
function readingsCard({ root, element, get, of, pick, badge = null }) {
  const group = `ts-reading-${++readingLists}`;
  const count = h("span", { class: "ts-dim" });
  const rank = h("th", { class: "ts-right ts-wide-only" });
  const body = h("tbody");
  const note = h("p", { class: "ts-dim" });
  const advice = h("span", { class: "ts-dim ts-wide-only ts-small" }, "Pick one, by hand or with 1 to 9, to see it on the tiers; 0 if none is right");
  const table = h(
    "div",
    { class: "ts-scroll ts-tall-list" },
    h(
      "table",
      { class: "ts-table ts-readings", role: "radiogroup", "aria-label": "Readings" },
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          h("th", {}, h("span", { class: "ts-offscreen" }, "Shown")),
          h("th", { class: "ts-right" }, "Score"),
          rank,
          h("th", {}, "Differs from the best"),
        ),
      ),
      body,
    ),
  );
  const card = h(
    "section",
    { class: "ts-card" },
    h(
      "header",
      {},
      badge,
      h("h2", {}, "Other readings"),
      count,
      h("span", { class: "ts-grow" }),
      advice,
    ),
    table,
    h("div", { class: "ts-body ts-readings-note" }, note),
  );
  const none = h("input", {
    type: "radio",
    name: group,
    "aria-label": "None of these is right",
    onchange: () => {
      refused.add(listed);
      show();
    },
  });
  const noneRow = h(
    "tr",
    { "data-i": "none" },
    h("td", {}, h("label", { class: "ts-rank" }, none, h("span", { class: "ts-mono ts-dim" }, "0"))),
    h("td"),
    h("td", { class: "ts-wide-only" }),
    h("td", { class: "ts-dim" }, "None of these is right"),
  );
  const refused = new Set(); /* lists of which the reader has said so */
  let listed = ""; /* what the rows were built from: a pick must not rebuild them under the keyboard's focus */

  function show() {
    const readings = get();
    if (!readings) {
      root.replaceChildren();
      listed = "";
      return;
    }
    if (!card.isConnected) root.append(card);
    const { items, exponent, per, picked, note: said } = readings;
    const isList = items.length > 1;
    count.textContent = isList ? `${items.length}-best list` : "";
    rank.textContent = exponent === 1 ? "Per token" : "Ranked by";
    rank.title = `The score divided by ${per}. The list is in this order.`;
    table.hidden = advice.hidden = !isList;
    const key = JSON.stringify([of(), items]);
    if (key !== listed) body.replaceChildren(...items.map(row), noneRow);
    listed = key;
    const isRefused = refused.has(key);
    for (const [i, node] of [...body.children].entries()) {
      const isPicked = node === noneRow ? isRefused : !isRefused && i === picked;
      node.classList.toggle("ts-selected", isPicked);
      node.querySelector("input").checked = isPicked;
    }
    const refusal = "The tiers still show the last one picked. Open the recording in Annotate to put its words right.";
    note.textContent = isRefused ? refusal : said;
    note.parentNode.hidden = !note.textContent;
    element.dataset.picked = isRefused ? "none" : picked;
  }

  function row({ score, rank: perToken, runs }, index) {
    const input = h("input", {
      type: "radio",
      name: group,
      "aria-label": index ? `Reading ${index + 1}` : "Reading 1, the best",
      onchange: () => {
        refused.delete(listed);
        if (index === get().picked) show();
        else pick(index);
      },
    });
    const words = index === 0 ? h("span", { class: "ts-dim" }, "the best") : differenceNodes(runs);
    return h(
      "tr",
      { "data-i": index },
      h("td", {}, h("label", { class: "ts-rank" }, input, h("span", { class: "ts-mono ts-dim" }, index + 1))),
      h("td", { class: "ts-figure" }, signed(score, 2)),
      h("td", { class: "ts-figure ts-wide-only" }, signed(perToken, 3)),
      h(
        "td",
        { class: "ts-reading-words", dir: "auto" },
        index && !runs.length ? h("span", { class: "ts-dim" }, "the same words in other tokens") : words,
      ),
    );
  }

  /* A figure picks the reading of that number; 0 says that none is right. */
  table.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !/^[0-9]$/.test(event.key)) return;
    const input = event.key === "0" ? none : body.querySelector(`[data-i="${Number(event.key) - 1}"] input`);
    if (!input) return;
    event.preventDefault();
    input.focus();
    input.click();
  });

  body.addEventListener("click", (event) => {
    const input = event.target.closest("tr")?.querySelector("input");
    if (input && !input.checked && !event.target.closest("label") && !String(getSelection())) input.click();
  });
  return show;
}

/* "Reading 2 of 5" where another than the best is shown, else "". */
function readingShown() {
  const { picked = 0, items = [] } = page.document?.readings ?? {};
  return picked ? `Reading ${picked + 1} of ${items.length}` : "";
}
