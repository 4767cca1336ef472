/* What all parts of the page share: their registry, the recording that is shown, and how they tell each other.

   The files of this folder are put into one function, in the order that components/theme.py lists, and share its scope.
   A part is a gr.HTML with a constant template. Its js_on_load hands {element, props, trigger, server, upload, watch} to
   `mount`, under the part's name; the part then draws itself with text nodes and canvases only.

   Signals between parts: "document" (another recording or new sentences), "threshold", "selection", "clock" (playback
   has moved on), "playing" (it has started or stopped), "settings" (they have been opened or closed), "theme". */

const parts = {};

const page = {
  document: null /* see readDocument in document.js */,
  threshold: 0.6 /* kept in this browser, see keepThreshold */,
  selection: null /* {tier, index, start, end, token, word, sentence} */,
  play: null /* set by the alignment view: play(start, end) */,
  select: null /* set by the alignment view: select(tier, index, {play}) */,
};

/* The threshold stays what a person has set, also after a reload. */
const THRESHOLD_KEPT = "tokenscope.threshold";

function keepThreshold() {
  try {
    localStorage.setItem(THRESHOLD_KEPT, String(page.threshold));
  } catch {
    /* for as long as the page is open, then */
  }
}

try {
  const kept = Number(localStorage.getItem(THRESHOLD_KEPT) ?? NaN);
  if (kept >= 0 && kept <= 1) page.threshold = Math.round(100 * kept) / 100;
} catch {
  /* a browser that keeps nothing: the usual one */
}

const listeners = new Map();

function on(signal, listener) {
  if (!listeners.has(signal)) listeners.set(signal, new Set());
  listeners.get(signal).add(listener);
}

function emit(signal, detail) {
  for (const listener of listeners.get(signal) ?? []) listener(detail);
}

function mount([name, context]) {
  const root = context.element.querySelector(".ts-part") ?? context.element;
  root.replaceChildren();
  parts[name]({ ...context, root });
}

/* A DOM node: h("button", {class: "ts-btn", onclick: f}, "text", child, ...). Strings become text nodes, never markup. */
function h(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

const ICONS = {
  play: "M4.5 2.5v11l9-5.5z",
  pause: "M4 3h3v10H4zM9 3h3v10H9z",
  loop: "M11 1.8 13.5 4 11 6.2M2.5 7.5V6a2 2 0 0 1 2-2h9M5 14.2 2.5 12 5 9.8M13.5 8.5V10a2 2 0 0 1-2 2h-9",
  plus: "M8 3v10M3 8h10",
  minus: "M3 8h10",
  down: "m4 6 4 4 4-4",
  file: "M8 10.5V3M4.8 6 8 2.8 11.2 6M3 13.5h10",
  save: "M8 2.8v7.7M4.8 7.5 8 10.7l3.2-3.2M3 13.5h10",
  mic: "M8 1.8a2 2 0 0 1 2 2v3.4a2 2 0 0 1-4 0V3.8a2 2 0 0 1 2-2M3.5 7.5a4.5 4.5 0 0 0 9 0M8 12v2.3",
  check: "m3 8.5 3.2 3.2L13 4.8",
  inside: "M1.5 8s2.4-4.2 6.5-4.2S14.5 8 14.5 8s-2.4 4.2-6.5 4.2S1.5 8 1.5 8M8 6.2a1.8 1.8 0 1 1 0 3.6 1.8 1.8 0 0 1 0-3.6",
  cross: "m4 4 8 8M12 4l-8 8",
  warn: "M8 2 14.5 13.5h-13zM8 6.5v3M8 11.6v.1",
  info: "M8 1.8a6.2 6.2 0 1 1 0 12.4 6.2 6.2 0 0 1 0-12.4M8 7.3v4M8 4.9v.1",
};
const FILLED = new Set(["play", "pause"]);

function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("aria-hidden", "true");
  svg.setAttribute("class", FILLED.has(name) ? "ts-icon ts-filled" : "ts-icon");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", ICONS[name]);
  svg.append(path);
  return svg;
}

const NARROW = "(max-width: 640px)";
const isNarrow = () => matchMedia(NARROW).matches;
const isStill = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
const clamp = (value, low, high) => Math.min(high, Math.max(low, value));

/* Figures as people read them: three decimals with their unit, a real minus. */
const seconds = (value) => `${value.toFixed(3)} s`;
const signed = (value, digits) => value.toFixed(digits).replace("-", "−");

/* 20,620 */
const amount = (count) => count.toLocaleString("en");

function clock(value, digits = 3) {
  const rounded = Math.max(0, Number(value.toFixed(digits)));
  const hours = Math.floor(rounded / 3600);
  const minutes = Math.floor((rounded % 3600) / 60);
  const rest = (rounded % 60).toFixed(digits).padStart(digits ? digits + 3 : 2, "0");
  return hours ? `${hours}:${String(minutes).padStart(2, "0")}:${rest}` : `${minutes}:${rest}`;
}

/* The address of a file of the server, also under a root path and behind a proxy with another scheme or port. */
function fileAddress(path) {
  const root = new URL(window.gradio_config?.root || ".", document.baseURI);
  const origin = root.hostname === location.hostname ? location.origin : root.origin;
  return `${origin}${root.pathname.replace(/\/$/, "")}/gradio_api/file=${path.split("/").map(encodeURIComponent).join("/")}`;
}

function copyText(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = h("textarea", { class: "ts-offscreen" }); /* plain http on another machine has no clipboard object */
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
  return Promise.resolve();
}
