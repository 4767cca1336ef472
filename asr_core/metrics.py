"""How far a transcript is from a reference: word error rate and differences of word boundaries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from asr_core.alignment import Transcript, Word

_MATCH, _DELETE, _INSERT = 0, 1, 2


@dataclass(frozen=True)
class WordPair:
    """One step of a word alignment; a side is None where the other has a word that it lacks."""

    operation: Literal["equal", "substitute", "delete", "insert"]
    reference: str | None
    hypothesis: str | None


@dataclass(frozen=True)
class ErrorRate:
    """A word error rate and what it is made of.

    Args:
        rate: (substitutions + insertions + deletions) / words. It can exceed 1. With an empty reference it is 0 for an
            empty hypothesis, else the number of insertions.
        words: in the reference.
        alignment: of the shortest edits one with the most equal words, in order.
    """

    rate: float
    substitutions: int
    insertions: int
    deletions: int
    words: int
    alignment: tuple[WordPair, ...]


@dataclass(frozen=True)
class BoundaryReport:
    """Absolute differences, in seconds, of the starts and ends of words that both transcripts have.

    Args:
        mean, median, p95: of all starts and ends; NaN where no word is in both.
        within_20ms, within_50ms, within_80ms: the share (0..1) of boundaries at most that far apart; NaN likewise.
        pairs: number of words in both; each counts with its start and its end.
    """

    mean: float
    median: float
    p95: float
    within_20ms: float
    within_50ms: float
    within_80ms: float
    pairs: int


def word_error_rate(reference: str | Transcript, hypothesis: str | Transcript) -> ErrorRate:
    """Word error rate by the shortest edit (Levenshtein 1966).

    Words are compared as they are written: "Hello," is not "hello". Normalise both sides first where that is not meant.

    Args:
        reference, hypothesis: text, whose words stand between white space, or a transcript.
    """
    alignment = _align(_texts(reference), _texts(hypothesis))
    count = Counter(pair.operation for pair in alignment)
    words = len(alignment) - count["insert"]
    errors = len(alignment) - count["equal"]
    return ErrorRate(
        rate=errors / max(words, 1),
        substitutions=count["substitute"],
        insertions=count["insert"],
        deletions=count["delete"],
        words=words,
        alignment=alignment,
    )


def matched_words(reference: Transcript, hypothesis: Transcript) -> tuple[tuple[Word, Word], ...]:
    """The words that both transcripts have, as the word alignment pairs them."""
    ours, theirs = iter(reference.words), iter(hypothesis.words)
    pairs = []
    for step in word_error_rate(reference, hypothesis).alignment:
        a = next(ours) if step.reference is not None else None
        b = next(theirs) if step.hypothesis is not None else None
        if a is not None and b is not None and step.operation == "equal":
            pairs.append((a, b))
    return tuple(pairs)


def boundary_errors(reference: Transcript, hypothesis: Transcript) -> BoundaryReport:
    """How far apart two transcripts place the words that both have."""
    pairs = matched_words(reference, hypothesis)
    nan = float("nan")
    if not pairs:
        return BoundaryReport(nan, nan, nan, nan, nan, nan, 0)
    apart = np.abs([(a.start - b.start, a.end - b.end) for a, b in pairs])

    def within(seconds: float) -> float:
        # 0.1 - 0.08 is a little more than 0.02: a microsecond of grace.
        return float((apart <= seconds + 1e-6).mean())

    return BoundaryReport(
        mean=float(apart.mean()),
        median=float(np.median(apart)),
        p95=float(np.percentile(apart, 95)),
        within_20ms=within(0.02),
        within_50ms=within(0.05),
        within_80ms=within(0.08),
        pairs=len(pairs),
    )


def _texts(words: str | Transcript) -> list[str]:
    return words.split() if isinstance(words, str) else [word.text for word in words.words]


def _align(reference: Sequence[str], hypothesis: Sequence[str]) -> tuple[WordPair, ...]:
    """The shortest edit; equal beginnings and ends are set aside, the rest takes one byte a pair of words."""
    head = _common(reference, hypothesis)
    tail = _common(reference[head:][::-1], hypothesis[head:][::-1])
    a, b = reference[head : len(reference) - tail], hypothesis[head : len(hypothesis) - tail]
    same = [WordPair("equal", word, word) for word in reference]
    return (*same[:head], *_trace(a, b, _moves(a, b)), *same[len(reference) - tail :])


def _common(a: Sequence[str], b: Sequence[str]) -> int:
    """Length of the common beginning."""
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def _moves(a: Sequence[str], b: Sequence[str]) -> np.ndarray:
    """(len(a) + 1, len(b) + 1) uint8: the last move of a shortest edit of a[:i] into b[:j].

    Of the shortest edits the one with most equal words: an edit costs more than all equal words together can win.
    """
    edit = min(len(a), len(b)) + 1
    ids = {word: i for i, word in enumerate({*a, *b})}
    theirs = np.array([ids[word] for word in b], np.int64)
    inserted = np.arange(len(b) + 1) * edit
    moves = np.empty((len(a) + 1, len(b) + 1), np.uint8)
    moves[0], moves[:, 0] = _INSERT, _DELETE
    cost = inserted
    for i, word in enumerate(a, 1):
        match = cost[:-1] + np.where(theirs == ids[word], -1, edit)
        delete = cost[1:] + edit
        best = np.concatenate([[i * edit], np.minimum(match, delete)])
        # An insertion costs one edit more than the cell on the left: a running minimum once that slope is taken out.
        cost = np.minimum.accumulate(best - inserted) + inserted
        moves[i, 1:] = np.where(cost[1:] == match, _MATCH, np.where(cost[1:] == delete, _DELETE, _INSERT))
    return moves


def _trace(a: Sequence[str], b: Sequence[str], moves: np.ndarray) -> list[WordPair]:
    """Walk back from the end."""
    i, j = len(a), len(b)
    steps = []
    while i or j:
        move = moves[i, j]
        i -= move != _INSERT
        j -= move != _DELETE
        if move == _MATCH:
            steps.append(WordPair("equal" if a[i] == b[j] else "substitute", a[i], b[j]))
        elif move == _DELETE:
            steps.append(WordPair("delete", a[i], None))
        else:
            steps.append(WordPair("insert", None, b[j]))
    return steps[::-1]
