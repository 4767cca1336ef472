/* What the annotator's view paints besides the layers of align_layers.js: tiers of any kind, boundary handles with their
   times, new times that wait for an answer. Functions without state; text is painted with fillText only. */

const HANDLE = 6; /* width of a handle */
const REACH = 5; /* pixels on each side of a boundary that take hold of it */
const PROPOSED = "proposed";

function layOutAnnotated({ a, b, width, layers, document: doc, proposal }) {
  const { view, place } = startRows(a, b, width);
  place("overview", 28, 4);
  place("ruler", 20);
  if (layers.waveform) place("waveform", 84, 4);
  if (layers.spectrogram) place("spectrogram", isNarrow() ? 72 : 96, 2);
  view.signalsEnd = view.height;
  place("marks", 8);
  for (const tier of doc.order) {
    const isMain = ["tokens", "words", "sentences"].includes(tier.key);
    if (!layers[isMain ? tier.key : "others"]) continue;
    const isDense = tier.kind === "tokens" || tier.kind === "words" || tier.kind === "free";
    view.folded[tier.key] = isDense && medianWidth(tier, view) < READABLE;
    const height = tier.key === "tokens" || tier.key === "words" ? TIER_HEIGHT.words : TIER_HEIGHT.sentences;
    place(tier.key, view.folded[tier.key] ? FOLDED_HEIGHT : height, 4);
    if (tier.key === "sentences" && proposal) place(PROPOSED, 24, 4);
  }
  if (proposal && !view.rows[PROPOSED]) place(PROPOSED, 24, 4);
  return view;
}

function drawAnnotatedTier(g, view, tier, words) {
  const row = view.rows[tier.key];
  if (!row) return;
  if (view.folded[tier.key]) return drawFolded(g, view, row, tier);
  const isItem = tier.kind === "tokens" || tier.kind === "words" || tier.kind === "free" || tier.kind === "reference";
  const [first, last] = visibleRange(tier, view.a, view.b);
  let painted = -Infinity;
  for (let i = first; i < last; i++) {
    const x = toX(view, tier.start[i]);
    const w = toX(view, tier.end[i]) - x;
    if (x + w - painted < 0.5) continue;
    painted = x + w;
    const text = labelOf(tier, i);
    if (isItem) drawItem(g, view, row, x, w, text, tier.confidence[i], tier.kind === "tokens" ? 12 : 13);
    else if (tier.key === "sentences") drawSentence(g, view, row, x, w, text);
    else drawLabel(g, view, row, x, w, text, tier.kind === "marks");
  }
  if (tier.kind === "free" && words) drawUnlike(g, view, row, tier, words, first, last);
}

/* A mark or a turn: a box with an edge, its text in the middle; marks in brackets. */
function drawLabel(g, view, { y, h }, x, w, text, isMark) {
  const left = Math.max(view.x0, x);
  const right = Math.min(view.x1, x + w);
  if (right - left < 1) return;
  g.fillStyle = isMark ? theme.soft : theme.sunken;
  g.fillRect(left, y, right - left, h);
  g.fillStyle = theme.strong;
  g.fillRect(Math.round(x), y, 1, h);
  g.fillRect(Math.round(x + w) - 1, y, 1, h);
  if (right - left < 28) return;
  g.font = `400 12px ${theme.sans}`;
  g.fillStyle = theme.ink;
  g.textAlign = "center";
  g.textBaseline = "middle";
  g.fillText(fitText(g, isMark ? `[${text}]` : text, right - left - 8), (left + right) / 2, y + h / 2 + 1);
}

/* Words of another decoder that are not what the document says there. */
function drawUnlike(g, view, { y, h }, tier, words, first, last) {
  g.strokeStyle = theme.ids[0];
  g.lineWidth = 2;
  for (let i = first; i < last; i++) {
    const below = itemAt(words, (tier.start[i] + tier.end[i]) / 2);
    if (below >= 0 && words.text[below] === tier.text[i]) continue;
    const x = toX(view, tier.start[i]);
    g.strokeRect(x + 1, y + 1, Math.max(1, toX(view, tier.end[i]) - x - 2), h - 2);
  }
}

