/* Hand and keyboard in the alignment view. */

const EDGE = 6; /* pixels around an edge of the overview's window that take hold of it */
const STILL = 4; /* pixels a press may move and still be a click */

/* Pointer and wheel on the canvas. Returns {active}: whether a drag is going on. A view that edits gives `handles`:
   grip({x, y}, event) answers what a press would take hold of, or null; move(grip, x, event) and drop(grip, isDone)
   follow; cursor(grip). */
function connectPointer({ overlay, plot, state, player, setView, pan, zoom, seek, select, hover, scene = page, handles }) {
  const drag = { active: false };
  const touches = new Map();
  let press = null;

  const position = (event) => {
    const box = overlay.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };

  function found({ x, y }) {
    const { view } = state;
    if (!view || x < view.x0) return null;
    const row = rowAt(view, y);
    const tier = scene.document.tiers[row];
    if (!tier) return null;
    const index = itemAt(tier, toTime(view, x));
    return index < 0 ? null : { tier: row, index, here: true };
  }

  /* What a drag in the overview does: move the window, move one edge, or draw a new window. */
  function overviewGrip(x) {
    const { view } = state;
    const { duration } = scene.document;
    const [left, right] = [overviewX(view, state.a, duration), overviewX(view, state.b, duration)];
    if (Math.abs(x - left) <= EDGE && right - left > 3 * EDGE) return "left";
    if (Math.abs(x - right) <= EDGE && right - left > 3 * EDGE) return "right";
    return x > left && x < right ? "window" : "new";
  }

  function dragOverview(x) {
    const time = overviewTime(state.view, x, scene.document.duration);
    const { a, b, time: from } = press;
    if (press.grip === "window") setView(a + time - from, b + time - from);
    if (press.grip === "left") setView(Math.min(time, b - LEAST_SPAN), b);
    if (press.grip === "right") setView(a, Math.max(time, a + LEAST_SPAN));
    if (press.grip === "new") setView(Math.min(from, time), Math.max(from, time));
  }

  overlay.addEventListener("pointerdown", (event) => {
    if (!scene.document || !state.view || event.button !== 0) return;
    const { x, y } = position(event);
    touches.set(event.pointerId, x);
    if (touches.size === 2) {
      if (press?.held) handles.drop(press.held, false, event);
      press = { pinch: true, gap: pinchGap() };
      return;
    }
    overlay.setPointerCapture(event.pointerId);
    const inOverview = rowAt(state.view, y) === "overview";
    const held = handles?.grip({ x, y }, event) ?? null;
    press = { x, y, a: state.a, b: state.b, moved: false, inOverview, held };
    if (inOverview) {
      press.grip = overviewGrip(x);
      press.time = overviewTime(state.view, x, scene.document.duration);
    }
  });

  overlay.addEventListener("pointermove", (event) => {
    if (!scene.document || !state.view) return;
    const at = position(event);
    if (!press) return showPointer(at, event.pointerType);
    touches.set(event.pointerId, at.x);
    if (press.pinch) return pinch();
    press.moved ||= Math.abs(at.x - press.x) > STILL;
    if (!press.moved) return;
    drag.active = true;
    hover(null);
    if (press.held) handles.move(press.held, at.x, event);
    else if (press.inOverview) dragOverview(at.x);
    else setView(press.a - (at.x - press.x) / state.view.scale, press.b - (at.x - press.x) / state.view.scale);
  });

  function showPointer(at, kind) {
    const row = rowAt(state.view, at.y);
    const item = kind === "touch" ? null : found(at);
    hover(item);
    const grip = row === "overview" && scene.document.duration ? overviewGrip(at.x) : null;
    const held = kind === "touch" ? null : handles?.grip(at);
    overlay.style.cursor = held
      ? handles.cursor(held)
      : item
      ? "pointer"
      : ({ left: "ew-resize", right: "ew-resize", window: "grab", new: "crosshair" }[grip] ?? "default");
  }

  function click({ x, y }, event) {
    const item = found({ x, y });
    if (item) {
      select(item.tier, item.index, { event });
      if (isNarrow()) hover(item);
      return;
    }
    if (press.inOverview) {
      const length = state.b - state.a;
      setView(press.time - length / 2, press.time + length / 2);
      return;
    }
    if (x >= state.view.x0) seek(toTime(state.view, x));
  }

  function pinchGap() {
    const [p, q] = [...touches.values()];
    return Math.max(10, Math.abs(p - q));
  }

  function pinch() {
    const [p, q] = [...touches.values()];
    const gap = pinchGap();
    zoom(press.gap / gap, toTime(state.view, (p + q) / 2));
    press.gap = gap;
  }

  function release(event) {
    touches.delete(event.pointerId);
    if (!press) return;
    if (press.held && press.moved) handles.drop(press.held, event.type === "pointerup", event);
    else if (event.type === "pointerup" && !press.pinch && !press.moved) click(position(event), event);
    if (touches.size === 0) press = null;
    drag.active = false;
  }
  overlay.addEventListener("pointerup", release);
  overlay.addEventListener("pointercancel", release);
  overlay.addEventListener("pointerleave", () => press || hover(null));

  /* The page scrolls on where the view cannot. */
  plot.addEventListener(
    "wheel",
    (event) => {
      if (!scene.document || !state.view) return;
      const { x } = position(event);
      const unit = event.deltaMode === 1 ? 16 : 1;
      const isZoom = event.ctrlKey || event.metaKey;
      const by = (Math.abs(event.deltaX) > Math.abs(event.deltaY) ? event.deltaX : event.deltaY) * unit;
      const moved = isZoom
        ? zoom(Math.exp(clamp(by, -120, 120) * 0.004), toTime(state.view, clamp(x, state.view.x0, state.view.x1)))
        : pan(by / state.view.scale);
      if (moved || isZoom) event.preventDefault();
    },
    { passive: false },
  );
  return drag;
}

