/* What goes with a document besides its text: marks and speakers, files in every format, reviewer and notes, other tiers,
   history, and the quality report. */

const MARKS = ["noise", "unclear", "laughter", "music", "cough", "silence"];
const EXPORTS = [
  ["textgrid", "TextGrid"],
  ["eaf", "EAF (ELAN)"],
  ["srt", "SRT"],
  ["vtt", "WebVTT"],
  ["ctm", "CTM"],
  ["rttm", "RTTM (speakers)"],
  ["audacity", "Audacity labels"],
  ["json", "JSON (all of it)"],
  ["csv", "CSV"],
  ["nemo", "NeMo manifest"],
  ["hf", "Hugging Face dataset (.zip)"],
  ["txt", "Text"],
];

/* A button with what it opens; closes on Escape, and when something else is pressed. */
function buildPopup(label, content, { className = "", onopen = () => {} } = {}) {
  const opener = h("button", { class: `ts-btn ${className}`, type: "button", "aria-haspopup": "true", "aria-expanded": "false", onclick: () => toggle() }, ...label);
  const pop = h("div", { class: "ts-pop ts-menu", hidden: true }, ...content);
  const anchor = h("span", { class: "ts-anchor" }, opener, pop);
  function toggle(isShown = pop.hidden) {
    pop.hidden = !isShown;
    opener.setAttribute("aria-expanded", String(isShown));
    if (!isShown) return;
    onopen();
    pop.querySelector("button, input, select")?.focus();
  }
  window.addEventListener("pointerdown", ({ target }) => pop.hidden || anchor.contains(target) || toggle(false));
  pop.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key !== "Escape") return;
    toggle(false);
    desk.view.focus();
  });
  return { anchor, opener, pop, toggle };
}

function buildMarks() {
  const own = h("input", { class: "ts-input", type: "text", maxlength: 80, "aria-label": "Another mark", placeholder: "another mark" });
  const speaker = h("input", { class: "ts-input", type: "text", maxlength: 80, "aria-label": "New speaker", placeholder: "new speaker" });
  const speakers = h("div", { class: "ts-row ts-wrap" });
  const put = (act, value) => {
    menu.toggle(false);
    if (value.trim()) act(value.trim());
    desk.view.focus();
  };
  const onEnter = (field, act) => field.addEventListener("keydown", (event) => event.key === "Enter" && (put(act, field.value), (field.value = "")));
  const word = h("input", { class: "ts-input", type: "text", "aria-label": "Word to insert", placeholder: "a word in the gap", dir: "auto" });
  const menu = buildPopup(
    ["Add ", icon("down")],
    [
      h("h3", {}, "A word"),
      h("div", { class: "ts-row" }, word),
      h("h3", {}, "A mark"),
      h("div", { class: "ts-row ts-wrap" }, MARKS.map((text) => h("button", { class: "ts-btn", type: "button", onclick: () => put(mark, text) }, `[${text}]`))),
      own,
      h("h3", {}, "Who speaks"),
      speakers,
      speaker,
    ],
    {
      className: "ts-quiet ts-add",
      onopen: () =>
        speakers.replaceChildren(
          ...desk.head.speakers.map((name) => h("button", { class: "ts-btn", type: "button", onclick: () => put(setSpeaker, name) }, h("bdi", {}, name))),
        ),
    },
  );
  onEnter(own, mark);
  onEnter(speaker, setSpeaker);
  onEnter(word, insertWord);
  on("desk:insert", () => {
    if (!roomForWord()) return desk.view.say("There is no gap here. Draw one with Shift + drag, or move a boundary first");
    menu.toggle(true);
    return word.focus();
  });
  return menu.anchor;
}

function buildExport() {
  const menu = buildPopup(
    [icon("save"), "Export"],
    [
      ...EXPORTS.map(([format, name]) =>
        h("button", { class: "ts-menu-item", type: "button", "data-format": format, onclick: () => (menu.toggle(false), exportAs(format)) }, name),
      ),
      h("p", { class: "ts-hint" }, "Only JSON keeps everything. TXT has no times, RTTM no text."),
    ],
    { className: "ts-export" },
  );
  return menu.anchor;
}

async function exportAs(format) {
  if (!(await saver.flushed())) return tell("error", "The last edit is not saved yet. Export again in a moment.");
  const answer = await ask("annotate_export", desk.head.id, format);
  if (answer.error) return tell("error", answer.error);
  return download(answer);
}

function download({ path, name }) {
  const link = h("a", { href: fileAddress(path), download: name, hidden: true });
  document.body.append(link);
  link.click();
  link.remove();
}

