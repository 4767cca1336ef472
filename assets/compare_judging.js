/* The comparison's cards that say what is right: picks, reference, other readings, worst moments; and what is saved.
   All are drawn from `lab` (see compare.js). */

/* Make a file of the comparison and hand it to the browser; `problem` is where a refusal is said. */
async function saveLab(what, problem) {
  problem.textContent = "";
  const { path, name, error } = await lab.server
    .save_comparison([lab.data.id, what])
    .catch(() => ({ error: "The file could not be made. Try again in a moment." }));
  if (error) {
    problem.textContent = error;
    return;
  }
  const link = h("a", { href: fileAddress(path), download: name, hidden: true });
  document.body.append(link);
  link.click();
  link.remove();
}

function labCard(title, ...content) {
  return h("section", { class: "ts-card" }, h("header", {}, h("h2", {}, title)), h("div", { class: "ts-body" }, ...content));
}

/* Who was right how often, what that proves, and the text that the picks make. */
parts.compare_picks = ({ root }) => {
  const problem = h("span", { class: "ts-hint ts-problem", role: "alert" });
  const body = h("tbody");
  const verdict = h("p", { class: "ts-hint" });
  const formats = [
    ["txt", "TXT"],
    ["srt", "SRT"],
    ["textgrid", "TextGrid"],
    ["json", "JSON"],
  ];
  const card = labCard(
    "Your picks",
    h("table", { class: "ts-table ts-compare-speed" }, body),
    verdict,
    h("div", { class: "ts-small" }, "Reviewed text"),
    h(
      "div",
      { class: "ts-row ts-wrap" },
      formats.map(([what, name]) =>
        h("button", { class: "ts-btn", type: "button", "data-reviewed": what, onclick: () => saveLab(what, problem) }, name),
      ),
      h("button", { class: "ts-btn", type: "button", onclick: () => annotate("compare", lab.data.id) }, "Annotate"),
    ),
    problem,
  );

  function build() {
    if (!lab.data) return root.replaceChildren();
    if (!card.isConnected) root.append(card);
    const { columns, tally } = lab.data;
    const row = (badge, name, count) =>
      h(
        "tr",
        {},
        h("td", {}, h("span", { class: "ts-row" }, badge, h("span", { class: "ts-ellipsis" }, name))),
        h("td", { class: "ts-figure" }, amount(count)),
      );
    body.replaceChildren(
      ...columns.map(({ name }, k) => row(letterBadge(k), name, tally.right[k])),
      ...(tally.neither ? [row(null, "Neither", tally.neither)] : []),
    );
    verdict.textContent = `${amount(tally.left)} left. ${tally.verdict}`;
  }
  on("lab", build);
  on("lab:judged", build);
  build();
};

/* The right text, pasted or from a file, and how far each decoder is from it. */
parts.compare_reference = ({ root, upload }) => {
  const area = h("textarea", {
    class: "ts-input ts-lines ts-compare-right",
    rows: 2,
    dir: "auto",
    "aria-label": "The right text",
    placeholder: "Paste it, or drop a TextGrid, SRT, CTM, JSON",
  });
  const input = h("input", { type: "file", class: "ts-offscreen", tabindex: -1, "aria-label": "File with the right text" });
  const choose = h("button", { class: "ts-btn", type: "button", onclick: () => input.click() }, icon("file"), "File");
  const remove = h("button", { class: "ts-btn ts-quiet", type: "button" }, "Remove");
  const name = h("bdi", { class: "ts-grow ts-ellipsis" });
  const problem = h("span", { class: "ts-hint ts-problem", role: "alert" });
  const [caseBox, punctuationBox] = ["case", "punctuation"].map((key) => h("input", { type: "checkbox", "data-ignore": key }));
  const results = h("div", { class: "ts-scroll" });
  const hint = h("p", { class: "ts-hint" });
  const card = labCard(
    "Do you have the right text?",
    area,
    h("div", { class: "ts-row" }, choose, name, remove, input),
    h("div", { class: "ts-row ts-wrap ts-small" }, "Ignore", option(caseBox, "case"), option(punctuationBox, "punctuation")),
    problem,
    results,
    hint,
  );
  let sent = "";
  let timer = 0;

  function option(box, text) {
    box.addEventListener("change", () => changeLab({ case: caseBox.checked, punctuation: punctuationBox.checked }));
    return h("label", { class: "ts-choice" }, box, text);
  }

  async function take(file) {
    input.value = "";
    if (!file) return;
    problem.textContent = "";
    try {
      const { path } = await upload(file);
      await changeLab({ reference: { path, name: file.name } });
    } catch (error) {
      problem.textContent = `${file.name} could not be sent: ${error?.message ?? error}`;
    }
  }

  function typed() {
    clearTimeout(timer);
    if (area.value === sent) return;
    sent = area.value;
    changeLab({ reference: sent.trim() ? { text: sent } : null });
  }

  area.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(typed, 500);
  });
  area.addEventListener("change", typed);
  input.addEventListener("change", () => take(input.files[0]));
  remove.addEventListener("click", () => {
    area.value = sent = "";
    changeLab({ reference: null });
  });
  card.addEventListener("dragover", (event) => event.preventDefault());
  card.addEventListener("drop", (event) => {
    if (!event.dataTransfer.files.length) return;
    event.preventDefault();
    take(event.dataTransfer.files[0]);
  });

  const share = (value) => `${(100 * value).toFixed(1)} %`;

  /* A row for each decoder; `cells` answers its texts. */
  function table(kind, head, found, cells) {
    const row = (one, k) =>
      h(
        "tr",
        { title: `${one.substitutions} other words, ${one.insertions} too many, ${one.deletions} missing` },
        h("td", {}, letterBadge(k)),
        cells(one).map((text) => h("td", { class: "ts-figure" }, text)),
      );
    return h(
      "table",
      { class: `ts-table ts-compare-measures ts-compare-${kind}` },
      h("thead", {}, h("tr", {}, ["", ...head].map((text) => h("th", { class: "ts-right" }, text)))),
      h("tbody", {}, found.map(row)),
    );
  }

  const tables = ({ results: found, timed }) => [
    table("results", ["WER", "CER"], found, ({ wer, cer }) => [share(wer), share(cer)]),
    timed &&
      table("edges", ["mean", "median", "≤ 20", "≤ 50", "≤ 80 ms"], found, ({ boundaries }) =>
        boundaries
          ? [
              plainMilliseconds(boundaries.mean),
              plainMilliseconds(boundaries.median),
              ...boundaries.within.map((value) => `${Math.round(100 * value)} %`),
            ]
          : Array(5).fill("–"),
      ),
  ];

  function build() {
    document.body.classList.toggle("ts-compare-measured", Boolean(lab.data?.reference));
    if (!lab.data) return root.replaceChildren();
    if (!card.isConnected) root.append(card);
    const { reference, normalization } = lab.data;
    caseBox.checked = normalization.case;
    punctuationBox.checked = normalization.punctuation;
    name.textContent = reference?.name ?? "";
    remove.hidden = !reference;
    if (reference?.name) area.value = sent = "";
    results.replaceChildren(...(reference ? tables(reference).filter(Boolean) : []));
    if (!reference) hint.textContent = "Then each decoder gets its word error rate.";
    else if (reference.timed) hint.textContent = `${amount(reference.words)} words. Boundary errors are of words that both have.`;
    else hint.textContent = `${amount(reference.words)} words without times: no boundary errors.`;
  }
  on("lab", build);
  on("lab:judged", build);
  on("lab:error", (error) => (problem.textContent = error));
  build();
};

