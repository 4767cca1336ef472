/* Keys of Annotate: what they do, how they are written, their overlay, and changing them (kept in this browser). */

const KEYS_KEPT = "tokenscope.annotate.keys";

/* Action: [what it says, its keys, what it does]. The order is that of the overlay, column by column. */
const ANNOTATE_KEYS = {
  toggle: ["Play, pause", [" "], () => desk.view.toggle()],
  playSelection: ["Play selection", ["Enter"], () => playSpan()],
  playWindow: ["Play window", ["Shift+Enter"], () => desk.view.playWindow()],
  stop: ["Stop", ["Escape"], () => desk.view.stop()],
  loop: ["Loop", ["L"], () => desk.view.toggleLoop()],
  slower: ["Slower", ["["], () => desk.view.stepRate(-1)],
  faster: ["Faster", ["]"], () => desk.view.stepRate(1)],
  before: ["One before", ["ArrowLeft"], () => goBeside(-1)],
  after: ["One after", ["ArrowRight"], () => goBeside(1)],
  above: ["Tier above", ["ArrowUp"], () => goAcross(-1)],
  below: ["Tier below", ["ArrowDown"], () => goAcross(1)],
  zoomIn: ["Zoom in", ["+", "="], () => desk.view.zoom(0.5)],
  zoomOut: ["Zoom out", ["-", "−"], () => desk.view.zoom(2)],
  fit: ["Show all", ["0"], () => desk.view.fit()],
  next: ["Next to check", ["N"], () => goToUnsure(1)],
  previous: ["One to check before", ["Shift+N"], () => goToUnsure(-1)],
  accept: ["Accept", ["A"], () => acceptSelection()],
  edit: ["Edit text", ["E"], () => emit("desk:edit")],
  find: ["Find and replace", ["/"], () => emit("desk:find")],
  useTimes: ["Use new times", ["T"], () => (desk.proposal ? useProposal() : desk.view.say("No new times wait"))],
  leaveTimes: ["Keep old times", ["Shift+T"], () => leaveProposal()],
  takeText: ["Say what this tier says", ["U"], () => takeFromTier()],
  done: ["Mark as done", ["D"], () => setState(desk.head.state === "done" ? "in review" : "done")],
  endLater: ["End 1 ms later", ["Alt+ArrowRight"], () => nudge("end", NUDGE)],
  endEarlier: ["End 1 ms earlier", ["Alt+ArrowLeft"], () => nudge("end", -NUDGE)],
  endMuchLater: ["End 10 ms later", ["Shift+Alt+ArrowRight"], () => nudge("end", 10 * NUDGE)],
  endMuchEarlier: ["End 10 ms earlier", ["Shift+Alt+ArrowLeft"], () => nudge("end", -10 * NUDGE)],
  startEarlier: ["Start 1 ms earlier", ["Alt+["], () => nudge("start", -NUDGE)],
  startLater: ["Start 1 ms later", ["Alt+]"], () => nudge("start", NUDGE)],
  startMuchEarlier: ["Start 10 ms earlier", ["Shift+Alt+["], () => nudge("start", -10 * NUDGE)],
  startMuchLater: ["Start 10 ms later", ["Shift+Alt+]"], () => nudge("start", 10 * NUDGE)],
  snap: ["Snap to a zero crossing", ["Z"], () => snapSelection("zero")],
  snapFrame: ["Snap to a frame", ["Shift+Z"], () => snapSelection("frame")],
  split: ["Split", ["S"], () => splitSelection()],
  merge: ["Merge with the next", ["M"], () => mergeSelection()],
  insert: ["Insert a word", ["I"], () => emit("desk:insert")],
  remove: ["Delete", ["Delete", "Backspace"], () => deleteSelection()],
  unclear: ["Mark as [unclear]", ["X"], () => mark("unclear")],
  noise: ["Mark as [noise]", ["Shift+X"], () => mark("noise")],
  undo: ["Undo", ["Ctrl+Z"], () => step("undo")],
  redo: ["Redo", ["Shift+Ctrl+Z", "Ctrl+Y"], () => step("redo")],
  following: ["Next document", ["PageDown"], () => goToDocument(1) || desk.view.say("This is the last one")],
  preceding: ["Document before", ["PageUp"], () => goToDocument(-1) || desk.view.say("This is the first one")],
  help: ["These keys", ["?"], () => emit("desk:keys")],
};