/* Reviewer, notes, speakers, tiers, another model, history. */
function buildDetailsCard() {
  const reviewer = h("input", { class: "ts-input", type: "text", maxlength: 200, "aria-label": "Reviewer", placeholder: "Your name", onchange: () => save({ reviewer: reviewer.value }) });
  const notes = h("textarea", { class: "ts-input", rows: 3, maxlength: 20000, "aria-label": "Notes", placeholder: "Notes", dir: "auto", onchange: () => save({ notes: notes.value }) });
  const speakers = h("div", { class: "ts-stack-small" });
  const tiers = h("div", { class: "ts-stack-small" });
  const lines = h("div", { class: "ts-history" });
  const model = h("select", { class: "ts-select", "aria-label": "Decoder" });
  const run = h("button", { class: "ts-btn", type: "button", onclick: onRun }, "Run");
  const past = h("details", { ontoggle: () => past.open && showHistory() }, h("summary", {}, "History"), lines);
  const name = h("input", { class: "ts-input", type: "text", maxlength: 200, "aria-label": "Name", dir: "auto", onchange: onRename });
  const target = h("input", { class: "ts-input ts-grow", type: "text", maxlength: 80, "aria-label": "Tier to copy to", placeholder: "tier", dir: "auto" });
  const warnings = h("div", { class: "ts-stack-small" });
  const node = h(
    "section",
    { class: "ts-card ts-annotate-details" },
    h("header", {}, h("h2", {}, "Details")),
    h(
      "div",
      { class: "ts-body ts-details-columns" },
      h(
        "div",
        { class: "ts-stack-small" },
        h("label", { class: "ts-import-field" }, "Name", name),
        h("label", { class: "ts-import-field" }, "Reviewer", reviewer),
        h("label", { class: "ts-import-field" }, "Notes", notes),
        warnings,
      ),
      h("div", {}, h("details", {}, h("summary", {}, "Speakers"), speakers),
      h(
        "details",
        {},
        h("summary", {}, "Another model or decoder"),
        h("p", { class: "ts-hint" }, "Heard with the model above, as a tier of its own: your edits stay. U lets a word say what that tier says."),
        h("div", { class: "ts-row" }, model, run),
      ),
      h(
        "details",
        {},
        h("summary", {}, "Other tiers"),
        tiers,
        h(
          "div",
          { class: "ts-row" },
          target,
          h("button", { class: "ts-btn", type: "button", onclick: () => onCopy(false) }, "Copy there"),
          h("button", { class: "ts-btn", type: "button", onclick: () => onCopy(true) }, "Move"),
        ),
      ),
      past),
    ),
  );
  const save = (values) => sendEdit({ op: "details", ...values }, "details");

  function show() {
    const { head } = desk;
    node.hidden = !head;
    if (!head) return;
    if (document.activeElement !== name) name.value = head.name;
    warnings.replaceChildren(...head.warnings.map((words) => h("p", { class: "ts-hint" }, words)));
    if (document.activeElement !== reviewer) reviewer.value = head.reviewer;
    if (document.activeElement !== notes) notes.value = head.notes;
    speakers.replaceChildren(
      ...(head.speakers.length ? head.speakers.map(speakerRow) : [h("p", { class: "ts-hint" }, "Nobody is named yet. Select a sentence, then Add.")]),
    );
    const others = desk.document.order.filter(({ key }) => !["tokens", "words", "sentences"].includes(key));
    tiers.replaceChildren(...others.map(tierRow));
    if (past.open) showHistory();
  }

  function speakerRow(name) {
    const field = h("input", { class: "ts-input", type: "text", maxlength: 80, "aria-label": `Name of ${name}`, dir: "auto" });
    field.value = name;
    field.addEventListener("change", () => field.value.trim() && sendEdit({ op: "rename", old: name, new: field.value.trim() }, "a speaker's name"));
    return field;
  }

  const tierRow = ({ name, length }) =>
    h(
      "div",
      { class: "ts-row" },
      h("span", { class: "ts-grow ts-ellipsis" }, h("bdi", {}, name), h("span", { class: "ts-dim" }, ` ${amount(length)}`)),
      h("button", { class: "ts-btn ts-quiet", type: "button", onclick: () => sendEdit({ op: "remove_tier", tier: name }, `removing the tier “${name}”`) }, "Remove"),
    );

  async function onRename() {
    if (!name.value.trim()) return show();
    const answer = await ask("annotate_rename", desk.head.id, name.value);
    if (answer.error) return tell("error", answer.error);
    takeList(answer);
    desk.head.name = answer.documents.find(({ id }) => id === desk.head.id)?.name ?? desk.head.name;
    emit("desk:list");
    return show();
  }

  function onCopy(move) {
    const one = selected();
    if (!one || !target.value.trim()) return tell("info", "Select a segment, and name the tier that it goes to.");
    return sendEdit({ op: "copy", id: one.id, tier: target.value.trim(), move }, `copy of “${one.text.trim()}”`);
  }

  async function showDecoders() {
    const answer = await ask("annotate_decoders", desk.model);
    if (answer.error) return;
    model.replaceChildren(...answer.decoders.map(([value, name]) => h("option", { value }, name)));
  }

  async function onRun() {
    run.disabled = true;
    const { id } = desk.head;
    const answer = await ask("annotate_second", id, desk.model, model.value);
    run.disabled = false;
    if (answer.error) return tell("error", answer.error);
    return follow(answer.job, { done: async () => desk.head?.id === id && (await saver.flushed()) && openDocument(id) });
  }

  async function showHistory() {
    const { id, revision } = desk.head;
    const answer = await ask("annotate_history", id);
    if (answer.error || desk.head?.id !== id) return;
    const verbs = { edit: "", undo: "Undo ", redo: "Redo " };
    const line = ({ revision: at, kind, label, at: when, reviewer: who }) =>
      h(
        "div",
        { class: "ts-row ts-history-line" },
        h("span", { class: "ts-hint ts-mono" }, new Date(1000 * when).toTimeString().slice(0, 5)),
        h("span", { class: "ts-grow ts-ellipsis", title: who || null }, h("bdi", {}, `${verbs[kind]}${label}`)),
        at === revision ? h("span", { class: "ts-hint" }, "now") : h("button", { class: "ts-btn ts-quiet", type: "button", onclick: () => back(at) }, "Go back"),
      );
    const first = h("div", { class: "ts-row ts-history-line" }, h("span", { class: "ts-grow" }, "As it came"), revision ? h("button", { class: "ts-btn ts-quiet", type: "button", onclick: () => back(0) }, "Go back") : h("span", { class: "ts-hint" }, "now"));
    lines.replaceChildren(...answer.lines.slice(0, 100).map(line), first);
  }

  const back = (version) => sendEdit({ op: "restore", version }, `return to version ${version}`);

  for (const signal of ["desk:document", "desk:change"]) on(signal, show);
  on("desk:model", showDecoders);
  show();
  return node;
}

