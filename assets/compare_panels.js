/* What stands around the comparison's canvas: keys, colours, what is looked into, and the chart's clicks. Plain DOM. */

const COMPARE_KEYS = [
  ["Play, pause", "Space"],
  ["Play word or difference", "Enter"],
  ["Play window", "Shift Enter"],
  ["Stop", "Esc"],
  ["Loop", "L"],
  ["Slower, faster", "[ ]"],
  ["Word before, after", "← →"],
  ["Decoder above, below", "↑ ↓"],
  ["Zoom in, out, all", "+ − 0"],
  ["Next difference", "N"],
  ["One before", "Shift N"],
  ["Pick A, B, C, D", "1 2 3 4"],
  ["Neither", "X"],
  ["Zoom at the pointer", "Ctrl wheel"],
  ["Look inside", "I"],
  ["Frame before, after", ", ."],
  ["These keys", "?"],
];

/* For "Look inside": what the decoder of one column thought. */
const insideOfColumn = (server) => ({
  memory: "tokenscope-inside-compare",
  signal: "lab",
  owner: () => lab.data?.id ?? null,
  subject: ({ duration, tiers }, chosen) => {
    const { id, columns } = lab.data;
    const k = columns[chosen] ? Number(chosen) : 0;
    const picked = columns[k].readings?.picked ?? 0;
    return {
      name: [id, k, picked].join(),
      duration,
      tokens: tiers[`tokens${k}`],
      ask: (number) => server.inside_tile([id, k, picked, number]),
    };
  },
  buildChoice: (changed) => {
    const { node, show } = buildInsideChoice("Decoder to look into", changed);
    const options = () => lab.data.columns.map(({ name }, k) => [k ? String(k) : "", `${LETTERS[k]}, ${name}`]);
    return { node, show: (_, chosen) => show(options(), chosen) };
  },
});

/* What the colours say: differences (tiers grey) or confidence, with the legend that sets its threshold. */
function buildColours(choose) {
  const legend = buildLegend();
  legend.hidden = true;
  const press = (isGrey) => {
    legend.hidden = isGrey;
    for (const [node, on_] of buttons) node.setAttribute("aria-pressed", String(on_ === isGrey));
    choose(isGrey);
  };
  const buttons = [
    [h("button", { class: "ts-btn", type: "button", "aria-pressed": "false", onclick: () => press(false) }, "Confidence"), false],
    [h("button", { class: "ts-btn", type: "button", "aria-pressed": "true", onclick: () => press(true) }, "Differences"), true],
  ];
  const group = h("span", { class: "ts-segments", role: "group", "aria-label": "Colour by" }, ...buttons.map(([node]) => node));
  return h("span", { class: "ts-row ts-colours" }, legend, h("span", { class: "ts-small ts-wide-only" }, "Colour by"), group);
}

/* A click on a sentence of the chart plays it. Gradio makes a new node for each figure, so each is hooked once. */
function hookTimeline() {
  const hook = () => {
    const chart = document.querySelector("#ts-compare-timeline .js-plotly-plot");
    if (!chart?.on || chart.dataset.hooked) return;
    chart.dataset.hooked = "yes";
    chart.on("plotly_click", ({ points }) => {
      const [start, end] = points[0].customdata.slice(-2);
      if (lab.data) lab.show(start, end);
    });
  };
  const place = document.querySelector("#ts-compare-result");
  if (!place || place.dataset.hooked) return;
  place.dataset.hooked = "yes";
  new MutationObserver(hook).observe(place, { childList: true, subtree: true });
}
