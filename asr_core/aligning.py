"""Times for a text that is known: long recordings are cut where the recogniser heard what the text says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from asr_core.alignment import Word

#: Seconds that are aligned in one piece, at most, where anchors allow.
PIECE = 30.0
#: Words in a row that must agree before a cut may go between them.
AGREE = 3


@dataclass(frozen=True)
class Piece:
    """A part of a text, and the seconds it lies in."""

    text: str
    start: float
    end: float


def pieces(text: str, heard: Sequence[Word], duration: float, length: float = PIECE) -> list[Piece]:
    """Cut a text and a recording into parts that belong together.

    A cut goes between two words that the recogniser heard in a row as the text has them, at the middle of the silence
    between them; parts are as long as `length` allows.

    Args:
        heard: the recogniser's words, in order of time.
        duration: seconds of the recording.
    """
    words = text.split()
    matcher = SequenceMatcher(None, [_plain(w) for w in words], [_plain(w.text) for w in heard], autojunk=False)
    cuts: list[tuple[int, float]] = []  # how many words stand before it, and when
    for block in matcher.get_matching_blocks():
        if block.size < AGREE:
            continue
        for offset in range(1, block.size):
            before, after = heard[block.b + offset - 1], heard[block.b + offset]
            cuts.append((block.a + offset, (before.end + after.start) / 2))
    parts: list[Piece] = []
    first, start = 0, 0.0
    for index, (position, when) in enumerate(cuts):
        following = cuts[index + 1][1] if index + 1 < len(cuts) else duration
        if following - start > length and when > start:
            parts.append(Piece(" ".join(words[first:position]), start, when))
            first, start = position, when
    parts.append(Piece(" ".join(words[first:]), start, duration))
    return parts


def _plain(word: str) -> str:
    return "".join(c for c in word.casefold() if c.isalnum())
