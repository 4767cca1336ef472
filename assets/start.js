/* The parts around a recording: where it comes from, how the work goes, and where the result goes to.

   Events to Python: files: picked {path, name};  samples: use {index};  messages: go_on {};  source: new_audio {}, again {}
   Server functions: samples: sample_sound(index);  messages: cancel_job(id);  downloads: export_file([doc, format]) */

const ACCEPT = "audio/*,video/mp4,video/webm,.wav,.flac,.mp3,.ogg,.oga,.opus,.m4a,.mp4,.webm,.aac,.aiff";

/* The drop zone. A file goes up through Gradio's own upload route; a hint says which kinds and how long. */
parts.files = ({ root, props, trigger, upload }) => {
  const input = h("input", {
    type: "file",
    accept: ACCEPT,
    class: "ts-offscreen",
    tabindex: -1,
    "aria-label": "Audio file",
  });
  const choose = h(
    "button",
    { class: "ts-btn ts-primary ts-large", type: "button", onclick: () => input.click() },
    icon("file"),
    "Choose a file",
  );
  const record = h("button", { class: "ts-btn ts-large", type: "button", onclick: onRecord }, icon("mic"), "Record");
  const note = h("span", { class: "ts-hint", "aria-live": "polite" }, props.value?.hint ?? "");
  const zone = h(
    "div",
    { class: "ts-dropzone" },
    h("div", { class: "ts-title" }, props.value?.title ?? "See what was heard, and when"),
    h(
      "p",
      { class: "ts-lead" },
      props.value?.lead ??
        "Drop an audio file here. Every token appears on the waveform and the spectrogram, coloured by how sure the model was.",
    ),
    h("div", { class: "ts-row" }, choose, props.value?.title ? null : record),
    note,
    input,
  );
  root.append(zone);

  async function send(file) {
    if (!file) return;
    const limit = props.value?.max_mb;
    if (limit && file.size > limit * 1e6)
      return fail(`${file.name} has ${Math.ceil(file.size / 1e6)} MB; files up to ${limit} MB are taken here.`);
    zone.classList.add("ts-busy");
    note.classList.remove("ts-problem");
    note.textContent = `Sending ${file.name}…`;
    try {
      const { path } = await upload(file);
      trigger("picked", { path, name: file.name });
      note.textContent = props.value?.hint ?? "";
    } catch (error) {
      fail(`${file.name} could not be sent: ${error?.message ?? error}`);
    }
    zone.classList.remove("ts-busy");
    input.value = "";
  }

  function fail(text) {
    note.textContent = text;
    note.classList.add("ts-problem");
  }

  function onRecord() {
    if (!navigator.mediaDevices) return fail("The microphone needs https, or localhost.");
    const isOpen = document.body.classList.toggle("ts-recording");
    if (isOpen) setTimeout(() => document.querySelector("#ts-recorder .record-button")?.click(), 100);
  }

  input.addEventListener("change", () => send(input.files[0]));
  for (const name of ["dragenter", "dragover"]) {
    zone.addEventListener(name, (event) => {
      event.preventDefault();
      zone.classList.add("ts-over");
    });
  }
  zone.addEventListener("dragleave", (event) => zone.contains(event.relatedTarget) || zone.classList.remove("ts-over"));
  zone.addEventListener("drop", (event) => {
    event.preventDefault();
    zone.classList.remove("ts-over");
    send(event.dataTransfer.files[0]);
  });
  /* A file that misses the zone must not replace the page. */
  for (const name of ["dragover", "drop"])
    window.addEventListener(name, (event) => event.dataTransfer?.types.includes("Files") && event.preventDefault());
};

parts.samples = ({ root, props, trigger, server }) => {
  const audio = new Audio();
  let playing = null;

  function show(button, name) {
    button?.replaceChildren(icon(name));
  }

  async function toggle(index, button) {
    const same = playing === button;
    audio.pause();
    show(playing, "play");
    playing = null;
    if (same) return;
    playing = button;
    show(button, "pause");
    audio.src = await server.sample_sound(index);
    if (playing === button) await audio.play().catch(() => show(button, "play"));
  }
  audio.addEventListener("ended", () => {
    show(playing, "play");
    playing = null;
  });

  const rows = (props.value ?? []).map((sample, index) => {
    const play = h(
      "button",
      { class: "ts-play", type: "button", "aria-label": `Play sample ${index + 1}` },
      icon("play"),
    );
    play.addEventListener("click", () => toggle(index, play));
    const use = h(
      "button",
      {
        class: "ts-btn",
        type: "button",
        onclick: () => (audio.pause(), show(playing, "play"), trigger("use", { index })),
      },
      "Use",
    );
    return h(
      "div",
      { class: "ts-sample" },
      play,
      h(
        "span",
        { class: "ts-grow" },
        sample.text,
        " ",
        sample.note ? h("span", { class: "ts-tag ts-warn" }, sample.note) : null,
      ),
      h("span", { class: "ts-dim ts-mono ts-wide-only" }, `${sample.seconds.toFixed(1)} s`),
      use,
    );
  });
  root.append(h("section", { class: "ts-card" }, h("header", {}, h("h2", {}, "Or try a sample")), rows));
};

