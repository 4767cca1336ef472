/* What stands around the canvas of the alignment view: toolbar, legend, layers menu, card, keys. Plain DOM. */

const KEYS = [
  ["Play, pause", "Space"],
  ["Play token", "Enter"],
  ["Play window", "Shift Enter"],
  ["Stop", "Esc"],
  ["Loop", "L"],
  ["Slower, faster", "[ ]"],
  ["Token before, after", "← →"],
  ["Tier above, below", "↑ ↓"],
  ["Next unsure token", "N"],
  ["One before", "Shift N"],
  ["Zoom in, out", "+ −"],
  ["Show all", "0"],
  ["Zoom at the pointer", "Ctrl wheel"],
  ["Look inside", "I"],
  ["Frame before, after", ", ."],
  ["These keys", "?"],
];
const RATES = [0.25, 0.5, 0.75, 1, 1.25, 1.5, 2];

function button(label, iconName, onclick, className = "") {
  return h(
    "button",
    { class: `ts-btn ts-iconic ${className}`, type: "button", "aria-label": label, title: label, onclick },
    icon(iconName),
  );
}

/* The toolbar, as nodes by name; `act` holds what the buttons do, `tail` stands at its end. */
function buildToolbar(act, tail = buildLegend()) {
  const play = button("Play or pause", "play", act.toggle, "ts-primary");
  const loop = button("Loop the selection", "loop", act.toggleLoop, "ts-quiet");
  loop.setAttribute("aria-pressed", "false");
  const now = document.createTextNode(clock(0));
  const total = h("span", { class: "ts-dim" }, "");
  const rate = h(
    "select",
    { class: "ts-select ts-wide-only", "aria-label": "Playback rate", onchange: () => act.setRate(Number(rate.value)) },
    RATES.map((value) => h("option", { value, selected: value === 1 }, `${value}×`)),
  );
  const layers = h(
    "button",
    { class: "ts-btn ts-quiet ts-wide-only", type: "button", "aria-haspopup": "true", "aria-expanded": "false" },
    "Layers ",
    icon("down"),
  );
  const bar = h(
    "div",
    { class: "ts-bar" },
    play,
    loop,
    h("span", { class: "ts-time" }, now, " ", total),
    rate,
    h("span", { class: "ts-sep ts-wide-only" }),
    button("Zoom out", "minus", act.zoomOut, "ts-quiet ts-wide-only"),
    button("Zoom in", "plus", act.zoomIn, "ts-quiet ts-wide-only"),
    h("button", { class: "ts-btn ts-quiet ts-wide-only", type: "button", onclick: act.fit }, "Fit"),
    h("span", { class: "ts-grow" }),
    h("span", { class: "ts-anchor" }, layers),
    tail,
  );
  return { bar, play, loop, now, total, rate, layers };
}

/* The scale with its threshold: the only place on the page where that is set. */
function buildLegend() {
  const ramp = h("span", {
    class: "ts-ramp",
    role: "slider",
    tabindex: 0,
    "aria-label": "Mark tokens below this confidence",
    "aria-valuemin": 0,
    "aria-valuemax": 1,
  });
  const input = h("input", {
    class: "ts-input ts-mono ts-wide-only",
    type: "number",
    min: 0,
    max: 1,
    step: 0.05,
    "aria-label": "Mark below",
  });
  const show = () => {
    ramp.style.setProperty("--at", `${100 * page.threshold}%`);
    ramp.setAttribute("aria-valuenow", page.threshold.toFixed(2));
    if (document.activeElement !== input) input.value = page.threshold.toFixed(2);
  };
  const set = (value) => {
    if (!Number.isFinite(value)) return;
    page.threshold = Math.round(100 * clamp(value, 0, 1)) / 100;
    keepThreshold();
    emit("threshold");
  };
  const fromPointer = (event) => {
    const box = ramp.getBoundingClientRect();
    set((event.clientX - box.left) / box.width);
  };
  ramp.addEventListener("pointerdown", (event) => {
    ramp.setPointerCapture(event.pointerId);
    fromPointer(event);
  });
  ramp.addEventListener("pointermove", (event) => ramp.hasPointerCapture(event.pointerId) && fromPointer(event));
  ramp.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -0.05, ArrowDown: -0.05, ArrowRight: 0.05, ArrowUp: 0.05 }[event.key];
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    set(page.threshold + step);
  });
  input.addEventListener("input", () => input.value !== "" && set(Number(input.value)));
  input.addEventListener("blur", show);
  on("threshold", show);
  show();
  return h(
    "span",
    { class: "ts-legend" },
    h("span", { class: "ts-word" }, "unsure"),
    ramp,
    h("span", { class: "ts-word" }, "sure"),
    h("label", { class: "ts-mark-below ts-wide-only" }, h("span", { class: "ts-word" }, "Mark below"), input),
  );
}