/* Unsure words in the overview and above the tiers, as long as nobody has accepted them. */
function drawUnsure(g, view, words, duration) {
  if (!words) return;
  const row = view.rows.overview;
  g.fillStyle = theme.low;
  let painted = -1;
  for (let i = 0; i < words.length; i++) {
    if (!isLow(words.confidence[i])) continue;
    const x = Math.max(painted, overviewX(view, words.start[i], duration));
    const right = Math.max(x + 2, overviewX(view, words.end[i], duration) - 1);
    if (right <= painted) continue;
    g.fillRect(x, row.y + row.h - 5, right - x, 4);
    painted = right;
  }
  g.save();
  g.beginPath();
  g.rect(view.x0, 0, view.x1 - view.x0, view.height);
  g.clip();
  drawMarks(g, view, words);
  g.restore();
}

/* Handles on a segment's boundaries, and their times as flags at the top of the waveform. */
function drawHandles(g, view, tier, index, hot = null) {
  const row = view.rows[tier.key];
  if (!row || view.folded[tier.key]) return;
  for (const edge of ["start", "end"]) {
    const time = tier[edge][index];
    const x = Math.round(toX(view, time));
    if (x < view.x0 - 1 || x > view.x1 + 1) continue;
    drawHandle(g, x, row, hot === edge);
    drawFlag(g, view, x, time, edge);
  }
}

function drawHandle(g, x, { y, h }, isHot = false) {
  g.fillStyle = theme.accent;
  g.beginPath();
  g.roundRect(x - HANDLE / 2, y - (isHot ? 2 : 0), HANDLE, h + (isHot ? 4 : 0), 2);
  g.fill();
  g.fillStyle = theme.surface;
  g.fillRect(x - 0.5, y + h / 2 - 5, 1, 10);
}

/* On one's own side of the boundary, so that both flags of a short segment can be read. */
function drawFlag(g, view, x, time, edge) {
  const top = view.rows.ruler.y + view.rows.ruler.h + 2;
  g.font = `400 11px ${theme.mono}`;
  const text = view.b >= 60 ? clock(time) : time.toFixed(3);
  const width = g.measureText(text).width + 10;
  const left = clamp(edge === "start" ? x - width - 2 : x + 3, view.x0, view.x1 - width);
  g.fillStyle = theme.accent;
  g.beginPath();
  g.roundRect(left, top, width, 16, 3);
  g.fill();
  g.fillStyle = theme.onAccent;
  g.textAlign = "center";
  g.textBaseline = "middle";
  g.fillText(text, left + width / 2, top + 8.5);
}

/* New times as dashed boxes, until they are used or left. */
function drawProposal(g, view, { times, words }) {
  const row = view.rows[PROPOSED];
  if (!row) return;
  g.save();
  g.beginPath();
  g.rect(view.x0, 0, view.x1 - view.x0, view.height);
  g.clip();
  g.font = `400 12px ${theme.sans}`;
  g.textAlign = "center";
  g.textBaseline = "middle";
  for (const [id, start, end] of times) {
    const x = toX(view, start);
    const w = Math.max(3, toX(view, end) - x);
    if (x + w < view.x0 || x > view.x1) continue;
    g.strokeStyle = theme.accent;
    g.lineWidth = 1.5;
    g.setLineDash([4, 3]);
    g.strokeRect(x + 1, row.y + 1, w - 2, row.h - 2);
    g.setLineDash([]);
    g.fillStyle = theme.ink;
    if (w > 20) g.fillText(fitText(g, words.get(id) ?? "", w - 6), x + w / 2, row.y + row.h / 2 + 1);
  }
  g.restore();
}

/* A stretch of time that was drawn by hand. */
function drawRange(g, view, { start, end }) {
  const left = Math.max(view.x0, toX(view, start));
  const right = Math.min(view.x1, toX(view, end));
  if (right < left) return;
  const top = view.rows.ruler.y + view.rows.ruler.h;
  g.fillStyle = theme.wash;
  g.fillRect(left, top, right - left, view.height - top);
  g.fillStyle = theme.washLine;
  for (const x of [left, right]) g.fillRect(Math.round(x) - 0.5, top, 1.5, view.height - top);
  drawFlag(g, view, left, start, "start");
  drawFlag(g, view, right, end, "end");
}
