"""The CTC head: one linear layer over the encoder's output (NeMo's `ConvASRDecoder`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from asr_core.errors import ModelError
from asr_core.models.host import linear, log_softmax


@dataclass(frozen=True)
class CtcHead:
    """Weight (width, V + 1) and bias (V + 1,); the last entry is blank."""

    weight: np.ndarray
    bias: np.ndarray

    @classmethod
    def from_weights(cls, weights: Mapping[str, np.ndarray], name: str, vocabulary_size: int) -> CtcHead:
        """Build from the weights under `name`. Raises ModelError where the width does not fit the vocabulary."""
        weight, bias = linear(weights, f"{name}.decoder_layers.0")
        if weight.shape[1] != vocabulary_size + 1:
            raise ModelError(
                f"The CTC head has {weight.shape[1]} outputs; a vocabulary of {vocabulary_size} tokens and a blank "
                f"make {vocabulary_size + 1}."
            )
        return cls(weight, bias)

    def log_probs(self, encoded: np.ndarray) -> np.ndarray:
        """(..., width) to (..., V + 1) natural-log probabilities."""
        return log_softmax(encoded @ self.weight + self.bias)
