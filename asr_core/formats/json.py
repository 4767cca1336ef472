"""The project's own JSON, version 1: all of a transcript, or all of a document.

Of a transcript words hold the range [first, last) of their tokens, sentences that of their words; `alternatives` have
the same form. Seconds, confidences and log-probs have six decimals; what is not a number is null.
Of a document `tiers` hold their segments as they are; what a segment does not know is left out.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from asr_core.alignment import Sentence, Token, Transcript, Word
from asr_core.annotation.conversion import plain
from asr_core.annotation.document import Audio, Document, Provenance
from asr_core.annotation.segments import DocumentError, Segment, Tier, is_whole
from asr_core.errors import FormatError
from asr_core.formats.contents import Malformed, shown
from asr_core.formats.layout import Source

NAME = "JSON"
SUFFIXES = ("json",)
TIERS = ()
KEEPS = "All of a document. Of a transcript all is written; its alternatives, score and timings are not read back."
VERSION = 1
_DECIMALS = 6
_DOCUMENT = ("language", "state", "reviewer", "notes", "next_id")


def render(source: Source, tier: str | None, name: str) -> str:
    """The file. It holds every tier, so that `tier` names none."""
    if tier is not None:
        raise FormatError(f"json holds all tiers: tier is None, not {tier!r}.")
    content = _document(source) if isinstance(source, Document) else _transcript(source)
    return json.dumps({"version": VERSION, **content}, ensure_ascii=False, allow_nan=False) + "\n"


def sniff(text: str) -> bool:
    """Whether it begins as an object that is no row of a manifest."""
    first = text.lstrip()[:100_000].split("\n", 1)[0]
    return first.startswith("{") and '"audio_filepath"' not in first and '"file_name"' not in first


def read(text: str, wanted: str | None) -> Document:
    """A document, from either form."""
    found = parsed(text)
    if not isinstance(found, dict) or not ("tiers" in found or "sentences" in found):
        raise Malformed(1, 'this is JSON, but not of Tokenscope: there is an object with "version" and "tiers" in it.')
    if found.get("version") != VERSION:
        raise Malformed(1, f'"version" is {VERSION}, not {shown(str(found.get("version")))}; a newer program wrote it.')
    try:
        return _read_document(found) if "tiers" in found else Document.from_transcript(_read_transcript(found))
    except DocumentError as error:
        raise Malformed(1, str(error)) from error


def parsed(text: str, line: int = 1) -> Any:
    """The value of a JSON text that begins at a line. NaN, Infinity and numbers out of range are refused."""

    def refuse(constant: str) -> None:
        raise Malformed(line, f"{constant} is no JSON; null stands for what is unknown.")

    try:
        return json.loads(text, parse_constant=refuse)
    except json.JSONDecodeError as error:
        raise Malformed(line - 1 + error.lineno, f"this is no JSON: {error.msg} at column {error.colno}.") from None
    except RecursionError:
        raise Malformed(line, "brackets are nested too deeply.") from None
    except ValueError:  # a whole number of thousands of digits
        raise Malformed(line, "a number is too long.") from None


def _document(document: Document) -> dict[str, Any]:
    return {
        "audio": asdict(document.audio),
        **{name: getattr(document, name) for name in _DOCUMENT},
        "warnings": list(document.warnings),
        "provenance": {
            "model": document.provenance.model,
            "revision": document.provenance.revision,
            "decoding": _rounded(document.provenance.decoding),
        },
        "tiers": [
            {"name": tier.name, "kind": tier.kind, "segments": [_known(segment) for segment in tier.segments]}
            for tier in document.tiers
        ],
    }


def _known(segment: Segment) -> dict[str, Any]:
    values = {name: getattr(segment, name) for name in Segment.__dataclass_fields__}
    return {name: value for name, value in values.items() if value is not None and value is not False}


def _transcript(transcript: Transcript) -> dict[str, Any]:
    tokens_of = _ranges(transcript.tokens, [word.tokens for word in transcript.words])
    words_of = _ranges(transcript.words, [sentence.words for sentence in transcript.sentences])
    return {
        "text": transcript.text,
        "language": transcript.language,
        "model": transcript.model,
        "duration": _rounded(transcript.duration),
        "score": _rounded(transcript.score),
        "decoding": _rounded(transcript.decoding),
        "warnings": list(transcript.warnings),
        "cuts": _rounded(transcript.cuts),
        "timings": _rounded(transcript.timings),
        "tokens": [_rounded(asdict(token)) for token in transcript.tokens],
        "words": [_item(word, "tokens", span) for word, span in zip(transcript.words, tokens_of, strict=True)],
        "sentences": [_item(one, "words", span) for one, span in zip(transcript.sentences, words_of, strict=True)],
        "alternatives": [_transcript(one) for one in transcript.alternatives],
    }


def _item(item: Any, parts: str, span: list[int]) -> dict[str, Any]:
    return {**{name: _rounded(getattr(item, name)) for name in ("text", "start", "end", "confidence")}, parts: span}


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


def _rounded(value: Any) -> Any:
    """Plain values with numbers of six decimals."""
    value = plain(value)
    if isinstance(value, dict):
        return {key: _rounded(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_rounded(one) for one in value]
    return round(value, _DECIMALS) if isinstance(value, float) else value


def _read_document(found: dict[str, Any]) -> Document:
    tiers = []
    for i, tier in enumerate(_list(found, "tiers", "")):
        where = f"tiers[{i}]"
        segments = _list(_object(tier, where), "segments", f"{where}.")
        made = [_made(Segment, one, f"{where}.segments[{j}]") for j, one in enumerate(segments)]
        tiers.append(_made(Tier, {**tier, "segments": tuple(made)}, where))
    return _made(
        Document,
        {name: found[name] for name in _DOCUMENT if name in found}
        | {
            "audio": _made(Audio, found.get("audio") or {}, "audio"),
            "provenance": _made(Provenance, found.get("provenance") or {}, "provenance"),
            "warnings": _texts(found, "warnings"),
            "tiers": tuple(tiers),
        },
        "the document",
    )


def _made(kind: type, fields: Any, where: str) -> Any:
    """A value of its fields; what breaks its rules is named by where it stands."""
    fields = _object(fields, where)
    if unknown := fields.keys() - kind.__dataclass_fields__.keys():
        raise Malformed(where, f"it has no {shown(min(map(str, unknown)))}.")
    try:
        return kind(**fields)
    except TypeError:
        raise Malformed(where, "it lacks a value that it needs.") from None
    except DocumentError as error:
        raise Malformed(where, str(error)) from error


def _read_transcript(found: dict[str, Any]) -> Transcript:
    tokens = [
        Token(*_timed(one, f"tokens[{i}]", "id"), *_numbers(one, f"tokens[{i}]", "log_prob"))
        for i, one in enumerate(_list(found, "tokens", ""))
    ]
    words = [
        Word(*_timed(one, f"words[{i}]"), _part(one, tokens, "tokens", f"words[{i}]"))
        for i, one in enumerate(_list(found, "words", ""))
    ]
    sentences = [
        Sentence(*_timed(one, f"sentences[{i}]"), _part(one, words, "words", f"sentences[{i}]"))
        for i, one in enumerate(_list(found, "sentences", ""))
    ]
    text = {name: found.get(name) for name in ("language", "model")}
    for name, value in text.items():
        if not isinstance(value, str | None):
            raise Malformed(name, f"it is a text or null, not {shown(str(value))}.")
    duration = found.get("duration")
    if not (isinstance(duration, int | float) and 0 <= duration < math.inf):
        raise Malformed("duration", f"it is a number of seconds, not {shown(str(duration))}.")
    return Transcript(
        sentences=tuple(sentences),
        words=tuple(words),
        tokens=tuple(tokens),
        duration=float(duration),
        decoding=found.get("decoding"),
        warnings=_texts(found, "warnings"),
        **text,
    )


def _timed(item: Any, where: str, *first: str) -> list[Any]:
    """The id of a token, and text, start, end and confidence of anything."""
    item = _object(item, where)
    for name in first:
        if not is_whole(item.get(name)):
            raise Malformed(f"{where}.{name}", f"it is a whole number, not {shown(str(item.get(name)))}.")
    if not isinstance(item.get("text"), str):
        raise Malformed(f"{where}.text", f"it is a text, not {shown(str(item.get('text')))}.")
    start, end = _numbers(item, where, "start", "end")
    if not 0 <= start <= end:
        raise Malformed(where, f"0 <= start <= end is wanted; it lasts from {start:g} to {end:g} s.")
    return [*(item[name] for name in first), item["text"], start, end, *_numbers(item, where, "confidence")]


def _numbers(item: Mapping[str, Any], where: str, *names: str) -> list[float]:
    """Values that are numbers; an unknown confidence or log-prob is NaN."""
    found = []
    for name in names:
        value = item.get(name)
        if value is None and name in ("confidence", "log_prob"):
            value = math.nan
        elif isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e300:
            raise Malformed(f"{where}.{name}", f"it is a finite number, not {shown(str(value))}.")
        found.append(float(value))
    return found


def _part(item: Mapping[str, Any], whole: Sequence[Any], name: str, where: str) -> tuple[Any, ...]:
    span = item.get(name)
    if not (isinstance(span, list) and len(span) == 2 and all(map(is_whole, span)) and 0 <= span[0] <= span[1]):
        raise Malformed(f"{where}.{name}", f"it is a range [first, last), not {shown(str(span))}.")
    if span[1] > len(whole):
        raise Malformed(f"{where}.{name}", f"it goes up to {span[1]}, but there are only {len(whole)} {name}.")
    return tuple(whole[slice(*span)])


def _object(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Malformed(where, f"it is an object, not {shown(str(value))}.")
    return value


def _list(found: Mapping[str, Any], name: str, where: str) -> list[Any]:
    if not isinstance(found.get(name), list):
        raise Malformed(f"{where}{name}", f"it is a list, not {shown(str(found.get(name)))}.")
    return found[name]


def _texts(found: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = found.get(name) or []
    if not (isinstance(value, list) and all(isinstance(one, str) for one in value)):
        raise Malformed(name, f"it is a list of texts, not {shown(str(value))}.")
    return tuple(value)
