"""SubRip subtitles. The format has no escapes: "-->" in the text, which ends a cue for some readers, becomes "→"."""

from __future__ import annotations

import re

from asr_core.formats.contents import Contents, Malformed, Row, Track, lines_of, shown
from asr_core.formats.cues import clock, cue_times, cues
from asr_core.formats.layout import Source

NAME = "SRT"
SUFFIXES = ("srt",)
TIERS = ("sentences", "words")
KEEPS = "Sentences and times, as cues of up to two lines of 42 letters; “-->” becomes “→”. No speakers, no confidences."

#: What a line is made of that was to have times.
_CLOCK = re.compile(r"-?[0-9][0-9:.,\s>-]*")


def render(source: Source, tier: str | None, name: str) -> str:
    """The file; times are hh:mm:ss,mmm, and no cue has an empty line."""
    blocks = []
    for i, cue in enumerate(cues(source, tier), 1):
        text = "\n".join(" ".join(piece.text for piece in line) for line in cue.lines)
        blocks.append(f"{i}\n{clock(cue.start, ',')} --> {clock(cue.end, ',')}\n{text.replace('-->', '→')}\n")
    return "\n".join(blocks)


def sniff(text: str) -> bool:
    """Whether the first two lines with something on them are a number and times."""
    head = [line for line in lines_of(text[:500]) if line.strip()][:2]
    return any("-->" in line for line in head) and not text.startswith("WEBVTT")


def read(text: str, wanted: str | None) -> Contents:
    """A sentence for each cue; its lines become one. Cues may overlap, lack their number, or hold empty lines."""
    lines = [line.strip() for line in lines_of(text)]
    heads = [i for i in range(len(lines)) if _is_head(lines, i)]
    begins = [i - 1 if i and _counts(lines[i - 1]) else i for i in heads]
    _check_rest(lines, begins)
    rows = []
    for head, until in zip(heads, [*begins[1:], len(lines)][: len(heads)], strict=True):
        start, end = cue_times(lines[head], head + 1, ",")
        rows.append(Row(head + 1, start, end, " ".join(line for line in lines[head + 1 : until] if line)))
    return Contents((Track("sentences", "sentences", tuple(rows)),))


def _is_head(lines: list[str], i: int) -> bool:
    """Whether a line has the times of a cue, whole or cut off, and no text."""
    before = lines[i - 1] if i else ""
    if "-->" in lines[i]:
        return not before or _counts(before)
    return _counts(before) and not (i > 1 and lines[i - 2]) and bool(_CLOCK.fullmatch(lines[i]))


def _counts(line: str) -> bool:
    return line.isascii() and line.isdigit()


def _check_rest(lines: list[str], begins: list[int]) -> None:
    """Nothing stands before the first cue, and the last one is whole."""
    for i, line in enumerate(lines[: begins[0] if begins else len(lines)], 1):
        if line:
            raise Malformed(i, f"a cue begins with its number and its times, not with {shown(line)}.")
    filled = [i for i, line in enumerate(lines) if line]
    if len(filled) > 1 and _counts(lines[filled[-1]]) and not lines[filled[-1] - 1]:
        raise Malformed(filled[-1] + 1, "the file ends before the times of this cue; it may have been cut off.")
