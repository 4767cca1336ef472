"""Word error rate and boundary errors; jiwer is the oracle."""

import math

import jiwer
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asr_core.alignment import Transcript, Word
from asr_core.metrics import boundary_errors, matched_words, word_error_rate

TEXTS = st.lists(st.sampled_from(["a", "b", "c", "d", "e"]), max_size=12).map(" ".join)


def said(*words: tuple[str, float, float]) -> Transcript:
    return Transcript(words=tuple(Word(text, start, end, 1.0, ()) for text, start, end in words))


def test_counts_and_alignment_of_a_small_example():
    found = word_error_rate("the cat sat on the mat", "the cat sit on mat now")
    assert (found.substitutions, found.deletions, found.insertions, found.words) == (1, 1, 1, 6)
    assert found.rate == 0.5
    steps = [(pair.operation, pair.reference, pair.hypothesis) for pair in found.alignment]
    assert steps[2:] == [
        ("substitute", "sat", "sit"),
        ("equal", "on", "on"),
        ("delete", "the", None),
        ("equal", "mat", "mat"),
        ("insert", None, "now"),
    ]


@given(TEXTS.filter(bool), TEXTS)
def test_equals_jiwer(reference, hypothesis):
    found, expected = word_error_rate(reference, hypothesis), jiwer.process_words(reference, hypothesis)
    assert found.rate == pytest.approx(expected.wer)
    errors = expected.substitutions + expected.insertions + expected.deletions
    assert found.substitutions + found.insertions + found.deletions == errors


@given(TEXTS, TEXTS)
def test_the_alignment_spells_both_sides(reference, hypothesis):
    found = word_error_rate(reference, hypothesis)
    assert [p.reference for p in found.alignment if p.reference is not None] == reference.split()
    assert [p.hypothesis for p in found.alignment if p.hypothesis is not None] == hypothesis.split()
    for pair in found.alignment:
        assert (pair.operation == "equal") == (pair.reference == pair.hypothesis)


def test_an_empty_reference():
    assert word_error_rate("", "").rate == 0
    assert word_error_rate("", "a b").rate == 2
    assert word_error_rate("a b", "").rate == 1


def test_boundaries_of_the_words_in_both():
    reference = said(("a", 0.0, 0.5), ("b", 0.5, 1.0), ("c", 1.0, 1.5))
    hypothesis = said(("a", 0.0, 0.48), ("x", 0.5, 1.0), ("c", 1.08, 1.7))
    report = boundary_errors(reference, hypothesis)
    assert [a.text for a, _ in matched_words(reference, hypothesis)] == ["a", "c"]
    assert report.pairs == 2
    assert report.mean == pytest.approx((0 + 0.02 + 0.08 + 0.2) / 4)
    assert report.median == pytest.approx(0.05)
    assert (report.within_20ms, report.within_50ms, report.within_80ms) == (0.5, 0.5, 0.75)


def test_boundaries_without_a_word_in_common():
    report = boundary_errors(said(("a", 0, 1)), said())
    assert report.pairs == 0 and math.isnan(report.mean) and math.isnan(report.within_20ms)


def test_thousands_of_words_take_seconds():
    words = [str(i % 97) for i in range(5000)]
    found = word_error_rate(" ".join(words), " ".join([*words[:2000], "new", *words[2001:4000], *words[4003:]]))
    assert (found.substitutions, found.deletions) == (1, 3)
