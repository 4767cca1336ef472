/* The page's address says which recording and where (#d=...&t=12.5), so that a link to it, and a reload, come back to
   the same place. #t=12.5 or ?t=12.5 alone is a time in whatever recording is shown next. */

function readAddress() {
  const hash = new URLSearchParams(location.hash.slice(1));
  const query = new URLSearchParams(location.search);
  const time = Number.parseFloat(hash.get("t") ?? query.get("t") ?? "");
  return { doc: hash.get("d") ?? query.get("d"), time: Number.isFinite(time) ? time : null };
}

/* The time that the address gives for this recording, or null. */
function timeInAddress(doc) {
  const address = readAddress();
  return address.doc === null || address.doc === doc ? address.time : null;
}

/* Write a place into the address, once the person has rested there. */
let addressTimer = 0;
function writeAddress(doc, time) {
  clearTimeout(addressTimer);
  addressTimer = setTimeout(() => history.replaceState(history.state, "", `#d=${doc}&t=${time.toFixed(3)}`), 300);
}

function clearAddress() {
  clearTimeout(addressTimer);
  history.replaceState(history.state, "", location.pathname + location.search);
}
