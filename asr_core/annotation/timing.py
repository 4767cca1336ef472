"""Times that fit together: no overlaps, parts inside wholes, words inside a text."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Protocol, TypeVar

from asr_core.annotation.segments import DECIMALS

Span = tuple[float, float]


class Timed(Protocol):
    """What has a text and lasts for a while: segments, tokens, words, sentences."""

    @property
    def text(self) -> str: ...
    @property
    def start(self) -> float: ...
    @property
    def end(self) -> float: ...


Part = TypeVar("Part", bound=Timed)


def placed(spans: Iterable[Span], limit: float = math.inf) -> list[Span]:
    """Seconds in order, without overlap, from 0 to `limit`, in whole microseconds.

    An item ends where the next one starts. Items that start together (labels of one frame) share their time evenly;
    those without length keep none.

    Args:
        limit: whole microseconds as well.
    """
    starts: list[float] = []
    ends: list[float] = []
    for start, end in spans:
        starts.append(min(max(round(start, DECIMALS), starts[-1] if starts else 0.0), limit))
        ends.append(min(max(round(end, DECIMALS), starts[-1]), limit))
    found: list[Span] = []
    while len(found) < len(starts):
        first = last = len(found)
        while last < len(starts) and starts[last] == starts[first]:
            last += 1
        found += _shared(starts[first], ends[first:last], starts[last] if last < len(starts) else limit)
    return found


def members(wholes: Sequence[Timed], parts: Sequence[Part]) -> list[list[Part]]:
    """The parts of each whole: those whose middle it covers. Parts outside of all are left out.

    A part without length where two wholes meet goes on with the text of the first, or else begins that of the second.
    """
    groups: list[list[Part]] = [[] for _ in wholes]
    at, rest = 0, _Rest(wholes[0].text) if wholes else None
    for part in parts:
        middle, text = (part.start + part.end) / 2, _letters(part.text)
        while at < len(wholes) and (
            wholes[at].end < middle
            or (
                wholes[at].end == middle
                and not rest.begins_with(text)
                and _opens(wholes[at + 1 : at + 2], middle, text)
            )
        ):
            at += 1
            rest = _Rest(wholes[at].text) if at < len(wholes) else rest
        if at < len(wholes) and wholes[at].start <= middle:
            groups[at].append(part)
            rest.take(text)
    return groups


class _Rest:
    """What is left of a text while its parts are taken from its front."""

    def __init__(self, text: str) -> None:
        self._text, self._at = _letters(text), 0

    def begins_with(self, text: str) -> bool:
        return self._at is not None and self._text.startswith(text, self._at)

    def take(self, text: str) -> None:
        self._at = self._at + len(text) if self.begins_with(text) else None


def straddling(wholes: Sequence[Timed], parts: Sequence[Part]) -> Part | None:
    """The first part that lies across the border of a whole; None = every part lies inside one or outside of all."""
    at = 0
    for part in parts:
        while at < len(wholes) and wholes[at].end <= part.start:
            at += 1
        if at == len(wholes):
            return None
        whole = wholes[at]
        if part.start < part.end and whole.start < part.end and not whole.start <= part.start <= part.end <= whole.end:
            return part
    return None


def divided(weights: Sequence[int], start: float, end: float) -> list[Span]:
    """A time cut into touching parts in proportion to their weights."""
    total, done, at, found = sum(weights), 0, start, []
    for weight in weights:
        done += weight
        until = end if done == total else round(start + (end - start) * done / total, DECIMALS)
        found.append((at, until))
        at = until
    return found


def spread(text: str, start: float, end: float) -> list[tuple[str, float, float]]:
    """The words of a text over its time, by their letters, each up to the next."""
    words = text.split()
    spans = divided([len(word) for word in words], start, end)
    return [(word, *span) for word, span in zip(words, spans, strict=True)]


def _shared(start: float, ends: Sequence[float], limit: float) -> list[Span]:
    lasting = sum(end > start for end in ends)
    until = min(max(ends), limit)
    found, at, shared = [], start, 0
    for end in ends:
        if end > start:
            shared += 1
            to = until if shared == lasting else round(start + (until - start) * shared / lasting, DECIMALS)
        else:
            to = at
        found.append((at, to))
        at = to
    return found


def _opens(following: Sequence[Timed], middle: float, text: str) -> bool:
    """Whether a part at this time can be the first of the next whole."""
    return bool(following and text) and following[0].start <= middle and _letters(following[0].text).startswith(text)


@lru_cache(maxsize=1 << 16)
def _letters(text: str) -> str:
    return "".join(text.split())
