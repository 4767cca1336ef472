/* Painting an alignment view once a frame at most, however often it is asked for.

   The base (signals and tiers) is painted when it is stale; the playhead and the selection have a canvas of their own,
   which is cheap. */

/* `paint` gets a function that says whether the base is stale, and takes that as an order to paint it: it is asked only
   where there is something to paint on. Returns redraw(isBase = true). */
function makeRedraw(paint) {
  let isBaseStale = true;
  let isFrameAsked = false;

  function takeBase() {
    const wasStale = isBaseStale;
    isBaseStale = false;
    return wasStale;
  }

  return (isBase = true) => {
    isBaseStale ||= isBase !== false;
    if (isFrameAsked) return;
    isFrameAsked = true;
    requestAnimationFrame(() => {
      isFrameAsked = false;
      paint(takeBase);
    });
  };
}
