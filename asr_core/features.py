"""The log-mel front end: NeMo's `FilterbankFeatures`, in float64 NumPy.

Every rule that is easy to get wrong is NeMo's own: the window is symmetric and centred in the FFT frame, the signal is
padded with zeros, only the valid `samples // hop` frames exist, the guard is added before the logarithm, and the
standard deviation is unbiased and taken over those frames.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from asr_core.errors import ModelError

#: NeMo's constant in the division by the standard deviation.
STD_GUARD = 1e-5
#: Frames transformed at once; keeps the working set of an hour of audio small.
BLOCK = 4096


@dataclass(frozen=True)
class FeatureConfig:
    """Settings of the front end, named and defaulted as in NeMo's `AudioToMelSpectrogramPreprocessor`.

    Lengths are in samples. `normalize` other than "per_feature", "all_features" or a mapping with "fixed_mean" and
    "fixed_std" means none, as in NeMo ("NA" in streaming models).
    """

    sample_rate: int = 16_000
    window_length: int = 400
    hop: int = 160
    n_fft: int = 512
    window: str | None = "hann"
    mels: int = 80
    low: float = 0.0
    high: float | None = None
    preemphasis: float | None = 0.97
    power: float = 2.0
    log: bool = True
    guard: float = 2.0**-24
    guard_type: Literal["add", "clamp"] = "add"
    normalize: str | Mapping[str, Sequence[float]] | None = "per_feature"
    pad_to: int = 0
    pad_value: float = 0.0
    exact_pad: bool = False
    splicing: int = 1

    @classmethod
    def from_nemo(cls, preprocessor: Mapping[str, Any]) -> FeatureConfig:
        """Read the `preprocessor` section of a model's configuration. Raises ModelError for what it cannot mean."""
        get = preprocessor.get
        rate = int(get("sample_rate", 16_000))
        length = get("n_window_size") or round(get("window_size", 0.02) * rate)
        try:
            return cls(
                sample_rate=rate,
                window_length=int(length),
                hop=int(get("n_window_stride") or round(get("window_stride", 0.01) * rate)),
                n_fft=int(get("n_fft") or 2 ** int(np.ceil(np.log2(length)))),
                window=get("window", "hann"),
                mels=int(get("features", 64)),
                low=float(get("lowfreq", 0)),
                high=get("highfreq"),
                preemphasis=get("preemph", 0.97),
                power=float(get("mag_power", 2.0)),
                log=bool(get("log", True)),
                guard=_guard_value(get("log_zero_guard_value", 2.0**-24)),
                guard_type=get("log_zero_guard_type", "add"),
                normalize=get("normalize", "per_feature"),
                pad_to=int(get("pad_to", 16)),
                pad_value=float(get("pad_value", 0.0)),
                exact_pad=bool(get("exact_pad", False)),
                splicing=int(get("frame_splicing", 1)),
            )
        except (TypeError, ValueError) as error:
            raise ModelError(f"The preprocessor section of the configuration has a wrong value: {error}.") from error

    @property
    def frame_seconds(self) -> float:
        """Seconds from one frame to the next."""
        return self.hop / self.sample_rate

    def frames(self, samples: int) -> int:
        """Valid frames of `samples` samples."""
        return max(0, (samples + 2 * self.padding - self.n_fft) // self.hop)

    @property
    def padding(self) -> int:
        """Zeros before the first sample."""
        return (self.n_fft - self.hop) // 2 if self.exact_pad else self.n_fft // 2

    @cached_property
    def window_values(self) -> np.ndarray:
        """(n_fft,) float64: the analysis window, centred."""
        shapes = {"hann": np.hanning, "hamming": np.hamming, "blackman": np.blackman, "bartlett": np.bartlett}
        if self.window not in (*shapes, "ones", "none", None):
            raise ModelError(f"The window {self.window!r} is unknown; known are {', '.join(shapes)}, ones and none.")
        window = shapes.get(self.window or "", np.ones)(self.window_length)
        before = (self.n_fft - self.window_length) // 2
        return np.pad(window, (before, self.n_fft - self.window_length - before))

    @cached_property
    def filterbank(self) -> np.ndarray:
        """(n_fft // 2 + 1, mels) float64: triangular mel filters with Slaney's scale and area normalisation."""
        top = self.high or self.sample_rate / 2
        edges = _mel_to_hz(np.linspace(_hz_to_mel(self.low), _hz_to_mel(top), self.mels + 2))
        bins = np.linspace(0, self.sample_rate / 2, self.n_fft // 2 + 1)
        rising = (bins[:, None] - edges[:-2]) / np.diff(edges)[:-1]
        falling = (edges[2:] - bins[:, None]) / np.diff(edges)[1:]
        return np.maximum(0, np.minimum(rising, falling)) * (2 / (edges[2:] - edges[:-2]))


def log_mel(samples: np.ndarray, config: FeatureConfig) -> np.ndarray:
    """Normalised log-mel features of one recording.

    Args:
        samples: (samples,) float, -1..1, at `config.sample_rate`.
    Returns:
        (frames, mels * splicing) float32, valid frames only.
    """
    return from_raw(raw_log_mel(samples, config), config)


def from_raw(features: np.ndarray, config: FeatureConfig) -> np.ndarray:
    """(frames, mels) float64 as they are before normalisation, to (frames, mels * splicing) float32, normalised."""
    if config.splicing > 1:
        features = _splice(features, config.splicing)
    return normalise(features, config).astype(np.float32)


def raw_log_mel(samples: np.ndarray, config: FeatureConfig) -> np.ndarray:
    """(frames, mels) float64: log-mel features before normalisation, valid frames only."""
    signal = preemphasise(np.asarray(samples, np.float32), config)
    frames = config.frames(len(signal))
    if frames == 0:
        return np.zeros((0, config.mels))
    if config.exact_pad:  # NeMo pads first and then clears what lies beyond the recording's own length
        signal[max(0, len(signal) - config.padding) :] = 0
    padded = np.pad(signal, (config.padding, config.n_fft))
    windows = np.lib.stride_tricks.sliding_window_view(padded, config.n_fft)[:: config.hop][:frames]
    out = np.empty((frames, config.mels))
    for first in range(0, frames, BLOCK):
        out[first : first + BLOCK] = log_mel_of(windows[first : first + BLOCK], config)
    return out


def preemphasise(signal: np.ndarray, config: FeatureConfig) -> np.ndarray:
    """(samples,) float32: y[t] = x[t] - preemphasis * x[t - 1]; the first sample is kept.

    In float32, as NeMo does: in loud noise its rounding shows in the lowest filters.
    """
    out = signal.copy()
    if config.preemphasis:
        out[1:] -= np.float32(config.preemphasis) * signal[:-1]
    return out


def normalise(features: np.ndarray, config: FeatureConfig) -> np.ndarray:
    """(frames, mels): zero mean and unit deviation over the frames given (NeMo's `normalize_batch`)."""
    if len(features) == 0:
        return features
    if config.normalize == "per_feature":
        mean, std = features.mean(0), _unbiased_std(features, axis=0)
    elif config.normalize == "all_features":
        mean, std = features.mean(), _unbiased_std(features, axis=None)
    elif isinstance(config.normalize, Mapping) and "fixed_mean" in config.normalize:
        mean, std = (np.asarray(config.normalize[key]) for key in ("fixed_mean", "fixed_std"))
        return (features - mean) / std
    else:
        return features
    return (features - mean) / (std + STD_GUARD)


def batch(features: Sequence[np.ndarray], config: FeatureConfig) -> tuple[np.ndarray, np.ndarray]:
    """Pad recordings of unequal length to one array.

    Returns:
        (batch, frames, mels) float32 with the pad value behind each recording, and (batch,) int32 valid frames.
    """
    lengths = np.array([len(item) for item in features], np.int32)
    longest = int(lengths.max(initial=0))
    if config.pad_to > 0:
        longest = -(-longest // config.pad_to) * config.pad_to
    out = np.full((len(features), longest, config.mels * config.splicing), config.pad_value, np.float32)
    for row, item in zip(out, features, strict=True):
        row[: len(item)] = item
    return out, lengths


def log_mel_of(windows: np.ndarray, config: FeatureConfig) -> np.ndarray:
    """(frames, n_fft) samples of the signal to (frames, mels) float64, before normalisation."""
    spectrum = np.fft.rfft(windows * config.window_values)
    power = spectrum.real**2 + spectrum.imag**2
    if config.power != 2.0:
        power **= config.power / 2
    mel = power @ config.filterbank
    if not config.log:
        return mel
    return np.log(np.maximum(mel, config.guard) if config.guard_type == "clamp" else mel + config.guard)


def _unbiased_std(features: np.ndarray, axis: int | None) -> np.ndarray | float:
    # One value has no deviation; NeMo turns the NaN of the division by zero into 0.
    count = len(features) if axis == 0 else features.size
    return features.std(axis, ddof=1) if count > 1 else np.zeros(features.shape[1:] if axis == 0 else ())


def _splice(features: np.ndarray, count: int) -> np.ndarray:
    # NeMo's `splice_frames` joins x[:n] and x[n:] again, so it repeats each frame and mixes in no neighbour.
    return np.tile(features, (1, count))


def _guard_value(value: float | str) -> float:
    if isinstance(value, str):
        limits = np.finfo(np.float32)
        return float({"tiny": limits.tiny, "eps": limits.eps}[value])
    return float(value)


def _hz_to_mel(hz: np.ndarray | float) -> np.ndarray:
    """Slaney's mel scale: linear below 1 kHz, logarithmic above."""
    hz = np.asarray(hz, np.float64)
    return np.where(hz < 1000, hz * 3 / 200, 15 + np.log(np.maximum(hz, 1000) / 1000) * 27 / np.log(6.4))


def _mel_to_hz(mel: np.ndarray) -> np.ndarray:
    return np.where(mel < 15, mel * 200 / 3, 1000 * np.exp((mel - 15) * np.log(6.4) / 27))
