/* What the inside view knows: frame scores in spans of 30 s, asked for where the view rests, one at a time and the one
   nearest to its middle first.

   Who asks is up to the view: a subject {name, duration, ask(number)} answers with what `packed` in
   components/inside.py makes. */

const INSIDE_SPAN = 30; /* seconds, as in components/inside.py */
const KEPT_SPANS = 16;

/* A span of the answer: typed columns, matrices row by row. */
function readSpan(answer) {
  const frames = answer.frames;
  if (!frames) return { frames, first: 0, texts: {} };
  if (answer.weights !== undefined) return readAttention(answer);
  return {
    ...answer,
    blank: new Uint16Array(fromBase64(answer.blank)),
    entropy: new Uint16Array(fromBase64(answer.entropy)),
    top_ids: new Int32Array(fromBase64(answer.top_ids)),
    top_probs: new Uint16Array(fromBase64(answer.top_probs)),
    taken: new Int32Array(fromBase64(answer.taken)),
    duration: new Int32Array(fromBase64(answer.duration)),
    duration_probs: new Uint16Array(fromBase64(answer.duration_probs)),
    heard_probs: new Uint8Array(fromBase64(answer.heard_probs)),
    column: new Map(answer.heard.map((id, i) => [id, i])),
  };
}

function makeInsideTiles(changed) {
  const know = { problem: "", head: null, own: null, heads: [] };
  const spans = new Map(); /* by number, the newest last */
  let name = "";
  let isBusy = false;
  let timer = 0;

  /* Ask for what is missing of [a, b]. */
  function want(subject, a, b) {
    if (subject.name !== name) {
      clear();
      name = subject.name;
    }
    const missing = numbers(a, Math.min(b, subject.duration)).filter((number) => !spans.has(number));
    if (isBusy || know.problem || !missing.length) return;
    const middle = (a + b) / 2 / INSIDE_SPAN - 0.5;
    missing.sort((p, q) => Math.abs(p - middle) - Math.abs(q - middle));
    clearTimeout(timer);
    timer = setTimeout(() => ask(subject, missing[0]), spans.size ? WAIT : 0);
  }

  async function ask(subject, number) {
    const asked = name;
    isBusy = true;
    const answer = await subject
      .ask(number)
      .catch(() => ({ error: "The app did not answer. Switch Look inside off and on to ask again." }));
    isBusy = false;
    if (asked === name) take(number, answer);
    changed();
  }

  /* An empty answer says that the recording has changed; its news are on their way. */
  function take(number, answer) {
    know.problem = answer?.error ?? "";
    if (know.problem) return;
    if (answer) [know.head, know.own, know.heads] = [answer.head, answer.own, answer.heads];
    spans.set(number, readSpan(answer ?? { frames: 0 }));
    for (const oldest of spans.keys()) {
      if (spans.size <= KEPT_SPANS) break;
      spans.delete(oldest);
    }
  }

  function clear() {
    spans.clear();
    clearTimeout(timer);
    know.problem = "";
    name = "";
  }

  /* Numbers of the spans that touch [a, b). */
  function numbers(a, b) {
    const [first, last] = [Math.max(0, Math.floor(a / INSIDE_SPAN)), Math.ceil(b / INSIDE_SPAN)];
    return Array.from({ length: Math.max(0, last - first) }, (_, i) => first + i);
  }

  /* The frame at a time: {span, i, start, seconds}, or null where it is not known. */
  function frameAt(time) {
    for (const number of [Math.floor(time / INSIDE_SPAN), Math.floor(time / INSIDE_SPAN) - 1]) {
      const span = spans.get(number);
      if (!span?.frames) continue;
      const i = Math.floor(time / span.frame_seconds + 1e-6) - span.first;
      if (i < 0 || i >= span.frames) continue;
      return { span, i, start: (span.first + i) * span.frame_seconds, seconds: span.frame_seconds };
    }
    return null;
  }

  const between = (a, b) => numbers(a, b).map((number) => ({ number, span: spans.get(number) ?? null }));

  return { know, want, clear, frameAt, between };
}
