"""Segments and tiers: the grain of a document."""

from __future__ import annotations

import math
import unicodedata
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from asr_core.errors import AsrError

#: What a tier holds. A document may have several tiers of a kind; the first of it counts as the document's own.
KINDS = ("tokens", "words", "sentences", "speakers", "marks", "reference", "free")
#: Digits after the point of seconds: whole microseconds, so that boundaries can be compared exactly.
DECIMALS = 6


class DocumentError(AsrError):
    """A document that would break its own rules: order, overlap, audio, cover."""


@dataclass(frozen=True)
class Segment:
    """A stretch of a recording and what is said in it.

    Args:
        id: stable within the document, whatever is edited around it.
        text: what is said; a token's text has its leading space, other texts have none at their ends.
        start, end: seconds, rounded to whole microseconds; they may be equal (punctuation has no length).
        confidence: 0 (a guess) to 1 (certain); None where nobody said.
        token_id, log_prob: of a token, its index in the vocabulary and the natural log of its probability; else None.
        speaker: who says it, where that is known.
        accepted: whether a person has looked at it and found it right.
    """

    id: int
    text: str
    start: float
    end: float
    confidence: float | None = None
    token_id: int | None = None
    log_prob: float | None = None
    speaker: str | None = None
    accepted: bool = False

    def __post_init__(self) -> None:
        if not is_whole(self.id) or self.id < 0:
            raise DocumentError(f"The id of a segment is a whole number from 0, not {self.id!r}.")
        if not isinstance(self.text, str):
            raise DocumentError(f"The text of segment {self.id} is a string, not {self.text!r}.")
        if self.speaker is not None and not (isinstance(self.speaker, str) and self.speaker):
            raise DocumentError(f"The speaker of {self} is a name or None, not {self.speaker!r}.")
        if self.token_id is not None and not is_whole(self.token_id):
            raise DocumentError(f"The token id of {self} is a whole number or None, not {self.token_id!r}.")
        for name in ("start", "end", "confidence", "log_prob"):
            value = getattr(self, name)
            if value is None and name in ("confidence", "log_prob"):
                continue
            if not is_number(value):
                raise DocumentError(f"The {name} of {self} is a finite number, not {value!r}.")
            object.__setattr__(self, name, round(float(value), DECIMALS) if name in ("start", "end") else float(value))
        if not 0 <= self.start <= self.end:
            raise DocumentError(f"{self} lasts from {self.start:g} to {self.end:g} s; 0 <= start <= end is wanted.")
        if self.confidence is not None and not 0 <= self.confidence <= 1:
            raise DocumentError(f"The confidence of {self} lies from 0 to 1; {self.confidence:g} does not.")

    def __str__(self) -> str:
        return f"segment {self.id} ({self.text[:40]!r})"


@dataclass(frozen=True)
class Tier:
    """Segments of one kind, in order of time and without overlap. Touching ones share their boundary."""

    name: str
    kind: str
    segments: tuple[Segment, ...] = ()

    def __post_init__(self) -> None:
        if not (isinstance(self.name, str) and self.name.strip()):
            raise DocumentError(f"The name of a tier is a text that can be seen, not {self.name!r}.")
        if self.kind not in KINDS:
            raise DocumentError(f"Kinds of tiers are {', '.join(KINDS)}; {self.kind!r} is none of them.")
        object.__setattr__(self, "segments", tuple(self.segments))
        for before, after in pairwise(self.segments):
            if after.start < before.end:
                raise DocumentError(
                    f"In tier {self.name!r} {after} begins at {after.start:g} s, before {before} ends at"
                    f" {before.end:g} s; segments of a tier stand in order and do not overlap."
                )

    def position(self, id: int) -> int | None:
        """Where the segment of that id stands; None = not in this tier."""
        return next((i for i, segment in enumerate(self.segments) if segment.id == id), None)


def is_whole(value: Any) -> bool:
    """Whether it is an integer, and no truth value."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Whether it is a finite number; NumPy's scalars count."""
    if type(value) is float:
        return math.isfinite(value)
    if isinstance(value, bool | str | bytes) or not hasattr(value, "__float__"):
        return False
    try:
        return math.isfinite(float(value))
    except (TypeError, ValueError, OverflowError):
        return False


def words_in(text: str) -> list[str]:
    """The words of a text, parted by white space; what nobody could see, such as a lone zero-width space, is none."""
    return [word for word in text.split() if not all(unicodedata.category(c) in ("Cc", "Cf") for c in word)]
