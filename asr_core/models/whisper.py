"""A loaded Whisper model: the steps that are asked of it, each where it is fastest, in MLX or on the host.

Everything here runs in the engine's thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import mlx.core as mx
import numpy as np

from asr_core.decoding import device_entries
from asr_core.errors import DecodingError
from asr_core.models import host
from asr_core.models.whisper_cache import DecoderCache
from asr_core.models.whisper_config import NEXT, Heads, Wanted, WhisperConfig
from asr_core.models.whisper_host import HostDecoder
from asr_core.models.whisper_network import Network


@dataclass(frozen=True)
class Whisper:
    """A loaded model: NumPy in, NumPy out, but for the cache, which a caller only hands back.

    Args:
        projection: (vocabulary, width) float32 on the host, where a few rows meet it faster than in MLX; None where
            that is not so.
        chooses: whether `choose` is faster than `step` and choosing on the host: on Metal.
    """

    config: WhisperConfig
    network: Network
    dtype: mx.Dtype
    parameters: int
    projection: np.ndarray | None = None
    chooses: bool = field(default_factory=lambda: mx.default_device().type == mx.DeviceType.gpu)

    @cached_property
    def on_host(self) -> HostDecoder | None:
        """Takes the steps of one token where that is faster."""
        return HostDecoder(self.network.decoder) if self.projection is not None and self.dtype == mx.float32 else None

    def encode(self, mel: np.ndarray) -> np.ndarray:
        """(batch, 3000, mels) float32 to (batch, 1500, width) float32."""
        # One by one: a batch gains nothing on a CPU, and the attention of one takes 54 MB a layer.
        encoded = [self.network.encoder(mx.array(one[None]).astype(self.dtype)).astype(mx.float32) for one in mel]
        return np.concatenate([np.array(one) for one in encoded])

    def begin(self, encoded: np.ndarray) -> DecoderCache:
        """The decoder's cache for (audios, frames, width)."""
        cache = self.network.decoder.begin(mx.array(encoded).astype(self.dtype))
        mx.eval(cache.cross)
        return cache

    def only(self, cache: DecoderCache, audio: int) -> DecoderCache:
        """The part of one of a cache's audios, before the first token."""
        one = DecoderCache(tuple((k[audio : audio + 1], v[audio : audio + 1]) for k, v in cache.cross))
        mx.eval(one.cross)
        return one

    def step(
        self, tokens: np.ndarray, cache: DecoderCache, sources: np.ndarray | None = None, wanted: Wanted = NEXT
    ) -> tuple[np.ndarray, DecoderCache, np.ndarray | None]:
        """Read (rows, n) tokens behind those of the cache.

        Args:
            sources: (rows,) of the cache's rows that each goes on from; None = the same.
        Returns:
            (rows, positions, vocabulary) float32 logits, the cache, and the heads' scores before the softmax
            (rows, heads, n, frames), None where none are wanted.
        Raises:
            DecodingError: there would be more tokens than the model has room for.
        """
        if self.on_host is not None and tokens.shape[1] == 1 and cache.own and not wanted.heads:
            hidden, cache = self.on_host.step(tokens[:, 0], self._with_room(tokens, cache, sources))
            return host.vocabulary_product(hidden[:, None], self.projection.T), cache, None
        hidden, cache, scores = self._read(tokens, cache, sources, wanted.heads)
        hidden = hidden[:, mx.array([p % tokens.shape[1] for p in wanted.positions])]
        logits = hidden if self.projection is not None else self.network.decoder.token_embedding.as_linear(hidden)
        mx.eval(logits, cache.own, *([] if scores is None else [scores]))
        out = np.array(logits.astype(mx.float32))
        if self.projection is not None:
            out = host.vocabulary_product(out, self.projection.T)
        return out, cache, None if scores is None else np.array(scores.astype(mx.float32))

    def choose(
        self,
        tokens: np.ndarray,
        cache: DecoderCache,
        sources: np.ndarray,
        count: int,
        suppressed: Sequence[int],
        spans: Sequence[Sequence[tuple[int, int]]],
        grouped: int | None,
    ) -> tuple[np.ndarray, np.ndarray, DecoderCache]:
        """Read (rows, n) tokens as `step` does, and choose what may follow; the logits stay on the device.

        Args:
            suppressed: ids that never come.
            count, spans, grouped: as for `device_entries.best_entries`.
        Returns:
            The best log-probs (rows, count), their ids, and the cache.
        """
        hidden, cache, _ = self._read(tokens, cache, sources)
        logits = self.network.decoder.token_embedding.as_linear(hidden[:, -1])
        never = np.zeros(logits.shape[-1], bool)
        never[list(suppressed)] = True
        values, ids = device_entries.best_entries(logits, count, mx.array(never), spans, grouped)
        mx.eval(cache.own)
        return values, ids, cache

    def _read(
        self, tokens: np.ndarray, cache: DecoderCache, sources: np.ndarray | None, heads: Heads = ()
    ) -> tuple[mx.array, DecoderCache, mx.array | None]:
        cache = self._with_room(tokens, cache, sources).on_device()
        return self.network.decoder(mx.array(np.asarray(tokens, np.int32)), cache, heads)

    def _with_room(self, tokens: np.ndarray, cache: DecoderCache, sources: np.ndarray | None) -> DecoderCache:
        limit = self.config.dimensions.n_text_ctx
        if cache.length + tokens.shape[1] > limit:
            raise DecodingError(f"The model has room for {limit} tokens, not {cache.length + tokens.shape[1]}.")
        return cache if sources is None else cache.reordered(sources)
