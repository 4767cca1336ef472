"""How far a piece of work is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """`done` of `total`, in seconds of audio or in bytes, and the stage: "transcribe", "download" or "load"."""

    done: float
    total: float
    stage: str


OnProgress = Callable[[Progress], None]
