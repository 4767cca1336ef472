"""SubRip subtitles. The format has no escapes: "-->" in the text, which ends a cue for some readers, becomes "→"."""

from __future__ import annotations

from asr_core.alignment import Transcript
from asr_core.formats.layout import clock, cues, one_tier

TIERS = ("sentences", "words")


def render(transcript: Transcript, tier: str | None, name: str) -> str:
    """The file; times are hh:mm:ss,mmm, and no cue has an empty line."""
    blocks = []
    for i, cue in enumerate(cues(transcript, one_tier(TIERS, tier)), 1):
        text = "\n".join(" ".join(piece.text for piece in line) for line in cue.lines)
        blocks.append(f"{i}\n{clock(cue.start, ',')} --> {clock(cue.end, ',')}\n{text.replace('-->', '→')}\n")
    return "\n".join(blocks)