/* A list of readings for each decoder that makes one. */
parts.compare_readings = ({ root }) => {
  let cards = [];
  let made = "";

  function build() {
    const key = lab.data ? `${lab.data.id}` : "";
    if (key !== made) {
      made = key;
      const boxes = (lab.data?.columns ?? []).map(() => h("div", { class: "ts-compare-list" }));
      root.replaceChildren(h("div", { class: "ts-stack" }, boxes));
      cards = boxes.map((box, k) => {
        box.dataset.column = k;
        return readingsCard({
          root: box,
          element: box,
          get: () => lab.data?.columns[k]?.readings,
          of: () => `${lab.data.id}:${k}`,
          pick: (reading) => changeLab({ reading: [k, reading] }),
          badge: letterBadge(k),
        });
      });
    }
    cards.forEach((show) => show());
  }
  on("lab", build);
  build();
};

/* Where to look first, worst first. */
parts.compare_moments = ({ root, element }) => {
  const list = h("ol", { class: "ts-compare-moments" });
  const step = (by, name) => h("button", { class: "ts-btn", type: "button", onclick: () => go(at + by) }, name);
  const [before, next] = [step(-1, "Previous"), step(1, "Next")];
  const card = h(
    "section",
    { class: "ts-card" },
    h("header", {}, h("h2", {}, "Worst moments"), h("span", { class: "ts-grow" }), before, next),
    h("div", { class: "ts-body" }, list),
  );
  let moments = [];
  let at = -1;
  let asked = "";

  const SAID = {
    unsure: ({ value }) => `unsure, ${value.toFixed(2)} on average`,
    differences: ({ value }) => `${value} difference${value === 1 ? "" : "s"}`,
    unheard: ({ value }) => `${value.toFixed(1)} s of sound without words`,
  };

  function go(index) {
    if (!moments.length) return;
    at = (index + moments.length) % moments.length;
    const { start, end } = moments[at];
    lab.show(start, end);
    mark();
  }

  function mark() {
    [...list.children].forEach((node, i) => node.classList.toggle("ts-selected", i === at));
    scrollInside(list, list.children[at]);
    element.dataset.moment = at;
  }

  async function build() {
    if (!lab.data) {
      asked = "";
      return root.replaceChildren();
    }
    const { id, moved, columns } = lab.data;
    const key = JSON.stringify([id, moved, columns.map(({ readings }) => readings?.picked)]);
    if (key === asked) return;
    asked = key;
    const answer = await lab.server.list_moments([id]).catch(() => ({}));
    if (key !== asked) return;
    moments = answer.moments ?? [];
    at = -1;
    if (!card.isConnected) root.append(card);
    before.disabled = next.disabled = !moments.length;
    list.replaceChildren(
      ...moments.map((one, i) =>
        h(
          "li",
          {},
          h(
            "button",
            { class: "ts-compare-moment", type: "button", onclick: () => go(i) },
            h("span", { class: "ts-mono" }, one.start >= 60 ? clock(one.start, 1) : `${one.start.toFixed(2)} s`),
            h("span", {}, SAID[one.kind](one)),
          ),
        ),
      ),
    );
    if (!moments.length) list.append(h("li", { class: "ts-dim" }, "Nothing stands out."));
    element.dataset.moments = moments.length;
  }
  on("lab", build);
  build();
};

/* What can be taken home. */
parts.compare_report = ({ root }) => {
  const problem = h("span", { class: "ts-hint ts-problem", role: "alert" });
  const button = h("button", { class: "ts-btn", type: "button", onclick: save }, "Save report");
  const card = labCard("Report", button, h("p", { class: "ts-hint" }, "One HTML file with texts, differences and pictures. It needs no network."), problem);

  async function save() {
    button.disabled = true;
    await saveLab("report", problem);
    button.disabled = false;
  }
  const build = () => (lab.data ? root.append(card) : root.replaceChildren());
  on("lab", build);
  build();
};
