"""The decoders of a comparison: as the page sends them, as work to do, and what their columns are called."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import asr_core
from asr_core.whisper.languages import NAMES
from components import presets
from components.comparing import CompareRequest
from components.decoder_settings import DecoderChoice, decoder_name, decoding_of
from components.models import short_name
from components.services import Services
from components.trials import LETTERS

LEAST, MOST = 2, len(LETTERS)


@dataclass(frozen=True)
class Columns:
    """The decoders as the page sends them.

    Args:
        model: source of the page's model, for columns without one of their own.
        models, decoders: of each column its own model ("" = the page's), and what its controls send.
    """

    model: str
    models: Sequence[Any]
    decoders: Sequence[Any]

    @classmethod
    def sent(cls, model: str, *values: Any) -> Columns:
        return cls(model, values[:MOST], values[MOST : 2 * MOST])

    def without(self, column: int) -> Columns:
        """What follows a column moves up, and it goes to the end, where the page hides it."""
        order = [*(i for i in range(MOST) if i != column), column]
        return Columns(self.model, [self.models[i] for i in order], [self.decoders[i] for i in order])

    def source(self, column: int) -> str:
        """The model of a column."""
        own = self.models[column]
        return own if isinstance(own, str) and own else self.model


def request_of(services: Services, document: str, columns: Columns, count: Any, preset: Any) -> CompareRequest:
    """The work that the page asks for. Raises DecodingError."""
    if not isinstance(count, int) or not LEAST <= count <= MOST:
        raise asr_core.DecodingError(f"{LEAST} to {MOST} decoders can be compared. Load the page again.")
    chosen = [DecoderChoice.from_page(value) for value in columns.decoders[:count]]
    presets.check(preset, chosen)
    pairs = [(columns.source(i), decoding_of(one, services.language_models)) for i, one in enumerate(chosen)]
    return CompareRequest(document, tuple(pairs), asr_core.Segmentation())


def names_of(services: Services, request: CompareRequest) -> list[str]:
    """What to call the columns: the decoder, and its model where there are several."""
    known = {model.source: model.name for model in asr_core.list_models()}
    several = len({model for model, _ in request.columns}) > 1
    names = []
    for model, decoding in request.columns:
        name = decoder_name(decoding, services.models.heads(model))
        called = known.get(model, short_name(model))
        names.append(f"{name.replace(', Whisper', '', 1)}, {called}" if several else name)
    return names


def with_language(name: str, transcript: asr_core.Transcript, languages: Sequence[str]) -> str:
    """A column's name, with the language that a multilingual model has detected: "Greedy, Whisper, German detected"."""
    told = getattr(getattr(transcript.decoding, "whisper", None), "language", None)
    if told or len(languages) < 2 or transcript.language is None:
        return name
    return f"{name}, {NAMES.get(transcript.language, transcript.language)} detected"
