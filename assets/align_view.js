/* The alignment view: one recording on one time axis, in read mode.

   Events to Python (components/align_view.py names them in its js_on_load):
     shown     {doc, revision, threshold, dark}   a recording is on the page, or its marks or colours have changed
     reopen    {doc}                              the address names a recording (#d=..., of a link or a reload)
   Server functions:
     load_document([doc, known])                  the columns of a recording; peaks are null if `known` is its audio
     spectrogram_tile([doc, start, end, width, height, top])
     inside_tile([doc, revision, number, head])   of inside_tiles.js
   Value: {doc, revision} or null.
   Left on the element for tests: data-ready "doc:revision", data-played "start:end:samples", data-view "a:b",
   data-draw (ms of the last painting). */

parts.align = ({ root, element, props, server, trigger, watch }) => {
  const state = {
    a: 0,
    b: 1,
    view: null,
    hover: null,
    card: null,
    hasFocus: false,
    layers: { waveform: true, spectrogram: true, tokens: true, words: true, sentences: true },
    gain: 0,
    top: 8000,
  };
  const redraw = makeRedraw(paint);
  const player = makePlayer();
  const { play, toggle, setRate, stepRate, toggleLoop, showState } = makePlaying({
    player,
    element,
    say,
    duration: () => page.document.duration,
    toolbar: () => toolbar,
  });
  const tiles = makeTiles(server, redraw);
  const closeUp = makeCloseUp(player, redraw);
  const card = buildCard();
  const { base, overlay, plot, width: plotWidth } = buildStage(card.node);
  const span = h("span", { class: "ts-mono" });
  const count = h("span", { class: "ts-wide-only" });
  const note = h("span", { class: "ts-wide-only" });
  const hint = h(
    "span",
    { class: "ts-wide-only" },
    "Click plays a token. Wheel scrolls, Ctrl + wheel zooms, ? shows all keys",
  );
  const help = buildHelp(() => toggleHelp(false));
  const toolbar = buildToolbar({
    toggle,
    toggleLoop,
    setRate,
    fit: () => fit(),
    zoomIn: () => zoom(0.5),
    zoomOut: () => zoom(2),
  });
  const menu = buildLayersMenu(state, () => redraw());
  connectLayers(toolbar.layers, menu);
  const inside = makeInside({
    of: insideOfDocument(server),
    element,
    plot,
    overlay,
    state,
    act: {
      redraw,
      say,
      reveal: (start, end) => reveal(start, end),
      time: () => player.state.time,
      opened: () => card.hide(),
    },
  });
  const frame = h(
    "div",
    {
      class: "ts-card ts-align",
      tabindex: 0,
      role: "application",
      "aria-label": "Alignment view. Arrow keys move between tokens, Enter plays, question mark shows all keys.",
    },
    toolbar.bar,
    plot,
    h("div", { class: "ts-status" }, span, count, note, h("span", { class: "ts-grow" }), hint),
    help,
  );
  inside.attach(toolbar, menu);
  const speech = h("div", { class: "ts-offscreen", "aria-live": "polite" });
  root.append(frame, speech);

  function paint(takeBase) {
    const doc = page.document;
    const width = plotWidth();
    if (!doc || !width) return;
    if (player.state.playing) {
      player.tick();
      if (!drag.active) turnTo(player.state.time);
    }
    const began = performance.now();
    if (takeBase()) paintBase(doc, width);
    paintOverlay(doc);
    element.dataset.draw = (performance.now() - began).toFixed(1);
    toolbar.now.nodeValue = clock(player.state.time);
    if (player.state.playing) {
      emit("clock", player.state.time);
      redraw(false);
    }
  }

  function paintBase(doc, width) {
    const rows = inside.rows(doc, state.a, state.b);
    const view = layOut({ a: state.a, b: state.b, width, layers: state.layers, document: doc, inside: rows });
    state.view = view;
    const g = fitCanvas(base, width, view.height);
    fitCanvas(overlay, width, view.height);
    const gain = state.gain || doc.fit;
    drawOverview(g, view, doc, gain);
    drawOverviewWindow(g, view, doc.duration || 1);
    drawSoundRows(g, view, doc, { gain, top: state.top, tiles, closeUp });
    inside.draw(g, view, doc);
    insideAxis(g, view, () => {
      drawMarks(g, view, doc.tiers.tokens);
      for (const tier of TIERS) drawTier(g, view, tier, doc.tiers[tier]);
    });
    labelSoundRows(g, view);
    for (const tier of TIERS) label(g, view, tier, TIER_NAMES[tier]);
    span.textContent = windowText(state);
    element.dataset.view = `${state.a.toFixed(4)}:${state.b.toFixed(4)}`;
  }

  function paintOverlay(doc) {
    const view = state.view;
    const g = overlay.getContext("2d");
    g.clearRect(0, 0, overlay.width, overlay.height);
    if (page.selection) drawSelection(g, view, page.selection);
    if (state.hover) drawHover(g, view, state.hover.tier, doc.tiers[state.hover.tier], state.hover.index);
    inside.drawOverlay(g, view);
    drawPlayhead(g, view, player.state.time, doc.duration);
  }

  /* The window of time. */

  const { setView, pan, fit, zoom, reveal, turnTo } = makeWindow(state, {
    changed: () => {
      hover(null);
      cards.hide();
      inside.hide();
      redraw();
    },
    anchor: () => {
      const { time } = player.state;
      const middle = page.selection ? (page.selection.start + page.selection.end) / 2 : time;
      return [middle, time].find((t) => t > state.a && t < state.b) ?? (state.a + state.b) / 2;
    },
  });

  /* Playing. */

  function seek(time) {
    player.seek(clamp(time, 0, page.document.duration));
    rememberPlace();
    emit("clock", player.state.time);
    redraw(false);
  }

  on("playing", () => {
    showState();
    redraw(false);
  });

  /* Selecting. */

  function select(tier, index, { play: sounds = true, center = false } = {}) {
    page.selection = selectionOf(tier, index);
    const { start, end } = page.selection;
    if (center) reveal(start - (state.b - state.a) * 0.2, end + (state.b - state.a) * 0.2);
    else reveal(start, end);
    player.seek(start);
    rememberPlace();
    if (sounds && end > start) play(start, end);
    const items = page.document.tiers[tier];
    say(`${items.text[index].trim()}, confidence ${items.confidence[index].toFixed(2)}`);
    emit("selection");
    redraw(false);
  }

  function selectByKey(tier, index, options) {
    select(tier, index, options);
    cards.showNow(tier, index);
  }

  const walk = makeWalk({
    scene: page,
    current: () => page.selection,
    first: () => "tokens",
    time: () => player.state.time,
    rows: () => TIERS.filter((tier) => state.layers[tier]),
    choose: selectByKey,
    say,
  });

  /* The next token below the threshold; after the last one comes the first. */
  function selectLow(step) {
    const tokens = page.document.tiers.tokens;
    const from = page.selection?.token ?? firstAbove(tokens.reach, player.state.time) - (step > 0 ? 1 : 0);
    for (let n = 1; n <= tokens.length; n++) {
      const i = (((from + step * n) % tokens.length) + tokens.length) % tokens.length;
      if (!isLow(tokens.confidence[i]) || tokens.end[i] <= tokens.start[i]) continue;
      return selectByKey("tokens", i, { center: true });
    }
    say(`Nothing below ${page.threshold.toFixed(2)}`);
  }

  /* The card. */

  const cards = makeCardTimer({ card, plot, state, opening: () => inside.hide(true) });

  function hover(found) {
    const same = found?.tier === state.hover?.tier && found?.index === state.hover?.index;
    if (same) return;
    state.hover = found;
    if (found && found.here) cards.show(found.tier, found.index);
    else cards.hide();
    if (!found || found.here) emit("pointed", found);
    redraw(false);
  }

  function toggleHelp(show = help.hidden) {
    help.hidden = !show;
  }

  function say(text) {
    speech.textContent = text;
    note.textContent = text;
  }

  /* A recording. */

  async function load() {
    const value = props.value;
    if (!value) return clear();
    const known = page.document?.doc === value.doc ? page.document.audio : null;
    const answer = await server.load_document([value.doc, known]).catch(() => null);
    if (!answer || props.value?.doc !== value.doc || props.value?.revision !== value.revision) return;
    const isNew = answer.peaks !== null;
    const doc = readDocument(answer, page.document);
    doc.fit = isNew ? fittingGain(doc.peaks) : page.document.fit;
    page.document = doc;
    page.selection = null;
    if (isNew) {
      player.load(doc);
      tiles.clear();
      closeUp.clear();
      card.hide();
      firstView(doc);
    }
    toolbar.total.textContent = `/ ${clock(doc.duration, 2)}`;
    showCounts();
    emit("document");
    emit("selection");
    rememberPlace();
    redraw();
    announce();
    requestAnimationFrame(() => requestAnimationFrame(() => (element.dataset.ready = `${doc.doc}:${doc.revision}`)));
  }

  function clear() {
    player.stop();
    page.document = null;
    page.selection = null;
    delete element.dataset.ready;
    emit("document");
  }

  function firstView(doc) {
    const length = readableLength(plotWidth(), doc.duration);
    const { start, length: tokens } = doc.tiers.tokens;
    const at = timeInAddress(doc.doc);
    const begin = at ?? (tokens ? start[0] - 0.3 : 0);
    [state.a, state.b] = [0, doc.duration || 1];
    setView(at === null ? begin : begin - length / 2, at === null ? begin + length : begin + length / 2);
    if (at !== null) player.seek(clamp(at, 0, doc.duration));
  }

  function showCounts() {
    const { tokens } = page.document.tiers;
    const all = `${amount(tokens.length)} token${tokens.length === 1 ? "" : "s"}`;
    count.textContent = `${all}, ${amount(countLow(tokens))} below ${page.threshold.toFixed(2)}`;
  }

  function announce() {
    const { doc, revision } = page.document;
    trigger("shown", { doc, revision, threshold: page.threshold, dark: theme.dark });
  }

  const rememberPlace = () => writeAddress(page.document.doc, player.state.time);
  window.addEventListener("hashchange", () => {
    const { doc } = readAddress();
    if (doc && doc !== page.document?.doc) return trigger("reopen", { doc });
    const time = page.document ? timeInAddress(page.document.doc) : null;
    if (time === null) return;
    seek(time);
    reveal(time, time);
  });

  /* Wiring. */

  const drag = connectPointer({ overlay, plot, state, player, setView, pan, zoom, seek, select, hover });
  const actions = {
    toggle,
    toggleLoop,
    stepRate,
    ...walk,
    selectLow,
    zoom,
    fit,
    toggleHelp,
    isHelpOpen: () => !help.hidden,
    hasDocument: () => Boolean(page.document),
    stop: () => player.stop(),
    playSelection: () => {
      if (!page.selection) return walk.selectNeighbour(0);
      return play(page.selection.start, page.selection.end);
    },
    playWindow: () => play(state.a, state.b),
  };
  connectKeys(frame, actions, { plain: inside.keys });
  on("threshold", () => {
    if (!page.document) return;
    showCounts();
    redraw();
    clearTimeout(announce.timer);
    announce.timer = setTimeout(announce, 120);
  });
  on("theme", () => {
    redraw();
    if (page.document) announce();
  });
  on("hover", hover);
  new ResizeObserver(() => redraw()).observe(plot);
  document.fonts?.ready.then(() => redraw());
  page.select = select;
  page.play = play;
  watch("value", load);
  if (props.value) load();
  else if (readAddress().doc) trigger("reopen", { doc: readAddress().doc });
};

/* The factor that makes the loudest place fill the row; silence is not blown up. */
function fittingGain(peaks) {
  let most = 0;
  for (const value of peaks) most = Math.max(most, Math.abs(value));
  return most > 2 ? Math.min(20, 120 / most) : 1;
}
