"""What a second of a stream costs at the end of an hour, beside the beginning."""

from __future__ import annotations

from collections.abc import Iterator

from tests.bench.table import Line
from tests.bench.worker import Worker


def rows() -> Iterator[Line]:
    """An hour in packets of 0.1 s, as fast as it goes; times are of the processor, which others' work does not move."""
    with Worker("tests.bench.live_worker") as worker:
        found = worker.ask()
    yield Line(
        "live, one hour: last 5 minutes / first 5",
        f"{found['last']:.1f} s",
        f"{found['first']:.1f} s",
        found["last"] / found["first"],
        target=1.1,
        at_most=True,
        note=f"without drafts; memory rose by {found['bytes'] / 1e6:.0f} MB from minute 5 on; {found['tokens']} tokens",
    )
    yield Line(
        "live with drafts, embedded model",
        figure=found["factor"],
        unit="x real time",
        target=0.3,
        at_most=True,
        note="a minute on the clock, drafts every 0.5 s",
    )
