/* The tab "Live": record, show what is heard while it is said, and hand the recording on.

   Event to Python: open {rate, ticket}; the answer is the part's value {session, name} or {error}, with the same ticket.
   Server functions (components/live.py): live_push([session, packet, known]), live_look([session, known]),
   live_drop(session), and those of live_sources.js and live_after.js.
   `known` is {words, sentences, draft}: how much of the text the page has; answers carry what is new.
   Left on the element for tests: data-stage, data-captured, data-sent, data-kept (samples), data-packets, data-document. */

ICONS.stop = "M3.5 3.5h9v9h-9z";
FILLED.add("stop");

const LOOK_EVERY = 400; /* ms between looks while no packets go */
const SLOW_FROM = 6; /* seconds that the model may lie behind before it is said */

const LIVE_TITLES = { idle: "Ready", opening: "Opening…", listening: "Listening", paused: "Paused", stopping: "Finishing…", done: "Stopped" };

parts.live = ({ root, element, props, trigger, server, watch }) => {
  const { samples = [], formats = [], limit = "" } = props.value ?? {};
  const state = { stage: "idle", take: null, lookedAt: 0 };
  const { node: messages, say, clear: clearMessages } = makeMessages();
  const text = makeLiveText();
  const strip = makeStrip();
  const figures = makeLiveFigures();
  const after = makeLiveAfter({ root, server, formats, take: () => state.take });
  const sentences = makeLiveSentences(after.playSpan);
  const sources = makeLiveSources({ samples, server, begin, say });
  const { meter } = sources;
  const isOn = () => ["listening", "paused"].includes(state.stage);
  let opening = null; /* {ticket, resolve, reject} while the server opens a session */

  const dot = h("span", { class: "ts-live-dot", "aria-hidden": "true" });
  const title = h("h2", { role: "status" }, "Ready");
  const time = h("span", { class: "ts-mono ts-dim" });
  const start = liveButton("Start", "mic", () => begin("microphone"), "ts-primary");
  const pause = liveButton("Pause", "pause", togglePause);
  const stop = liveButton("Stop", "stop", () => end(), "ts-live-stop");
  const wipe = liveButton("Clear", "cross", clear);
  const recorder = h(
    "section",
    { class: "ts-card" },
    h("header", {}, dot, title, time, h("span", { class: "ts-grow" }), h("div", { class: "ts-actions" }, wipe, start, pause, stop)),
    h("div", { class: "ts-body" }, strip.canvas),
  );
  const words = h(
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
  );
  root.append(
    h(
      "div",
      { class: "ts-columns" },
      h("div", { class: "ts-stack" }, recorder, messages, words, after.beside, sentences.node),
      h("div", { class: "ts-stack" }, sources.microphone, figures.node, sources.instead, after.node),
    ),
  );
  show("idle");
  sources.refresh();

  /* Stages: idle, opening, listening, paused, stopping, done. */

  function show(stage) {
    state.stage = element.dataset.stage = stage;
    const { take } = state;
    title.textContent = stage === "listening" && take?.isFile ? "Playing" : LIVE_TITLES[stage];
    dot.classList.toggle("ts-on", stage === "listening");
    showButtons(stage);
    sources.setFree(["idle", "done"].includes(stage), take?.isFile ? "Stop the file first" : "Stop the microphone first");
    const isKept = stage === "done" && Boolean(take?.document);
    const isHere = ["stopping", "done"].includes(stage) && Boolean(take?.copy) && !take.copy.isEmpty();
    const reasons = { idle: "Record something first", done: isHere ? "Only this page has the sound: save it" : "Nothing was recorded" };
    after.allow({ isKept, isHere, isHeard: text.count() > 0 }, reasons[stage] ?? "Stop first");
    sentences.playable(isKept);
    text.listen(stage === "listening");
    if (!isOn()) meter.rest(stage === "idle" || stage === "done" ? "Not listening" : "");
  }

  /* The keyboard's focus goes where its button went. */
  function showButtons(stage) {
    const [hadStart, hadStop] = [start, stop].map((one) => one === document.activeElement);
    start.hidden = isOn() || stage === "stopping";
    start.disabled = stage === "opening";
    start.lastChild.nodeValue = stage === "done" ? "Start again" : "Start";
    pause.hidden = stop.hidden = !isOn();
    pause.replaceChildren(icon(stage === "paused" ? "play" : "pause"), stage === "paused" ? "Go on" : "Pause");
    wipe.hidden = stage !== "done";
    if (hadStart && isOn()) stop.focus();
    state.returns ||= hadStop && !isOn();
    if (stage === "done" && state.returns && document.activeElement === document.body) start.focus();
    if (stage === "done") state.returns = false;
  }

  /* A take is one recording: its source, its sender, and what the page knows of its text. */

  async function begin(kind) {
    if (!["idle", "done"].includes(state.stage) || !sources.isChosen(kind)) return;
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
      take.source = await sources.open(kind, { onBlock, onLost });
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
      onTrouble: (kind, said) => onTrouble(take, kind, said),
    });
    show("listening");
    stayAwake(take);
    for (const [pcm, at] of take.early.splice(0)) hear(take, pcm, at);
    sources.refresh();
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

  function togglePause() {
    const { take } = state;
    if (state.stage === "listening") take.source.pause();
    else take.source.resume();
    take.heardAt = undefined;
    show(state.stage === "listening" ? "paused" : "listening");
  }

  async function end() {
    const { take } = state;
    if (!isOn()) return void (take && (take.isOver = true));
    take.isOver = true;
    take.lock?.release();
    show("stopping");
    await take.source.stop();
    const arrived = await take.sender.finish();
    if (!arrived && take === state.take) show("done");
  }

  function clear() {
    const { take } = state;
    state.take = null;
    if (take?.session) server.live_drop(take.session).catch(() => {});
    for (const one of [text, sentences, figures, after]) one.clear();
    clearMessages();
    time.textContent = "";
    strip.start(FILE_RATE);
    for (const key of ["captured", "sent", "kept", "packets", "document"]) delete element.dataset[key];
    show("idle");
  }

  /* What the server says of a take. */

  function update(take, answer) {
    if (take !== state.take) return;
    state.lookedAt = performance.now();
    const { words: heard, sentences: rows, draft } = answer;
    text.take(heard, draft);
    sentences.take(rows);
    take.known = { words: heard.count, sentences: rows.count, draft: draft ? draft.revision : take.known.draft };
    take.answer = answer;
    strip.settle(answer.settled);
    Object.assign(element.dataset, { sent: take.sender.state.sent, kept: answer.samples, packets: answer.next });
    if (answer.problem) say("error", answer.problem, "problem");
    if (answer.full && state.stage !== "done")
      say("warn", `Recordings up to ${limit} are taken here, so this one was ended. All of it is kept.`, "full");
    else if (answer.ended && isOn())
      say("warn", "The server heard nothing from this page for some minutes, so it ended the recording. What had come is kept.", "full");
    showFigures(take);
    if ((answer.full || answer.ended) && isOn()) end();
    if (answer.stage === "done" && state.stage === "stopping") done(take, answer);
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
    const captured = sender.state.captured / source.rate;
    const isOver = state.stage === "stopping" || state.stage === "done";
    const lost = isOver && answer.stage === "done" ? Math.max(0, sender.state.captured - answer.samples) : 0;
    figures.show(answer, captured, lost);
    const behind = captured - answer.seconds;
    const isSlow = behind > SLOW_FROM && !isOver && !sender.state.trouble;
    say("info", isSlow ? `The model is ${behind.toFixed(0)} s behind your voice. Nothing is lost; the text follows.` : "", "slow");
    time.textContent = clock(captured, 1);
  }

  /* See makeSender. */
  function onTrouble(take, kind, said) {
    if (take !== state.take) return;
    if (kind === "over") return say("warn", "", "connection");
    if (kind === "refused") {
      say("error", said, "open");
      if (isOn()) end();
      return;
    }
    const away = Math.round((Date.now() - take.sender.state.trouble) / 1000);
    const what = kind === "full" ? said : `No connection to the server for ${away} s.`;
    say("warn", `${what} Your voice is kept here and sent when ${kind === "full" ? "there is room" : "it is back"}.`, "connection");
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
};
