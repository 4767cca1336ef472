"""The FastConformer encoder in MLX (NeMo's `ConformerEncoder`; Rekesh et al. 2023, "Fast Conformer").

Module and parameter names are those of the Hub's MLX conversions, so a checkpoint's keys are its module paths.
Everything takes a mask of valid frames: a recording encoded in a batch gives what it gives alone.
"""

from __future__ import annotations

import math
from typing import TypeVar

import mlx.core as mx
import mlx.nn as nn
import numpy as np

from asr_core.models.config import EncoderConfig

#: Added to the score of a key that must not be seen; finite, so that a row without keys stays finite.
HIDDEN = -1e9
LOG2_E = math.log2(math.e)

Length = TypeVar("Length", int, np.ndarray)


class ConformerEncoder(nn.Module):
    """Subsampling, relative positions, and a stack of Conformer layers."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.pre_encode = Subsampling(config)
        self.layers = [ConformerLayer(config) for _ in range(config.layers)]
        self._scale = math.sqrt(config.width) if config.scaled_input else 1.0
        self._positions = RelativePositions(config.width)

    def __call__(self, features: mx.array, lengths: np.ndarray) -> tuple[mx.array, np.ndarray]:
        """Encode a batch.

        Args:
            features: (batch, frames, mels) normalised log-mel.
            lengths: (batch,) valid frames of each item.
        Returns:
            (batch, encoder frames, width), and (batch,) valid encoder frames; rows beyond them are undefined.
        """
        x, lengths = self.pre_encode(features, lengths)
        x = x * self._scale
        valid = frame_mask(lengths, x.shape[1])
        positions = self._positions(x.shape[1]).astype(x.dtype)
        hidden = None if valid is None else mx.where(valid[:, None, None, :], 0.0, HIDDEN).astype(x.dtype)
        for layer in self.layers:
            x = layer(x, positions, valid, hidden)
        return x, lengths


class Subsampling(nn.Module):
    """Strided convolutions that turn 2^n mel frames into one (NeMo's `ConvSubsampling`, "dw_striding").

    The first convolution is full, the others are depthwise with a pointwise one after them. Padding is cleared before
    every convolution, since biases make it non-zero.
    """

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.stages = int(math.log2(config.subsampling))
        self.conv = [StridedConv2d(1, config.channels), nn.ReLU()]
        for _ in range(1, self.stages):
            self.conv += [DepthwiseConv2d(config.channels), nn.Linear(config.channels, config.channels), nn.ReLU()]
        bands = config.mels
        for _ in range(self.stages):
            bands = strided_length(bands)
        self.out = nn.Linear(config.channels * bands, config.width)

    def __call__(self, features: mx.array, lengths: np.ndarray) -> tuple[mx.array, np.ndarray]:
        """(batch, frames, mels) and (batch,) to (batch, frames / 2^stages, width) and (batch,)."""
        x = features[..., None]
        for layer in self.conv:
            if not isinstance(layer, nn.ReLU):
                x = _clear(x, lengths)
            x = layer(x)
            if isinstance(layer, StridedConv2d | DepthwiseConv2d):
                lengths = strided_length(lengths)
        x = _clear(x, lengths)
        batch, frames, bands, channels = x.shape
        return self.out(x.transpose(0, 1, 3, 2).reshape(batch, frames, channels * bands)), lengths


class StridedConv2d(nn.Module):
    """3 x 3 convolution with stride 2 and padding 1 over (batch, frames, bands, channels)."""

    def __init__(self, channels_in: int, channels_out: int) -> None:
        super().__init__()
        self.weight = mx.zeros((channels_out, 3, 3, channels_in))
        self.bias = mx.zeros((channels_out,))

    def __call__(self, x: mx.array) -> mx.array:
        return mx.conv2d(x, self.weight, stride=2, padding=1) + self.bias


class DepthwiseConv2d(nn.Module):
    """3 x 3 depthwise convolution with stride 2 and padding 1, as a sum of nine shifted products.

    MLX's grouped convolution is slow on the CPU; shifted products are element-wise work that every back-end does well.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.weight = mx.zeros((channels, 3, 3, 1))
        self.bias = mx.zeros((channels,))

    def __call__(self, x: mx.array) -> mx.array:
        frames, bands = strided_length(x.shape[1]), strided_length(x.shape[2])
        x = mx.pad(x, [(0, 0), (1, 2), (1, 2), (0, 0)])
        out = self.bias
        for i in range(3):
            for j in range(3):
                out = out + x[:, i : i + 2 * frames : 2, j : j + 2 * bands : 2] * self.weight[:, i, j, 0]
        return out


class ConformerLayer(nn.Module):
    """Half feed-forward, self-attention, convolution, half feed-forward, each a residual after its own norm."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        width = config.width
        self.norm_feed_forward1 = nn.LayerNorm(width)
        self.feed_forward1 = FeedForward(config)
        self.norm_self_att = nn.LayerNorm(width)
        self.self_attn = RelativeAttention(config)
        self.norm_conv = nn.LayerNorm(width)
        self.conv = ConvolutionModule(config)
        self.norm_feed_forward2 = nn.LayerNorm(width)
        self.feed_forward2 = FeedForward(config)
        self.norm_out = nn.LayerNorm(width)

    def __call__(self, x: mx.array, positions: mx.array, valid: mx.array | None, hidden: mx.array | None) -> mx.array:
        x = x + 0.5 * self.feed_forward1(self.norm_feed_forward1(x))
        x = x + self.self_attn(self.norm_self_att(x), positions, hidden)
        x = x + self.conv(self.norm_conv(x), valid)
        x = x + 0.5 * self.feed_forward2(self.norm_feed_forward2(x))
        return self.norm_out(x)


class FeedForward(nn.Module):
    """Linear, SiLU, linear."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.linear1 = nn.Linear(config.width, config.feed_forward, bias=config.bias)
        self.linear2 = nn.Linear(config.feed_forward, config.width, bias=config.bias)

    def __call__(self, x: mx.array) -> mx.array:
        return self.linear2(silu(self.linear1(x)))


class RelativeAttention(nn.Module):
    """Multi-head attention with relative positions (Dai et al. 2019, "Transformer-XL")."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        width, self.heads = config.width, config.heads
        self.linear_q = nn.Linear(width, width, bias=config.bias)
        self.linear_k = nn.Linear(width, width, bias=config.bias)
        self.linear_v = nn.Linear(width, width, bias=config.bias)
        self.linear_out = nn.Linear(width, width, bias=config.bias)
        self.linear_pos = nn.Linear(width, width, bias=False)
        self.pos_bias_u = mx.zeros((config.heads, width // config.heads))
        self.pos_bias_v = mx.zeros((config.heads, width // config.heads))

    def __call__(self, x: mx.array, positions: mx.array, hidden: mx.array | None) -> mx.array:
        """
        Args:
            x: (batch, T, width).
            positions: (2T - 1, width) embeddings of the distances T - 1 .. -(T - 1).
            hidden: (batch, 1, 1, T), 0 or a large negative number; None = every key is seen.
        """
        batch, frames, width = x.shape
        q = self.linear_q(x).reshape(batch, frames, self.heads, -1)
        k, v, p = (self._split(y) for y in (self.linear_k(x), self.linear_v(x), self.linear_pos(positions)[None]))
        scale = 1 / math.sqrt(width // self.heads)
        by_content = (q + self.pos_bias_u).transpose(0, 2, 1, 3)
        by_position = (q + self.pos_bias_v).transpose(0, 2, 1, 3)
        bias = relative_shift((by_position * scale) @ p.swapaxes(-1, -2))
        if hidden is not None:
            bias = bias + hidden
        out = attend(by_content, k, v, scale, bias)
        return self.linear_out(out.transpose(0, 2, 1, 3).reshape(batch, frames, width))

    def _split(self, x: mx.array) -> mx.array:
        batch, frames, width = x.shape
        return x.reshape(batch, frames, self.heads, width // self.heads).transpose(0, 2, 1, 3)


class ConvolutionModule(nn.Module):
    """Pointwise, GLU, depthwise, batch norm, SiLU, pointwise (Gulati et al. 2020, "Conformer")."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        width = config.width
        self.pointwise_conv1 = nn.Linear(width, 2 * width, bias=config.bias)
        self.depthwise_conv = DepthwiseConv1d(width, config.kernel, config.bias)
        self.batch_norm = FrozenBatchNorm(width)
        self.pointwise_conv2 = nn.Linear(width, width, bias=config.bias)

    def __call__(self, x: mx.array, valid: mx.array | None) -> mx.array:
        a, b = mx.split(self.pointwise_conv1(x), 2, axis=-1)
        x = a * sigmoid(b)
        if valid is not None:
            x = mx.where(valid[..., None], x, 0)
        return self.pointwise_conv2(silu(self.batch_norm(self.depthwise_conv(x))))


class DepthwiseConv1d(nn.Module):
    """Depthwise convolution over time, centred, as a sum of shifted products (see `DepthwiseConv2d`)."""

    def __init__(self, channels: int, kernel: int, bias: bool) -> None:
        super().__init__()
        self.weight = mx.zeros((channels, kernel, 1))
        if bias:
            self.bias = mx.zeros((channels,))

    def __call__(self, x: mx.array) -> mx.array:
        frames, kernel = x.shape[1], self.weight.shape[1]
        before = (kernel - 1) // 2
        x = mx.pad(x, [(0, 0), (before, kernel - 1 - before), (0, 0)])
        taps = self.weight[..., 0].T
        out = x[:, :frames] * taps[0]
        for k in range(1, kernel):
            out = out + x[:, k : k + frames] * taps[k]
        return out + self.bias if "bias" in self else out


class FrozenBatchNorm(nn.Module):
    """Batch normalisation with the statistics of training."""

    def __init__(self, channels: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.weight, self.bias = mx.ones((channels,)), mx.zeros((channels,))
        self.running_mean, self.running_var = mx.zeros((channels,)), mx.ones((channels,))
        self.eps = eps

    def __call__(self, x: mx.array) -> mx.array:
        scale = self.weight * mx.rsqrt(self.running_var + self.eps)
        return x * scale + (self.bias - self.running_mean * scale)


class RelativePositions:
    """Sinusoidal embeddings of the distances n .. -n, kept for the longest recording so far."""

    def __init__(self, width: int) -> None:
        self._rates = np.exp(np.arange(0, width, 2) * -(math.log(10_000) / width))
        self._reach = -1

    def __call__(self, frames: int) -> mx.array:
        """(2 * frames - 1, width) float32: distances frames - 1 down to -(frames - 1)."""
        if frames - 1 > self._reach:
            self._reach = max(frames - 1, 1023)
            angles = np.arange(self._reach, -self._reach - 1, -1)[:, None] * self._rates
            table = np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(len(angles), -1)
            self._table = mx.array(table.astype(np.float32))
            mx.eval(self._table)
        middle = self._reach
        return self._table[middle - frames + 1 : middle + frames]


def sigmoid(x: mx.array) -> mx.array:
    """1 / (1 + e^-x)."""
    return 1 / (1 + mx.power(2.0, x * -LOG2_E)) if _powers_are_faster(x) else mx.sigmoid(x)


def silu(x: mx.array) -> mx.array:
    """x * sigmoid(x)."""
    return x / (1 + mx.power(2.0, x * -LOG2_E)) if _powers_are_faster(x) else nn.silu(x)


def attend(q: mx.array, k: mx.array, v: mx.array, scale: float, bias: mx.array) -> mx.array:
    """Softmax attention, (batch, heads, T, width) each; `bias` (batch, heads, T, T) is added to the scaled scores."""
    if not _powers_are_faster(q):
        return mx.fast.scaled_dot_product_attention(q, k, v, scale=scale, mask=bias)
    scores = ((q * scale) @ k.swapaxes(-1, -2) + bias) * LOG2_E
    weights = mx.power(2.0, scores - scores.max(-1, keepdims=True))
    return (weights @ v) / weights.sum(-1, keepdims=True)


def _powers_are_faster(x: mx.array) -> bool:
    """MLX's CPU backend takes exponentials two to three times slower than powers of two, sigmoid and softmax with them.

    Metal has fused kernels; numbers of 16 bits need them to keep their precision.
    """
    return x.dtype == mx.float32 and mx.default_device().type == mx.DeviceType.cpu


def relative_shift(scores: mx.array) -> mx.array:
    """Turn scores by distance into scores by key: out[.., i, j] = scores[.., i, (T - 1) - i + j].

    Args:
        scores: (batch, heads, T, 2T - 1), the first column the largest distance.
    Returns:
        (batch, heads, T, T), a view: a step along the keys is one distance, a step along the queries one back.
    """
    batch, heads, frames, distances = scores.shape
    strides = (heads * frames * distances, frames * distances, distances - 1, 1)
    return mx.as_strided(mx.contiguous(scores), (batch, heads, frames, frames), strides, offset=frames - 1)


def frame_mask(lengths: np.ndarray, frames: int) -> mx.array | None:
    """(batch, frames) True on valid frames; None where every frame of every item is valid."""
    if (lengths >= frames).all():
        return None
    return mx.array(np.arange(frames) < lengths[:, None])


def strided_length(length: Length) -> Length:
    """Frames after a convolution of kernel 3, stride 2, padding 1; 0 stays 0."""
    return (length + 1) // 2


def _clear(x: mx.array, lengths: np.ndarray) -> mx.array:
    valid = frame_mask(lengths, x.shape[1])
    return x if valid is None else mx.where(valid[:, :, None, None], x, 0)
