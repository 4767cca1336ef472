/* What the alignment view paints of the transcript, one function a layer: ruler, marks, tiers, selection, playhead. Each
   gets the 2D context, the layout of align_layout.js, and the data it needs; nothing here keeps state. Text is painted
   with fillText only. */

function label(g, view, name, text) {
  const row = view.rows[name];
  if (!row || view.x0 === 0) return;
  g.font = `400 12px ${theme.sans}`;
  g.textAlign = "left";
  g.textBaseline = "middle";
  g.fillStyle = theme.ink2;
  g.fillText(text, 0, row.y + row.h / 2 + 1);
}

/* The text, cut with an ellipsis where it is wider than `room` pixels. */
function fitText(g, text, room) {
  if (g.measureText(text).width <= room) return text;
  const characters = Array.from(text);
  let low = 0;
  let high = characters.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (g.measureText(`${characters.slice(0, middle).join("").trimEnd()}…`).width <= room) low = middle;
    else high = middle - 1;
  }
  return low ? `${characters.slice(0, low).join("").trimEnd()}…` : "";
}

function hatch(g, x, y, w, h) {
  g.save();
  g.beginPath();
  g.rect(x, y, w, h);
  g.clip();
  g.strokeStyle = theme.hatch;
  g.lineWidth = 1.5;
  g.beginPath();
  const first = Math.floor((x - h) / 6) * 6; /* on one grid, so that neighbours' lines meet */
  for (let line = first; line < x + w; line += 6) {
    g.moveTo(line, y + h);
    g.lineTo(line + h, y);
  }
  g.stroke();
  g.restore();
}

function drawRuler(g, view) {
  const row = view.rows.ruler;
  const step = rulerStep(view);
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const figure = (time) => (view.b >= 60 ? clock(time, digits) : time.toFixed(digits));
  g.font = `400 11px ${theme.mono}`;
  g.textAlign = "center";
  g.textBaseline = "middle";
  g.lineWidth = 1;
  for (let tick = Math.ceil((view.a / step) * 5 - 1e-6); (tick * step) / 5 <= view.b + 1e-9; tick++) {
    const time = (tick * step) / 5;
    const x = Math.round(toX(view, time)) + 0.5;
    const isMajor = tick % 5 === 0;
    g.strokeStyle = isMajor ? theme.ink3 : theme.line;
    g.beginPath();
    g.moveTo(x, row.y + row.h - (isMajor ? 6 : 3));
    g.lineTo(x, row.y + row.h);
    g.stroke();
    const half = g.measureText(figure(time)).width / 2 + 2;
    if (!isMajor || x - half < view.x0 || x + half > view.x1) continue;
    g.fillStyle = theme.ink3;
    g.fillText(figure(time), x, row.y + row.h / 2 - 2);
  }
}

/* One triangle for each token below the threshold; of those on one pixel, one. */
function drawMarks(g, view, tokens) {
  const row = view.rows.marks;
  g.fillStyle = theme.low;
  g.beginPath();
  const [first, last] = visibleRange(tokens, view.a, view.b);
  let painted = -Infinity;
  for (let i = first; i < last; i++) {
    if (!isLow(tokens.confidence[i]) || tokens.end[i] <= tokens.start[i]) continue;
    const x = toX(view, (tokens.start[i] + tokens.end[i]) / 2);
    if (x - painted < 1 || x < view.x0 || x > view.x1) continue;
    painted = x;
    g.moveTo(x - 4, row.y + 1);
    g.lineTo(x + 4, row.y + 1);
    g.lineTo(x, row.y + 7);
  }
  g.fill();
}

function drawTier(g, view, name, tier) {
  const row = view.rows[name];
  if (!row) return;
  if (view.folded[name]) return drawFolded(g, view, row, tier);
  const draw = name === "sentences" ? drawSentence : drawItem;
  const size = name === "words" ? 13 : 12;
  const [first, last] = visibleRange(tier, view.a, view.b);
  let painted = -Infinity;
  for (let i = first; i < last; i++) {
    const x = toX(view, tier.start[i]);
    const w = toX(view, tier.end[i]) - x;
    if (x + w - painted < 0.5) continue; /* on a pixel that has its item already */
    painted = x + w;
    draw(g, view, row, x, w, tier.text[i].trim(), tier.confidence[i], size);
  }
}

/* A token or a word: filled by confidence, its start a crisp line, hatched below the threshold. */
function drawItem(g, view, row, x, w, text, confidence, size) {
  const { y, h } = row;
  if (w < 0.75) {
    g.fillStyle = theme.ink3; /* without length: a tick at its time */
    g.fillRect(Math.round(x) - 0.5, y, 1, h);
    return;
  }
  const fill = confidenceColour(confidence);
  const low = isLow(confidence);
  g.fillStyle = fill;
  g.beginPath();
  g.roundRect(x + 0.5, y, Math.max(0.5, w - 1), h, 2);
  g.fill();
  if (low) hatch(g, x + 0.5, y, w - 1, h);
  if (w >= 6) {
    g.fillStyle = theme.strong;
    g.fillRect(Math.round(x), y, 1, h);
  }
  if (w < READABLE || !text) return;
  g.font = `400 ${size}px ${theme.sans}`;
  let shown = text;
  if (g.measureText(text).width > w - 4) {
    if (w < 28) return;
    shown = fitText(g, text, w - 6);
    if (!shown) return;
  }
  const width = g.measureText(shown).width;
  if (low) {
    g.fillStyle = fill;
    g.fillRect(x + w / 2 - width / 2 - 2, y + 3, width + 4, h - 6);
  }
  g.fillStyle = theme.onConfidence;
  g.textAlign = "center";
  g.textBaseline = "middle";
  g.fillText(shown, x + w / 2, y + h / 2 + 1);
}

