"""Whisper's rules that need no weights: timestamps, cuts, word times, repeats, characters of several tokens."""

from __future__ import annotations

import numpy as np
import pytest

import asr_core
from asr_core import DecodingError
from asr_core.errors import ModelError
from asr_core.models.host import vocabulary_product
from asr_core.whisper.fallback import compression_ratio
from asr_core.whisper.filters import Filters
from asr_core.whisper.guards import is_repeating, without_repeats
from asr_core.whisper.hearing import cut_at_timestamps
from asr_core.whisper.tokenizer import SpecialTokens, WhisperVocabulary, unfinished
from asr_core.whisper.word_times import entered, median_filter
from asr_core.whisper.words import Segment, believable

SPECIAL = SpecialTokens.of(51_864)
T0 = SPECIAL.first_timestamp


def allowed(sequence: list[int], logits: np.ndarray | None = None) -> np.ndarray:
    """Ids that the timestamp rules leave."""
    logits = np.zeros((1, 51_864), np.float32) if logits is None else logits[None].copy()
    if sequence:
        logits[0, :T0] += 20  # so that the mass of the timestamps decides nothing
    Filters(SPECIAL).apply(logits, [sequence])
    return np.flatnonzero(np.isfinite(logits[0]))


def test_ids_of_special_tokens() -> None:
    assert (SPECIAL.end, SPECIAL.start, SPECIAL.no_timestamps, T0) == (50256, 50257, 50362, 50363)
    assert (SPECIAL.translate, SPECIAL.transcribe, SPECIAL.start_of_previous, SPECIAL.no_speech) == (
        *(50357, 50358),
        *(50360, 50361),
    )
    large = SpecialTokens.of(51_866)
    assert large.language("en") == 50259 and large.language("yue") == 50358 and large.first_timestamp == 50365
    assert SpecialTokens.of(51_865).first_timestamp == 50364
    with pytest.raises(ModelError, match="51,864 to 51,866"):
        SpecialTokens.of(30_000)


def test_timestamps_come_first_in_pairs_and_forwards() -> None:
    first = allowed([])
    assert first.min() == T0 and first.max() == T0 + 50
    # After one timestamp only text; after text anything later, or text.
    assert allowed([T0]).max() < T0
    after = allowed([T0, 314])
    assert 314 in after and after[after >= T0].min() == T0 + 1
    # What closes a segment is followed by one that is not before it, or by the end.
    closing = allowed([T0, 314, T0 + 200])
    assert closing.min() == SPECIAL.end and closing[closing >= T0].min() == T0 + 200
    opened = allowed([T0, 314, T0 + 200, T0 + 200])
    assert opened.max() < T0 and 314 in opened
    later = allowed([T0, 314, T0 + 200, T0 + 200, 500])
    assert later[later >= T0].min() == T0 + 201


def test_the_mass_of_timestamps_is_that_of_what_is_allowed() -> None:
    logits = np.full(51_864, -20.0, np.float32)
    logits[314], logits[T0 : T0 + 100], logits[SPECIAL.no_timestamps] = 5.0, 1.2, 9.0
    Filters(SPECIAL).apply(rows := logits[None].copy(), [[T0, 400]])
    assert rows[0].argmax() == T0 + 1


def test_windows_are_cut_where_timestamps_meet() -> None:
    single = cut_at_timestamps([T0, 5, 6, T0 + 100], 3000, SPECIAL)
    assert single.segments == ((0, 4, 0, 100),) and single.advance == 3000 and single.tokens == 4
    pair = cut_at_timestamps([T0, 5, T0 + 100, T0 + 120, 6, T0 + 200, T0 + 210, 7], 3000, SPECIAL)
    assert pair.segments == ((0, 3, 0, 100), (3, 6, 120, 200)) and pair.tokens == 6
    assert pair.advance == 400 and pair.by_timestamp
    last = cut_at_timestamps([T0, 5, T0 + 100, T0 + 120, 6, T0 + 200], 1000, SPECIAL)
    assert last.segments[-1] == (3, 6, 120, 200) and last.advance == 1000
    assert cut_at_timestamps([5, 6], 700, SPECIAL).segments == ((0, 2, 0, 350),)
    assert cut_at_timestamps([], 700, SPECIAL).tokens == 0


def test_repetition_compresses() -> None:
    assert compression_ratio("So it goes. " * 20) > 2.4 > compression_ratio("He was not an ill-disposed young man.")


def test_the_cheapest_path() -> None:
    cost = np.ones((3, 6))
    for row, columns in enumerate([(0, 1), (2, 3), (4, 5)]):
        cost[row, list(columns)] = 0
    assert entered(cost).tolist() == [0, 2, 4]
    assert entered(np.zeros((1, 4))).tolist() == [0]
    assert entered(np.zeros((4, 1))).tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("frames", [1, 3, 4, 7, 8, 20])
