"""Whisper's confidence: what counts as one outcome, and that it is a scale from 0 to 1."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from asr_core import Confidence
from asr_core.whisper.sureness import MARK, outcomes, sureness
from asr_core.whisper.tokenizer import WhisperVocabulary

#: Six outcomes: marks, two, "ten" with a space, "ten" without, four, an unfinished character.
PIECES = (".", "▁two", "▁ten", "▁Ten", ",", "ten", "▁four", "<0xE4>")
VOCABULARY = WhisperVocabulary(PIECES, tuple(piece.encode() for piece in PIECES))
TWO, TEN = 1, 2


def sure(probabilities: list[float], token: int, confidence: Confidence = Confidence()) -> float:  # noqa: B008
    with np.errstate(divide="ignore"):
        return float(sureness(np.log([probabilities]), [token], VOCABULARY, confidence)[0])


def test_case_and_marks_are_ways_of_writing() -> None:
    assert list(outcomes(VOCABULARY)) == [MARK, 1, 2, 2, MARK, 3, 4, 5]
    # A capital is no other word, but a word inside another one is.
    assert sure([0, 0, 0.5, 0.5, 0, 0, 0, 0], TEN) == pytest.approx(1)
    assert sure([0, 0, 0.5, 0, 0, 0.5, 0, 0], TEN) < 0.5
    # That a mark might have come says nothing of the word; that a word might have come does of the mark.
    assert sure([0.3, 0, 0.4, 0, 0.3, 0, 0, 0], TEN) == pytest.approx(1)
    assert sure([0.3, 0, 0.4, 0, 0.3, 0, 0, 0], 0) < 0.8


# Not Gibbs with 0.33, which by NeMo's formula does not rise with the probability between two of several outcomes.
@pytest.mark.parametrize(
    ("method", "alpha"),
    [*((method, alpha) for method in ("tsallis", "renyi", "max_prob") for alpha in (0.33, 1.0)), ("gibbs", 1.0)],
)
def test_it_is_a_scale_from_0_to_1_by_every_measure(method: str, alpha: float) -> None:
    confidence = Confidence(method=method, alpha=alpha)
    shares = [sure([0, p, 1 - p, 0, 0, 0, 0, 0], TWO, confidence) for p in np.linspace(0.5, 1, 11)]
    assert shares == sorted(shares) and len(set(shares)) == 11 and shares[-1] == pytest.approx(1)
    # A mark, so that no outcome is set aside; all six are alike.
    alike = [1 / 12, 1 / 6, 1 / 12, 1 / 12, 1 / 12, 1 / 6, 1 / 6, 1 / 6]
    assert sure(alike, 0, confidence) == pytest.approx(0, abs=1e-6)
    linear = sure([0, 0.7, 0.2, 0.1, 0, 0, 0, 0], TWO, replace(confidence, norm="lin"))
    assert (linear == sure([0, 0.7, 0.2, 0.1, 0, 0, 0, 0], TWO, confidence)) == (method == "max_prob")


def test_what_is_improbable_counts_by_its_probability() -> None:
    pieces = tuple(f"▁{number}" for number in range(20_000))
    vocabulary = WhisperVocabulary(pieces, tuple(piece.encode() for piece in pieces))
    rest = 0.05
    log_probs = np.log([[1 - rest, *[rest / 19_999] * 19_999]])
    together = np.log([[1 - rest, rest, *[1e-30] * 19_998]])
    spread, one = (float(sureness(x, [0], vocabulary, Confidence())[0]) for x in (log_probs, together))
    assert one > spread > one - 0.1 and spread > 0.8
