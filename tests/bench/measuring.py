"""Timing on a machine that others use too: A and B take turns, and medians are compared."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import NamedTuple


class Rounds(NamedTuple):
    """Seconds of jobs that took turns: (jobs,) for each round."""

    seconds: list[list[float]]

    def median(self, job: int) -> float:
        """Of one job."""
        return median(took[job] for took in self.seconds)

    def ratio(self, job: int, base: int) -> float:
        """How many times longer `job` took than `base`, the median over the rounds."""
        return median(took[job] / took[base] for took in self.seconds)


def timed(job: Callable[[], object]) -> float:
    """Seconds that a job takes."""
    started = time.perf_counter()
    job()
    return time.perf_counter() - started


def in_turn(*jobs: Callable[[], object], times: int = 3) -> Rounds:
    """Time jobs one after the other, and again."""
    return Rounds([[timed(job) for job in jobs] for _ in range(times)])
