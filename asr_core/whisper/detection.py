"""Which language is spoken, as a multilingual Whisper model hears it in a window of 30 s."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from asr_core.decoding.options import Whisper
from asr_core.whisper.languages import LANGUAGES
from asr_core.whisper.search import Decoder
from asr_core.whisper.tokenizer import SpecialTokens

if TYPE_CHECKING:
    from asr_core.models.whisper_cache import DecoderCache


def language_of(decoder: Decoder, cache: DecoderCache, special: SpecialTokens, options: Whisper) -> str | None:
    """The language that is set, else the most probable one; None for English-only models.

    Args:
        cache: the decoder's, of one window, before its first token.
    """
    if not decoder.multilingual:
        return None
    if options.language is not None:
        return options.language
    return most_probable(language_probabilities(decoder, cache, special))


def language_probabilities(decoder: Decoder, cache: DecoderCache, special: SpecialTokens) -> dict[str, float]:
    """The probability of each language by its code: what would follow the token that starts a text.

    Only tokens of languages are weighed against one another, so that the sum is 1.

    Args:
        cache: the decoder's, of one window, before its first token.
        special: of a multilingual model.
    """
    logits, _, _ = decoder.step(np.array([[special.start]]), cache)
    chosen = logits[0, 0, list(special.languages)].astype(np.float64)
    weights = np.exp(chosen - chosen.max())
    return dict(zip(LANGUAGES, map(float, weights / weights.sum()), strict=False))


def most_probable(probabilities: dict[str, float]) -> str:
    """The code of the language; of equal ones the first in the order of their tokens."""
    return max(probabilities, key=probabilities.__getitem__)
