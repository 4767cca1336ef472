"""A Whisper model that computes nothing twice, so that tests may ask the same again.

The question is the whole input, bit for bit: another window of audio, another token or another way to it is computed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

import numpy as np

import asr_core
from asr_core.models.whisper import Whisper
from asr_core.models.whisper_cache import DecoderCache
from asr_core.models.whisper_config import NEXT, Wanted

Key = tuple[Any, ...]


@dataclass(frozen=True)
class Known:
    """A cache of the decoder, and all that was read to get there."""

    key: Key
    cache: DecoderCache

    @property
    def length(self) -> int:
        return self.cache.length


class Recalling:
    """The model behind a recognizer, with a memory."""

    def __init__(self, model: Whisper) -> None:
        self._model = model
        self._answers: dict[Key, Any] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def encode(self, mel: np.ndarray) -> np.ndarray:
        return self._recall(("encode", _content(mel)), lambda: self._model.encode(mel)).copy()

    def begin(self, encoded: np.ndarray) -> Known:
        key = ("begin", _content(encoded))
        return Known(key, self._recall(key, lambda: self._model.begin(encoded)))

    def only(self, known: Known, audio: int) -> Known:
        return Known((*known.key, audio), self._model.only(known.cache, audio))

    def step(
        self, tokens: np.ndarray, known: Known, sources: np.ndarray | None = None, wanted: Wanted = NEXT
    ) -> tuple[np.ndarray, Known, np.ndarray | None]:
        key = (known.key, _content(tokens), None if sources is None else _content(sources))
        asked = (*key, tuple(wanted.positions), wanted.heads)
        logits, cache, scores = self._recall(asked, lambda: self._model.step(tokens, known.cache, sources, wanted))
        return logits.copy(), Known(key, cache), scores

    def choose(
        self, tokens: np.ndarray, known: Known, sources: np.ndarray, *wanted: Any
    ) -> tuple[np.ndarray, np.ndarray, Known]:
        key = (known.key, _content(tokens), _content(sources))
        values, ids, cache = self._recall(
            (*key, repr(wanted)), lambda: self._model.choose(tokens, known.cache, sources, *wanted)
        )
        return values, ids, Known(key, cache)

    def _recall(self, key: Key, compute: Callable[[], Any]) -> Any:
        if key not in self._answers:
            self._answers[key] = compute()
        return self._answers[key]


def recalling(recognizer: asr_core.Recognizer) -> asr_core.Recognizer:
    """The same recogniser, with a memory of its own."""
    return replace(recognizer, _model=Recalling(recognizer._model))


def _content(array: np.ndarray) -> Key:
    array = np.ascontiguousarray(array)
    return array.shape, array.dtype.str, sha256(array).digest()
