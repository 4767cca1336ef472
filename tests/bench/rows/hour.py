"""Memory that an hour of audio takes."""

from __future__ import annotations

from collections.abc import Iterator

from tests.bench.table import Line, seconds
from tests.bench.worker import Worker


def rows() -> Iterator[Line]:
    """An hour made of the samples, read from a file, in a process of its own."""
    with Worker("tests.bench.hour_worker") as worker:
        found = worker.ask()
    yield Line(
        "one hour, peak memory above the model",
        seconds(found["seconds"]),
        figure=found["bytes"] / 1e9,
        unit="GB",
        target=1.5,
        at_most=True,
        note=f"{found['tokens']} tokens, real-time factor {found['seconds'] / 3600:.3f}",
    )
