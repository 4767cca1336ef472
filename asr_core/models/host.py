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
