"""The rows of the table. A row is a function without arguments that yields `Line`s, in a module of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tests.bench.rows import (
    annotating,
    app_start,
    beam,
    comparing,
    encoder,
    greedy,
    hour,
    live,
    log_mel,
    maes,
    transcribe,
    whisper,
)
from tests.bench.table import Line

ROWS: tuple[Callable[[], Iterable[Line]], ...] = (
    greedy.rows,
    beam.rows,
    maes.rows,
    encoder.rows,
    log_mel.rows,
    transcribe.rows,
    hour.rows,
    live.rows,
    comparing.rows,
    annotating.rows,
    app_start.rows,
    whisper.rows,
)
