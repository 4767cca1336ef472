/* Where live sound comes from: the microphone, or a file that plays at real speed.

   A source gives blocks of 16-bit mono samples: onBlock(Int16Array, time), where `time` is the Date.now() of its last
   sample. It has {rate, name, pause(), resume(), stop()}; stop() resolves when the last block has been given. No events and
   no server functions. */

/* A source that cannot be opened; the message is for a person. */
class SourceError extends Error {}

/* Runs in the audio thread. It sends full blocks, and what is left when it is paused or stopped. */
function captureProcessor() {
  const BLOCK = 2048;
  class Capture extends AudioWorkletProcessor {
    constructor() {
      super();
      this.block = new Int16Array(BLOCK);
      this.filled = 0;
      this.isOn = true;
      this.isOver = false;
      this.port.onmessage = ({ data }) => {
        if (data !== "resume") this.flush();
        this.isOn = data === "resume";
        if (data === "stop") {
          this.isOver = true;
          this.port.postMessage("over");
        }
      };
    }

    flush() {
      if (!this.filled) return;
      const pcm = this.block.slice(0, this.filled);
      this.port.postMessage({ pcm, at: Date.now() }, [pcm.buffer]);
      this.filled = 0;
    }

    process([input]) {
      if (this.isOver) return false;
      const samples = this.isOn ? input?.[0] : null;
      if (!samples) return true;
      for (const value of samples) {
        this.block[this.filled++] = Math.max(-32768, Math.min(32767, Math.round(value * 32767)));
        if (this.filled === BLOCK) this.flush();
      }
      return true;
    }
  }
  registerProcessor("tokenscope-capture", Capture);
}

const MICROPHONE_ERRORS = {
  NotAllowedError: "The browser does not allow this page the microphone. Allow it beside the page's address, then press Start again.",
  NotFoundError: "No microphone was found. Plug one in and press Start again, or play a file.",
  OverconstrainedError: "The chosen microphone is not there any more. Choose another one, then press Start again.",
  NotReadableError: "The microphone cannot be opened; another program may be using it. Close that, then press Start again.",
};
const PLAIN_HTTP =
  "This page came over plain http, where browsers give no microphone. Open it with https or on localhost, or play a file.";

/* Why the microphone cannot be used here at all, or "". */
function microphoneProblem() {
  if (navigator.mediaDevices?.getUserMedia && window.AudioWorkletNode) return "";
  return window.isSecureContext ? "This browser gives pages no microphone. Use a newer one, or play a file." : PLAIN_HTTP;
}

/* The microphones as {id, name}; their names are empty until the microphone has been allowed once. */
async function listMicrophones() {
  if (microphoneProblem()) return [];
  const devices = await navigator.mediaDevices.enumerateDevices();
  return devices
    .filter(({ kind, deviceId }) => kind === "audioinput" && deviceId !== "default" && deviceId !== "communications")
    .map(({ deviceId, label }, i) => ({ id: deviceId, name: label || `Microphone ${i + 1}` }));
}

