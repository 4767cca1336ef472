/* What the comparison's view paints: a tier of words (and tokens) for each decoder, and the joins between them. One
   function a layer, as in align_layers.js; text is painted with fillText only. */

const COMPARE_GAP = 22; /* between two decoders, for the joins */
const DASHES = [[], [5, 3], [1.5, 2.5], []];

/* As layOut of align_layout.js, with a tier of words, and perhaps one of tokens, for each of the columns. */
function layOutCompare({ a, b, width, layers, document, columns, inside }) {
  const { view, place } = startRows(a, b, width);
  const placeTier = (name, gap) => {
    view.folded[name] = medianWidth(document.tiers[name], view) < READABLE;
    place(name, view.folded[name] ? FOLDED_HEIGHT : TIER_HEIGHT.words, gap);
  };
  place("overview", 28, 4);
  place("ruler", 20);
  if (layers.waveform) place("waveform", 72, 4);
  if (layers.spectrogram) place("spectrogram", isNarrow() ? 72 : 88, 2);
  for (const [name, height, gap] of inside) place(name, height, gap);
  view.signalsEnd = view.height;
  place("marks", isNarrow() ? 20 : 8);
  for (let k = 0; k < columns; k++) {
    if (layers.tokens) placeTier(`tokens${k}`, 4);
    placeTier(`words${k}`, k < columns - 1 ? COMPARE_GAP : 6);
  }
  return view;
}

/* The letter and the name of each decoder: in the gutter, and where there is none above its tier. */
function drawNames(g, view, columns) {
  columns.forEach((_, k) => {
    const row = view.rows[`words${k}`];
    const isDocked = view.x0 === 0;
    const size = isDocked ? 14 : 20;
    const y = isDocked ? (view.rows[`tokens${k}`] ?? row).y - 18 : row.y + row.h / 2 - size / 2;
    const room = view.x0 - size - 6;
    g.font = `400 ${isDocked ? 11 : 12}px ${theme.sans}`;
    let lines = [isDocked ? dockedName(g, view, k) : shortName(k)];
    if (!isDocked && g.measureText(lines[0]).width > room) {
      g.font = `400 11px ${theme.sans}`;
      lines = inTwoLines(g, lines[0], room);
    }
    g.textAlign = "left";
    g.textBaseline = "middle";
    if (isDocked) {
      g.fillStyle = theme.surface; /* the joins go on behind it */
      g.fillRect(0, y - 1, nameEnd(g, view, k), size + 2);
    }
    g.fillStyle = theme.ink2;
    lines.forEach((line, i) => g.fillText(line, size + 4, y + size / 2 + 1 + 13 * (i - (lines.length - 1) / 2)));
    g.fillStyle = theme.ids[k];
    g.beginPath();
    g.roundRect(0, y, size, size, 4);
    g.fill();
    g.font = `700 ${isDocked ? 11 : 12}px ${theme.sans}`;
    g.textAlign = "center";
    g.textBaseline = "middle";
    g.fillStyle = theme.onId;
    g.fillText(LETTERS[k], size / 2, y + size / 2 + 1);
  });
}

/* A name that stands over its tier, and the pixel at which it and its letter end. */
const dockedName = (g, view, k) => fitText(g, shortName(k), view.x1 / 2);

function nameEnd(g, view, k) {
  g.font = `400 11px ${theme.sans}`;
  return 22 + g.measureText(dockedName(g, view, k)).width;
}

/* A name that is too wide, broken between its words; what is still too wide is cut with an ellipsis. */
function inTwoLines(g, text, room) {
  const breaks = [...text.matchAll(/[ _/-]+/g)].map((found) => found.index + found[0].length);
  const at = breaks.findLast((i) => g.measureText(text.slice(0, i).trim()).width <= room);
  if (!at) return [fitText(g, text, room)];
  return [text.slice(0, at).trim(), fitText(g, text.slice(at), room)];
}

/* The decoder whose name is at a place of the canvas, or undefined. */
function columnNamedAt(view, { x, y }) {
  if (x >= view.x0) return undefined;
  return lab.data.columns.find((_, k) => {
    const row = view.rows[`words${k}`];
    return Math.abs(y - row.y - row.h / 2) <= 14;
  });
}

