"""From what a reader found to a document: order, overlaps, the end of the recording."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain, count
from pathlib import PurePosixPath

from asr_core.annotation.document import Audio, Document
from asr_core.annotation.segments import DECIMALS, Segment, Tier
from asr_core.annotation.timing import divided, straddling
from asr_core.errors import FormatError
from asr_core.formats.contents import Contents, Malformed, Row, Track

#: Most segments of a file, a day of words; and most that may overlap at once.
MAX_SEGMENTS = 250_000
MAX_LANES = 32
MAX_TIERS = 1_000
#: Seconds of the longest recording, a thousand hours.
MAX_SECONDS = 3_600_000
#: Seconds of overlap, or beyond the recording, that are rounding: times in hundredths of a second.
ROUNDING = 0.0101

OVERLAPS = "Items of {name!r} overlap, so they stand in {lanes} tiers."
PAST_END = "Times went past the end of the recording; they were cut there."
CROSSING = "Tokens cross borders of words, so the tier {name!r} is a free one."


def assembled(contents: Contents, audio: Audio | None) -> Document:
    """The document. What overlaps is parted into tiers; what goes on after the recording is cut at its end.

    Raises:
        Malformed: times that are negative, backwards, or begin after the recording.
        FormatError: too many segments.
    """
    total = sum(len(track.rows) for track in contents.tracks)
    if total > MAX_SEGMENTS:
        raise FormatError(f"it holds {total:,} segments; at most {MAX_SEGMENTS:,} are read.")
    known = audio or Audio(PurePosixPath(contents.recording.replace("\\", "/")).name)
    last = max((row.end for track in contents.tracks for row in track.rows), default=0.0)
    if known.duration is None and contents.duration is not None:
        known = replace(known, duration=max(contents.duration, last))
    warnings = list(contents.warnings)
    if known.duration is not None and last > known.duration + ROUNDING:
        warnings.append(PAST_END)
    lanes: list[tuple[str, str, list[Row]]] = []
    for track in contents.tracks:
        timed = track.rows if contents.timed else _spread(track.rows, known.duration or 0.0)
        rows = sorted((_checked(row, known.duration) for row in timed), key=lambda row: (row.start, row.end))
        parted = _lanes(rows)
        if len(parted) > 1:
            warnings.append(OVERLAPS.format(name=track.name, lanes=len(parted)))
        lanes += [(name, track.kind, lane) for name, lane in _named(track, parted)]
    if len(lanes) > MAX_TIERS:
        raise FormatError(f"it holds {len(lanes):,} tiers, channels or speakers; at most {MAX_TIERS:,} are read.")
    tiers = _covering(_tiers(lanes), warnings)
    return Document(known, tiers, contents.language, warnings=tuple(dict.fromkeys(warnings)))


def _spread(rows: Sequence[Row], duration: float) -> list[Row]:
    spans = divided([len(row.text) for row in rows], 0.0, duration)
    return [row._replace(start=start, end=end) for row, (start, end) in zip(rows, spans, strict=True)]


def _checked(row: Row, duration: float | None) -> Row:
    start, end = round(row.start, DECIMALS), round(row.end, DECIMALS)
    if start < 0:
        raise Malformed(row.line, f"it begins at {start:g} s; times begin at 0.")
    if end < start:
        raise Malformed(row.line, f"it ends at {end:g} s, before it begins at {start:g} s.")
    if end > MAX_SECONDS:
        raise Malformed(row.line, f"it ends at {end:g} s; times of up to {MAX_SECONDS // 3600:,} hours are read.")
    if duration is not None and end > duration:
        if start > duration + ROUNDING:
            raise Malformed(row.line, f"it begins at {start:g} s, after the recording, which lasts {duration:g} s.")
        start, end = min(start, duration), duration
    return row._replace(start=start, end=end)


def _lanes(rows: Sequence[Row]) -> list[list[Row]]:
    lanes = _first_fit(rows)
    by_speaker: dict[str | None, list[Row]] = defaultdict(list)
    for row in rows:
        by_speaker[row.speaker].append(row)
    if len(lanes) > 1 and len(by_speaker) > 1:
        return [lane for own in by_speaker.values() for lane in _first_fit(own)]
    return lanes


def _first_fit(rows: Iterable[Row]) -> list[list[Row]]:
    """Rows in order of time, each in the first lane that is free then."""
    lanes: list[list[Row]] = []
    for row in rows:
        for lane in lanes:
            before = lane[-1]
            if 0 < before.end - row.start <= ROUNDING and before.start < row.start and before.speaker == row.speaker:
                before = lane[-1] = before._replace(end=row.start)
            if before.end <= row.start:
                lane.append(row)
                break
        else:
            if len(lanes) == MAX_LANES:
                raise Malformed(row.line, f"more than {MAX_LANES} items overlap here.")
            lanes.append([row])
    return lanes or [[]]


def _named(track: Track, lanes: list[list[Row]]) -> list[tuple[str, list[Row]]]:
    """Lanes with the names of their speakers where those tell them apart."""
    speakers = [lane[0].speaker if lane else None for lane in lanes]
    if len(lanes) > 1 and None not in speakers and len(set(speakers)) == len(speakers):
        return list(zip(speakers, lanes, strict=True))
    return [(f"{track.name} {i}" if i > 1 else track.name, lane) for i, lane in enumerate(lanes, 1)]


def _tiers(lanes: Iterable[tuple[str, str, list[Row]]]) -> list[Tier]:
    ids, taken, tiers = count(), set(), []
    for name, kind, rows in lanes:
        unique = next(n for n in chain([name], (f"{name} {i}" for i in count(2))) if n not in taken)
        taken.add(unique)
        tiers.append(Tier(unique, kind, tuple(_segment(next(ids), kind, row) for row in rows)))
    return tiers


def _segment(id: int, kind: str, row: Row) -> Segment:
    text = row.text if kind == "tokens" else row.text.strip()
    speaker = row.speaker
    if kind == "speakers" and (speaker is None or speaker == text):
        speaker, text = text or None, ""
    return Segment(id, text, row.start, row.end, row.confidence, row.token_id, row.log_prob, speaker)


def _covering(tiers: list[Tier], warnings: list[str]) -> tuple[Tier, ...]:
    first = {tier.kind: tier for tier in reversed(tiers)}
    tokens, words = first.get("tokens"), first.get("words")
    if tokens and words and straddling(words.segments, tokens.segments):
        warnings.append(CROSSING.format(name=tokens.name))
        return tuple(Tier(t.name, "free", t.segments) if t.kind == "tokens" else t for t in tiers)
    return tuple(tiers)
