"""Plain text: a sentence a line (or a word, or a token)."""

from __future__ import annotations

from asr_core.formats.contents import Contents, Row, Track, lines_of
from asr_core.formats.layout import Source, items, one_line

NAME = "text"
SUFFIXES = ("txt",)
TIERS = ("sentences", "words", "tokens")
KEEPS = "The text. It has no times: what is read is spread over the recording by letters, and a warning says so."

UNTIMED = "The file has no times; the text was spread evenly over the recording. Align it to find them."


def render(source: Source, tier: str | None, name: str) -> str:
    """The file. Items without text are left out."""
    lines = (one_line(item.text) for item in items(source, TIERS, tier))
    return "".join(line + "\n" for line in lines if line)


def sniff(text: str) -> bool:
    """Any text is text."""
    return True


def read(text: str, wanted: str | None) -> Contents:
    """A sentence for each line that is not empty, without times."""
    rows = [Row(i, 0.0, 0.0, line.strip()) for i, line in enumerate(lines_of(text), 1) if line.strip()]
    return Contents((Track("sentences", "sentences", tuple(rows)),), warnings=(UNTIMED,) if rows else (), timed=False)
