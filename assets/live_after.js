/* What can be done with a live recording after it has been stopped: hear, save, and look at it elsewhere.

   Server functions: live_save([session, format]), live_again(session), live_beside(doc). */

/* `take` answers the recording that is shown: {session, document, copy}. */
function makeLiveAfter({ root, server, formats, take }) {
  const player = new Audio();
  const listen = liveButton("Play", "play", () => (player.paused ? playSpan(0, Infinity) : player.pause()));
  const inspect = liveButton("Open in Transcribe", null, openInTranscribe);
  const toAnnotate = liveButton("Annotate", null, () => annotate("live", take().document));
  const saves = [];
  const choices = formatButtons([{ format: "wav", name: "WAV", more: false }, ...formats], ({ format, name }) => {
    const made = liveButton(name, null, () => save(format));
    made.dataset.format = format;
    saves.push(made);
    return made;
  });
  const note = h("p", { class: "ts-hint" });
  const beside = h("div", { class: "ts-live-beside" });
  const node = liveCard(
    "After you stop",
    h("div", { class: "ts-row ts-wrap" }, listen, inspect, toAnnotate),
    choices,
    note,
  );

  /* What is there: a document on the server (isKept), at least the page's own copy (isHere), any words (isHeard). */
  function allow({ isKept, isHere, isHeard }, reason) {
    for (const one of [listen, inspect, toAnnotate]) one.disabled = !isKept;
    const [wav, ...texts] = saves;
    wav.disabled = !isKept && !isHere;
    for (const one of texts) one.disabled = !isKept || !isHeard;
    note.textContent = isKept ? "" : reason;
  }

  function clear() {
    player.pause();
    player.removeAttribute("src");
    beside.replaceChildren();
  }

  /* An answer of the server; where it cannot be had, Gradio's client gives nothing or fails. */
  const ask = async (call, error) => (await call().catch(() => null)) ?? { error };

  async function saved(format) {
    const answer = await ask(() => server.live_save([take().session, format]), "The file could not be made.");
    note.textContent = answer.error ?? "";
    return answer.error ? null : answer;
  }

  async function save(format) {
    if (format === "wav" && !take().document) {
      const address = URL.createObjectURL(take().copy.wav());
      follow(address, "live.wav");
      return void setTimeout(() => URL.revokeObjectURL(address), 60000);
    }
    const made = await saved(format);
    if (made) follow(fileAddress(made.path), made.name);
  }

  function follow(href, name) {
    const link = h("a", { href, download: name, hidden: true });
    root.append(link);
    link.click();
    link.remove();
  }

  async function playSpan(from, to) {
    if (!take()?.document) return;
    if (!player.src) {
      const made = await saved("wav");
      if (!made) return;
      player.src = fileAddress(made.path);
    }
    player.currentTime = from;
    player.ontimeupdate = () => player.currentTime >= to && player.pause();
    await player.play().catch(() => {});
  }
  for (const event of ["play", "pause", "ended"])
    player.addEventListener(event, () =>
      listen.replaceChildren(icon(player.paused ? "play" : "pause"), player.paused ? "Play" : "Pause"),
    );

  /* The whole recording is heard again; what was heard live stands beside it, here and there. */
  async function openInTranscribe() {
    const mine = take();
    inspect.disabled = true;
    note.textContent = "Hearing all of it again…";
    let answer = null;
    do {
      answer = await ask(() => server.live_again(mine.session), "The server cannot be reached. Try again.");
      if (answer.share) note.textContent = `Hearing all of it again, ${Math.round(100 * answer.share)} %`;
    } while (!answer.error && !answer.document && mine === take());
    if (mine !== take()) return;
    inspect.disabled = false;
    note.textContent = answer.error ?? "";
    if (answer.error) return;
    const compared = await server.live_beside(answer.document).catch(() => null);
    if (compared) beside.replaceChildren(differenceCard(compared));
    openTab("Transcribe");
    location.hash = `#d=${answer.document}`;
  }

  return { node, beside, allow, clear, playSpan };
}

function openTab(name) {
  const found = [...document.querySelectorAll('button[role="tab"]')].find((tab) => tab.textContent.trim() === name);
  found?.click();
}
