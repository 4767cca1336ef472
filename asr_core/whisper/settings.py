"""Which settings of a decoder mean something to a Whisper model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from asr_core.decoding.options import Beam, Decoding, Greedy, Maes, Whisper
from asr_core.errors import DecodingError
from asr_core.whisper.languages import LANGUAGES

if TYPE_CHECKING:
    from asr_core.models.registry import ModelInfo

#: Settings that only other families know, and what they are when nobody has set them.
_FOREIGN = {
    "head": None,
    "max_symbols": None,
    "fusion": None,
    "duration_weight": 1.0,
    "label_bonus": 0.0,
    "prune": 20.0,
}


def options_of(decoding: Any) -> Whisper:
    """The language and the task that a text was written with, as a transcript or a document tells them.

    Args:
        decoding: the settings of a decoder, as a value or as plain values from a file; None = unknown.
    """
    given = decoding.get("whisper") if isinstance(decoding, Mapping) else getattr(decoding, "whisper", None)
    if not isinstance(given, Mapping):
        return given if isinstance(given, Whisper) else Whisper()
    language, task = given.get("language"), "translate" if given.get("task") == "translate" else "transcribe"
    return Whisper(language=language if isinstance(language, str) else None, task=task)


def check(decoding: Decoding, info: ModelInfo, multilingual: bool) -> None:
    """Raise DecodingError, in one sentence, for a decoder or a setting that does not apply."""
    if isinstance(decoding, Maes):
        raise DecodingError(f"MAES decodes RNN-T models; {info.name} is a Whisper model. Use Beam.")
    if not isinstance(decoding, Greedy | Beam):
        raise DecodingError(f"decoding is a Greedy or Beam value, not {type(decoding).__name__}.")
    if decoding.head is not None:
        raise no_head(info, decoding.head)
    for name, value in _FOREIGN.items():
        if getattr(decoding, name, value) != value:
            raise DecodingError(f"{name} does not apply to Whisper models; leave it at {value!r}.")
    language = decoding.whisper.language if decoding.whisper else None
    if language is not None and language not in (info.languages or LANGUAGES):
        known = ", ".join(info.languages) if len(info.languages) < 4 else "codes such as en, de and zh"
        raise DecodingError(f"{info.name} does not know the language {language!r}; it knows {known}.")
    if decoding.whisper and decoding.whisper.task == "translate" and not multilingual:
        raise DecodingError(f"{info.name} knows English only, so it cannot translate.")


def no_head(info: ModelInfo, head: str) -> DecodingError:
    return DecodingError(f"{info.name} has no {head} head; a Whisper model has none: leave head at None.")
