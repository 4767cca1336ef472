"""Whisper's network: an encoder of 30 s of audio, and a decoder that writes the text (Radford et al. 2022).

Names and layout of the weights are those of the MLX conversions. Everything here runs in the engine's thread.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import mlx.core as mx
import mlx.nn as nn
import numpy as np

from asr_core.models.activations import attend, gelu, weighted
from asr_core.models.whisper_cache import DecoderCache
from asr_core.models.whisper_config import Dimensions, Heads


class Attention(nn.Module):
    """The projections of multi-head attention; keys have no bias."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width, bias=False)
        self.value = nn.Linear(width, width)
        self.out = nn.Linear(width, width)

    def split(self, x: mx.array) -> mx.array:
        """(rows, n, width) to (rows, heads, n, width / heads)."""
        rows, n, width = x.shape
        return x.reshape(rows, n, self.heads, width // self.heads).transpose(0, 2, 1, 3)

    def merged(self, x: mx.array) -> mx.array:
        """(rows, heads, n, width / heads), through the output projection, to (rows, n, width)."""
        rows, heads, n, width = x.shape
        return self.out(x.transpose(0, 2, 1, 3).reshape(rows, n, heads * width))

    def scaled_query(self, x: mx.array) -> mx.array:
        return self.split(self.query(x)) * (x.shape[-1] // self.heads) ** -0.5


class Block(nn.Module):
    """A layer of the encoder, or with `cross` one of the decoder."""

    def __init__(self, width: int, heads: int, cross: bool = False) -> None:
        super().__init__()
        self.attn = Attention(width, heads)
        self.attn_ln = nn.LayerNorm(width)
        if cross:
            self.cross_attn = Attention(width, heads)
            self.cross_attn_ln = nn.LayerNorm(width)
        self.mlp1 = nn.Linear(width, 4 * width)
        self.mlp2 = nn.Linear(4 * width, width)
        self.mlp_ln = nn.LayerNorm(width)

    def feed_forward(self, x: mx.array) -> mx.array:
        return x + self.mlp2(gelu(self.mlp1(self.mlp_ln(x))))


class AudioEncoder(nn.Module):
    """Log-mel of 30 s to 1500 frames of 20 ms."""

    def __init__(self, d: Dimensions) -> None:
        super().__init__()
        self.conv1 = nn.Conv1d(d.n_mels, d.n_audio_state, kernel_size=3, padding=1)
        self.conv2 = nn.Conv1d(d.n_audio_state, d.n_audio_state, kernel_size=3, stride=2, padding=1)
        self.blocks = [Block(d.n_audio_state, d.n_audio_head) for _ in range(d.n_audio_layer)]
        self.ln_post = nn.LayerNorm(d.n_audio_state)
        self._positions = sinusoids(d.n_audio_ctx, d.n_audio_state)

    def __call__(self, mel: mx.array) -> mx.array:
        """(batch, 3000, mels) to (batch, 1500, width)."""
        x = gelu(self.conv2(gelu(self.conv1(mel))))
        x = x + self._positions.astype(x.dtype)
        for block in self.blocks:
            normed, attention = block.attn_ln(x), block.attn
            k, v = attention.split(attention.key(normed)), attention.split(attention.value(normed))
            x = x + attention.merged(attend(attention.scaled_query(normed), k, v))
            x = block.feed_forward(x)
        return self.ln_post(x)


class TextDecoder(nn.Module):
    """Tokens and encoded audio to the hidden state from which the next token is read."""

    def __init__(self, d: Dimensions) -> None:
        super().__init__()
        self.token_embedding = nn.Embedding(d.n_vocab, d.n_text_state)
        self.positional_embedding = mx.zeros((d.n_text_ctx, d.n_text_state))
        self.blocks = [Block(d.n_text_state, d.n_text_head, cross=True) for _ in range(d.n_text_layer)]
        self.ln = nn.LayerNorm(d.n_text_state)

    def begin(self, encoded: mx.array) -> DecoderCache:
        """The cache of (audios, frames, width), before the first token."""
        cross = []
        for block in self.blocks:
            attention = block.cross_attn
            k, v = attention.split(attention.key(encoded)), attention.split(attention.value(encoded))
            cross.append((mx.contiguous(k.swapaxes(-1, -2)), mx.contiguous(v)))
        return DecoderCache(tuple(cross))

    def __call__(
        self, tokens: mx.array, cache: DecoderCache, heads: Heads = ()
    ) -> tuple[mx.array, DecoderCache, mx.array | None]:
        """Read tokens behind those of the cache, any number at once.

        Args:
            tokens: (rows, n).
            heads: (layer, head) of the cross-attention that is wanted.
        Returns:
            (rows, n, width), the cache after them, and the heads' scores before the softmax
            (rows, len(heads), n, frames).
        """
        n, start = tokens.shape[1], cache.length
        x = self.token_embedding(tokens) + self.positional_embedding[start : start + n]
        hidden = causal_mask(n, start).astype(x.dtype) if n > 1 else None
        own, scores = [], {}
        for i, block in enumerate(self.blocks):
            kv, y = self._own(block, x, cache.own[i] if cache.own else None, hidden)
            own.append(kv)
            x = x + y
            wanted = [head for layer, head in heads if layer == i]
            y, of_layer = self._cross(block, x, cache.cross[i], wanted)
            scores.update({(i, head): of_layer[:, j] for j, head in enumerate(wanted)})
            x = block.feed_forward(x + y)
        attention = mx.stack([scores[head] for head in heads], axis=1) if heads else None
        return self.ln(x), DecoderCache(cache.cross, tuple(own), start + n), attention

    @staticmethod
    def _own(
        block: Block, x: mx.array, before: tuple[mx.array, mx.array] | None, hidden: mx.array | None
    ) -> tuple[tuple[mx.array, mx.array], mx.array]:
        """Attention to the tokens; also their keys and values."""
        attention, normed = block.attn, block.attn_ln(x)
        k, v = attention.split(attention.key(normed)), attention.split(attention.value(normed))
        if before is not None:
            k, v = mx.concatenate([before[0], k], axis=2), mx.concatenate([before[1], v], axis=2)
        scores = attention.scaled_query(normed) @ k.swapaxes(-1, -2)
        return (k, v), attention.merged(weighted(scores if hidden is None else scores + hidden, v))

    @staticmethod
    def _cross(
        block: Block, x: mx.array, audio: tuple[mx.array, mx.array], wanted: Sequence[int]
    ) -> tuple[mx.array, mx.array | None]:
        """Attention to the audio; also the scores (rows, wanted, n, frames) of some heads."""
        (k, v), attention = audio, block.cross_attn
        rows, n, width = x.shape
        # All sequences of an audio are queries of one product, so that its keys are read once.
        together = block.cross_attn_ln(x).reshape(k.shape[0], -1, width)
        scores = attention.scaled_query(together) @ k
        y = attention.merged(weighted(scores, v)).reshape(rows, n, width)
        if not wanted:
            return y, None
        audios, _, queries, frames = scores.shape
        of_heads = scores[:, mx.array(list(wanted))].reshape(audios, len(wanted), queries // n, n, frames)
        return y, of_heads.transpose(0, 2, 1, 3, 4).reshape(rows, len(wanted), n, frames)


class Network(nn.Module):
    """Encoder and decoder."""

    def __init__(self, dimensions: Dimensions) -> None:
        super().__init__()
        self.encoder = AudioEncoder(dimensions)
        self.decoder = TextDecoder(dimensions)


def causal_mask(n: int, before: int) -> mx.array:
    """(n, before + n) float32: 0 where token i may look, minus infinity at the tokens behind it."""
    allowed = np.arange(before + n) <= np.arange(before, before + n)[:, None]
    return mx.array(np.where(allowed, 0, -np.inf).astype(np.float32))


def sinusoids(length: int, width: int) -> mx.array:
    """(length, width) float32: positions as sines and cosines of falling frequency."""
    rates = np.exp(-math.log(10_000) / (width // 2 - 1) * np.arange(width // 2))
    angles = np.arange(length)[:, None] * rates
    return mx.array(np.concatenate([np.sin(angles), np.cos(angles)], axis=1).astype(np.float32))
