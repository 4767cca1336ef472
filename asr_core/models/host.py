"""Arithmetic of the heads on the host: weights as NumPy float32, and the one function of probabilities."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from asr_core.errors import ModelError


def tensor(weights: Mapping[str, np.ndarray], key: str) -> np.ndarray:
    """One tensor as float32. Raises ModelError that names it where it is missing."""
    if key not in weights:
        raise ModelError(f"The weights lack {key}, which the configuration asks for.")
    return np.asarray(weights[key], np.float32)


def linear(weights: Mapping[str, np.ndarray], name: str) -> tuple[np.ndarray, np.ndarray]:
    """Weight (in, out) and bias (out,) of a linear layer."""
    return columns(tensor(weights, f"{name}.weight")), tensor(weights, f"{name}.bias")


def columns(weight: np.ndarray) -> np.ndarray:
    """(out, in) as (in, out), contiguous: a row vector times it is one BLAS call."""
    return np.ascontiguousarray(weight.T)


def log_softmax(logits: np.ndarray) -> np.ndarray:
    """(..., n) float32 to natural-log probabilities."""
    shifted = logits - logits.max(-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
