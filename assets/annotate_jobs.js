/* Work that goes on on the server: followed with its progress and its Cancel until it has made something. It belongs to
   the workspace, so a page that is loaded again, or a second one, finds it and goes on to follow it. */

const followed = new Set(); /* ids of jobs */

/* What a page does with what a job of each kind has made. `isOwn`: whether this page began it. */
const JOB_DONE = {
  import: onImported,
  bulk: onMany,
  second: onSecond,
  export: (made, isOwn) =>
    isOwn ? download(made) : tell("info", `${made.name} is packed.`, [["Save", () => download(made)]]),
};

/* Follow a job: its progress above, the list as it grows, then what it made. */
async function follow(job, kind, isOwn = true) {
  if (followed.has(job)) return undefined;
  followed.add(job);
  let isCancelled = false;
  let count = 0;
  const cancel = () => (isCancelled = true);
  for (;;) {
    const answer = await ask("annotate_work", job, isCancelled);
    if (answer.error === NO_ANSWER) {
      await new Promise((go) => setTimeout(go, 1000));
      continue;
    }
    if (answer.progress) {
      emit("desk:job", { job, progress: answer.progress, cancel });
      if (answer.count > count) refreshList();
      count = answer.count;
      continue;
    }
    emit("desk:job", { job, progress: null });
    ask("annotate_told", job);
    if (answer.error) return tell("error", answer.error);
    if (answer.stopped) return tell("info", "Stopped. Nothing was changed.");
    return JOB_DONE[kind](answer.done, isOwn);
  }
}

/* What goes on already, or has ended without a page to be told so. */
async function findJobs() {
  const { jobs, error } = await ask("annotate_going_on");
  if (error) tell("error", error);
  for (const { job, kind } of jobs ?? []) follow(job, kind, false);
}

/* It is opened, unless the person works on another one meanwhile. */
async function onImported(id, isOwn) {
  await refreshList();
  if (isOwn ? desk.head?.undo : desk.head) {
    const name = desk.entries.find((one) => one.id === id)?.name ?? "The recording";
    return tell("info", `${name} is ready, in the list.`);
  }
  if (await openDocument(id)) desk.view.focus();
  return undefined;
}

async function onMany({ ids, problems, of }) {
  await refreshList();
  const count = `${amount(ids.length)} of ${amount(of)} recordings imported.`;
  tell(problems.length ? "warn" : "info", [count, ...problems].join(" "));
  if (!desk.head && ids.length && (await openDocument(ids[0], { quiet: true }))) desk.view.focus();
}

async function onSecond(id) {
  if (desk.head?.id === id && (await saver.flushed())) await openDocument(id);
}

/* The cards of what goes on, above everything else of `place`. A card stays the same node while its figures change, so
   that a press on Cancel that lasts is not lost. */
function showJobs(place) {
  const cards = new Map();
  on("desk:job", ({ job, progress, cancel }) => {
    if (!progress) {
      cards.get(job)?.node.remove();
      cards.delete(job);
      return;
    }
    if (!cards.has(job)) {
      cards.set(job, buildJobCard(cancel));
      place.prepend(cards.get(job).node);
    }
    cards.get(job).show(progress);
  });
}

function buildJobCard(cancel) {
  const words = h("bdi", {});
  const left = h("span", { class: "ts-dim" });
  const fill = h("i");
  const track = h("div", { class: "ts-bar-track" }, fill);
  const stop = h(
    "button",
    { class: "ts-btn", type: "button", onclick: () => (cancel(), (stop.disabled = true)) },
    "Cancel",
  );
  const said = h("span", { class: "ts-grow", role: "status" }, words, left);
  const node = h("section", { class: "ts-card ts-progress" }, h("div", { class: "ts-row" }, said, stop), track);
  function show({ text, left: rest, share }) {
    words.textContent = text;
    left.textContent = rest ? `, ${rest}` : "";
    track.classList.toggle("ts-unknown", share === null);
    fill.style.width = `${100 * clamp(share ?? 0, 0, 1)}%`;
  }
  return { node, show };
}
