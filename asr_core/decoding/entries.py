"""The best entries of a vocabulary of tens of thousands, on the host; the device's counterpart is device_entries.py."""

from __future__ import annotations

import numpy as np

from asr_core.errors import DecodingError

#: Entries of a vocabulary whose largest is looked for first.
BLOCK = 256


def log_softmax(logits: np.ndarray) -> np.ndarray:
    """(rows, V) to float64 log-probs; what is suppressed stays minus infinity. Raises DecodingError for NaN."""
    logits = np.asarray(logits, np.float64)
    best = logits.max(-1, keepdims=True)
    if np.isnan(best).any() or not np.isfinite(best).all():
        raise _nothing_to_choose()
    return logits - best - np.log(np.exp(logits - best).sum(-1, keepdims=True))


def best_entries(logits: np.ndarray, count: int, rows: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """The largest log-probs of each row and their ids, the lowest id first among equals.

    Args:
        logits: (rows, V).
        rows: (rows,) bool of those that count; the others give minus infinity.
    Returns:
        (rows, count) float64 and (rows, count) int64; count is at most V.
    Raises:
        DecodingError: a row has NaN, or nothing that is possible.
    """
    count = min(count, logits.shape[-1])
    values = np.full((len(logits), count), -np.inf)
    ids = np.zeros((len(logits), count), np.int64)
    for i in range(len(logits)) if rows is None else np.flatnonzero(rows):
        ids[i] = largest(logits[i], count)
        best = logits[i, ids[i, 0]]
        if not np.isfinite(best):
            raise _nothing_to_choose()
        # NumPy sums pairwise, so that small terms are not lost beside large ones.
        total = np.exp(logits[i] - best).sum()
        if not np.isfinite(total):
            raise _nothing_to_choose()
        values[i] = logits[i, ids[i]].astype(np.float64) - best - np.log(np.float64(total))
    return values, ids


def largest(values: np.ndarray, count: int) -> np.ndarray:
    """(count,) positions of the largest of (n,) values, best first, the lower position first among equals.

    They lie in the blocks with the largest maxima, of which there need be no more than `count`: what is outside has in
    each of those blocks something that goes before it.
    """
    whole = len(values) // BLOCK * BLOCK
    if whole < 2 * count * BLOCK:
        return np.argsort(-values, kind="stable")[:count]
    maxima = values[:whole].reshape(-1, BLOCK).max(-1)
    if whole < len(values):
        maxima = np.append(maxima, values[whole:].max())
    blocks = np.sort(np.argsort(-maxima, kind="stable")[:count])
    places = (blocks[:, None] * BLOCK + np.arange(BLOCK)).ravel()
    places = places[places < len(values)]
    return places[np.argsort(-values[places], kind="stable")[:count]]


def check_choice(values: np.ndarray, rows: np.ndarray) -> None:
    """Raise DecodingError where one of the rows that count has NaN in place of log-probs, or nothing that is possible.

    Args:
        values: (rows, count), best first.
        rows: (rows,) bool.
    """
    if not np.isfinite(values[rows, 0]).all():
        raise _nothing_to_choose()


def _nothing_to_choose() -> DecodingError:
    return DecodingError("The model's scores are NaN, or every token is suppressed: there is nothing to choose.")