/* How the work goes. Value: {stage, progress: {text, left, share, job, heard} or null, messages: [{kind, strong, text, action}]}.
   The stage ("empty", "ready", "working", "result") decides which columns of a tab are shown (see page.css, compare.css);
   props.stages names the body's data attribute that holds it. */
parts.messages = ({ root, props, trigger, server, watch }) => {
  const ICON_OF = { info: "info", warn: "warn", error: "warn" };

  /* These stay while the work goes on, so that a press of Cancel, the focus and what is being read are not lost. */
  const said = h("span", { class: "ts-grow", role: "status" });
  const cancel = h("button", { class: "ts-btn ts-cancel", type: "button", onclick: stop }, "Cancel");
  const bar = h("i");
  const track = h("div", { class: "ts-bar-track" }, bar);
  const card = h("section", { class: "ts-card ts-progress" }, h("div", { class: "ts-row" }, said, cancel), track);
  const heard = h("p", { class: "ts-body", dir: "auto", tabindex: 0, "aria-label": "Text so far" });
  const soFar = h("section", { class: "ts-card ts-so-far" }, h("header", {}, h("h2", {}, "Text so far")), heard);
  let job = null;

  function stop() {
    cancel.disabled = true;
    cancel.textContent = "Stopping…";
    server.cancel_job(job);
  }

  function showProgress(progress) {
    if (!progress || progress.job !== job) {
      cancel.disabled = false;
      cancel.textContent = "Cancel";
    }
    job = progress?.job ?? null;
    const { text = "", left = "", share = 0, heard: words = "" } = progress ?? {};
    const now = left ? `${text}, ${left}` : text;
    if (said.textContent !== now) said.replaceChildren(text, left ? h("span", { class: "ts-dim" }, `, ${left}`) : "");
    cancel.hidden = !job;
    track.classList.toggle("ts-unknown", share === null);
    bar.style.width = `${100 * clamp(share ?? 0, 0, 1)}%`;
    place(card, Boolean(progress), () => root.prepend(card));
    place(soFar, Boolean(words), () => card.after(soFar));
    if (heard.textContent === words) return;
    const isAtEnd = heard.scrollTop + heard.clientHeight >= heard.scrollHeight - 4;
    heard.textContent = words;
    if (isAtEnd) heard.scrollTop = heard.scrollHeight;
  }

  /* Put a node into the page or take it out; one that is in its place is not touched. */
  function place(node, isWanted, put) {
    if (isWanted && !node.isConnected) put();
    else if (!isWanted) node.remove();
  }

  function message({ kind, strong, text, action }) {
    const act = action
      ? h("button", { class: "ts-btn", type: "button", onclick: () => trigger("go_on", {}) }, action)
      : null;
    return h(
      "div",
      { class: `ts-message ts-${kind}`, role: kind === "error" ? "alert" : "status" },
      icon(ICON_OF[kind]),
      h("span", { class: "ts-grow" }, strong ? h("b", {}, strong, " ") : null, text),
      act,
    );
  }

  function show() {
    const { stage = null, progress = null, messages = [] } = props.value ?? {};
    if (stage !== null && props.stages !== "stage") document.body.dataset[props.stages] = stage;
    else if (stage !== null && stage !== document.body.dataset.stage) {
      document.body.dataset.stage = stage;
      document.body.classList.remove("ts-recording");
      /* After an error the settings stay open, to be put right. */
      if (stage !== "working" && !messages.some(({ kind }) => kind === "error")) openSettings(false);
      if (stage === "empty") clearAddress();
    }
    showProgress(progress);
    for (const old of root.querySelectorAll(".ts-message")) old.remove();
    root.append(...messages.map(message));
  }
  watch("value", show);
  show();
};