def test_the_median_filter_of_few_frames(frames: int) -> None:
    values = np.random.default_rng(frames).standard_normal((2, 3, frames))
    found = median_filter(values)
    if frames <= 3:
        assert np.array_equal(found, values)
        return
    padded = np.pad(values, [(0, 0), (0, 0), (3, 3)], mode="reflect")
    wanted = np.stack([np.median(padded[..., i : i + 7], axis=-1) for i in range(frames)], axis=-1)
    assert found == pytest.approx(wanted)


@pytest.fixture(scope="module")
def vocabulary() -> WhisperVocabulary:
    """Words, marks, and the bytes of two characters; the real one needs a download."""
    raw = [b" He", b" was", b".", b" There", "今日".encode(), b"\xe5", b"\xa5\xbd", b" man", b"-", b"ill"]
    raw += [b""] * (51_864 - len(raw))
    pieces = ["▁" + b[1:].decode() if b[:1] == b" " else b.decode("utf-8", "replace") for b in raw]
    return WhisperVocabulary(tuple(pieces), tuple(raw), SPECIAL)


def test_a_character_of_two_tokens_sits_on_the_first(vocabulary) -> None:
    assert vocabulary.token_texts([4, 5, 6, 1]) == ("今日", "好", "", " was")
    assert vocabulary.decode([4, 5, 6]) == "今日好"
    # What is not whole is seen as such, and nothing is lost.
    assert vocabulary.token_texts([4, 5]) == ("今日", "\ufffd")
    assert vocabulary.token_texts([4, 5, SPECIAL.end]) == ("今日", "\ufffd", "")
    assert vocabulary.ends_inside_character([4, 5]) == 1
    assert vocabulary.ends_inside_character([4, 5, 6]) == vocabulary.ends_inside_character([]) == 0
    assert [unfinished(data) for data in (b"a\xe5", b"\xe5\xa5", "好".encode(), b"\xf0\x9f\x98", b"\xff")] == [
        1,
        2,
        0,
        3,
        0,
    ]


def test_a_word_beside_a_sentence_end_is_no_longer_than_words_are(vocabulary) -> None:
    tokens = [0, 1, 7, 2, 3, 1]  # He was man. There was
    starts = np.array([0.0, 0.3, 0.6, 0.9, 6.0, 6.3])
    ends = np.array([0.3, 0.6, 0.9, 6.0, 6.3, 6.6])
    a, b = believable(tokens, starts, ends, [Segment(0.0, 6.6, 6)], 0.0, vocabulary)
    assert a[:3] == pytest.approx(starts[:3]) and (a[4], b[4]) == (6.0, 6.3)
    late = starts.copy()
    late[4] = ends[3] = 0.95  # the silence went to the word after the full stop
    a, b = believable(tokens, late, ends, [Segment(0.0, 6.6, 6)], 0.0, vocabulary)
    assert (a[4], b[4]) == pytest.approx((5.7, 6.3))
    assert (np.diff(a) >= 0).all() and (b >= a).all()


def test_repeats_are_seen_and_cut() -> None:
    assert is_repeating(["no"] * 8) and not is_repeating(["no"] * 7)
    assert is_repeating(["thank", "you", "very", "much"] * 3) and not is_repeating(["thank", "you", "very", "much"] * 2)
    assert is_repeating(["and", "you"] * 6) and not is_repeating(["and", "you"] * 4)
    words = ["well", *["no"] * 20]
    assert without_repeats(range(21), lambda tokens: [words[i] for i in tokens]) == 9
    assert without_repeats(range(3), lambda tokens: ["a", "b", "c"][: len(tokens)]) == 3


def test_options_are_checked() -> None:
    for wrong in ({"task": "sing"}, {"language": 3}, {"temperatures": ()}, {"temperatures": (-1,)}, {"seed": -1}):
        with pytest.raises(DecodingError, match=r"Whisper\."):
            asr_core.Whisper(**wrong)
    with pytest.raises(DecodingError, match="temperature"):
        asr_core.Greedy(temperature=-0.5)
    with pytest.raises(DecodingError, match="Whisper"):
        asr_core.Greedy(whisper="en")


@pytest.mark.parametrize("shape", [(1, 1, 8), (2, 3, 8), (9, 8)])
def test_the_output_of_a_vocabulary(shape: tuple[int, ...]) -> None:
    random = np.random.default_rng(0)
    x, weight = random.standard_normal(shape).astype(np.float32), random.standard_normal((40_000, 8)).astype(np.float32)
    assert vocabulary_product(x, weight.T) == pytest.approx(x @ weight.T, abs=1e-4)
