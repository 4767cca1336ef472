"""Subtitles: words on the lines of cues, and their clock."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from asr_core.alignment import Sentence
from asr_core.annotation.document import Document
from asr_core.annotation.segments import Segment
from asr_core.annotation.timing import Timed, spread
from asr_core.formats.contents import Malformed, shown
from asr_core.formats.layout import Source, intervals, items, length, one_line

#: Characters of a line and lines of a cue, as subtitle guidelines have them.
MAX_CHARACTERS = 42
MAX_LINES = 2
_CLOCK = r"(?:([0-9]{1,4}):)?([0-9]{1,2}):([0-9]{1,2})[.,]([0-9]{1,3})"
_TIMES = re.compile(rf"{_CLOCK}\s*-->\s*{_CLOCK}(?:\s.*)?")


@dataclass(frozen=True)
class Piece:
    """A word, or a part of one that is too long for a line, in milliseconds."""

    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Cue:
    """Lines that are shown together, each a tuple of pieces. `timed`: whether the words have times of their own."""

    lines: tuple[tuple[Piece, ...], ...]
    speaker: str | None = None
    timed: bool = True

    @property
    def start(self) -> int:
        """Milliseconds."""
        return self.lines[0][0].start

    @property
    def end(self) -> int:
        """Milliseconds; more than `start`."""
        return self.lines[-1][-1].end


def cues(source: Source, tier: str | None, accepted: Sequence[str] = ("sentences", "words")) -> list[Cue]:
    """Subtitles in order of time: a cue for each word, or for each sentence as far as it fits the lines of one cue.

    All tiers of sentences of a document are written, since cues may overlap.
    """
    several = isinstance(source, Document) and tier is None
    tiers = [t.segments for t in source.tiers if t.kind == "sentences"] if several else []
    found = [cue for one in tiers or [items(source, accepted, tier)] for cue in _cues_of(source, one)]
    return sorted(found, key=lambda cue: cue.start)


def clock(milliseconds: int, mark: str) -> str:
    """hh:mm:ss, the decimal mark, and three digits."""
    seconds, rest = divmod(milliseconds, 1000)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}{mark}{rest:03}"


def _parts(word: Timed) -> list[tuple[str, float, float]]:
    """A word for lines: scripts without spaces write words longer than a line."""
    text = one_line(word.text)
    count = -(-len(text) // MAX_CHARACTERS)
    step = (word.end - word.start) / max(count, 1)
    return [
        (text[i * MAX_CHARACTERS : (i + 1) * MAX_CHARACTERS], word.start + i * step, word.start + (i + 1) * step)
        for i in range(count)
    ]


def _cues_of(source: Source, tier: Sequence[Timed]) -> list[Cue]:
    said = _with_words(source, tier) if isinstance(source, Document) else tier
    parts = [[part for word in _words(item) for part in _parts(word)] for item in said]
    times = iter(intervals(((start, end) for group in parts for _, start, end in group), length(source)))
    pieces = [[Piece(text, *next(times)) for text, _, _ in group] for group in parts]
    return [
        Cue(lines, getattr(item, "speaker", None), timed=not isinstance(words, Segment))
        for item, words, group in zip(tier, said, pieces, strict=True)
        for lines in _screens(group)
    ]


def _with_words(source: Document, tier: Sequence[Timed]) -> Sequence[Timed]:
    """Segments as sentences where the document's words say the same; those have times of their own."""
    own = source.first("sentences")
    if own is None or own.segments is not tier or source.first("words") is None:
        return tier
    sentences = source.transcript().sentences
    agreeing = ([w for word in s.words for w in word.text.split()] == s.text.split() for s in sentences)
    return [s if agrees else segment for s, segment, agrees in zip(sentences, tier, agreeing, strict=True)]


def _words(item: Timed) -> Sequence[Timed]:
    if isinstance(item, Sentence):
        return item.words
    if isinstance(item, Segment):
        return [Piece(*word) for word in spread(item.text, item.start, item.end)]
    return [item]


def _screens(pieces: Sequence[Piece]) -> list[tuple[tuple[Piece, ...], ...]]:
    """Lines of words, as many as are shown together."""
    lines: list[list[Piece]] = []
    width = 0
    for piece in pieces:
        if lines and width + 1 + len(piece.text) <= MAX_CHARACTERS:
            lines[-1].append(piece)
            width += 1 + len(piece.text)
        else:
            lines.append([piece])
            width = len(piece.text)
    return [tuple(map(tuple, lines[i : i + MAX_LINES])) for i in range(0, len(lines), MAX_LINES)]


def seconds(hours: str | None, minutes: str, whole: str, fraction: str, line: int) -> float:
    """The parts of a cue's clock as seconds."""
    if int(minutes) > 59 or int(whole) > 59:
        raise Malformed(line, f"minutes and seconds go up to 59, not to {max(int(minutes), int(whole))}.")
    return int(hours or 0) * 3600 + int(minutes) * 60 + int(whole) + int(fraction.ljust(3, "0")) / 1000


def cue_times(line: str, number: int, mark: str) -> tuple[float, float]:
    """Start and end of the line with the arrow; decimal points and commas are both taken.

    Args:
        mark: the one that the format wants, for the message.
    """
    found = _TIMES.fullmatch(line.strip())
    if found is None:
        wanted = f"hh:mm:ss{mark}mmm --> hh:mm:ss{mark}mmm"
        raise Malformed(number, f"the times of a cue are written {wanted}, not {shown(line.strip())}.")
    return seconds(*found.groups()[:4], number), seconds(*found.groups()[4:], number)
