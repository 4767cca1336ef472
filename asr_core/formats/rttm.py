"""RTTM (NIST): who speaks when; a line of ten columns for each turn, separated by spaces, times in seconds."""

from __future__ import annotations

import re
from collections import defaultdict

from asr_core.annotation.document import Document
from asr_core.errors import FormatError
from asr_core.formats.contents import Contents, Malformed, Row, Track, confidence, lines_of, number, recording, shown
from asr_core.formats.layout import Source, items, milliseconds, one_line

NAME = "RTTM"
SUFFIXES = ("rttm",)
TIERS = ("sentences", "words", "tokens")
KEEPS = "Turns of speakers with times to the millisecond. No text; a space in a name becomes “_”."

#: Milliseconds by which turns of one speaker may overlap.
ROUNDING = 10
#: Of who is not known.
UNKNOWN = "unknown"
#: Other things that RTTM files tell, none of them turns.
_OTHER = {"SEGMENT", "NOSCORE", "NO_RT_METADATA", "LEXEME", "NON-LEX", "NON-SPEECH"}
_OTHER |= {"FILLER", "EDIT", "IP", "SU", "CB", "A/P", "SPKR-INFO"}


def render(source: Source, tier: str | None, name: str) -> str:
    """The file: the tiers of speakers, or else each sentence as a turn of its speaker.

    Args:
        name: of the recording.
    Raises:
        FormatError: two turns of one speaker overlap, which no reader takes.
    """
    own = [one for one in source.tiers if one.kind == "speakers"] if isinstance(source, Document) else []
    turns = [segment for one in own for segment in one.segments] if own and tier is None else items(source, TIERS, tier)
    timed = sorted((milliseconds(turn), _name(getattr(turn, "speaker", None) or UNKNOWN)) for turn in turns)
    _check_turns(timed)
    recording = _name(name) or "audio"
    return "".join(
        f"SPEAKER {recording} 1 {start / 1000:.3f} {(end - start) / 1000:.3f} <NA> <NA> {speaker} <NA> <NA>\n"
        for (start, end), speaker in timed
    )


def _check_turns(timed: list[tuple[tuple[int, int], str]]) -> None:
    before: dict[str, tuple[int, int]] = {}
    for (start, end), speaker in timed:
        last = before.get(speaker)
        if last is not None and last[1] > start + ROUNDING:
            turns = " and ".join(f"{a / 1000:.3f} to {b / 1000:.3f} s" for a, b in (last, (start, end)))
            raise FormatError(
                f"RTTM holds no two turns of one speaker at once, and those of {shown(speaker)} from {turns} overlap; "
                "shorten one of them, or name another speaker."
            )
        before[speaker] = start, end


def sniff(text: str) -> bool:
    """Whether a line tells of a speaker."""
    return any(re.match(r"(?:SPEAKER|SPKR-INFO)\s+\S+\s+\S+\s", line) for line in lines_of(text[:5000]))


def read(text: str, wanted: str | None) -> Contents:
    """The turns of one recording; speakers that overlap each get a tier, and no speaker overlaps himself."""
    turns: dict[str, list[Row]] = defaultdict(list)
    for i, line in enumerate(lines_of(text), 1):
        fields = line.split()
        if not fields or line.startswith(";;") or fields[0] in _OTHER:
            continue
        if fields[0] != "SPEAKER" or not 8 <= len(fields) <= 10:
            raise Malformed(
                i, f"a turn is SPEAKER, recording, channel, start, duration and 3 to 5 more, not {shown(line)}."
            )
        start, lasting = number(fields[3], i, "A start"), number(fields[4], i, "A duration")
        if lasting < 0:
            raise Malformed(i, f"a duration is a number of seconds from 0, not {shown(fields[4])}.")
        sure = confidence(fields[8], i) if len(fields) > 8 else None
        turns[fields[1]].append(Row(i, start, start + lasting, "", sure, fields[7]))
    chosen = recording(turns, wanted)
    rows = turns.get(chosen, [])
    _check_speakers(rows)
    return Contents((Track("speakers", "speakers", tuple(rows)),), recording=chosen)


def _check_speakers(rows: list[Row]) -> None:
    before: dict[str | None, Row] = {}
    for row in sorted(rows, key=lambda row: (row.start, row.end)):
        last = before.get(row.speaker)
        if last is not None and last.end > row.start + (ROUNDING + 0.1) / 1000:
            raise Malformed(row.line, f"this turn overlaps the one of line {last.line}, of the same speaker.")
        before[row.speaker] = row


def _name(text: str) -> str:
    return re.sub(r"\s+", "_", one_line(text))