/* Spans where decoders differ, at the lower edge of the overview. */
function drawOverviewDifferences(g, view, differences, duration) {
  const row = view.rows.overview;
  g.fillStyle = theme.ink;
  let painted = -1;
  for (const { start, end } of differences) {
    const x = Math.max(painted, overviewX(view, start, duration));
    const right = Math.max(x + 2, overviewX(view, end, duration));
    if (right <= painted) continue;
    g.fillRect(x, row.y + row.h - 4, right - x, 4);
    painted = right;
  }
}

/* A tier of one decoder. In the colours of the differences it is grey, and words that differ stand out. */
function drawColumnTier(g, view, name, tier, k, marks, isGrey) {
  const row = view.rows[name];
  if (!row) return;
  if (view.folded[name]) return isGrey ? drawFoldedMarks(g, view, row, tier, k, marks) : drawFolded(g, view, row, tier);
  const [first, last] = visibleRange(tier, view.a, view.b);
  let painted = -Infinity;
  for (let i = first; i < last; i++) {
    const x = toX(view, tier.start[i]);
    const w = toX(view, tier.end[i]) - x;
    if (x + w - painted < 0.5) continue;
    painted = x + w;
    const text = tier.text[i].trim();
    if (isGrey) drawGrey(g, row, x, w, text, marks.has(i));
    else drawItem(g, view, row, x, w, text, tier.confidence[i], 13);
  }
  for (let i = first; i < last; i++) {
    if (!marks.has(i)) continue;
    const x = toX(view, tier.start[i]);
    outline(g, x, row.y, Math.max(3, toX(view, tier.end[i]) - x), row.h, k);
  }
}

function drawGrey(g, { y, h }, x, w, text, isMarked) {
  if (w < 0.75) {
    g.fillStyle = theme.ink3;
    g.fillRect(Math.round(x) - 0.5, y, 1, h);
    return;
  }
  g.fillStyle = isMarked ? theme.surface : theme.sunken;
  g.fillRect(x + 0.5, y, Math.max(0.5, w - 1), h);
  if (w >= 6) {
    g.fillStyle = theme.strong;
    g.fillRect(Math.round(x), y, 1, h);
  }
  if (w < READABLE || !text) return;
  g.font = `${isMarked ? 700 : 400} 13px ${theme.sans}`;
  const isWide = g.measureText(text).width > w - 4;
  if (isWide && w < 28) return;
  g.fillStyle = theme.ink;
  g.textAlign = "center";
  g.textBaseline = "middle";
  g.fillText(isWide ? fitText(g, text, w - 6) : text, x + w / 2, y + h / 2 + 1);
}

/* The decoder's colour in its line style, inside the box. */
function outline(g, x, y, w, h, k) {
  g.save();
  g.strokeStyle = theme.ids[k];
  g.lineWidth = k === 3 ? 1 : 2;
  g.setLineDash(DASHES[k]);
  g.strokeRect(x + 1, y + 1, Math.max(1, w - 2), h - 2);
  if (k === 3 && w > 8) g.strokeRect(x + 4, y + 4, w - 8, h - 8);
  g.restore();
}

function drawFoldedMarks(g, view, { y, h }, tier, k, marks) {
  const [first, last] = visibleRange(tier, view.a, view.b);
  g.fillStyle = theme.sunken;
  g.fillRect(view.x0, y, view.x1 - view.x0, h);
  g.fillStyle = theme.ids[k];
  for (let i = first; i < last; i++) {
    if (!marks.has(i)) continue;
    const x = toX(view, tier.start[i]);
    g.fillRect(x, y, Math.max(2, toX(view, tier.end[i]) - x), h);
  }
}

/* Lines between the same boundaries of neighbouring decoders: upright = they agree, slanted = one has moved; beyond the
   limit in ink with its length. A sign stands between words that are not the same. */
