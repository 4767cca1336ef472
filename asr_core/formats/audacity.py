"""Audacity labels: start, end and label of each, with tabs between; a label without length is a point."""

from __future__ import annotations

import re

from asr_core.formats.contents import Contents, Malformed, Row, Track, lines_of, number, shown
from asr_core.formats.layout import Source, items, milliseconds, one_line

NAME = "Audacity labels"
SUFFIXES = ("txt",)
TIERS = ("words", "sentences", "tokens")
KEEPS = "One tier, with times to the millisecond; what has no length stays a point. No confidences."

_LABEL = re.compile(
    r"-?[0-9]+(?:[.,][0-9]+)?\t-?[0-9]+(?:[.,][0-9]+)?(?:\t.*)?|-?[0-9]+[.,][0-9]+ +-?[0-9]+[.,][0-9]+(?: .*)?"
)


def render(source: Source, tier: str | None, name: str) -> str:
    """The file: decimal points, and a label on one line."""
    found = ((milliseconds(item), one_line(item.text)) for item in items(source, TIERS, tier))
    return "".join(f"{start / 1000:.6f}\t{end / 1000:.6f}\t{text}\n" for (start, end), text in found)


def sniff(text: str) -> bool:
    """Whether its first lines are labels."""
    head = [line for line in lines_of(text[:5000])[:20] if line.strip() and not line.startswith("\\")]
    return bool(head) and all(_LABEL.fullmatch(line) for line in head[:-1] or head)


def read(text: str, wanted: str | None) -> Contents:
    """A free tier. Spaces in place of tabs and decimal commas are understood; lines of frequencies are left out."""
    rows = []
    for i, line in enumerate(lines_of(text), 1):
        if not line.strip() or line.startswith("\\"):
            continue
        cells = line.split("\t", 2) if "\t" in line else line.split(None, 2)
        if len(cells) < 2:
            raise Malformed(i, f"a label has a start, an end and a text, with tabs between them, not {shown(line)}.")
        start, end = number(cells[0], i, "A start"), number(cells[1], i, "An end")
        rows.append(Row(i, start, end, cells[2] if len(cells) > 2 else ""))
    return Contents((Track("labels", "free", tuple(rows)),))
