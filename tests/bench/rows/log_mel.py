"""Log-mel features."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

import numpy as np

from tests.bench import samples
from tests.bench.measuring import timed
from tests.bench.table import Line, seconds

SECONDS = 60


def rows() -> Iterator[Line]:
    """A minute of speech."""
    audio = np.resize(np.concatenate(samples.recordings()), SECONDS * samples.RATE)
    took = median(timed(lambda: samples.recognizer().features([audio])) for _ in range(7))
    yield Line("log-mel, 80 bands", seconds(took), "", SECONDS / took, note="times real time")