function drawSentence(g, view, { y, h }, x, w, text) {
  const left = Math.max(view.x0, x);
  const right = Math.min(view.x1, x + w);
  if (right - left < 0.5) return;
  g.fillStyle = theme.sunken;
  g.beginPath();
  g.roundRect(left + 0.5, y, Math.max(0.5, right - left - 1), h, 2);
  g.fill();
  const room = right - left - 14;
  if (room <= 28) return;
  g.font = `400 12px ${theme.sans}`;
  g.fillStyle = theme.ink2;
  g.textAlign = "left";
  g.textBaseline = "middle";
  g.fillText(fitText(g, text, room), left + 8, y + h / 2 + 1);
}

/* A crowded tier: each pixel column takes the lowest confidence in it, with a foot where that is below the threshold. */
function drawFolded(g, view, { y, h }, tier) {
  const columns = Math.ceil(view.x1 - view.x0);
  const worst = new Float32Array(columns).fill(2);
  const [first, last] = visibleRange(tier, view.a, view.b);
  for (let i = first; i < last; i++) {
    if (tier.end[i] <= tier.start[i]) continue;
    const from = Math.max(0, Math.floor((tier.start[i] - view.a) * view.scale));
    const to = Math.min(columns, Math.max(from + 1, Math.ceil((tier.end[i] - view.a) * view.scale)));
    for (let x = from; x < to; x++) if (tier.confidence[i] < worst[x]) worst[x] = tier.confidence[i];
  }
  for (let x = 0; x < columns; x++) {
    if (worst[x] > 1) continue;
    g.fillStyle = confidenceColour(worst[x]);
    g.fillRect(view.x0 + x, y, 1, h);
    if (!isLow(worst[x])) continue;
    g.fillStyle = theme.low;
    g.fillRect(view.x0 + x, y + h - 3, 1, 3);
  }
}

/* Wash over the signals, a line at both ends, and an outline on the tier. */
function drawSelection(g, view, selection) {
  const { y, h } = view.rows[selection.tier] ?? view.rows.marks;
  const left = toX(view, selection.start);
  const right = toX(view, selection.end);
  if (right < view.x0 || left > view.x1) return;
  g.save();
  g.beginPath();
  g.rect(view.x0, 0, view.x1 - view.x0, view.height);
  g.clip();
  const top = view.rows.ruler.y + view.rows.ruler.h;
  g.fillStyle = theme.wash;
  g.fillRect(left, top, right - left, view.signalsEnd - top);
  g.strokeStyle = theme.washLine;
  g.lineWidth = 1;
  for (const x of [left, right]) {
    g.beginPath();
    g.moveTo(Math.round(x) + 0.5, top);
    g.lineTo(Math.round(x) + 0.5, view.rows.marks.y + 8);
    g.stroke();
  }
  const width = Math.max(3, right - left);
  if (width > 8) {
    g.strokeStyle = theme.surface;
    g.strokeRect(left + 2, y + 2, width - 4, h - 4);
  }
  g.strokeStyle = theme.token;
  g.lineWidth = 2;
  g.strokeRect(left, y, width, h);
  g.restore();
}

/* What the pointer is on, here or in the text. */
function drawHover(g, view, name, tier, index) {
  const row = view.rows[name];
  if (!row || index >= tier.length) return;
  const left = Math.max(view.x0, toX(view, tier.start[index]));
  const right = Math.min(view.x1, toX(view, tier.end[index]));
  if (right <= left) return;
  g.strokeStyle = theme.ink2;
  g.lineWidth = 1;
  g.strokeRect(left + 0.5, row.y + 0.5, right - left - 1, row.h - 1);
}

function drawPlayhead(g, view, time, duration) {
  const { overview, ruler } = view.rows;
  g.strokeStyle = theme.playhead;
  g.fillStyle = theme.playhead;
  g.lineWidth = 1.5;
  if (duration) g.fillRect(overviewX(view, time, duration) - 0.75, overview.y, 1.5, overview.h);
  const x = Math.round(toX(view, time)) + 0.5;
  if (x < view.x0 || x > view.x1 + 1) return;
  g.beginPath();
  g.moveTo(x, ruler.y + 12);
  g.lineTo(x, view.height - 2);
  g.stroke();
  g.beginPath();
  g.moveTo(x - 5, ruler.y + 10);
  g.lineTo(x + 5, ruler.y + 10);
  g.lineTo(x, ruler.y + 18);
  g.fill();
}
