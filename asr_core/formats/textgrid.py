"""Praat TextGrid: interval tiers, written in the long form; long and short forms and point tiers are read.

An interval tier covers the whole recording: gaps are intervals without text. Intervals have a length and do not
overlap; `layout.intervals` says how tokens without length and several labels on one frame are placed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from asr_core.alignment import Transcript
from asr_core.formats.contents import Contents, Malformed, Row, Track, kind_of, number, shown
from asr_core.formats.layout import Source, as_document, length, one_line, one_tier, timed_tiers

NAME = "TextGrid"
SUFFIXES = ("textgrid",)
TIERS = ("tokens", "words", "sentences")
KEEPS = "All tiers; texts on one line, times to the millisecond. No confidences. What has no length gets 80 or 1 ms."

Interval = tuple[int, int, str]


def render(source: Source, tier: str | None, name: str) -> str:
    """The file: all tiers, or the one that is named."""
    tier = one_tier(TIERS, tier) if isinstance(source, Transcript) and tier is not None else tier
    document = as_document(source)
    chosen = [one.name for one in document.tiers] if tier is None else [tier]
    placed = timed_tiers(document, chosen, TIERS, keep=lambda item: bool(one_line(item.text)))
    tiers = {name: [(start, end, one_line(item.text)) for start, end, item in one] for name, one in placed.items()}
    end = max(1, round(length(source) * 1000), *(found[-1][1] for found in tiers.values() if found))
    head = f'File type = "ooTextFile"\nObject class = "TextGrid"\n\nxmin = 0\nxmax = {_seconds(end)}\n'
    body = "".join(_tier(i, name, _filled(found, end), end) for i, (name, found) in enumerate(tiers.items(), 1))
    return f"{head}tiers? <exists>\nsize = {len(tiers)}\nitem []:\n{body}"


def sniff(text: str) -> bool:
    """Whether it names itself a TextGrid."""
    return "ooTextFile" in text[:200] and '"TextGrid"' in text[:400]


def read(text: str, wanted: str | None) -> Contents:
    """All tiers; their names say what they hold ("words", "Word 2", ...). Intervals without text are gaps.

    Praat reads quoted texts, flags and numbers that stand alone, and takes all else for comments; so does this, which
    makes the long and the short form the same.
    """
    pieces = _Pieces(text)
    line, kind = pieces.text("the type of the file")
    if not kind.startswith("ooTextFile"):
        raise Malformed(line, f'a TextGrid begins with File type = "ooTextFile", not with {shown(kind)}.')
    line, kind = pieces.text("the class of the object")
    if kind != "TextGrid":
        raise Malformed(line, f'the object\'s class is "TextGrid", not {shown(kind)}.')
    pieces.number("where the recording begins")
    _, duration = pieces.number("where the recording ends")
    if pieces.flag() == "<absent>":
        return Contents((), duration)
    _, count = pieces.number("how many tiers there are")
    tracks = []
    while len(tracks) < count:
        tracks.append(_read_tier(pieces))
    pieces.finish(f"the {count:g} tiers that the file says it has")
    return Contents(tuple(tracks), duration)


def _read_tier(pieces: _Pieces) -> Track:
    line, kind = pieces.text("the class of a tier")
    if kind not in ("IntervalTier", "TextTier"):
        raise Malformed(line, f'tiers are of the class "IntervalTier" or "TextTier", not {shown(kind)}.')
    _, name = pieces.text("the name of a tier")
    pieces.number("where the tier begins")
    pieces.number("where the tier ends")
    _, count = pieces.number(f"the size of the tier {shown(name)}")
    rows: list[Row] = []
    before = -math.inf
    for done in range(max(0, int(count))):
        what = f"{int(count)} items of the tier {shown(name)}, of which {done} are there"
        line, start = pieces.number(what)
        end = pieces.number(what)[1] if kind == "IntervalTier" else start
        _, label = pieces.text(what)
        if start < before - 1e-6:
            raise Malformed(line, f"this item begins at {start:g} s, before the one ahead of it ends at {before:g} s.")
        before = end
        if label.strip() or kind == "TextTier":
            rows.append(Row(line, start, end, label))
    return Track(name.strip() or "tier", kind_of(name), tuple(rows))


@dataclass(frozen=True)
class _Piece:
    line: int
    kind: str
    value: str


class _Pieces:
    """The texts, flags and numbers of a file, one after the other."""

    _PATTERN = re.compile(
        r'"(?P<text>[^"]*(?:""[^"]*)*)"|(?P<open>")|(?<!\S)(?P<comment>![^\n\r]*)|(?P<flag><[a-z]+>)'
        r"|(?<!\S)(?P<number>[-+]?[0-9]+(?:[.,][0-9]+)?(?:[eE][-+]?[0-9]+)?)%?(?!\S)"
    )

    def __init__(self, text: str) -> None:
        self._text = text.replace("\r\n", "\n").replace("\r", "\n")
        self._found = self._PATTERN.finditer(self._text)
        self._at, self._line = 0, 1

    def text(self, what: str) -> tuple[int, str]:
        line, value = self._next("text", f"{what} in quotes", what)
        return line, value.replace('""', '"')

    def number(self, what: str) -> tuple[int, float]:
        line, value = self._next("number", "a number", what)
        return line, number(value, line, "A value")

    def flag(self) -> str:
        return self._next("flag", "<exists>", "whether there are tiers")[1]

    def finish(self, what: str) -> None:
        if (piece := self._piece()) is not None:
            raise Malformed(piece.line, f"more follows after {what}: {shown(piece.value)}.")

    def _next(self, kind: str, wanted: str, what: str) -> tuple[int, str]:
        piece = self._piece()
        if piece is None:
            raise Malformed(self._line, f"the file ends before {what}; it may have been cut off.")
        if piece.kind == "open":
            raise Malformed(piece.line, "the quote that opens here is never closed; the file may have been cut off.")
        if piece.kind != kind:
            raise Malformed(piece.line, f"here stands {shown(piece.value)} in place of {wanted} ({what}).")
        return piece.line, piece.value

    def _piece(self) -> _Piece | None:
        for match in self._found:
            self._line += self._text.count("\n", self._at, match.start())
            self._at = match.start()
            if match.lastgroup != "comment":
                return _Piece(self._line, match.lastgroup, match.group(match.lastgroup))
        self._line += self._text.count("\n", self._at)
        self._at = len(self._text)
        return None


def _filled(found: Sequence[Interval], end: int) -> list[Interval]:
    filled, at = [], 0
    for interval in [*found, (end, end, "")]:
        if interval[0] > at:
            filled.append((at, interval[0], ""))
        if interval[1] > interval[0]:
            filled.append(interval)
        at = interval[1]
    return filled


def _tier(number: int, name: str, filled: Sequence[Interval], end: int) -> str:
    head = (
        f'    item [{number}]:\n        class = "IntervalTier"\n        name = {_quoted(one_line(name))}\n'
        f"        xmin = 0\n        xmax = {_seconds(end)}\n        intervals: size = {len(filled)}\n"
    )
    return head + "".join(
        f"        intervals [{i}]:\n            xmin = {_seconds(start)}\n            xmax = {_seconds(stop)}\n"
        f"            text = {_quoted(text)}\n"
        for i, (start, stop, text) in enumerate(filled, 1)
    )


def _quoted(text: str) -> str:
    """Praat doubles a quote inside quotes."""
    return '"' + text.replace('"', '""') + '"'


def _seconds(milliseconds: int) -> str:
    return f"{milliseconds / 1000:.3f}"
