"""How sure a model was: NeMo's confidence measures (`ConfidenceMethodConfig`; Laptev and Ginsburg 2022)."""

from __future__ import annotations

import math

import numpy as np

from asr_core.decoding.options import Confidence


def measure(log_probs: np.ndarray, options: Confidence, size: int | None = None) -> np.ndarray:
    """Confidence of each distribution.

    Args:
        log_probs: (..., n) natural log of the probabilities, blank included.
        size: the number of outcomes that normalises; None = n. NeMo uses V + 1 for durations too.
    Returns:
        (...) float32; 1 where one outcome is certain, 0 where all are alike.
    """
    # As NeMo: minus infinity becomes the smallest number, whose exponential is 0, so that 0 * log 0 is 0.
    x = np.nan_to_num(np.asarray(log_probs, np.float32), neginf=float(np.finfo(np.float32).min))
    x = x.astype(np.float64)
    size, alpha = size or x.shape[-1], options.alpha
    if options.method == "max_prob":
        return _max_prob(x, size, alpha).astype(np.float32)
    formula = {"gibbs": _gibbs, "tsallis": _tsallis, "renyi": _renyi}[options.method]
    if alpha == 1:  # the other entropies become Gibbs's
        formula = _gibbs
    return formula(x, size, alpha, options.norm).astype(np.float32)


def aggregate(values: np.ndarray, how: str) -> float:
    """One confidence for several: their "mean", "min", "max" or "prod"; nothing is certain of nothing (1)."""
    values = np.asarray(values)
    if values.size == 0:
        return 1.0
    return float({"mean": np.mean, "min": np.min, "max": np.max, "prod": np.prod}[how](values))


def _max_prob(x: np.ndarray, v: int, t: float) -> np.ndarray:
    best = np.exp(x.max(-1))
    return (best * v - 1) / (v - 1) if t == 1 else (best**t * v**t - 1) / (v**t - 1)


def _gibbs(x: np.ndarray, v: int, t: float, norm: str) -> np.ndarray:
    if t == 1:
        entropy = (np.exp(x) * x).sum(-1)
        return 1 + entropy / math.log(v) if norm == "lin" else (np.exp(entropy) * v - 1) / (v - 1)
    entropy = (np.exp(t * x) * x).sum(-1)
    if norm == "lin":
        return 1 + entropy / math.log(v) / v ** (1 - t)
    floor = v ** (-t * v ** (1 - t))
    return (np.exp(t * entropy) - floor) / (1 - floor)


def _tsallis(x: np.ndarray, v: int, t: float, norm: str) -> np.ndarray:
    total = np.exp(t * x).sum(-1)
    if norm == "lin":
        return 1 + (1 - total) / (v ** (1 - t) - 1)
    floor = math.exp((1 - v ** (1 - t)) / (1 - t))
    return (np.exp((1 - total) / (1 - t)) - floor) / (1 - floor)


def _renyi(x: np.ndarray, v: int, t: float, norm: str) -> np.ndarray:
    total = np.exp(t * x).sum(-1)
    if norm == "lin":
        return 1 + np.log2(total) / (t - 1) / math.log2(v)
    return (total ** (1 / (t - 1)) * v - 1) / (v - 1)
