"""Transducer heads whose every logit is known: weights that pass a table through, or small random ones."""

from __future__ import annotations

import numpy as np

from asr_core.models.transducer import Joint, PredictionNetwork, Transducer

#: Keeps what passes through the joint's activation positive.
LIFT = 100.0


def tabled(
    table: np.ndarray, labels: int, durations: tuple[int, ...] = (), max_symbols: int | None = None
) -> tuple[np.ndarray, Transducer]:
    """A head whose logits at frame t are `table[t]`, whatever was said before.

    Args:
        table: (frames, labels + 1 + durations); blank comes after the labels.
    Returns:
        (1, frames, width) encoder output, and the head.
    """
    width = table.shape[1]
    assert width == labels + 1 + len(durations)
    nothing = np.zeros((1, width), np.float32), np.zeros(width, np.float32)
    eye = np.eye(width, dtype=np.float32)
    lstm = PredictionNetwork(np.zeros((labels + 1, 4), np.float32), (), (), (np.zeros((1, 4), np.float32),))
    joint = Joint((eye, np.full(width, LIFT, np.float32)), nothing, (eye, np.full(width, -LIFT, np.float32)))
    return table[None].astype(np.float32), Transducer(lstm, joint, labels, durations, max_symbols)


def random_head(seed: int, labels: int, durations: tuple[int, ...] = (), sharpness: float = 3.0) -> Transducer:
    """A small head with random weights, whose prediction network matters."""
    random, width = np.random.default_rng(seed), 4

    def normal(*shape: int, scale: float = 1.0) -> np.ndarray:
        return (scale * random.standard_normal(shape)).astype(np.float32)

    entries = labels + 1 + len(durations)
    lstm = PredictionNetwork(normal(labels + 1, 4 * width), (), (), (normal(width, 4 * width),))
    joint = Joint(
        (normal(3, width), normal(width)),
        (normal(width, width, scale=2.0), normal(width)),
        (normal(width, entries, scale=sharpness / 2), normal(entries)),
        "tanh",
    )
    return Transducer(lstm, joint, labels, durations, None)
