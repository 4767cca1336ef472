/* Boundaries by hand in the annotator's view: what a press takes hold of, and what a drag does with it. What becomes of
   it in the document is in annotate_actions.js. */

/* What connectPointer of align_input.js takes as `handles`. `state`: of the view. A press with Shift on the signals draws
   a stretch of time instead. */
function makeBoundaries(state, redraw) {
  /* The boundary within reach of a pixel: the selected segment's first, then the nearest. */
  function edgeAt(tier, x) {
    const { view } = state;
    if (view.folded[tier.key] || (tier.key === "sentences" && desk.document.own.words)) return null;
    const time = toTime(view, x);
    const [first, last] = visibleRange(tier, time - REACH / view.scale, time + REACH / view.scale);
    let best = null;
    for (let index = Math.max(0, first); index < last; index++) {
      if (tier.end[index] <= tier.start[index]) continue;
      for (const edge of ["start", "end"]) {
        const away = Math.abs(toX(view, tier[edge][index]) - x) - (tier.ids[index] === desk.selection?.id ? 1 : 0);
        if (away <= REACH && (!best || away < best.away)) best = { tier, index, id: tier.ids[index], edge, away };
      }
    }
    if (best && tier.kind === "tokens" && desk.document.own.words) best = ofWord(best) ?? best;
    return (
      best && {
        ...best,
        time: best.tier[best.edge][best.index],
        ...roomOf(desk.document, best.tier, best.index, best.edge),
      }
    );
  }

  /* Where a token ends with its word, that is the word's boundary. */
  function ofWord({ tier, index, edge, away }) {
    const { words } = desk.document.own;
    const word = itemAt(words, (tier.start[index] + tier.end[index]) / 2);
    if (word < 0 || words[edge][word] !== tier[edge][index]) return null;
    return { tier: words, index: word, id: words.ids[word], edge, away };
  }

  /* Whether what is held is still there; the answer to an edit before this one may have moved it to another place. */
  function isThere(grip) {
    const tier = desk.document?.tiers[grip.tier.key];
    const index = tier ? tier.ids.indexOf(grip.id) : -1;
    if (index < 0) return false;
    if (tier !== grip.tier || index !== grip.index)
      Object.assign(grip, { tier, index, time: tier[grip.edge][index] }, roomOf(desk.document, tier, index, grip.edge));
    return true;
  }

  return {
    grip: ({ x, y }, event) => {
      const row = state.view && rowAt(state.view, y);
      const isSignal = ["waveform", "spectrogram", "ruler"].includes(row);
      let found = null;
      if (event?.shiftKey && isSignal)
        found = { range: true, from: clamp(toTime(state.view, x), 0, desk.document.duration) };
      else if (x >= state.view.x0 - REACH && desk.document.tiers[row]) found = edgeAt(desk.document.tiers[row], x);
      if (found?.id !== state.grip?.id || found?.edge !== state.grip?.edge) redraw(false);
      state.grip = found;
      return found;
    },
    cursor: () => "col-resize",
    move: (grip, x, event) => {
      const time = toTime(state.view, x);
      if (grip.range) {
        const to = clamp(time, 0, desk.document.duration);
        desk.range = { start: Math.min(grip.from, to), end: Math.max(grip.from, to) };
        return redraw(false);
      }
      if (!isThere(grip)) return undefined;
      if (desk.selection?.id !== grip.id) select(grip.tier, grip.index);
      dragBoundary(grip, time);
      return redraw();
    },
    drop: (grip, isDone, event) => {
      state.grip = null;
      if (grip.range) return emit("desk:selection");
      if (!isThere(grip)) return undefined;
      if (isDone) return saveBoundary(grip, event);
      putBoundary(grip, grip.time);
      return redraw();
    },
  };
}
