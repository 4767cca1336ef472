/* The inside view of a Whisper model: a line for each token in view, dark where its prediction looked at the audio.

   A span here is what `packed_attention` in components/inside.py makes, read by `readAttention`; inside_tiles.js fetches
   it, inside_view.js has the switch. */

INSIDE_KINDS.whisper = ["attention"];
INSIDE_ROWS.attention = {
  name: "",
  height: (count) => clamp(count * TEXT_PITCH, 96, 288),
  draw: drawAttention,
};

function readAttention(answer) {
  return { ...answer, weights: new Uint8Array(fromBase64(answer.weights)) };
}

/* [id, seconds, span, row] of the tokens said in view, in order of time. */
function attendingTokens(view, tiles) {
  return tiles
    .between(view.a, view.b)
    .flatMap(({ number, span }) =>
      (span?.tokens ?? []).map(([id, time], row) => ({ id, time, span, row, isOwn: Math.floor(time / INSIDE_SPAN) === number })),
    )
    .filter(({ time, isOwn }) => isOwn && time >= view.a && time < view.b);
}

function drawAttention(g, view, row, tiles) {
  const tokens = attendingTokens(view, tiles);
  if (!tokens.length) return;
  const pitch = row.h / tokens.length;
  g.imageSmoothingEnabled = false;
  tokens.forEach(({ span, row: line, time }, i) => {
    const from = clamp(Math.floor(view.a / span.frame_seconds) - span.first, 0, span.frames);
    const to = clamp(Math.ceil(view.b / span.frame_seconds) - span.first, 0, span.frames);
    if (to <= from) return;
    const left = toX(view, (span.first + from) * span.frame_seconds);
    const right = toX(view, (span.first + to) * span.frame_seconds);
    const y = row.y + i * pitch;
    g.drawImage(pictureOfAttention(span, line, from, to), left, y, right - left, pitch);
    g.fillStyle = theme.ink;
    g.fillRect(toX(view, time), y, 1.5, pitch); /* where the token was said */
  });
  const ids = tokens.map((_, i) => i);
  const texts = new Map(tokens.map(({ id, span }, i) => [i, span.texts[id] ?? ""]));
  drawHeardTexts(g, view, row, ids, texts, pitch);
}

function pictureOfAttention(span, line, from, to) {
  const picture = document.createElement("canvas");
  picture.width = to - from;
  picture.height = 1;
  const g = picture.getContext("2d");
  const image = g.createImageData(picture.width, 1);
  const pixels = new Uint32Array(image.data.buffer);
  for (let i = from; i < to; i++) pixels[i - from] = theme.grey[span.weights[line * span.frames + i]];
  g.putImageData(image, 0, 0);
  return picture;
}

/* What each token in view gives to a frame, the most first: for the card. */
function attentionFacts({ span, i, start }) {
  const given = span.tokens
    .map(([id], line) => ({ text: span.texts[id] ?? `id ${id}`, share: span.weights[line * span.frames + i] / 255 }))
    .sort((a, b) => b.share - a.share)
    .slice(0, 5);
  return { time: seconds(start), number: span.first + i, given };
}
