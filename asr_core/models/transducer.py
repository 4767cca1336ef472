"""Prediction network and joint of RNN-T and TDT models, as host arrays.

A transducer's decoder is a chain of small products, one per emitted label: launching them one by one costs more than
the arithmetic. So the heads live in NumPy float32, where a step is a few BLAS calls, and the first LSTM layer's product
with the embedding is looked up in a table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from asr_core.errors import ModelError
from asr_core.models.config import TransducerConfig
from asr_core.models.host import linear, product, tensor


class PredictionState(NamedTuple):
    """LSTM state of a batch: `hidden` and `cell`, each (layers, batch, width) float32."""

    hidden: np.ndarray
    cell: np.ndarray

    def rows(self, index: np.ndarray) -> PredictionState:
        """The states of some items of the batch."""
        return PredictionState(self.hidden[:, index], self.cell[:, index])

    def put(self, index: np.ndarray, state: PredictionState) -> None:
        """Overwrite the states of some items, in place."""
        self.hidden[:, index], self.cell[:, index] = state.hidden, state.cell


@dataclass(frozen=True)
class PredictionNetwork:
    """LSTM over the labels emitted so far (NeMo's `RNNTDecoder`).

    Args:
        gates: (V + 1, 4 * width): embedding of each label through the input weights of the first layer, biases
            included; the last row is the start of sentence, whose embedding is zero.
        inputs: for each further layer (width, 4 * width) input weights, and `biases` (4 * width,).
        recurrent: for each layer (width, 4 * width) recurrent weights. Gates stand in the order i, f, g, o.
    """

    gates: np.ndarray
    inputs: tuple[np.ndarray, ...]
    biases: tuple[np.ndarray, ...]
    recurrent: tuple[np.ndarray, ...]

    @property
    def width(self) -> int:
        """Width of the output."""
        return self.recurrent[0].shape[0]

    def start(self, batch: int) -> tuple[np.ndarray, PredictionState]:
        """Output and state before the first label: (batch, width) and the state of a start of sentence."""
        zeros = np.zeros((len(self.recurrent), batch, self.width), np.float32)
        return self.step(np.full(batch, len(self.gates) - 1), PredictionState(zeros, zeros))

    def step(self, labels: np.ndarray, state: PredictionState) -> tuple[np.ndarray, PredictionState]:
        """Advance by one label each.

        Args:
            labels: (batch,) ids.
        Returns:
            (batch, width) output, and the new state; the state given is left as it was.
        """
        hidden, cell = np.empty_like(state.hidden), np.empty_like(state.cell)
        x = self.gates[labels]
        for layer, recurrent in enumerate(self.recurrent):
            if layer > 0:
                x = product(hidden[layer - 1], self.inputs[layer - 1]) + self.biases[layer - 1]
            gates = product(state.hidden[layer], recurrent)
            gates += x
            hidden[layer], cell[layer] = _lstm_cell(gates, state.cell[layer])
        return hidden[-1], PredictionState(hidden, cell)


@dataclass(frozen=True)
class Joint:
    """Adds encoder and prediction and maps the sum to labels, blank and durations (NeMo's `RNNTJoint`).

    Args:
        encoder, prediction: weight (width, joint width) and bias (joint width,) of the two projections.
        output: weight (joint width, V + 1 + D) and bias of the last layer.
        activation: "relu", "tanh" or "sigmoid".
    """

    encoder: tuple[np.ndarray, np.ndarray]
    prediction: tuple[np.ndarray, np.ndarray]
    output: tuple[np.ndarray, np.ndarray]
    activation: str = "relu"

    def project_encoder(self, encoded: np.ndarray) -> np.ndarray:
        """(..., encoder width) to (..., joint width); once for a whole recording."""
        return product(encoded, self.encoder[0]) + self.encoder[1]

    def project_prediction(self, output: np.ndarray) -> np.ndarray:
        """(..., prediction width) to (..., joint width); once for each label."""
        return product(output, self.prediction[0]) + self.prediction[1]

    def logits(self, encoded: np.ndarray, predicted: np.ndarray) -> np.ndarray:
        """(..., joint width) twice, projected, to (..., V + 1 + D)."""
        out = product(self._activate(encoded + predicted), self.output[0])
        out += self.output[1]
        return out

    def _activate(self, x: np.ndarray) -> np.ndarray:
        if self.activation == "relu":
            return np.maximum(x, 0, out=x)
        return np.tanh(x, out=x) if self.activation == "tanh" else _sigmoid(x)


@dataclass(frozen=True)
class Transducer:
    """A transducer head: `blank` is the id after the vocabulary; no `durations` means RNN-T."""

    prediction: PredictionNetwork
    joint: Joint
    blank: int
    durations: tuple[int, ...]
    max_symbols: int | None

    def best(self, logits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The largest label and the frames it advances by: (n, V + 1 + D) to (n,) and (n,).

        A blank always advances; an RNN-T label never does.
        """
        labels = logits[:, : self.blank + 1].argmax(-1)
        is_blank = labels == self.blank
        if not self.durations:
            return labels, is_blank.astype(int)
        durations = np.asarray(self.durations)[logits[:, self.blank + 1 :].argmax(-1)]
        return labels, np.maximum(durations, is_blank)

    @classmethod
    def from_weights(
        cls, weights: Mapping[str, np.ndarray], config: TransducerConfig, vocabulary_size: int
    ) -> Transducer:
        """Build from the `decoder.*` and `joint.*` weights of the MLX layout.

        Raises ModelError where a tensor is missing or its shape does not fit the vocabulary.
        """
        embedding = tensor(weights, "decoder.prediction.embed.weight").copy()
        lstm = [
            tuple(tensor(weights, f"decoder.prediction.dec_rnn.lstm.{layer}.{name}") for name in ("Wx", "Wh", "bias"))
            for layer in range(config.prediction_layers)
        ]
        output = linear(weights, "joint.joint_net.2")
        blank = output[0].shape[1] - len(config.durations) - 1
        if blank != vocabulary_size or len(embedding) != vocabulary_size + 1:
            raise ModelError(
                f"The joint has {output[0].shape[1]} outputs, {len(config.durations)} of them durations and one blank, "
                f"and the prediction network embeds {len(embedding)} labels: that does not fit a vocabulary of "
                f"{vocabulary_size} tokens."
            )
        embedding[blank] = 0  # the padding row: a start of sentence is a zero vector
        return cls(
            PredictionNetwork(
                gates=embedding @ lstm[0][0].T + lstm[0][2],
                inputs=tuple(Wx.T for Wx, _, _ in lstm[1:]),
                biases=tuple(bias for _, _, bias in lstm[1:]),
                recurrent=tuple(Wh.T for _, Wh, _ in lstm),
            ),
            Joint(linear(weights, "joint.enc"), linear(weights, "joint.pred"), output, config.activation),
            blank=blank,
            durations=config.durations,
            max_symbols=config.max_symbols,
        )


def _lstm_cell(gates: np.ndarray, cell: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    i, f, g, o = np.split(gates, 4, axis=-1)
    cell = _sigmoid(f) * cell + _sigmoid(i) * np.tanh(g)
    return _sigmoid(o) * np.tanh(cell), cell


def _sigmoid(x: np.ndarray) -> np.ndarray:
    # By tanh, which neither overflows nor needs two cases.
    return 0.5 * np.tanh(0.5 * x) + 0.5
