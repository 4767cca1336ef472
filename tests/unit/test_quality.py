"""What reviewing showed, and new times for changed words."""

from __future__ import annotations

import math

import numpy as np
import pytest

import asr_core
from asr_core.annotation import Document, DocumentError, edits
from asr_core.annotation.entries import LogEntry
from asr_core.annotation.quality import Reviewed, report, worth_reviewing
from asr_core.annotation.realignment import propose
from tests.conftest import SAMPLES
from tests.unit.test_edits import document

CLIP = SAMPLES / "friday-meeting.flac"


def test_the_report_of_a_reviewed_document() -> None:
    machine = document()
    corrected = edits.move_boundary(edits.set_text(machine, 1, "party"), 5, "start", 2.6)
    log = [
        LogEntry(i + 1, kind, "x", at, "") for i, (kind, at) in enumerate([("edit", 0), ("undo", 30), ("edit", 500)])
    ]
    found = report([Reviewed(machine, corrected, log)])
    assert (found.words, found.words_changed, found.edits) == (6, 1, 2)
    assert found.word_error_rate == pytest.approx(1 / 6)
    assert found.minutes == pytest.approx(2.5) and found.edits_per_minute == pytest.approx(0.8)
    assert found.boundaries.pairs == 5 and found.boundaries.mean == pytest.approx(0.02)
    assert found.calibration.count == 6 and found.calibration.ece == pytest.approx(abs(0.9 - 5 / 6))
    both = report([Reviewed(machine, corrected, log), Reviewed(machine, machine)])
    assert (both.words, both.words_changed) == (12, 1)
    nothing = report([])
    assert nothing.words == 0 and math.isnan(nothing.edits_per_minute) and nothing.threshold is None


def test_the_threshold_that_finds_nine_of_ten_wrong_words() -> None:
    sure = [*np.linspace(0.05, 0.5, 10), *np.linspace(0.3, 1, 90)]
    right = [False] * 10 + [True] * 90
    threshold, share = worth_reviewing(sure, right)
    assert 0.45 < threshold < 0.46
    assert share == pytest.approx(sum(s < threshold for s in sure) / 100)


def test_changed_words_get_the_times_that_the_sound_has(demo) -> None:
    samples = asr_core.read_audio(CLIP)
    heard = demo.transcribe(samples)
    good = Document.from_transcript(heard)
    words = good.first("words").segments
    # A word that touches the one before it, typed anew by a person, has times by its letters only.
    place = next(i for i in range(2, len(words)) if words[i - 1].end == words[i].start)
    word = words[place]
    wrong = edits.set_text(good, word.id, "x")
    wrong = edits.move_boundary(wrong, word.id, "start", word.start + 0.6 * (word.end - word.start))
    typed = edits.set_text(wrong, word.id, word.text)
    found = propose(demo, samples, typed, [word.id])
    times = {id: (start, end) for id, start, end in found.times}
    start, end = times[word.id]
    assert found.largest > 0.05
    assert abs(start - word.start) <= 0.1 and abs(end - word.end) <= 0.17
    made = edits.retime(typed, found.times)
    assert made.segment(word.id).start == start
    # The word before touched it, and still does.
    assert made.first("words").segments[place - 1].end == start
    with pytest.raises(DocumentError, match="None of these words"):
        propose(demo, samples, good, [10**6])
    odd = edits.set_text(good, word.id, "日本")
    with pytest.raises(asr_core.DecodingError, match="cannot"):
        propose(demo, samples, odd, [word.id])
