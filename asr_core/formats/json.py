"""The project's own JSON, version 1: all of a transcript.

Words hold the range [first, last) of their tokens, sentences that of their words; `alternatives` have the same form.
Seconds, confidences and log-probs have six decimals; what is not a number is null.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, is_dataclass
from typing import Any

from asr_core.alignment import Transcript
from asr_core.errors import FormatError

TIERS = ()
VERSION = 1
_DECIMALS = 6


def render(transcript: Transcript, tier: str | None, name: str) -> str:
    """The file. It holds every tier, so that `tier` names none."""
    if tier is not None:
        raise FormatError(f"json holds all tiers: tier is None, not {tier!r}.")
    return json.dumps({"version": VERSION, **_transcript(transcript)}, ensure_ascii=False, allow_nan=False) + "\n"


def _transcript(transcript: Transcript) -> dict[str, Any]:
    tokens_of = _ranges(transcript.tokens, [word.tokens for word in transcript.words])
    words_of = _ranges(transcript.words, [sentence.words for sentence in transcript.sentences])
    return {
        "text": transcript.text,
        "language": transcript.language,
        "model": transcript.model,
        "duration": _plain(transcript.duration),
        "score": _plain(transcript.score),
        "decoding": _settings(transcript.decoding),
        "warnings": list(transcript.warnings),
        "cuts": _plain(transcript.cuts),
        "timings": _plain(transcript.timings),
        "tokens": [_plain(asdict(token)) for token in transcript.tokens],
        "words": [_item(word, "tokens", span) for word, span in zip(transcript.words, tokens_of, strict=True)],
        "sentences": [_item(one, "words", span) for one, span in zip(transcript.sentences, words_of, strict=True)],
        "alternatives": [_transcript(one) for one in transcript.alternatives],
    }


def _item(item: Any, parts: str, span: list[int]) -> dict[str, Any]:
    return {**{name: _plain(getattr(item, name)) for name in ("text", "start", "end", "confidence")}, parts: span}


def _ranges(whole: Sequence[Any], groups: Sequence[Sequence[Any]]) -> list[list[int]]:
    """Where each group stands in the whole; items between groups belong to none."""
    ranges, at = [], 0
    for group in groups:
        first = at
        while group and first < len(whole) and whole[first] is not group[0] and whole[first] != group[0]:
            first += 1
        at = first + len(group)
        if tuple(whole[first:at]) != tuple(group):
            raise FormatError("The words of this transcript are not made of its tokens, or its sentences of its words.")
        ranges.append([first, at])
    return ranges


def _settings(value: Any) -> Any:
    """Decoder settings with the name of their class."""
    if is_dataclass(value) and not isinstance(value, type):
        return {"type": type(value).__name__, **_plain(asdict(value))}
    return _plain(value)


def _plain(value: Any) -> Any:
    if isinstance(value, bool | int | str) or value is None:
        return value
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    try:
        number = float(value)
    except (TypeError, ValueError):
        return str(value)
    return round(number, _DECIMALS) if math.isfinite(number) else None
