"""The choices of the settings card beside the decoder's, and what they mean to the core."""

from __future__ import annotations

import asr_core

MIX = "mix"
#: Where sentences end: name, and what that means.
SEGMENTATIONS = {
    "Punctuation": asr_core.Segmentation(),
    "Silence": asr_core.Segmentation(separators=(), silence=0.5),
    "Length": asr_core.Segmentation(separators=(), max_seconds=5.0),
}


def segmentation_of(name: str) -> asr_core.Segmentation:
    return SEGMENTATIONS.get(name, SEGMENTATIONS["Punctuation"])


def channel_of(choice: str | None) -> int | None:
    """The index of the channel, or None for the mean of all."""
    return int(choice) if choice and choice.isdecimal() else None


def channel_choices(count: int) -> list[tuple[str, str]]:
    """(name, choice) for a recording with that many channels."""
    return [("Mix of all", MIX), *((str(i + 1), str(i)) for i in range(count if count > 1 else 0))]
