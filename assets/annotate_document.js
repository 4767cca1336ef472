/* A document as the page holds it: columns of each tier, which an edit's answer changes in place.

   document: {doc, audio, duration, rate, samples, hop, peaks, fit, address, order: [tier], tiers: {key: tier},
   own: {kind: tier}}. A tier: {key, name, kind, ids, text, start, end, sure, accepted, speaker, id, log_prob,
   confidence, reach, length}; `confidence` is what is shown: 1 for what a person has accepted or nobody has doubted. */

const ANNOTATED = ["ids", "text", "start", "end", "sure", "accepted", "speaker", "id", "log_prob"];
const SHOWN = 1;

function readAnnotated({ head, tiers, sound }, before) {
  const isNew = sound.peaks !== null;
  const peaks = isNew ? new Int8Array(fromBase64(sound.peaks)) : before.peaks;
  const doc = { ...sound, peaks, fit: isNew ? fittingGain(peaks) : before.fit, address: fileAddress(sound.file) };
  doc.isNew = isNew;
  doc.order = tiers.map(({ name, kind, columns }) => makeTier(name, kind, columns));
  doc.doc = head.id;
  return arrange(doc);
}

/* Keys of tiers: the document's own go by their kind, others by their name. */
function arrange(doc) {
  doc.own = {};
  doc.tiers = {};
  for (const tier of doc.order) {
    const isOwn = !doc.own[tier.kind] && ["tokens", "words", "sentences", "speakers", "marks"].includes(tier.kind);
    if (isOwn) doc.own[tier.kind] = tier;
    /* "marks" is the name of the row with the triangles. */
    tier.key = !isOwn ? `tier ${tier.name}` : tier.kind === "marks" ? "own marks" : tier.kind;
    doc.tiers[tier.key] = tier;
  }
  doc.own.tokens ??= null;
  /* What the overview of the alignment view reads. */
  doc.tiers.tokens ??= makeTier(
    "tokens",
    "tokens",
    ANNOTATED.map(() => []),
  );
  return doc;
}

function makeTier(name, kind, columns) {
  const tier = { name, kind, key: "" };
  ANNOTATED.forEach((column, i) => (tier[column] = columns[i]));
  tier.reach = tier.end; /* without overlaps the latest end so far is the end itself */
  tier.confidence = tier.sure.map((_, i) => shownConfidence(tier, i));
  Object.defineProperty(tier, "length", { get: () => tier.ids.length });
  return tier;
}

const shownConfidence = (tier, i) => (tier.accepted[i] || tier.sure[i] === null ? SHOWN : tier.sure[i]);

/* What stands in a segment: its text, or who speaks. */
const labelOf = (tier, i) => (tier.kind === "speakers" ? (tier.speaker[i] ?? tier.text[i]) : tier.text[i]).trim();

/* Change the columns as the server says: rows that go, from behind, then rows that come. `names`: of all tiers then. */
function applyDelta(doc, delta, names) {
  let isArranged = true;
  for (const { name, kind, place, made, removed, gone, come } of delta) {
    let tier = doc.order.find((one) => one.name === name);
    if (removed) {
      doc.order = doc.order.filter((one) => one !== tier);
      isArranged = false;
      continue;
    }
    if (made || !tier) {
      tier = makeTier(
        name,
        kind,
        ANNOTATED.map(() => []),
      );
      doc.order.splice(place, 0, tier);
      isArranged = false;
    }
    for (let n = gone.length - 1; n >= 0; n--) {
      for (const column of ANNOTATED) tier[column].splice(gone[n], 1);
      tier.confidence.splice(gone[n], 1);
    }
    for (const [at, row] of come) {
      ANNOTATED.forEach((column, i) => tier[column].splice(at, 0, row[i]));
      tier.confidence.splice(at, 0, shownConfidence(tier, at));
    }
  }
  if (!isArranged || doc.order.some(({ name }, i) => name !== names[i])) {
    doc.order.sort((a, b) => names.indexOf(a.name) - names.indexOf(b.name));
    arrange(doc);
  }
}

/* Words of a document in the list that wait below the threshold, from the counts that came with it. */
function countToCheck({ id, below, doubts }) {
  if (id === desk.head?.id) return toCheck().left.length;
  if (!doubts) return below;
  const limit = Math.round(100 * page.threshold);
  return doubts.reduce((sum, [hundredth, count]) => sum + (hundredth < limit ? count : 0), 0);
}

/* Words below the threshold: all of them, and those that nobody has accepted, by index. */
function toCheck() {
  const words = ownTier("words") ?? ownTier("sentences");
  const [left, done] = [[], []];
  if (!words) return { tier: null, left, done };
  for (let i = 0; i < words.length; i++) {
    if (words.sure[i] === null || !isLow(words.sure[i])) continue;
    (words.accepted[i] ? done : left).push(i);
  }
  return { tier: words, left, done };
}

/* How far a boundary may go, as the store will allow it: {low, high, neighbour} with the index of a joined neighbour. */
function roomOf(doc, tier, index, edge) {
  const least = Math.min(0.01, tier.end[index] - tier.start[index]);
  const step = edge === "end" ? 1 : -1;
  const beside = index + step;
  const exists = beside >= 0 && beside < tier.length;
  const touches =
    exists && (step > 0 ? tier.end[index] === tier.start[beside] : tier.start[index] === tier.end[beside]);
  const joined = touches && tier.end[beside] > tier.start[beside];
  const rest = joined ? Math.min(0.01, tier.end[beside] - tier.start[beside]) : 0;
  let [low, high] =
    step > 0
      ? [tier.start[index] + least, joined ? tier.end[beside] - rest : exists ? tier.start[beside] : doc.duration]
      : [joined ? tier.start[beside] + rest : exists ? tier.end[beside] : 0, tier.end[index] - least];
  if (tier.kind === "tokens" && doc.own.words) {
    const word = itemAt(doc.own.words, (tier.start[index] + tier.end[index]) / 2);
    if (word >= 0) [low, high] = [Math.max(low, doc.own.words.start[word]), Math.min(high, doc.own.words.end[word])];
  }
  return { low, high, neighbour: joined ? beside : -1 };
}
