/* What the alignment view fetches as it moves: spectrogram tiles, and samples for a close view. Only the newest request
   of a kind counts; what is there already is painted meanwhile. */

const WAIT = 80; /* ms the view must rest */
const KEPT_TILES = 6;
const CLOSE_SECONDS = 8;
const TILE_COLUMNS = 1600;

function makeTiles(server, changed) {
  let tiles = [];
  let request = 0;
  let timer = 0;
  let wanted = "";

  function paint(answer) {
    const grey = new Uint8Array(fromBase64(answer.pixels));
    const picture = document.createElement("canvas");
    picture.width = answer.width;
    picture.height = answer.height;
    const g = picture.getContext("2d");
    const image = g.createImageData(answer.width, answer.height);
    const pixels = new Uint32Array(image.data.buffer);
    for (let i = 0; i < grey.length; i++) pixels[i] = theme.grey[grey[i]];
    g.putImageData(image, 0, 0);
    return picture;
  }

  async function fetchTile(doc, start, end, width, height, top) {
    const ticket = ++request;
    const answer = await server.spectrogram_tile([doc.doc, start, end, width, height, top]);
    if (ticket !== request || !answer) return;
    tiles.push({ answer, start: answer.start, end: answer.end, picture: paint(answer) });
    tiles = tiles.slice(-KEPT_TILES);
    changed();
  }

  /* Ask for the view's own tile when it has rested. */
  function want(doc, view, top) {
    const row = view.rows.spectrogram;
    if (!row || !doc.duration) return;
    const start = Math.max(0, view.a);
    const end = Math.min(doc.duration, view.b);
    const density = Math.min(2, window.devicePixelRatio || 1);
    const width = Math.round(clamp((end - start) * view.scale * density, 1, TILE_COLUMNS));
    const height = Math.round(row.h * density);
    const key = [doc.audio, start, end, width, height, top].join();
    if (key === wanted) return;
    wanted = key;
    clearTimeout(timer);
    timer = setTimeout(
      () => fetchTile(doc, start, end, width, height, top).catch(() => (wanted = "")),
      tiles.length ? WAIT : 0,
    );
  }

  function clear() {
    tiles = [];
    wanted = "";
    request++;
  }

  on("theme", () => tiles.forEach((tile) => (tile.picture = paint(tile.answer))));
  return { want, clear, list: () => tiles };
}

/* Samples around a close view, where the peaks would be seen as steps. */
function makeCloseUp(player, changed) {
  let held = null;
  let timer = 0;
  let request = 0;
  let wanted = "";

  function want(doc, view) {
    const span = view.b - view.a;
    const isCoarse = (doc.hop / doc.rate) * view.scale > 1.5;
    if (!isCoarse || span > CLOSE_SECONDS || !view.rows.waveform) return;
    if (held && held.from <= view.a && held.to >= Math.min(view.b, doc.duration)) return;
    const key = [doc.audio, view.a, view.b].join();
    if (key === wanted) return;
    wanted = key;
    clearTimeout(timer);
    timer = setTimeout(async () => {
      const ticket = ++request;
      const from = Math.max(0, view.a - span / 2);
      const to = Math.min(doc.duration, view.b + span / 2);
      const first = Math.floor(from * doc.rate);
      const samples = await player.samples(first, Math.min(doc.samples, Math.ceil(to * doc.rate))).catch(() => null);
      if (ticket !== request || !samples) return;
      held = { from, to, first, samples };
      changed();
    }, WAIT);
  }

  function clear() {
    held = null;
    wanted = "";
    request++;
    clearTimeout(timer);
  }

  return { want, clear, get: () => held };
}
