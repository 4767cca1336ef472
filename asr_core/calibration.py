"""Whether confidence can be believed: confidence beside correctness."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from asr_core.alignment import Transcript
from asr_core.metrics import align_words
from asr_core.normalization import Normalization, words_as_compared

BINS = 10


@dataclass(frozen=True)
class Bin:
    """Words whose confidence lies in [low, high), the last bin's in [low, 1].

    Args:
        confidence: their mean confidence.
        accuracy: the share of them that is right.
    """

    low: float
    high: float
    count: int
    confidence: float
    accuracy: float


@dataclass(frozen=True)
class Reliability:
    """A reliability curve.

    Args:
        bins: those that hold words, by confidence.
        ece: expected calibration error: the mean distance of confidence and accuracy, weighted by words; NaN without.
        auc: area under the ROC curve: the probability that a right word is surer than a wrong one (ties count half);
            NaN where all are right or all are wrong.
        count: words in all.
    """

    bins: tuple[Bin, ...]
    ece: float
    auc: float
    count: int


def reliability(confidences: Sequence[float], correct: Sequence[bool], bins: int = BINS) -> Reliability:
    """Confidence against correctness in bins of equal width (Guo et al. 2017).

    Args:
        confidences: 0..1.
        correct: whether each was right.
    """
    sure, right = np.asarray(confidences, float), np.asarray(correct, bool)
    which = np.minimum((sure * bins).astype(int), bins - 1)
    found = []
    for index in range(bins):
        inside = which == index
        if inside.any():
            found.append(
                Bin(
                    index / bins,
                    (index + 1) / bins,
                    int(inside.sum()),
                    float(sure[inside].mean()),
                    float(right[inside].mean()),
                )
            )
    total = len(sure)
    ece = sum(b.count * abs(b.confidence - b.accuracy) for b in found) / total if total else float("nan")
    return Reliability(tuple(found), ece, _auc(sure, right), total)


def words_correct(
    transcript: Transcript,
    reference: str | Transcript,
    normalization: Normalization = Normalization(ignore_case=True, ignore_punctuation=True),  # noqa: B008
) -> tuple[list[float], list[bool]]:
    """Confidence of each word of a transcript, and whether the reference has it there."""
    heard = words_as_compared(transcript.words, normalization)
    wanted = reference.split() if isinstance(reference, str) else [word.text for word in reference.words]
    wanted = [text for word in wanted if (text := normalization.word(word))]
    counted = [i for i, text in enumerate(heard) if text]
    pairs = align_words(wanted, [heard[i] for i in counted])
    right = {counted[j] for i, j in pairs if i is not None and j is not None and wanted[i] == heard[counted[j]]}
    return [transcript.words[i].confidence for i in counted], [i in right for i in counted]


def _auc(sure: np.ndarray, right: np.ndarray) -> float:
    """By ranks (Mann and Whitney 1947), equal confidences sharing their mean rank."""
    positives, negatives = int(right.sum()), int((~right).sum())
    if not positives or not negatives:
        return float("nan")
    _, where, counts = np.unique(sure, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[where]
    return float((ranks[right].sum() - positives * (positives + 1) / 2) / (positives * negatives))
