"""The loss of a token-and-duration transducer (TDT, https://arxiv.org/abs/2304.06795), and CTC's.

At frame t, after u tokens, the model emits token u + 1 or blank and advances by a duration d; a blank advances at least
one frame. A path ends when it steps on frame T with all U tokens said. The loss is -log of the sum over all paths,
by the forward-backward algorithm in log space; token and duration are independent given the state.
"""

from __future__ import annotations

from collections.abc import Sequence

import numba
import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

_NEVER = -1e30


def tdt_loss(
    logits: Tensor, tokens: Tensor, frames: Tensor, counts: Tensor, durations: Sequence[int], sigma: float = 0.05
) -> Tensor:
    """-log P(tokens) of each clip.

    Args:
        logits: (B, T, U + 1, V + 1 + D) of the joint network: V pieces, the blank, D durations.
        tokens: (B, U), padded.
        frames, counts: (B,) valid frames and tokens.
        durations: the D numbers of frames.
        sigma: taken off every token's log-probability, so that paths of few, long steps are favoured.
    Returns:
        (B,) float32.
    """
    blank = logits.shape[-1] - 1 - len(durations)
    log_probs = logits[..., : blank + 1].log_softmax(-1) - sigma
    steps = logits[..., blank + 1 :].log_softmax(-1)
    index = tokens[:, None, :, None].expand(-1, logits.shape[1], -1, 1)
    said = log_probs[:, :, :-1].gather(3, index)[..., 0]
    return _ForwardBackward.apply(log_probs[..., blank], said, steps, frames, counts, tuple(durations))


def ctc_loss(logits: Tensor, tokens: Tensor, frames: Tensor, counts: Tensor) -> Tensor:
    """-log P(tokens) of each clip by CTC. logits: (B, T, V + 1), the blank last. Returns (B,)."""
    log_probs = logits.log_softmax(-1).transpose(0, 1)
    blank = logits.shape[-1] - 1
    return functional.ctc_loss(log_probs, tokens, frames, counts, blank, reduction="none", zero_infinity=True)


class _ForwardBackward(torch.autograd.Function):
    """Loss and gradients from log-probabilities: blanks (B, T, U + 1), tokens (B, T, U), durations (B, T, U + 1, D)."""

    @staticmethod
    def forward(ctx, blanks, said, steps, frames, counts, durations):
        inputs = [np.ascontiguousarray(x.detach().double().numpy()) for x in (blanks, said, steps)]
        gradients = [np.zeros_like(x) for x in inputs]
        losses = np.zeros(len(blanks))
        for item in range(len(blanks)):
            losses[item] = _forward_backward(
                *(x[item] for x in inputs), int(frames[item]), int(counts[item]), np.array(durations),
                *(x[item] for x in gradients),
            )  # fmt: skip
        ctx.gradients = [torch.from_numpy(x).to(blanks.dtype) for x in gradients]
        return torch.from_numpy(losses).to(blanks.dtype)

    @staticmethod
    def backward(ctx, weight):
        scaled = [weight.view(-1, *[1] * (x.ndim - 1)) * x for x in ctx.gradients]
        return (*scaled, None, None, None)


@numba.njit(inline="always")
def _log_add(a: float, b: float) -> float:
    if a < b:
        a, b = b, a
    return a if b <= _NEVER else a + np.log1p(np.exp(b - a))


@numba.njit(cache=True)
def _forward_backward(blanks, said, steps, T, U, durations, to_blanks, to_said, to_steps):
    """-log P of one clip; writes its gradients into the last three arrays.

    alpha[t, u] sums the paths from the start to state (t, u), beta[t, u] those from there to the end (T, U). An arc's
    share of all paths, exp(alpha + arc + beta - log P), is minus the gradient of the loss by its log-probability.
    """
    alpha = np.full((T + 1, U + 1), _NEVER)
    beta = np.full((T + 1, U + 1), _NEVER)
    alpha[0, 0] = 0.0
    beta[T, U] = 0.0
    for t in range(T):
        for u in range(U + 1):
            for i, d in enumerate(durations):
                if t + d > T:
                    continue
                if d > 0:
                    alpha[t + d, u] = _log_add(alpha[t + d, u], alpha[t, u] + blanks[t, u] + steps[t, u, i])
                if u < U:
                    alpha[t + d, u + 1] = _log_add(alpha[t + d, u + 1], alpha[t, u] + said[t, u] + steps[t, u, i])
    for t in range(T - 1, -1, -1):
        for u in range(U, -1, -1):
            for i, d in enumerate(durations):
                if t + d > T:
                    continue
                if d > 0:
                    beta[t, u] = _log_add(beta[t, u], blanks[t, u] + steps[t, u, i] + beta[t + d, u])
                if u < U:
                    beta[t, u] = _log_add(beta[t, u], said[t, u] + steps[t, u, i] + beta[t + d, u + 1])
    total = beta[0, 0]
    if total <= _NEVER / 2:  # no path: more tokens than any path can say
        return 0.0
    for t in range(T):
        for u in range(U + 1):
            here = alpha[t, u] - total
            if here < -60 - beta[t, u]:  # a share below 1e-26
                continue
            for i, d in enumerate(durations):
                if t + d > T:
                    continue
                if d > 0:
                    share = np.exp(min(0.0, here + blanks[t, u] + steps[t, u, i] + beta[t + d, u]))
                    to_blanks[t, u] -= share
                    to_steps[t, u, i] -= share
                if u < U:
                    share = np.exp(min(0.0, here + said[t, u] + steps[t, u, i] + beta[t + d, u + 1]))
                    to_said[t, u] -= share
                    to_steps[t, u, i] -= share
    return -total
