/* A recording as the page holds it: plain columns, read from what the server function load_document answers. */

function readDocument(answer, before) {
  const peaks = answer.peaks === null ? before.peaks : new Int8Array(fromBase64(answer.peaks));
  const tiers = {};
  for (const [name, columns] of Object.entries(answer.tiers)) tiers[name] = readTier(columns);
  return { ...answer, peaks, tiers, address: fileAddress(answer.file) };
}

function readTier(columns) {
  const start = Float64Array.from(columns.start);
  const end = Float64Array.from(columns.end);
  const reach = Float64Array.from(end); /* the latest end so far: monotone, so it can be searched */
  for (let i = 1; i < reach.length; i++) reach[i] = Math.max(reach[i], reach[i - 1]);
  return { ...columns, start, end, reach, confidence: Float64Array.from(columns.confidence), length: start.length };
}

function fromBase64(text) {
  return Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer;
}

/* The first index whose value is above `limit`, in values that do not fall. */
function firstAbove(values, limit) {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] > limit) high = middle;
    else low = middle + 1;
  }
  return low;
}

/* [first, last) of the items of a tier that touch [a, b]. */
function visibleRange(tier, a, b) {
  const first = firstAbove(tier.reach, a - 1e-6);
  return [first, Math.max(first, firstAbove(tier.start, b))];
}

/* The item at a time; of a long one and a mark without length at its end, the long one. */
function itemAt(tier, time) {
  const [first, last] = visibleRange(tier, time, time);
  for (let i = last - 1; i >= first; i--) if (tier.end[i] > time && tier.start[i] <= time) return i;
  return -1;
}

/* A selection in all three tiers: what it is part of, and the first of what it holds. */
function selectionOf(tier, index) {
  const { tokens, words, sentences } = page.document.tiers;
  const items = page.document.tiers[tier];
  let token = null;
  let word = null;
  let sentence = null;
  if (tier === "tokens") [token, word] = [index, tokens.word[index]];
  if (tier === "words") word = index;
  if (word !== null && word >= 0) sentence = words.sentence[word];
  if (tier === "sentences") sentence = index;
  if (sentence !== null && sentence >= sentences.length) sentence = null;
  return { tier, index, start: items.start[index], end: items.end[index], token, word, sentence };
}

function countLow(tier) {
  let count = 0;
  for (let i = 0; i < tier.length; i++) if (isLow(tier.confidence[i])) count++;
  return count;
}
