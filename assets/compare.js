/* A comparison: one recording, two to four decoders. What the parts of the tab share, and its source row.

   Server functions, all of the part compare_view (components/compare_view.py), called through `lab.server`:
     load_comparison([id, known])             everything that is shown; peaks are null if `known` is its audio
     list_moments([id])                       {moments: [{kind, start, end, value, severity}]} or {error}
     save_comparison([id, what])              {path, name} or {error}; "csv", "report" or a format of the reviewed text
     change_comparison([id, change, known])   the same after {moved} (s) or {reading: [column, index]}; only what is
                                              judged (picks, tally, reference, normalization) after {pick: [difference,
                                              choice]}, {reference: {text} | {path, name} | null}, {case, punctuation};
                                              or {error}
   Events to Python (compare_source): opened {}, compare {count, preset}, preset {key}, remove {column}, new_audio {},
   adopt {}
   Signals: "lab" (another comparison, or other words or differences in it), "lab:judged" (a pick, or the reference),
   "lab:current" (another difference is the one to judge), "lab:heard" (more of the recording has been listened to),
   "lab:pointed" (words are under the pointer, here or in another card), "lab:take" (the recording that is open in Transcribe
   is wanted here), "lab:error" (a sentence for a person). */

const LETTERS = ["A", "B", "C", "D"];
const NEITHER = -1;

const lab = {
  data: null /* what load_comparison answers */,
  document: null /* the recording, with the tiers words0, tokens0, words1, ... */,
  groups: [] /* of each column, of each word: the number of its group of partners */,
  members: [] /* of each group: [[column, word], ...] */,
  marks: [] /* of each column: word -> position of the difference it is part of */,
  current: null /* position of the difference to judge */,
  pointed: null /* number of the group under the pointer */,
  heard: [] /* [start, end] of what has been listened to, apart from each other */,
  server: null,
  /* Set by the view: */
  show: null /* show(start, end, {play}) */,
  select: null /* select(tier, index) */,
  say: null /* say(text) */,
  isSounding: null /* isSounding(start, end): whether that is being played */,
};

function readComparison(answer, before) {
  const tiers = {};
  answer.columns.forEach((column, k) => {
    tiers[`words${k}`] = readTier(column.tiers.words);
    tiers[`tokens${k}`] = readTier(column.tiers.tokens);
  });
  const peaks = answer.peaks === null ? before.peaks : new Int8Array(fromBase64(answer.peaks));
  const { doc, audio, file, duration, rate, samples, hop } = answer;
  lab.data = answer;
  const fit = answer.peaks === null ? before.fit : fittingGain(peaks);
  if (lab.document?.audio !== audio) lab.heard = [];
  lab.document = { doc, audio, duration, rate, samples, hop, peaks, fit, tiers, address: fileAddress(file) };
  lab.marks = answer.columns.map((_, k) => {
    const words = answer.differences.flatMap((one, i) =>
      one.kind !== "boundary" && one.readings[k] !== null ? [[one.readings[k], i]] : [],
    );
    return new Map(words);
  });
  groupPartners(answer);
  if (lab.current !== null && lab.current >= answer.differences.length) lab.current = null;
}

/* Words that stand for the same place: the first column's with their partners, and rows of words that it lacks. */
function groupPartners({ columns, partners, differences }) {
  lab.members = columns[0].tiers.words.text.map((_, i) => [[0, i]]);
  lab.groups = columns.map((column, k) => new Int32Array(column.tiers.words.text.length).fill(k ? -1 : 0));
  lab.members.forEach((_, i) => (lab.groups[0][i] = i));
  const join = (group, k, j) => {
    lab.groups[k][j] = group;
    lab.members[group].push([k, j]);
  };
  partners.forEach((pairs, other) => {
    for (const [i, j] of pairs) if (i !== null && j !== null) join(i, other + 1, j);
  });
  for (const { kind, readings } of differences) {
    if (kind !== "insertion") continue;
    lab.members.push([]);
    readings.forEach((j, k) => j !== null && join(lab.members.length - 1, k, j));
  }
}

let changes = Promise.resolve();

