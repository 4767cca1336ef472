"""A person says which reading is right: the picks, what they make of the text, and whether they prove anything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import comb

from asr_core.alignment import Transcript, Word
from asr_core.annotation.document import text_language
from asr_core.comparison import Comparison, Difference
from asr_core.errors import DecodingError
from asr_core.segmentation import Segmentation, sentences_of

#: The pick that says that no reading is right.
NEITHER = -1
#: A difference between two decoders counts as more than luck below this probability.
SIGNIFICANT = 0.05


@dataclass(frozen=True)
class Tally:
    """Which decoder was right how often.

    Args:
        right: of each transcript the number of picks of its reading.
        neither: picks of no reading.
        left: differences without a pick.
        leader: position of the transcript with most picks; None where two share the lead.
        p_value: two-sided sign test (exact binomial) of the leader against the second; 1 without picks.
    """

    right: tuple[int, ...]
    neither: int
    left: int
    leader: int | None
    p_value: float

    @property
    def decided(self) -> bool:
        """Whether the lead is more than luck would explain."""
        return self.leader is not None and self.p_value < SIGNIFICANT


def tally(picks: Mapping[int, int], columns: int, differences: int) -> Tally:
    """Count picks.

    Args:
        picks: position of a difference to the position of the transcript whose reading is right, or `NEITHER`.
        columns: transcripts that were compared.
        differences: in all.
    """
    counts = Counter(picks.values())
    right = tuple(counts[column] for column in range(columns))
    ranked = sorted(right, reverse=True)
    best, second = ranked[0], ranked[1] if columns > 1 else 0
    leader = right.index(best) if best > second else None
    return Tally(right, counts[NEITHER], differences - len(picks), leader, sign_test(best, second))


def sign_test(wins: int, losses: int) -> float:
    """Probability that two equal decoders would differ at least this much: exact binomial, two-sided; ties left out."""
    trials = wins + losses
    if trials == 0:
        return 1.0
    tail = sum(comb(trials, k) for k in range(max(wins, losses), trials + 1)) / 2**trials
    return min(1.0, 2 * tail)


def reviewed(
    comparison: Comparison,
    picks: Mapping[int, int],
    segmentation: Segmentation = Segmentation(),  # noqa: B008 - a frozen value
) -> Transcript:
    """The first transcript with the readings that were picked.

    Where a difference has no pick the first transcript's reading stands; where neither was right it stands with
    confidence 0, so that it comes up for correction.

    Args:
        picks: position in `Comparison.differences` to a transcript's position, or `NEITHER`.
    Raises:
        DecodingError: a pick of a difference or of a transcript that is not there.
    """
    first = comparison.transcripts[0]
    # Of each word of the first: what stands there, and behind it (-1 = before all words).
    stands: dict[int, Word | None] = dict(enumerate(first.words))
    behind: dict[int, list[Word]] = {}
    for index, pick in picks.items():
        difference = _at(comparison, index, pick)
        place = difference.readings[0]
        if pick == NEITHER:
            if place is not None:
                stands[place] = replace(stands[place] or first.words[place], confidence=0.0)
            continue
        chosen = difference.readings[pick]
        word = None if chosen is None else comparison.transcripts[pick].words[chosen]
        if place is not None:
            stands[place] = word
        elif word is not None:
            behind.setdefault(_before(first.words, word), []).append(word)
    words: list[Word] = sorted(behind.get(-1, []), key=lambda word: word.start)
    for place in range(len(first.words)):
        if stands[place] is not None:
            words.append(stands[place])
        words += sorted(behind.get(place, []), key=lambda word: word.start)
    return _transcript(first, _in_order(words), segmentation)


def _at(comparison: Comparison, index: int, pick: int) -> Difference:
    if not 0 <= index < len(comparison.differences):
        raise DecodingError(f"There are {len(comparison.differences)} differences; {index} is none of them.")
    if pick != NEITHER and not 0 <= pick < len(comparison.transcripts):
        raise DecodingError(
            f"A pick is one of {len(comparison.transcripts)} readings, or {NEITHER}; {pick} is neither."
        )
    return comparison.differences[index]


def _before(words: Sequence[Word], word: Word) -> int:
    """The last word that begins before this one; -1 where none does."""
    return max((i for i, w in enumerate(words) if w.start <= word.start), default=-1)


def _in_order(words: Sequence[Word]) -> tuple[Word, ...]:
    """Without overlap: where readings of two decoders overlap, the later one begins where the earlier one ends."""
    placed: list[Word] = []
    for word in words:
        floor = placed[-1].end if placed else 0.0
        start = max(word.start, floor)
        placed.append(replace(word, start=start, end=max(start, word.end)))
    return tuple(placed)


def _transcript(first: Transcript, words: tuple[Word, ...], segmentation: Segmentation) -> Transcript:
    sentences = sentences_of(words, segmentation, frame_seconds=0.08, aggregation="min")
    return Transcript(
        text=" ".join(word.text for word in words),
        sentences=sentences,
        words=words,
        tokens=tuple(token for word in words for token in word.tokens),
        score=first.score,
        duration=first.duration,
        language=text_language(first),
        model=first.model,
    )
