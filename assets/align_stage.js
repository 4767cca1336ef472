/* What every alignment view has: two canvases, the rows of sound, words for its window, and the menu of its layers. */

/* The first view of a recording: pixels a second, or seconds on a narrow screen. */
const READABLE_SCALE = 190;
const NARROW_SPAN = 2.3;

/* What stands still is painted on `base`, what moves on `overlay` above it. */
function buildStage(card) {
  const base = h("canvas", { class: "ts-canvas", "aria-hidden": "true" });
  const overlay = h("canvas", { class: "ts-canvas ts-overlay", "aria-hidden": "true" });
  const stage = h("div", { class: "ts-stage" }, base, overlay);
  return { base, overlay, plot: h("div", { class: "ts-plot" }, stage, card), width: () => stage.clientWidth };
}

/* A canvas of the window's size at the screen's density, cleared. */
function fitCanvas(canvas, width, height) {
  const density = window.devicePixelRatio || 1;
  const g = canvas.getContext("2d");
  const [w, tall] = [Math.round(width * density), Math.round(height * density)];
  if (canvas.width !== w || canvas.height !== tall) {
    canvas.width = w;
    canvas.height = tall;
    canvas.style.height = `${height}px`;
  }
  g.setTransform(density, 0, 0, density, 0, 0);
  g.clearRect(0, 0, width, height);
  return g;
}

/* Ruler, waveform and spectrogram; what a nearer look needs is asked for. */
function drawSoundRows(g, view, doc, { gain, top, tiles, closeUp }) {
  drawRuler(g, view);
  drawWaveform(g, view, doc, closeUp.get(), gain);
  drawSpectrogram(g, view, tiles.list(), top);
  tiles.want(doc, view, top);
  closeUp.want(doc, view);
}

function labelSoundRows(g, view) {
  label(g, view, "overview", "Overview");
  label(g, view, "ruler", view.b >= 60 ? "Time" : "Seconds");
  label(g, view, "waveform", "Waveform");
}

/* Draw what must not stand out beside the axis. */
function insideAxis(g, view, draw) {
  g.save();
  g.beginPath();
  g.rect(view.x0, 0, view.x1 - view.x0, view.height);
  g.clip();
  draw();
  g.restore();
}

function windowText({ a, b }) {
  const digits = b - a < 1 ? 3 : 2;
  return b >= 60 ? `${clock(a, digits)}–${clock(b, digits)}` : `${a.toFixed(digits)}–${b.toFixed(digits)} s`;
}

/* Seconds of the first view of a recording: its text can be read. */
function readableLength(width, duration) {
  const wide = (width || 1200) - (isNarrow() ? 0 : GUTTER);
  return Math.min(duration || 1, isNarrow() ? NARROW_SPAN : wide / READABLE_SCALE);
}

/* The menu of layers hangs on its button; a click elsewhere closes it. */
function connectLayers(button, menu) {
  const toggle = () => {
    menu.hidden = !menu.hidden;
    button.setAttribute("aria-expanded", String(!menu.hidden));
  };
  button.after(menu);
  button.addEventListener("click", toggle);
  window.addEventListener("pointerdown", ({ target }) => {
    if (!menu.hidden && !menu.contains(target) && !button.contains(target)) toggle();
  });
}
