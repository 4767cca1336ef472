"""A depthwise convolution of stride 2 with its gradients; PyTorch's own takes a large part of a training step."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import torch
from torch import Tensor


def depthwise(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Each channel's own 3 x 3 kernel, stride 2, padding 1.

    Args:
        x: (B, T, F, C), the channels last.
        weight: (C, 1, 3, 3). bias: (C,).
    Returns:
        (B, ceil(T / 2), ceil(F / 2), C) in float32.
    """
    return _Depthwise.apply(x.float().contiguous(), weight[:, 0].permute(1, 2, 0).contiguous()) + bias


class _Depthwise(torch.autograd.Function):
    """x (B, T, F, C), kernel (3, 3, C)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, kernel: Tensor) -> Tensor:
        ctx.save_for_backward(x, kernel)
        B, T, F, C = x.shape
        out = torch.zeros(B, (T + 1) // 2, (F + 1) // 2, C)
        _convolve(x.detach().numpy(), kernel.detach().numpy(), out.numpy(), None, None)
        return out

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor]:
        x, kernel = ctx.saved_tensors
        to_x, to_kernel = torch.zeros_like(x), torch.zeros_like(kernel)
        arrays = (x, kernel, gradient.float().contiguous(), to_x, to_kernel)
        _convolve(*(array.detach().numpy() for array in arrays))
        return to_x, to_kernel


@numba.njit(cache=True, fastmath=True)
def _convolve(x: np.ndarray, kernel: np.ndarray, out: np.ndarray, to_x: Any, to_kernel: Any) -> None:
    """Add to `out`; or with `to_x` and `to_kernel`, which are None otherwise, bring the gradient `out` back to them.

    Numba compiles either way on its own, without the branch.
    """
    B, T, F, C = x.shape
    for b in range(B):
        for t in range(out.shape[1]):
            for f in range(out.shape[2]):
                target = out[b, t, f]
                for i in range(3):
                    for j in range(3):
                        row, column = 2 * t + i - 1, 2 * f + j - 1
                        if 0 <= row < T and 0 <= column < F:
                            source, weights = x[b, row, column], kernel[i, j]
                            if to_x is None:
                                for c in range(C):
                                    target[c] += source[c] * weights[c]
                            else:
                                to_source, to_weights = to_x[b, row, column], to_kernel[i, j]
                                for c in range(C):
                                    to_source[c] += target[c] * weights[c]
                                    to_weights[c] += target[c] * source[c]