/* Open the microphone. `clean`: let the browser change the sound (echo, noise, gain). onLost(message) when it goes away. */
async function openMicrophone({ device, clean, onBlock, onLost }) {
  const problem = microphoneProblem();
  if (problem) throw new SourceError(problem);
  const audio = { channelCount: 1, echoCancellation: clean, noiseSuppression: clean, autoGainControl: clean };
  if (device) audio.deviceId = { exact: device };
  const stream = await navigator.mediaDevices.getUserMedia({ audio }).catch((error) => {
    throw new SourceError(MICROPHONE_ERRORS[error.name] ?? `The microphone cannot be opened (${error.name}).`);
  });
  const [track] = stream.getAudioTracks();
  const context = contextAt(track.getSettings().sampleRate);
  const address = URL.createObjectURL(new Blob([`(${captureProcessor})()`], { type: "text/javascript" }));
  let node;
  try {
    await context.audioWorklet.addModule(address);
    node = new AudioWorkletNode(context, "tokenscope-capture", {
      numberOfInputs: 1,
      numberOfOutputs: 0,
      channelCount: 1,
      channelCountMode: "explicit",
    });
    context.createMediaStreamSource(stream).connect(node);
    await context.resume();
  } catch (error) {
    track.stop();
    context.close();
    throw new SourceError(`The browser cannot record from this microphone (${error.name}). Choose another one, or play a file.`);
  } finally {
    URL.revokeObjectURL(address);
  }
  const over = new Promise((resolve) => {
    node.port.onmessage = ({ data }) => (data === "over" ? resolve() : onBlock(data.pcm, data.at));
  });
  track.onended = () => onLost("The microphone was unplugged or switched off. What was said up to there is kept.");
  /* A phone call or a closed lid takes the sound away and may give it back. */
  context.onstatechange = () => context.state === "interrupted" && context.resume().catch(() => {});

  async function stop() {
    track.onended = null;
    node.port.postMessage("stop");
    await Promise.race([over, later(1500)]);
    track.stop();
    await context.close();
  }
  const say = (word) => node.port.postMessage(word);
  return { rate: context.sampleRate, name: track.label, pause: () => say("pause"), resume: () => say("resume"), stop };
}

function contextAt(sampleRate) {
  try {
    return new AudioContext(sampleRate ? { sampleRate } : {});
  } catch {
    return new AudioContext();
  }
}

const later = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/* Play a file as if it were spoken: its samples in order, at real speed, heard too where `isHeard`.
   onLost("") at its end. */
const FILE_RATE = 16000;
const FILE_STEP = 50;

async function openFile({ bytes, name, isHeard, onBlock, onLost }) {
  const decoded = await new OfflineAudioContext(1, 1, FILE_RATE).decodeAudioData(bytes).catch(() => {
    throw new SourceError(`${name} holds no sound that this browser can read. Choose a WAV, MP3, FLAC, OGG or M4A file.`);
  });
  const samples = mixed(decoded);
  const speaker = isHeard ? await startSpeaker(samples) : null;
  let given = 0;
  let isOn = true;
  let beganAt = Date.now();
  let beganWith = 0;

  function give() {
    if (!isOn) return;
    const now = Date.now();
    const due = clamp(beganWith + Math.floor(((now - beganAt) * FILE_RATE) / 1000), given, samples.length);
    if (due > given) onBlock(samples.slice(given, due), now);
    given = due;
    if (given < samples.length) return;
    isOn = false;
    clearInterval(timer);
    onLost("");
  }

  function resume() {
    [beganAt, beganWith, isOn] = [Date.now(), given, true];
    speaker?.resume();
  }

  const timer = setInterval(give, FILE_STEP);
  return {
    rate: FILE_RATE,
    name,
    pause: () => (give(), (isOn = false), speaker?.suspend()),
    resume,
    stop: async () => {
      give();
      isOn = false;
      clearInterval(timer);
      await speaker?.close();
    },
  };
}

function mixed(decoded) {
  const mono = new Float32Array(decoded.length);
  for (let c = 0; c < decoded.numberOfChannels; c++) {
    const channel = decoded.getChannelData(c);
    for (let i = 0; i < mono.length; i++) mono[i] += channel[i] / decoded.numberOfChannels;
  }
  /* A loop: Int16Array.from takes a minute for an hour. */
  const pcm = new Int16Array(mono.length);
  for (let i = 0; i < mono.length; i++) pcm[i] = clamp(Math.round(mono[i] * 32767), -32768, 32767);
  return pcm;
}

async function startSpeaker(samples) {
  const context = new AudioContext();
  const buffer = context.createBuffer(1, Math.max(1, samples.length), FILE_RATE);
  const channel = buffer.getChannelData(0);
  for (let i = 0; i < samples.length; i++) channel[i] = samples[i] / 32768;
  const source = context.createBufferSource();
  source.buffer = buffer;
  source.connect(context.destination);
  source.start();
  return context;
}
