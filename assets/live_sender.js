/* Sends a recording as numbered packets. One is under way at a time; blocks that come meanwhile wait and go together with
   the next one, so a slow server or connection means larger packets and never lost sound. A packet that got no answer is
   sent again as it was: the server takes each number once.

   send(packet): the server function, with packet {number, pcm, age, last}; its answer has {next, ended, trouble} or
   {error}. onTrouble(kind, text): "connection" (no answer), "full" (the server cannot store it yet, and says why), "over"
   (it goes on), "refused" (for good, and why). */

const PACKET_SECONDS = 0.2;
const PACKET_MOST = 10; /* seconds in one packet */
const ANSWER_WITHIN = 15000;
const RETRY = [200, 400, 800, 1600, 2000];

function makeSender({ rate, send, onAnswer, onTrouble }) {
  const state = { captured: 0, sent: 0, number: 0, trouble: 0 };
  let blocks = [];
  let waiting = 0; /* samples in them */
  let isBusy = false;
  let isEnding = false;
  let isDead = false;
  let wake = null;
  let whenOver;
  const over = new Promise((resolve) => (whenOver = resolve));

  /* A tab in the background may bring many seconds at once. */
  function push(pcm, at) {
    state.captured += pcm.length;
    waiting += pcm.length;
    for (let first = 0; first < pcm.length; first += rate) blocks.push({ pcm: pcm.subarray(first, first + rate), at });
    pump();
  }

  /* The last packet: what is left. Resolves to whether the server has all of it. */
  function finish() {
    isEnding = true;
    pump();
    return over;
  }

  function abort() {
    isDead = true;
    wake?.();
    whenOver(false);
  }

  function take() {
    const taken = [];
    let count = 0;
    while (blocks.length && (!count || count + blocks[0].pcm.length <= PACKET_MOST * rate)) {
      taken.push(blocks.shift());
      count += taken.at(-1).pcm.length;
    }
    waiting -= count;
    const pcm = new Int16Array(count);
    let offset = 0;
    for (const block of taken) {
      pcm.set(block.pcm, offset);
      offset += block.pcm.length;
    }
    const last = isEnding && !blocks.length;
    return { number: state.number, pcm: toBase64(pcm), count, at: taken.at(-1)?.at ?? Date.now(), last };
  }

  async function pump() {
    if (isBusy || isDead || (!isEnding && waiting < PACKET_SECONDS * rate)) return;
    isBusy = true;
    const { number, pcm, count, at, last } = take();
    for (let tries = 0; !isDead; tries++) {
      const answer = await within(ANSWER_WITHIN, () => send({ number, pcm, age: (Date.now() - at) / 1000, last }));
      if (isDead) return;
      if (answer?.error) {
        onTrouble("refused", answer.error);
        return abort();
      }
      if (answer && answer.next > number) {
        state.number = number + 1;
        state.sent += count;
        if (state.trouble) onTrouble("over");
        state.trouble = 0;
        onAnswer(answer);
        break;
      }
      if (answer?.ended) return whenOver(true); /* the server takes no more: it says why */
      state.trouble ||= Date.now();
      if (answer?.trouble) onTrouble("full", answer.trouble);
      else if (tries) onTrouble("connection");
      await new Promise((resolve) => {
        wake = resolve;
        setTimeout(resolve, RETRY[Math.min(tries, RETRY.length - 1)]);
      });
    }
    isBusy = false;
    if (last) return whenOver(true);
    pump();
  }

  window.addEventListener("online", () => wake?.());
  return { state, push, finish, abort };
}

/* The answer, or null if there was none in time. */
async function within(milliseconds, ask) {
  return Promise.race([ask().catch(() => null), later(milliseconds).then(() => null)]);
}

function toBase64(pcm) {
  const bytes = new Uint8Array(pcm.buffer, pcm.byteOffset, pcm.byteLength);
  const pieces = [];
  for (let i = 0; i < bytes.length; i += 0x8000) pieces.push(String.fromCharCode(...bytes.subarray(i, i + 0x8000)));
  return btoa(pieces.join(""));
}
