"""Greedy decoding that goes on: some frames now, the following ones later, as if they had come together."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from asr_core.alignment import Hypothesis, shifted
from asr_core.decoding import greedy
from asr_core.decoding.fusion import Fused
from asr_core.decoding.options import Greedy
from asr_core.decoding.steps import StepScores
from asr_core.models.ctc import CtcHead
from asr_core.models.transducer import Transducer


class Decoder(Protocol):
    """A head that decodes bit by bit. States are values: decoding from one leaves it as it was."""

    def start(self) -> object:
        """The state before the first frame."""

    def advance(self, encoded: np.ndarray, state: object) -> tuple[Hypothesis, object]:
        """The tokens of (frames, width) of the encoder, in frames counted from the first of them, and the state after.

        A frame may be negative where a token began among the frames before.
        """

    def close(self, state: object) -> Hypothesis:
        """Tokens that were held back for the frames to come, in frames counted from the end."""


class LiveTransducer(NamedTuple):
    """RNN-T and TDT: the prediction network's state is carried, and the frames a TDT label reaches beyond the end."""

    head: Transducer
    options: Greedy
    fused: Fused | None

    def start(self) -> greedy.Carry:
        return greedy.begin(1, self.head, self.fused)

    def advance(self, encoded: np.ndarray, state: greedy.Carry) -> tuple[Hypothesis, greedy.Carry]:
        scores = StepScores(self.head, self.options.confidence)
        projected, length = self.head.joint.project_encoder(encoded[None]), np.array([len(encoded)])
        after = greedy.search(projected, length, self.head, self.options, self.fused, state, scores)
        return scores.hypotheses(1)[0], after

    def close(self, state: greedy.Carry) -> Hypothesis:
        return EMPTY


class LiveCtc(NamedTuple):
    """CTC: a token that may go on in the frames that follow is held back, with its frames."""

    head: CtcHead
    options: Greedy

    def start(self) -> np.ndarray:
        return np.zeros((0, self.head.weight.shape[1]), np.float32)

    def advance(self, encoded: np.ndarray, state: np.ndarray) -> tuple[Hypothesis, np.ndarray]:
        log_probs = np.concatenate([state, self.head.log_probs(encoded)])
        path, blank = log_probs.argmax(-1), log_probs.shape[1] - 1
        settled = len(path)
        if settled and path[-1] != blank:
            others = np.flatnonzero(path != path[-1])
            settled = int(others[-1]) + 1 if len(others) else 0
        return shifted(self._folded(log_probs[:settled]), -len(state)), log_probs[settled:]

    def close(self, state: np.ndarray) -> Hypothesis:
        return shifted(self._folded(state), -len(state))

    def _folded(self, log_probs: np.ndarray) -> Hypothesis:
        return greedy.ctc(log_probs[None], np.array([len(log_probs)]), self.options)[0]


EMPTY = Hypothesis((), (), (), 0.0, (), ())
