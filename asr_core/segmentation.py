"""Where one sentence ends and the next begins."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from asr_core.alignment import Sentence, Word
from asr_core.confidence import aggregate
from asr_core.errors import DecodingError

SEPARATORS = (".", "?", "!", "。", "？", "！", "।", "؟", "…")
#: Marks that may follow a separator and stay with its sentence.
CLOSING = "\"'”’»›)]}」』）】"
#: Abbreviations after which a sentence rarely ends; lower case, without their last full stop.
ABBREVIATIONS = frozenset(
    (
        *("mr", "mrs", "ms", "dr", "prof", "rev", "hon", "st", "sr", "jr", "messrs", "mme", "mlle"),
        *("gen", "col", "capt", "lt", "sgt", "gov", "sen", "rep", "pres"),
        *(
            "no",
            "nos",
            "vs",
            "vol",
            "fig",
            "figs",
            "eq",
            "ch",
            "sec",
            "pp",
            "p",
            "ed",
            "eds",
            "al",
            "cf",
            "approx",
            "est",
        ),
        *("jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec"),
        *("e.g", "i.e", "a.k.a", "viz"),
    )
)
_INITIALS = re.compile(r"(?:[^\W\d_]\.)+")
_NUMBERED = frozenset({"no", "nos", "p", "pp", "vol", "fig", "figs", "ch", "sec", "eq"})


@dataclass(frozen=True)
class Segmentation:
    """When a sentence closes: at a separator, a silence, or a length, whichever comes first.

    Args:
        separators: marks that end a sentence. Abbreviations, decimals, initials and closing quotes are understood.
        silence: seconds between two words from which the sentence closes; None = silence does not close it.
        max_words: words after which it closes.
        max_seconds: seconds after which it closes.
        gap_frames: NeMo's `segment_gap_threshold`, in encoder frames. NeMo then closes at a separator only where the
            sentence is still empty; so it is here.
    """

    separators: tuple[str, ...] = SEPARATORS
    silence: float | None = None
    max_words: int | None = None
    max_seconds: float | None = None
    gap_frames: int | None = None

    def __post_init__(self) -> None:
        if isinstance(self.separators, str) or not all(isinstance(s, str) and s for s in self.separators):
            raise DecodingError(f"Segmentation.separators is a tuple of marks, not {self.separators!r}.")
        for name in ("silence", "max_seconds"):
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value > 0):
                raise DecodingError(f"Segmentation.{name} is a number of seconds above 0, or None, not {value!r}.")
        for name in ("max_words", "gap_frames"):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, int) and value >= 1):
                raise DecodingError(f"Segmentation.{name} is a whole number from 1, or None, not {value!r}.")


def sentences_of(
    words: Sequence[Word], segmentation: Segmentation, *, frame_seconds: float = 0.08, aggregation: str = "min"
) -> tuple[Sentence, ...]:
    """Group words into sentences.

    Args:
        frame_seconds: seconds of an encoder frame, for `gap_frames`.
        aggregation: how the words' confidences make the sentence's.
    """
    groups: list[list[Word]] = []
    open_: list[Word] = []
    for i, word in enumerate(words):
        following = words[i + 1] if i + 1 < len(words) else None
        if open_ and _closes_before(open_, word, segmentation, frame_seconds):
            groups.append(open_)
            open_ = []
        open_.append(word)
        if _closes_after(open_, word, following, segmentation):
            groups.append(open_)
            open_ = []
    if open_:
        groups.append(open_)
    return tuple(_sentence(group, aggregation) for group in groups)


def _closes_before(open_: Sequence[Word], word: Word, segmentation: Segmentation, frame_seconds: float) -> bool:
    gap = word.start - open_[-1].end
    if segmentation.gap_frames is not None and round(gap / frame_seconds) >= segmentation.gap_frames:
        return True
    if segmentation.silence is not None and gap >= segmentation.silence:
        return True
    if segmentation.max_words is not None and len(open_) >= segmentation.max_words:
        return True
    return segmentation.max_seconds is not None and word.end - open_[0].start > segmentation.max_seconds


def _closes_after(open_: Sequence[Word], word: Word, following: Word | None, segmentation: Segmentation) -> bool:
    if segmentation.gap_frames is not None and len(open_) > 1:
        return False  # NeMo asks for the gap first, and for the separator only in an `elif`
    return ends_sentence(word.text, following.text if following else None, segmentation.separators)


def ends_sentence(word: str, following: str | None, separators: Sequence[str]) -> bool:
    """Whether a sentence ends with `word`, given the word after it (None at the end)."""
    core = word.rstrip(CLOSING)
    mark = next((s for s in separators if core.endswith(s)), None)
    if mark is None:
        return False
    if mark != "." or following is None:
        return True
    return not _is_abbreviated(core.lstrip("\"'“‘«‹([{¿¡"), following)


def _is_abbreviated(word: str, following: str) -> bool:
    stem = word[:-1].lower()
    goes_on = following[:1].islower()
    if stem in _NUMBERED:
        return following[:1].isdigit() or goes_on
    if stem in ABBREVIATIONS:
        return True
    if _INITIALS.fullmatch(word) and len(stem) > 1:  # "U.S." may end a sentence: only if no small letter follows
        return goes_on
    # A single letter is an initial when a name follows it; "I" ends sentences.
    return len(stem) == 1 and stem.isalpha() and word[0].isupper() and word != "I."


def _sentence(words: Sequence[Word], aggregation: str) -> Sentence:
    return Sentence(
        text=" ".join(word.text for word in words),
        start=words[0].start,
        end=words[-1].end,
        confidence=aggregate([word.confidence for word in words], aggregation),
        words=tuple(words),
    )
