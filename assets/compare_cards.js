/* The cards below the comparison's view: differences, figures. All are drawn from `lab` (see compare.js). */

const KIND_NAMES = { substitution: "other word", boundary: "boundary moved" };
const ROWS_AT_ONCE = 200;

/* "2.6 s 0.14× real time" */
const workOf = (took, factor) =>
  `${took.toFixed(took < 0.95 ? 2 : 1)} s${factor === null ? "" : ` ${factor.toFixed(2)}× real time`}`;

/* The differences as a table, to sort, hear and judge. */
parts.compare_table = ({ root, element }) => {
  const count = h("span", { class: "ts-dim" });
  const moved = h("input", {
    class: "ts-input ts-mono ts-compare-moved",
    type: "number",
    min: 0,
    max: 5000,
    step: 10,
    "aria-label": "Boundaries moved more than, in milliseconds",
    onchange: () => moved.value !== "" && changeLab({ moved: Number(moved.value) / 1000 }),
  });
  const problem = h("span", { class: "ts-hint ts-problem", role: "alert" });
  const save = h(
    "button",
    { class: "ts-btn", type: "button", "data-save": "csv", onclick: () => saveLab("csv", problem) },
    icon("save"),
    "CSV",
  );
  const tools = h("div", { class: "ts-row ts-small ts-wrap" }, "Boundaries moved more than", moved, "ms", save);
  const head = h("tr");
  const body = h("tbody");
  const more = h("button", { class: "ts-btn", type: "button", onclick: () => show(shown + ROWS_AT_ONCE) });
  const empty = h("p", { class: "ts-dim" }, "The decoders heard the same words at the same times.");
  const table = h(
    "div",
    { class: "ts-scroll ts-tall-list" },
    h("table", { class: "ts-table ts-differences" }, h("thead", {}, head), body),
  );
  const card = h(
    "section",
    { class: "ts-card" },
    h("header", {}, h("h2", {}, "Differences"), count, h("span", { class: "ts-grow" }), tools),
    table,
    h("div", { class: "ts-body" }, more, empty, problem),
  );
  let sort = { key: "at", down: false };
  let order = [];
  let listed = null; /* the differences that the rows are of; the picture of new ones comes before the table */
  let shown = ROWS_AT_ONCE;

  const text = (one, k) => (one.readings[k] === null ? "" : lab.document.tiers[`words${k}`].text[one.readings[k]]);
  const confidence = (one, k) =>
    one.readings[k] === null ? -1 : lab.document.tiers[`words${k}`].confidence[one.readings[k]];

  function timesOf(i, k) {
    const { start, end, confidence: sure } = lab.document.tiers[`words${k}`];
    return `${start[i].toFixed(3)}–${end[i].toFixed(3)} s, confidence ${sure[i].toFixed(2)}`;
  }

  /* What happened, in plain words. */
  function what(one) {
    if (KIND_NAMES[one.kind]) return KIND_NAMES[one.kind];
    const has = one.readings.flatMap((j, k) => (j === null ? [] : [LETTERS[k]]));
    return `only in ${has.join(", ")}`;
  }

  const values = {
    at: (one) => one.at,
    what,
    shift: (one) => (one.shift === null ? -1 : Math.abs(one.shift)),
    pick: (_, i) => lab.data.picks[i] ?? 9,
  };
  const valueOf = (key, i) => {
    const one = lab.data.differences[i];
    return values[key] ? values[key](one, i) : confidence(one, Number(key));
  };

  function heading(key, className, ...content) {
    const isSorted = sort.key === key;
    const arrow = isSorted ? (sort.down ? " ▾" : " ▴") : "";
    return h(
      "th",
      { class: className, "aria-sort": isSorted ? (sort.down ? "descending" : "ascending") : false },
      h(
        "button",
        { class: "ts-sort", type: "button", "data-sort": key, onclick: () => sortBy(key) },
        ...content,
        arrow,
      ),
    );
  }

  function sortBy(key) {
    sort = { key, down: sort.key === key ? !sort.down : false };
    build();
    head.querySelector(`[data-sort="${key}"]`)?.focus();
  }

  function build() {
    if (!lab.data) return root.replaceChildren();
    if (!card.isConnected) root.append(card);
    const { differences, columns, moved: limit } = lab.data;
    count.textContent = amount(differences.length);
    if (document.activeElement !== moved) moved.value = Math.round(limit * 1000);
    head.replaceChildren(
      h("th", {}, h("span", { class: "ts-offscreen" }, "Play")),
      heading("at", "ts-right", "At, s"),
      heading("what", "", "What"),
      ...columns.map((_, k) => heading(String(k), "", letterBadge(k), " ", shortName(k))),
      heading("shift", "ts-right", "Shift"),
      heading("pick", "", "Which is right?"),
    );
    listed = differences;
    order = differences.map((_, i) => i);
    const by = order.map((i) => valueOf(sort.key, i));
    order.sort((p, q) => (by[p] < by[q] ? -1 : by[p] > by[q] ? 1 : p - q) * (sort.down ? -1 : 1));
    table.hidden = !order.length;
    empty.hidden = order.length > 0;
    element.dataset.words = differences.filter(({ kind }) => kind !== "boundary").length;
    show(Math.max(shown, ROWS_AT_ONCE));
  }

  function show(limit) {
    shown = limit;
    body.replaceChildren(...order.slice(0, shown).map(row));
    const left = order.length - shown;
    more.hidden = left <= 0;
    more.textContent = `Show ${amount(Math.min(left, ROWS_AT_ONCE))} more of ${amount(left)}`;
    more.parentNode.classList.toggle("ts-none", more.hidden && order.length > 0);
    showPicks();
    markCurrent(false);
  }

  /* What has been picked, and what can be: one that has not been heard cannot. */
  function showPicks() {
    if (!lab.data || lab.data.differences !== listed) return;
    for (const node of body.children) {
      const i = Number(node.dataset.i);
      const said = isHeard(lab.data.differences[i]) ? "" : "Plays it first: only what was heard can be judged";
      for (const button of node.querySelectorAll("[data-pick]")) {
        button.setAttribute("aria-pressed", String(lab.data.picks[i] === Number(button.dataset.pick)));
        button.title = said;
      }
      node.classList.toggle("ts-unheard", Boolean(said));
    }
  }

  function row(i) {
    const one = lab.data.differences[i];
    const readings = lab.data.columns.map((_, k) => {
      const about = { class: "ts-compare-reading", "data-id": LETTERS[k] };
      if (one.readings[k] === null) return h("td", about, h("span", { class: "ts-dim" }, "nothing"));
      const sure = confidence(one, k).toFixed(2);
      return h(
        "td",
        { ...about, title: timesOf(one.readings[k], k) },
        h("bdi", {}, text(one, k)),
        one.kind === "boundary" ? null : h("span", { class: "ts-mono ts-dim" }, ` ${sure}`),
      );
    });
    return h(
      "tr",
      { "data-i": i, "data-kind": one.kind },
      h("td", {}, h("button", { class: "ts-play", type: "button", "aria-label": `Play difference ${i + 1}` }, icon("play"))),
      h("td", { class: "ts-figure" }, one.at >= 60 ? clock(one.at, 2) : one.at.toFixed(2)),
      h("td", { class: "ts-nowrap ts-compare-what" }, what(one)),
      ...readings,
      h("td", { class: "ts-figure" }, one.shift === null ? "–" : milliseconds(one.shift)),
      h("td", { class: "ts-compare-choice" }, choices()),
    );
  }

  function choices() {
    const button = (choice, name) =>
      h(
        "button",
        {
          class: "ts-btn",
          type: "button",
          "data-pick": choice,
          "aria-label": choice === NEITHER ? "Neither is right" : `${name} is right`,
        },
        name,
      );
    return h(
      "span",
      { class: "ts-segments" },
      lab.data.columns.map((_, k) => button(k, LETTERS[k])),
      button(NEITHER, "Neither"),
    );
  }

  function markCurrent(scrolls = true) {
    body.querySelector(".ts-selected")?.classList.remove("ts-selected");
    if (lab.current === null || lab.data?.differences !== listed) return;
    const at = order.indexOf(lab.current);
    if (at >= shown) return show(at + ROWS_AT_ONCE);
    const node = body.children[at];
    node?.classList.add("ts-selected");
    if (scrolls) scrollInside(table, node);
  }

  body.addEventListener("click", (event) => {
    const node = event.target.closest("tr");
    if (!node) return;
    const button = event.target.closest("[data-pick]");
    if (button) return pick(Number(node.dataset.i), Number(button.dataset.pick));
    if (!String(getSelection())) goTo(Number(node.dataset.i));
  });

  on("lab", build);
  on("lab:judged", showPicks);
  on("lab:heard", showPicks);
  on("lab:current", markCurrent);
  on("lab:error", (error) => {
    problem.textContent = error;
    if (lab.data && error) moved.value = Math.round(lab.data.moved * 1000);
  });
  build();
};

