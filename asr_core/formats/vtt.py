"""WebVTT subtitles (W3C). Words of a sentence carry their start as a timestamp tag, so that players can follow them.

"&", "<" and ">" are escaped, so the text can hold neither a tag nor the arrow of a cue.
"""

from __future__ import annotations

from asr_core.alignment import Transcript
from asr_core.formats.layout import Cue, Piece, clock, cues, one_tier

TIERS = ("sentences", "words")


def render(transcript: Transcript, tier: str | None, name: str) -> str:
    """The file; times are hh:mm:ss.mmm."""
    blocks = (
        f"\n{clock(cue.start, '.')} --> {clock(cue.end, '.')}\n{_text(cue)}\n"
        for cue in cues(transcript, one_tier(TIERS, tier))
    )
    return "WEBVTT\n" + "".join(blocks)


def _text(cue: Cue) -> str:
    return "\n".join("".join(_word(piece, cue, piece is line[0]) for piece in line) for line in cue.lines)


def _word(piece: Piece, cue: Cue, begins_line: bool) -> str:
    """A tag's time lies inside its cue (W3C): the first word has none."""
    text = ("" if begins_line else " ") + escape(piece.text)
    return text if piece.start == cue.start else f"<{clock(piece.start, '.')}><c>{text}</c>"


def escape(text: str) -> str:
    """Text that a WebVTT reader takes literally."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
