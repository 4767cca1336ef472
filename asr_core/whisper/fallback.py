"""What openai-whisper does about texts that are improbable or repeat themselves, and about silence."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from asr_core.decoding.options import Beam, Greedy, Whisper
from asr_core.whisper import search
from asr_core.whisper.search import Decoder, Reading
from asr_core.whisper.tokenizer import WhisperTokenizer

if TYPE_CHECKING:
    from asr_core.models.whisper_cache import DecoderCache

#: A text that compresses better repeats itself; one with a lower mean log-prob is improbable.
MOST_COMPRESSED, LEAST_LOG_PROB = 2.4, -1.0
#: Above this probability of no speech an improbable text is taken for silence.
NO_SPEECH = 0.6


def with_fallback(
    decoder: Decoder,
    tokenizer: WhisperTokenizer,
    decoding: Greedy | Beam,
    options: Whisper,
    language: str | None,
    before: Sequence[int],
    cache: DecoderCache,
    cancel: threading.Event | None,
) -> Reading:
    """Decode a window at the first temperature whose text is neither repetitive nor improbable, else at the last."""
    prompt = search.prompt_of(tokenizer, options, language, before, decoder.room)
    given = getattr(decoding, "temperature", 0.0)
    for temperature in (given,) if given else options.temperatures:
        reading = search.read(
            decoder,
            cache,
            [prompt],
            search.search_of(decoding, temperature, options.best_of, tokenizer.vocabulary.special.end),
            search.filters_of(tokenizer, options),
            tokenizer,
            length_penalty=getattr(decoding, "length_penalty", None),
            seed=options.seed,
            cancel=cancel,
        )[0]
        text = tokenizer.vocabulary.decode(reading.best.tokens)
        improbable = reading.mean_log_prob < LEAST_LOG_PROB
        silent = reading.no_speech > NO_SPEECH and improbable
        if silent or not (improbable or compression_ratio(text) > MOST_COMPRESSED):
            break
    return reading


def is_silence(reading: Reading) -> bool:
    """Whether nothing was said: the model says so, and its text is not probable."""
    return reading.no_speech > NO_SPEECH and not reading.mean_log_prob > LEAST_LOG_PROB


def compression_ratio(text: str) -> float:
    """Bytes of a text by bytes of it compressed: above 2.4 it repeats itself."""
    data = text.encode("utf-8")
    return len(data) / len(zlib.compress(data))
