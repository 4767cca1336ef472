"""The TDT loss against every path of small lattices, its gradient against finite differences."""

import math

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("numba")

from assets.demo_model.training.losses import ctc_loss, tdt_loss  # noqa: E402

DURATIONS = (0, 1, 2, 4)
PIECES = 4


def every_path(logits, tokens, frames, count, sigma):
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
            if u < count:
                found += paths(t + d, u + 1, total + tokens_log[t, u, tokens[u]] + steps[t, u, i])
        return found

    return -torch.logsumexp(torch.stack(paths(0, 0, torch.zeros((), dtype=logits.dtype))), 0)


def lattice(seed, frames, count):
    generator = torch.Generator().manual_seed(seed)
    shape = (1, frames, count + 1, PIECES + 1 + len(DURATIONS))
    logits = torch.randn(shape, generator=generator, dtype=torch.float64)
    return logits, torch.randint(0, PIECES, (1, count), generator=generator)


@pytest.mark.parametrize(("frames", "count"), [(1, 0), (1, 1), (1, 3), (2, 1), (3, 2), (4, 3), (5, 2), (6, 1)])
@pytest.mark.parametrize("sigma", [0.0, 0.05])
def test_tdt_loss_is_the_sum_over_all_paths(frames, count, sigma):
    logits, tokens = lattice(frames * 10 + count, frames, count)
    loss = tdt_loss(logits, tokens, torch.tensor([frames]), torch.tensor([count]), DURATIONS, sigma)
    assert loss.item() == pytest.approx(every_path(logits[0], tokens[0], frames, count, sigma).item(), abs=1e-9)


def test_tdt_gradient_is_that_of_the_sum_over_all_paths():
    logits, tokens = lattice(7, 4, 2)
    ours, listed = logits.clone().requires_grad_(), logits.clone().requires_grad_()
    (2.5 * tdt_loss(ours, tokens, torch.tensor([4]), torch.tensor([2]), DURATIONS)).sum().backward()
    (2.5 * every_path(listed[0], tokens[0], 4, 2, 0.05)).backward()
    assert torch.allclose(ours.grad, listed.grad, atol=1e-9)


def test_padding_changes_nothing():
    short, tokens = lattice(3, 3, 1)
    long = torch.randn(1, 5, 4, short.shape[-1], dtype=torch.float64)
    long[:, :3, :2] = short
    padded = torch.cat([tokens, torch.zeros(1, 2, dtype=torch.long)], 1)
    alone = tdt_loss(short, tokens, torch.tensor([3]), torch.tensor([1]), DURATIONS)
    assert torch.allclose(tdt_loss(long, padded, torch.tensor([3]), torch.tensor([1]), DURATIONS), alone)


def test_ctc_of_one_token_in_two_frames():
    logits = torch.zeros(1, 2, 3)
    # aa, a-, -a of nine sequences
    loss = ctc_loss(logits, torch.tensor([[1]]), torch.tensor([2]), torch.tensor([1]))
    assert loss.item() == pytest.approx(-math.log(3 / 9), abs=1e-6)
