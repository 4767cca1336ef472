/* The comparison's alignment view: one time axis, one playhead, a tier for each decoder. It loads the comparison, too.

   Event to Python: shown {id, dark}
   Value: {id, revision} or null. Server functions: see compare.js, spectrogram_tile as in align_view.js, and
   inside_tile([id, column, reading, number]).
   Left on the element for tests: data-ready "id:revision", data-played "start:end:samples", data-view "a:b",
   data-draw (ms of the last painting), data-first (ms from the data's arrival to the end of the first painting), data-marks (marked words of each decoder). */

parts.compare_view = ({ root, element, props, server, trigger, watch }) => {
  const state = {
    a: 0,
    b: 1,
    view: null,
    span: null /* {start, end} that the view stands at */,
    selected: null /* {tier, index, start, end, text} of the word or token there, where it is one */,
    arrived: 0,
    isGrey: true,
    layers: { waveform: true, spectrogram: true, tokens: false },
    gain: 0,
    top: 8000,
  };
  lab.server = server;
  const redraw = makeRedraw(paint);
  const player = makePlayer(lab, onPlaying);
  const { play, toggle, setRate, stepRate, toggleLoop, showState } = makePlaying({
    player,
    element,
    say,
    duration: () => lab.document.duration,
    toolbar: () => toolbar,
  });
  const tiles = makeTiles(server, redraw);
  const closeUp = makeCloseUp(player, redraw);
  const card = buildCard(lab);
  const { base, overlay, plot, width: plotWidth } = buildStage(card.node);
  const span = h("span", { class: "ts-mono" });
  const note = h("span", { class: "ts-wide-only" });
  const hint = h("span", { class: "ts-wide-only" });
  const help = buildHelp(() => toggleHelp(false), COMPARE_KEYS);
  const colours = buildColours((isGrey) => {
    state.isGrey = isGrey;
    redraw();
  });
  const actions = { toggle, toggleLoop, setRate, fit: () => fit() };
  const toolbar = buildToolbar({ ...actions, zoomIn: () => zoom(0.5), zoomOut: () => zoom(2) }, colours);
  const menu = buildLayersMenu(state, () => redraw(), [["tokens", "Tokens"]]);
  connectLayers(toolbar.layers, menu);
  const inside = makeInside({
    of: insideOfColumn(server),
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
      "aria-label":
        "Comparison. Arrows move between words, N to differences, 1 to 4 pick a reading, question mark shows all keys.",
    },
    toolbar.bar,
    plot,
    h("div", { class: "ts-status" }, span, note, h("span", { class: "ts-grow" }), hint),
    help,
  );
  inside.attach(toolbar, menu);
  const speech = h("div", { class: "ts-offscreen", "aria-live": "polite" });
  root.append(frame, speech);

  function paint(takeBase) {
    const width = plotWidth();
    if (!lab.document || !width) return;
    if (player.state.playing) {
      player.tick();
      ear.listen();
      if (!drag.active) turnTo(player.state.time);
    }
    const began = performance.now();
    if (takeBase()) paintBase(width);
    paintOverlay();
    const took = (performance.now() - began).toFixed(1);
    element.dataset.draw = took;
    element.dataset.first ??= (performance.now() - state.arrived).toFixed(0);
    toolbar.now.nodeValue = clock(player.state.time);
    if (player.state.playing) redraw(false);
  }

  function paintBase(width) {
    const { document: doc, data, marks } = lab;
    const { a, b, layers } = state;
    const rows = inside.rows(doc, a, b);
    const view = layOutCompare({ a, b, width, layers, document: doc, columns: data.columns.length, inside: rows });
    state.view = view;
    const g = fitCanvas(base, width, view.height);
    fitCanvas(overlay, width, view.height);
    const gain = state.gain || doc.fit;
    drawOverviewSound(g, view, doc, gain);
    drawOverviewDifferences(g, view, data.differences, doc.duration || 1);
    drawOverviewWindow(g, view, doc.duration || 1);
    drawSoundRows(g, view, doc, { gain, top: state.top, tiles, closeUp });
    inside.draw(g, view, doc);
    insideAxis(g, view, () => {
      for (let k = 0; k < data.columns.length; k++) {
        drawColumnTier(g, view, `tokens${k}`, doc.tiers[`tokens${k}`], k, new Map(), state.isGrey);
        drawColumnTier(g, view, `words${k}`, doc.tiers[`words${k}`], k, marks[k], state.isGrey);
        if (k < data.columns.length - 1) drawJoins(g, view, k, lab);
      }
    });
    drawNames(g, view, data.columns);
    labelSoundRows(g, view);
    span.textContent = windowText(state);
    element.dataset.view = `${a.toFixed(4)}:${b.toFixed(4)}`;
  }

  function paintOverlay() {
    const { view } = state;
    const g = overlay.getContext("2d");
    g.clearRect(0, 0, overlay.width, overlay.height);
    if (state.selected) drawSelection(g, view, state.selected);
    else if (state.span) drawSpan(g, view, state.span);
    if (lab.pointed !== null) drawPartners(g, view, lab, lab.pointed);
    inside.drawOverlay(g, view);
    drawPlayhead(g, view, player.state.time, lab.document.duration);
  }

  const { setView, pan, fit, zoom, reveal, turnTo } = makeWindow(state, {
    scene: lab,
    changed: () => {
      hover(null);
      cards.hide();
      inside.hide();
      redraw();
    },
    anchor: () => {
      const { time } = player.state;
      const middle = state.span ? (state.span.start + state.span.end) / 2 : time;
      return [middle, time].find((t) => t > state.a && t < state.b) ?? (state.a + state.b) / 2;
    },
  });

  /* Playing. */

  const ear = makeEar(player.state);

  function onPlaying() {
    if (player.state.playing) ear.begin();
    else ear.listen();
    showState();
    redraw(false);
  }

  function seek(time) {
    player.seek(clamp(time, 0, lab.document.duration));
    redraw(false);
  }

  /* Bring a span into view, with some room around it, and play it. */
  function showSpan(start, end, { play: sounds = true } = {}) {
    const room = (state.b - state.a) * 0.2;
    state.span = { start, end };
    state.selected = null;
    cards.hide();
    reveal(Math.max(0, start - room), Math.min(lab.document.duration, end + room));
    player.seek(start);
    if (sounds && end > start) play(start, end);
    redraw(false);
  }
  lab.show = showSpan;
  lab.isSounding = (start, end) =>
    player.state.playing && player.state.start <= start + HEARD_WITHIN && player.state.end >= end - HEARD_WITHIN;

  /* A click on a word: if it is part of a difference, that is the one to judge. */
  function select(tier, index) {
    const k = Number(tier.at(-1));
    const items = lab.document.tiers[tier];
    const at = tier.startsWith("words") ? lab.marks[k].get(index) : undefined;
    if (at !== undefined) {
      lab.current = at;
      emit("lab:current");
    }
    const [start, end] = [items.start[index], items.end[index]];
    showSpan(start, end);
    state.selected = { tier, index, start, end, text: items.text[index] };
    say(`${items.text[index].trim()}, ${LETTERS[k]}, confidence ${items.confidence[index].toFixed(2)}`);
  }
  lab.select = select;

  function pickKey(choice) {
    if (lab.current === null) return say("Press N first, to go to a difference");
    pick(lab.current, choice);
  }

  /* The card, and the partners of what is under the pointer. */

  const cards = makeCardTimer({ card, plot, state, scene: lab, opening: () => inside.hide(true) });
  let pointed = null;

  function hover(found) {
    if (found?.tier === pointed?.tier && found?.index === pointed?.index) return;
    pointed = found;
    if (found) cards.show(found.tier, found.index);
    else cards.hide();
    pointAt(found ? groupOf(found) : undefined);
  }

  /* The number of the group that a word, or a token's word, belongs to. */
  function groupOf({ tier, index }) {
    const { word } = lab.document.tiers[tier];
    return lab.groups[Number(tier.at(-1))][word ? word[index] : index];
  }

  /* Words and tokens by keyboard; from a word to its partner in the other decoder. */
  const walk = makeWalk({
    scene: lab,
    current: () => state.selected,
    first: () => lab.data.columns.map((_, k) => `words${k}`).find((tier) => lab.document.tiers[tier].length) ?? "words0",
    time: () => state.span?.start ?? player.state.time,
    rows: () => Object.keys(state.view?.rows ?? {}).filter((row) => lab.document.tiers[row]),
    choose: (tier, index) => {
      select(tier, index);
      cards.showNow(tier, index);
    },
    say,
    partner: (from, tier) =>
      tier.startsWith("words") ? lab.members[groupOf(from)]?.find(([k]) => `words${k}` === tier)?.[1] : undefined,
  });

  function toggleHelp(isShown = help.hidden) {
    help.hidden = !isShown;
  }

  function say(text) {
    speech.textContent = text;
    note.textContent = text;
  }
  lab.say = say;

  /* A comparison. */

  async function load() {
    const { value } = props;
    if (!value) return clear();
    if (value.id === lab.data?.id && value.revision <= lab.data.revision) return;
    const answer = await server
      .load_comparison([value.id, lab.document?.audio ?? null])
      .catch(() => ({ error: "The server does not answer. Try again in a moment." }));
    if (props.value?.id !== value.id) return;
    if (answer.error) return emit("lab:error", answer.error);
    state.arrived = performance.now();
    const before = lab.document;
    if (before?.audio !== answer.audio) player.stop(); /* what it plays was heard of the old recording */
    lab.current = lab.pointed = null;
    state.span = state.selected = null;
    card.hide();
    delete element.dataset.first;
    readComparison(answer, before);
    const { document: doc } = lab;
    if (before?.doc !== doc.doc || answer.peaks !== null) {
      player.load(doc);
      tiles.clear();
      closeUp.clear();
      firstView(doc);
    }
    toolbar.total.textContent = `/ ${clock(doc.duration, 2)}`;
    /* The picture first: the texts of a long recording take seconds to build. */
    redraw();
    requestAnimationFrame(() => requestAnimationFrame(() => lab.data === answer && emit("lab")));
  }

  function clear() {
    player.stop();
    lab.data = lab.document = lab.current = lab.pointed = null;
    delete element.dataset.ready;
    emit("lab");
  }

  function firstView(doc) {
    const length = readableLength(plotWidth(), doc.duration);
    [state.a, state.b] = [0, doc.duration || 1];
    setView((doc.tiers.words0.start[0] ?? 0) - 0.3, (doc.tiers.words0.start[0] ?? 0) - 0.3 + length);
  }

  function refresh() {
    if (!lab.data) return;
    hookTimeline();
    hover(null);
    if (!isStillThere()) {
      state.selected = null;
      card.hide();
    }
    const { id, revision, columns, differences, moved } = lab.data;
    const digits = columns.map((_, k) => k + 1);
    const keys = `${digits.slice(0, -1).join(", ")} or ${digits.at(-1)}`;
    hint.textContent = `≠ another word   ${milliseconds(moved)} boundary moved   N next difference, ${keys} picks a reading`;
    note.textContent = differences.length ? "" : "No differences";
    element.dataset.marks = lab.marks.map((marks) => marks.size).join();
    drawCharts();
    redraw();
    requestAnimationFrame(() => requestAnimationFrame(() => (element.dataset.ready = `${id}:${revision}`)));
  }

  /* Another reading may have other words where the selected one was. */
  function isStillThere() {
    if (!state.selected) return false;
    const { tier, index, start, end, text } = state.selected;
    const items = lab.document.tiers[tier];
    return items?.start[index] === start && items.end[index] === end && items.text[index] === text;
  }

  let measured = "";

  /* Python draws them, of the comparison as it stands there. */
  function drawCharts() {
    measured = JSON.stringify(lab.data.reference);
    trigger("shown", { id: lab.data.id, dark: theme.dark });
  }

  function onJudged() {
    element.dataset.ready = `${lab.data.id}:${lab.data.revision}`;
    if (JSON.stringify(lab.data.reference) !== measured) drawCharts();
  }

  const drag = connectPointer({ overlay, plot, state, player, setView, pan, zoom, seek, select, hover, scene: lab });
  const plain = { ...inside.keys, n: () => goToNext(1), x: () => pickKey(NEITHER) };
  for (let k = 0; k < LETTERS.length; k++) plain[k + 1] = () => pickKey(k);
  connectKeys(
    frame,
    {
      toggle,
      toggleLoop,
      stepRate,
      zoom,
      fit,
      toggleHelp,
      ...walk,
      isHelpOpen: () => !help.hidden,
      hasDocument: () => Boolean(lab.document),
      stop: () => player.stop(),
      playSelection: () => (state.span ? play(state.span.start, state.span.end) : goToNext(1)),
      playWindow: () => play(state.a, state.b),
    },
    { plain, shifted: { N: () => goToNext(-1) } },
  );
  overlay.addEventListener("pointermove", ({ offsetX, offsetY }) => {
    const named = lab.data && state.view && columnNamedAt(state.view, { x: offsetX, y: offsetY });
    if (overlay.title !== (named?.name ?? "")) overlay.title = named?.name ?? "";
  });
  on("lab", refresh);
  on("lab:judged", onJudged);
  on("lab:pointed", () => redraw(false));
  on("threshold", () => redraw());
  on("theme", () => lab.data && (drawCharts(), redraw()));
  new ResizeObserver(() => redraw()).observe(plot);
  document.fonts?.ready.then(() => redraw());
  watch("value", load);
  load();
};
