"""The loss of a token-and-duration transducer (TDT, https://arxiv.org/abs/2304.06795), and CTC's.

At frame t, after u tokens, the model emits token u + 1 or blank and advances by a duration d; a blank advances at least
one frame. A path ends when it steps on frame T with all U tokens said. The loss is -log of the sum over all paths,
by the forward-backward algorithm in log space; token and duration are independent given the state.

The TDT loss leaves out the paths that say a token before its earliest frame, as alignment-restricted transducers do
(https://arxiv.org/abs/2011.03072): a model that hears the whole clip would otherwise learn to say sentences before they
begin. CTC's does not: it says one token a frame at most, and fast speech has more of them, so it needs the room.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numba
import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

_NEVER = -1e30
#: A state that less than this share of all paths goes through gets no gradient.
_NEGLIGIBLE = 1e-4


def tdt_loss(
    head: Callable[[Tensor], Tensor],
    encoded: Tensor,
    predicted: Tensor,
    tokens: Tensor,
    frames: Tensor,
    counts: Tensor,
    durations: Sequence[int],
    earliest: Tensor | None = None,
    sigma: float = 0.05,
) -> Tensor:
    """-log P(tokens) of each clip.

    The logits of all T x (U + 1) states of a clip are the largest array of a training step by far, and most states lie
    on no path that is at all likely. So they are computed without a gradient first; the forward-backward algorithm says
    what each state counts for; and only states that count are computed again, with the gradient it gives them.

    Args:
        head: the joint network from the sum of its two inputs, (N, J) -> logits (N, V + 1 + D): V pieces, the blank, D
            durations.
        encoded: (B, T, J), of the encoder. predicted: (B, U + 1, J), of the prediction network.
        tokens: (B, U), padded.
        frames, counts: (B,) valid frames and tokens.
        durations: the D numbers of frames.
        earliest: (B, U), the first frame each token may be said at, ascending; None for any.
        sigma: taken off every token's log-probability, so that paths of few, long steps are favoured.
    Returns:
        (B,).
    """
    steps = np.array(durations)
    earliest = torch.zeros_like(tokens) if earliest is None else earliest
    losses = []
    clips = zip(encoded, predicted, tokens, earliest, frames.tolist(), counts.tolist(), strict=True)
    for e, p, said, first, T, U in clips:
        e, p, said = e[:T], p[: U + 1], functional.pad(said[:U], (0, 1))
        first = first[:U].numpy()
        arcs = np.full((T, U + 1, 2 + len(steps)), _NEVER)
        for t in range(0, T, 16):
            states = 1 + np.searchsorted(first, t + 15, "right")  # those behind them cannot be reached yet
            with torch.no_grad():
                block = _arcs(head, e[t : t + 16, None] + p[:states], said[:states], len(steps), sigma)
            arcs[t : t + 16, :states] = block.numpy()
        arcs[:, :U, 1][np.arange(T)[:, None] < first] = _NEVER
        loss, gradient = _forward_backward(arcs, steps)
        t, u = np.nonzero(-gradient[:, :, 2:].sum(2) > _NEGLIGIBLE)
        weight = torch.from_numpy(gradient[t, u]).to(encoded.dtype)
        t, u = torch.from_numpy(t), torch.from_numpy(u)
        likely = _arcs(head, e.index_select(0, t) + p.index_select(0, u), said[u], len(steps), sigma)
        # Its value is the loss, its derivative that of the weighted log-probabilities.
        carrier = (weight * likely).sum()
        losses.append(carrier - carrier.detach() + loss)
    return torch.stack(losses)


def _arcs(head: Callable[[Tensor], Tensor], sums: Tensor, said: Tensor, durations: int, sigma: float) -> Tensor:
    """Log-probabilities (..., 2 + D) of the blank, of the token `said` next and of the durations in states (..., J)."""
    logits = head(sums).to(sums.dtype)
    pieces, steps = logits[..., :-durations], logits[..., -durations:]
    said = said.expand(logits.shape[:-1])[..., None]
    chosen = torch.cat([pieces[..., -1:], pieces.gather(-1, said)], -1) - pieces.logsumexp(-1, keepdim=True) - sigma
    return torch.cat([chosen, steps.log_softmax(-1)], -1)


def ctc_loss(logits: Tensor, tokens: Tensor, frames: Tensor, counts: Tensor) -> Tensor:
    """-log P(tokens) of each clip by CTC. logits: (B, T, V + 1), the blank last. Returns (B,)."""
    log_probs = logits.log_softmax(-1).transpose(0, 1)
    blank = logits.shape[-1] - 1
    return functional.ctc_loss(log_probs, tokens, frames, counts, blank, reduction="none", zero_infinity=True)


@numba.njit(inline="always")
def _log_add(a: float, b: float) -> float:
    if a < b:
        a, b = b, a
    return a if b - a < -30 else a + np.log1p(np.exp(b - a))


@numba.njit(cache=True)
def _forward_backward(arcs, durations):
    """-log P of one clip, and its gradient by the log-probabilities `arcs` (T, U + 1, 2 + D) as `_arcs` gives them.

    alpha[t, u] sums the paths from the start to state (t, u), beta[t, u] those from there to the end (T, U). An arc's
    share of all paths, exp(alpha + arc + beta - log P), is minus the gradient of the loss by its log-probability.
    """
    T, U = arcs.shape[0], arcs.shape[1] - 1
    alpha = np.full((T + 1, U + 1), _NEVER)
    beta = np.full((T + 1, U + 1), _NEVER)
    gradient = np.zeros_like(arcs)
    alpha[0, 0] = 0.0
    beta[T, U] = 0.0
    for t in range(T):
        for u in range(U + 1):
            blank, said = arcs[t, u, 0], arcs[t, u, 1]
            for i, d in enumerate(durations):
                if t + d > T:
                    continue
                here = alpha[t, u] + arcs[t, u, 2 + i]
                if d > 0:
                    alpha[t + d, u] = _log_add(alpha[t + d, u], here + blank)
                if u < U:
                    alpha[t + d, u + 1] = _log_add(alpha[t + d, u + 1], here + said)
    total = alpha[T, U]
    if total <= _NEVER / 2:  # no path: more tokens than any path can say
        return 0.0, gradient
    for t in range(T - 1, -1, -1):
        for u in range(U, -1, -1):
            blank, said = arcs[t, u, 0], arcs[t, u, 1]
            for i, d in enumerate(durations):
                if t + d > T:
                    continue
                step = arcs[t, u, 2 + i]
                if d > 0:
                    beta[t, u] = _log_add(beta[t, u], blank + step + beta[t + d, u])
                if u < U:
                    beta[t, u] = _log_add(beta[t, u], said + step + beta[t + d, u + 1])
            here = alpha[t, u] - total
            if here + beta[t, u] < -20:
                continue
            for i, d in enumerate(durations):
                if t + d > T:
                    continue
                step = arcs[t, u, 2 + i]
                if d > 0:
                    share = np.exp(here + blank + step + beta[t + d, u])
                    gradient[t, u, 0] -= share
                    gradient[t, u, 2 + i] -= share
                if u < U:
                    share = np.exp(here + said + step + beta[t + d, u + 1])
                    gradient[t, u, 1] -= share
                    gradient[t, u, 2 + i] -= share
    return -total, gradient
