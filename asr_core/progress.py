"""How far a piece of work is."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from asr_core.errors import Cancelled


@dataclass(frozen=True)
class Progress:
    """`done` of `total`, in seconds of audio or in bytes, and the stage: "transcribe", "download" or "load"."""

    done: float
    total: float
    stage: str


OnProgress = Callable[[Progress], None]


def go_on(cancel: threading.Event | None) -> None:
    """Raise Cancelled where nobody wants the work any more."""
    if cancel is not None and cancel.is_set():
        raise Cancelled
