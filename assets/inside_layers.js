/* What the inside view paints, one function a row, in greys: colour belongs to confidence. Each gets the 2D context, the
   layout of align_layout.js, its row, the tiles of inside_tiles.js and the tokens that were heard; nothing here keeps
   state. */

/* A kind of head, or later a kind of model, has rows; a row has a name, a height, and what paints it. */
const INSIDE_KINDS = {
  tdt: ["blank", "entropy", "duration"],
  rnnt: ["blank", "entropy"],
  ctc: ["blank", "entropy", "heard"],
};
const INSIDE_ROWS = {
  blank: { name: "Blank", height: () => 32, draw: drawBlank },
  entropy: { name: "Entropy", height: () => 32, draw: drawEntropy },
  duration: { name: "Duration", height: () => 22, draw: drawDurations },
  heard: { name: "", height: (count) => (count > 12 ? 288 : 144), draw: drawHeard },
};
const TEXT_PITCH = 12;

const probability = (value) => value / 65535;
const nats = (value) => value / 4096;
const isSkipped = (span, i) => span.top_ids[i * span.top] < 0;
const pieceOf = (span, id) => (id === span.blank_id ? "blank" : (span.texts[id] ?? `id ${id}`));

/* Each known frame in view: its span and index there, where it starts and how wide it is in pixels. */
function eachFrame(view, tiles, visit) {
  for (const { span } of tiles.between(view.a, view.b)) {
    if (!span?.frames) continue;
    const step = span.frame_seconds;
    const from = clamp(Math.floor(view.a / step) - span.first, 0, span.frames);
    const to = clamp(Math.ceil(view.b / step) - span.first, 0, span.frames);
    for (let i = from; i < to; i++) visit(span, i, toX(view, (span.first + i) * step), step * view.scale);
  }
}

/* The frame around a row, and what is still on its way. */
function drawInsideGround(g, view, row, tiles) {
  g.fillStyle = theme.sunken;
  for (const { number, span } of tiles.between(view.a, view.b)) {
    if (span) continue;
    const left = Math.max(view.x0, toX(view, number * INSIDE_SPAN));
    const right = Math.min(view.x1, toX(view, (number + 1) * INSIDE_SPAN));
    g.fillRect(left, row.y, Math.max(0, right - left), row.h);
  }
  g.strokeStyle = theme.line;
  g.lineWidth = 1;
  g.strokeRect(view.x0 + 0.5, row.y + 0.5, view.x1 - view.x0 - 1, row.h - 1);
}

/* Steps from the row's foot: `value` answers 0 to 1 of its height. A frame that was jumped over has none. */
function drawSteps(g, view, row, tiles, value) {
  const room = row.h - 2;
  eachFrame(view, tiles, (span, i, x, w) => {
    if (isSkipped(span, i)) return;
    const h = Math.max(1, value(span, i) * room);
    const width = Math.max(0.5, w > 4 ? w - 1 : w);
    g.fillStyle = theme.wave;
    g.fillRect(x, row.y + row.h - 1 - h, width, h);
    g.fillStyle = theme.core;
    g.fillRect(x, row.y + row.h - 1 - h, width, Math.min(h, 1.5));
  });
}

function drawScale(g, view, row, top) {
  if (view.x0 === 0) return;
  g.font = `400 11px ${theme.mono}`;
  g.fillStyle = theme.ink3;
  g.textAlign = "right";
  g.textBaseline = "middle";
  g.fillText(top, view.x0 - 6, row.y + 7);
  g.fillText("0", view.x0 - 6, row.y + row.h - 6);
}

function drawBlank(g, view, row, tiles) {
  drawSteps(g, view, row, tiles, (span, i) => probability(span.blank[i]));
  drawScale(g, view, row, "1");
}

/* In whole nats up to the highest in view. */
function drawEntropy(g, view, row, tiles) {
  let most = 0;
  eachFrame(view, tiles, (span, i) => (most = Math.max(most, span.entropy[i])));
  const top = Math.max(1, Math.ceil(nats(most)));
  drawSteps(g, view, row, tiles, (span, i) => nats(span.entropy[i]) / top);
  drawScale(g, view, row, String(top));
}

