/* Importing: one recording with what is known of its text, or many at once (files, a folder, a .zip, a manifest). */

const FORMATS_IN = [
  ["", "what it looks like"],
  ...["TextGrid", "EAF", "SRT", "VTT", "CTM", "RTTM", "JSON", "CSV"].map((name) => [name.toLowerCase(), name]),
  ["audacity", "Audacity labels"],
  ["nemo", "NeMo manifest"],
  ["hf", "metadata.jsonl"],
  ["txt", "Text without times"],
];
const BULK_ACCEPT = `${ACCEPT},.zip,.json,.jsonl,.TextGrid,.eaf,.srt,.vtt,.ctm,.rttm,.csv,.txt`;
const AT_ONCE = 3; /* uploads that go on at the same time */

function buildImport() {
  const pick = (name, attributes) =>
    h("input", { type: "file", class: "ts-input ts-file", "aria-label": name, ...attributes });
  const audio = pick("Recording", { accept: BULK_ACCEPT, multiple: true, onchange: showMany });
  const folder = pick("Folder", { webkitdirectory: true, onchange: showMany });
  const file = pick("File with its text", {});
  const format = h(
    "select",
    { class: "ts-select", "aria-label": "Format" },
    FORMATS_IN.map(([value, name]) => h("option", { value }, name)),
  );
  const text = h("textarea", {
    class: "ts-input ts-annotate-given",
    rows: 3,
    dir: "auto",
    placeholder: "I have the text, give me times",
  });
  const problem = h("p", { class: "ts-hint ts-problem", role: "alert" });
  const hint = h("p", { class: "ts-hint" });
  const go = h("button", { class: "ts-btn ts-primary", type: "button", onclick: start }, "Import");
  const single = h(
    "div",
    { class: "ts-stack-small" },
    h("label", { class: "ts-import-field" }, "File with its text, if there is one", file),
    h("label", { class: "ts-import-field" }, "read as", format),
    h("label", { class: "ts-import-field" }, "or its text", text),
  );
  const form = h(
    "div",
    { class: "ts-pop ts-import", role: "dialog", "aria-label": "Import recordings", hidden: true },
    h(
      "div",
      { class: "ts-row" },
      h("h2", { class: "ts-grow" }, "Import"),
      button("Close", "cross", () => toggle(false), "ts-quiet"),
    ),
    h("label", { class: "ts-import-field" }, "One recording; or several, with their texts, a .zip, a manifest", audio),
    h("label", { class: "ts-import-field" }, "or a whole folder", folder),
    single,
    hint,
    problem,
    h("div", { class: "ts-row" }, h("span", { class: "ts-grow" }), go),
  );
  const open = h(
    "span",
    { class: "ts-anchor" },
    h("button", { class: "ts-btn", type: "button", "aria-haspopup": "dialog", onclick: () => toggle() }, "Import"),
    form,
  );

  const chosen = () => [...audio.files, ...folder.files].filter(({ name }) => !name.startsWith("."));
  const isMany = () => chosen().length > 1 || chosen().some(({ name }) => /\.(zip|jsonl)$/iu.test(name));

  function showMany() {
    single.hidden = isMany();
    hint.textContent = isMany()
      ? "A text of the same name goes with its recording. What has none is transcribed by the model above; a text without times is aligned."
      : "With neither, the model above transcribes it. A text without times is aligned to the sound.";
  }

  function toggle(isShown = form.hidden) {
    form.hidden = !isShown;
    problem.textContent = "";
    showMany();
    if (isShown) audio.focus();
  }

  async function start() {
    if (!chosen().length) {
      problem.textContent = "Choose a recording first.";
      return;
    }
    go.disabled = true;
    problem.textContent = "";
    try {
      await (isMany() ? importMany() : importOne());
    } catch (error) {
      problem.textContent = `A file could not be sent: ${error?.message ?? error}`;
    }
    go.disabled = false;
  }

  async function importOne() {
    const sent = [await send(chosen()[0]), file.files.length ? await send(file.files[0]) : null];
    const what = { audio: sent[0], file: sent[1], format: format.value, text: text.value, model: desk.model };
    begin(await ask("annotate_import", what), "import");
  }

  /* A few at a time; the server gets all of them at the end. */
  async function importMany() {
    const files = chosen();
    const sent = [];
    let next = 0;
    const sender = async () => {
      while (next < files.length) {
        const one = files[next++];
        problem.textContent = "";
        hint.textContent = `Sending ${amount(sent.length + 1)} of ${amount(files.length)}`;
        sent.push(await send(one));
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, sender));
    begin(await ask("annotate_bulk", { files: sent, model: desk.model }), "bulk");
  }

  function begin(answer, kind) {
    if (answer.error) {
      problem.textContent = answer.error;
      return;
    }
    toggle(false);
    for (const one of [audio, folder, file, text]) one.value = "";
    follow(answer.job, kind);
  }

  async function send(one) {
    const { path } = await desk.upload(one);
    return { path, name: one.webkitRelativePath || one.name };
  }

  form.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key !== "Escape") return;
    toggle(false);
    open.firstChild.focus();
  });
  return { open };
}
