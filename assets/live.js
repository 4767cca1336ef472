/* The tab "Live": record, show what is heard while it is said, and hand the recording on.

   Event to Python: open {rate, ticket}; the answer is the part's value {session, name} or {error}, with the same ticket.
   Server functions (components/live.py): live_push([session, packet, known]), live_look([session, known]),
   live_drop(session), live_save([session, format]), live_again(session), live_beside(doc), live_sample(index).
   `known` is {words, sentences, draft}: how much of the text the page has; answers carry what is new.
   Left on the element for tests: data-stage, data-captured, data-sent, data-kept (samples), data-packets, data-document. */

ICONS.stop = "M3.5 3.5h9v9h-9z";
FILLED.add("stop");

const LOOK_EVERY = 400; /* ms between looks while no packets go */

parts.live = ({ root, element, props, trigger, server, watch }) => {
  const { samples = [], formats = [], limit = "" } = props.value ?? {};
  const text = makeLiveText();
  const sentences = makeLiveSentences(playSpan);
  const strip = makeStrip();
  const meter = makeMeter();
  const player = new Audio();
  const state = { stage: "idle", take: null, rate: 0, lookedAt: 0 };
  const said = new Map(); /* what the messages say, by key */
  let opening = null; /* {ticket, resolve} while the server opens a session */

  /* Nodes. */

  const dot = h("span", { class: "ts-live-dot", "aria-hidden": "true" });
  const title = h("h2", { role: "status" }, "Ready");
  const time = h("span", { class: "ts-mono ts-dim" });
  const start = button("Start", "mic", () => begin("microphone"), "ts-primary");
  const pause = button("Pause", "pause", togglePause);
  const stop = button("Stop", "stop", () => end(), "ts-live-stop");
  const wipe = button("Clear", "cross", clear);
  const message = h("div", { class: "ts-live-messages" });
  const device = h("select", { class: "ts-select ts-live-wide", "aria-label": "Microphone" });
  const clean = h("input", { type: "checkbox", id: "ts-live-clean" });
  const file = h("select", { class: "ts-select ts-grow", "aria-label": "File to play" });
  const chooser = h("input", { type: "file", accept: ACCEPT, class: "ts-offscreen", tabindex: -1, "aria-label": "File to speak" });
  const isHeard = h("input", { type: "checkbox", id: "ts-live-heard", checked: true });
  const play = button("Play", "play", () => begin("file"));
  const fileNote = h("span", { class: "ts-hint" });
  const figures = Object.fromEntries(
    [
      ["lag", "behind your voice"],
      ["speed", "of real time used"],
      ["lost", "samples lost"],
      ["changed", "draft words changed"],
      ["delay", "from spoken to final"],
      ["p95", "for 95 % of words"],
    ].map(([name, label]) => [name, { label, value: h("b", { "data-figure": name }, "–") }]),
  );
  const listen = button("Play", "play", () => (player.paused ? playSpan(0, Infinity) : player.pause()));
  const inspect = button("Open in Transcribe", null, openInTranscribe);
  const toAnnotate = button("Annotate", null, () => annotate("live", element.dataset.document));
  const wav = button("WAV", null, () => save("wav"));
  const saves = formats.map(({ format, name }) => {
    const made = button(name, null, () => save(format));
    made.dataset.format = format;
    return made;
  });
  const afterNote = h("p", { class: "ts-hint" });
  const beside = h("div", { class: "ts-live-beside" });
  build();

  function button(name, picture, onclick, kind = "") {
    return h("button", { class: `ts-btn ts-tall ${kind}`, type: "button", onclick }, picture && icon(picture), name);
  }

  function card(name, ...children) {
    return h("section", { class: "ts-card" }, h("header", {}, h("h2", {}, name)), h("div", { class: "ts-body" }, ...children));
  }

  function build() {
    const stat = ({ label, value }) => h("div", { class: "ts-stat" }, value, h("span", {}, label));
    wav.dataset.format = "wav";
    root.append(
      h(
        "div",
        { class: "ts-columns" },
        h(
          "div",
          { class: "ts-stack" },
          h(
            "section",
            { class: "ts-card" },
            h("header", {}, dot, title, time, h("span", { class: "ts-grow" }), h("div", { class: "ts-actions" }, wipe, start, pause, stop)),
            h("div", { class: "ts-body" }, strip.canvas),
          ),
          message,
          h(
            "section",
            { class: "ts-card ts-live-card" },
            h(
              "header",
              {},
              h("h2", {}, "Text"),
              h("span", { class: "ts-grow" }),
              h("span", { class: "ts-dim ts-small" }, "grey italics may still change"),
            ),
            h("div", { class: "ts-body" }, text.node),
          ),
          beside,
          sentences.node,
        ),
        h(
          "div",
          { class: "ts-stack" },
          card(
            "Microphone",
            device,
            h("div", { class: "ts-live-level" }, h("span", { class: "ts-small" }, "Level"), meter.node, meter.said),
            h("label", { class: "ts-row ts-small", for: "ts-live-clean" }, clean, "Let the browser clean up noise"),
          ),
          h(
            "section",
            { class: "ts-card" },
            h("header", {}, h("h2", {}, "How it keeps up")),
            h("div", { class: "ts-body ts-stats" }, Object.values(figures).map(stat)),
          ),
          card(
            "No microphone?",
            h("span", { class: "ts-small" }, "Play a file as if you were speaking it."),
            h("div", { class: "ts-row" }, file, play, chooser),
            h("label", { class: "ts-row ts-small", for: "ts-live-heard" }, isHeard, "Let me hear it"),
            fileNote,
          ),
          card("After you stop", h("div", { class: "ts-row ts-wrap" }, listen, inspect, toAnnotate), h("div", { class: "ts-row ts-wrap" }, wav, saves), afterNote),
        ),
      ),
    );
    file.append(
      ...samples.map(({ name, seconds }, i) => h("option", { value: i }, `${name}, ${seconds.toFixed(1)} s`)),
      h("option", { value: "own" }, "A file of yours…"),
    );
    show("idle");
    refreshDevices();
  }

  /* Stages: idle, opening, listening, paused, stopping, done. */

  function show(stage) {
    state.stage = element.dataset.stage = stage;
    const isOn = ["listening", "paused"].includes(stage);
    const isFree = ["idle", "done"].includes(stage);
    const isKept = stage === "done" && Boolean(state.take?.document);
    title.textContent = {
      idle: "Ready",
      opening: "Opening…",
      listening: state.take?.isFile ? "Playing" : "Listening",
      paused: "Paused",
      stopping: "Finishing…",
      done: "Stopped",
    }[stage];
    dot.classList.toggle("ts-on", stage === "listening");
    const [hadStart, hadStop] = [start, stop].map((one) => one === document.activeElement);
    start.hidden = isOn || stage === "stopping";
    start.disabled = stage === "opening";
    start.lastChild.nodeValue = stage === "done" ? "Start again" : "Start";
    pause.hidden = stop.hidden = !isOn;
    pause.replaceChildren(icon(stage === "paused" ? "play" : "pause"), stage === "paused" ? "Go on" : "Pause");
    if (hadStart && isOn) stop.focus();
    state.returns ||= hadStop && !isOn;
    if (stage === "done" && state.returns && document.activeElement === document.body) start.focus();
    if (stage === "done") state.returns = false;
    wipe.hidden = stage !== "done";
    play.disabled = device.disabled = clean.disabled = file.disabled = !isFree;
    fileNote.textContent = isFree ? "" : state.take?.isFile ? "Stop the file first" : "Stop the microphone first";
    fileNote.hidden = isFree;
    for (const one of [listen, inspect, toAnnotate]) one.disabled = !isKept;
    const isHere = ["stopping", "done"].includes(stage) && state.take?.copy && !state.take.copy.isEmpty();
    wav.disabled = !isKept && !isHere;
    for (const one of saves) one.disabled = !isKept || !text.count();
    const reasons = { idle: "Record something first", done: isHere ? "Only this page has the sound: save it" : "Nothing was recorded" };
    afterNote.textContent = isKept ? "" : (reasons[stage] ?? "Stop first");
    sentences.playable(isKept);
    text.listen(stage === "listening");
    if (!isOn) meter.rest(stage === "idle" || stage === "done" ? "Not listening" : "");
  }

  /* One message for each key: the same words again change nothing, "" takes it away, and what
     was closed stays away until it says something else. */
  function say(kind, words, key) {
    if ((said.get(key) ?? "") === words) return;
    said.set(key, words);
    const shown = message.querySelector(`[data-key="${key}"]`);
    if (!words) return shown?.remove();
    if (shown) return void (shown.querySelector(".ts-grow").textContent = words);
    const close = h("button", { class: "ts-btn ts-quiet ts-iconic", type: "button", "aria-label": "Close" }, icon("cross"));
    const node = h(
      "div",
      { class: `ts-message ts-${kind}`, role: kind === "error" ? "alert" : "status", "data-key": key },
      icon(kind === "info" ? "info" : "warn"),
      h("span", { class: "ts-grow" }, words),
      close,
    );
    close.addEventListener("click", () => node.remove());
    message.append(node);
  }

  /* A take is one recording: its source, its sender, and what the page knows of its text. */

  async function begin(kind) {
    if (!["idle", "done"].includes(state.stage)) return;
    if (kind === "file" && file.value === "own" && !chooser.files.length) return chooser.click();
    clear();
    const take = { isFile: kind === "file", known: { words: 0, sentences: 0, draft: 0 }, early: [] };
    state.take = take;
    show("opening");
    const onBlock = (pcm, at) => take === state.take && hear(take, pcm, at);
    const onLost = (reason) => {
      if (take !== state.take) return;
      if (reason) say("warn", reason, "source");
      end();
    };
    try {
      take.source = take.isFile
        ? await openFile({ ...(await chosenFile()), isHeard: isHeard.checked, onBlock, onLost })
        : await openMicrophone({ device: device.value, clean: clean.checked, onBlock, onLost });
      const { session } = await openSession(take.source.rate);
      take.session = session;
    } catch (error) {
      take.source?.stop();
      if (take === state.take) state.take = null;
      show("idle");
      say("error", error instanceof SourceError ? error.message : "The server cannot be reached. Try again in a moment.", "open");
      return;
    }
    strip.start(take.source.rate);
    take.copy = makeCopy(take.source.rate);
    take.sender = makeSender({
      rate: take.source.rate,
      send: (packet) => server.live_push([take.session, packet, take.known]),
      onAnswer: (answer) => update(take, answer),
      onTrouble: (trouble) => onTrouble(take, trouble),
    });
    show("listening");
    stayAwake(take);
    for (const [pcm, at] of take.early.splice(0)) hear(take, pcm, at);
    refreshDevices();
    tick(take);
    if (take.isOver) end();
  }

  /* A screen that goes dark takes the microphone away on phones. */
  async function stayAwake(take) {
    const lock = await navigator.wakeLock?.request("screen").catch(() => null);
    if (!lock) return;
    if (take.isOver || take !== state.take) lock.release();
    else take.lock = lock;
  }

  /* What is heard before the server has opened a session waits. */
  function hear(take, pcm, at) {
    if (!take.sender) return take.early.push([pcm, at]);
    watchForGap(take, pcm, at);
    take.copy.push(pcm);
    take.sender.push(pcm, at);
    strip.push(pcm);
    meter.push(pcm);
    element.dataset.captured = take.sender.state.captured;
  }

  /* The sound's clock against the wall's: a computer that slept has heard nothing meanwhile. */
  function watchForGap(take, pcm, at) {
    const length = (1000 * pcm.length) / take.source.rate;
    const missing = take.heardAt === undefined ? 0 : at - take.heardAt - length;
    take.heardAt = at;
    if (missing < 1000) return;
    const where = clock(take.sender.state.captured / take.source.rate, 1);
    say("warn", `The microphone gave nothing for ${(missing / 1000).toFixed(1)} s at ${where}; the computer may have slept.`, "gap");
  }

  function openSession(rate) {
    const ticket = crypto.getRandomValues(new Uint32Array(4)).join("-");
    trigger("open", { rate, ticket });
    return new Promise((resolve, reject) => {
      opening = { ticket, resolve, reject };
      setTimeout(() => reject(new Error("no answer")), 30000);
    });
  }

  watch("value", () => {
    const value = props.value ?? {};
    if (!opening || value.ticket !== opening.ticket) return;
    if (value.error) opening.reject(new SourceError(value.error));
    else opening.resolve(value);
    opening = null;
  });

  async function chosenFile() {
    if (file.value === "own") {
      const [chosen] = chooser.files;
      return { bytes: await chosen.arrayBuffer(), name: chosen.name };
    }
    const index = Number(file.value);
    return { bytes: fromBase64(await server.live_sample(index)), name: samples[index].name };
  }

  function togglePause() {
    const { take } = state;
    if (state.stage === "listening") take.source.pause();
    else take.source.resume();
    take.heardAt = undefined;
    show(state.stage === "listening" ? "paused" : "listening");
  }

  async function end() {
    const { take } = state;
    if (!["listening", "paused"].includes(state.stage)) return void (take && (take.isOver = true));
    take.isOver = true;
    take.lock?.release();
    show("stopping");
    await take.source.stop();
    const arrived = await take.sender.finish();
    if (!arrived && take === state.take) show("done");
  }

  /* Text. */

  function update(take, answer) {
    if (take !== state.take) return;
    state.lookedAt = performance.now();
    const { words, sentences: rows, draft, stage } = answer;
    text.take(words, draft);
    sentences.take(rows);
    take.known = { words: words.count, sentences: rows.count, draft: draft ? draft.revision : take.known.draft };
    take.answer = answer;
    strip.settle(answer.settled);
    if (answer.problem) say("error", answer.problem, "problem");
    if (answer.full && state.stage !== "done") {
      say("warn", `Recordings up to ${limit} are taken here, so this one was ended. All of it is kept.`, "full");
      if (["listening", "paused"].includes(state.stage)) end();
    }
    Object.assign(element.dataset, { sent: take.sender.state.sent, kept: answer.samples, packets: answer.next });
    showFigures(take);
    const isOn = ["listening", "paused"].includes(state.stage);
    if (answer.ended && isOn && !answer.full) {
      say("warn", "The server heard nothing from this page for some minutes, so it ended the recording. What had come is kept.", "full");
      end();
    }
    if (stage === "done" && state.stage === "stopping") done(take, answer);
  }

  function done(take, answer) {
    take.document = element.dataset.document = answer.document;
    const { captured } = take.sender.state;
    if (answer.samples !== captured && !answer.full)
      say("error", `The last ${((captured - answer.samples) / take.source.rate).toFixed(1)} s did not reach the server.`, "lost");
    show("done");
  }

  function showFigures(take) {
    const { answer, sender, source } = take;
    if (!answer) return;
    const lag = Math.max(0, sender.state.captured / source.rate - answer.settled);
    const behind = Math.max(0, sender.state.captured / source.rate - answer.seconds);
    figures.lag.value.textContent = `${lag.toFixed(1)} s`;
    figures.speed.value.textContent = answer.speed === null ? "–" : `${answer.speed.toFixed(2)}×`;
    const isOver = state.stage === "stopping" || state.stage === "done";
    figures.lost.value.textContent = amount(isOver && answer.stage === "done" ? Math.max(0, sender.state.captured - answer.samples) : 0);
    figures.changed.value.textContent = answer.drafted ? `${Math.round((100 * answer.changed) / answer.drafted)} %` : "–";
    figures.delay.value.textContent = answer.delay === null ? "–" : `${answer.delay.toFixed(1)} s`;
    figures.p95.value.textContent = answer.delay_p95 === null ? "–" : `${answer.delay_p95.toFixed(1)} s`;
    const isSlow = behind > 6 && !isOver && !sender.state.trouble;
    say("info", isSlow ? `The model is ${behind.toFixed(0)} s behind your voice. Nothing is lost; the text follows.` : "", "slow");
    time.textContent = clock(sender.state.captured / source.rate, 1);
  }

  function onTrouble(take, trouble) {
    if (take !== state.take) return;
    if (trouble === "") return say("warn", "", "connection");
    if (trouble === "connection") {
      const away = Math.round((Date.now() - take.sender.state.trouble) / 1000);
      const words = `No connection to the server for ${away} s. Your voice is kept here and sent when it is back.`;
      return say("warn", words, "connection");
    }
    say("error", trouble, "open");
    if (["listening", "paused"].includes(state.stage)) end();
  }

  /* While packets go, their answers bring the text; in a pause and at the end the page asks. */
  async function tick(take) {
    while (take === state.take && state.stage !== "done") {
      await later(LOOK_EVERY);
      if (take !== state.take || state.stage === "done") return;
      showFigures(take);
      if (performance.now() - state.lookedAt < LOOK_EVERY) continue;
      if (state.stage === "listening" && !take.sender.state.trouble) continue;
      const answer = await server.live_look([take.session, take.known]).catch(() => null);
      if (answer?.error) {
        say("error", answer.error, "open");
        take.sender.abort();
        return show("done");
      }
      if (answer) update(take, answer);
    }
  }

  function clear() {
    const { take } = state;
    player.pause();
    player.removeAttribute("src");
    state.take = null;
    if (take?.session) server.live_drop(take.session).catch(() => {});
    text.clear();
    sentences.clear();
    message.replaceChildren();
    said.clear();
    beside.replaceChildren();
    time.textContent = "";
    strip.start(FILE_RATE);
    for (const { value } of Object.values(figures)) value.textContent = "–";
    for (const key of ["captured", "sent", "kept", "packets", "document"]) delete element.dataset[key];
    show("idle");
  }

  /* After it has been stopped. */

  /* An answer of the server; where it cannot be had, Gradio's client gives nothing or fails. */
  const ask = async (call, error) => (await call().catch(() => null)) ?? { error };

  async function saved(format) {
    const answer = await ask(() => server.live_save([state.take.session, format]), "The file could not be made.");
    afterNote.textContent = answer.error ?? "";
    return answer.error ? null : answer;
  }

  async function save(format) {
    if (format === "wav" && !state.take.document) {
      const address = URL.createObjectURL(state.take.copy.wav());
      follow(address, "live.wav");
      return void setTimeout(() => URL.revokeObjectURL(address), 60000);
    }
    const made = await saved(format);
    if (made) follow(fileAddress(made.path), made.name);
  }

  function follow(href, name) {
    const link = h("a", { href, download: name, hidden: true });
    root.append(link);
    link.click();
    link.remove();
  }

  async function playSpan(from, to) {
    if (state.stage !== "done" || !state.take?.document) return;
    if (!player.src) {
      const made = await saved("wav");
      if (!made) return;
      player.src = fileAddress(made.path);
    }
    player.currentTime = from;
    player.ontimeupdate = () => player.currentTime >= to && player.pause();
    await player.play().catch(() => {});
  }
  for (const event of ["play", "pause", "ended"])
    player.addEventListener(event, () =>
      listen.replaceChildren(icon(player.paused ? "play" : "pause"), player.paused ? "Play" : "Pause"),
    );

  async function openInTranscribe() {
    const { take } = state;
    inspect.disabled = true;
    afterNote.textContent = "Hearing all of it again…";
    let answer = null;
    do {
      answer = await ask(() => server.live_again(take.session), "The server cannot be reached. Try again.");
      if (answer.share) afterNote.textContent = `Hearing all of it again, ${Math.round(100 * answer.share)} %`;
    } while (!answer.error && !answer.document && take === state.take);
    if (take !== state.take) return;
    inspect.disabled = false;
    afterNote.textContent = answer.error ?? "";
    if (answer.error) return;
    const compared = await server.live_beside(answer.document).catch(() => null);
    if (compared) beside.replaceChildren(differenceCard(compared));
    openTab("Transcribe");
    location.hash = `#d=${answer.document}`;
  }

  /* Microphones. */

  async function refreshDevices() {
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
  navigator.mediaDevices?.addEventListener?.("devicechange", refreshDevices);

  chooser.addEventListener("change", () => {
    if (!chooser.files.length) return;
    file.lastChild.textContent = chooser.files[0].name;
    file.value = "own";
    begin("file");
  });
  file.addEventListener("change", () => {
    if (file.value === "own") {
      chooser.value = "";
      chooser.click();
    }
  });
};

function openTab(name) {
  const found = [...document.querySelectorAll('button[role="tab"]')].find((tab) => tab.textContent.trim() === name);
  found?.click();
}
