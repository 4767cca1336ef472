"""Activations and attention in the form that each device computes fastest."""

from __future__ import annotations

import math

import mlx.core as mx
import mlx.nn as nn
import numpy as np

from asr_core.models import host

LOG2_E = math.log2(math.e)
#: Numbers for which the way to the host and back does not pay.
FEW = 2**17


def sigmoid(x: mx.array) -> mx.array:
    """1 / (1 + e^-x)."""
    return 1 / (1 + mx.power(2.0, x * -LOG2_E)) if powers_are_faster(x) else mx.sigmoid(x)


def silu(x: mx.array) -> mx.array:
    """x * sigmoid(x)."""
    return x / (1 + mx.power(2.0, x * -LOG2_E)) if powers_are_faster(x) else nn.silu(x)


def powers_are_faster(x: mx.array) -> bool:
    """MLX's CPU backend takes exponentials two to three times slower than powers of two, sigmoid and softmax with them.

    Metal has fused kernels; numbers of 16 bits need them to keep their precision.
    """
    return x.dtype == mx.float32 and mx.default_device().type == mx.DeviceType.cpu


def attend(q: mx.array, k: mx.array, v: mx.array) -> mx.array:
    """Softmax attention of (batch, heads, T, d) queries that are scaled already."""
    if not powers_are_faster(q):
        return mx.fast.scaled_dot_product_attention(q, k, v, scale=1.0)
    return mx.array(host.attend(*(np.array(x, copy=False) for x in (q, k, v))))


def gelu(x: mx.array) -> mx.array:
    """The exact GELU; a large array on the host where that is faster."""
    if x.size < FEW or not powers_are_faster(x):
        return nn.gelu(x)
    return mx.array(host.gelu(np.array(x, copy=False)))


def weighted(scores: mx.array, values: mx.array) -> mx.array:
    """Softmax of (..., n, keys) times (..., keys, d), in the form that the device computes fastest."""
    if not powers_are_faster(scores):
        return mx.softmax(scores, axis=-1, precise=True) @ values
    weights = mx.power(2.0, (scores - scores.max(-1, keepdims=True)) * LOG2_E)
    return (weights @ values) / weights.sum(-1, keepdims=True)
