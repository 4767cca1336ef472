"""Comma-separated values, RFC 4180: a token (or word, or sentence) a row, times in seconds as they are.

A spreadsheet runs a cell that begins with "=", "+", "-" or "@". Such a text gets an apostrophe at its front, which
spreadsheets take for the mark of a text, and loses it when it is read.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping

from asr_core.formats.contents import Contents, Malformed, Row, Track, confidence, number, shown
from asr_core.formats.layout import Source, items, known, sure

NAME = "CSV"
SUFFIXES = ("csv",)
TIERS = ("tokens", "words", "sentences")
KEEPS = "One tier with times to the millisecond, confidences, and ids and log-probs of tokens; speakers of a document."

_RUN = re.compile(r"'*[=+\-@\t\r\n＝＋－＠]")
#: Names that other programs give to the columns.
_COLUMNS = {
    "start": ("start", "begin", "start_time", "onset", "tmin", "xmin"),
    "end": ("end", "stop", "end_time", "offset", "tmax", "xmax"),
    "text": ("text", "word", "token", "label", "transcript", "sentence"),
    "confidence": ("confidence", "conf", "score"),
    "id": ("id",),
    "log_prob": ("log_prob",),
    "speaker": ("speaker",),
}


def render(source: Source, tier: str | None, name: str) -> str:
    """The file, with a head row. Text keeps the space at a token's front; what is unknown is empty."""
    found = items(source, TIERS, tier)
    tokens = any(_cell(item, "id") for item in found) if found else (tier or TIERS[0]) == "tokens"
    extra = (["id", "log_prob"] if tokens else []) + ["speaker"] * any(_cell(item, "speaker") for item in found)
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\r\n")
    rows.writerow(["start", "end", "text", "confidence", *extra])
    for item in found:
        times = [_fixed(known(item.start), 3), _fixed(known(item.end), 3)]
        rows.writerow([*times, guarded(item.text), _fixed(sure(item), 6), *(_cell(item, column) for column in extra)])
    return out.getvalue()


def sniff(text: str) -> bool:
    """Whether the first line names columns for times and text."""
    try:
        return _columns(text)[0].keys() >= {"start", "end", "text"}
    except csv.Error:
        return False


def read(text: str, wanted: str | None) -> Contents:
    """One tier: tokens where there are ids; words where no text has a space inside; else sentences.

    Semicolons and tabs between the columns are understood, and so are decimal commas.
    """
    try:
        columns, delimiter = _columns(text)
        if missing := [name for name in ("start", "end", "text") if name not in columns]:
            head = _head(text)
            raise Malformed(
                1, f"the first row names the columns start, end and text; {missing[0]} is not in {shown(head)}."
            )
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        next(reader)
        rows, last = [], 1
        for cells in reader:
            line, last = last + 1, reader.line_num
            if any(cell.strip() for cell in cells):
                rows.append(_row(cells, columns, line))
    except csv.Error as error:
        raise Malformed(reader.line_num or 1, f"{error}.") from None
    grain = "sentences" if any(len(row.text.split()) > 1 for row in rows) else "words"
    kind = "tokens" if "id" in columns else grain
    return Contents((Track(kind, kind, tuple(rows)),))


def guarded(text: str) -> str:
    """A text that no spreadsheet runs."""
    return "'" + text if _RUN.match(text) else text


def unguarded(text: str) -> str:
    """The text that was guarded."""
    return text[1:] if text.startswith("'") and _RUN.match(text) else text


def _columns(text: str) -> tuple[Mapping[str, int], str]:
    """Where the known columns stand, and what is between columns."""
    first = _head(text)
    delimiter = max(",;\t", key=first.count)
    names = [name.strip().lower() for name in next(csv.reader([first], delimiter=delimiter), [])]
    found = {}
    for column, aliases in _COLUMNS.items():
        if present := [alias for alias in aliases if alias in names]:
            found[column] = names.index(present[0])
    return found, delimiter


def _head(text: str) -> str:
    return re.split(r"[\r\n]", text[:10_000], maxsplit=1)[0]


def _row(cells: list[str], columns: Mapping[str, int], line: int) -> Row:
    least = max(columns[name] for name in ("start", "end", "text")) + 1
    if len(cells) < least:
        raise Malformed(line, f"a row has at least {least} cells, not {len(cells)}; the file may have been cut off.")
    cell = {name: cells[at] for name, at in columns.items() if at < len(cells)}
    token = cell.get("id", "").strip()
    if token and not re.fullmatch("-?[0-9]{1,9}", token):
        raise Malformed(line, f"an id is a whole number, not {shown(token)}.")
    log_prob = cell.get("log_prob", "").strip()
    return Row(
        line,
        number(cell["start"], line, "A start"),
        number(cell["end"], line, "An end"),
        unguarded(cell["text"]),
        confidence(cell.get("confidence", ""), line),
        unguarded(cell.get("speaker", "")).strip() or None,
        int(token) if token else None,
        number(log_prob, line, "A log-prob") if log_prob else None,
    )


def _cell(item: object, column: str) -> str:
    """What a segment or a token has for a column of its own."""
    if column == "id":
        # A segment has an id in its document as well; that is none of the vocabulary.
        value = item.token_id if hasattr(item, "token_id") else getattr(item, "id", None)
        return "" if value is None else str(value)
    if column == "log_prob":
        return _fixed(known(getattr(item, "log_prob", None)), 6)
    return guarded(getattr(item, "speaker", None) or "")


def _fixed(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}f}"
