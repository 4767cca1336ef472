/* A copy of the recording in the browser, for the case that the server's is lost (it was started anew). No events. */

const COPY_BLOCKS = 64; /* joined into a Blob, which the browser may put on disk */

function makeCopy(rate) {
  let blobs = [];
  let open = [];
  let samples = 0;

  function push(pcm) {
    open.push(pcm);
    samples += pcm.length;
    if (open.length < COPY_BLOCKS) return;
    blobs.push(new Blob(open));
    open = [];
  }

  /* The recording as a WAV file of 16-bit mono. */
  function wav() {
    const head = new DataView(new ArrayBuffer(44));
    const put = (at, text) => [...text].forEach((c, i) => head.setUint8(at + i, c.charCodeAt(0)));
    put(0, "RIFF");
    head.setUint32(4, 36 + 2 * samples, true);
    put(8, "WAVEfmt ");
    head.setUint32(16, 16, true);
    head.setUint16(20, 1, true);
    head.setUint16(22, 1, true);
    head.setUint32(24, rate, true);
    head.setUint32(28, 2 * rate, true);
    head.setUint16(32, 2, true);
    head.setUint16(34, 16, true);
    put(36, "data");
    head.setUint32(40, 2 * samples, true);
    return new Blob([head, ...blobs, ...open], { type: "audio/wav" });
  }

  return { push, wav, isEmpty: () => samples === 0 };
}
