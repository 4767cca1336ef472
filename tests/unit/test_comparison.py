"""Differences between transcripts: what is paired, what is listed, and what the numbers say."""

from __future__ import annotations

import itertools
import random

import jiwer
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asr_core.alignment import Transcript, Word
from asr_core.calibration import reliability, words_correct
from asr_core.comparison import compare
from asr_core.judging import NEITHER, reviewed, sign_test, tally
from asr_core.metrics import align_words, character_error_rate, edit_distance, milliseconds_apart, word_error_rate
from asr_core.moments import worst_moments
from asr_core.normalization import Normalization

LOOSE = Normalization(ignore_case=True, ignore_punctuation=True)


def said(*words: tuple[str, float, float] | tuple[str, float, float, float]) -> Transcript:
    made = tuple(Word(text, start, end, *(rest or [0.9]), ()) for text, start, end, *rest in words)
    return Transcript(text=" ".join(w.text for w in made), words=made, duration=max((w.end for w in made), default=0.0))


def spoken(text: str, step: float = 0.4) -> Transcript:
    return said(*((word, i * step, (i + 1) * step) for i, word in enumerate(text.split())))


def test_what_the_picture_shows() -> None:
    a = said(("on", 0, 0.2), ("twelfth,", 0.3, 0.8), ("at", 1.0, 1.2), ("seven", 1.2, 1.6), ("morning.", 2.0, 2.4))
    b = said(
        *(("on", 0, 0.2), ("twentieth,", 0.3, 0.8), ("at", 1.0, 1.2), ("seven", 1.2, 1.6), ("morning.", 2.0, 2.56)),
        ("Please", 3.0, 3.4),
    )
    found = compare([a, b])
    assert [(d.kind, d.readings, d.edge) for d in found.differences] == [
        ("substitution", (1, 1), None),
        ("boundary", (4, 4), "end"),
        ("insertion", (None, 5), None),
    ]
    assert found.differences[1].shift == pytest.approx(0.16)
    assert found.differences[1].at == pytest.approx(2.56)
    [summary] = found.summaries
    assert (summary.words, summary.words_differ) == (5, 2)
    assert summary.word_error_rate == pytest.approx(0.4)
    assert summary.mean_shift == pytest.approx(0.16 / 8)


def test_of_equal_words_the_one_that_was_said_then_is_missing() -> None:
    three = said(("no", 0, 0.2), ("no", 1, 1.2), ("no", 2, 2.2))
    two = said(("no", 0, 0.2), ("no", 2, 2.2))
    assert [d.readings for d in compare([three, two]).differences] == [(1, None)]
    assert [d.readings for d in compare([two, three]).differences] == [(None, 1)]
    late = said(("no", 1, 1.2), ("no", 2, 2.2))
    assert [d.readings for d in compare([three, late]).differences] == [(0, None)]


def test_a_boundary_that_two_words_share_is_listed_once() -> None:
    a = said(("one", 0, 1), ("two", 1, 2))
    b = said(("one", 0, 1.2), ("two", 1.2, 2))
    found = compare([a, b]).differences
    assert [(d.kind, d.readings, d.edge) for d in found] == [("boundary", (0, 0), "end")]
    apart = said(("one", 0, 0.8), ("two", 1.2, 2))
    assert len(compare([a, apart]).differences) == 2
    assert compare([a, b], moved=0.3).differences == ()


def test_three_columns() -> None:
    a, b, c = spoken("the cat sat"), spoken("the hat sat"), spoken("the cat sat down")
    found = compare([a, b, c]).differences
    assert [(d.kind, d.readings) for d in found] == [("substitution", (1, 1, 1)), ("insertion", (None, None, 3))]


def test_what_counts_as_the_same_word() -> None:
    a, b = spoken("Hello, it's fifty-four"), spoken("hello it’s fifty-four.")
    assert len(compare([a, b]).differences) == 3
    assert [d.readings for d in compare([a, b], normalization=LOOSE).differences] == [(1, 1)]
    assert LOOSE.text("“Well” - it's 5 p.m.") == "well it's 5 pm"


def test_nothing_to_compare() -> None:
    nothing = Transcript()
    assert compare([nothing, nothing]).differences == ()
    assert compare([nothing, spoken("a b")]).summaries[0].word_error_rate == 2
    assert np.isnan(compare([nothing, spoken("a")]).summaries[0].mean_shift)


def test_the_cost_of_the_alignment_is_jiwers_on_200_random_pairs() -> None:
    pick = random.Random(5)
    for _ in range(200):
        words = ["".join(pick.choices("ab", k=pick.randint(1, 2))) for _ in range(pick.randint(1, 30))]
        other = [w for w in words if pick.random() > 0.2] + ["x"] * pick.randint(0, 3)
        pick.shuffle(other) if pick.random() < 0.3 else None
        a = said(*((w, i + pick.random(), i + 1.5) for i, w in enumerate(words)))
        b = said(*((w, i + pick.random(), i + 1.5) for i, w in enumerate(other)))
        theirs = jiwer.process_words(" ".join(words), " ".join(other) or " ")
        [summary] = compare([a, b]).summaries
        assert summary.words_differ == theirs.substitutions + theirs.deletions + theirs.insertions
        assert summary.word_error_rate == pytest.approx(theirs.wer)
        assert word_error_rate(a, b).rate == pytest.approx(theirs.wer)


texts = st.text(alphabet="ab ü😀", max_size=40)


