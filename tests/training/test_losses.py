"""The TDT loss and its gradient against the sum over every path of small lattices."""

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("numba")

from assets.demo_model.training import losses  # noqa: E402
from assets.demo_model.training.losses import ctc_loss, tdt_loss  # noqa: E402

DURATIONS = (0, 1, 2, 4)
PIECES = 4


def every_path(logits, tokens, frames, count, sigma, earliest=(0,) * 9):
    """-log of the sum of the probabilities of all paths, listed one by one."""
    tokens_log = logits[..., : PIECES + 1].log_softmax(-1) - sigma
    steps = logits[..., PIECES + 1 :].log_softmax(-1)

    def paths(t, u, total):
        if t == frames:
            return [total] if u == count else []
        found = []
        for i, d in enumerate(DURATIONS):
            if t + d > frames:
                continue
            if d > 0:
                found += paths(t + d, u, total + tokens_log[t, u, PIECES] + steps[t, u, i])
            if u < count and t >= earliest[u]:
                found += paths(t + d, u + 1, total + tokens_log[t, u, tokens[u]] + steps[t, u, i])
        return found

    return -torch.logsumexp(torch.stack(paths(0, 0, torch.zeros((), dtype=logits.dtype))), 0)


def lattice(seed, frames, count):
    generator = torch.Generator().manual_seed(seed)
    shape = (1, frames, count + 1, PIECES + 1 + len(DURATIONS))
    logits = torch.randn(shape, generator=generator, dtype=torch.float64)
    return logits, torch.randint(0, PIECES, (1, count), generator=generator)


def loss_of(logits, tokens, frames, counts, sigma=0.05, earliest=None):
    """`tdt_loss` with a head that looks the logits (B, T, U + 1, outputs) up: its input is the number of the state."""
    B, T, states = logits.shape[:3]
    clips = torch.arange(B, dtype=logits.dtype)[:, None, None] * (T * states)
    encoded = clips + states * torch.arange(T, dtype=logits.dtype)[:, None]
    predicted = torch.arange(states, dtype=logits.dtype)[:, None].expand(B, states, 1)
    table = logits.flatten(0, 2)
    numbers = (torch.tensor(values) for values in (frames, counts))

    def head(sums):
        return table[sums[..., 0].long()]

    return tdt_loss(head, encoded, predicted, tokens, *numbers, DURATIONS, earliest, sigma)


@pytest.mark.parametrize(("frames", "count"), [(1, 0), (1, 1), (1, 3), (2, 1), (3, 2), (4, 3), (5, 2), (6, 1)])
@pytest.mark.parametrize("sigma", [0.0, 0.05])
def test_tdt_loss_is_the_sum_over_all_paths(frames, count, sigma):
    logits, tokens = lattice(frames * 10 + count, frames, count)
    loss = loss_of(logits, tokens, [frames], [count], sigma)
    assert loss.item() == pytest.approx(every_path(logits[0], tokens[0], frames, count, sigma).item(), abs=1e-9)


def test_tdt_gradient_is_that_of_the_sum_over_all_paths(monkeypatch):
    monkeypatch.setattr(losses, "_NEGLIGIBLE", 0.0)
    logits, tokens = lattice(7, 4, 2)
    ours, listed = logits.clone().requires_grad_(), logits.clone().requires_grad_()
    (2.5 * loss_of(ours, tokens, [4], [2])).sum().backward()
    (2.5 * every_path(listed[0], tokens[0], 4, 2, 0.05)).backward()
    assert torch.allclose(ours.grad, listed.grad, atol=1e-9)


@pytest.mark.parametrize("earliest", [(1, 1), (3, 3), (0, 4), (1, 2)])
def test_tdt_loss_leaves_out_paths_that_say_a_token_too_early(monkeypatch, earliest):
    monkeypatch.setattr(losses, "_NEGLIGIBLE", 0.0)
    logits, tokens = lattice(5, 5, 2)
    ours, listed = logits.clone().requires_grad_(), logits.clone().requires_grad_()
    loss = loss_of(ours, tokens, [5], [2], earliest=torch.tensor([earliest]))
    expected = every_path(listed[0], tokens[0], 5, 2, 0.05, earliest)
    assert loss.item() == pytest.approx(expected.item(), abs=1e-9)
    assert loss.item() > loss_of(logits, tokens, [5], [2]).item()
    loss.sum().backward()
    expected.backward()
    assert torch.allclose(ours.grad, listed.grad, atol=1e-9)


def test_states_that_cannot_be_reached_yet_change_nothing(monkeypatch):
    monkeypatch.setattr(losses, "_NEGLIGIBLE", 0.0)
    logits, tokens = lattice(13, 40, 4)
    earliest = (15, 16, 16, 33)
    pieces = logits[0, ..., : PIECES + 1].log_softmax(-1) - 0.05
    said = pieces[..., :-1].gather(-1, torch.cat([tokens[0], tokens[0, :1]])[None, :, None].expand(40, -1, 1))[..., 0]
    for u, first in enumerate(earliest):
        said[:first, u] = losses._NEVER
    arcs = torch.cat([pieces[..., -1:], said[..., None], logits[0, ..., PIECES + 1 :].log_softmax(-1)], -1)
    expected, shares = losses._forward_backward(arcs.numpy(), np.array(DURATIONS))
    ours = logits.clone().requires_grad_()
    loss = loss_of(ours, tokens, [40], [4], earliest=torch.tensor([earliest]))
    assert loss.item() == pytest.approx(expected, abs=1e-9)
    loss.sum().backward()
    # A logit's gradient is its softmax times all that leaves the state, less its own share of the paths.
    leaving = torch.from_numpy(shares[..., 2:]).sum(-1)
    durations = torch.from_numpy(shares[..., 2:]) - leaving[..., None] * logits[0, ..., PIECES + 1 :].softmax(-1)
    assert torch.allclose(ours.grad[0, ..., PIECES + 1 :], durations, atol=1e-9)


def test_only_states_of_negligible_share_get_no_gradient():
    logits, tokens = lattice(11, 12, 8)
    every, likely = (4 * logits).requires_grad_(), (4 * logits).requires_grad_()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(losses, "_NEGLIGIBLE", 0.0)
        loss_of(every, tokens, [12], [8]).backward()
    loss_of(likely, tokens, [12], [8]).backward()
    left_out = (likely.grad == 0).all(-1) & (every.grad != 0).any(-1)
    assert left_out.any()
    assert (every.grad - likely.grad).abs().max() <= 2 * losses._NEGLIGIBLE
    assert torch.equal(every.grad[~left_out], likely.grad[~left_out])


def test_padding_changes_nothing():
    short, tokens = lattice(3, 3, 1)
    long = torch.randn(1, 5, 4, short.shape[-1], dtype=torch.float64)
    long[:, :3, :2] = short
    padded = torch.cat([tokens, torch.zeros(1, 2, dtype=torch.long)], 1)
    assert torch.allclose(loss_of(long, padded, [3], [1]), loss_of(short, tokens, [3], [1]))


def test_ctc_of_one_token_in_two_frames():
    logits = torch.zeros(1, 2, 3)
    # aa, a-, -a of nine sequences
    loss = ctc_loss(logits, torch.tensor([[1]]), torch.tensor([2]), torch.tensor([1]))
    assert loss.item() == pytest.approx(-math.log(3 / 9), abs=1e-6)
