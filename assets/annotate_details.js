/* What goes with a document besides its text: name, reviewer, notes, speakers, other tiers, another model, history. */

function buildDetailsCard() {
  const reviewer = h("input", {
    class: "ts-input",
    type: "text",
    maxlength: 200,
    "aria-label": "Reviewer",
    placeholder: "Your name",
    onchange: () => save({ reviewer: reviewer.value }),
  });
  const notes = h("textarea", {
    class: "ts-input",
    rows: 3,
    maxlength: 20000,
    "aria-label": "Notes",
    placeholder: "Notes",
    dir: "auto",
    onchange: () => save({ notes: notes.value }),
  });
  const speakers = h("div", { class: "ts-stack-small" });
  const tiers = h("div", { class: "ts-stack-small" });
  const lines = h("div", { class: "ts-history" });
  const model = h("select", { class: "ts-select", "aria-label": "Decoder" });
  const run = h("button", { class: "ts-btn", type: "button", onclick: onRun }, "Run");
  const past = h("details", { ontoggle: () => past.open && showHistory() }, h("summary", {}, "History"), lines);
  const name = h("input", {
    class: "ts-input",
    type: "text",
    maxlength: 200,
    "aria-label": "Name",
    dir: "auto",
    onchange: onRename,
  });
  const target = h("input", {
    class: "ts-input ts-grow",
    type: "text",
    maxlength: 80,
    "aria-label": "Tier to copy to",
    placeholder: "tier",
    dir: "auto",
  });
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
      h(
        "div",
        {},
        h("details", {}, h("summary", {}, "Speakers"), speakers),
        h(
          "details",
          {},
          h("summary", {}, "Another model or decoder"),
          h(
            "p",
            { class: "ts-hint" },
            "Heard with the model above, as a tier of its own: your edits stay. U lets a word say what that tier says.",
          ),
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
        past,
      ),
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
      ...(head.speakers.length
        ? head.speakers.map(speakerRow)
        : [h("p", { class: "ts-hint" }, "Nobody is named yet. Select a sentence, then Add.")]),
    );
    const others = desk.document.order.filter(({ key }) => !["tokens", "words", "sentences"].includes(key));
    tiers.replaceChildren(...others.map(tierRow));
    if (past.open) showHistory();
  }

  function speakerRow(name) {
    const field = h("input", {
      class: "ts-input",
      type: "text",
      maxlength: 80,
      "aria-label": `Name of ${name}`,
      dir: "auto",
    });
    field.value = name;
    field.addEventListener(
      "change",
      () => field.value.trim() && sendEdit({ op: "rename", old: name, new: field.value.trim() }, "a speaker's name"),
    );
    return field;
  }

  const tierRow = ({ name, length }) =>
    h(
      "div",
      { class: "ts-row" },
      h(
        "span",
        { class: "ts-grow ts-ellipsis" },
        h("bdi", {}, name),
        h("span", { class: "ts-dim" }, ` ${amount(length)}`),
      ),
      h(
        "button",
        {
          class: "ts-btn ts-quiet",
          type: "button",
          onclick: () => sendEdit({ op: "remove_tier", tier: name }, `removing the tier “${name}”`),
        },
        "Remove",
      ),
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
    return follow(answer.job, "second");
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
        at === revision
          ? h("span", { class: "ts-hint" }, "now")
          : h("button", { class: "ts-btn ts-quiet", type: "button", onclick: () => back(at) }, "Go back"),
      );
    const first = h(
      "div",
      { class: "ts-row ts-history-line" },
      h("span", { class: "ts-grow" }, "As it came"),
      revision
        ? h("button", { class: "ts-btn ts-quiet", type: "button", onclick: () => back(0) }, "Go back")
        : h("span", { class: "ts-hint" }, "now"),
    );
    lines.replaceChildren(...answer.lines.slice(0, 100).map(line), first);
  }

  const back = (version) => sendEdit({ op: "restore", version }, `return to version ${version}`);

  for (const signal of ["desk:document", "desk:change"]) on(signal, show);
  on("desk:model", showDecoders);
  show();
  return node;
}
