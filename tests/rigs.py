"""Transducer heads whose every logit is known: weights that pass a table through, or small random ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from asr_core.models.host import log_softmax
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


def lattice_sum(states: np.ndarray, labels: Sequence[int], head: Transducer) -> float:
    """The log-prob of a label sequence over all alignments that reach the end, by the forward algorithm.

    However many labels are on a frame: what a search that is limited there may score is at most this.

    Args:
        states: (frames, width) of the encoder.
    """
    frames, projected = len(states), head.joint.project_encoder(states)
    total = np.full((frames + max(head.durations, default=1) + 1, len(labels) + 1), -np.inf)
    total[0, 0] = 0
    output, state = head.prediction.start(1)
    for u in range(len(labels) + 1):
        logits = head.joint.logits(projected, head.joint.project_prediction(output))
        entries, rest = log_softmax(logits[:, : head.blank + 1]), logits[:, head.blank + 1 :]
        by_duration = log_softmax(rest) if head.durations else rest
        for t in range(frames):
            for is_label, advance, gain in moves(entries[t], by_duration[t], labels[u : u + 1], head):
                target = t + advance, u + is_label
                total[target] = np.logaddexp(total[target], total[t, u] + gain)
        if u < len(labels):
            output, state = head.prediction.step(np.array(labels[u : u + 1]), state)
    return float(np.logaddexp.reduce(total[frames:, len(labels)]))


def moves(
    entries: np.ndarray, by_duration: np.ndarray, label: Sequence[int], head: Transducer
) -> Iterator[tuple[int, int, float]]:
    """Ways on from a node of the lattice: 1 for a label else 0, frames advanced, log-prob.

    Args:
        entries: (V + 1,) log-probs; `by_duration` (D,).
        label: the next label, or nothing.
    """
    pairs = list(zip(head.durations, by_duration, strict=True)) or [(None, 0.0)]
    for duration, gain in pairs:
        yield 0, 1 if duration is None else max(1, duration), gain + entries[head.blank]
        if len(label):
            yield 1, duration or 0, gain + entries[label[0]]
