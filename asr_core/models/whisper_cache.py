"""What Whisper's decoder keeps from one step to the next."""

from __future__ import annotations

from dataclasses import dataclass, replace

import mlx.core as mx
import numpy as np

#: Of MLX, or of NumPy where the step was taken on the host.
Array = mx.array | np.ndarray


@dataclass(frozen=True)
class DecoderCache:
    """What the decoder has computed so far. Rows are audios x sequences of each, the audio's own together.

    Args:
        cross: of each layer the keys (audios, heads, d, frames) and values (audios, heads, frames, d) of the audio:
            contiguous, made once, shared by all sequences of an audio.
        own: of each layer the keys and values (rows, heads, length, d) of the tokens.
        length: tokens that have been read.
    """

    cross: tuple[tuple[mx.array, mx.array], ...]
    own: tuple[tuple[Array, Array], ...] = ()
    length: int = 0

    def reordered(self, sources: np.ndarray) -> DecoderCache:
        """Row i goes on from row `sources[i]`, also to more rows than before. The audio's part stays as it is."""
        rows = self.own[0][0].shape[0]
        if len(sources) == rows and (sources == np.arange(rows)).all():
            return self
        if isinstance(self.own[0][0], np.ndarray):
            return replace(self, own=tuple((k[sources], v[sources]) for k, v in self.own))
        taken = mx.array(np.asarray(sources, np.int32))
        return replace(self, own=tuple((k[taken], v[taken]) for k, v in self.own))

    def on_device(self) -> DecoderCache:
        """The same, all of it in MLX."""
        if not self.own or isinstance(self.own[0][0], mx.array):
            return self
        return replace(self, own=tuple((mx.array(k), mx.array(v)) for k, v in self.own))