/* Under the list: what is done with several documents. */
function buildListActions(place) {
  const report = h("button", { class: "ts-btn", type: "button", onclick: () => showReport(null) }, "Quality report");
  const done = h("button", { class: "ts-btn", type: "button", onclick: onExport }, "Export done (.zip)");
  async function onExport() {
    if (!(await saver.flushed())) return tell("error", "The last edit is not saved yet. Export again in a moment.");
    const answer = await ask("annotate_export_done");
    if (answer.error) return tell("info", answer.error);
    return follow(answer.job, { done: download });
  }
  place.append(report, done);
}

/* How good the machine was, from what people made of it; the chart comes from Python after the event "report". */

async function showReport(id) {
  const answer = await ask("annotate_report", id);
  if (answer.error) return tell("error", answer.error);
  emit("desk:report", answer);
  document.body.dataset.annotateReport = "open";
  desk.trigger("report", { key: desk.workspace, id, dark: theme.dark });
  document.querySelector("#ts-annotate-report")?.scrollIntoView({ behavior: isStill() ? "auto" : "smooth", block: "nearest" });
  return undefined;
}

parts.annotate_report = ({ root }) => {
  let shown = null;
  const title = h("span", { class: "ts-dim" });
  const figures = h("div", { class: "ts-report-figures" });
  const close = () => delete document.body.dataset.annotateReport;
  const which = h("div", { class: "ts-segments" });
  root.append(
    h(
      "section",
      { class: "ts-report-head" },
      h("header", { class: "ts-row" }, h("h2", {}, "Quality report"), title, h("span", { class: "ts-grow" }), which, button("Close", "cross", close, "ts-quiet")),
      figures,
    ),
  );

  const share = (value, digits = 1) => (value === null ? "–" : `${(100 * value).toFixed(digits)} %`);
  const milli = (value) => (value === null ? "–" : `${Math.round(1000 * value)} ms`);
  const figure = (value, name) => h("div", {}, h("div", { class: "ts-compare-figure" }, value), h("div", { class: "ts-hint" }, name));

  function show(answer) {
    shown = answer;
    const q = answer.quality;
    title.textContent = answer.id ? "" : `${amount(answer.documents)} document${answer.documents === 1 ? "" : "s"} in review or done`;
    if (answer.id) title.replaceChildren(h("bdi", {}, answer.name));
    const choice = (id, name) =>
      h("button", { class: "ts-btn", type: "button", "aria-pressed": String(answer.id === id), onclick: () => showReport(id) }, name);
    which.replaceChildren(choice(null, "All"), ...(desk.head ? [choice(desk.head.id, "This one")] : []));
    if (!q) {
      figures.replaceChildren(h("p", { class: "ts-hint" }, "Nothing was reviewed yet, so there is nothing to measure."));
      return;
    }
    figures.replaceChildren(
      figure(share(q.word_error_rate), `word error rate of the machine, ${amount(q.words_changed)} of ${amount(q.words)} words`),
      figure(amount(q.edits), q.edits_per_minute === null ? "edits" : `edits, ${q.edits_per_minute.toFixed(1)} a minute`),
      figure(milli(q.boundary_mean), `mean boundary difference, ${share(q.within_50ms, 0)} within 50 ms`),
      figure(q.ece === null ? "–" : q.ece.toFixed(3), "calibration error (ECE) of confidence"),
      figure(q.threshold === null ? "–" : q.threshold.toFixed(2), q.threshold === null ? "no wrong word was found" : `threshold worth reviewing: 9 of 10 wrong words lie below, ${share(q.share_below, 0)} of all`),
    );
  }
  on("desk:report", show);
  on("theme", () => shown && document.body.dataset.annotateReport && desk.trigger("report", { key: desk.workspace, id: shown.id, dark: theme.dark }));
};