/* Four figures of each decoder against the first. */
parts.compare_glance = ({ root }) => {
  function build() {
    if (!lab.data) return root.replaceChildren();
    const { summaries, columns } = lab.data;
    root.replaceChildren(
      h(
        "section",
        { class: "ts-card" },
        h("header", {}, h("h2", {}, "At a glance")),
        h(
          "div",
          { class: "ts-body" },
          summaries.map((one, i) => figures(one, i + 1, summaries.length > 1)),
          h("table", { class: "ts-table ts-compare-speed" }, h("tbody", {}, columns.map(speed))),
        ),
      ),
    );
  }

  const figure = (value, name) => h("div", {}, h("div", { class: "ts-compare-figure" }, value), h("div", { class: "ts-hint" }, name));

  function figures({ words, differ, rate, mean, p95 }, k, isNamed) {
    return h(
      "div",
      {},
      isNamed ? h("div", { class: "ts-row ts-small" }, letterBadge(0), "to", letterBadge(k)) : null,
      h(
        "div",
        { class: "ts-compare-figures" },
        figure(amount(differ), `word${differ === 1 ? " differs" : "s differ"}, of ${amount(words)}`),
        figure(`${(100 * rate).toFixed(1)} %`, `word error rate, A to ${LETTERS[k]}`),
        figure(plainMilliseconds(mean), "mean boundary shift"),
        figure(plainMilliseconds(p95), "95 % are within"),
      ),
    );
  }

  const speed = ({ name, seconds: took, factor }, k) =>
    h(
      "tr",
      {},
      h(
        "td",
        {},
        h(
          "div",
          { class: "ts-row" },
          letterBadge(k),
          h("div", {}, name, h("div", { class: "ts-hint ts-mono" }, workOf(took, factor))),
        ),
      ),
    );

  on("lab", build);
  build();
};
