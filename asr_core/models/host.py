"""Arithmetic of the heads on the host: weights as NumPy float32, and the one function of probabilities."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from asr_core.errors import ModelError

#: Rows up to which a product is made row by row.
FEW = 6
#: Floats of a weight that stay in the cache while they meet each row: 1 MB.
BLOCK = 2**18


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

    A matrix product rearranges all of the weight before it multiplies, which for few rows costs more than the product.
    So a few rows are multiplied one by one, by a block of the weight that stays in the cache; for more, the weight
    stands on the left, in the order it has in memory, and the rows are filled up to a multiple of four.
    """
    rows = x.reshape(-1, x.shape[-1])
    count = len(rows)
    if count <= FEW:
        out = np.empty((count, weight.shape[1]), np.result_type(x, weight))
        width = max(1, BLOCK // len(weight))
        for first in range(0, weight.shape[1], width):
            block = weight[:, first : first + width].T
            for row, result in zip(rows, out[:, first : first + width], strict=True):
                np.dot(block, row, out=result)
    else:
        filled = np.concatenate([rows, np.zeros((-count % 4, rows.shape[1]), rows.dtype)]) if count % 4 else rows
        out = (weight.T @ filled.T).T[:count]
    return out.reshape(*x.shape[:-1], weight.shape[1])


def log_softmax(logits: np.ndarray) -> np.ndarray:
    """(..., n) float32 to natural-log probabilities."""
    shifted = logits - logits.max(-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
