"""Which frames are there, and which may see each other."""

from __future__ import annotations

import mlx.core as mx
import numpy as np

#: Added to the score of a key that must not be seen; finite, so that a row without keys stays finite.
HIDDEN = -1e9


def frame_mask(lengths: np.ndarray, frames: int) -> mx.array | None:
    """(batch, frames) True on valid frames; None where every frame of every item is valid."""
    if (lengths >= frames).all():
        return None
    return mx.array(np.arange(frames) < lengths[:, None])


def within_context(frames: int, left: int, right: int, style: str) -> np.ndarray:
    """(frames, frames) True where a frame may see another (NeMo's `att_context_style`)."""
    query, key = np.arange(frames)[:, None], np.arange(frames)[None]
    if style == "regular":
        return (key >= query - left) & (key <= query + right)
    chunk = right + 1
    back = query // chunk - key // chunk
    return (back >= 0) & (back <= left // chunk)