/* One box a step of the path, as wide as it went on: dark where it wrote a token, with the frames as a figure. */
function drawDurations(g, view, row, tiles) {
  g.font = `400 11px ${theme.mono}`;
  g.textAlign = "center";
  g.textBaseline = "middle";
  eachFrame(view, tiles, (span, i, x, w) => {
    if (isSkipped(span, i)) return;
    const isToken = span.taken[i] !== span.blank_id;
    const width = Math.max(1, span.duration[i]) * w;
    g.fillStyle = isToken ? theme.wave : theme.sunken;
    g.fillRect(x + 0.5, row.y + 1, Math.max(0.5, width > 4 ? width - 1 : width), row.h - 2);
    if (width >= 6) {
      g.fillStyle = theme.strong;
      g.fillRect(Math.round(x), row.y + 1, 1, row.h - 2);
    }
    if (width < 11) return;
    g.fillStyle = isToken ? theme.ink : theme.ink2;
    g.fillText(String(span.duration[i]), x + width / 2, row.y + row.h / 2 + 1);
  });
}

/* Ids of the tokens in view, each once, in order of time. */
function idsInView(view, tokens) {
  const [first, last] = visibleRange(tokens, view.a, view.b);
  return [...new Set(tokens.id.slice(first, last))];
}

/* The posteriorgram: a line for each token that occurs in view, the darker the more probable. */
function drawHeard(g, view, row, tiles, tokens) {
  const ids = idsInView(view, tokens);
  if (!ids.length) return;
  const pitch = row.h / ids.length;
  const texts = new Map();
  for (const { span } of tiles.between(view.a, view.b)) {
    if (!span?.frames) continue;
    for (const id of ids) if (span.texts[id] !== undefined) texts.set(id, span.texts[id]);
    const from = clamp(Math.floor(view.a / span.frame_seconds) - span.first, 0, span.frames);
    const to = clamp(Math.ceil(view.b / span.frame_seconds) - span.first, 0, span.frames);
    if (to <= from) continue;
    const left = toX(view, (span.first + from) * span.frame_seconds);
    const right = toX(view, (span.first + to) * span.frame_seconds);
    g.imageSmoothingEnabled = false;
    g.drawImage(pictureOfHeard(span, from, to, ids), left, row.y, right - left, row.h);
  }
  g.strokeStyle = theme.line;
  g.strokeRect(view.x0 + 0.5, row.y + 0.5, view.x1 - view.x0 - 1, row.h - 1);
  drawHeardTexts(g, view, row, ids, texts, pitch);
}

function pictureOfHeard(span, from, to, ids) {
  const picture = document.createElement("canvas");
  picture.width = to - from;
  picture.height = ids.length;
  const g = picture.getContext("2d");
  const image = g.createImageData(picture.width, picture.height);
  const pixels = new Uint32Array(image.data.buffer);
  const columns = span.heard.length;
  ids.forEach((id, line) => {
    const column = span.column.get(id);
    for (let i = from; i < to; i++) {
      const grey = column === undefined ? 0 : span.heard_probs[i * columns + column];
      pixels[line * picture.width + i - from] = theme.grey[grey];
    }
  });
  g.putImageData(image, 0, 0);
  return picture;
}

/* The texts in the gutter, or over the picture where there is none; of lines too narrow for theirs, every n-th. */
function drawHeardTexts(g, view, row, ids, texts, pitch) {
  const step = Math.ceil(TEXT_PITCH / pitch);
  g.font = `400 11px ${theme.sans}`;
  g.textBaseline = "middle";
  g.textAlign = view.x0 ? "right" : "left";
  for (let line = 0; line < ids.length; line += step) {
    const text = fitText(g, texts.get(ids[line]) ?? "", view.x0 ? view.x0 - 8 : 64);
    const y = clamp(row.y + (line + 0.5) * pitch, row.y + 6, row.y + row.h - 6);
    if (!view.x0) {
      g.fillStyle = theme.surface;
      g.fillRect(1, y - 6, g.measureText(text).width + 5, 12);
    }
    g.fillStyle = theme.ink2;
    g.fillText(text, view.x0 ? view.x0 - 6 : 3, y + 1);
  }
}

/* The name of a row in its corner, where there is no gutter. */
function drawInsideName(g, row, name) {
  if (row.h < 30 || !name) return;
  g.font = `400 11px ${theme.sans}`;
  g.textAlign = "left";
  g.textBaseline = "middle";
  g.fillStyle = theme.surface;
  g.fillRect(1, row.y + 1, g.measureText(name).width + 6, 14);
  g.fillStyle = theme.ink2;
  g.fillText(name, 3, row.y + 9);
}

/* What stands in place of the rows. */
function drawInsideNote(g, view, row, text) {
  g.fillStyle = theme.sunken;
  g.beginPath();
  g.roundRect(view.x0, row.y, view.x1 - view.x0, row.h, 2);
  g.fill();
  g.font = `400 12px ${theme.sans}`;
  g.fillStyle = theme.ink2;
  g.textAlign = "left";
  g.textBaseline = "middle";
  g.fillText(fitText(g, text, view.x1 - view.x0 - 16), view.x0 + 8, row.y + row.h / 2 + 1);
}
