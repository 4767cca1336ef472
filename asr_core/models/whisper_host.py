"""A step of Whisper's decoder on the host: on a CPU one token a row meets the weights faster in NumPy than in MLX.

There a step reads every weight once and does little with it, and MLX's product rearranges a weight before it multiplies
(see `host.product`). Float32 only; the prompt, and whatever asks for attention, is read by MLX.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import mlx.nn as nn
import numpy as np

from asr_core.models import host
from asr_core.models.whisper_cache import Array, DecoderCache
from asr_core.models.whisper_network import Attention, TextDecoder


class Linear(NamedTuple):
    """Weight (in, out) and bias (out,)."""

    weight: np.ndarray
    bias: np.ndarray | None

    def __call__(self, x: np.ndarray) -> np.ndarray:
        y = host.product(x, self.weight)
        return y if self.bias is None else y + self.bias


class Norm(NamedTuple):
    """Scale and shift of a layer norm (width,), and what keeps the deviation from 0."""

    weight: np.ndarray
    bias: np.ndarray
    eps: float

    def __call__(self, x: np.ndarray) -> np.ndarray:
        centred = x - x.mean(-1, keepdims=True)
        return centred / np.sqrt((centred * centred).mean(-1, keepdims=True) + self.eps) * self.weight + self.bias


class HeadsOf(NamedTuple):
    """The projections of multi-head attention."""

    heads: int
    query: Linear
    key: Linear
    value: Linear
    out: Linear

    def split(self, x: np.ndarray) -> np.ndarray:
        """(groups, n, width) to (groups, heads, n, d)."""
        return x.reshape(*x.shape[:2], self.heads, -1).transpose(0, 2, 1, 3)

    def attend(self, x: np.ndarray, keys: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Attention of (groups, n, width) to keys (groups, heads, d, frames) and values (groups, heads, frames, d)."""
        groups, n, width = x.shape
        q = self.split(self.query(x)) * np.float32((width // self.heads) ** -0.5)
        weights = q @ keys
        weights -= weights.max(-1, keepdims=True)
        np.exp(weights, out=weights)
        found = (weights @ values) / weights.sum(-1, keepdims=True)
        return self.out(found.transpose(0, 2, 1, 3).reshape(groups, n, width))


class Layer(NamedTuple):
    """One layer of the decoder."""

    own_norm: Norm
    own: HeadsOf
    cross_norm: Norm
    cross: HeadsOf
    norm: Norm
    first: Linear
    second: Linear


class HostDecoder:
    """The decoder's weights, shared with MLX."""

    def __init__(self, decoder: TextDecoder) -> None:
        self._tokens, self._positions = (
            shared(x) for x in (decoder.token_embedding.weight, decoder.positional_embedding)
        )
        self._layers = [
            Layer(
                _norm(block.attn_ln),
                _heads(block.attn),
                _norm(block.cross_attn_ln),
                _heads(block.cross_attn),
                _norm(block.mlp_ln),
                _linear(block.mlp1),
                _linear(block.mlp2),
            )
            for block in decoder.blocks
        ]
        self._norm = _norm(decoder.ln)

    def step(self, tokens: np.ndarray, cache: DecoderCache) -> tuple[np.ndarray, DecoderCache]:
        """Read one token (rows,) behind those of the cache, which has some already.

        Returns:
            The hidden state (rows, width) from which the next token is read, and the cache.
        """
        rows, audios = len(tokens), cache.cross[0][0].shape[0]
        x = (self._tokens[tokens] + self._positions[cache.length])[:, None]
        own = []
        for layer, before, audio in zip(self._layers, cache.own, cache.cross, strict=True):
            normed, attention = layer.own_norm(x), layer.own
            k, v = attention.split(attention.key(normed)), attention.split(attention.value(normed))
            k, v = np.concatenate([shared(before[0]), k], axis=2), np.concatenate([shared(before[1]), v], axis=2)
            own.append((k, v))
            x = x + attention.attend(normed, k.swapaxes(-1, -2), v)
            # All sequences of an audio are queries of one product, so that its keys are read once.
            together = layer.cross_norm(x).reshape(audios, rows // audios, -1)
            x = x + layer.cross.attend(together, *map(shared, audio)).reshape(x.shape)
            x = x + layer.second(host.gelu(layer.first(layer.norm(x))))
        return self._norm(x[:, 0]), replace(cache, own=tuple(own), length=cache.length + 1)


def shared(x: Array) -> np.ndarray:
    """The same numbers for NumPy, not copied."""
    return x if isinstance(x, np.ndarray) else np.array(x, copy=False)


def _linear(layer: nn.Linear) -> Linear:
    return Linear(shared(layer.weight).T, shared(layer.bias) if "bias" in layer else None)


def _norm(layer: nn.LayerNorm) -> Norm:
    return Norm(shared(layer.weight), shared(layer.bias), layer.eps)


def _heads(attention: Attention) -> HeadsOf:
    parts = (attention.query, attention.key, attention.value, attention.out)
    return HeadsOf(attention.heads, *map(_linear, parts))
