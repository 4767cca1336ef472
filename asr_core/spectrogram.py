"""Pictures of sound: a grey spectrogram of any span at any size, for the screen."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

#: Samples of one analysis frame.
FRAME = 512
#: dB from black to white.
RANGE_DB = 70.0
#: The quietest full scale, so that silence stays white instead of becoming a picture of its rounding.
FLOOR_DB = -35.0
MAX_WIDTH = 1600
_WINDOW = np.hanning(FRAME).astype(np.float32)


def reference(samples: np.ndarray, sample_rate: int = 16_000) -> float:
    """The level, in dB, that tiles of a recording show as black: one for all, so that neighbouring tiles agree."""
    count = min(2000, max(1, len(samples) // FRAME))
    power = _power(samples, np.linspace(0, max(0, len(samples) - FRAME), count).astype(int))
    return max(FLOOR_DB, float(10 * np.log10(np.percentile(power, 99.5) + 1e-12)))


def tile(
    samples: np.ndarray,
    start: float,
    end: float,
    width: int,
    height: int,
    *,
    sample_rate: int = 16_000,
    top: float = 8_000.0,
    level: float | None = None,
) -> np.ndarray:
    """A picture of exactly [`start`, `end`] seconds.

    Args:
        samples: (samples,) float.
        width, height: in pixels; a column is one frame of 512 samples around its time.
        top: Hz of the upper edge.
        level: dB shown as black; None = computed from the samples.
    Returns:
        (height, width) uint8, 255 the loudest; low frequencies in the last row.
    """
    width, height = min(max(1, width), MAX_WIDTH), max(1, height)
    level = reference(samples, sample_rate) if level is None else level
    middles = (start + (np.arange(width) + 0.5) / width * (end - start)) * sample_rate
    power = _power(samples, np.rint(middles - FRAME / 2).astype(int))
    bins = np.clip((np.arange(height) + 0.5) / height * top / sample_rate * FRAME, 0, FRAME // 2)
    low = np.floor(bins).astype(int)
    high, share = np.minimum(low + 1, FRAME // 2), bins - low
    loudness = 10 * np.log10(power + 1e-12)
    rows = loudness[:, low] * (1 - share) + loudness[:, high] * share
    grey = np.clip((rows - level) / RANGE_DB + 1, 0, 1)
    return np.ascontiguousarray((grey * 255).astype(np.uint8).T[::-1])


def _power(samples: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """(frames, FRAME // 2 + 1) float32 power of Hann frames; beyond the recording is silence."""
    if len(samples) < FRAME:
        samples = np.pad(samples, (0, FRAME - len(samples)))
    last = len(samples) - FRAME
    frames = sliding_window_view(samples, FRAME)[np.clip(starts, 0, last)].astype(np.float32, copy=False)
    for i in np.flatnonzero((starts < 0) | (starts > last)):
        inside = samples[max(0, starts[i]) : max(0, starts[i] + FRAME)]
        before = min(FRAME, max(0, -starts[i]))
        frames[i] = np.pad(inside, (before, FRAME - before - len(inside)))
    spectrum = np.fft.rfft(frames * _WINDOW)
    return spectrum.real**2 + spectrum.imag**2
