"""What changed between transcripts of one recording: other words, missing words, and boundaries that moved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal

import numpy as np

from asr_core import checks
from asr_core.alignment import Transcript, Word
from asr_core.errors import DecodingError
from asr_core.metrics import align_words, milliseconds_apart
from asr_core.normalization import Normalization, words_as_compared

Kind = Literal["substitution", "deletion", "insertion", "boundary"]

#: Seconds by which a boundary may move before it is a difference.
MOVED = 0.08
#: Two boundaries this close, in seconds, are one.
JOINED = 1e-6


@dataclass(frozen=True)
class Difference:
    """One place where transcripts differ.

    Args:
        kind: "substitution" where all have a word, but not the same; "deletion" where the first has a word that another
            lacks; "insertion" where the first lacks one; "boundary" where the words agree and their times do not.
        start, end: seconds of what was said there, over all transcripts.
        readings: of each transcript the position of its word in `Transcript.words`; None where it has none.
        shifts: of each transcript the seconds by which its boundary lies later than the first one's; None where there
            is nothing to compare.
        edge: which boundary of the word moved; None for other kinds.
    """

    kind: Kind
    start: float
    end: float
    readings: tuple[int | None, ...]
    shifts: tuple[float | None, ...]
    edge: Literal["start", "end"] | None = None

    @property
    def at(self) -> float:
        """Seconds at which it is listed."""
        return self.end if self.edge == "end" else self.start

    @property
    def shift(self) -> float | None:
        """The largest shift, with its sign."""
        known = [shift for shift in self.shifts if shift is not None]
        return max(known, key=abs) if known else None


@dataclass(frozen=True)
class PairSummary:
    """How far one transcript is from the first.

    Args:
        words: of the first transcript.
        words_differ: substitutions, deletions and insertions together.
        word_error_rate: their share of `words` (the number itself where the first has no words).
        mean_shift, p95_shift: mean and 95th percentile of the absolute boundary differences of the words that both
            have, in seconds; NaN where they share none.
    """

    words: int
    words_differ: int
    word_error_rate: float
    mean_shift: float
    p95_shift: float


@dataclass(frozen=True)
class Comparison:
    """Several transcripts of one recording beside the first of them.

    Args:
        transcripts: as given.
        partners: of each transcript after the first the pairs (position in the first, position in it), in order; None
            on the side that lacks the word.
        differences: in order of time.
        summaries: of each transcript after the first.
    """

    transcripts: tuple[Transcript, ...]
    partners: tuple[tuple[tuple[int | None, int | None], ...], ...]
    differences: tuple[Difference, ...]
    summaries: tuple[PairSummary, ...]


def compare(
    transcripts: Sequence[Transcript],
    *,
    moved: float = MOVED,
    normalization: Normalization = Normalization(),  # noqa: B008 - a frozen value
) -> Comparison:
    """Set transcripts of one recording beside the first of them.

    Words are paired by the shortest edit; of equal edits by the one whose words lie closest together in time.

    Args:
        moved: seconds beyond which a moved boundary is listed.
        normalization: what counts as the same word.
    Raises:
        DecodingError: there is none, or one of them is of another kind.
    """
    transcripts = checks.several("transcripts", transcripts, "Transcript values")
    if not transcripts:
        raise DecodingError("There is nothing to compare: give at least one Transcript.")
    for transcript in transcripts:
        checks.instance("A transcript to compare", transcript, Transcript)
    checks.from_zero("moved", moved)
    checks.instance("normalization", normalization, Normalization)
    first, *others = transcripts
    partners = tuple(_pairs(first, other, normalization) for other in others)
    compared = [words_as_compared(transcript.words, normalization) for transcript in transcripts]
    found = _word_differences(transcripts, partners, compared)
    found += _moved_boundaries(transcripts, partners, compared, moved)
    found.sort(key=lambda difference: (difference.at, difference.kind == "boundary"))
    summaries = tuple(
        _summary(first, other, pairs, compared[0], theirs)
        for other, pairs, theirs in zip(others, partners, compared[1:], strict=True)
    )
    return Comparison(tuple(transcripts), partners, tuple(found), summaries)


def _pairs(
    first: Transcript, other: Transcript, normalization: Normalization
) -> tuple[tuple[int | None, int | None], ...]:
    """Positions of words that belong together. Words of which nothing counts take no part."""
    ours, theirs = ([i for i, w in enumerate(t.words) if normalization.word(w.text)] for t in (first, other))
    pairs = align_words(
        [normalization.word(first.words[i].text) for i in ours],
        [normalization.word(other.words[j].text) for j in theirs],
        milliseconds_apart([first.words[i] for i in ours], [other.words[j] for j in theirs]),
    )
    return tuple((None if i is None else ours[i], None if j is None else theirs[j]) for i, j in pairs)


def _word_differences(
    transcripts: Sequence[Transcript],
    partners: Sequence[Sequence[tuple[int | None, int | None]]],
    compared: Sequence[Sequence[str]],
) -> list[Difference]:
    """A row for each word of the first that not all have, and one for each place where others have one more."""
    columns = [_by_first(pairs) for pairs in partners]
    found = []
    for index in [-1, *range(len(compared[0]))]:
        if index >= 0 and compared[0][index]:
            readings = (index, *(column[0].get(index) for column in columns))
            texts = {None if j is None else compared[k][j] for k, j in enumerate(readings)}
            if len(texts) > 1:
                found.append(_difference("deletion" if None in readings else "substitution", transcripts, readings))
        for extra in zip_longest(*(column[1].get(index, []) for column in columns)):
            found.append(_difference("insertion", transcripts, (None, *extra)))
    return found


def _by_first(
    pairs: Sequence[tuple[int | None, int | None]],
) -> tuple[dict[int, int | None], dict[int, list[int]]]:
    """The partner of each word of the first, and what stands behind each (-1 = before all) without a partner."""
    partner: dict[int, int | None] = {}
    behind: dict[int, list[int]] = {}
    last = -1
    for i, j in pairs:
        if i is None:
            behind.setdefault(last, []).append(j)
        else:
            partner[i], last = j, i
    return partner, behind


def _difference(kind: Kind, transcripts: Sequence[Transcript], readings: tuple[int | None, ...]) -> Difference:
    words = [t.words[j] for t, j in zip(transcripts, readings, strict=True) if j is not None]
    ours = None if readings[0] is None else transcripts[0].words[readings[0]]
    shifts = tuple(
        None if j is None or ours is None else _larger(ours, t.words[j])
        for t, j in zip(transcripts, readings, strict=True)
    )
    return Difference(kind, min(w.start for w in words), max(w.end for w in words), readings, shifts)


def _larger(ours: Word, theirs: Word) -> float:
    """The shift of the start or of the end, whichever is larger."""
    return max(theirs.start - ours.start, theirs.end - ours.end, key=abs)


def _moved_boundaries(
    transcripts: Sequence[Transcript],
    partners: Sequence[Sequence[tuple[int | None, int | None]]],
    compared: Sequence[Sequence[str]],
    moved: float,
) -> list[Difference]:
    """A row for each boundary of a word that all have and place further apart than `moved`."""
    columns = [dict(pairs) for pairs in partners]
    found = []
    for index, text in enumerate(compared[0]):
        readings = (index, *(column.get(index) for column in columns))
        if not text or any(j is None or compared[k][j] != text for k, j in enumerate(readings)):
            continue
        words = [t.words[j] for t, j in zip(transcripts, readings, strict=True)]
        for edge in ("start", "end"):
            times = [getattr(word, edge) for word in words]
            shifts = tuple(time - times[0] for time in times)
            # A start that is also the end of the word before, in all of them, is one boundary, listed there.
            if edge == "start" and _touches(transcripts, readings, columns, compared):
                continue
            if max(map(abs, shifts)) > moved + JOINED:
                start, end = min(w.start for w in words), max(w.end for w in words)
                found.append(Difference("boundary", start, end, readings, shifts, edge))
    return found


def _touches(
    transcripts: Sequence[Transcript],
    readings: Sequence[int],
    columns: Sequence[dict[int | None, int | None]],
    compared: Sequence[Sequence[str]],
) -> bool:
    """Whether in every transcript the word begins where the word before it ends, and that is one that all have."""
    before = (readings[0] - 1, *(column.get(readings[0] - 1) for column in columns))
    if before[0] < 0 or any(i is None or i != j - 1 for i, j in zip(before, readings, strict=True)):
        return False
    if len({texts[i] for texts, i in zip(compared, before, strict=True)}) > 1:
        return False
    return all(
        abs(t.words[i].end - t.words[j].start) < JOINED for t, i, j in zip(transcripts, before, readings, strict=True)
    )


def _summary(
    first: Transcript,
    other: Transcript,
    pairs: Sequence[tuple[int | None, int | None]],
    ours: Sequence[str],
    theirs: Sequence[str],
) -> PairSummary:
    both = [(i, j) for i, j in pairs if i is not None and j is not None and ours[i] == theirs[j]]
    differ, words = len(pairs) - len(both), sum(i is not None for i, _ in pairs)
    shifts = [
        abs(a - b)
        for i, j in both
        for a, b in (
            (first.words[i].start, other.words[j].start),
            (first.words[i].end, other.words[j].end),
        )
    ]
    mean, p95 = (float(np.mean(shifts)), float(np.percentile(shifts, 95))) if shifts else (float("nan"),) * 2
    return PairSummary(words, differ, differ / max(words, 1), mean, p95)
