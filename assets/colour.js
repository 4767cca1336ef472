/* Colours: the page's tokens as the theme has them now, and the confidence scale as a table of 101 colours. */

const STOPS = ["0", "25", "50", "75", "100"];

/* sRGB, linear light and OKLab (Björn Ottosson, 2020). */
const toLinear = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
const toGamma = (v) => (v <= 0.0031308 ? 12.92 * v : 1.055 * v ** (1 / 2.4) - 0.055);

function parseHex(text) {
  return [1, 3, 5].map((i) => parseInt(text.slice(i, i + 2), 16) / 255);
}

function toOklab(text) {
  const [r, g, b] = parseHex(text).map(toLinear);
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ];
}

function fromOklab([lightness, a, b]) {
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const linear = [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
  return linear.map((v) => Math.round(255 * toGamma(clamp(v, 0, 1))));
}

/* 101 colours [r, g, b] for confidence 0.00 to 1.00, joined in OKLab between the five stops. */
function confidenceTable(stops) {
  const labs = stops.map(toOklab);
  return Array.from({ length: 101 }, (_, i) => {
    const place = Math.min(99.999, i) / 25;
    const low = Math.floor(place);
    const share = place - low;
    return fromOklab(labs[low].map((v, k) => v + share * (labs[low + 1][k] - v)));
  });
}

const theme = { table: [], css: [], ids: [], grey: new Uint32Array(256) };

const NAMES = {
  wave: "wave",
  core: "wave-core",
  ink: "ink",
  ink2: "ink-2",
  ink3: "ink-3",
  line: "line",
  strong: "line-strong",
  sunken: "sunken",
  low: "low",
  hatch: "low-hatch",
  onConfidence: "conf-ink",
  playhead: "playhead",
  wash: "select",
  washLine: "select-line",
  token: "token-line",
  surface: "surface",
  accent: "accent",
  soft: "accent-soft",
  onAccent: "accent-ink",
  onId: "id-ink",
  sans: "font",
  mono: "mono",
};

function readTheme() {
  const style = getComputedStyle(document.body);
  const read = (name) => style.getPropertyValue(`--ts-${name}`).trim();
  for (const [key, name] of Object.entries(NAMES)) theme[key] = read(name);
  theme.dark = document.body.classList.contains("dark");
  theme.table = confidenceTable(STOPS.map((stop) => read(`conf-${stop}`)));
  theme.css = theme.table.map(([r, g, b]) => `rgb(${r},${g},${b})`);
  theme.ids = ["a", "b", "c", "d"].map((letter) => read(`id-${letter}`));
  theme.grey = greys(parseHex(read("spec-0")), parseHex(read("spec-1")));
}

/* 256 pixels (little-endian RGBA) from the quietest to the loudest, linear in sRGB. */
function greys(from, to) {
  return Uint32Array.from({ length: 256 }, (_, i) => {
    const [r, g, b] = from.map((v, k) => Math.round(255 * (v + (i / 255) * (to[k] - v))));
    return (255 << 24) | (b << 16) | (g << 8) | r;
  });
}

const percent = (confidence) => Math.round(100 * clamp(confidence || 0, 0, 1));
const confidenceColour = (confidence) => theme.css[percent(confidence)];
const isLow = (confidence) => confidence < page.threshold;

/* In running text certainty is quiet: no tint from 0.90 up, the full tint from 0.65 down. */
function tint(confidence) {
  const alpha = clamp((0.9 - confidence) / 0.25, 0, 1);
  const [r, g, b] = theme.table[percent(confidence)];
  return { alpha, css: `rgba(${r},${g},${b},${alpha.toFixed(3)})` };
}

function watchTheme() {
  readTheme();
  let dark = theme.dark;
  new MutationObserver(() => {
    if (document.body.classList.contains("dark") === dark) return;
    readTheme();
    dark = theme.dark;
    emit("theme");
  }).observe(document.body, { attributes: true, attributeFilter: ["class"] });
}
