/* What has been listened to: only that can be judged. It is about the sound, so it outlasts other words and limits. */

const HEARD_WITHIN = 0.02; /* seconds of a span that may be missing */
const EAR_SKIPS = 1.5; /* seconds between two looks at the player that are no jump */
const EAR_TELLS = 0.5;

/* A span has been listened to. */
function addHeard(start, end) {
  if (end <= start) return;
  const isApart = ([a, b]) => a > end + HEARD_WITHIN || b < start - HEARD_WITHIN;
  const met = [[start, end], ...lab.heard.filter((span) => !isApart(span))];
  lab.heard = [...lab.heard.filter(isApart), [Math.min(...met.map(([a]) => a)), Math.max(...met.map(([, b]) => b))]];
  emit("lab:heard");
}

function isHeard({ start, end }) {
  const last = Math.min(end, lab.document.duration);
  return last <= start || lab.heard.some(([a, b]) => a <= start + HEARD_WITHIN && b >= last - HEARD_WITHIN);
}

/* Follows a player's state: a span counts once it is over, long listening as it goes on. */
function makeEar(state) {
  let [from, to, told] = [0, 0, 0];

  function begin() {
    from = to = told = state.time;
  }

  function listen() {
    const { kind, start, end, time, playing } = state;
    if (kind === "span") {
      if (!playing) addHeard(start, time);
      else if (time < to) addHeard(start, end); /* a loop begins anew */
    } else {
      if (time < to || time > to + EAR_SKIPS) from = told = time;
      if (!playing || time > told + EAR_TELLS) addHeard(from, (told = time));
    }
    to = time;
  }

  return { begin, listen };
}
