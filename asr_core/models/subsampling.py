"""Subsampling: strided convolutions that turn several mel frames into one."""

from __future__ import annotations

import math
from typing import TypeVar

import mlx.core as mx
import mlx.nn as nn
import numpy as np

from asr_core.models.config import EncoderConfig
from asr_core.models.masks import frame_mask

Length = TypeVar("Length", int, np.ndarray)


class Subsampling(nn.Module):
    """Strided convolutions that turn 2^n mel frames into one (NeMo's `ConvSubsampling`, "dw_striding").

    The first convolution is full, the others are depthwise with a pointwise one after them. Padding is cleared before
    every convolution, since biases make it non-zero.
    """

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.stages, self._causal = int(math.log2(config.subsampling)), config.causal_subsampling
        channels = config.channels
        self.conv = [StridedConv2d(1, channels, self._causal), nn.ReLU()]
        for _ in range(1, self.stages):
            self.conv += [DepthwiseConv2d(channels, self._causal), nn.Linear(channels, channels), nn.ReLU()]
        bands = config.mels
        for _ in range(self.stages):
            bands = strided_length(bands, self._causal)
        self.out = nn.Linear(channels * bands, config.width)

    def __call__(self, features: mx.array, lengths: np.ndarray) -> tuple[mx.array, np.ndarray]:
        """(batch, frames, mels) and (batch,) to (batch, frames / 2^stages, width) and (batch,)."""
        x = features[..., None]
        for layer in self.conv:
            if not isinstance(layer, nn.ReLU):
                x = _clear(x, lengths)
            x = layer(x)
            if isinstance(layer, StridedConv2d | DepthwiseConv2d):
                lengths = strided_length(lengths, self._causal)
        x = _clear(x, lengths)
        batch, frames, bands, channels = x.shape
        return self.out(x.transpose(0, 1, 3, 2).reshape(batch, frames, channels * bands)), lengths


class StridedConv2d(nn.Module):
    """3 x 3 convolution with stride 2 over (batch, frames, bands, channels).

    Padding is 1 on all sides; causal 2 before and 1 behind, of frames and bands alike.
    """

    def __init__(self, channels_in: int, channels_out: int, causal: bool = False) -> None:
        super().__init__()
        self._causal = causal
        self.weight = mx.zeros((channels_out, 3, 3, channels_in))
        self.bias = mx.zeros((channels_out,))

    def __call__(self, x: mx.array) -> mx.array:
        if not self._causal:
            return mx.conv2d(x, self.weight, stride=2, padding=1) + self.bias
        return mx.conv2d(mx.pad(x, [(0, 0), (2, 1), (2, 1), (0, 0)]), self.weight, stride=2) + self.bias


class DepthwiseConv2d(nn.Module):
    """3 x 3 depthwise convolution with the stride and padding of `StridedConv2d`, as a sum of nine shifted products.

    MLX's grouped convolution is slow on the CPU; shifted products are element-wise work that every back-end does well.
    """

    def __init__(self, channels: int, causal: bool = False) -> None:
        super().__init__()
        self._causal = causal
        self.weight = mx.zeros((channels, 3, 3, 1))
        self.bias = mx.zeros((channels,))

    def __call__(self, x: mx.array) -> mx.array:
        frames, bands = (strided_length(n, self._causal) for n in x.shape[1:3])
        around = (2, 2) if self._causal else (1, 2)
        x = mx.pad(x, [(0, 0), around, around, (0, 0)])
        out = self.bias
        for i in range(3):
            for j in range(3):
                out = out + x[:, i : i + 2 * frames : 2, j : j + 2 * bands : 2] * self.weight[:, i, j, 0]
        return out


def strided_length(length: Length, causal: bool = False) -> Length:
    """Frames after a convolution of kernel 3, stride 2, and padding 1, or 2 and 1 where it is causal; 0 stays 0."""
    return length // 2 + (length > 0) if causal else (length + 1) // 2


def _clear(x: mx.array, lengths: np.ndarray) -> mx.array:
    valid = frame_mask(lengths, x.shape[1])
    return x if valid is None else mx.where(valid[:, :, None, None], x, 0)
