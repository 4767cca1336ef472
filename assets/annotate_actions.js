/* What a person does to the open document, by hand, key or button: each is one edit, sent by annotate_saving.js. */

const NUDGE = 0.001;
const LEAST_INSERT = 0.05; /* seconds a new word needs at least */
const USUAL_INSERT = 0.3;

/* While a boundary is dragged the columns follow at once; the store has the last word when it is dropped. */

function putBoundary(grip, time) {
  grip.tier[grip.edge][grip.index] = time;
  if (grip.neighbour >= 0) grip.tier[grip.edge === "end" ? "start" : "end"][grip.neighbour] = time;
}

function dragBoundary(grip, time) {
  grip.to = clamp(time, grip.low, Math.max(grip.low, grip.high));
  putBoundary(grip, grip.to);
}

/* Control or Command lets the boundary snap to a zero crossing, Alt to a frame of the model. */
function saveBoundary(grip, event) {
  const snap = event.ctrlKey || event.metaKey ? "zero" : event.altKey ? "frame" : undefined;
  if (grip.to === undefined || (grip.to === grip.time && !snap)) return;
  const text = labelOf(grip.tier, grip.index);
  sendEdit({ op: "boundary", id: grip.id, edge: grip.edge, time: grip.to, snap }, `move of “${text}”`);
}

function nudge(edge, by) {
  const one = selected();
  if (!one || one.end <= one.start) return desk.view.say("Select a segment first");
  const { low, high, neighbour } = roomOf(desk.document, one.tier, one.index, edge);
  const grip = { tier: one.tier, index: one.index, edge, neighbour };
  const time = clamp(one.tier[edge][one.index] + by, low, Math.max(low, high));
  if (Math.abs(time - one.tier[edge][one.index]) < 1e-7) return desk.view.say("There is no room");
  putBoundary(grip, time);
  desk.view.redraw();
  desk.view.say(`${edge === "end" ? "End" : "Start"} ${time.toFixed(3)} s`);
  sendEdit({ op: "boundary", id: one.id, edge, time }, `move of “${one.text.trim()}”`);
}

/* Both boundaries of the selection go to the next zero crossing, or to the next border of the model's frames. */
async function snapSelection(to) {
  const one = selected();
  if (!one || one.end <= one.start) return desk.view.say("Select a segment first");
  for (const edge of ["start", "end"])
    sendEdit(
      { op: "boundary", id: one.id, edge, time: one.tier[edge][one.index], snap: to },
      `snap of “${one.text.trim()}”`,
    );
  desk.view.say(to === "zero" ? "Snapped to the next zero crossing" : "Snapped to the next frame");
}

/* At the playhead where it stands inside the segment, else in its middle. */
function splitSelection() {
  const one = selected();
  if (!one) return desk.view.say("Select a segment first");
  const now = desk.view.time();
  const time = now > one.start + 0.005 && now < one.end - 0.005 ? now : (one.start + one.end) / 2;
  sendEdit({ op: "split", id: one.id, time }, `split of “${one.text.trim()}”`);
}

function mergeSelection() {
  const one = selected();
  if (!one) return desk.view.say("Select a segment first");
  if (one.index + 1 >= one.tier.length) return desk.view.say("Nothing follows that it could be joined with");
  sendEdit({ op: "merge", id: one.id }, `merge of “${one.text.trim()}”`);
}

async function deleteSelection() {
  const one = selected();
  if (!one) return desk.view.say("Select a segment first");
  const answer = await sendEdit({ op: "delete", id: one.id }, `deletion of “${one.text.trim()}”`);
  if (answer && one.tier.length) select(one.tier, Math.min(one.index, one.tier.length - 1));
}

/* Where a new word may stand: what was drawn by hand, or the gap at the playhead or behind the selection. */
function roomForWord() {
  const words = ownTier("words") ?? ownTier("sentences");
  if (!words) return null;
  const from = desk.range?.start ?? selected()?.end ?? desk.view.time();
  const at = firstAbove(words.reach, from + 1e-6);
  const low = Math.max(from, at > 0 ? words.end[at - 1] : 0);
  const high = Math.min(desk.range?.end ?? Infinity, at < words.length ? words.start[at] : desk.document.duration);
  if (high - low < LEAST_INSERT) return null;
  return { tier: words.name, start: low, end: desk.range ? high : Math.min(high, low + USUAL_INSERT) };
}

async function insertWord(text) {
  const room = roomForWord();
  if (!room) return desk.view.say("There is no gap here. Draw one with Shift + drag, or move a boundary first");
  const answer = await sendEdit({ op: "insert", ...room, text }, `insertion of “${text}”`);
  if (!answer) return;
  const tier = desk.document.order.find(({ name }) => name === room.tier);
  const index = tier.start.findIndex((start, i) => start >= room.start - 1e-6 && tier.end[i] <= room.end + 1e-6);
  if (index >= 0) desk.view.choose(tier, index, { play: false });
}

function mark(text) {
  const there = span();
  if (!there || there.end <= there.start) return desk.view.say("Select a word, or draw a stretch with Shift + drag");
  sendEdit({ op: "mark", start: there.start, end: there.end, text }, `mark “${text}”`);
  desk.view.say(`[${text}]`);
}

