/* What the alignment view paints of the sound: overview, waveform, spectrogram. As in align_layers.js, one function a
   layer, and no state. */

/* Peaks of the whole recording between two times, as lowest and highest value (-1..1) of each of `columns` pixels. */
function envelope(peaks, hop, rate, a, b, columns) {
  const low = new Float32Array(columns);
  const high = new Float32Array(columns);
  const total = peaks.length / 2;
  const perColumn = ((b - a) * rate) / hop / columns;
  const offset = (a * rate) / hop;
  for (let x = 0; x < columns; x++) {
    const first = Math.max(0, Math.floor(offset + x * perColumn));
    const last = Math.min(total, Math.max(first + 1, Math.ceil(offset + (x + 1) * perColumn)));
    let min = 127;
    let max = -128;
    for (let i = first; i < last; i++) {
      if (peaks[2 * i] < min) min = peaks[2 * i];
      if (peaks[2 * i + 1] > max) max = peaks[2 * i + 1];
    }
    if (last > first) {
      low[x] = min / 128;
      high[x] = max / 127;
    }
  }
  return { low, high };
}

/* The same from samples that were fetched for a close view, which begin at sample `first`. */
function sampleEnvelope(samples, first, rate, a, b, columns) {
  const low = new Float32Array(columns);
  const high = new Float32Array(columns);
  const perColumn = ((b - a) * rate) / columns;
  const offset = a * rate - first;
  for (let x = 0; x < columns; x++) {
    const from = Math.max(0, Math.floor(offset + x * perColumn));
    const to = Math.min(samples.length, Math.max(from + 1, Math.ceil(offset + (x + 1) * perColumn)));
    let min = 1;
    let max = -1;
    for (let i = from; i < to; i++) {
      if (samples[i] < min) min = samples[i];
      if (samples[i] > max) max = samples[i];
    }
    if (to > from) {
      low[x] = min;
      high[x] = max;
    }
  }
  return { low, high };
}

function drawEnvelope(g, { low, high }, x0, row, gain) {
  const middle = row.y + row.h / 2;
  const half = row.h / 2 - 2;
  for (const [share, colour] of [
    [1, theme.wave],
    [0.45, theme.core],
  ]) {
    g.fillStyle = colour;
    g.beginPath();
    for (let x = 0; x < low.length; x++) {
      const top = middle - clamp(high[x] * gain, -1, 1) * half * share;
      const bottom = middle - clamp(low[x] * gain, -1, 1) * half * share;
      g.rect(x0 + x, top, 1, Math.max(1, bottom - top));
    }
    g.fill();
  }
}

/* A close view, with a few samples a pixel: the curve itself. */
function drawCurve(g, samples, first, rate, view, row, gain) {
  const middle = row.y + row.h / 2;
  const half = row.h / 2 - 2;
  const from = Math.max(0, Math.floor(view.a * rate) - first - 1);
  const to = Math.min(samples.length, Math.ceil(view.b * rate) - first + 2);
  g.strokeStyle = theme.core;
  g.lineWidth = 1.25;
  g.beginPath();
  for (let i = from; i < to; i++) {
    g.lineTo(toX(view, (first + i) / rate), middle - clamp(samples[i] * gain, -1, 1) * half);
  }
  g.stroke();
}

function drawOverview(g, view, doc, gain) {
  const row = view.rows.overview;
  const { duration } = doc;
  drawOverviewSound(g, view, doc, gain);
  g.fillStyle = theme.low;
  const { start, end, confidence, length } = doc.tiers.tokens;
  let painted = -1;
  for (let i = 0; i < length; i++) {
    if (!isLow(confidence[i]) || end[i] <= start[i]) continue;
    const x = Math.max(painted, overviewX(view, start[i], duration));
    const right = Math.max(x + 2, overviewX(view, end[i], duration) - 1);
    if (right <= painted) continue;
    g.fillRect(x, row.y + row.h - 5, right - x, 4);
    painted = right;
  }
}

