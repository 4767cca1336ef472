"""Which language is spoken, as a multilingual Whisper model hears it in a window of 30 s."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from asr_core.whisper.languages import LANGUAGES

if TYPE_CHECKING:
    from asr_core.whisper.search import Decoder
    from asr_core.whisper.tokenizer import SpecialTokens


def language_probabilities(decoder: Decoder, encoded: np.ndarray, special: SpecialTokens) -> dict[str, float]:
    """The probability of each language by its code: what would follow the token that starts a text.

    Only tokens of languages are weighed against one another, so that the sum is 1.

    Args:
        encoded: (1, 1500, width) of the window.
        special: of a multilingual model.
    """
    logits, _, _ = decoder.step(np.array([[special.start]]), decoder.begin(encoded))
    chosen = logits[0, 0, list(special.languages)].astype(np.float64)
    weights = np.exp(chosen - chosen.max())
    return dict(zip(LANGUAGES, map(float, weights / weights.sum()), strict=False))


def most_probable(probabilities: dict[str, float]) -> str:
    """The code of the language; of equal ones the first in the order of their tokens."""
    return max(probabilities, key=probabilities.__getitem__)
