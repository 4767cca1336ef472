"""Where one sentence ends and the next begins."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Segmentation:
    """When a sentence closes: at a separator, a silence, or a length, whichever comes first.

    Args:
        separators: marks that end a sentence. Abbreviations, decimals, initials and closing quotes are understood.
        silence: seconds between two words from which the sentence closes; None = silence does not close it.
        max_words: words after which it closes.
        max_seconds: seconds after which it closes.
        gap_frames: NeMo's `segment_gap_threshold`, in encoder frames; reproduces NeMo's rule with it.
    """

    separators: tuple[str, ...] = (".", "?", "!", "。", "？", "！", "।", "؟")
    silence: float | None = None
    max_words: int | None = None
    max_seconds: float | None = None
    gap_frames: int | None = None