function drawOverviewSound(g, view, doc, gain) {
  const { peaks, hop, rate, duration } = doc;
  const row = view.rows.overview;
  const width = view.x1 - view.x0;
  g.fillStyle = theme.sunken;
  g.beginPath();
  g.roundRect(view.x0, row.y, width, row.h, 3);
  g.fill();
  if (!duration) return;
  /* It goes through the peaks of the whole recording, so it is kept with them. */
  if (doc.overview?.width !== width)
    doc.overview = { width, wave: envelope(peaks, hop, rate, 0, duration, Math.max(1, Math.round(width))) };
  drawEnvelope(g, doc.overview.wave, view.x0, { y: row.y, h: row.h - 6 }, gain);
}

function drawOverviewWindow(g, view, duration) {
  const row = view.rows.overview;
  const left = overviewX(view, view.a, duration);
  const width = Math.max(3, overviewX(view, view.b, duration) - left);
  g.fillStyle = theme.wash;
  g.fillRect(left, row.y, width, row.h);
  g.strokeStyle = theme.washLine;
  g.lineWidth = 1.5;
  g.strokeRect(left + 0.75, row.y + 0.75, width - 1.5, row.h - 1.5);
}

function drawWaveform(g, view, { peaks, hop, rate, duration }, close, gain) {
  const row = view.rows.waveform;
  if (!row) return;
  const middle = row.y + row.h / 2;
  const left = Math.max(view.x0, toX(view, 0));
  const right = Math.min(view.x1, toX(view, duration));
  g.strokeStyle = theme.line;
  g.lineWidth = 1;
  g.beginPath();
  g.moveTo(left, middle + 0.5);
  g.lineTo(right, middle + 0.5);
  g.stroke();
  g.save();
  g.beginPath();
  g.rect(view.x0, row.y, view.x1 - view.x0, row.h);
  g.clip();
  drawSound(g, view, row, { peaks, hop, rate, duration }, close, gain);
  g.restore();
}

/* From samples where the view is close and they are there, else from the peaks. */
function drawSound(g, view, row, { peaks, hop, rate, duration }, close, gain) {
  const columns = Math.max(1, Math.round(view.x1 - view.x0));
  if (
    close &&
    close.first <= view.a * rate + 1 &&
    close.first + close.samples.length >= Math.min(view.b, duration) * rate - 1
  ) {
    if ((view.b - view.a) * rate < 4 * columns) drawCurve(g, close.samples, close.first, rate, view, row, gain);
    else drawEnvelope(g, sampleEnvelope(close.samples, close.first, rate, view.a, view.b, columns), view.x0, row, gain);
    return;
  }
  drawEnvelope(g, envelope(peaks, hop, rate, view.a, view.b, columns), view.x0, row, gain);
}

/* Tiles, oldest first, each stretched over its own span until a newer one covers it. */
function drawSpectrogram(g, view, tiles, top) {
  const row = view.rows.spectrogram;
  if (!row) return;
  g.save();
  g.beginPath();
  g.rect(view.x0, row.y, view.x1 - view.x0, row.h);
  g.clip();
  g.imageSmoothingEnabled = true;
  for (const tile of tiles) {
    const left = toX(view, tile.start);
    const right = toX(view, tile.end);
    if (right > view.x0 && left < view.x1) g.drawImage(tile.picture, left, row.y, right - left, row.h);
  }
  g.restore();
  g.strokeStyle = theme.line;
  g.lineWidth = 1;
  g.strokeRect(view.x0 + 0.5, row.y + 0.5, view.x1 - view.x0 - 1, row.h - 1);
  if (view.x0 === 0) return;
  const figure = (hertz) => String(Math.round(hertz / 100) / 10);
  g.font = `400 11px ${theme.mono}`;
  g.fillStyle = theme.ink3;
  g.textAlign = "right";
  g.textBaseline = "middle";
  g.fillText(`${figure(top)} kHz`, view.x0 - 6, row.y + 6);
  g.fillText(figure(top / 2), view.x0 - 6, row.y + row.h / 2);
  g.fillText("0", view.x0 - 6, row.y + row.h - 6);
}
