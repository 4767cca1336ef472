"""What the two formats with a JSON object a line share: rows, and words and sentences with their times."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from asr_core.alignment import Transcript
from asr_core.annotation.document import text_language
from asr_core.annotation.segments import is_number
from asr_core.annotation.timing import Timed, divided
from asr_core.formats.contents import Malformed, Row, lines_of, shown
from asr_core.formats.json import parsed
from asr_core.formats.layout import Source, items, known, length, sure

#: Times as NeMo's transcription writes them.
WORDS, SENTENCES = "timestamps_word", "timestamps_segment"
GUESSED = "Some words had no times; they were put between their neighbours."
_DECIMALS = 6


def rows(text: str, name: str) -> list[tuple[int, dict[str, Any]]]:
    """The objects of a file with the numbers of their lines. `name`: the key that every one has, with a text."""
    found = []
    for i, line in enumerate(lines_of(text), 1):
        if not line.strip():
            continue
        row = parsed(line, i)
        if not isinstance(row, dict) or not isinstance(row.get(name), str) or not row[name].strip():
            raise Malformed(i, f"a line is an object with a text as {name!r}, not {shown(line)}.")
        found.append((i, row))
    return found


def line(row: dict[str, Any]) -> str:
    """One row of a file."""
    return json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n"


def said(source: Source, tiers: Sequence[str], tier: str | None) -> tuple[str, dict[str, Any]]:
    """The text, and what has times: words and sentences, or the one tier that is named."""
    if tier is not None:
        found = items(source, tiers, tier)
        return " ".join(item.text.strip() for item in found), {SENTENCES: timed(found, "segment")}
    whole = source if isinstance(source, Transcript) else source.transcript()
    times = {WORDS: timed(items(source, ("words",), None), "word")} if _has_words(source) else {}
    return whole.text, {**times, SENTENCES: timed(items(source, ("sentences",), None), "segment")}


def language(source: Source, name: str) -> dict[str, str]:
    """The language of the text under `name`; nothing where it is unknown."""
    code = text_language(source) if isinstance(source, Transcript) else source.language
    return {name: code} if code else {}


def timed(found: Iterable[Timed], name: str) -> list[dict[str, Any]]:
    """Items with their text under `name`; null where a time is unknown, and a confidence only where it is known."""
    return [
        {name: item.text, "start": _rounded(item.start), "end": _rounded(item.end)}
        | ({} if sure(item) is None else {"confidence": _rounded(sure(item))})
        for item in found
    ]


def seconds(source: Source) -> float:
    """The duration that is written."""
    return round(length(source), _DECIMALS)


def times(row: dict[str, Any], key: str, name: str, line: int, around: tuple[float, float]) -> tuple[list[Row], bool]:
    """The items of a row under `key`, and whether some had no times.

    Those share the time between their neighbours by letters.

    Args:
        name: what their text is called.
        around: seconds at which the row's part of the recording begins and ends; times count from the former.
    """
    listed = row.get(key) or []
    if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
        raise Malformed(line, f"{key!r} is a list of objects.")
    found = [_item(one, key, name, line, around[0]) for one in listed]
    lacking = [i for i, one in enumerate(found) if one.start < 0]
    for run in _runs(lacking):
        start = found[run[0] - 1].end if run[0] else around[0]
        until = found[run[-1] + 1].start if run[-1] + 1 < len(found) else max(around[1], start)
        spans = divided([max(1, len(found[i].text)) for i in run], start, max(start, until))
        for i, (first, last) in zip(run, spans, strict=True):
            found[i] = found[i]._replace(start=first, end=last)
    return found, bool(lacking)


def number(row: dict[str, Any], key: str, line: int) -> float | None:
    """A number from 0 on, where there is one."""
    value = row.get(key)
    if value is None:
        return None
    if not is_number(value) or not 0 <= value < 1e9:
        raise Malformed(line, f"{key!r} is a number from 0, not {shown(str(value))}.")
    return float(value)


def text(row: dict[str, Any], keys: Sequence[str], line: int) -> str:
    """The first of the keys that a row has."""
    value = next((row[key] for key in keys if row.get(key) is not None), "")
    if not isinstance(value, str):
        raise Malformed(line, f"{' or '.join(map(repr, keys))} is a text, not {shown(str(value))}.")
    return value


def _item(one: dict[str, Any], key: str, name: str, line: int, offset: float) -> Row:
    if not isinstance(one.get(name), str):
        raise Malformed(line, f"the items of {key!r} have a text as {name!r}, not {shown(str(one.get(name)))}.")
    start, end = number(one, "start", line), number(one, "end", line)
    sure = number(one, "confidence", line)
    if sure is not None and sure > 1:
        raise Malformed(line, f"a confidence lies from 0 to 1; {sure:g} does not.")
    if start is None or end is None:
        return Row(line, -1.0, -1.0, one[name], sure)
    return Row(line, offset + start, offset + end, one[name], sure)


def _runs(positions: Sequence[int]) -> list[list[int]]:
    runs: list[list[int]] = []
    for position in positions:
        if runs and runs[-1][-1] == position - 1:
            runs[-1].append(position)
        else:
            runs.append([position])
    return runs


def _has_words(source: Source) -> bool:
    return isinstance(source, Transcript) or source.first("words") is not None


def _rounded(value: float) -> float | None:
    return None if known(value) is None else round(value, _DECIMALS)
