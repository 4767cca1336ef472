"""Audio that arrives in packets: mixed, brought to the model's rate, and turned into log-mel frames, as it comes.

What comes out does not depend on how the audio was cut into packets.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import soxr

from asr_core import features as front_end
from asr_core.audio import as_packet
from asr_core.features import FeatureConfig

#: Frames that are computed together, always counted from the first of the recording: a product of other sizes rounds
#: differently.
GROUP = 8


class RunningSamples:
    """Packets of any rate and number of channels as mono samples of one rate."""

    def __init__(self, sample_rate: int) -> None:
        self.sample_rate = sample_rate
        self._from = sample_rate
        self._resampler: soxr.ResampleStream | None = None
        self.clock = 0.0

    def feed(self, packet: Any, sample_rate: int) -> np.ndarray:
        """(samples,) float32 that are ready now.

        Args:
            packet: (n,), (n, channels) or (channels, n) samples at `sample_rate`, float or integers of full scale.
        Raises:
            AudioError: it is no such thing, or holds NaN or infinite samples.
        """
        mono, rate = as_packet(packet, sample_rate)
        before = self._drained() if rate != self._from else np.zeros(0, np.float32)
        if rate != self._from:
            self._from = rate
            self._resampler = None
            if rate != self.sample_rate:
                self._resampler = soxr.ResampleStream(rate, self.sample_rate, 1, dtype="float32", quality="VHQ")
        self.clock += len(mono) / rate
        after = mono if self._resampler is None else self._resampler.resample_chunk(mono)
        return np.concatenate([before, after]) if len(before) else after

    def finish(self) -> np.ndarray:
        """What the resampler still holds."""
        rest = self._drained()
        self._resampler = None
        self._from = self.sample_rate
        return rest

    def _drained(self) -> np.ndarray:
        if self._resampler is None:
            return np.zeros(0, np.float32)
        return self._resampler.resample_chunk(np.zeros(0, np.float32), last=True)


class RunningFeatures:
    """Log-mel frames, before normalisation, of samples that arrive bit by bit."""

    def __init__(self, config: FeatureConfig) -> None:
        self._config = config
        #: Samples after pre-emphasis that frames still need, and how many came before them.
        self._signal = np.zeros(config.padding, np.float32)
        self._dropped = -config.padding
        self._last = np.float32(0)
        #: Frames that windows still need, and how many came before them.
        self._frames = np.zeros((0, config.mels))
        self._first = 0
        self.samples = 0

    @property
    def count(self) -> int:
        """Frames that are ready."""
        return self._first + len(self._frames)

    def feed(self, samples: np.ndarray) -> None:
        """Take (samples,) float32 at the configured rate."""
        if not len(samples):
            return
        joined = np.concatenate([[self._last], np.asarray(samples, np.float32)]).astype(np.float32)
        emphasised = front_end.preemphasise(joined, self._config)[1:]
        if self.samples == 0:
            emphasised[0] = samples[0]
        self._last = joined[-1]
        self.samples += len(samples)
        self._signal = np.concatenate([self._signal, emphasised])
        complete = (self.samples + self._config.padding - self._config.n_fft) // self._config.hop + 1
        self._compute(max(0, complete) // GROUP * GROUP)

    def finish(self) -> None:
        """Compute the last frames, which reach beyond the end."""
        total = self._config.frames(self.samples)
        if self._config.exact_pad:
            end = self.samples - self._dropped
            self._signal[max(0, end - self._config.padding) : end] = 0
        self._signal = np.pad(self._signal, (0, self._config.n_fft))
        self._compute(total)

    def frames(self, first: int, last: int) -> np.ndarray:
        """(last - first, mels) float64. Frames before `first` are forgotten: windows only move on."""
        kept = self._frames[max(0, first - self._first) :]
        self._frames, self._first = kept, max(self._first, first)
        return kept[: last - self._first]

    def _compute(self, until: int) -> None:
        hop, size = self._config.hop, self._config.n_fft
        made = [self._frames]
        for first in range(self.count, until, GROUP):
            last = min(first + GROUP, until)
            start = first * hop - self._config.padding - self._dropped
            windows = np.lib.stride_tricks.sliding_window_view(self._signal[start:], size)[::hop][: last - first]
            made.append(front_end.log_mel_of(windows, self._config))
        if len(made) > 1:
            self._frames = np.concatenate(made)
            # The next frame begins here; what lies before it is done with.
            start = self.count * hop - self._config.padding - self._dropped
            self._signal, self._dropped = self._signal[start:].copy(), self._dropped + start
