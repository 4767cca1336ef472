/* The window of time that the alignment view shows: `state.a` to `state.b` seconds, never outside the recording. */

const LEAST_SPAN = 0.02;
const PAGE_MS = 200;

/* Functions that move it over `scene.document`. `changed` is called after each move; `anchor` answers the time that a zoom keeps in place. */
function makeWindow(state, { changed, anchor, scene = page }) {
  let glide = 0;

  const duration = () => scene.document?.duration || 1;

  /* True if it has moved. */
  function setView(a, b) {
    const length = clamp(b - a, Math.min(LEAST_SPAN, duration()), duration());
    const start = clamp(a, 0, duration() - length);
    if (start === state.a && start + length === state.b) return false;
    [state.a, state.b] = [start, start + length];
    changed();
    return true;
  }

  const pan = (by) => setView(state.a + by, state.b + by);
  const fit = () => setView(0, duration());

  /* Make the window `factor` times as long, around a time that keeps its place. */
  function zoom(factor, around = anchor()) {
    const length = clamp((state.b - state.a) * factor, LEAST_SPAN, duration());
    const share = (around - state.a) / (state.b - state.a);
    return setView(around - share * length, around + (1 - share) * length);
  }

  /* Bring a span into view; nothing moves if it is in view already. */
  function reveal(start, end) {
    const length = state.b - state.a;
    if (start >= state.a && end <= state.b) return;
    if (end - start > length) {
      setView(start - 0.05 * length, start + 0.95 * length);
      return;
    }
    const middle = (start + end) / 2;
    setView(middle - length / 2, middle + length / 2);
  }

  /* Where the playhead has left the page or reaches its edge, turn it: gliding, unless the person wants no motion. */
  function turnTo(time) {
    const length = state.b - state.a;
    const isInside = time >= state.a && (time <= state.b - 0.04 * length || state.b >= duration());
    if (glide || isInside) return;
    const from = state.a;
    const to = time - 0.08 * length;
    if (isStill() || length < 1 || Math.abs(to - from) > 2 * length) {
      setView(to, to + length);
      return;
    }
    const began = performance.now();
    let last = from;
    const step = (now) => {
      glide = 0;
      if (state.a !== last) return; /* the person has moved it meanwhile */
      const share = clamp((now - began) / PAGE_MS, 0, 1);
      const at = from + (to - from) * (1 - (1 - share) ** 3);
      setView(at, at + length);
      last = state.a;
      if (share < 1) glide = requestAnimationFrame(step);
    };
    glide = requestAnimationFrame(step);
  }

  return { setView, pan, fit, zoom, reveal, turnTo };
}
