/* Where things are in the alignment view: rows from above, and time against pixels. */

const GUTTER = 72;
const TIERS = ["tokens", "words", "sentences"];
const TIER_NAMES = { tokens: "Tokens", words: "Words", sentences: "Sentences" };
const TIER_HEIGHT = { tokens: 28, words: 28, sentences: 24 };
const FOLDED_HEIGHT = 10;
/* Narrower than this in the median, a tier folds; narrower than this, an item has no text. */
const READABLE = 14;

/* An empty view of a window [a, b] seconds, `width` pixels, and what puts the next row at its end. */
function startRows(a, b, width) {
  const x0 = isNarrow() ? 0 : GUTTER;
  const view = { a, b, x0, x1: width, width, height: 0, rows: {}, folded: {}, scale: (width - x0) / (b - a) };
  const place = (name, height, gap = 0) => {
    view.rows[name] = { y: view.height, h: height };
    view.height += height + gap;
  };
  return { view, place };
}

/* Lay out the rows for a window [a, b] seconds, `width` pixels, the layers that are shown, and [name, height, gap] of
   what the inside view adds. */
function layOut({ a, b, width, layers, document, inside = [] }) {
  const { view, place } = startRows(a, b, width);
  place("overview", 28, 4);
  place("ruler", 20);
  if (layers.waveform) place("waveform", 92, 4);
  if (layers.spectrogram) place("spectrogram", isNarrow() ? 72 : 120, 2);
  for (const [name, height, gap] of inside) place(name, height, gap);
  view.signalsEnd = view.height;
  place("marks", 8);
  for (const tier of TIERS) {
    if (!layers[tier]) continue;
    view.folded[tier] = tier !== "sentences" && medianWidth(document.tiers[tier], view) < READABLE;
    place(tier, view.folded[tier] ? FOLDED_HEIGHT : TIER_HEIGHT[tier], 4);
  }
  return view;
}

const toX = (view, time) => view.x0 + (time - view.a) * view.scale;
const toTime = (view, x) => view.a + (x - view.x0) / view.scale;

/* Pixels of the whole recording in the overview. */
const overviewX = (view, time, duration) => view.x0 + (time / duration) * (view.x1 - view.x0);
const overviewTime = (view, x, duration) => ((x - view.x0) / (view.x1 - view.x0)) * duration;

function rowAt(view, y) {
  for (const [name, row] of Object.entries(view.rows)) if (y >= row.y && y < row.y + row.h) return name;
  return null;
}

/* Median width in pixels of what is in view; of thousands, of every n-th. */
function medianWidth(tier, view) {
  const [first, last] = visibleRange(tier, view.a, view.b);
  const step = Math.max(1, Math.floor((last - first) / 400));
  const widths = [];
  for (let i = first; i < last; i += step) {
    const length = tier.end[i] - tier.start[i];
    if (length > 0) widths.push(length * view.scale);
  }
  if (!widths.length) return Infinity;
  widths.sort((p, q) => p - q);
  return widths[widths.length >> 1];
}

/* Seconds between figures of the ruler: the smallest step that leaves them 56 pixels, or 76 with minutes. */
function rulerStep(view) {
  const room = view.b >= 60 ? 76 : 56;
  const steps = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600];
  return steps.find((step) => step * view.scale >= room) ?? 3600;
}
