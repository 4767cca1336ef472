/* Edits on their way to the store: one at a time, in order, each acknowledged before it counts as saved.

   An edit that gets no answer stays at the head of the queue and is sent again, with the same ticket, so that the store
   makes it once. Where another window was faster the edits that wait are handed back instead of being forced. */

const RETRY_AFTER = [500, 1000, 2000, 4000, 8000];
const LOOK_EVERY_MS = 2000;

const saver = {
  state: "saved" /* "saved", "saving" or "failed" */,
  at: null /* Date of the last acknowledgement */,
  queue: [] /* {id, op, ticket, what, resolve} */,
  busy: false,
  send: sendEdit,
  flushed,
  opened: () => setSaving("saved", null),
};

const ticket = () => Array.from(crypto.getRandomValues(new Uint32Array(3)), (n) => n.toString(36)).join("-");

function setSaving(state, at = saver.at) {
  saver.state = state;
  saver.at = at;
  emit("desk:saving");
}

/* Send an edit. Resolves to the server's answer once it is on disk, or to null if it was refused.
   A nudge that waits behind another takes the place of the one before it on the same boundary. */
function sendEdit(op, what = "") {
  if (!desk.head) return Promise.resolve(null);
  const last = saver.queue.at(-1);
  if (last && last !== saver.queue[0] && op.op === "boundary" && isSameBoundary(last.op, op)) {
    last.op = op;
    return new Promise((resolve) => (last.resolve = chain(last.resolve, resolve)));
  }
  return new Promise((resolve) => {
    saver.queue.push({ id: desk.head.id, op, ticket: ticket(), what, resolve });
    setSaving(saver.state === "failed" ? "failed" : "saving");
    work();
  });
}

const isSameBoundary = (a, b) => a.op === b.op && a.id === b.id && a.edge === b.edge && !a.snap && !b.snap;
const chain = (first, second) => (value) => (first(value), second(value));

async function work() {
  if (saver.busy) return;
  saver.busy = true;
  try {
    for (let tries = 0; saver.queue.length;) {
      if (isGone(saver.queue[0])) continue;
      const { id, op, ticket: name, resolve } = saver.queue[0];
      const began = performance.now();
      const answer = await ask("annotate_edit", id, desk.head.revision, op, name);
      if (answer.error === NO_ANSWER) {
        setSaving("failed");
        await new Promise(
          (go) => (saver.wake = go) && setTimeout(go, RETRY_AFTER[Math.min(tries++, RETRY_AFTER.length - 1)]),
        );
        continue;
      }
      tries = 0;
      if (isGone(saver.queue[0])) continue;
      if (answer.conflict !== undefined) {
        await handBack();
        continue;
      }
      saver.queue.shift();
      if (answer.error) {
        await openDocument(id, { quiet: true });
        tell("error", answer.error);
      } else if (answer.again) {
        /* It was made before; only the answer was lost. */
        await openDocument(id, { quiet: true });
        answer.changed = [];
      } else {
        takeAnswer(answer);
        emit("desk:answered", performance.now() - began);
      }
      setSaving(saver.queue.length ? "saving" : "saved", answer.error ? saver.at : new Date());
      resolve(answer.error ? null : answer);
    }
  } finally {
    saver.busy = false; /* in the same breath as the last answer: whoever waits for that may send the next edit */
  }
}

/* Whether the document of an edit has been closed, because somebody deleted it: then the edit is let go. */
function isGone({ id, resolve }) {
  if (desk.head?.id === id) return false;
  saver.queue.shift();
  setSaving(saver.queue.length ? "saving" : "saved");
  resolve(null);
  return true;
}

function takeAnswer({ head, delta }) {
  desk.head = head;
  applyDelta(desk.document, delta, head.tiers);
  const { proposal } = desk;
  const touched = delta.filter(({ kind }) => kind === "words").flatMap(({ come }) => come.map(([, [id]]) => id));
  if (proposal?.times.some(([id]) => touched.includes(id))) setProposal(null);
  if (desk.selection && selectedIndex() < 0) select(null);
  emit("desk:change", { delta });
  refreshEntry();
}

/* Another window has changed the document: show that, and offer what was not made. */
async function handBack() {
  const waiting = saver.queue.splice(0);
  for (const { resolve } of waiting) resolve(null);
  await openDocument(waiting[0].id, { quiet: true });
  setSaving("saved");
  const named = waiting.map(({ what }) => what).filter(Boolean);
  const what = named.length ? ` (${named.join(", ")})` : "";
  tell(
    "warn",
    `This document was changed in another window, and is shown as it is now. Your last edit${what} was not made.`,
    /* An undo would take back what the other window did. */
    waiting.some(({ op }) => ["undo", "redo"].includes(op.op))
      ? []
      : [
          ["Make it again", () => waiting.forEach(({ op, what: said }) => sendEdit(op, said))],
          ["Leave it", () => {}],
        ],
  );
}

/* Wait until everything is on disk; false where that does not work out. */
async function flushed() {
  for (let n = 0; n < 50 && saver.queue.length; n++) await new Promise((go) => setTimeout(go, 40));
  return saver.queue.length === 0;
}

window.addEventListener("beforeunload", (event) => saver.queue.length && event.preventDefault());
window.addEventListener("online", () => saver.wake?.());

/* What another window does is shown here; nothing is asked while the tab is hidden or an edit is on its way. */
async function lookForOthers(element) {
  if (!desk.head || saver.queue.length || document.hidden || !element.offsetParent) return;
  const { id, revision } = desk.head;
  const answer = await desk.server.annotate_look([desk.workspace, id]).catch(() => null);
  if (!answer || desk.head?.id !== id || saver.queue.length || desk.head.revision !== revision) return;
  if (answer.error) {
    const written = desk.typed();
    closeDocument();
    refreshList();
    return tell("warn", written ? `${answer.error} What you wrote: ${written}` : answer.error);
  }
  if (answer.revision === revision) return;
  await openDocument(id, { quiet: true });
  tell("info", "Another window has changed this document. What you see is its newest state.");
}
