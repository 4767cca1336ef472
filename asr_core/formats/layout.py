"""What the subtitle and interval formats share: whole milliseconds, text on one line, words on lines of cues."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from asr_core.alignment import Transcript, Word
from asr_core.errors import FormatError

#: Milliseconds that an item without length is given where there is room: one encoder frame of a Parakeet model.
FRAME = 80
#: Characters of a line and lines of a cue, as subtitle guidelines have them.
MAX_CHARACTERS = 42
MAX_LINES = 2


@dataclass(frozen=True)
class Piece:
    """A word, or a part of one that is too long for a line, in milliseconds."""

    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Cue:
    """Lines that are shown together, each a tuple of pieces."""

    lines: tuple[tuple[Piece, ...], ...]

    @property
    def start(self) -> int:
        """Milliseconds."""
        return self.lines[0][0].start

    @property
    def end(self) -> int:
        """Milliseconds; more than `start`."""
        return self.lines[-1][-1].end


def one_line(text: str) -> str:
    """The text without line breaks, control characters and runs of white space."""
    return " ".join("".join(" " if unicodedata.category(c) == "Cc" else c for c in text).split())


def one_tier(accepted: Sequence[str], tier: str | None) -> str:
    """The tier that is meant: the first accepted one where none is named."""
    if tier is None:
        return accepted[0]
    if tier not in accepted:
        raise FormatError(f"This format holds one of the tiers {', '.join(accepted)}, not {tier!r}.")
    return tier


def intervals(spans: Iterable[tuple[float, float]], duration: float) -> list[tuple[int, int]]:
    """Seconds to whole milliseconds: in order, without overlap, each at least 1 ms, inside the recording.

    Seconds are rounded once. An item without length is widened to one frame, or to the next item's start. Items that
    start together (labels of one frame) share their time evenly; beside them an item without length gets 1 ms. An item
    ends where the next one starts. Only where `duration` has fewer milliseconds than items does the last end after it.
    """
    starts, ends = [], []
    for start, end in spans:
        starts.append(max(round(start * 1000), starts[-1] if starts else 0))
        ends.append(max(round(end * 1000), starts[-1]))
    placed: list[tuple[int, int]] = []
    first = 0
    while first < len(starts):
        last = first
        while last < len(starts) and starts[last] == starts[first]:
            last += 1
        following = starts[last] if last < len(starts) else None
        placed += _share(max(starts[first], placed[-1][1] if placed else 0), ends[first:last], following)
        first = last
    return _inside(placed, round(duration * 1000))


def cues(transcript: Transcript, tier: str) -> list[Cue]:
    """Subtitles: a cue for each word, or for each sentence as far as it fits the lines of one cue."""
    groups = [[word] for word in transcript.words] if tier == "words" else [s.words for s in transcript.sentences]
    parts = [[part for word in group for part in _parts(word)] for group in groups]
    times = iter(intervals(((start, end) for group in parts for _, start, end in group), transcript.duration))
    pieces = [[Piece(text, *next(times)) for text, _, _ in group] for group in parts]
    return [cue for group in pieces for cue in _cues(group)]


def clock(milliseconds: int, mark: str) -> str:
    """hh:mm:ss, the decimal mark, and three digits."""
    seconds, rest = divmod(milliseconds, 1000)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}{mark}{rest:03}"


def _share(start: int, ends: Sequence[int], following: int | None) -> list[tuple[int, int]]:
    """Intervals from `start` for items that begin together."""
    lasting = [end > start for end in ends]
    stop = max(ends) if any(lasting) else start + FRAME
    if following is not None:
        stop = min(stop, following)
    stop = max(stop, start + len(ends))
    sharing = sum(lasting) or len(ends)
    room = stop - start - (len(ends) - sharing)
    placed, at, shared = [], start, 0
    for lasts in lasting:
        if lasts or not any(lasting):
            width = room * (shared + 1) // sharing - room * shared // sharing
            shared += 1
        else:
            width = 1
        placed.append((at, at + width))
        at += width
    return placed


def _inside(placed: Sequence[tuple[int, int]], limit: int) -> list[tuple[int, int]]:
    """Push back from the end what stands behind it."""
    limit = max(limit, len(placed))
    moved = []
    for start, end in reversed(placed):
        end = min(end, limit)
        limit = min(start, end - 1)
        moved.append((limit, end))
    return moved[::-1]


def _parts(word: Word) -> list[tuple[str, float, float]]:
    """A word for lines: scripts without spaces write words longer than a line."""
    text = one_line(word.text)
    count = -(-len(text) // MAX_CHARACTERS)
    step = (word.end - word.start) / max(count, 1)
    return [
        (text[i * MAX_CHARACTERS : (i + 1) * MAX_CHARACTERS], word.start + i * step, word.start + (i + 1) * step)
        for i in range(count)
    ]


def _cues(pieces: Sequence[Piece]) -> list[Cue]:
    lines: list[list[Piece]] = []
    width = 0
    for piece in pieces:
        if lines and width + 1 + len(piece.text) <= MAX_CHARACTERS:
            lines[-1].append(piece)
            width += 1 + len(piece.text)
        else:
            lines.append([piece])
            width = len(piece.text)
    return [Cue(tuple(map(tuple, lines[i : i + MAX_LINES]))) for i in range(0, len(lines), MAX_LINES)]