/* From item to item by keyboard. `current` answers what is selected as {tier, index, start}, or null; `first` the tier to
   begin in and `time` where; `rows` the tiers that are shown, from above; `partner(current, tier)` the item of another tier
   that stands for the same, where that is known. `choose(tier, index)` selects. */
function makeWalk({ scene, current, first, time, rows, choose, say, partner = () => undefined }) {
  /* The neighbour of the selection; without one, the first item from `time` on. */
  function selectNeighbour(step) {
    const from = current();
    const tier = from?.tier ?? first();
    const items = scene.document.tiers[tier];
    if (!items.length) return;
    const index = from ? from.index + step : clamp(firstAbove(items.reach, time()), 0, items.length - 1);
    if (index < 0 || index >= items.length) return say(step > 0 ? "This is the last one" : "This is the first one");
    choose(tier, index);
  }

  /* The same place one tier up or down. */
  function selectTier(step) {
    const from = current();
    if (!from) return selectNeighbour(0);
    const order = rows().filter((tier) => scene.document.tiers[tier].length);
    const next = order[order.indexOf(from.tier) + step];
    if (!next) return;
    const items = scene.document.tiers[next];
    const at = itemAt(items, from.start + 1e-6);
    const index = at >= 0 ? at : clamp(firstAbove(items.reach, from.start), 0, items.length - 1);
    choose(next, partner(from, next) ?? index);
  }

  return { selectNeighbour, selectTier };
}

/* Keys, while the view has the focus and no field of it has; a view may give some a meaning of its own. */
function connectKeys(frame, act, { plain: more = {}, shifted: moreShifted = {} } = {}) {
  const plain = {
    " ": act.toggle,
    Enter: act.playSelection,
    Escape: () => (act.isHelpOpen() ? act.toggleHelp(false) : act.stop()),
    ArrowLeft: () => act.selectNeighbour(-1),
    ArrowRight: () => act.selectNeighbour(1),
    ArrowUp: () => act.selectTier(-1),
    ArrowDown: () => act.selectTier(1),
    n: () => act.selectLow(1),
    l: act.toggleLoop,
    "[": () => act.stepRate(-1),
    "]": () => act.stepRate(1),
    "+": () => act.zoom(0.5),
    "=": () => act.zoom(0.5),
    "-": () => act.zoom(2),
    "−": () => act.zoom(2),
    0: act.fit,
    "?": () => act.toggleHelp(),
    ...more,
  };
  const shifted = { Enter: act.playWindow, N: () => act.selectLow(-1), "?": plain["?"], "+": plain["+"], ...moreShifted };

  frame.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !act.hasDocument()) return;
    const field = event.target.closest("input, select, textarea, button");
    if (field && !(field.tagName === "BUTTON" && ![" ", "Enter"].includes(event.key))) return;
    const does =
      (event.shiftKey ? shifted : plain)[event.key] ?? (event.shiftKey ? null : plain[event.key.toLowerCase()]);
    if (!does) return;
    event.preventDefault();
    event.stopPropagation();
    does();
  });
}
