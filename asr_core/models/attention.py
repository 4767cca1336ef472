"""Self-attention with relative positions (Dai et al. 2019, "Transformer-XL")."""

from __future__ import annotations

import math

import mlx.core as mx
import mlx.nn as nn
import numpy as np

from asr_core.models.activations import LOG2_E, powers_are_faster
from asr_core.models.config import EncoderConfig


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


def attend(q: mx.array, k: mx.array, v: mx.array, scale: float, bias: mx.array) -> mx.array:
    """Softmax attention, (batch, heads, T, width) each; `bias` (batch, heads, T, T) is added to the scaled scores."""
    if not powers_are_faster(q):
        return mx.fast.scaled_dot_product_attention(q, k, v, scale=scale, mask=bias)
    scores = ((q * scale) @ k.swapaxes(-1, -2) + bias) * LOG2_E
    weights = mx.power(2.0, scores - scores.max(-1, keepdims=True))
    return (weights @ v) / weights.sum(-1, keepdims=True)


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
