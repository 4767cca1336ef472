/* Annotate: what its parts share. One part of the page, `annotate`, built in annotate_page.js from the pieces here.

   Events to Python: opened {}, and the part's value is then {model, mode} of the page as it is now; report {key, id, dark},
   whose answer is the chart of the quality report.
   Server functions (components/annotate.py), called through `desk.server`; each gets a list that begins with the
   workspace key, and answers {error} where it refuses, with {conflict: revision} where another window was faster:
     annotate_list([key])                               {documents, kept}
     annotate_open([key, id, known])                    {head, tiers, sound}; peaks are null if `known` is its sound
     annotate_look([key, id])                           {revision}
     annotate_edit([key, id, revision, op, ticket])     {head, delta, changed}
     annotate_propose([key, id, revision, ids, model])  {revision, times, before}
     annotate_take([key, kind, source])                 {id}
     annotate_delete([key, id]), annotate_rename([key, id, name]), annotate_history([key, id])
     annotate_decoders([key, model]), annotate_import([key, what]), annotate_bulk([key, {files, model}]),
     annotate_export_done([key]), annotate_second([key, id, model, decoder]), and
     annotate_work([key, job, cancel])                  {job}, then {progress}, {done: id}, {stopped} or {error}
     annotate_going_on([key])                           {jobs: [{job, kind}]}: those of the workspace that go on, or
     annotate_told([key, job])                          whose end no page has said that it knows
     annotate_export([key, id, format]), annotate_report([key, id])
     spectrogram_tile([id, start, end, width, height, top])
   Signals: "desk:list", "desk:document" (another document, or all of it anew), "desk:change" (some of it has changed),
   "desk:selection", "desk:saving", "desk:proposal", "desk:message", "desk:work" and "desk:job" (what goes on), "desk:answered" (ms of an edit). */

const desk = {
  server: null,
  trigger: null,
  upload: null,
  workspace: "",
  model: "" /* source of the page's model */,
  mode: "local",
  entries: [] /* of the list */,
  isForgetful: false /* whether the browser keeps no workspace key */,
  kept: "" /* how long documents are kept, in words */,
  head: null /* of the open document: id, name, revision, undo, redo, state, reviewer, notes, ... */,
  document: null /* see annotate_document.js */,
  selection: null /* {tier, id}: key of the tier and id of the segment */,
  range: null /* {start, end} drawn or extended by hand */,
  proposal: null /* {revision, times, before, words}: new times that wait for yes or no */,
  typed: () => "" /* set by the text's card: what stands there and is not saved */,
  turn: 0 /* counts up with every other document that is asked for */,
  view: null /* set by the view: show(start, end), play(start, end), focus() */,
  wanted: null /* {kind, source} that another tab handed over before this one was built */,
};

const NO_ANSWER = "The server does not answer. Try again in a moment.";

/* A key of 144 random bits, kept in this browser: in `hosted` mode it is what documents are found by. */
function workspaceKey() {
  const name = "tokenscope.workspace";
  const made = () => btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(18)))).replace(/[+/]/g, "-");
  try {
    const known = localStorage.getItem(name) ?? made();
    localStorage.setItem(name, known);
    return known;
  } catch {
    desk.isForgetful = true; /* a browser that keeps nothing: until the page is closed */
    return made();
  }
}

/* Ask the server; {error} where it does not answer. A server function that failed answers nothing. */
async function ask(name, ...given) {
  const answer = await desk.server[name]([desk.workspace, ...given]).catch(() => null);
  return answer ?? { error: NO_ANSWER };
}

function tell(kind, text, actions = []) {
  emit("desk:message", text ? { kind, text, actions } : null);
}

async function refreshList() {
  const answer = await ask("annotate_list");
  if (answer.error) return tell("error", answer.error);
  takeList(answer);
}

function takeList({ documents, kept }) {
  desk.entries = documents;
  const forgets = desk.isForgetful && desk.mode === "hosted";
  desk.kept = forgets
    ? `${kept} This browser keeps nothing for this site, so documents are lost when the page is closed.`
    : kept;
  emit("desk:list");
}

