"""The best entries of logits on the device, for Metal: a few numbers a row go to the host, not the whole vocabulary.

There waiting for the device is what costs. On a CPU the host is several times faster (asr_core/decoding/entries.py); it
is also the reference for what is found here. Everything here runs in the engine's thread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial

import mlx.core as mx
import numpy as np

#: Entries that are summed together before the sums are: one long float32 sum loses the small terms.
BLOCK = 256
#: Forbidden spans of a row, at most; as many always, so that one function is compiled.
SPANS = 8


def best_entries(
    logits: mx.array,
    count: int,
    suppressed: mx.array,
    spans: Sequence[Sequence[tuple[int, int]]],
    grouped: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """The largest log-probs of each row and their ids, the lowest id first among equals.

    Args:
        logits: (rows, V), of any floating type.
        suppressed: (V,) bool of the ids that never come.
        spans: of each row up to `SPANS` spans [low, high) of ids that may not come now.
        grouped: from this id on are tokens of which one must come where together they are more probable than any
            single one before; None = there are none such.
    Returns:
        (rows, count) float64 and (rows, count) int64; count is at most V. Where a row has NaN, its values are NaN;
        what is suppressed has minus infinity.
    """
    bounds = np.zeros((len(spans), SPANS, 2), np.int32)
    for row, own in zip(bounds, spans, strict=True):
        row[: len(own)] = np.reshape(own, (-1, 2))
    values, ids = _compiled(min(count, logits.shape[-1]), grouped)(logits, suppressed, mx.array(bounds))
    mx.eval(values, ids)
    return np.array(values).astype(np.float64), np.array(ids).astype(np.int64)


@lru_cache(maxsize=8)
def _compiled(count: int, grouped: int | None) -> Callable[[mx.array, mx.array, mx.array], tuple[mx.array, mx.array]]:
    function = partial(_best, count=count, grouped=grouped)
    # On a CPU MLX would call a C++ compiler for it.
    return mx.compile(function) if mx.default_device().type == mx.DeviceType.gpu else function


def _best(
    logits: mx.array, suppressed: mx.array, bounds: mx.array, *, count: int, grouped: int | None
) -> tuple[mx.array, mx.array]:
    ids = mx.arange(logits.shape[-1])
    hidden = (ids >= bounds[..., :1]) & (ids < bounds[..., 1:])
    left = mx.where(hidden.any(1) | suppressed, -mx.inf, logits.astype(mx.float32))
    if grouped is not None:
        of_group = log_sum(left[:, grouped:])
        forced = of_group > left[:, :grouped].max(-1, keepdims=True)
        left = mx.where(forced & (ids < grouped), -mx.inf, left)
    total, values, found = log_sum(left), [], []
    for _ in range(count):
        # argmax takes the lowest id among equals.
        best = mx.argmax(left, axis=-1, keepdims=True)
        values.append(mx.take_along_axis(left, best, axis=-1))
        found.append(best)
        left = mx.where(ids == best, -mx.inf, left)
    return mx.concatenate(values, axis=-1) - total, mx.concatenate(found, axis=-1)


def log_sum(x: mx.array) -> mx.array:
    """(rows, n) to the logarithm of the sum of the exponentials (rows, 1), in two levels; minus infinity of nothing."""
    best = x.max(-1, keepdims=True)
    shifted = mx.exp(x - mx.where(best == -mx.inf, 0, best))
    filled = mx.pad(shifted, ((0, 0), (0, -x.shape[-1] % BLOCK)))
    return best + mx.log(filled.reshape(len(x), -1, BLOCK).sum(-1).sum(-1, keepdims=True))
