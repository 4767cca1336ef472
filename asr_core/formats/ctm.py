"""CTM (NIST sclite): recording, channel, start, duration, word, confidence; separated by spaces, times in seconds."""

from __future__ import annotations

import re
from collections import defaultdict

from asr_core.formats.contents import Contents, Malformed, Row, Track, confidence, lines_of, number, recording, shown
from asr_core.formats.layout import Source, intervals, items, length, one_line, sure

NAME = "CTM"
SUFFIXES = ("ctm",)
TIERS = ("words", "tokens")
KEEPS = "Words (or tokens) with times to the millisecond and confidence; a space inside a word becomes “_”."

_LINE = re.compile(r"\S+\s+\S+\s+[0-9]*[.,]?[0-9]+\s+[0-9]*[.,]?[0-9]+\s+\S+(?:\s+\S+){0,3}\s*")


def render(source: Source, tier: str | None, name: str) -> str:
    """The file; a space inside a word becomes "_", and items without text are left out.

    Args:
        name: of the recording.
    """
    # ";;" at the front makes a comment of the line.
    name = re.sub(r"\s+", "_", one_line(name)).lstrip(";") or "audio"
    found = [item for item in items(source, TIERS, tier) if one_line(item.text)]
    times = intervals(((item.start, item.end) for item in found), length(source))
    return "".join(
        f"{name} 1 {start / 1000:.3f} {(end - start) / 1000:.3f} {one_line(item.text).replace(' ', '_')}"
        f"{'' if (value := sure(item)) is None else f' {value:.4f}'}\n"
        for item, (start, end) in zip(found, times, strict=True)
    )


def sniff(text: str) -> bool:
    """Whether the first line that is no comment is one of CTM."""
    first = next((line for line in lines_of(text[:5000]) if line.strip() and not line.startswith(";;")), "")
    return bool(_LINE.fullmatch(first[:500]))


def read(text: str, wanted: str | None) -> Contents:
    """The words of one recording, a tier for each channel. LDC's columns for type and speaker are understood."""
    rows: dict[str, dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for i, line in enumerate(lines_of(text), 1):
        fields = line.split()
        if not fields or line.startswith(";;"):
            continue
        if not 5 <= len(fields) <= 8:
            raise Malformed(
                i, f"a line has recording, channel, start, duration, word and confidence, not {shown(line)}."
            )
        start, lasting = number(fields[2], i, "A start"), number(fields[3], i, "A duration")
        if lasting < 0:
            raise Malformed(i, f"a duration is a number of seconds from 0, not {shown(fields[3])}.")
        sure = confidence(fields[5], i) if len(fields) > 5 else None
        speaker = fields[7] if len(fields) > 7 else None
        rows[fields[0]][fields[1]].append(Row(i, start, start + lasting, fields[4], sure, speaker))
    chosen = recording(rows, wanted)
    channels = rows.get(chosen) or {"1": []}
    names = {channel: "words" if len(channels) == 1 else f"words {channel}" for channel in channels}
    return Contents(
        tuple(Track(names[channel], "words", tuple(found)) for channel, found in channels.items()), recording=chosen
    )
