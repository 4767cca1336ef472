"""CTM (NIST sclite): recording, channel, start, duration, word, confidence; separated by spaces, times in seconds."""

from __future__ import annotations

import re

from asr_core.alignment import Transcript
from asr_core.formats.layout import intervals, one_line, one_tier

TIERS = ("words", "tokens")


def render(transcript: Transcript, tier: str | None, name: str) -> str:
    """The file; a space inside a word becomes "_", and items without text are left out.

    Args:
        name: of the recording.
    """
    # ";;" at the front makes a comment of the line.
    name = re.sub(r"\s+", "_", one_line(name)).lstrip(";") or "audio"
    items = [item for item in getattr(transcript, one_tier(TIERS, tier)) if one_line(item.text)]
    times = intervals(((item.start, item.end) for item in items), transcript.duration)
    return "".join(
        f"{name} 1 {start / 1000:.3f} {(end - start) / 1000:.3f} {one_line(item.text).replace(' ', '_')}"
        f" {item.confidence:.4f}\n"
        for item, (start, end) in zip(items, times, strict=True)
    )
