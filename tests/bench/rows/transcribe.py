"""From file to text with the embedded model, against parakeet-mlx as it is installed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from statistics import median

from tests.bench import samples
from tests.bench.measuring import timed
from tests.bench.table import Line, seconds
from tests.bench.worker import Worker

TIMES = 3


def rows() -> Iterator[Line]:
    """All samples, one after the other."""
    recognizer, paths = samples.recognizer(), sorted(samples.sample_files())
    audio = sum(map(len, samples.recordings())) / samples.RATE

    def ours() -> list[str]:
        return [recognizer.transcribe(path).text for path in paths]

    with Worker("tests.bench.out_of_the_box") as worker:
        texts, theirs = ours(), worker.ask()["texts"]
        pairs = [(timed(ours), worker.ask()["seconds"]) for _ in range(TIMES)]
    same = sum(a.strip() == b.strip() for a, b in zip(texts, theirs, strict=True))
    took, peer = median(a for a, _ in pairs), median(b for _, b in pairs)
    blas = "without OpenBLAS" if sys.platform == "linux" else "same BLAS"
    yield Line(
        f"end to end, embedded model, {audio:.0f} s",
        seconds(took),
        seconds(peer),
        median(b / a for a, b in pairs),
        target=15,
        note=f"real-time factor {took / audio:.3f}; the peer {blas}; {same} of {len(texts)} texts the same",
    )