/* The open document in the list, as its last edit has left it. */
function refreshEntry() {
  const at = desk.entries.findIndex(({ id }) => id === desk.head?.id);
  if (at < 0) return;
  desk.entries[at] = desk.head.summary;
  emit("desk:list");
}

/* Open a document; true if it is there now. An edit that is not saved yet keeps the page where it is. */
async function openDocument(id, { quiet = false } = {}) {
  if (desk.head && desk.head.id !== id && !(await saver.flushed()))
    return tell("error", "The last edit is not saved yet, so this document stays open. It is tried again by itself.");
  const known = desk.head?.id === id ? desk.document.audio : null;
  const isSame = known !== null;
  if (!isSame) {
    emit("desk:opening", id);
    desk.turn += 1;
  }
  const { turn } = desk;
  const answer = await ask("annotate_open", id, known);
  /* What was done here while it was on its way is saved first. */
  if (!isSame) await saver.flushed();
  if (turn !== desk.turn) return false; /* another one has been asked for since */
  if (answer.error) {
    tell("error", answer.error);
    if (!isSame) emit("desk:opening", null);
    return false;
  }
  desk.head = answer.head;
  desk.document = readAnnotated(answer, desk.document);
  if (!isSame) {
    desk.selection = desk.range = null;
    saver.opened();
  }
  setProposal(null);
  if (!desk.entries.some((entry) => entry.id === id)) refreshList();
  if (!quiet) tell(null, "");
  history.replaceState(history.state, "", `#a=${id}`);
  emit("desk:document", { isSame });
  if (selectedIndex() < 0) select(null);
  refreshEntry();
  return true;
}

function closeDocument() {
  desk.head = desk.document = desk.selection = desk.range = null;
  setProposal(null);
  history.replaceState(history.state, "", location.pathname + location.search);
  emit("desk:document", { isSame: false });
}

/* Another tab hands over what it shows: its recording or comparison becomes a document here. */
function annotate(kind, source) {
  desk.wanted = { kind, source };
  openTab("Annotate");
  if (desk.server) takeWanted();
}

async function takeWanted() {
  const { wanted } = desk;
  desk.wanted = null;
  if (!wanted) return;
  const answer = await ask("annotate_take", wanted.kind, wanted.source);
  if (answer.error) return tell("error", answer.error);
  await refreshList();
  await openDocument(answer.id);
  desk.view.focus();
}

/* The segment that is selected. */

const ownTier = (kind) => desk.document?.own[kind] ?? null;
const selectedTier = () => (desk.selection ? (desk.document?.tiers[desk.selection.tier] ?? null) : null);
const selectedIndex = () => selectedTier()?.ids.indexOf(desk.selection.id) ?? -1;

/* The selected segment as a value, or null. */
function selected() {
  const tier = selectedTier();
  const index = selectedIndex();
  if (index < 0) return null;
  return { tier, index, id: tier.ids[index], text: tier.text[index], start: tier.start[index], end: tier.end[index] };
}

function select(tier, index = -1) {
  desk.selection = tier && index >= 0 ? { tier: tier.key, id: tier.ids[index] } : null;
  desk.range = null;
  emit("desk:selection");
}

/* The seconds that an action is about: what was drawn by hand, else the selected segment. */
const span = () => desk.range ?? selected();

/* The word at the selection: itself, the one that a token belongs to, or the first below another segment. */
function selectedWord() {
  const words = ownTier("words");
  const one = selected();
  if (!words || !one) return -1;
  if (one.tier === words) return one.index;
  const middle = one.tier.kind === "tokens" ? (one.start + one.end) / 2 : one.start + 1e-6;
  return itemAt(words, middle);
}

/* The sentence of a word, as its index; -1 where there is none. */
function sentenceOf(index) {
  const [words, sentences] = [ownTier("words"), ownTier("sentences")];
  if (!words || !sentences || index < 0) return -1;
  const middle = (words.start[index] + words.end[index]) / 2;
  const found = itemAt(sentences, middle);
  return found >= 0
    ? found
    : firstAbove(sentences.reach, middle - 1e-6) < sentences.length
      ? firstAbove(sentences.reach, middle - 1e-6)
      : -1;
}
