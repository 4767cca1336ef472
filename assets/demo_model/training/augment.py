"""Features and what is done to them and to the audio so that the model hears more than the clean clips it was given.

On samples: speed, gain, silence around, reverberation. On mel power: vocal-tract warp and noise. On the features:
SpecAugment. `strength` from 0 to 1 scales how often and how far.
"""

from __future__ import annotations

from random import Random

import numpy as np
import torch
from torch import Tensor

from asr_core.features import STD_GUARD, FeatureConfig

SAMPLE_RATE = 16_000


def varied(samples: np.ndarray, places: np.ndarray, random: Random, strength: float) -> tuple[np.ndarray, np.ndarray]:
    """Samples (float32, -1..1) with random speed (pitch goes with it), room, gain and silence around them.

    `places` are numbers of samples; they are returned as where those samples are afterwards.
    """
    if random.random() < 0.5 * strength:
        factor = 1 + random.uniform(-0.12, 0.12)
        samples, places = at_speed(samples, factor), places / factor
    if random.random() < 0.4 * strength:
        samples = in_room(samples, random.uniform(0.05, 0.6), random.uniform(0.1, 0.8), random)
    before, after = (random.randrange(4000) if random.random() < 0.7 else 0 for _ in range(2))
    return np.pad(samples * np.float32(10 ** (-1.5 * random.random())), (before, after)), places + before


def at_speed(samples: np.ndarray, factor: float) -> np.ndarray:
    """Played `factor` times as fast, by linear interpolation."""
    places = np.arange(0, len(samples) - 1, factor)
    return np.interp(places, np.arange(len(samples)), samples).astype(np.float32)


def in_room(samples: np.ndarray, decay: float, share: float, random: Random) -> np.ndarray:
    """With the echo of a room: noise that falls by 60 dB in `decay` seconds, `share` of the direct sound's energy."""
    generator = np.random.default_rng(random.getrandbits(64))
    length = int(decay * SAMPLE_RATE)
    echo = generator.normal(size=length) * 10 ** (-3 * np.arange(length) / length)
    echo[: int(0.002 * SAMPLE_RATE)] = 0
    echo *= np.sqrt(share / max(1e-12, (echo**2).sum()))
    echo[0] = 1
    size = 1 << (len(samples) + length).bit_length()
    wet = np.fft.irfft(np.fft.rfft(samples, size) * np.fft.rfft(echo, size), size)[: len(samples)]
    return wet.astype(np.float32)


class LogMel:
    """NeMo's log-mel features of a batch, with augmentation on the mel power.

    `parakeet=True` computes them as parakeet-mlx 0.7 does (periodic window at the left of the frame, |re| + |im|, its
    own guard), so that a model trained on both works there as well.
    """

    def __init__(self, config: FeatureConfig | None = None) -> None:
        self.config = config = config or FeatureConfig()
        self._bank = torch.tensor(config.filterbank.T, dtype=torch.float32)
        self._window = torch.tensor(config.window_values, dtype=torch.float32)
        self._left_window = torch.zeros(config.n_fft)
        self._left_window[: config.window_length] = torch.hann_window(config.window_length, periodic=True)

    def __call__(
        self,
        samples: Tensor,
        lengths: Tensor,
        random: Random | None = None,
        strength: float = 0.0,
        parakeet: bool = False,
    ) -> tuple[Tensor, Tensor]:
        """samples (B, N), lengths (B,) in samples -> features (B, T, mels), zero beyond the lengths, and lengths."""
        power = self._power(samples, parakeet)
        frames = lengths // self.config.hop + (1 if parakeet else 0)
        if random is not None:
            power = warped(power, random, strength)
            power = power + noise_like(power, random, strength)
        features = torch.log(power + (1e-5 if parakeet else self.config.guard))
        mask = (torch.arange(features.shape[2]) < frames[:, None])[:, None].float()
        count = frames[:, None, None].float()
        centred = (features - (features * mask).sum(2, keepdim=True) / count) * mask
        deviation = ((centred**2).sum(2, keepdim=True) / (count - 1).clamp(min=1)).sqrt()
        features = (centred / (deviation + STD_GUARD)).transpose(1, 2)
        return (features if random is None else masked(features, frames, random, strength)), frames

    def _power(self, samples: Tensor, parakeet: bool) -> Tensor:
        """(B, N) -> mel power (B, mels, T)."""
        config = self.config
        emphasised = torch.cat([samples[:, :1], samples[:, 1:] - config.preemphasis * samples[:, :-1]], 1)
        window, padding = (self._left_window, "reflect") if parakeet else (self._window, "constant")
        spectrum = torch.stft(
            emphasised, config.n_fft, config.hop, config.n_fft, window, pad_mode=padding, return_complex=True
        )
        if parakeet:
            return self._bank @ (spectrum.real.abs() + spectrum.imag.abs()) ** 2
        return self._bank @ (spectrum.real**2 + spectrum.imag**2)


def warped(power: Tensor, random: Random, strength: float) -> Tensor:
    """Vocal-tract warp: mel channels (B, mels, T) stretched by up to 12 %, as longer and shorter throats do."""
    B, mels, T = power.shape
    factors = [1 + random.uniform(-0.12, 0.12) if random.random() < 0.6 * strength else 1.0 for _ in range(B)]
    places = (torch.arange(mels) * torch.tensor(factors)[:, None]).clamp(max=mels - 1.001)
    low = places.long()
    share = (places - low)[..., None]
    low = low[..., None].expand(-1, -1, T)
    return power.gather(1, low) * (1 - share) + power.gather(1, low + 1) * share


def noise_like(power: Tensor, random: Random, strength: float) -> Tensor:
    """Noise of random colour for mel power (B, mels, T): 3 to 40 dB below the clip, in 70 % of clips at strength 1."""
    B, mels, T = power.shape
    loudness = power.mean(2).mean(1)
    slope = torch.randn(B, 1) * 0.02 - 0.02
    colour = torch.exp(slope * torch.arange(mels) + 0.075 * torch.randn(B, mels).cumsum(1))
    colour = colour / colour.mean(1, keepdim=True)
    distance = torch.tensor([random.uniform(3, 40) for _ in range(B)])
    present = torch.tensor([float(random.random() < 0.7 * strength) for _ in range(B)])
    level = loudness * 10 ** (-distance / 10) * present
    flicker = np.random.default_rng(random.getrandbits(64)).standard_exponential((B, mels, T), np.float32)
    return level[:, None, None] * colour[:, :, None] * (0.5 + 0.5 * torch.from_numpy(flicker))


def masked(features: Tensor, frames: Tensor, random: Random, strength: float) -> Tensor:
    """SpecAugment (https://arxiv.org/abs/1904.08779): two bands of mels and a stretch of time every 1.5 s are zero."""
    mels = features.shape[2]
    for item, length in enumerate(frames.tolist()):
        for _ in range(2):
            width = random.randrange(2 + int(14 * strength))
            start = random.randrange(mels - width)
            features[item, :, start : start + width] = 0
        for _ in range(max(1, length // 150)):
            width = random.randrange(2 + int(strength * min(23, max(1, length // 8))))
            start = random.randrange(max(1, length - width))
            features[item, start : start + width] = 0
    return features
