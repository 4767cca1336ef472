"""The FastConformer encoder in MLX (NeMo's `ConformerEncoder`; Rekesh et al. 2023, "Fast Conformer").

Module and parameter names are those of the Hub's MLX conversions, so a checkpoint's keys are its module paths.
Everything takes a mask of valid frames: a recording encoded in a batch gives what it gives alone.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import mlx.core as mx
import mlx.nn as nn
import numpy as np

from asr_core.models.activations import sigmoid, silu
from asr_core.models.attention import RelativeAttention, RelativePositions
from asr_core.models.config import EncoderConfig
from asr_core.models.masks import HIDDEN, frame_mask, within_context
from asr_core.models.subsampling import Subsampling


class ConformerEncoder(nn.Module):
    """Subsampling, relative positions, and a stack of Conformer layers."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.pre_encode = Subsampling(config)
        self.layers = [ConformerLayer(config) for _ in range(config.layers)]
        self._scale = math.sqrt(config.width) if config.scaled_input else 1.0
        self._positions = RelativePositions(config.width)
        self._config = config

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
        if (context := self._config.context()) is not None:
            seen = mx.where(mx.array(within_context(x.shape[1], *context, self._config.context_style)), 0.0, HIDDEN)
            hidden = seen.astype(x.dtype) if hidden is None else mx.minimum(hidden, seen.astype(x.dtype))
        for layer in self.layers:
            x = layer(x, positions, valid, hidden)
        return x, lengths

    def begin(self, left: int) -> StreamCache:
        """The cache before the first step, for `left` frames of context."""
        config, dtype = self._config, self.pre_encode.out.weight.dtype
        keys, taps = mx.zeros((1, left, config.width), dtype), mx.zeros((1, config.kernel - 1, config.width), dtype)
        return StreamCache(tuple((keys, taps) for _ in self.layers), 0)

    def step(self, features: mx.array, drop: int, cache: StreamCache) -> tuple[mx.array, StreamCache]:
        """Encode the frames of one step of a stream (NeMo's `cache_aware_stream_step`).

        Args:
            features: (1, frames, mels), after the first step with history in front.
            drop: encoder frames of that history.
        Returns:
            (1, encoder frames, width) and the cache for the next step.
        """
        x, _ = self.pre_encode(features, np.array([features.shape[1]]))
        x = x[:, drop:] * self._scale
        left, frames = cache.layers[0][0].shape[1], x.shape[1]
        positions = self._positions(left + frames).astype(x.dtype)
        missing = left - cache.frames
        hidden = mx.array(np.where(np.arange(left + frames) < missing, HIDDEN, 0.0)[None, None, None]).astype(x.dtype)
        layers = []
        for layer, kept in zip(self.layers, cache.layers, strict=True):
            x, after = layer.step(x, positions, hidden if missing else None, kept)
            layers.append(after)
        return x, StreamCache(tuple(layers), min(left, cache.frames + frames))


class StreamCache(NamedTuple):
    """What a stream keeps of the frames it has heard.

    Args:
        layers: of each layer the input of attention (1, left, width) and of the convolution (1, kernel - 1, width).
        frames: frames of attention's that are filled.
    """

    layers: tuple[tuple[mx.array, mx.array], ...]
    frames: int


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

    def step(
        self, x: mx.array, positions: mx.array, hidden: mx.array | None, cache: tuple[mx.array, mx.array]
    ) -> tuple[mx.array, tuple[mx.array, mx.array]]:
        """As `__call__`, with the cached frames before `x`; also the cache for the frames that follow."""
        heard, taps = cache
        x = x + 0.5 * self.feed_forward1(self.norm_feed_forward1(x))
        normed = self.norm_self_att(x)
        x = x + self.self_attn(normed, positions, hidden, heard)
        heard = mx.concatenate([heard, normed], axis=1)[:, normed.shape[1] :]
        added, taps = self.conv.step(self.norm_conv(x), taps)
        x = x + added
        x = x + 0.5 * self.feed_forward2(self.norm_feed_forward2(x))
        return self.norm_out(x), (heard, taps)


class FeedForward(nn.Module):
    """Linear, SiLU, linear."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.linear1 = nn.Linear(config.width, config.feed_forward, bias=config.bias)
        self.linear2 = nn.Linear(config.feed_forward, config.width, bias=config.bias)

    def __call__(self, x: mx.array) -> mx.array:
        return self.linear2(silu(self.linear1(x)))


class ConvolutionModule(nn.Module):
    """Pointwise, GLU, depthwise, norm, SiLU, pointwise (Gulati et al. 2020, "Conformer")."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        width = config.width
        self.pointwise_conv1 = nn.Linear(width, 2 * width, bias=config.bias)
        self.depthwise_conv = DepthwiseConv1d(width, config.kernel, config.bias, config.causal_convolution)
        self.batch_norm = nn.LayerNorm(width) if config.norm == "layer_norm" else FrozenBatchNorm(width)
        self.pointwise_conv2 = nn.Linear(width, width, bias=config.bias)

    def __call__(self, x: mx.array, valid: mx.array | None) -> mx.array:
        a, b = mx.split(self.pointwise_conv1(x), 2, axis=-1)
        x = a * sigmoid(b)
        if valid is not None:
            x = mx.where(valid[..., None], x, 0)
        return self.pointwise_conv2(silu(self.batch_norm(self.depthwise_conv(x))))

    def step(self, x: mx.array, taps: mx.array) -> tuple[mx.array, mx.array]:
        """As `__call__`, with the `kernel - 1` frames before `x`; also those for the frames that follow."""
        a, b = mx.split(self.pointwise_conv1(x), 2, axis=-1)
        x = mx.concatenate([taps, a * sigmoid(b)], axis=1)
        out = self.pointwise_conv2(silu(self.batch_norm(self.depthwise_conv.valid(x))))
        return out, x[:, x.shape[1] - taps.shape[1] :]


class DepthwiseConv1d(nn.Module):
    """Depthwise convolution over time, centred or causal, as a sum of shifted products (see `DepthwiseConv2d`)."""

    def __init__(self, channels: int, kernel: int, bias: bool, causal: bool = False) -> None:
        super().__init__()
        self._before = kernel - 1 if causal else (kernel - 1) // 2
        self.weight = mx.zeros((channels, kernel, 1))
        if bias:
            self.bias = mx.zeros((channels,))

    def __call__(self, x: mx.array) -> mx.array:
        behind = self.weight.shape[1] - 1 - self._before
        return self.valid(mx.pad(x, [(0, 0), (self._before, behind), (0, 0)]))

    def valid(self, x: mx.array) -> mx.array:
        """Without padding: (batch, frames + kernel - 1, channels) to (batch, frames, channels)."""
        kernel = self.weight.shape[1]
        frames = x.shape[1] - kernel + 1
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
