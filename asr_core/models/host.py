"""Arithmetic of the heads on the host: weights as NumPy float32, and the one function of probabilities."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from asr_core.errors import ModelError

#: Rows of a step of a search: up to so many, a product is made by blocks of the weight.
FEW = 24
#: Multiplications of a block for several rows: OpenBLAS makes such a product without rearranging the block first.
BLOCK = 2**19
#: Floats of a block for one row; of a weight so small that a row at a time is fastest for few rows too.
ROW_BLOCK, FEW_OF_SMALL = 2**18, 6
#: Rows up to which those blocks are fastest for the output of a large vocabulary.
FEW_OF_VOCABULARY = 6


def tensor(weights: Mapping[str, np.ndarray], key: str) -> np.ndarray:
    """One tensor as float32. Raises ModelError that names it where it is missing."""
    if key not in weights:
        raise ModelError(f"The weights lack {key}, which the configuration asks for.")
    return np.asarray(weights[key], np.float32)


def linear(weights: Mapping[str, np.ndarray], name: str) -> tuple[np.ndarray, np.ndarray]:
    """Weight (in, out) and bias (out,) of a linear layer."""
    return tensor(weights, f"{name}.weight").T, tensor(weights, f"{name}.bias")


def product(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """(..., in) times (in, out) to (..., out), for the few rows of a step of a search.

    A large matrix product rearranges all of the weight before it multiplies, which for few rows costs more than the
    product. So few rows meet the weight in blocks small enough to be taken as they are; for more, the weight stands on
    the left, in the order it has in memory, and the rows are filled up to a multiple of four.
    """
    rows = x.reshape(-1, x.shape[-1])
    count, small = len(rows), weight.size <= ROW_BLOCK
    if count == 1 or (small and count <= FEW_OF_SMALL):
        out = _row_by_row(rows, weight)
    elif count <= FEW and not small:
        out = np.empty((count, weight.shape[1]), np.result_type(rows, weight))
        width = max(16, BLOCK // rows.size)
        for first in range(0, weight.shape[1], width):
            np.matmul(rows, weight[:, first : first + width], out=out[:, first : first + width])
    else:
        filled = np.concatenate([rows, np.zeros((-count % 4, rows.shape[1]), rows.dtype)]) if count % 4 else rows
        out = (weight.T @ filled.T).T[:count]
    return out.reshape(*x.shape[:-1], weight.shape[1])


def vocabulary_product(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The same for a weight of tens of thousands of columns, which no cache holds: few rows meet it one by one."""
    rows = x.reshape(-1, x.shape[-1])
    if len(rows) > FEW_OF_VOCABULARY:
        # With the weight on the left each row's numbers would lie apart, and what looks for the best reads them slowly.
        return product(x, weight)
    return _row_by_row(rows, weight).reshape(*x.shape[:-1], weight.shape[1])


def _row_by_row(rows: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """(rows, in) times (in, out), in blocks small enough that the threads of BLAS do not wait for one another."""
    out = np.empty((len(rows), weight.shape[1]), np.result_type(rows, weight))
    width = max(1, ROW_BLOCK // len(weight))
    for first in range(0, weight.shape[1], width):
        block = weight[:, first : first + width].T
        for row, result in zip(rows, out[:, first : first + width], strict=True):
            np.dot(block, row, out=result)
    return out


def log_softmax(logits: np.ndarray) -> np.ndarray:
    """(..., n) float32 to natural-log probabilities."""
    shifted = logits - logits.max(-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))


def attend(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Softmax attention of (batch, heads, T, d) float32 queries, scaled already, to keys and values (.., K, d).

    Head by head, so that the scores stay near the processor; NumPy takes exponentials several times faster than MLX's
    CPU backend does.
    """
    out = np.empty_like(q)
    scores = np.empty((q.shape[-2], k.shape[-2]), np.float32)
    for at in np.ndindex(q.shape[:2]):
        np.matmul(q[at], k[at].T, out=scores)
        scores -= scores.max(-1, keepdims=True)
        np.exp(scores, out=scores)
        np.matmul(scores, v[at], out=out[at])
        out[at] /= scores.sum(-1, keepdims=True)
    return out


#: Abramowitz and Stegun, "Handbook of Mathematical Functions", 7.1.26: erf to 1.5e-7.
_ERF = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)
_ERF_P = 0.3275911


def gelu(x: np.ndarray) -> np.ndarray:
    """x * Phi(x) of float32, with the error function to 1.5e-7; in blocks that stay in the cache."""
    flat = np.ascontiguousarray(x, np.float32).reshape(-1)
    out = np.empty_like(flat)
    for first in range(0, len(flat), BLOCK // 8):
        part = flat[first : first + BLOCK // 8]
        size = np.abs(part) * np.float32(np.sqrt(0.5))
        t = 1 / (1 + np.float32(_ERF_P) * size)
        series = np.full_like(t, _ERF[-1])
        for coefficient in _ERF[-2::-1]:
            series *= t
            series += np.float32(coefficient)
        # 1 - erf of the absolute value; half of it is what Phi lacks to 1, or Phi itself below 0. Cut off at 1e-26:
        # numbers too small for a normal float make the next matrix product four times slower.
        tail = 0.5 * series * t * np.exp(-np.minimum(size * size, 60))
        out[first : first + BLOCK // 8] = part * np.where(part < 0, tail, 1 - tail)
    return out.reshape(x.shape)
