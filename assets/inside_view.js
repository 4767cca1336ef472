/* "Look inside": rows below the spectrogram of the alignment view that show what the model thought at each frame.

   inside_tiles.js fetches the scores, inside_layers.js paints them; here are the switch, the choice of what is looked
   into, the card and the keys. Server function of the view in Transcribe: inside_tile([doc, revision, number, head]).
   Left on the element for tests: data-inside, "head row:y:height ..." once all of the view is there, else what the
   note says. */

const MOST_INSIDE = 60; /* seconds of a view that is asked for */
const HEAD_TEXTS = { tdt: "TDT", rnnt: "RNN-T", ctc: "CTC", whisper: "Whisper’s decoder" };

/* A browser may refuse to remember. */
function remembered(key) {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

function remember(key, value) {
  try {
    localStorage.setItem(key, value);
  } catch {
    /* then the choice lasts as long as the page */
  }
}

/* For Transcribe: the reading that is shown, with the head that heard it or another one. */
const insideOfDocument = (server) => ({
  memory: "tokenscope-inside",
  signal: "document",
  owner: () => page.document?.doc ?? null,
  subject: (doc, head) => ({
    name: [doc.doc, doc.revision, head].join(),
    duration: doc.duration,
    tokens: doc.tiers.tokens,
    ask: (number) => server.inside_tile([doc.doc, doc.revision, number, head]),
  }),
  buildChoice: buildHeadChoice,
});

/* `state` is the alignment view's own; `act` holds {redraw, reveal, say, time, opened}. `of` says what can be looked
   into: the place in the browser where the switch is remembered, the signal that something else is shown, what owns it,
   its subject (see inside_tiles.js) with a choice of the person's, and the control of that choice. */
function makeInside({ element, plot, overlay, state, act, of }) {
  const tiles = makeInsideTiles(() => act.redraw());
  const card = buildInsideCard();
  let isOn = remembered(of.memory) === "1";
  let chosen = null;
  let frame = null; /* the frame the card is about */
  let timer = 0;
  let owner = null;

  const toggle = h(
    "button",
    {
      class: "ts-btn ts-quiet ts-inside-toggle",
      type: "button",
      "aria-pressed": String(isOn),
      "aria-label": "Look inside",
      "aria-description": "Shows the blank probability, the entropy and the best tokens of each frame",
      title: "Look inside: what the model thought at each frame (I)",
      onclick: () => set(!isOn),
    },
    icon("inside"),
    h("span", {}, "Look inside"),
  );
  const choice = of.buildChoice((value) => {
    chosen = value;
    act.redraw();
  });
  plot.append(card.node);
  on(of.signal, () => {
    frame = null;
    hide(true);
    if (of.owner() === owner) return;
    owner = of.owner();
    chosen = null; /* what was chosen may not be there any more */
  });

  /* The switch goes into the toolbar, the choice into the menu of the layers or, as a narrow page has none, below the
     plot, which must be in its place by then. */
  function attach(toolbar, menu) {
    const place = () => (isNarrow() ? plot.after(choice.node) : menu.append(choice.node));
    toolbar.layers.parentNode.before(toggle);
    matchMedia(NARROW).addEventListener("change", place);
    place();
  }

  function set(value) {
    isOn = value;
    remember(of.memory, isOn ? "1" : "0");
    toggle.setAttribute("aria-pressed", String(isOn));
    if (tiles.know.problem) tiles.clear();
    if (!isOn) choice.node.hidden = true;
    hide(true);
    act.say(isOn ? "Look inside is on; comma and full stop step through the frames" : "Look inside is off");
    act.redraw();
  }

  /* Why there are no rows, or "". */
  function note(a, b) {
    if (b - a > MOST_INSIDE + 1e-6) return `Zoom in to look inside: ${MOST_INSIDE} s or less`;
    if (tiles.know.problem) return tiles.know.problem;
    return tiles.know.head === null ? "Looking inside…" : "";
  }

  /* [name, height, gap] of the rows, for the layout. */
  function rows(doc, a, b) {
    if (!isOn) return [];
    if (note(a, b)) return [["inside", 28, 4]];
    const { tokens } = of.subject(doc, chosen);
    const [first, last] = visibleRange(tokens, a, b);
    const count = tiles.know.head === "whisper" ? last - first : idsInView({ a, b }, tokens).length;
    return INSIDE_KINDS[tiles.know.head].map((name) => [name, INSIDE_ROWS[name].height(count), 4]);
  }

  function draw(g, view, doc) {
    delete element.dataset.inside;
    if (!isOn) return;
    const { a, b } = view;
    const subject = of.subject(doc, chosen);
    if (b - a <= MOST_INSIDE + 1e-6) tiles.want(subject, a, b);
    choice.show(tiles.know, chosen);
    if (view.rows.inside) {
      const text = note(a, b) || "Looking inside…";
      drawInsideNote(g, view, view.rows.inside, text);
      element.dataset.inside = text;
      return;
    }
    const names = Object.keys(INSIDE_ROWS).filter((name) => view.rows[name]);
    g.save();
    g.beginPath();
    g.rect(view.x0, 0, view.x1 - view.x0, view.height);
    g.clip();
    for (const name of names) drawInsideGround(g, view, view.rows[name], tiles);
    g.restore();
    for (const name of names) drawClipped(g, view, name, subject.tokens);
    const isWhole = tiles.between(a, Math.min(b, doc.duration)).every(({ span }) => span);
    const places = names.map((name) => `${name}:${view.rows[name].y}:${view.rows[name].h}`);
    if (isWhole) element.dataset.inside = `${tiles.know.head} ${places.join(" ")}`;
  }

  function drawClipped(g, view, name, tokens) {
    const row = view.rows[name];
    g.save();
    g.beginPath();
    g.rect(0, row.y, view.x1, row.h); /* with the gutter, where the scale stands */
    g.clip();
    INSIDE_ROWS[name].draw(g, view, row, tiles, tokens);
    g.restore();
    if (view.x0) label(g, view, name, INSIDE_ROWS[name].name);
    else drawInsideName(g, row, INSIDE_ROWS[name].name);
  }

  /* The frame that the card is about, through all rows. */
  function drawOverlay(g, view) {
    if (!isOn || !frame || card.node.hidden) return;
    const left = Math.max(view.x0, toX(view, frame.start));
    const right = Math.min(view.x1, toX(view, frame.start + frame.seconds));
    if (right <= left) return;
    g.strokeStyle = theme.ink;
    g.lineWidth = 1;
    for (const name of Object.keys(INSIDE_ROWS)) {
      const row = view.rows[name];
      if (row) g.strokeRect(Math.round(left) + 0.5, row.y + 0.5, Math.max(1, Math.round(right - left)), row.h - 1);
    }
  }

  /* The card. */

  function show(found, wait = 0) {
    clearTimeout(timer);
    if (!found) return hide();
    frame = found;
    timer = setTimeout(
      () => {
        if (!state.view || state.view.rows.inside) return;
        act.opened();
        card.show(frame);
        placeInsideCard(card.node, state.view, plot, frame);
        act.redraw(false);
      },
      card.node.hidden ? wait : 0,
    );
  }

  /* A narrow page keeps the card it has docked. */
  function hide(always = false) {
    clearTimeout(timer);
    if (card.node.hidden || (isNarrow() && !always)) return;
    card.node.hidden = true;
    act.redraw(false);
  }

  function under(event) {
    const box = overlay.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const { view } = state;
    if (!isOn || !view || x < view.x0 || !INSIDE_ROWS[rowAt(view, y)]) return null;
    return tiles.frameAt(toTime(view, x));
  }

  overlay.addEventListener("pointermove", (event) => event.buttons || show(under(event), 120));
  overlay.addEventListener("pointerleave", () => hide());
  overlay.addEventListener("click", (event) => {
    const found = under(event);
    if (found) show(found);
  });

  /* The next frame, or the one before; without one in view, the frame of the playhead. */
  function step(by) {
    if (!isOn) return;
    const isNear = frame && frame.start < state.b && frame.start + frame.seconds > state.a;
    const found = tiles.frameAt(isNear ? frame.start + (by + 0.5) * frame.seconds : act.time());
    if (!found) return act.say(note(state.a, state.b) || "There is no frame here");
    act.reveal(found.start, found.start + found.seconds);
    act.say(spokenFrame(found));
    frame = found;
    requestAnimationFrame(() => requestAnimationFrame(() => show(found))); /* when the view has moved */
  }

  const keys = { i: () => set(!isOn), ",": () => step(-1), ".": () => step(1) };
  return { attach, rows, draw, drawOverlay, hide, keys };
}

/* A choice of what is looked into; `options` are [value, text], "" being the usual one. */
function buildInsideChoice(label, changed) {
  const select = h("select", { class: "ts-select", "aria-label": label });
  const node = h("label", { class: "ts-choice ts-inside-choice", hidden: true }, h("span", { class: "ts-grow" }, "Inside"), select);
  let shown = "";
  select.addEventListener("change", () => changed(select.value || null));
  function show(options, chosen) {
    node.hidden = options.length < 2;
    const key = JSON.stringify([options, chosen]);
    if (key === shown) return;
    shown = key;
    select.replaceChildren(
      ...options.map(([value, text]) => h("option", { value, selected: value === (chosen ?? "") }, text)),
    );
  }
  return { node, show };
}

/* Which head is looked at, where a model has two. */
function buildHeadChoice(changed) {
  const { node, show } = buildInsideChoice("Head to look into", changed);
  function showHeads({ own, heads }, head) {
    const hasOther = own !== null && own !== "ctc" && heads.includes("ctc");
    show([["", `${HEAD_TEXTS[own]}, which heard it`], ...(hasOther ? [["ctc", "CTC, of the same tokens"]] : [])], head);
  }
  return { node, show: showHeads };
}

/* What is known of a frame, best tokens first. */
function frameFacts({ span, i, start }) {
  const tops = Array.from({ length: span.top }, (_, k) => i * span.top + k).filter((k) => span.top_ids[k] >= 0);
  const columns = span.durations.length;
  return {
    time: seconds(start),
    number: span.first + i,
    skipped: isSkipped(span, i),
    taken: span.taken[i] < 0 ? null : pieceOf(span, span.taken[i]),
    top: tops.map((k) => ({
      text: pieceOf(span, span.top_ids[k]),
      isTaken: span.top_ids[k] === span.taken[i],
      share: probability(span.top_probs[k]),
    })),
    blank: probability(span.blank[i]),
    entropy: nats(span.entropy[i]),
    duration: span.duration[i],
    length: `${Math.round(1000 * span.duration[i] * span.frame_seconds)} ms`,
    durations: span.durations.map((frames, k) => ({
      frames,
      isChosen: frames === span.duration[i],
      share: probability(span.duration_probs[i * columns + k]),
    })),
  };
}

function spokenFrame(frame) {
  if (frame.span.weights) {
    const { time, given } = attentionFacts(frame);
    return `${time}: ${given.map(({ text, share }) => `${text} ${share.toFixed(2)}`).join(", ")}`;
  }
  const { time, skipped, top, entropy, durations, duration } = frameFacts(frame);
  if (skipped) return `${time}, skipped by TDT`;
  const best = top.map(({ text, share }) => `${text} ${share.toFixed(2)}`).join(", ");
  return `${time}: ${best}; entropy ${entropy.toFixed(2)} nats${durations.length ? `; duration ${duration}` : ""}`;
}

function buildInsideCard() {
  const time = h("span", { class: "ts-mono ts-inside-time" });
  const number = h("span", { class: "ts-dim" });
  const body = h("div", {});
  const node = h(
    "div",
    { class: "ts-pop ts-inside-card", hidden: true },
    h("div", { class: "ts-row ts-spread" }, time, number),
    body,
  );
  const bar = (share) => h("span", { class: "ts-inside-bar" }, h("i", { style: `width:${(100 * share).toFixed(1)}%` }));

  function show(frame) {
    const isAttention = Boolean(frame.span.weights);
    const facts = isAttention ? attentionFacts(frame) : frameFacts(frame);
    time.textContent = facts.time;
    number.textContent = `frame ${facts.number}`;
    if (isAttention) body.replaceChildren(h("p", { class: "ts-dim" }, "Tokens that look here, of their most"), listTop({ top: facts.given }));
    else if (facts.skipped) body.replaceChildren(h("p", { class: "ts-dim" }, "skipped by TDT"));
    else body.replaceChildren(listTop(facts), listFacts(facts), ...listDurations(facts));
    node.hidden = false;
  }

  const listTop = ({ top }) =>
    h(
      "ol",
      { class: "ts-inside-top" },
      top.map(({ text, isTaken, share }) =>
        h(
          "li",
          { class: isTaken ? "ts-taken" : "" },
          h("span", { class: "ts-inside-text" }, text),
          bar(share),
          h("span", { class: "ts-mono" }, share.toFixed(3)),
        ),
      ),
    );

  function listFacts({ top, taken, entropy, durations, duration, length }) {
    const rows = [["Entropy", `${entropy.toFixed(3)} nats`]];
    if (taken !== null && !top.some(({ isTaken }) => isTaken)) rows.unshift(["The path took", taken]);
    if (durations.length) rows.push(["Duration", `${duration} (${length})`]);
    return h(
      "dl",
      {},
      rows.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]),
    );
  }

  const listDurations = ({ durations }) =>
    durations.length
      ? [
          h(
            "ol",
            { class: "ts-inside-durations" },
            durations.map(({ frames, isChosen, share }) =>
              h(
                "li",
                { class: isChosen ? "ts-taken" : "" },
                h("span", { class: "ts-inside-column" }, h("i", { style: `height:${(100 * share).toFixed(1)}%` })),
                h("span", { class: "ts-mono" }, frames),
                h("span", { class: "ts-mono ts-dim" }, share.toFixed(2).replace(/^0/, "")),
              ),
            ),
          ),
        ]
      : [];

  return { node, show };
}

/* Above the rows and to the side, so that the frame stays visible; a narrow page docks it. */
function placeInsideCard(node, view, plot, { start, seconds: length }) {
  if (isNarrow()) {
    node.style.left = node.style.top = "";
    return;
  }
  const first = Object.keys(INSIDE_ROWS).find((name) => view.rows[name]);
  const [left, right] = [toX(view, start), toX(view, start + length)];
  const room = plot.clientWidth - node.offsetWidth - 4;
  const beside = right + 28 <= room ? right + 28 : left - 28 - node.offsetWidth + 12;
  node.style.left = `${clamp(beside, 4, room)}px`;
  node.style.top = `${Math.max(4, view.rows[first].y - node.offsetHeight - 4)}px`;
}
