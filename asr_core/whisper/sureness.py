"""How sure the decoder was of what it wrote, on the scale of the other families.

An attention decoder chooses among ways of writing, too: a capital or none, a comma or none. That is no doubt about what
was said, so tokens that differ in case only are one outcome, all punctuation marks are one, and the outcomes of a token
that is no mark are those given that no mark comes. What is left is sharpened (temperature scaling; Guo et al. 2017):
transducers, for whose peaked distributions the default measure was made, spread their probability less. The factor is
such that with the default alpha of 1/3 the thousands of improbable entries count by their probability.

`python -m tests.bench.confidence MANIFEST` prints how far that can be believed. Of 541 words in 22 recordings of people
(tiny.en; 10 are wrong) the area under the ROC curve is 0.91; below 0.6 lie 8 % of the right words and 70 % of the wrong
ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from asr_core.confidence import measure
from asr_core.decoding.options import Confidence
from asr_core.text import Vocabulary

#: Factor of all log-probs.
SHARPNESS = 3.0
#: The outcome that all punctuation marks are.
MARK = 0


def sureness(
    log_probs: np.ndarray, tokens: Sequence[int], vocabulary: Vocabulary, confidence: Confidence
) -> np.ndarray:
    """Confidence (0..1) of each token that was written.

    Args:
        log_probs: (tokens, V) of all that could have been, the first V tokens of the vocabulary.
        tokens: those that were.
    """
    outcome = outcomes(vocabulary)
    of_entry, size = outcome[: log_probs.shape[-1]], int(outcome.max()) + 1
    found = np.empty(len(tokens), np.float32)
    # Token by token: whole windows of a large vocabulary would need many times the room of `log_probs`.
    for i, (row, token) in enumerate(zip(log_probs, tokens, strict=True)):
        shares = np.bincount(of_entry, np.exp(row), size)
        if outcome[token] != MARK:
            shares[MARK] = 0
        found[i] = measure(sharpened(shares), confidence, size)
    return found


def sharpened(probabilities: np.ndarray) -> np.ndarray:
    """(..., n) numbers to the log-probs of a distribution in proportion to their third powers."""
    x = SHARPNESS * np.log(np.maximum(probabilities, np.finfo(np.float64).tiny))
    x -= x.max(-1, keepdims=True)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


@lru_cache(maxsize=2)
def outcomes(vocabulary: Vocabulary) -> np.ndarray:
    """(V,) number of the outcome that each token stands for."""
    numbers = {"": MARK}
    return np.array(
        [
            MARK if vocabulary.is_punctuation(token) else numbers.setdefault(piece.casefold() or " ", len(numbers))
            for token, piece in enumerate(vocabulary.pieces)
        ]
    )
