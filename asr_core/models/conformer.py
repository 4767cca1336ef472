"""The FastConformer encoder in MLX (NeMo's `ConformerEncoder`; Rekesh et al. 2023, "Fast Conformer").

Module and parameter names are those of the Hub's MLX conversions, so a checkpoint's keys are its module paths.
Everything takes a mask of valid frames: a recording encoded in a batch gives what it gives alone.
"""

from __future__ import annotations

import math
from typing import NamedTuple, TypeVar

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

    def __call__(
        self, x: mx.array, positions: mx.array, hidden: mx.array | None, heard: mx.array | None = None
    ) -> mx.array:
        """
        Args:
            x: (batch, T, width).
            positions: (2K - 1, width) embeddings of the distances K - 1 .. -(K - 1) of K keys.
            hidden: what broadcasts to (batch, heads, T, K), 0 or a large negative number; None = every key is seen.
            heard: (batch, K - T, width) frames before `x` that are keys, too; None where K = T.
        """
        batch, frames, width = x.shape
        q = self.linear_q(x).reshape(batch, frames, self.heads, -1)
        keys = x if heard is None else mx.concatenate([heard, x], axis=1)
        k, v, p = (self._split(y) for y in (self.linear_k(keys), self.linear_v(keys), self.linear_pos(positions)[None]))
        scale = 1 / math.sqrt(width // self.heads)
        by_content = (q + self.pos_bias_u).transpose(0, 2, 1, 3)
        by_position = (q + self.pos_bias_v).transpose(0, 2, 1, 3)
        bias = relative_shift((by_position * scale) @ p.swapaxes(-1, -2), keys.shape[1])
        if hidden is not None:
            bias = bias + hidden
        out = attend(by_content, k, v, scale, bias)
        return self.linear_out(out.transpose(0, 2, 1, 3).reshape(batch, frames, width))

    def _split(self, x: mx.array) -> mx.array:
        batch, frames, width = x.shape
        return x.reshape(batch, frames, self.heads, width // self.heads).transpose(0, 2, 1, 3)


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


def relative_shift(scores: mx.array, keys: int) -> mx.array:
    """Turn scores by distance into scores by key: out[.., i, j] = scores[.., i, (T - 1) - i + j].

    Args:
        scores: (batch, heads, T, 2K - 1) of the last T of K frames, the first column the largest distance.
        keys: K.
    Returns:
        (batch, heads, T, K), a view: a step along the keys is one distance, a step along the queries one back.
    """
    batch, heads, frames, distances = scores.shape
    strides = (heads * frames * distances, frames * distances, distances - 1, 1)
    return mx.as_strided(mx.contiguous(scores), (batch, heads, frames, keys), strides, offset=frames - 1)


def within_context(frames: int, left: int, right: int, style: str) -> np.ndarray:
    """(frames, frames) True where a frame may see another (NeMo's `att_context_style`)."""
    query, key = np.arange(frames)[:, None], np.arange(frames)[None]
    if style == "regular":
        return (key >= query - left) & (key <= query + right)
    chunk = right + 1
    back = query // chunk - key // chunk
    return (back >= 0) & (back <= left // chunk)


def frame_mask(lengths: np.ndarray, frames: int) -> mx.array | None:
    """(batch, frames) True on valid frames; None where every frame of every item is valid."""
    if (lengths >= frames).all():
        return None
    return mx.array(np.arange(frames) < lengths[:, None])


def strided_length(length: Length, causal: bool = False) -> Length:
    """Frames after a convolution of kernel 3, stride 2, and padding 1, or 2 and 1 where it is causal; 0 stays 0."""
    return length // 2 + (length > 0) if causal else (length + 1) // 2


def _clear(x: mx.array, lengths: np.ndarray) -> mx.array:
    valid = frame_mask(lengths, x.shape[1])
    return x if valid is None else mx.where(valid[:, :, None, None], x, 0)
