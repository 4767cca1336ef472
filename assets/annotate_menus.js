/* What opens from a button: what can be added beside the words, and the document as a file of every format. */

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
  const opener = h(
    "button",
    {
      class: `ts-btn ${className}`,
      type: "button",
      "aria-haspopup": "true",
      "aria-expanded": "false",
      onclick: () => toggle(),
    },
    ...label,
  );
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
  const own = h("input", {
    class: "ts-input",
    type: "text",
    maxlength: 80,
    "aria-label": "Another mark",
    placeholder: "another mark",
  });
  const speaker = h("input", {
    class: "ts-input",
    type: "text",
    maxlength: 80,
    "aria-label": "New speaker",
    placeholder: "new speaker",
  });
  const speakers = h("div", { class: "ts-row ts-wrap" });
  const put = (act, value) => {
    menu.toggle(false);
    if (value.trim()) act(value.trim());
    desk.view.focus();
  };
  const onEnter = (field, act) =>
    field.addEventListener("keydown", (event) => event.key === "Enter" && (put(act, field.value), (field.value = "")));
  const word = h("input", {
    class: "ts-input",
    type: "text",
    "aria-label": "Word to insert",
    placeholder: "a word in the gap",
    dir: "auto",
  });
  const menu = buildPopup(
    ["Add ", icon("down")],
    [
      h("h3", {}, "A word"),
      h("div", { class: "ts-row" }, word),
      h("h3", {}, "A mark"),
      h(
        "div",
        { class: "ts-row ts-wrap" },
        MARKS.map((text) =>
          h("button", { class: "ts-btn", type: "button", onclick: () => put(mark, text) }, `[${text}]`),
        ),
      ),
      own,
      h("h3", {}, "Who speaks"),
      speakers,
      speaker,
    ],
    {
      className: "ts-quiet ts-add",
      onopen: () =>
        speakers.replaceChildren(
          ...desk.head.speakers.map((name) =>
            h("button", { class: "ts-btn", type: "button", onclick: () => put(setSpeaker, name) }, h("bdi", {}, name)),
          ),
        ),
    },
  );
  onEnter(own, mark);
  onEnter(speaker, setSpeaker);
  onEnter(word, insertWord);
  on("desk:insert", () => {
    if (!roomForWord())
      return desk.view.say("There is no gap here. Draw one with Shift + drag, or move a boundary first");
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
        h(
          "button",
          {
            class: "ts-menu-item",
            type: "button",
            "data-format": format,
            onclick: () => (menu.toggle(false), exportAs(format)),
          },
          name,
        ),
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
