/* Cards and messages of the tab "Live": how it keeps up, and what has to be said. No events, no server functions. */

function liveButton(name, picture, onclick, kind = "") {
  return h("button", { class: `ts-btn ts-tall ${kind}`, type: "button", onclick }, picture && icon(picture), name);
}

function liveCard(name, ...children) {
  return h("section", { class: "ts-card" }, h("header", {}, h("h2", {}, name)), h("div", { class: "ts-body" }, ...children));
}

/* One message for each key: the same words again change nothing, "" takes it away, and what was closed stays away until
   it says something else. */
function makeMessages() {
  const node = h("div", { class: "ts-live-messages" });
  const said = new Map(); /* what they say, by key */

  function say(kind, words, key) {
    if ((said.get(key) ?? "") === words) return;
    said.set(key, words);
    const shown = node.querySelector(`[data-key="${key}"]`);
    if (!words) return shown?.remove();
    if (shown) return void (shown.querySelector(".ts-grow").textContent = words);
    const close = h("button", { class: "ts-btn ts-quiet ts-iconic", type: "button", "aria-label": "Close" }, icon("cross"));
    const made = h(
      "div",
      { class: `ts-message ts-${kind}`, role: kind === "error" ? "alert" : "status", "data-key": key },
      icon(kind === "info" ? "info" : "warn"),
      h("span", { class: "ts-grow" }, words),
      close,
    );
    close.addEventListener("click", () => made.remove());
    node.append(made);
  }

  function clear() {
    node.replaceChildren();
    said.clear();
  }

  return { node, say, clear };
}

const LIVE_FIGURES = [
  ["lag", "behind your voice"],
  ["speed", "of real time used"],
  ["lost", "samples lost"],
  ["changed", "draft words changed"],
  ["delay", "from spoken to final"],
  ["p95", "for 95 % of words"],
];

/* `answer` is what a session says of itself, `captured` the seconds that the page has, `lost` samples. */
function makeLiveFigures() {
  const values = Object.fromEntries(LIVE_FIGURES.map(([name]) => [name, h("b", { "data-figure": name }, "–")]));
  const stat = ([name, label]) => h("div", { class: "ts-stat" }, values[name], h("span", {}, label));
  const node = liveCard("How it keeps up", LIVE_FIGURES.map(stat));
  node.lastChild.classList.add("ts-stats");
  const inSeconds = (value) => (value === null ? "–" : `${value.toFixed(1)} s`);

  function show({ settled, speed, drafted, changed, delay, delay_p95: slowest }, captured, lost) {
    const texts = {
      lag: inSeconds(Math.max(0, captured - settled)),
      speed: speed === null ? "–" : `${speed.toFixed(2)}×`,
      lost: amount(lost),
      changed: drafted ? `${Math.round((100 * changed) / drafted)} %` : "–",
      delay: inSeconds(delay),
      p95: inSeconds(slowest),
    };
    for (const [name, text] of Object.entries(texts)) values[name].textContent = text;
  }

  function clear() {
    for (const value of Object.values(values)) value.textContent = "–";
  }

  return { node, show, clear };
}