function setSpeaker(name) {
  const there = desk.range ?? sentenceSpan() ?? selected();
  if (!there || there.end <= there.start)
    return desk.view.say("Select a sentence, or draw a stretch with Shift + drag");
  sendEdit({ op: "speaker", start: there.start, end: there.end, name }, `turn of “${name}”`);
}

function sentenceSpan() {
  const at = sentenceOf(selectedWord());
  const sentences = ownTier("sentences");
  return at < 0 ? null : { start: sentences.start[at], end: sentences.end[at] };
}

/* The text of a sentence, or of a segment that is in none; new words get times by an alignment, as a proposal. */
async function setText(tier, index, text) {
  const answer = await sendEdit({ op: "text", id: tier.ids[index], text }, `new text of “${labelOf(tier, index)}”`);
  if (answer?.changed.length) proposeTimes(answer.changed);
  return Boolean(answer);
}

async function proposeTimes(ids, tries = 3) {
  const { id, revision } = desk.head;
  emit("desk:work", { text: "Looking for the times of the new words" });
  const answer = await ask("annotate_propose", id, revision, ids, desk.model);
  emit("desk:work", null);
  if (desk.head?.id !== id) return;
  if (answer.conflict !== undefined && tries) {
    /* Another edit went ahead meanwhile. */
    if (await saver.flushed()) proposeTimes(ids, tries - 1);
    return;
  }
  if (answer.error) return tell("info", `The new words keep the times of the old ones. ${answer.error}`);
  if (!answer.times.length) return desk.view.say("The times fit already");
  const { words } = desk.document.own;
  const byId = new Map(words.ids.map((one, i) => [one, words.text[i]]));
  setProposal({ ...answer, words: byId });
}

function setProposal(proposal) {
  if (!proposal && !desk.proposal) return;
  desk.proposal = proposal;
  emit("desk:proposal");
}

async function useProposal() {
  const { proposal } = desk;
  if (!proposal) return;
  setProposal(null);
  await sendEdit({ op: "retime", times: proposal.times }, "new times");
  desk.view.focus();
}

function leaveProposal() {
  setProposal(null);
  desk.view.focus();
}

/* Going through what is unsure. */

/* The next (or the one before) that waits, from the selection on; after the last one comes the first. */
function goToUnsure(step = 1, from = null) {
  const { tier, left } = toCheck();
  if (!left.length) {
    desk.view.say(`Nothing below ${page.threshold.toFixed(2)}. Well done.`);
    return false;
  }
  const here = from ?? (tier.key === "words" ? selectedWord() : (selected()?.index ?? -1));
  const after = step > 0 ? left.find((i) => i > here) : left.findLast((i) => i < here);
  desk.view.choose(tier, after ?? (step > 0 ? left[0] : left.at(-1)), { center: true });
  return true;
}

/* Say that what is selected is right, and go on. */
function acceptSelection() {
  const { tier: checked } = toCheck();
  const one = selected();
  if (!one) return goToUnsure(1);
  const isToken = one.tier.key === "tokens" && checked?.key === "words";
  const [tier, index] = isToken ? [checked, selectedWord()] : [one.tier, one.index];
  if (index < 0) return undefined;
  const text = labelOf(tier, index);
  if (!tier.accepted[index]) {
    tier.accepted[index] = true; /* at once, so that the queue can go on */
    tier.confidence[index] = SHOWN;
    sendEdit({ op: "accept", ids: [tier.ids[index]] }, `accepting “${text}”`);
  }
  emit("desk:selection");
  desk.view.redraw();
  if (tier.key === checked?.key) goToUnsure(1, index);
  return undefined;
}

async function setState(state) {
  const answer = await sendEdit({ op: "state", state }, `marking as ${state}`);
  if (answer) tell("info", state === "done" ? "This document is done. “Next document” opens the next one." : "");
}

async function step(op) {
  setProposal(null);
  const { head } = desk;
  if (!head?.[op]) return desk.view.say(`There is nothing to ${op}`);
  const answer = await sendEdit({ op }, `${op} of ${head[op]}`);
  if (answer) desk.view.say(`${op === "undo" ? "Undone" : "Done again"}: ${head[op]}`);
}

/* The next or the previous segment of the selected tier, or the same place one tier up or down. */

function goBeside(by) {
  const tier = selectedTier() ?? ownTier("words") ?? desk.document.order.find((one) => one.length);
  if (!tier?.length) return;
  const at = selectedIndex();
  const index = at < 0 ? clamp(firstAbove(tier.reach, desk.view.time()), 0, tier.length - 1) : at + by;
  if (index < 0 || index >= tier.length)
    return desk.view.say(by > 0 ? "This is the last one" : "This is the first one");
  desk.view.choose(tier, index);
}

function goAcross(by) {
  const one = selected();
  const shown = desk.document.order.filter((tier) => desk.view.state.view?.rows[tier.key] && tier.length);
  const next = shown[shown.indexOf(one?.tier) + by];
  if (!one || !next) return;
  const at = itemAt(next, one.start + 1e-6);
  desk.view.choose(next, at >= 0 ? at : clamp(firstAbove(next.reach, one.start), 0, next.length - 1));
}

/* The document before or after this one in the list. */
function goToDocument(by) {
  const at = desk.entries.findIndex(({ id }) => id === desk.head?.id);
  const next = desk.entries[at + by];
  if (next) openDocument(next.id).then((isOpen) => isOpen && desk.view.focus());
  return Boolean(next);
}
