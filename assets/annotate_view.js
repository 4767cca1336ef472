/* The annotator's alignment view: drag boundaries, select, play. Built by annotate_page.js; what edits do is in
   annotate_actions.js.

   Left on the element for tests: data-ready "id:revision", data-played "start:end:samples", data-view "a:b", data-draw
   (ms of the last painting), data-first (ms from the data's arrival to the first painting), data-trip and data-trips (ms
   from the last edit to the store's answer, and how many were answered). */

function buildAnnotateView(element) {
  const state = {
    a: 0,
    b: 1,
    view: null,
    hover: null,
    grip: null,
    arrived: 0,
    layers: { waveform: true, spectrogram: true, tokens: true, words: true, sentences: true, others: true },
    gain: 0,
    top: 8000,
  };
  const redraw = makeRedraw(paint);
  const player = makePlayer(desk, onPlaying);
  const playing = makePlaying({
    player,
    element,
    say,
    duration: () => desk.document.duration,
    toolbar: () => toolbar,
  });
  const tiles = makeTiles(desk.server, redraw);
  const closeUp = makeCloseUp(player, redraw);
  const card = buildAnnotateCard();
  const { base, overlay, plot, width: plotWidth } = buildStage(card.node);
  const reach = h("span", { class: "ts-mono" });
  const note = h("span", { class: "ts-ellipsis" });
  const hint = h("span", { class: "ts-wide-only" }, "Drag an edge. Neighbours that touch move along");
  const toolbar = buildToolbar({
    toggle: () => desk.document && playing.toggle(),
    toggleLoop: playing.toggleLoop,
    setRate: playing.setRate,
    fit: () => fit(),
    zoomIn: () => zoom(0.5),
    zoomOut: () => zoom(2),
  });
  const menu = buildLayersMenu(state, () => redraw(), [
    ["tokens", "Tokens"],
    ["words", "Words"],
    ["sentences", "Sentences"],
    ["others", "Other tiers"],
  ]);
  connectLayers(toolbar.layers, menu);
  const frame = h(
    "div",
    {
      class: "ts-card ts-align",
      tabindex: 0,
      role: "application",
      "aria-label":
        "Annotation. N goes to the next word to check, A accepts it, E edits it, question mark shows all keys.",
    },
    toolbar.bar,
    plot,
    h("div", { class: "ts-status" }, reach, note, h("span", { class: "ts-grow" }), hint),
  );
  const speech = h("div", { class: "ts-offscreen", "aria-live": "polite" });

  function paint(takeBase) {
    const width = plotWidth();
    if (!desk.document || !width) return;
    if (player.state.playing) {
      player.tick();
      if (!drag.active) turnTo(player.state.time);
    }
    const began = performance.now();
    if (takeBase()) paintBase(width);
    paintOverlay();
    element.dataset.draw = (performance.now() - began).toFixed(1);
    element.dataset.first ??= (performance.now() - state.arrived).toFixed(0);
    toolbar.now.nodeValue = clock(player.state.time);
    if (player.state.playing) redraw(false);
  }

  function paintBase(width) {
    const { document: doc, proposal } = desk;
    const { a, b, layers } = state;
    const view = layOutAnnotated({ a, b, width, layers, document: doc, proposal });
    state.view = view;
    const g = fitCanvas(base, width, view.height);
    fitCanvas(overlay, width, view.height);
    const gain = state.gain || doc.fit;
    drawOverviewSound(g, view, doc, gain);
    drawUnsure(g, view, toCheck().tier, doc.duration || 1);
    drawOverviewWindow(g, view, doc.duration || 1);
    drawSoundRows(g, view, doc, { gain, top: state.top, tiles, closeUp });
    insideAxis(g, view, () => {
      for (const tier of doc.order) drawAnnotatedTier(g, view, tier, doc.own.words);
    });
    if (proposal) drawProposal(g, view, proposal);
    drawLabels(g, view, doc);
    reach.textContent = windowText(state);
    element.dataset.view = `${a.toFixed(4)}:${b.toFixed(4)}`;
  }

  function drawLabels(g, view, doc) {
    labelSoundRows(g, view);
    g.font = `400 12px ${theme.sans}`;
    for (const tier of doc.order) {
      const name =
        TIER_NAMES[tier.key] ?? (tier.name === tier.kind ? tier.name[0].toUpperCase() + tier.name.slice(1) : tier.name);
      label(g, view, tier.key, fitText(g, name, GUTTER - 6));
    }
    label(g, view, PROPOSED, "Proposed");
  }

  function paintOverlay() {
    const { view } = state;
    const g = overlay.getContext("2d");
    g.clearRect(0, 0, overlay.width, overlay.height);
    const one = selected();
    if (desk.range) drawRange(g, view, desk.range);
    if (one && view.rows[one.tier.key]) {
      drawSelection(g, view, { tier: one.tier.key, start: one.start, end: one.end });
      if (!desk.range && one.end > one.start) drawHandles(g, view, one.tier, one.index, hotEdge(one));
    }
    if (state.grip && !state.grip.range && state.grip.id !== one?.id) {
      const { tier, index, edge } = state.grip;
      const row = view.rows[tier.key];
      if (row && index < tier.length) drawHandle(g, Math.round(toX(view, tier[edge][index])), row);
    }
    const tier = state.hover && desk.document.tiers[state.hover.tier];
    if (tier) drawHover(g, view, state.hover.tier, tier, state.hover.index);
    drawPlayhead(g, view, player.state.time, desk.document.duration);
  }

  const hotEdge = (one) => (state.grip && state.grip.id === one.id ? state.grip.edge : null);

  const { setView, pan, fit, zoom, reveal, turnTo } = makeWindow(state, {
    scene: desk,
    changed: () => {
      hover(null);
      cards.hide();
      redraw();
    },
    anchor: () => {
      const { time } = player.state;
      const one = span();
      const middle = one ? (one.start + one.end) / 2 : time;
      return [middle, time].find((t) => t > state.a && t < state.b) ?? (state.a + state.b) / 2;
    },
  });

  /* Playing and selecting. */

  function onPlaying() {
    playing.showState();
    redraw(false);
  }

  function seek(time) {
    player.seek(clamp(time, 0, desk.document.duration));
    desk.range = null;
    emit("desk:selection");
  }

  /* Select a segment: bring it into view, and play it. */
  function choose(tier, index, { play: sounds = true, center = false, event = null } = {}) {
    if (event?.shiftKey && selected()) return extend(tier, index);
    select(tier, index);
    const [start, end] = [tier.start[index], tier.end[index]];
    const room = center ? (state.b - state.a) * 0.2 : 0;
    reveal(Math.max(0, start - room), Math.min(desk.document.duration, end + room));
    player.seek(start);
    if (sounds && end > start) playing.play(start, end);
    say(`${labelOf(tier, index)}, ${start.toFixed(3)} to ${end.toFixed(3)} s`);
    if (!event) cards.showNow(tier.key, index); /* a pointer is on it, and has the card already */
    redraw(false);
  }

  /* Shift + click: from the selection to there. */
  function extend(tier, index) {
    const one = desk.range ?? selected();
    desk.range = { start: Math.min(one.start, tier.start[index]), end: Math.max(one.end, tier.end[index]) };
    say(`${desk.range.start.toFixed(3)} to ${desk.range.end.toFixed(3)} s`);
    emit("desk:selection");
  }

  const cards = makeCardTimer({ card, plot, state, scene: desk });

  function hover(found) {
    const same = found?.tier === state.hover?.tier && found?.index === state.hover?.index;
    if (drag.active) cards.hide(); /* what it says changes under the hand */
    if (same) return;
    state.hover = found;
    if (found) cards.show(found.tier, found.index);
    else cards.hide();
    redraw(false);
  }

  /* After an edit the card of the selection says what is so now. */
  function renewCard(wasOpen) {
    const one = selected();
    if (!one) card.hide();
    else if (wasOpen) cards.showNow(one.tier.key, one.index);
  }

  function say(text) {
    speech.textContent = text;
    note.textContent = text;
  }

  const drag = connectPointer({
    overlay,
    plot,
    state,
    player,
    setView,
    pan,
    zoom,
    seek,
    select: (key, index, options) => choose(desk.document.tiers[key], index, options),
    hover,
    scene: desk,
    handles: makeBoundaries(state, redraw),
  });

  /* A document. */

  function show({ isSame }) {
    const { document: doc } = desk;
    frame.classList.toggle("ts-none", !doc);
    if (!doc) {
      player.stop();
      delete element.dataset.ready;
      return;
    }
    state.arrived = performance.now();
    delete element.dataset.first;
    if (!isSame || doc.isNew) {
      player.load(doc);
      tiles.clear();
      closeUp.clear();
    }
    if (!isSame) {
      card.hide();
      firstView(doc);
    }
    toolbar.total.textContent = `/ ${clock(doc.duration, 2)}`;
    refresh();
  }

  function refresh() {
    if (!desk.document) return;
    const wasOpen = !card.node.hidden;
    hover(null);
    renewCard(wasOpen);
    redraw();
    const { id, revision } = desk.head;
    requestAnimationFrame(() => requestAnimationFrame(() => (element.dataset.ready = `${id}:${revision}`)));
  }

  function firstView(doc) {
    const length = readableLength(plotWidth(), doc.duration);
    const begin = ((doc.own.words ?? doc.order.find((tier) => tier.length))?.start[0] ?? 0) - 0.3;
    [state.a, state.b] = [0, doc.duration || 1];
    setView(begin, begin + length);
  }

  on("desk:answered", (took) => {
    element.dataset.trip = took.toFixed(1);
    element.dataset.trips = String(Number(element.dataset.trips ?? 0) + 1);
  });
  on("desk:document", show);
  on("desk:change", refresh);
  on("desk:selection", () => redraw());
  on("desk:proposal", () => redraw());
  on("threshold", () => redraw());
  on("theme", () => redraw());
  new ResizeObserver(() => redraw()).observe(plot);
  document.fonts?.ready.then(() => redraw());
  frame.classList.add("ts-none");

  return {
    frame,
    speech,
    toolbar,
    overlay,
    state,
    say,
    choose,
    pan,
    zoom,
    fit,
    reveal,
    redraw,
    stop: () => player.stop(),
    time: () => player.state.time,
    play: playing.play,
    playWindow: () => playing.play(state.a, state.b),
    toggle: playing.toggle,
    toggleLoop: playing.toggleLoop,
    stepRate: playing.stepRate,
    focus: () => frame.focus({ preventScroll: true }),
  };
}