/* Which rows are shown, how much of the spectrum, and how tall the waveform. `changed` is called after each change. */
function buildLayersMenu(state, changed, rows = TIERS.map((tier) => [tier, TIER_NAMES[tier]])) {
  const toggle = (key, name) => {
    const box = h("input", { type: "checkbox", checked: state.layers[key] });
    box.addEventListener("change", () => {
      state.layers[key] = box.checked;
      changed();
    });
    return h("label", { class: "ts-choice" }, box, name);
  };
  const pick = (key, name, values, text) => {
    const select = h(
      "select",
      { class: "ts-select" },
      values.map((value) => h("option", { value, selected: String(value) === String(state[key]) }, text(value))),
    );
    select.addEventListener("change", () => {
      state[key] = Number(select.value);
      changed();
    });
    return h("label", { class: "ts-choice" }, h("span", { class: "ts-grow" }, name), select);
  };
  return h(
    "div",
    { class: "ts-pop ts-layers", hidden: true },
    toggle("waveform", "Waveform"),
    toggle("spectrogram", "Spectrogram"),
    rows.map(([key, name]) => toggle(key, name)),
    h("hr"),
    pick("gain", "Waveform height", [0, 1, 2, 4, 8, 16], (value) => (value ? `${value}×` : "As tall as fits")),
    pick("top", "Spectrogram", [8000, 6000, 4000, 2000], (value) => `0 to ${value / 1000} kHz`),
  );
}

function buildHelp(close, all = KEYS) {
  const half = Math.ceil(all.length / 2);
  const column = (keys) =>
    h(
      "div",
      {},
      keys.map(([what, key]) => h("div", { class: "ts-key" }, h("span", {}, what), h("kbd", { class: "ts-kbd" }, key))),
    );
  return h(
    "div",
    { class: "ts-pop ts-help", role: "dialog", "aria-label": "Keys", hidden: true },
    h(
      "div",
      { class: "ts-row" },
      h("h2", {}, "Keys"),
      h("span", { class: "ts-dim" }, "while the alignment view has the focus"),
      h("span", { class: "ts-grow" }),
      button("Close", "cross", close, "ts-quiet"),
    ),
    h("div", { class: "ts-key-columns" }, column(all.slice(0, half)), column(all.slice(half))),
  );
}

/* The card of what is under the pointer or selected by keyboard. */
function buildCard(scene = page) {
  const title = h("span", { class: "ts-big" });
  const unsure = h("span", { class: "ts-tag ts-warn" }, "unsure");
  const list = h("dl");
  const node = h(
    "div",
    { class: "ts-pop ts-card-hover", hidden: true },
    h("div", { class: "ts-row ts-spread" }, title, unsure),
    list,
  );
  const show = (tier, index) => {
    const items = scene.document.tiers[tier];
    const length = items.end[index] - items.start[index];
    title.textContent = `“${items.text[index].trim()}”`;
    unsure.hidden = !isLow(items.confidence[index]);
    const rows = [
      ["Confidence", items.confidence[index].toFixed(2)],
      ["Start", seconds(items.start[index])],
      ["End", seconds(items.end[index])],
      ["Length", `${Math.round(1000 * length)} ms`],
    ];
    if (items.id) {
      const logProb = items.log_prob[index];
      rows.push(["Log-prob", logProb === null ? "unknown" : signed(logProb, 3)], ["Token id", String(items.id[index])]);
    }
    list.replaceChildren(...rows.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
    node.hidden = false;
  };
  return { node, show, hide: () => (node.hidden = true) };
}

const CARD_MS = 120; /* that the pointer rests on an item before its card comes */

/* When the card is there: `show` after the pointer has come to an item, `showNow` for what a key has selected, once the
   view has been laid out anew. `opening` is called before it opens. */
function makeCardTimer({ card, plot, state, scene = page, opening = () => {} }) {
  let timer = 0;

  function show(tier, index, wait = CARD_MS) {
    clearTimeout(timer);
    timer = setTimeout(() => {
      if (!state.view?.rows[tier] || !(index < scene.document?.tiers[tier]?.length)) return;
      opening();
      card.show(tier, index);
      placeCard(card.node, state.view, plot, tier, index, scene);
    }, wait);
  }

  const showNow = (tier, index) => requestAnimationFrame(() => requestAnimationFrame(() => show(tier, index, 0)));

  /* A narrow page keeps it where it is docked. */
  function hide() {
    clearTimeout(timer);
    if (!isNarrow()) card.hide();
  }

  return { show, showNow, hide };
}

/* The card goes above the tier and to the side, so that what it is about stays visible; a narrow page docks it. */
function placeCard(node, view, plot, tier, index, scene = page) {
  if (isNarrow()) {
    node.style.left = node.style.top = "";
    return;
  }
  const items = scene.document.tiers[tier];
  const right = clamp(toX(view, items.end[index]), view.x0, view.x1);
  const left = clamp(toX(view, items.start[index]), view.x0, view.x1);
  const room = plot.clientWidth - node.offsetWidth - 4;
  const beside = right + 28 <= room ? right + 28 : left - 28 - node.offsetWidth + 12;
  node.style.left = `${clamp(beside, 4, room)}px`;
  node.style.top = `${view.rows[tier].y - node.offsetHeight - 6}px`;
}