@given(texts, texts)
@settings(max_examples=200, deadline=None)
def test_characters_cost_what_jiwer_says(a: str, b: str) -> None:
    a, b = " ".join(a.split()), " ".join(b.split())
    if a:
        assert character_error_rate(a, b) == pytest.approx(jiwer.cer(a, b))
    assert edit_distance(a, b) == edit_distance(b, a)


@given(st.lists(st.sampled_from("abc"), max_size=30), st.lists(st.sampled_from("abc"), max_size=30), st.booleans())
@settings(max_examples=100, deadline=None)
def test_long_sequences_are_halved_and_cost_the_same(a: list[str], b: list[str], timed: bool) -> None:
    ours, theirs = (spoken(" ".join(words)).words for words in (a, b))
    apart = milliseconds_apart(ours, theirs) if timed else None
    whole = align_words(a, b, apart)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("asr_core.metrics.CELLS", 20)
        halved = align_words(a, b, apart)

    def cost(pairs):
        both = [(i, j) for i, j in pairs if i is not None and j is not None]
        equal = [(i, j) for i, j in both if a[i] == b[j]]
        return len(pairs) - len(equal), -len(equal), sum(apart(i)[j] for i, j in both) if apart else 0

    assert cost(halved) == cost(whole)


@given(st.lists(st.sampled_from("abc"), max_size=12), st.lists(st.sampled_from("abc"), max_size=12), st.integers(0, 99))
@settings(max_examples=100, deadline=None)
def test_times_choose_only_between_equal_edits(a: list[str], b: list[str], seed: int) -> None:
    pick = random.Random(seed)
    ours, theirs = (said(*((w, t := pick.random() * 9, t + 0.1) for w in words)).words for words in (a, b))
    plain, timed = align_words(a, b), align_words(a, b, milliseconds_apart(ours, theirs))

    def cost(pairs):
        equal = sum(i is not None and j is not None and a[i] == b[j] for i, j in pairs)
        return len(pairs) - equal, -equal

    assert cost(plain) == cost(timed)
    assert [i for i, _ in timed if i is not None] == list(range(len(a)))
    assert [j for _, j in timed if j is not None] == list(range(len(b)))


def test_picks_make_a_reviewed_transcript() -> None:
    a, b = spoken("the cat sat on mats"), spoken("the hat sat mats please")
    found = compare([a, b])
    kinds = [d.kind for d in found.differences]
    assert kinds == ["substitution", "deletion", "boundary", "boundary", "insertion"] or "insertion" in kinds
    picks = {i: 1 for i, d in enumerate(found.differences) if d.kind != "boundary"}
    assert reviewed(found, picks).text == b.text
    assert reviewed(found, dict.fromkeys(picks, 0)).text == a.text
    assert reviewed(found, {}).text == a.text
    neither = reviewed(found, {0: NEITHER})
    assert neither.text == a.text and neither.words[1].confidence == 0
    times = [(w.start, w.end) for w in reviewed(found, picks).words]
    assert all(s <= e for s, e in times) and all(x[1] <= y[0] for x, y in itertools.pairwise(times))


def test_a_lead_of_a_few_picks_proves_nothing() -> None:
    assert sign_test(0, 0) == 1 and sign_test(1, 1) == 1
    assert sign_test(5, 0) == pytest.approx(0.0625)
    assert sign_test(6, 0) == pytest.approx(0.03125)
    count = tally({0: 1, 1: 1, 2: 0, 3: NEITHER}, columns=2, differences=6)
    assert (count.right, count.neither, count.left, count.leader, count.decided) == ((1, 2), 1, 2, 1, False)
    assert tally(dict.fromkeys(range(6), 0), 2, 6).decided


def test_a_reliability_curve() -> None:
    curve = reliability([0.95, 0.95, 0.15, 0.15, 1.0], [True, True, False, True, True])
    assert [(b.count, round(b.accuracy, 2)) for b in curve.bins] == [(2, 0.5), (3, 1.0)]
    assert curve.ece == pytest.approx((2 * 0.35 + 3 * abs(2.9 / 3 - 1)) / 5)
    assert curve.auc == pytest.approx((3 + 0.5) / 4)
    assert np.isnan(reliability([], []).ece) and np.isnan(reliability([0.5], [True]).auc)
    sure, right = words_correct(spoken("The cat sat"), "the hat sat.")
    assert right == [True, False, True] and sure == [0.9, 0.9, 0.9]


def test_the_worst_moments_come_first() -> None:
    rate = 16_000
    samples = np.zeros(20 * rate, np.float32)
    words = [("one", 1.0, 1.5), ("two", 2.0, 2.5), ("three", 15.0, 15.5)]
    for _, start, end in words:
        samples[int(start * rate) : int(end * rate)] = 0.3 * np.sin(np.arange(int((end - start) * rate)))
    samples[8 * rate : 10 * rate] = 0.2 * np.sin(np.arange(2 * rate))
    a = said(*words)
    b = said(("one", 1.0, 1.5), ("ten", 2.0, 2.5), ("three", 15.0, 15.5))
    found = worst_moments(a, samples, rate, compare([a, b]).differences)
    assert [m.kind for m in found] == ["unheard", "differences"]
    assert 7.9 < found[0].start < 8.1 and 9.9 < found[0].end < 10.1
    assert (found[1].start, found[1].end, found[1].value) == (2.0, 2.5, 1)
    assert worst_moments(Transcript(), np.zeros(0, np.float32), rate) == ()
