"""Cutting long audio and joining the pieces."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import asr_core
from asr_core import Chunking, Hypothesis
from asr_core.longform import Window, join, windows
from asr_core.text import Vocabulary
from tests.conftest import SAMPLES

RATE, GRID = 16_000, 1280
LETTERS = Vocabulary(("<unk>", "▁one", "▁two", "▁three", "▁tree", "▁no", "▁x", "▁y", "▁z", "▁a", "▁b", "s"))


def speech_like(seconds: float, pauses: list[tuple[float, float]]) -> np.ndarray:
    samples = np.random.default_rng(0).normal(size=int(seconds * RATE)).astype(np.float32) * 0.1
    for start, end in pauses:
        samples[int(start * RATE) : int(end * RATE)] *= 1e-4
    return samples


def check_cover(cut: list[Window], total: int) -> None:
    assert cut[0].first == cut[0].start == 0
    assert cut[-1].last == cut[-1].end == total
    for before, after in itertools.pairwise(cut):
        assert before.last == after.first
        assert after.start % GRID == 0
        assert after.first % GRID == 0


@pytest.mark.parametrize("at_silence", [True, False])
@pytest.mark.parametrize("overlap", [None, 0, 2.0])
@pytest.mark.parametrize("extra", [0, 1, 200, 1280])
def test_windows_cover_everything_once(at_silence, overlap, extra):
    samples = speech_like(61, [(17, 17.5), (41.2, 41.4)])
    samples = np.concatenate([samples, samples[:extra]])
    cut = windows(samples, RATE, Chunking(length=20, overlap=overlap, at_silence=at_silence), GRID)
    check_cover(cut, len(samples))
    assert all(window.last - window.first <= 20 * RATE for window in cut)


def test_cuts_go_into_pauses_and_then_need_no_overlap():
    samples = speech_like(50, [(16, 17), (33, 34)])
    cut = windows(samples, RATE, Chunking(length=20), GRID)
    assert [round(window.first / RATE, 1) for window in cut[1:]] == [16.5, 33.4]
    assert all(window.start == window.first and window.end == window.last for window in cut)


def test_without_a_pause_windows_overlap():
    cut = windows(speech_like(50, []), RATE, Chunking(length=20), GRID)
    assert all(after.start < before.end for before, after in itertools.pairwise(cut))


def heard(*words: tuple[str, float, float], confidence: float = 0.9) -> Hypothesis:
    """Words with start and length in seconds, as a decoder would give them."""
    ids = tuple(LETTERS.pieces.index("▁" + word) for word, _, _ in words)
    starts = tuple(round(start / 0.08) for _, start, _ in words)
    ends = tuple(round((start + length) / 0.08) for _, start, length in words)
    return Hypothesis(ids, starts, ends, -1.0, (confidence,) * len(words), (-0.1,) * len(words))


def joined(left: Hypothesis, right: Hypothesis, cut: float, overlap: float, end: float) -> list[tuple[str, float]]:
    def at(seconds: float) -> int:
        return round(seconds / 0.08) * GRID

    spans = [Window(0, at(cut + overlap / 2), 0, at(cut)), Window(at(cut - overlap / 2), at(end), at(cut), at(end))]
    whole = join([left, right], spans, LETTERS, GRID, RATE)
    return [(LETTERS.pieces[i][1:], t * 0.08) for i, t in zip(whole.token_ids, whole.start_frames, strict=True)]


def words_of(result: list[tuple[str, float]]) -> list[str]:
    starts = [t for _, t in result]
    assert starts == sorted(starts)
    return [word for word, _ in result]


def test_words_that_both_heard_are_kept_once():
    left = heard(("one", 0, 0.4), ("two", 1, 0.4), ("three", 2, 0.4))
    right = heard(("two", 0.04, 0.4), ("three", 1.04, 0.4), ("x", 2.0, 0.4))  # counted from 0.96 s
    assert words_of(joined(left, right, 1.92, 1.92, 5)) == ["one", "two", "three", "x"]


def test_one_span_read_in_two_ways_is_kept_once():
    left = heard(("one", 0, 0.4), ("two", 1, 0.4), ("three", 1.84, 0.3), confidence=0.9)
    right = heard(("tree", 0.9, 0.3), ("x", 2.0, 0.4), confidence=0.5)
    found = words_of(joined(left, right, 1.92, 1.92, 5))
    assert found in (["one", "two", "three", "x"], ["one", "two", "tree", "x"])


def test_a_word_that_each_window_places_on_the_other_side_is_kept():
    left = heard(("one", 0, 0.4), ("three", 1.76, 0.4))  # middle behind the cut
    right = heard(("tree", 0.72, 0.4), ("x", 2.0, 0.4))  # counted from 0.96 s: middle before it
    assert len(words_of(joined(left, right, 1.92, 1.92, 5))) == 3


def test_words_that_straddle_the_middle_are_not_lost():
    left = heard(("a", 0, 0.4), ("b", 8, 0.4), ("x", 9.2, 1.0))
    right = heard(("y", 0.3, 0.5), ("z", 2.0, 0.4))  # counted from 8.96 s: y 9.3-9.8, z 11.0
    found = words_of(joined(left, right, 9.92, 1.92, 14))
    assert found[:2] == ["a", "b"]
    assert found[-1] == "z"
    assert "x" in found


@pytest.mark.parametrize("spacing", [0.4, 0.56, 1.04])
def test_repeated_words_are_counted_right(spacing):
    times = np.arange(0, 12, spacing)
    left = heard(*(("no", t, 0.2) for t in times if t + 0.2 <= 8))
    right = heard(*(("no", t - 4, 0.2) for t in times if t >= 4))
    assert len(joined(left, right, 6, 4, 12)) == len(times)


def test_a_silent_piece_changes_nothing():
    assert words_of(joined(heard(("one", 0, 0.4)), heard(), 4, 2, 8)) == ["one"]
    assert words_of(joined(heard(), heard(("one", 2, 0.4)), 4, 2, 8)) == ["one"]


def test_long_audio_says_each_sentence_once(demo):
    names = ("platform-nineteen", "meeting-date", "sandwich")
    clips = [asr_core.read_audio(SAMPLES / f"{name}.flac") for name in names]
    pause = np.zeros(int(0.7 * RATE), np.float32)
    once = np.concatenate([part for clip in clips for part in (clip, pause)])
    transcript = demo.transcribe(np.tile(once, 8))
    assert transcript.cuts
    assert transcript.duration == pytest.approx(8 * len(once) / RATE)
    # What the model hears right in each repetition; it errs elsewhere, and not each time alike.
    meeting = "The meeting is on Monday, the seventh of September, two thousand and nine, at a quarter past nine."
    for part in ("The train to New York", "at half past seven from platform", meeting):
        assert transcript.text.count(part) == 8, part
    assert [sentence.text.split()[0] for sentence in transcript.sentences] == ["The", "The", "Why"] * 8