/* Send a change of the comparison, after those before it; what shows it is drawn anew. */
function changeLab(change) {
  const send = () => sendChange(change);
  changes = changes.then(send, send);
  return changes;
}

async function sendChange(change) {
  if (!lab.data) return;
  const { id } = lab.data;
  const answer = await lab.server
    .change_comparison([id, change, lab.document.audio])
    .catch(() => ({ error: "The server does not answer. Try again in a moment." }));
  if (lab.data?.id !== id) return;
  emit("lab:error", answer.error ?? "");
  if (answer.error) return;
  if (answer.columns) readComparison(answer, lab.document);
  else Object.assign(lab.data, answer);
  emit(answer.columns ? "lab" : "lab:judged");
}

/* Make a difference the one to judge: the view moves there, and its span is played. */
function goTo(index, { play = true } = {}) {
  const one = lab.data.differences[index];
  if (!one) return;
  lab.current = index;
  emit("lab:current");
  lab.show(one.start, one.end, { play });
}

/* The next difference; after the last one comes the first. */
function goToNext(step = 1) {
  const count = lab.data?.differences.length ?? 0;
  if (!count) return;
  const from = lab.current ?? (step > 0 ? -1 : 0);
  goTo((from + step + count) % count);
}

/* Say which reading of a difference is right; the same choice again takes it back. Nobody judges what they have not
   heard: before that a pick plays it. */
function pick(index, choice) {
  const one = lab.data.differences[index];
  if (!one || choice >= lab.data.columns.length) return;
  if (isHeard(one)) return void changeLab({ pick: [index, lab.data.picks[index] === choice ? null : choice] });
  if (!lab.isSounding(one.start, one.end)) goTo(index);
  lab.say("Hear it to the end, then pick");
}

function pointAt(group) {
  const found = group === undefined || group < 0 ? null : group;
  if (found === lab.pointed) return;
  lab.pointed = found;
  emit("lab:pointed");
}

/* Another tab sends its recording here: to compare it, or back to the comparison of it. A tab that is opened for the
   first time takes it by itself, and one at work is left alone. */
function compareThis() {
  const isHere = lab.document?.doc === page.document.doc;
  if (!isHere && document.body.dataset.compare !== "working") emit("lab:take");
  openTab("Compare");
}

/* The letter of a column in its colour. */
function letterBadge(k) {
  return h("span", { class: "ts-id", "data-id": LETTERS[k] }, LETTERS[k]);
}


/* What tells the decoders apart, in a word or two: "Greedy" beside "Beam 5", "TDT" beside "CTC". */
function shortName(k) {
  const names = lab.data.columns.map(({ name }) => name.split(", "));
  const part = names[0].findIndex((_, i) => names.some((name) => name[i] !== names[0][i]));
  return names[k][Math.max(0, part)] ?? names[k][0];
}

const milliseconds = (value) => `${value > 0 ? "+" : value < 0 ? "−" : ""}${Math.round(Math.abs(value) * 1000)} ms`;
const plainMilliseconds = (value) => (value === null ? "–" : `${Math.round(value * 1000)} ms`);

/* The head of a decoder's settings. Signal: "lab:remove" (its position). */
parts.compare_letter = ({ root, props }) => {
  const k = LETTERS.indexOf(props.value);
  const remove = h(
    "button",
    {
      class: "ts-btn ts-quiet ts-iconic ts-compare-remove",
      type: "button",
      "aria-label": `Remove decoder ${props.value}`,
      onclick: () => emit("lab:remove", k),
    },
    icon("cross"),
  );
  root.append(
    h("div", { class: "ts-row ts-compare-letter" }, letterBadge(k), h("h2", {}, "Decoder"), h("span", { class: "ts-grow" }), remove),
  );
};

/* Name of the recording, presets, number of decoders, Compare. Value: {name, facts}; props: presets [[key, name]],
   preset (the key of the one in use, "" = settings of the person's own; both sides write it), columns [least, most],
   adopt (name of the recording that is open in Transcribe, or ""). */