function drawJoins(g, view, k, { document: doc, groups, members, marks, data }) {
  const [above, below] = [view.rows[`words${k}`], view.rows[`words${k + 1}`]];
  if (view.folded[`words${k}`] || view.folded[`words${k + 1}`]) return;
  const [ours, theirs] = [doc.tiers[`words${k}`], doc.tiers[`words${k + 1}`]];
  const top = above.y + above.h;
  const bottom = below.y - (view.rows[`tokens${k + 1}`] ? view.rows[`tokens${k + 1}`].h + 4 : 0);
  const [first, last] = visibleRange(ours, view.a - 1, view.b + 1);
  const labels = [];
  const before = { ours: -1, theirs: -1 };
  for (let i = first; i < last; i++) {
    const group = groups[k][i];
    const partner = group < 0 ? undefined : members[group].find(([column]) => column === k + 1);
    if (!partner) continue;
    const j = partner[1];
    const isSame = ours.text[i] === theirs.text[j];
    for (const [x, y] of [
      [ours.start[i], theirs.start[j]],
      [ours.end[i], theirs.end[j]],
    ]) {
      if (x === before.ours && y === before.theirs) continue; /* also the end of the word before */
      [before.ours, before.theirs] = [x, y];
      const isMoved = isSame && Math.abs(y - x) > data.moved + 1e-6;
      join(g, toX(view, x), top, toX(view, y), bottom, isMoved);
      if (isMoved) labels.push([toX(view, (x + y) / 2), milliseconds(y - x)]);
    }
    if (!isSame && marks[k].has(i)) {
      const [from, to] = [Math.min(ours.start[i], theirs.start[j]), Math.max(ours.end[i], theirs.end[j])];
      sign(g, toX(view, (from + to) / 2), (top + bottom) / 2);
    }
  }
  let free = view.x0 ? -Infinity : nameEnd(g, view, k + 1);
  for (const [x, text] of labels) free = tag(g, view, x, free, (top + bottom) / 2, text);
}

function join(g, x, top, toX_, bottom, isMoved) {
  g.strokeStyle = isMoved ? theme.ink : theme.strong;
  g.lineWidth = isMoved ? 1.5 : 1;
  g.beginPath();
  g.moveTo(Math.round(x) + 0.5, top);
  g.lineTo(Math.round(toX_) + 0.5, bottom);
  g.stroke();
}

function sign(g, x, y) {
  g.font = `700 12px ${theme.sans}`;
  g.textAlign = "center";
  g.textBaseline = "middle";
  g.fillStyle = theme.ink;
  g.fillText("≠", x, y + 1);
}

/* A dark label with its middle near `x`, from `free` on; returns where the next one may begin. There is none where it
   would stand beside another join. */
function tag(g, view, x, free, y, text) {
  g.font = `400 11px ${theme.mono}`;
  const width = g.measureText(text).width + 10;
  const left = clamp(Math.max(x - width / 2, free), view.x0, view.x1 - width);
  if (left < free || Math.abs(left + width / 2 - x) > width) return free;
  g.fillStyle = theme.ink;
  g.beginPath();
  g.roundRect(left, y - 8, width, 16, 3);
  g.fill();
  g.fillStyle = theme.surface;
  g.textAlign = "center";
  g.textBaseline = "middle";
  g.fillText(text, left + width / 2, y + 1);
  return left + width + 4;
}

/* Words that stand for the same place, lit in all tiers. */
function drawPartners(g, view, { document: doc, members }, group) {
  for (const [k, i] of members[group] ?? []) {
    const row = view.rows[`words${k}`];
    const tier = doc.tiers[`words${k}`];
    const left = Math.max(view.x0, toX(view, tier.start[i]));
    const right = Math.min(view.x1, toX(view, tier.end[i]));
    if (right <= left) continue;
    g.fillStyle = theme.wash;
    g.fillRect(left, row.y, right - left, row.h);
    g.strokeStyle = theme.accent;
    g.lineWidth = 2;
    g.strokeRect(left + 1, row.y + 1, Math.max(1, right - left - 2), row.h - 2);
  }
}

/* Wash over everything that belongs to a span, with a line at both ends. */
function drawSpan(g, view, { start, end }) {
  const left = Math.max(view.x0, toX(view, start));
  const right = Math.min(view.x1, toX(view, end));
  if (right < view.x0 || left > view.x1) return;
  const top = view.rows.ruler.y + view.rows.ruler.h;
  g.fillStyle = theme.wash;
  g.fillRect(left, top, Math.max(1, right - left), view.signalsEnd - top);
  g.fillStyle = theme.washLine;
  for (const x of [left, right]) g.fillRect(Math.round(x), top, 1, view.height - top - 6);
}
