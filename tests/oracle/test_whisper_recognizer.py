"""Whisper as a recogniser: live, long, cancelled, aligned, inspected, and what it refuses. Needs the weights."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import asr_core
from asr_core import Beam, Chunking, DecodingError, Greedy, Maes, StreamWindow, Whisper
from asr_core.calibration import reliability, words_correct
from tests.conftest import SAMPLES, whisper_clip
from tests.recalling import recalling

RATE = 16_000
#: What people say in the committed clips, as Whisper writes it.
SAID = {
    "librivox_austen_0870": "And Mr. John Dashwood had then leisure to consider how much there might be prudently in "
    "his power to do for them.",
    "librivox_austen_0880": "He was not an ill-disposed young man.",
    "cards_005": "Eight of spades, four of clubs, seven of hearts.",
    "ps_goforward": "Go forward 10 meters.",
    "librispeech_mlx": "Then the good soul openly shouldered the burden she had borne so long in secret, and bravely "
    "trudged on alone.",
}
PLAIN = asr_core.Normalization(ignore_case=True, ignore_punctuation=True)


@pytest.fixture(scope="module")
def whisper(whisper):
    """With a memory: what several tests ask of the network is computed once."""
    return recalling(whisper)


@pytest.fixture(scope="module")
def offline(whisper) -> dict[str, asr_core.Transcript]:
    return {clip: whisper.transcribe(whisper_clip(clip)) for clip in SAID}


def streamed(recognizer, samples: np.ndarray, packet: float, every: float = 1.0) -> asr_core.Transcript:
    final: tuple[asr_core.Word, ...] = ()
    settled = 0.0
    with recognizer.stream(window=StreamWindow(chunk=every)) as stream:
        for first in range(0, len(samples), int(packet * RATE)):
            update = stream.feed(samples[first : first + int(packet * RATE)])
            # Final words stay; what is new does not begin before what was there.
            assert [word.text.strip(".,") for word in update.final.words[: len(final)]] == [
                word.text.strip(".,") for word in final
            ]
            news = (*update.final.words[len(final) :], *update.draft.words)
            assert all(word.start >= settled - 1e-6 for word in news)
            assert settled <= update.settled <= update.seconds
            final, settled = update.final.words, update.settled
        return stream.finish()


def test_live_texts_do_not_depend_on_packets_and_are_near_the_offline_ones(whisper, offline) -> None:
    live = {}
    for i, clip in enumerate(SAID):
        samples = whisper_clip(clip)
        # Each clip in two of three sizes, so that each size is compared with each; 0.7 s seldom meets a step.
        sizes = [(0.1, 0.7, 1.0)[(i + j) % 3] for j in range(2)]
        found = [streamed(whisper, samples, packet) for packet in sizes]
        assert found[0].words == found[1].words and found[0].text, clip
        assert all(0 <= word.start <= word.end <= found[0].duration for word in found[0].words)
        live[clip] = found[0]
    assert pooled_rate(live) <= pooled_rate(offline) + 0.05


def pooled_rate(found: dict[str, asr_core.Transcript]) -> float:
    """Errors of all clips by words of all clips."""
    rates = [asr_core.word_error_rate(SAID[clip], one.text, normalization=PLAIN) for clip, one in found.items()]
    return sum(one.substitutions + one.insertions + one.deletions for one in rates) / sum(one.words for one in rates)


def test_confidence_tells_right_words_from_wrong_ones(offline) -> None:
    pairs = [words_correct(offline[clip], text) for clip, text in SAID.items()]
    sure = np.array([value for values, _ in pairs for value in values])
    right = np.array([one for _, correct in pairs for one in correct])
    assert right.size == 62 and (~right).sum() == 5
    found = reliability(sure, right)
    assert found.auc > 0.9 and found.ece < 0.15
    # Below 0.6 the page asks a person to check: most of what is wrong, and little of what is right.
    assert (sure[right] < 0.6).mean() < 0.1 and (sure[~right] < 0.6).mean() > 0.5


@pytest.mark.parametrize("count", [0, 1, 159, 400, 16_000])
def test_short_streams(whisper, count: int) -> None:
    samples = whisper_clip("cards_005")[:count]
    with whisper.stream() as stream:
        stream.feed(samples)
        made = stream.finish()
    assert made.duration == pytest.approx(count / RATE) and all(word.end <= made.duration for word in made.words)
    with pytest.raises(DecodingError, match="ended"):
        stream.feed(samples)


def test_windows_move_by_timestamps_and_a_stopped_work_goes_on(whisper) -> None:
    clips = whisper_clip("librivox_austen_0870"), asr_core.read_audio(SAMPLES / "friday-meeting.flac")
    samples = np.concatenate([*clips, whisper_clip("librispeech_mlx")])
    stop, seen, read = threading.Event(), [], []

    def report(progress: asr_core.Progress) -> None:
        seen.append(progress.done)
        read.append(progress.partial().text)
        if progress.done > 10:
            stop.set()

    with pytest.raises(asr_core.Cancelled) as cancelled:
        whisper.transcribe(samples, on_progress=report, cancel=stop)
    partial = cancelled.value.partial
    assert read[0] == "" and read[-1] == partial.text
    assert partial.text.startswith("And Mr. John Dashwood") and partial.duration == len(samples) / RATE
    whole = whisper.transcribe(samples, resume=cancelled.value)
    assert whole.text.startswith(partial.text) and whole.text.endswith("trudged on alone.")
    assert len(whole.cuts) >= 1 and whole.cuts[0] > 15
    starts = [token.start for token in whole.tokens]
    assert starts == sorted(starts) and whole.tokens[-1].end <= whole.duration
    assert seen == sorted(seen)


def test_nothing_is_heard_in_nothing(whisper) -> None:
    for samples in (np.zeros(0), np.zeros(100), np.zeros(5 * RATE)):
        made = whisper.transcribe(samples.astype(np.float32))
        assert made.text == "" and made.words == () and made.duration == len(samples) / RATE


def test_one_encoding_serves_several_decoders_and_a_beam_lists_its_readings(whisper) -> None:
    plain = Whisper(timestamps=False)
    samples = whisper_clip("librivox_austen_0880")
    greedy, beam = whisper.decode_all(samples, [Greedy(whisper=plain), Beam(size=5, whisper=plain)])
    assert greedy.text == "He was not an old-sposed young man."
    assert beam.text == "He was not an ill-disposed young man." and len(beam.alternatives) == 4
    assert all(one.words and one.words[-1].end <= beam.duration for one in beam.alternatives)
    assert greedy.timings["encoder"] == beam.timings["encoder"] and greedy.decoding == Greedy(whisper=plain)


def test_draws_have_a_seed_of_their_own(whisper) -> None:
    encoded = whisper.encode(*whisper.features([whisper_clip("librivox_austen_0880")]))
    drawn = [
        whisper.decode(*encoded, Greedy(temperature=0.5, whisper=Whisper(seed=seed, best_of=2, timestamps=False)))[0]
        for seed in (1, 1)
    ]
    assert len(drawn[0]) == 2 and [one.token_ids for one in drawn[0]] == [one.token_ids for one in drawn[1]]


def test_a_known_text_is_aligned_and_looked_into(whisper) -> None:
    samples = whisper_clip("librivox_austen_0880")
    made = whisper.align(samples, "He was not an ill disposed young man.")
    assert [word.text for word in made.words][:3] == ["He", "was", "not"] and made.score < 0
    assert abs(made.words[-1].end - 2.7) < 0.2 and abs(made.words[1].start - 0.44) < 0.1
    seen = whisper.inspect(samples, made, 0.5, 1.5)
    assert seen.first == 25 and seen.weights.shape == (len(seen.token_ids), 50)
    assert np.isfinite(seen.weights).all() and seen.weights.min() >= 0 and seen.weights.sum(-1).max() <= 1.0001
    # Tokens look near where they are said.
    inside = [i for i, frame in enumerate(seen.start_frames) if 30 <= frame < 65]
    assert all(abs(seen.first + seen.weights[i].argmax() - seen.start_frames[i]) < 20 for i in inside) and inside
    with pytest.raises(DecodingError, match="room for"):
        whisper.align(samples, "word " * 500)


@pytest.mark.parametrize(
    ("decoding", "said"),
    [
        (Maes(), "MAES decodes RNN-T"),
        (Greedy(head="ctc"), "no ctc head"),
        (Greedy(max_symbols=3), "max_symbols does not apply"),
        (Beam(duration_weight=0.5), "duration_weight does not apply"),
        (Greedy(fusion=asr_core.Fusion()), "fusion does not apply"),
        (Greedy(whisper=Whisper(language="de")), "does not know the language 'de'; it knows en"),
        (Greedy(whisper=Whisper(task="translate")), "cannot translate"),
    ],
)
def test_what_does_not_apply_is_refused_in_one_sentence(whisper, decoding, said: str) -> None:
    with pytest.raises(DecodingError, match=said) as error:
        whisper.transcribe(np.zeros(100), decoding=decoding)
    assert str(error.value).count(". ") <= 1


def test_other_refusals(whisper) -> None:
    with pytest.raises(DecodingError, match="chunking does not apply"):
        whisper.transcribe(np.zeros(100), chunking=Chunking(length=10))
    with pytest.raises(DecodingError, match="no ctc head"):
        whisper.ctc_log_probs(np.zeros((1, 1500, 384)))
    with pytest.raises(DecodingError, match="lookahead does not apply"):
        whisper.stream(lookahead=2)
    with pytest.raises(asr_core.AudioError, match="30 s"):
        whisper.features([np.zeros(31 * RATE, np.float32)])
