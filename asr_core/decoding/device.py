"""Greedy transducer decoding on the device: the step loop as one compiled MLX function, for Metal.

There a product is cheap and waiting for it is not, so a block of steps runs between two looks at the result. What comes
back are the steps that were taken; their log-probs and confidences are computed as for every other search. Everything
here runs in the engine's thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import NamedTuple

import mlx.core as mx
import numpy as np

from asr_core.decoding.hypotheses import Path
from asr_core.models.transducer import Joint, PredictionNetwork, Transducer
from asr_core.progress import go_on

#: Steps between two synchronisations.
BLOCK = 16
#: Frames are padded to a multiple of this, so that recordings of all lengths share few compiled functions.
FRAMES = 128

ACTIVATIONS: dict[str, Callable[[mx.array], mx.array]] = {
    "relu": lambda x: mx.maximum(x, 0),
    "tanh": mx.tanh,
    "sigmoid": mx.sigmoid,
}


class _State(NamedTuple):
    """What a search carries from step to step.

    Args:
        frame, on_frame: (batch,) encoder frame, and labels emitted on it so far.
        predicted: (batch, joint width) projected output of the prediction network.
        hidden, cell: (layers, batch, width) of its LSTM.
    """

    frame: mx.array
    on_frame: mx.array
    predicted: mx.array
    hidden: mx.array
    cell: mx.array


class DeviceGreedy:
    """The greedy search of one RNN-T or TDT head."""

    def __init__(self, head: Transducer) -> None:
        self._head = head
        self._prediction = _prediction(head.prediction, head.joint)
        self._output = mx.array(head.joint.output[0]), mx.array(head.joint.output[1])
        self._encoder = mx.array(head.joint.encoder[0]), mx.array(head.joint.encoder[1])
        self._durations = mx.array(np.asarray(head.durations or (0,), np.int32))
        self._activate = ACTIVATIONS[head.joint.activation]
        self._block = mx.compile(self._steps)
        mx.eval(self._output, self._encoder, self._durations)

    def paths(
        self, encoded: np.ndarray, lengths: np.ndarray, limit: int, cancel: threading.Event | None = None
    ) -> list[Path]:
        """The best entry at each step.

        Args:
            encoded: (batch, frames, width) float32.
            lengths: (batch,) valid frames.
            limit: labels that may be emitted on one frame.
            cancel: looked at before each block of steps.
        Returns:
            Every step of each item; the scores are left at 0.
        Raises:
            Cancelled: in the middle of it.
        """
        batch, frames = encoded.shape[:2]
        if batch == 0 or frames == 0:
            return [_path([], [], [], self._head.blank) for _ in range(batch)]
        padded = np.pad(encoded, ((0, 0), (0, -frames % FRAMES), (0, 0)))
        projected = mx.array(padded) @ self._encoder[0] + self._encoder[1]
        bounds = mx.array(np.asarray(lengths, np.int32))
        layers, width = len(self._head.prediction.recurrent), self._head.prediction.width
        zeros = mx.zeros((layers, batch, width))
        start = mx.full((batch,), self._head.blank, mx.int32)
        predicted, hidden, cell = self._prediction(start, zeros, zeros)
        nothing = mx.zeros((batch,), mx.int32)
        state = _State(nothing, nothing, predicted, hidden, cell)
        taken: list[np.ndarray] = []
        while True:
            go_on(cancel)
            *after, steps = self._block(projected, bounds, mx.array(limit), *state)
            state = _State(*after)
            mx.eval(state, steps)
            taken.append(np.array(steps))
            if not (np.array(state.frame) < lengths).any():
                break
        # (steps, frame | label | duration, batch); a finished item's further steps have the frame -1.
        columns = np.concatenate(taken)
        return [
            _path(*columns[columns[:, 0, item] >= 0, :, item].T.astype(np.int64), self._head.blank)
            for item in range(batch)
        ]

    def _steps(self, projected: mx.array, lengths: mx.array, limit: mx.array, *state: mx.array) -> tuple[mx.array, ...]:
        now, taken = _State(*state), []
        for _ in range(BLOCK):
            now, step = self._step(projected, lengths, limit, now)
            taken.append(step)
        return (*now, mx.stack(taken))

    def _step(self, projected: mx.array, lengths: mx.array, limit: mx.array, state: _State) -> tuple[_State, mx.array]:
        """One step of every item; returns also (3, batch): frame (-1 where finished), label, frames advanced."""
        blank, batch = self._head.blank, projected.shape[0]
        active = state.frame < lengths
        at = mx.minimum(state.frame, projected.shape[1] - 1)
        encoded = projected[mx.arange(batch), at]
        logits = self._activate(encoded + state.predicted) @ self._output[0] + self._output[1]
        labels = mx.argmax(logits[:, : blank + 1], axis=-1).astype(mx.int32)
        is_blank = labels == blank
        if self._head.durations:
            advance = self._durations[mx.argmax(logits[:, blank + 1 :], axis=-1)]
            advance = mx.maximum(advance, is_blank.astype(mx.int32))
        else:
            advance = is_blank.astype(mx.int32)
        emits = (active & ~is_blank)[:, None]
        predicted, hidden, cell = self._prediction(labels, state.hidden, state.cell)
        on_frame = mx.where(advance > 0, 0, state.on_frame + 1)
        spent = on_frame >= limit
        moved = state.frame + mx.where(active, advance + spent.astype(mx.int32), 0)
        after = _State(
            moved,
            mx.where(spent, 0, on_frame),
            mx.where(emits, predicted, state.predicted),
            mx.where(emits, hidden, state.hidden),
            mx.where(emits, cell, state.cell),
        )
        return after, mx.stack([mx.where(active, state.frame, -1), labels, advance])


def _prediction(network: PredictionNetwork, joint: Joint) -> Callable[..., tuple[mx.array, mx.array, mx.array]]:
    """The prediction network on the device: labels (batch,), hidden, cell to its projected output, hidden, cell."""
    gates = mx.array(network.gates)
    layers = [
        (mx.array(recurrent), *(map(mx.array, (network.inputs[i - 1], network.biases[i - 1])) if i else (None, None)))
        for i, recurrent in enumerate(network.recurrent)
    ]
    weight, bias = mx.array(joint.prediction[0]), mx.array(joint.prediction[1])
    mx.eval(gates, weight, bias, *(x for layer in layers for x in layer if x is not None))

    def step(labels: mx.array, hidden: mx.array, cell: mx.array) -> tuple[mx.array, mx.array, mx.array]:
        x, hiddens, cells = gates[labels], [], []
        for index, (recurrent, inputs, biases) in enumerate(layers):
            if index:
                x = hiddens[-1] @ inputs + biases
            i, f, g, o = mx.split(x + hidden[index] @ recurrent, 4, axis=-1)
            cells.append(mx.sigmoid(f) * cell[index] + mx.sigmoid(i) * mx.tanh(g))
            hiddens.append(mx.sigmoid(o) * mx.tanh(cells[-1]))
        return hiddens[-1] @ weight + bias, mx.stack(hiddens), mx.stack(cells)

    return step


def _path(frames: list[int], labels: list[int], durations: list[int], blank: int) -> Path:
    columns = [np.asarray(column, np.int64) for column in (labels, frames, durations)]
    return Path(0.0, *columns, length=int((columns[0] != blank).sum()))
