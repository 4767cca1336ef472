/* What is heard: the waveform of the last seconds with the part that is still a draft, and the level. */

const STRIP_SECONDS = 18;
const STRIP_HOP = 0.01; /* seconds of one peak */
const STRIP_HEIGHT = 72;
const STRIP_WAVE = 60;
const LARGEST_GAIN = 12; /* noise stays small */

function makeStrip() {
  const canvas = h("canvas", { class: "ts-live-strip", role: "img", "aria-label": "Waveform of the last seconds" });
  let peaks = []; /* [lowest, highest] of each hop, oldest first */
  let dropped = 0; /* hops before the first that is kept */
  let open = null; /* the hop that is not full */
  let rate = 16000;
  let captured = 0;
  let settled = 0;
  let gain = 1;
  let isAsked = false;

  function start(newRate) {
    [peaks, dropped, open, captured, settled, rate] = [[], 0, null, 0, 0, newRate];
    gain = LARGEST_GAIN;
    redraw();
  }

  function push(pcm) {
    const hop = Math.round(STRIP_HOP * rate);
    for (const value of pcm) {
      open ??= { low: value, high: value, count: 0 };
      if (value < open.low) open.low = value;
      if (value > open.high) open.high = value;
      if (++open.count === hop) {
        peaks.push([open.low / 32768, open.high / 32768]);
        open = null;
      }
    }
    captured += pcm.length / rate;
    const most = Math.ceil((STRIP_SECONDS + 1) / STRIP_HOP);
    if (peaks.length > 2 * most) {
      dropped += peaks.length - most;
      peaks = peaks.slice(-most);
    }
    redraw();
  }

  function settle(time) {
    settled = time;
    redraw();
  }

  function redraw() {
    if (isAsked) return;
    isAsked = true;
    requestAnimationFrame(paint);
  }

  function paint() {
    isAsked = false;
    const width = canvas.clientWidth;
    if (!width) return;
    const scale = devicePixelRatio || 1;
    canvas.width = Math.round(width * scale);
    canvas.height = STRIP_HEIGHT * scale;
    const g = canvas.getContext("2d");
    g.scale(scale, scale);
    const span = width < 520 ? STRIP_SECONDS / 2 : STRIP_SECONDS;
    const toX = (time) => width - ((captured - time) / span) * width;
    const middle = STRIP_WAVE / 2;
    g.fillStyle = theme.line;
    g.fillRect(0, middle, width, 1);
    const begin = Math.max(0, Math.floor(toX(0)));
    const columns = Array.from({ length: Math.max(0, Math.ceil(width) - begin) }, (_, i) => {
      const time = captured - ((width - begin - i) / width) * span;
      return column(time, time + span / width);
    });
    follow(columns);
    for (const [share, colour] of [
      [1, theme.wave],
      [0.45, theme.core],
    ]) {
      g.fillStyle = colour;
      const scale = gain * (middle - 2) * share;
      columns.forEach(([low, high], i) => g.fillRect(begin + i, middle - high * scale, 1, Math.max(1, (high - low) * scale)));
    }
    paintDraft(g, toX, width);
    paintTimes(g, width, span);
  }

  /* Lowest and highest sample between two times. */
  function column(from, to) {
    const first = Math.max(0, Math.floor(from / STRIP_HOP) - dropped);
    const last = Math.min(peaks.length, Math.max(first + 1, Math.ceil(to / STRIP_HOP) - dropped));
    let low = 0;
    let high = 0;
    for (let i = first; i < last; i++) {
      if (peaks[i][0] < low) low = peaks[i][0];
      if (peaks[i][1] > high) high = peaks[i][1];
    }
    return [low, high];
  }

  /* Let the loudest place in view nearly fill the strip; at once when it gets louder, slowly when it gets quieter. */
  function follow(columns) {
    let most = 0;
    for (const [low, high] of columns) most = Math.max(most, -low, high);
    const wanted = clamp(0.95 / Math.max(most, 1e-3), 1, LARGEST_GAIN);
    gain = wanted < gain ? wanted : gain + (wanted - gain) * 0.05;
  }

  function paintDraft(g, toX, width) {
    if (captured - settled < 0.05) return;
    const x = Math.max(0, toX(settled));
    g.fillStyle = theme.wash;
    g.fillRect(x, 0, width - x, STRIP_WAVE);
    g.fillStyle = theme.washLine;
    g.fillRect(x, 0, 1, STRIP_WAVE);
    g.font = `400 12px ${theme.sans}`;
    g.textAlign = "left";
    g.textBaseline = "alphabetic";
    g.fillStyle = theme.ink2;
    if (width - x > 40) g.fillText("draft", x + 6, 12);
  }

  function paintTimes(g, width, span) {
    g.font = `400 11px ${theme.mono}`;
    g.fillStyle = theme.ink3;
    g.textBaseline = "alphabetic";
    g.textAlign = "center";
    for (let back = 3; back < span; back += 3) g.fillText(`−${back} s`, width - (back / span) * width, 70);
    g.textAlign = "right";
    g.fillText("now", width - 2, 70);
  }

  on("theme", redraw);
  new ResizeObserver(redraw).observe(canvas);
  return { canvas, start, push, settle };
}

/* The level: a bar in dB, the highest peak of the last two seconds as a mark, and what to do about it. */
const LEVEL_FLOOR = -60;

function makeMeter() {
  const bar = h("i");
  const mark = h("b", { hidden: true });
  const node = h(
    "div",
    { class: "ts-meter", role: "meter", "aria-label": "Level", "aria-valuemin": LEVEL_FLOOR, "aria-valuemax": 0 },
    bar,
    mark,
  );
  const said = h("small", { class: "ts-hint" }, "Not listening");
  let held = LEVEL_FLOOR;
  let heldAt = 0;
  let saidAt = 0;

  const share = (level) => `${(100 * (clamp(level, LEVEL_FLOOR, 0) - LEVEL_FLOOR)) / -LEVEL_FLOOR}%`;

  function push(pcm) {
    let peak = 0;
    for (const value of pcm) peak = Math.max(peak, Math.abs(value));
    const level = peak ? 20 * Math.log10(peak / 32768) : -Infinity;
    const now = performance.now();
    if (level >= held || now - heldAt > 2000) [held, heldAt] = [level, now];
    bar.style.width = share(level);
    mark.hidden = held <= LEVEL_FLOOR;
    mark.style.left = share(held);
    node.setAttribute("aria-valuenow", Math.round(Math.max(level, LEVEL_FLOOR)));
    if (now - saidAt < 500) return;
    saidAt = now;
    said.textContent = advice(held);
  }

  function rest(text) {
    bar.style.width = "0";
    mark.hidden = true;
    held = LEVEL_FLOOR;
    said.textContent = text;
  }

  return { node, said, push, rest };
}

function advice(level) {
  if (level < LEVEL_FLOOR) return "Nothing is heard. Is the microphone on?";
  const peak = `Peak ${signed(level, 0)} dB.`;
  if (level > -0.3) return `Too loud. ${peak}`;
  if (level < -36) return `Quiet: come closer. ${peak}`;
  return `Good. ${peak}`;
}
