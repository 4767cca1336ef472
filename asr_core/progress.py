"""How far a piece of work is."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from asr_core.errors import Cancelled

if TYPE_CHECKING:
    from asr_core.alignment import Transcript


@dataclass(frozen=True)
class Progress:
    """`done` of `total`, in seconds of audio or in bytes, and the stage: "transcribe", "download" or "load".

    Args:
        partial: makes the transcript of what was heard so far, of one recording through one decoder; it is to be called
            before `OnProgress` returns. None where there is no such thing.
    """

    done: float
    total: float
    stage: str
    partial: Callable[[], Transcript] | None = field(default=None, repr=False, compare=False)


OnProgress = Callable[[Progress], None]


def go_on(cancel: threading.Event | None) -> None:
    """Raise Cancelled where nobody wants the work any more."""
    if cancel is not None and cancel.is_set():
        raise Cancelled
