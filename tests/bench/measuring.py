"""Timing on a machine that others use too: A and B take turns, and medians are compared."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import NamedTuple


class Pair(NamedTuple):
    """Median seconds of both, and the median of the ratios of neighbours: how many times faster ours is."""

    ours: float
    peer: float
    ratio: float


def timed(job: Callable[[], object]) -> float:
    """Seconds that a job takes."""
    started = time.perf_counter()
    job()
    return time.perf_counter() - started


def interleaved(
    ours: Callable[[], object], peer: Callable[[], object], times: int = 5, *, clock: Callable = timed
) -> Pair:
    """Time two jobs in turn. `clock` takes a job and gives its seconds."""
    pairs = [(clock(ours), clock(peer)) for _ in range(times)]
    return Pair(median(a for a, _ in pairs), median(b for _, b in pairs), median(b / a for a, b in pairs))