/* The overlay's rows: what they say, and the actions whose keys stand there. */
const KEY_ROWS = [
  ["Play, pause", "toggle"],
  ["Play selection", "playSelection"],
  ["Play window", "playWindow"],
  ["Stop", "stop"],
  ["Loop", "loop"],
  ["Slower, faster", "slower", "faster"],
  ["One before, after", "before", "after"],
  ["Tier above, below", "above", "below"],
  ["Zoom in, out, all", "zoomIn", "zoomOut", "fit"],
  ["Next to check", "next"],
  ["Check one before", "previous"],
  ["Accept", "accept"],
  ["Edit text", "edit"],
  ["New times: use, leave", "useTimes", "leaveTimes"],
  ["Take text of a tier", "takeText"],
  ["Find and replace", "find"],
  ["Undo", "undo"],
  ["Redo", "redo"],
  ["Move end 1 ms", "endEarlier", "endLater"],
  ["10 ms", "endMuchEarlier", "endMuchLater"],
  ["Move start 1 ms", "startEarlier", "startLater"],
  ["10 ms", "startMuchEarlier", "startMuchLater"],
  ["Snap: zero, frame", "snap", "snapFrame"],
  ["Split, merge", "split", "merge"],
  ["Insert, delete", "insert", "remove"],
  ["[unclear], [noise]", "unclear", "noise"],
  ["Mark as done", "done"],
  ["Other document", "preceding", "following"],
  ["These keys", "help"],
];

function playSpan() {
  const there = span();
  if (!there) return goBeside(0);
  return desk.view.play(there.start, there.end);
}

function takeFromTier() {
  const one = selected();
  if (!one || ["tokens", "words", "sentences"].includes(one.tier.key))
    return desk.view.say("Select a word of another tier first");
  return sendEdit({ op: "take", id: one.id }, `taking of “${one.text}”`).then((answer) => {
    if (answer?.changed.length) proposeTimes(answer.changed);
  });
}

/* Keys as they are now: those kept in this browser in place of the usual ones. */
const keyMap = {};

function loadKeys() {
  let kept = {};
  try {
    kept = JSON.parse(localStorage.getItem(KEYS_KEPT) ?? "{}") ?? {};
  } catch {
    /* damaged or not allowed: the usual ones */
  }
  for (const [action, [, usual]] of Object.entries(ANNOTATE_KEYS)) {
    const own = kept[action];
    const isList = Array.isArray(own) && own.length && own.every((key) => typeof key === "string" && key.length < 40);
    keyMap[action] = isList ? own : usual;
  }
}

function keepKeys() {
  const own = Object.entries(keyMap).filter(([action, keys]) => keys !== ANNOTATE_KEYS[action][1]);
  try {
    localStorage.setItem(KEYS_KEPT, JSON.stringify(Object.fromEntries(own)));
  } catch {
    /* for as long as the page is open, then */
  }
}

/* "Shift+Alt+ArrowLeft", "Ctrl+Z", "?": Command counts as Ctrl; what Shift alone makes of a sign is the sign. */
function keyOf(event) {
  const { code, shiftKey, altKey } = event;
  const isCtrl = event.ctrlKey || event.metaKey;
  let { key } = event;
  /* Alt makes other letters of them on some keyboards. */
  if (altKey && code.startsWith("Key")) key = code.slice(3);
  if (altKey && code.startsWith("Digit")) key = code.slice(5);
  if (altKey && code === "BracketLeft") key = "[";
  if (altKey && code === "BracketRight") key = "]";
  if (["Shift", "Control", "Alt", "Meta", "Dead", "Process"].includes(key)) return null;
  const isSign = key.length === 1 && key.toLowerCase() === key.toUpperCase() && key !== " ";
  const name = key.length === 1 ? key.toUpperCase() : key;
  return [shiftKey && !(isSign && !altKey) ? "Shift" : "", isCtrl ? "Ctrl" : "", altKey ? "Alt" : "", name]
    .filter(Boolean)
    .join("+");
}

const SHOWN_KEYS = {
  ArrowLeft: "←",
  ArrowRight: "→",
  ArrowUp: "↑",
  ArrowDown: "↓",
  " ": "Space",
  Escape: "Esc",
  Delete: "Del",
  PageDown: "PgDn",
  PageUp: "PgUp",
};
const keyText = (key) =>
  key === "+"
    ? "+"
    : key
        .split("+")
        .map((one) => SHOWN_KEYS[one] ?? one)
        .join(" ")
        .replace(/ $/, " +");
const keyHint = (action) => h("kbd", { class: "ts-kbd", "data-key": action }, keyText(keyMap[action][0]));

/* Of several actions: their keys with the modifiers that they share said once, "Alt ← →". */
function keyHints(actions) {
  const parted = actions.map((action) => /^((?:(?:Shift|Ctrl|Alt)\+)*)(.+)$/su.exec(keyMap[action][0]).slice(1));
  const shared = parted[0][0];
  if (actions.length < 2 || !shared || parted.some(([modifiers]) => modifiers !== shared)) return actions.map(keyHint);
  return [
    h(
      "kbd",
      { class: "ts-kbd" },
      `${keyText(`${shared}${parted[0][1]}`)} ${parted
        .slice(1)
        .map(([, key]) => keyText(key))
        .join(" ")}`,
    ),
  ];
}

/* What a button that has the focus does with a key itself, or what nobody means who is on one. */
const OF_BUTTONS = [" ", "Enter", "Delete", "Backspace", "ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"];

