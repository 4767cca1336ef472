"""Known texts get times; several decoders share one encoder pass."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import asr_core
from asr_core import Beam, Greedy, boundary_errors
from asr_core.aligning import pieces
from asr_core.alignment import Word
from tests.conftest import SAMPLES

CLIP = SAMPLES / "friday-meeting.flac"


@pytest.mark.parametrize("head", ["tdt", "ctc"])
def test_its_own_text_gets_nearly_its_own_times(head, demo):
    heard = demo.transcribe(CLIP, decoding=Greedy(head=head))
    aligned = demo.align(CLIP, heard.text, head=head)
    assert aligned.text == heard.text
    report = boundary_errors(heard, aligned)
    assert report.pairs == len(heard.words)
    assert report.median <= 0.08
    if head == "tdt":  # greedy CTC leaves blanks out of its score
        assert aligned.score >= heard.score - 1e-3
    assert all(0 <= token.confidence <= 1 for token in aligned.tokens)


def test_another_text_is_aligned_all_the_same(demo):
    text = "The meeting is on Monday, the sixth of December."
    aligned = demo.align(SAMPLES / "meeting-date.flac", text)
    assert aligned.text == text
    starts = [word.start for word in aligned.words]
    assert starts == sorted(starts)


def test_what_cannot_be_aligned_is_said(demo):
    with pytest.raises(asr_core.DecodingError, match="more than the 7 frames"):
        demo.align(np.zeros(8_000), "This text has far more tokens than half a second can hold.")
    assert "ü" in demo.align(CLIP, "The meeting is on Früday.").warnings[0]
    with pytest.raises(asr_core.DecodingError, match="no rnnt head"):
        demo.align(CLIP, "The meeting", head="rnnt")
    assert demo.align(CLIP, "").text == ""


def test_long_audio_is_cut_where_the_text_was_heard(demo):
    once = asr_core.read_audio(CLIP)
    text = demo.transcribe(once).text
    whole = " ".join([text] * 5)
    aligned = demo.align(np.tile(once, 5), whole)
    assert aligned.cuts
    assert aligned.text == whole
    period = len(once) / 16_000
    starts = [word.start for word in aligned.words if word.text == "Olivia"]
    assert np.diff(starts) == pytest.approx(period, abs=0.4)


def test_cuts_need_words_that_agree():
    def word(text: str, start: float) -> Word:
        return Word(text, start, start + 0.4, 0.9, ())

    heard = [word(w, n) for n, w in enumerate(["one", "two", "three", "four", "five", "six", "seven", "eight"])]
    cut = pieces("one two three four five six seven eight", heard, 8.0, length=3.0)
    assert " ".join(part.text for part in cut) == "one two three four five six seven eight"
    assert next(part.start for part in cut) == 0
    assert cut[-1].end == 8.0
    assert all(a.end == b.start for a, b in itertools.pairwise(cut))
    assert len(cut) >= 3
    assert len(pieces("nine ten", heard, 8.0, length=3.0)) == 1


def test_several_decoders_give_what_each_gives_alone(demo):
    decodings = [Greedy(), Beam(size=4), Greedy(head="ctc"), Beam(size=4, head="ctc")]
    for decoding, together in zip(decodings, demo.decode_all(CLIP, decodings), strict=True):
        assert together == demo.transcribe(CLIP, decoding=decoding)
        assert together.decoding == decoding
        assert together.timings["decoder"] > 0


def test_the_others_of_a_beam_are_transcripts_too(demo):
    transcript = demo.transcribe(CLIP, decoding=Beam(size=4))
    assert transcript.alternatives
    for other in transcript.alternatives:
        assert [token.id for token in other.tokens] != [token.id for token in transcript.tokens]
        assert other.words
        assert other.words[-1].end <= transcript.duration


def test_a_beam_of_long_audio_joins_its_best(demo):
    samples = np.tile(asr_core.read_audio(CLIP), 3)
    transcript = demo.transcribe(samples, decoding=Beam(size=3))
    assert transcript.cuts
    assert transcript.alternatives == ()
    assert transcript.text.count("Friday") == 3


def test_the_same_labels_twice_are_one_reading(demo):
    ids = [(1,), (2,), (1,), (3,)]
    found = [asr_core.Hypothesis(i, (0,), (n + 1,), -float(n), (0.5,)) for n, i in enumerate(ids)]
    transcript = demo.transcript(found, duration=1.0)
    assert [transcript.score, *(other.score for other in transcript.alternatives)] == [0.0, -1.0, -3.0]


def test_a_text_said_again_and_again_is_cut_where_it_was_said() -> None:
    once = ["one", "two", "three", "four", "five", "six", "seven", "eight"]
    said = once * 200
    heard = [Word(w if i % 11 else "so", i * 0.5, i * 0.5 + 0.4, 0.9, ()) for i, w in enumerate(said)]
    cut = pieces(" ".join(said), heard, len(said) * 0.5, length=30.0)
    assert max(part.end - part.start for part in cut) < 31
    start = 0
    for part in cut:
        assert abs(part.start - start * 0.5) < 0.6
        start += len(part.text.split())


def test_a_long_stretch_without_anchors_is_heard_in_windows(demo, monkeypatch) -> None:
    once = asr_core.read_audio(CLIP)
    long = np.concatenate([once, np.zeros(16_000, np.float32)] * 12)
    text = " ".join([demo.transcribe(once).text] * 12)
    monkeypatch.setattr("asr_core.aligning.AGREE", 10**6)
    aligned = demo.align(long, text)
    assert len(aligned.words) == len(text.split()) and len(aligned.cuts) == 0
    period, count = (len(once) + 16_000) / 16_000, len(aligned.words) // 12
    starts = np.array([word.start for word in aligned.words]).reshape(12, count) - period * np.arange(12)[:, None]
    assert np.abs(starts - np.median(starts, axis=0)).max() < 0.4


@pytest.mark.parametrize("head", ["ctc", "tdt"])
def test_what_could_not_be_cut_and_is_too_large_is_refused(demo, monkeypatch, head: str) -> None:
    monkeypatch.setattr("asr_core.decoding.forced.LARGEST", 1000)
    with pytest.raises(asr_core.DecodingError, match="too much to align in one piece"):
        demo.align(CLIP, "The meeting is on Friday.", head=head)
