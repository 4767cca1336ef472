/* Where the tab "Live" hears: the cards to choose a microphone, or a file in its place. They open what was chosen (see
   microphone.js). Server function: live_sample(index), a sample's file in base64. */

/* `begin(kind)` starts a recording of a "microphone" or a "file"; `say` shows messages. */
function makeLiveSources({ samples, server, begin, say }) {
  const device = h("select", { class: "ts-select ts-live-wide", "aria-label": "Microphone" });
  const clean = h("input", { type: "checkbox", id: "ts-live-clean" });
  const meter = makeMeter();
  const file = h("select", { class: "ts-select ts-grow", "aria-label": "File to play" });
  const chooser = h("input", { type: "file", accept: ACCEPT, class: "ts-offscreen", tabindex: -1, "aria-label": "File to speak" });
  const isHeard = h("input", { type: "checkbox", id: "ts-live-heard", checked: true });
  const play = liveButton("Play", "play", () => begin("file"));
  const note = h("span", { class: "ts-hint" });
  const microphone = liveCard(
    "Microphone",
    device,
    h("div", { class: "ts-live-level" }, h("span", { class: "ts-small" }, "Level"), meter.node, meter.said),
    h("label", { class: "ts-row ts-small", for: "ts-live-clean" }, clean, "Let the browser clean up noise"),
  );
  const instead = liveCard(
    "No microphone?",
    h("span", { class: "ts-small" }, "Play a file as if you were speaking it."),
    h("div", { class: "ts-row" }, file, play, chooser),
    h("label", { class: "ts-row ts-small", for: "ts-live-heard" }, isHeard, "Let me hear it"),
    note,
  );
  file.append(
    ...samples.map(({ name, seconds }, i) => h("option", { value: i }, `${name}, ${seconds.toFixed(1)} s`)),
    h("option", { value: "own" }, "A file of yours…"),
  );

  /* False where the person has to choose a file first. */
  function isChosen(kind) {
    if (kind !== "file" || file.value !== "own" || chooser.files.length) return true;
    chooser.click();
    return false;
  }

  /* The source, or a SourceError; see microphone.js for `onBlock` and `onLost`. */
  async function open(kind, { onBlock, onLost }) {
    if (kind === "file") return openFile({ ...(await chosenFile()), isHeard: isHeard.checked, onBlock, onLost });
    return openMicrophone({ device: device.value, clean: clean.checked, onBlock, onLost });
  }

  async function chosenFile() {
    if (file.value === "own") {
      const [chosen] = chooser.files;
      return { bytes: await chosen.arrayBuffer(), name: chosen.name };
    }
    const index = Number(file.value);
    return { bytes: fromBase64(await server.live_sample(index)), name: samples[index].name };
  }

  /* Microphones come and go; their names are known once one has been allowed. */
  async function refresh() {
    const before = device.value;
    const found = await listMicrophones().catch(() => []);
    device.replaceChildren(
      h("option", { value: "" }, found.length ? "The browser's default microphone" : "Default microphone"),
      ...found.filter(({ id }) => id).map(({ id, name }) => h("option", { value: id }, name)),
    );
    device.value = found.some(({ id }) => id === before) ? before : "";
    const problem = microphoneProblem();
    if (problem) say("info", problem, "microphone");
  }

  /* Whether a source can be chosen; else `reason` says why not. */
  function setFree(isFree, reason) {
    play.disabled = device.disabled = clean.disabled = file.disabled = !isFree;
    note.textContent = isFree ? "" : reason;
    note.hidden = isFree;
  }

  chooser.addEventListener("change", () => {
    if (!chooser.files.length) return;
    file.lastChild.textContent = chooser.files[0].name;
    file.value = "own";
    begin("file");
  });
  file.addEventListener("change", () => {
    if (file.value !== "own") return;
    chooser.value = "";
    chooser.click();
  });
  navigator.mediaDevices?.addEventListener?.("devicechange", refresh);
  return { microphone, instead, meter, isChosen, open, refresh, setFree };
}
