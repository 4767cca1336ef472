"""Plain text: a sentence a line (or a word, or a token)."""

from __future__ import annotations

from asr_core.alignment import Transcript
from asr_core.formats.layout import one_line, one_tier

TIERS = ("sentences", "words", "tokens")


def render(transcript: Transcript, tier: str | None, name: str) -> str:
    """The file. Items without text are left out."""
    lines = (one_line(item.text) for item in getattr(transcript, one_tier(TIERS, tier)))
    return "".join(line + "\n" for line in lines if line)