/* Keys act in the whole tab, but never while a person types, and never for what a control needs itself. */
function connectAnnotateKeys(root, isOpen) {
  root.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing || !isOpen()) return;
    const field = event.target.closest("input, select, textarea, [contenteditable]");
    if (field) return;
    const isButton = event.target.closest("button, a, summary, [role=slider], [role=option]");
    const key = keyOf(event);
    if (!key || (isButton && OF_BUTTONS.includes(key))) return;
    const action = Object.keys(keyMap).find((one) => keyMap[one].includes(key));
    if (!action) return;
    event.preventDefault();
    event.stopPropagation();
    ANNOTATE_KEYS[action][2]();
  });
}

/* The overlay: all keys, and with "Change keys" a button for each. */
function buildKeysOverlay() {
  let isChanging = false;
  let waiting = null;
  const problem = h("p", { class: "ts-hint", role: "status" });
  const columns = h("div", { class: "ts-key-columns" });
  const change = h(
    "button",
    { class: "ts-btn ts-quiet", type: "button", onclick: () => toggleChanging() },
    "Change keys",
  );
  const reset = h("button", { class: "ts-btn ts-quiet", type: "button", hidden: true, onclick: onReset }, "Usual keys");
  const node = h(
    "div",
    { class: "ts-pop ts-keys", role: "dialog", "aria-label": "Keys", tabindex: -1, hidden: true },
    h(
      "div",
      { class: "ts-row" },
      h("h2", {}, "Keys"),
      h("span", { class: "ts-dim ts-wide-only" }, "while nothing is typed"),
      h("span", { class: "ts-grow" }),
      reset,
      change,
      button("Close", "cross", () => toggle(false), "ts-quiet"),
    ),
    problem,
    columns,
  );

  function build() {
    const rows = KEY_ROWS.map(([what, ...actions]) =>
      h(
        "div",
        { class: "ts-key" },
        h("span", {}, what),
        h("span", { class: "ts-row" }, isChanging ? actions.map(chooser) : keyHints(actions)),
      ),
    );
    const third = Math.ceil(rows.length / 3);
    columns.replaceChildren(...[0, 1, 2].map((n) => h("div", {}, rows.slice(n * third, (n + 1) * third))));
  }

  function chooser(action) {
    const text = waiting === action ? "Press a key" : keyText(keyMap[action][0]);
    const [what] = ANNOTATE_KEYS[action];
    return h(
      "button",
      {
        class: "ts-kbd ts-key-choice",
        type: "button",
        "data-action": action,
        title: what,
        "aria-label": `${what}: ${text}`,
        onclick: () => wait(action),
      },
      text,
    );
  }

  function wait(action) {
    waiting = action;
    say("");
    build();
    columns.querySelector(`[data-action="${action}"]`).focus();
  }

  function say(text) {
    problem.textContent = text;
  }

  function take(event) {
    const key = keyOf(event);
    if (!key) return;
    const action = waiting;
    waiting = null;
    const other = Object.keys(keyMap).find((one) => one !== action && keyMap[one].includes(key));
    if (event.key === "Escape" || key === "Tab") say("Nothing was changed.");
    else if (other) say(`${keyText(key)} is “${ANNOTATE_KEYS[other][0]}” already. Give that another key first.`);
    else {
      keyMap[action] = [key];
      keepKeys();
      say(`“${ANNOTATE_KEYS[action][0]}” is ${keyText(key)} now.`);
    }
    build();
    columns.querySelector(`[data-action="${action}"]`)?.focus();
    showKeyHints();
  }

  function toggleChanging(isNow = !isChanging) {
    isChanging = isNow;
    waiting = null;
    reset.hidden = !isChanging;
    change.textContent = isChanging ? "Done" : "Change keys";
    say(isChanging ? "Click a key, then press the new one." : "");
    build();
  }

  function onReset() {
    for (const [action, [, usual]] of Object.entries(ANNOTATE_KEYS)) keyMap[action] = usual;
    keepKeys();
    say("All keys are the usual ones again.");
    build();
    showKeyHints();
  }

  function toggle(isShown = node.hidden) {
    node.hidden = !isShown;
    emit("desk:keys-shown", isShown);
    if (isShown) {
      toggleChanging(false);
      node.focus({ preventScroll: true });
    } else desk.view.focus();
  }

  node.addEventListener("keydown", (event) => {
    if (waiting) {
      event.preventDefault();
      event.stopPropagation();
      return take(event);
    }
    if (event.key !== "Escape" && keyOf(event) !== keyMap.help[0]) return undefined;
    event.preventDefault();
    event.stopPropagation();
    return toggle(false);
  });
  on("desk:keys", () => toggle());
  return { node, toggle };
}

/* The keys that stand in buttons. */
function showKeyHints() {
  for (const node of document.querySelectorAll("#ts-annotate kbd[data-key]"))
    node.textContent = keyText(keyMap[node.dataset.key][0]);
}
