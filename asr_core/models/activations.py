"""Activations in the form that each device computes fastest."""

from __future__ import annotations

import math

import mlx.core as mx
import mlx.nn as nn

LOG2_E = math.log2(math.e)


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
