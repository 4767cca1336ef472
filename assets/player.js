/* Sound. A span is fetched alone (HTTP Range) and played to the sample; long listening uses the browser's player.

   `state` is what others may look at: playing, time, the span that plays. */

const WAV_HEADER = 44;
const BYTES = 2;

/* A player of `scene.document`; `changed` is called when it starts or stops. */
function makePlayer(scene = page, changed = () => emit("playing")) {
  const audio = new Audio();
  audio.preload = "none";
  const state = { playing: false, kind: null, start: 0, end: 0, time: 0, rate: 1, loop: false };
  let context = null;
  let source = null;
  let beganAt = 0; /* context time at which state.start was heard */
  let request = 0;
  let stopAt = null;
  let address = "";

  function load(document) {
    stop();
    address = document.address;
    audio.src = address;
    state.time = 0;
  }

  /* Samples [first, last) of the recording as floats, fetched alone. */
  async function samples(first, last) {
    if (last <= first) return new Float32Array(0);
    const range = `bytes=${WAV_HEADER + BYTES * first}-${WAV_HEADER + BYTES * last - 1}`;
    const answer = await fetch(address, { headers: { Range: range } });
    if (!answer.ok) throw new Error(`The audio could not be fetched (${answer.status}).`);
    let bytes = await answer.arrayBuffer();
    if (answer.status === 200) bytes = bytes.slice(WAV_HEADER + BYTES * first, WAV_HEADER + BYTES * last);
    return Float32Array.from(new Int16Array(bytes), (v) => v / 32768);
  }

  /* Play exactly [start, end] seconds. Resolves to the number of samples when it sounds. */
  async function playSpan(start, end) {
    stop();
    const { rate, samples: total } = scene.document;
    const first = clamp(Math.round(start * rate), 0, total);
    const last = clamp(Math.round(end * rate), first, total);
    const ticket = ++request;
    context ??= new AudioContext();
    const [data] = await Promise.all([samples(first, last), context.resume()]);
    if (ticket !== request || data.length === 0) return 0;
    const buffer = context.createBuffer(1, data.length, rate);
    buffer.copyToChannel(data, 0);
    source = context.createBufferSource();
    source.buffer = buffer;
    source.loop = state.loop;
    source.playbackRate.value = state.rate;
    source.connect(context.destination);
    source.onended = () => ticket === request && finish(end);
    beganAt = context.currentTime;
    source.start();
    Object.assign(state, { playing: true, kind: "span", start, end, time: start });
    changed();
    return data.length;
  }

  /* Play on from a time, with the browser's player; to `end`, or to the end of the recording. */
  async function playFrom(start, end = null) {
    stop();
    const ticket = ++request;
    stopAt = end;
    audio.playbackRate = state.rate;
    audio.currentTime = start;
    Object.assign(state, { playing: true, kind: "stream", start, end: end ?? scene.document.duration, time: start });
    changed();
    try {
      await audio.play();
    } catch (error) {
      if (ticket === request) stop();
      if (error.name !== "AbortError") throw error;
    }
  }

  function finish(time) {
    state.playing = false;
    state.time = time;
    source = null;
    changed();
  }

  function stop() {
    request++;
    audio.pause();
    if (source) {
      source.onended = null;
      source.stop();
      source = null;
    }
    if (state.playing) finish(now());
  }

  /* The time that is heard now. */
  function now() {
    if (!state.playing) return state.time;
    if (state.kind === "stream") return audio.currentTime;
    const heard = (context.currentTime - beganAt) * state.rate;
    const length = state.end - state.start;
    return state.start + (state.loop ? heard % length : Math.min(heard, length));
  }

  /* Called once a frame while it plays. */
  function tick() {
    if (!state.playing) return;
    state.time = now();
    if (state.kind !== "stream" || stopAt === null || state.time < stopAt) return;
    if (state.loop) audio.currentTime = state.start;
    else stop();
  }

  function seek(time) {
    if (state.playing && state.kind === "stream" && stopAt === null) audio.currentTime = time;
    else stop();
    state.time = time;
  }

  function setRate(rate) {
    if (source) {
      beganAt = context.currentTime - (now() - state.start) / rate;
      source.playbackRate.value = rate;
    }
    state.rate = rate;
    audio.playbackRate = rate;
  }

  function setLoop(loop) {
    if (source) beganAt = context.currentTime - (now() - state.start) / state.rate;
    state.loop = loop;
    if (source) source.loop = loop;
  }

  audio.addEventListener("ended", () => {
    if (!state.playing || state.kind !== "stream") return;
    if (state.loop) playFrom(state.start, stopAt);
    else finish(scene.document.duration);
  });

  return { state, load, samples, playSpan, playFrom, stop, now, tick, seek, setRate, setLoop };
}