/* In the stage "result" the settings are a strip that can be opened; the source row's button says whether it is. */
function openSettings(isOpen) {
  document.body.classList.toggle("ts-settings-open", isOpen);
  emit("settings", isOpen);
}

/* One line that a person should know, beside the settings. */
parts.note = ({ root, props, watch }) => {
  const show = () =>
    root.replaceChildren(
      ...(props.value
        ? [h("div", { class: "ts-message ts-info" }, icon("info"), h("span", { class: "ts-grow" }, props.value))]
        : []),
    );
  watch("value", show);
  show();
};

/* Name and facts of the recording, how long the work took, and what can be done next. Value: {name, facts, done, decoder}.
   The button with the decoder's name opens the settings. */
parts.source = ({ root, props, trigger, watch }) => {
  const settings = h("button", {
    class: "ts-btn ts-tall",
    type: "button",
    "aria-expanded": "false",
    onclick: () => openSettings(!document.body.classList.contains("ts-settings-open")),
  });
  const toAnnotate = h(
    "button",
    { class: "ts-btn ts-tall ts-annotate-this", type: "button", disabled: true, onclick: () => annotate("transcribe", page.document.doc) },
    "Annotate",
  );
  const buttons = h(
    "div",
    { class: "ts-source-buttons" },
    h(
      "button",
      { class: "ts-btn ts-tall", type: "button", onclick: () => trigger("new_audio", {}) },
      icon("file"),
      "New audio",
    ),
    settings,
    h(
      "button",
      { class: "ts-btn ts-tall ts-wide-only", type: "button", onclick: () => trigger("again", {}) },
      "Transcribe again",
    ),
    toAnnotate,
  );
  on("document", () => (toAnnotate.disabled = !page.document));

  function show() {
    const { name = "", facts = "", done = "", decoder = "" } = props.value ?? {};
    settings.replaceChildren(h("span", { class: "ts-ellipsis" }, decoder || "Settings"), icon("down"));
    root.replaceChildren(
      h(
        "div",
        { class: "ts-source" },
        h(
          "div",
          { class: "ts-source-name" },
          h("h2", { class: "ts-name", title: name }, h("bdi", {}, name)),
          h("span", { class: "ts-dim ts-nowrap" }, facts),
        ),
        h("span", { class: "ts-dim ts-nowrap ts-wide-only" }, done),
        buttons,
      ),
    );
  }
  on("settings", (isOpen) => settings.setAttribute("aria-expanded", String(isOpen)));
  watch("value", show);
  show();
};

/* Buttons for formats [{format, name, more}]: a row, and folded away those that few people need. `make` answers a button. */
function formatButtons(formats, make) {
  const row = (isMore) =>
    h("div", { class: "ts-row ts-wrap" }, formats.filter(({ more }) => more === isMore).map(make));
  return [
    row(false),
    h(
      "details",
      { class: "ts-fold ts-more-formats" },
      h("summary", {}, icon("down"), "More formats"),
      row(true),
      h("p", { class: "ts-hint" }, "EAF opens in ELAN. RTTM has no text. The dataset is a ZIP with the recording in it."),
    ),
  ];
}

/* A file in each format, made when it is asked for. */
parts.downloads = ({ root, props, server }) => {
  const problem = h("span", { class: "ts-hint ts-problem", role: "alert" });
  const hint = h("p", { class: "ts-hint" });

  function say() {
    const reading = readingShown();
    const about = reading ? `${reading} is shown, and is what the files hold. ` : "";
    hint.textContent = `${about}TextGrid opens in Praat and ELAN. TXT has no times.`;
  }

  async function download(format) {
    problem.textContent = "";
    if (!page.document) return;
    const { path, name, error } = await server
      .export_file([page.document.doc, format])
      .catch(() => ({ error: "The file could not be made." }));
    if (error) {
      problem.textContent = error;
      return;
    }
    const link = h("a", { href: fileAddress(path), download: name, hidden: true });
    root.append(link);
    link.click();
    link.remove();
  }

  root.append(
    h(
      "section",
      { class: "ts-card" },
      h("header", {}, h("h2", {}, "Download")),
      h(
        "div",
        { class: "ts-body" },
        formatButtons(props.value ?? [], ({ format, name }) =>
          h("button", { class: "ts-btn", type: "button", "data-format": format, onclick: () => download(format) }, name),
        ),
        hint,
        problem,
      ),
    ),
  );
  on("document", say);
  say();
};
