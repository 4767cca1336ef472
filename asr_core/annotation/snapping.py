"""Places where a boundary is heard least, or that a model can name: zero crossings and frames."""

from __future__ import annotations

import numpy as np

#: Seconds around a time in which a zero crossing is looked for.
AROUND = 0.02


def nearest_zero_crossing(samples: np.ndarray, sample_rate: int, time: float, around: float = AROUND) -> float:
    """The time next to `time` at which the signal changes its sign, between two samples; `time` where it never does.

    Args:
        samples: (samples,) of the whole recording, of any type with a sign.
    """
    first = max(0, int((time - around) * sample_rate))
    piece = np.asarray(samples[first : int((time + around) * sample_rate) + 2], np.float64)
    if len(piece) < 2:
        return time
    before, after = piece[:-1], piece[1:]
    places = np.flatnonzero((before < 0) != (after < 0))
    if not len(places):
        return time
    height = before[places] - after[places]
    # Where the straight line between the two samples is zero.
    times = (first + places + before[places] / height) / sample_rate
    best = float(times[np.argmin(np.abs(times - time))])
    return best if abs(best - time) <= around else time


def nearest_frame(time: float, frame: float) -> float:
    """The border next to `time` between two of the model's frames, each of `frame` seconds."""
    return round(time / frame) * frame
