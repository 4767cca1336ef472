"""Whisper's log-mel front end (Radford et al. 2022; openai-whisper's `audio.py`), in float64 NumPy."""

from __future__ import annotations

import numpy as np

from asr_core.features import FeatureConfig

RATE = 16_000
HOP = 160
#: Seconds, samples and mel frames of the window that the encoder hears.
SECONDS = 30
SAMPLES = SECONDS * RATE
FRAMES = SAMPLES // HOP


def log_mel(samples: np.ndarray, config: FeatureConfig) -> np.ndarray:
    """Log-mel of a recording with 30 s of silence behind it, so that any window of it is whole.

    The loudest value of the whole recording decides where quiet ones are cut off.

    Args:
        samples: (samples,) float at 16 kHz.
    Returns:
        (samples // 160 + 3000, mels) float32.
    """
    half = config.n_fft // 2
    padded = np.pad(np.pad(np.asarray(samples, np.float64), (0, SAMPLES)), half, mode="reflect")
    count = len(samples) // HOP + FRAMES
    windows = np.lib.stride_tricks.sliding_window_view(padded, config.n_fft)[::HOP][:count]
    shape = np.hanning(config.n_fft + 1)[:-1]
    filters, mel = config.filterbank, np.empty((count, config.mels))
    for first in range(0, count, FRAMES):
        spectrum = np.fft.rfft(windows[first : first + FRAMES] * shape)
        mel[first : first + FRAMES] = (spectrum.real**2 + spectrum.imag**2) @ filters
    mel = np.log10(np.maximum(mel, 1e-10))
    return ((np.maximum(mel, mel.max() - 8.0) + 4.0) / 4.0).astype(np.float32)


def window(mel: np.ndarray, first: int) -> np.ndarray:
    """(3000, mels): the window that begins with a frame."""
    return mel[first : first + FRAMES]
