/* What the buttons and keys of playing do, the same in every alignment view. No events, no server functions.
   Left on the element for tests: data-played "start:end:samples". */

/* `duration` and `toolbar` are asked for when they are needed: a view is built before it has either. */
function makePlaying({ player, element, say, duration, toolbar }) {
  function failed(error) {
    say(`No sound: ${error.message}`);
    return 0;
  }

  /* Play a span, to the sample. */
  async function play(start, end) {
    const samples = await player.playSpan(start, end).catch(failed);
    if (samples) element.dataset.played = `${start.toFixed(3)}:${end.toFixed(3)}:${samples}`;
  }

  /* Play from the playhead, or from the start if it stands at the end; or stop. */
  function toggle() {
    if (player.state.playing) return player.stop();
    const { time } = player.state;
    player.playFrom(time >= duration() - 0.01 ? 0 : time).catch(failed);
  }

  function setRate(rate) {
    player.setRate(rate);
    toolbar().rate.value = String(rate);
  }

  function stepRate(by) {
    setRate(RATES[clamp(RATES.indexOf(player.state.rate) + by, 0, RATES.length - 1)]);
    say(`Rate ${player.state.rate}×`);
  }

  function toggleLoop() {
    player.setLoop(!player.state.loop);
    toolbar().loop.setAttribute("aria-pressed", String(player.state.loop));
  }

  function showState() {
    toolbar().play.replaceChildren(icon(player.state.playing ? "pause" : "play"));
  }

  return { play, toggle, setRate, stepRate, toggleLoop, showState };
}