parts.compare_source = ({ root, props, trigger, watch }) => {
  const [least, most] = props.columns;
  let count = least;
  const name = h("h2", { class: "ts-name" });
  const facts = h("span", { class: "ts-dim ts-nowrap" });
  const renew = act("New audio", "file", () => trigger("new_audio", {}));
  const adopt = act("", null, take);
  const presets = h("select", { class: "ts-select ts-compare-preset", id: "ts-compare-preset", onchange: usePreset });
  const add = act("Add a decoder", "plus", addColumn);
  const settings = act("Decoders", "down", () => document.body.classList.toggle("ts-compare-open"));
  const go = h("button", { class: "ts-btn ts-primary ts-tall", type: "button", onclick: compare }, "Compare");
  const reason = h("span", { class: "ts-hint" }, "Add audio first");

  function act(text, iconName, onclick) {
    return h("button", { class: "ts-btn ts-tall", type: "button", onclick }, iconName ? icon(iconName) : null, text);
  }

  function compare() {
    document.body.classList.remove("ts-compare-open");
    trigger("compare", { count, preset: presets.value });
  }

  function take() {
    props.adopt = "";
    show();
    trigger("adopt", {});
  }

  function usePreset() {
    props.preset = presets.value;
    if (!presets.value) return;
    setCount(least);
    trigger("preset", { key: presets.value });
    if (document.body.dataset.compare === "result") document.body.classList.add("ts-compare-open");
    const fold = document.querySelector("#ts-compare-B [data-group=lm]");
    if (fold && presets.value === "lm") fold.open = true;
  }

  /* The settings are no longer those of the preset. */
  function setCustom() {
    presets.value = props.preset = "";
  }

  function addColumn() {
    setCustom();
    setCount(count + 1);
  }

  function removeColumn(k) {
    setCustom();
    trigger("remove", { column: k });
    setCount(count - 1);
  }

  function setCount(wanted) {
    count = clamp(wanted, least, most);
    document.body.dataset.compareColumns = count;
    document.body.classList.toggle("ts-compare-open", document.body.dataset.compare === "result");
    add.disabled = count === most;
  }

  function show() {
    const { name: called = "", facts: about = "" } = props.value ?? {};
    name.replaceChildren(called ? h("bdi", {}, called) : "No recording yet");
    name.title = called;
    facts.textContent = about;
    renew.hidden = !called;
    /* A recording that has been taken over meanwhile is not offered. */
    adopt.hidden = !props.adopt || props.adopt === props.value?.name;
    adopt.replaceChildren("Use ", h("bdi", { class: "ts-ellipsis" }, props.adopt ?? ""));
    go.disabled = !called;
    reason.hidden = Boolean(called);
  }

  function showPresets() {
    presets.replaceChildren(
      ...props.presets.map(([value, text]) => h("option", { value }, text)),
      h("option", { value: "" }, "Custom"),
    );
    const isOffered = props.presets.some(([value]) => value === props.preset);
    presets.value = isOffered ? props.preset : "";
  }

  root.append(
    h(
      "div",
      { class: "ts-source" },
      h("div", { class: "ts-source-name" }, name, facts),
      h(
        "div",
        { class: "ts-source-buttons ts-wrap" },
        adopt,
        renew,
        h("label", { class: "ts-row ts-small", for: "ts-compare-preset" }, "Preset", presets),
        add,
        settings,
        go,
        reason,
      ),
    ),
  );
  settings.classList.add("ts-compare-settings");
  on("lab:remove", removeColumn);
  on("lab:take", take);
  /* The language model is what the preset with one waits for. */
  on("decoder", ({ element, name }) => {
    const isMine = document.getElementById("ts-compare-decoders")?.contains(element);
    if (isMine && !(name === "lm" && presets.value === "lm")) setCustom();
  });
  on("lab", () => (go.textContent = lab.data ? "Compare again" : "Compare"));
  document.body.dataset.compare ??= "empty";
  setCount(least);
  watch(["value", "adopt"], show);
  watch(["presets", "preset"], showPresets);
  show();
  showPresets();
  /* The tab has been opened, now or again, or the page has another model. */
  window.addEventListener("tokenscope:compare", () => trigger("opened", {}));
  trigger("opened", {});
};
