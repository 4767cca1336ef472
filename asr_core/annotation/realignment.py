"""New times for words whose text was changed: a forced alignment of their stretch, with a little around it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from asr_core.annotation.document import Document
from asr_core.annotation.edits import SHORTEST
from asr_core.annotation.segments import DECIMALS, DocumentError, Segment
from asr_core.decoding.options import Whisper
from asr_core.errors import DecodingError
from asr_core.models.registry import ModelInfo
from asr_core.whisper.settings import options_of

if TYPE_CHECKING:
    from asr_core.recognizer import Recognizer

#: Words on each side that are aligned, too, and hold their places.
CONTEXT = 2
#: Seconds of sound taken in before the first and behind the last of them, where no other word is.
MARGIN = 0.2


@dataclass(frozen=True)
class Proposal:
    """Times that a forced alignment finds for some words, beside those they have.

    Args:
        times: (id, start, end) of each word, in order; `edits.retime` takes them.
        before: the same words as they are.
    """

    times: tuple[tuple[int, float, float], ...]
    before: tuple[tuple[int, float, float], ...]

    @property
    def largest(self) -> float:
        """Seconds by which the boundary that moves most does; 0 where nothing moves."""
        pairs = zip(self.times, self.before, strict=True)
        return max((abs(new - old) for a, b in pairs for new, old in zip(a[1:], b[1:], strict=True)), default=0.0)


def propose(
    recognizer: Recognizer, samples: np.ndarray, document: Document, ids: Collection[int], *, sample_rate: int = 16_000
) -> Proposal:
    """Align the words around some changed ones, and propose times for these.

    Args:
        samples: (samples,) of the whole recording at `sample_rate`.
        ids: of the words that were changed; they lie near each other.
    Raises:
        DocumentError: there are no such words.
        DecodingError: the text does not fit the sound, or the model cannot write it.
    """
    tier = document.first("words")
    places = [i for i, word in enumerate(tier.segments) if word.id in ids] if tier else []
    if not places:
        raise DocumentError("None of these words is in the document; they may have been deleted or merged.")
    words = tier.segments
    first, last = max(0, places[0] - CONTEXT), min(len(words), places[-1] + 1 + CONTEXT)
    start = max(words[first].start - MARGIN, words[first - 1].end if first else 0.0)
    following = words[last].start if last < len(words) else len(samples) / sample_rate
    end = min(words[last - 1].end + MARGIN, following)
    around = words[first:last]
    piece = samples[int(start * sample_rate) : int(end * sample_rate)]
    text, told = " ".join(word.text for word in around), _told(recognizer.info, document)
    aligned = recognizer.align(piece, text, sample_rate=sample_rate, whisper=told)
    if [word.text for word in aligned.words] != [word.text for word in around]:
        unknown = aligned.warnings[-1] if aligned.warnings else "It writes them in another way."
        raise DecodingError(f"The model cannot align these words as they are written. {unknown}")
    spans = [(start + word.start, start + word.end) for word in aligned.words]
    new = _fitted(words, places, {place: spans[place - first] for place in places})
    moved = sorted(new)
    return Proposal(
        tuple((words[i].id, *new[i]) for i in moved), tuple((words[i].id, words[i].start, words[i].end) for i in moved)
    )


def _told(info: ModelInfo, document: Document) -> Whisper | None:
    """What a multilingual Whisper model has to know of a document's text; None for other models."""
    if info.kind != "whisper" or info.languages == ("en",):
        return None
    made = options_of(document.provenance.decoding)
    # The document has the language of the text, which is not the one that is spoken where it was translated.
    language = made.language if made.task == "translate" else document.language
    return Whisper(language=language if language in info.languages else None, task=made.task)


def _fitted(
    words: Sequence[Segment], places: Sequence[int], spans: dict[int, tuple[float, float]]
) -> dict[int, tuple[float, float]]:
    """The aligned times of the words at `places`; a neighbour that touches one of them gives or takes what it moves.

    Other words stay, and are kept clear of.
    """
    new: dict[int, tuple[float, float]] = {}
    for place in places:
        low, high = _limits(words, place, new)
        start, end = (round(min(max(time, low), high), DECIMALS) for time in spans[place])
        new[place] = start, max(start, end)
    for place in places:
        before, after = place - 1, place + 1
        if before >= 0 and before not in places and words[before].end == words[place].start:
            new[before] = new.get(before, (words[before].start, 0.0))[0], new[place][0]
        if after < len(words) and after not in places and words[place].end == words[after].start:
            new[after] = new[place][1], new.get(after, (0.0, words[after].end))[1]
    return new


def _limits(words: Sequence[Segment], place: int, new: dict[int, tuple[float, float]]) -> tuple[float, float]:
    """Seconds between which the word at a place may lie."""
    low, high = 0.0, float("inf")
    if place:
        before = words[place - 1]
        touches = before.end == words[place].start and before.start < before.end
        low = new[place - 1][1] if place - 1 in new else before.start + SHORTEST if touches else before.end
    if place + 1 < len(words):
        after = words[place + 1]
        touches = words[place].end == after.start and after.start < after.end
        high = after.end - SHORTEST if touches else after.start
    return low, max(low, high)
