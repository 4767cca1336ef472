/* "About this model": facts from Python, and the vocabulary, which is fetched once and searched here.

   Value: {title, subtitle, can, cannot, table: {title, head, rows} or null, facts, computer, advice, licence, model}.
   Server function: vocabulary(model). */

const SHOWN_TOKENS = 400;

function factList(facts) {
  return h(
    "dl",
    { class: "ts-facts" },
    facts.flatMap(({ name, value, mono, tag }) => [
      h("dt", {}, name),
      h(
        "dd",
        { class: mono ? "ts-mono" : "" },
        value,
        tag
          ? [" ", h("span", { class: `ts-tag ts-${tag.kind}` }, icon(tag.kind === "ok" ? "check" : "warn"), tag.text)]
          : null,
      ),
    ]),
  );
}

function card(title, ...body) {
  return h("section", { class: "ts-card" }, h("header", {}, h("h2", {}, title)), ...body);
}

function listCard(title, items, mark) {
  return card(
    title,
    h(
      "div",
      { class: "ts-body" },
      h(
        "ul",
        { class: "ts-list" },
        items.map((item) => h("li", {}, icon(mark), item)),
      ),
    ),
  );
}

function tableCard({ title, head, rows, note }) {
  const side = (i) => (i ? "ts-right" : "");
  return card(
    title,
    h(
      "div",
      { class: "ts-scroll" },
      h(
        "table",
        { class: "ts-table" },
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            head.map((cell, i) => h("th", { class: side(i) }, cell)),
          ),
        ),
        h(
          "tbody",
          {},
          rows.map((row) =>
            h(
              "tr",
              {},
              row.map((cell, i) => h("td", { class: i ? "ts-figure" : "" }, cell)),
            ),
          ),
        ),
      ),
    ),
    note ? h("p", { class: "ts-hint ts-note" }, note) : null,
  );
}

parts.about = ({ root, props, server, watch }) => {
  function show() {
    const about = props.value;
    if (!about) return;
    const lists = [
      about.can.length ? listCard("It can", about.can, "check") : null,
      about.cannot.length ? listCard("It cannot", about.cannot, "cross") : null,
    ].filter(Boolean);
    const main = [
      lists.length ? h("div", { class: "ts-pair" }, lists) : null,
      about.table ? tableCard(about.table) : null,
      vocabularyCard(about),
    ].filter(Boolean);
    const side = [
      card("Model", h("div", { class: "ts-body" }, factList(about.facts))),
      card(
        "On this computer",
        h(
          "div",
          { class: "ts-body" },
          factList(about.computer),
          about.advice
            ? h("p", { class: "ts-message ts-warn" }, icon("warn"), h("span", { class: "ts-grow" }, about.advice))
            : null,
          h("p", { class: "ts-hint" }, about.network),
        ),
      ),
      card("Licence", h("div", { class: "ts-body" }, h("p", { class: "ts-small" }, about.licence))),
    ];
    root.replaceChildren(
      h("div", { class: "ts-heading" }, h("div", { class: "ts-title" }, about.title), h("p", {}, about.subtitle)),
      h("div", { class: "ts-columns" }, h("div", { class: "ts-stack" }, main), h("div", { class: "ts-stack" }, side)),
    );
  }

  function vocabularyCard(about) {
    const body = h("tbody");
    const amount = h("span", { class: "ts-dim" });
    const search = h("input", {
      class: "ts-input",
      type: "search",
      placeholder: "Search tokens",
      "aria-label": "Search tokens",
    });
    const more = h("p", { class: "ts-hint ts-note" });
    const columns = isNarrow() ? 2 : 4;
    let pieces = [];

    function fill() {
      const wanted = search.value.trim().replaceAll(" ", "▁").toLowerCase();
      const found = pieces.flatMap((piece, id) =>
        !wanted || piece.toLowerCase().includes(wanted) || String(id) === wanted ? [[id, piece]] : [],
      );
      const shown = found.slice(0, SHOWN_TOKENS);
      const lines = Math.ceil(shown.length / columns);
      body.replaceChildren(
        ...Array.from({ length: lines }, (_, line) =>
          h(
            "tr",
            {},
            Array.from({ length: columns }, (_, column) => shown[column * lines + line]).flatMap((cell) =>
              cell
                ? [
                    h("td", { class: "ts-figure" }, String(cell[0])),
                    h("td", { class: "ts-mono" }, h("bdi", {}, cell[1])),
                  ]
                : [h("td"), h("td")],
            ),
          ),
        ),
      );
      amount.textContent = wanted ? `${found.length} of ${pieces.length} tokens` : `${pieces.length} tokens`;
      more.textContent =
        found.length > shown.length
          ? `The first ${shown.length} of ${found.length} are shown. Search to find others.`
          : found.length
            ? ""
            : "No token has this text.";
    }

    search.addEventListener("input", fill);
    server
      .vocabulary(about.model)
      .then((answer) => {
        pieces = answer;
        fill();
      })
      .catch(() => (more.textContent = "The vocabulary could not be fetched."));
    return h(
      "section",
      { class: "ts-card" },
      h("header", {}, h("h2", {}, "Vocabulary"), amount, h("span", { class: "ts-grow" }), search),
      h(
        "div",
        { class: "ts-scroll ts-vocabulary" },
        h(
          "table",
          { class: "ts-table" },
          h(
            "thead",
            {},
            h(
              "tr",
              {},
              Array.from({ length: columns }, () => [h("th", { class: "ts-right" }, "Id"), h("th", {}, "Token")]),
            ),
          ),
          body,
        ),
      ),
      more,
    );
  }

  watch("value", show);
  show();
};
