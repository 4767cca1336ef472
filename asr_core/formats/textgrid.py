"""Praat TextGrid, long form: interval tiers for tokens, words and sentences.

An interval tier covers the whole recording: gaps are intervals without text. Intervals have a length and do not
overlap; `layout.intervals` says how tokens without length and several labels on one frame are placed.
"""

from __future__ import annotations

from collections.abc import Sequence

from asr_core.alignment import Sentence, Token, Transcript, Word
from asr_core.formats.layout import intervals, one_line, one_tier

TIERS = ("tokens", "words", "sentences")

Interval = tuple[int, int, str]


def render(transcript: Transcript, tier: str | None, name: str) -> str:
    """The file: all three tiers, or the one that is named."""
    chosen = TIERS if tier is None else (one_tier(TIERS, tier),)
    tiers = {name: _intervals(getattr(transcript, name), transcript.duration) for name in chosen}
    end = max(1, round(transcript.duration * 1000), *(found[-1][1] for found in tiers.values() if found))
    head = f'File type = "ooTextFile"\nObject class = "TextGrid"\n\nxmin = 0\nxmax = {_seconds(end)}\n'
    body = "".join(_tier(i, name, _filled(found, end), end) for i, (name, found) in enumerate(tiers.items(), 1))
    return f"{head}tiers? <exists>\nsize = {len(tiers)}\nitem []:\n{body}"


def _intervals(items: Sequence[Token | Word | Sentence], duration: float) -> list[Interval]:
    shown = [item for item in items if one_line(item.text)]
    times = intervals(((item.start, item.end) for item in shown), duration)
    return [(start, end, one_line(item.text)) for item, (start, end) in zip(shown, times, strict=True)]


def _filled(found: Sequence[Interval], end: int) -> list[Interval]:
    filled, at = [], 0
    for interval in [*found, (end, end, "")]:
        if interval[0] > at:
            filled.append((at, interval[0], ""))
        if interval[1] > interval[0]:
            filled.append(interval)
        at = interval[1]
    return filled


def _tier(number: int, name: str, filled: Sequence[Interval], end: int) -> str:
    head = (
        f'    item [{number}]:\n        class = "IntervalTier"\n        name = "{name}"\n'
        f"        xmin = 0\n        xmax = {_seconds(end)}\n        intervals: size = {len(filled)}\n"
    )
    return head + "".join(
        f"        intervals [{i}]:\n            xmin = {_seconds(start)}\n            xmax = {_seconds(stop)}\n"
        f"            text = {_quoted(text)}\n"
        for i, (start, stop, text) in enumerate(filled, 1)
    )


def _quoted(text: str) -> str:
    """Praat doubles a quote inside quotes."""
    return '"' + text.replace('"', '""') + '"'


def _seconds(milliseconds: int) -> str:
    return f"{milliseconds / 1000:.3f}"
