"""How far a transcript is from a reference: word error rate and differences of word boundaries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from asr_core import checks
from asr_core.alignment import Transcript, Word
from asr_core.errors import DecodingError
from asr_core.normalization import Normalization

_MATCH, _DELETE, _INSERT = 0, 1, 2

#: Milliseconds between word i of one sequence and every word of another, (words,) int64.
Apart = Callable[[int], np.ndarray]
#: Milliseconds beyond which two words are just far apart, and below which equal ones are surely the same.
FAR, NEAR = 10_000, 100
#: Cells of the dynamic programme whose moves are kept at a time.
CELLS = 16_000_000


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


def word_error_rate(
    reference: str | Transcript,
    hypothesis: str | Transcript,
    *,
    normalization: Normalization = Normalization(),  # noqa: B008 - a frozen value
) -> ErrorRate:
    """Word error rate by the shortest edit (Levenshtein 1966).

    Args:
        reference, hypothesis: text, whose words stand between white space, or a transcript.
        normalization: what counts as the same word; by default only what is written the same.
    Raises:
        DecodingError: a side is neither.
    """
    checks.instance("normalization", normalization, Normalization)
    ours, theirs = (
        [text for word in _texts(side) if (text := normalization.word(word))] for side in (reference, hypothesis)
    )
    alignment = tuple(_step(ours, theirs, i, j) for i, j in align_words(ours, theirs))
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
    ours, theirs = reference.words, hypothesis.words
    pairs = align_words(_texts(reference), _texts(hypothesis), milliseconds_apart(ours, theirs))
    both = [(ours[i], theirs[j]) for i, j in pairs if i is not None and j is not None]
    return tuple((a, b) for a, b in both if a.text == b.text)


def milliseconds_apart(ours: Sequence[Word], theirs: Sequence[Word]) -> Apart:
    """How far the middles of words lie apart, for `align_words`."""
    middles = np.array([500 * (word.start + word.end) for word in theirs])

    def apart(index: int) -> np.ndarray:
        distance = np.abs(middles - 500 * (ours[index].start + ours[index].end))
        return np.minimum(np.nan_to_num(distance, nan=FAR), FAR).astype(np.int64)

    return apart


def boundary_errors(reference: Transcript, hypothesis: Transcript) -> BoundaryReport:
    """How far apart two transcripts place the words that both have. Raises DecodingError for what is no Transcript."""
    for name, side in (("reference", reference), ("hypothesis", hypothesis)):
        checks.instance(name, side, Transcript)
    return boundary_report(matched_words(reference, hypothesis))


def boundary_report(pairs: Sequence[tuple[Word, Word]]) -> BoundaryReport:
    """How far apart words lie that belong together."""
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


def align_words(
    reference: Sequence[str], hypothesis: Sequence[str], apart: Apart | None = None
) -> tuple[tuple[int | None, int | None], ...]:
    """The shortest edit of one word sequence into another (Levenshtein 1966), as pairs of positions.

    Of the shortest edits it is one with the most equal words, and of these the one whose pairs lie closest together.

    Args:
        apart: milliseconds between word i of the reference and every word of the hypothesis, (len(hypothesis),).
    Returns:
        In order; None on the side that lacks a word.
    """
    # What is equal at both ends may be set aside, unless the times say that it was said at another place.
    is_near = (lambda i, j: apart(i)[j] < NEAR) if apart else (lambda i, j: True)
    shorter = min(len(reference), len(hypothesis))
    head = 0
    while head < shorter and reference[head] == hypothesis[head] and is_near(head, head):
        head += 1
    tail = 0
    while (
        tail < shorter - head
        and reference[-1 - tail] == hypothesis[-1 - tail]
        and is_near(len(reference) - 1 - tail, len(hypothesis) - 1 - tail)
    ):
        tail += 1
    rows, columns = range(head, len(reference) - tail), range(head, len(hypothesis) - tail)
    middle = _shortest(_Table.of(reference, hypothesis, apart), rows, columns)
    return (
        *((i, i) for i in range(head)),
        *middle,
        *((len(reference) - tail + k, len(hypothesis) - tail + k) for k in range(tail)),
    )


def character_error_rate(reference: str, hypothesis: str, *, normalization: Normalization = Normalization()) -> float:  # noqa: B008
    """Edits of characters, spaces included, over the characters of the reference.

    It can exceed 1. With an empty reference it is the number of characters of the hypothesis.
    """
    for name, side in (("reference", reference), ("hypothesis", hypothesis)):
        checks.text(name, side)
    checks.instance("normalization", normalization, Normalization)
    reference, hypothesis = normalization.text(reference), normalization.text(hypothesis)
    return edit_distance(reference, hypothesis) / max(len(reference), 1)


def edit_distance(a: str, b: str) -> int:
    """Levenshtein distance of two strings, a column of the table at a time in the bits of integers (Hyyrö 2003)."""
    if not a:
        return len(b)
    everything, last = (1 << len(a)) - 1, 1 << (len(a) - 1)
    where: dict[str, int] = {}
    for i, character in enumerate(a):
        where[character] = where.get(character, 0) | 1 << i
    up, down, distance = everything, 0, len(a)
    for character in b:
        match = where.get(character, 0)
        diagonal = (((match & up) + up) ^ up) | match | down
        right, left = down | (everything & ~(diagonal | up)), up & diagonal
        distance += bool(right & last) - bool(left & last)
        right, left = (right << 1 | 1) & everything, left << 1 & everything
        up, down = left | (everything & ~(diagonal | right)), right & diagonal
    return distance


def _step(ours: Sequence[str], theirs: Sequence[str], i: int | None, j: int | None) -> WordPair:
    a, b = None if i is None else ours[i], None if j is None else theirs[j]
    if a is None or b is None:
        return WordPair("insert" if a is None else "delete", a, b)
    return WordPair("equal" if a == b else "substitute", a, b)


def _texts(words: str | Transcript) -> list[str]:
    if not isinstance(words, str | Transcript):
        raise DecodingError(f"Words are compared of a text or a Transcript, not of {checks.shown(words)}.")
    return words.split() if isinstance(words, str) else [word.text for word in words.words]


class _Table(NamedTuple):
    """What the dynamic programme over two word sequences is made of.

    One cost says it all: an edit costs more than all equal words can win, an equal word wins more than all times cost.

    Args:
        ours, theirs: words as numbers.
        edit: cost of a substitution, deletion or insertion.
        win: what an equal word wins.
    """

    ours: np.ndarray
    theirs: np.ndarray
    apart: Apart | None
    edit: int
    win: int

    @classmethod
    def of(cls, ours: Sequence[str], theirs: Sequence[str], apart: Apart | None) -> _Table:
        ids: dict[str, int] = {}
        a, b = (np.array([ids.setdefault(w, len(ids)) for w in words], np.int64) for words in (ours, theirs))
        win = (len(a) + len(b) + 1) * FAR if apart else 1
        return cls(a, b, apart, (min(len(a), len(b)) + 1) * win, win)

    def matches(self, i: int, columns: slice) -> np.ndarray:
        """Cost of pairing word i with each of some words of the other side."""
        costs = np.where(self.theirs[columns] == self.ours[i], -self.win, self.edit)
        return costs + np.minimum(self.apart(i)[columns], FAR - 1) if self.apart else costs


def _shortest(table: _Table, rows: range, columns: range) -> list[tuple[int | None, int | None]]:
    """The cheapest path through a block, halved until it is small (Hirschberg 1975): memory stays linear."""
    if len(rows) < 2 or len(rows) * len(columns) <= CELLS:
        return _trace(rows, columns, _moves(table, rows, columns))
    half = len(rows) // 2
    upper, lower = rows[:half], rows[half:]
    costs = _last_costs(table, upper, columns) + _last_costs(table, lower[::-1], columns[::-1])[::-1]
    at = int(costs.argmin())
    return _shortest(table, upper, columns[:at]) + _shortest(table, lower, columns[at:])


def _last_costs(table: _Table, rows: range, columns: range) -> np.ndarray:
    """(len(columns) + 1,) cost of all rows against each beginning of the columns; ranges may run backwards."""
    cost = inserted = np.arange(len(columns) + 1) * table.edit
    for i in rows:
        cost, _ = _next(table, cost, inserted, table.matches(i, _slice(columns)))
    return cost


def _moves(table: _Table, rows: range, columns: range) -> np.ndarray:
    """(len(rows) + 1, len(columns) + 1) uint8: the last move of a cheapest path to each cell."""
    cost = inserted = np.arange(len(columns) + 1) * table.edit
    moves = np.empty((len(rows) + 1, len(columns) + 1), np.uint8)
    moves[0], moves[:, 0] = _INSERT, _DELETE
    for row, i in enumerate(rows, 1):
        delete = cost[1:] + table.edit
        cost, match = _next(table, cost, inserted, table.matches(i, _slice(columns)))
        moves[row, 1:] = np.where(cost[1:] == match, _MATCH, np.where(cost[1:] == delete, _DELETE, _INSERT))
    return moves


def _next(table: _Table, cost: np.ndarray, inserted: np.ndarray, matches: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The costs one row further, and those of a path that comes by a pair."""
    match = cost[:-1] + matches
    best = np.concatenate([cost[:1] + table.edit, np.minimum(match, cost[1:] + table.edit)])
    # An insertion costs one edit more than the cell on the left: a running minimum once that slope is taken out.
    return np.minimum.accumulate(best - inserted) + inserted, match


def _slice(columns: range) -> slice:
    if columns.step > 0:
        return slice(columns.start, columns.stop)
    return slice(columns.start, columns.stop if columns.stop >= 0 else None, -1)


def _trace(rows: range, columns: range, moves: np.ndarray) -> list[tuple[int | None, int | None]]:
    """Walk back from the end."""
    i, j, steps = len(rows), len(columns), []
    while i or j:
        move = moves[i, j]
        i -= move != _INSERT
        j -= move != _DELETE
        steps.append((rows[i] if move != _INSERT else None, columns[j] if move != _DELETE else None))
    return steps[::-1]
