"""EAF, the XML of ELAN: annotations in tiers, whose ends are time slots in milliseconds.

The kind of a tier is its linguistic type. Entities and DTDs are refused: nothing in a file grows while it is read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import PurePosixPath
from urllib.parse import quote, unquote
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from asr_core.alignment import Transcript
from asr_core.annotation.segments import KINDS, Tier
from asr_core.annotation.timing import divided
from asr_core.formats.contents import Contents, Malformed, Row, Track, kind_of, shown
from asr_core.formats.layout import Placed, Source, as_document, one_line, one_tier, timed_tiers

NAME = "EAF"
SUFFIXES = ("eaf",)
TIERS = ("tokens", "words", "sentences")
KEEPS = "All tiers and their kinds, texts as they are, the speaker of a tier; times as in TextGrid. No confidences."

_HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<ANNOTATION_DOCUMENT AUTHOR="" DATE="{date}" FORMAT="3.0" VERSION="3.0" \
xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" \
xsi:noNamespaceSchemaLocation="http://www.mpi.nl/tools/elan/EAFv3.0.xsd">
    <HEADER MEDIA_FILE="" TIME_UNITS="milliseconds">{media}</HEADER>
"""
#: What XML cannot hold.
_NO_XML = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(source: Source, tier: str | None, name: str) -> str:
    """The file: all tiers, or the one that is named. Neighbours that touch share their time slot."""
    tier = one_tier(TIERS, tier) if isinstance(source, Transcript) and tier is not None else tier
    document = as_document(source)
    chosen = [one for one in document.tiers if tier in (None, one.name)]
    if tier is not None and not chosen:
        chosen = [Tier(tier, kind_of(tier))]  # made of the others, where it can be
    placed = timed_tiers(document, [one.name for one in chosen], TIERS)
    times = {(time, one.name) for one in chosen for start, end, _ in placed[one.name] for time in (start, end)}
    slots = {slot: f"ts{i}" for i, slot in enumerate(sorted(times), 1)}
    order = "".join(
        f'        <TIME_SLOT TIME_SLOT_ID="{id}" TIME_VALUE="{time}"/>\n' for (time, _), id in slots.items()
    )
    tiers = "".join(_tier(number, one, placed[one.name], slots) for number, one in enumerate(chosen))
    types = "".join(
        f'    <LINGUISTIC_TYPE GRAPHIC_REFERENCES="false" LINGUISTIC_TYPE_ID="{kind}" TIME_ALIGNABLE="true"/>\n'
        for kind in dict.fromkeys(one.kind for one in chosen)
    )
    head = _HEAD.format(date=datetime.now(UTC).isoformat(timespec="seconds"), media=_media(document.audio.name))
    return f"{head}    <TIME_ORDER>\n{order}    </TIME_ORDER>\n{tiers}{types}</ANNOTATION_DOCUMENT>\n"


def sniff(text: str) -> bool:
    """Whether the document of annotations begins soon."""
    return "<ANNOTATION_DOCUMENT" in text[:2000]


def read(text: str, wanted: str | None) -> Contents:
    """All tiers. Annotations that refer to others take their time, shared evenly where several refer to one."""
    found = _Reader().parse(text)
    spans = _spans(found)
    tracks = []
    for tier in found.tiers:
        rows = [Row(one.line, *spans[id(one)], one.text, speaker=tier.speaker) for one in tier.annotations]
        kind = tier.type if tier.type in KINDS else kind_of(tier.name)
        tracks.append(Track(tier.name, kind, tuple(rows)))
    return Contents(tuple(tracks), recording=found.media)


@dataclass
class _Annotation:
    line: int
    slots: tuple[str | None, str | None]
    parent: str | None
    text: str = ""


@dataclass
class _Tier:
    name: str
    type: str
    speaker: str | None
    annotations: list[_Annotation] = field(default_factory=list)


class _Reader:
    """Collects what matters while the parser goes through the file."""

    def __init__(self) -> None:
        self.slots: dict[str, float | None] = {}
        self.tiers: list[_Tier] = []
        self.by_id: dict[str, _Annotation] = {}
        self.media = ""
        self._depth = 0
        self._text: list[str] | None = None
        self._parser = expat.ParserCreate("utf-8")
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters
        self._parser.StartDoctypeDeclHandler = self._refuse
        self._parser.EntityDeclHandler = self._refuse

    def parse(self, text: str) -> _Reader:
        try:
            self._parser.Parse(text.encode("utf-8", "replace"), True)
        except expat.ExpatError as error:
            raise Malformed(error.lineno, f"this is no XML: {expat.errors.messages[error.code]}.") from None
        return self

    @property
    def _line(self) -> int:
        return self._parser.CurrentLineNumber

    def _start(self, name: str, values: dict[str, str]) -> None:
        self._depth += 1
        if self._depth == 1 and name != "ANNOTATION_DOCUMENT":
            raise Malformed(self._line, f"an EAF is an ANNOTATION_DOCUMENT, not {shown(name)}.")
        if name == "HEADER" and values.get("TIME_UNITS", "milliseconds") != "milliseconds":
            raise Malformed(self._line, f"times are in milliseconds, not in {shown(values['TIME_UNITS'])}.")
        if name == "MEDIA_DESCRIPTOR" and not self.media:
            self.media = PurePosixPath(unquote(values.get("MEDIA_URL", ""))).name
        if name == "TIME_SLOT":
            self.slots[self._value(values, "TIME_SLOT_ID")] = self._time(values.get("TIME_VALUE"))
        if name == "TIER":
            speaker = values.get("PARTICIPANT", "").strip() or None
            tier = _Tier(
                self._value(values, "TIER_ID").strip() or "tier", values.get("LINGUISTIC_TYPE_REF", ""), speaker
            )
            self.tiers.append(tier)
        if name in ("ALIGNABLE_ANNOTATION", "REF_ANNOTATION"):
            self._annotation(name, values)
        if name == "ANNOTATION_VALUE":
            self._text = []

    def _annotation(self, name: str, values: dict[str, str]) -> None:
        if not self.tiers:
            raise Malformed(self._line, "an annotation stands in a tier.")
        slots, parent = (None, None), None
        if name == "REF_ANNOTATION":
            parent = self._value(values, "ANNOTATION_REF")
        else:
            slots = (self._value(values, "TIME_SLOT_REF1"), self._value(values, "TIME_SLOT_REF2"))
        made = _Annotation(self._line, slots, parent)
        self.tiers[-1].annotations.append(made)
        self.by_id[self._value(values, "ANNOTATION_ID")] = made

    def _end(self, name: str) -> None:
        self._depth -= 1
        if name == "ANNOTATION_VALUE" and self._text is not None:
            if self.tiers and self.tiers[-1].annotations:
                self.tiers[-1].annotations[-1].text = "".join(self._text)
            self._text = None

    def _characters(self, text: str) -> None:
        if self._text is not None:
            self._text.append(text)

    def _refuse(self, *_: object) -> None:
        raise Malformed(self._line, "an EAF has no DTD and no entities of its own; this file is refused.")

    def _value(self, values: dict[str, str], name: str) -> str:
        if name not in values:
            raise Malformed(self._line, f"the attribute {name} is missing here.")
        return values[name]

    def _time(self, value: str | None) -> float | None:
        """Seconds; None = a slot that hangs between others."""
        if value is None:
            return None
        if not re.fullmatch(r"[0-9]{1,12}", value):
            raise Malformed(self._line, f"a time is a whole number of milliseconds from 0, not {shown(value)}.")
        return int(value) / 1000


def _spans(found: _Reader) -> dict[int, tuple[float, float]]:
    """The time of every annotation, by its identity in memory."""
    slots = _aligned(found.slots)
    spans: dict[int, tuple[float, float]] = {}
    place: dict[int, tuple[int, int]] = {}
    for tier in found.tiers:
        siblings = Counter(one.parent for one in tier.annotations)
        seen: Counter[str | None] = Counter()
        for one in tier.annotations:
            place[id(one)] = seen[one.parent], siblings[one.parent]
            seen[one.parent] += 1
            if one.parent is None:
                missing = [slot for slot in one.slots if slot not in slots]
                if missing:
                    raise Malformed(one.line, f"there is no time slot {shown(str(missing[0]))}.")
                spans[id(one)] = slots[one.slots[0]], slots[one.slots[1]]
    for tier in found.tiers:
        for one in tier.annotations:
            _resolve(one, found.by_id, place, spans)
    return spans


def _resolve(
    one: _Annotation,
    by_id: dict[str, _Annotation],
    place: dict[int, tuple[int, int]],
    spans: dict[int, tuple[float, float]],
) -> None:
    """Follow references up to an annotation whose time is known, and come back with the times."""
    path: dict[int, _Annotation] = {}
    while id(one) not in spans:
        if id(one) in path or one.parent not in by_id:
            raise Malformed(one.line, f"it refers to the annotation {shown(str(one.parent))}, which gives it no time.")
        path[id(one)] = one
        one = by_id[one.parent]
    known = spans[id(one)]
    for below in reversed(path.values()):
        at, count = place[id(below)]
        start, end = known
        known = start + (end - start) * at / count, start + (end - start) * (at + 1) / count
        spans[id(below)] = known


def _aligned(slots: dict[str, float | None]) -> dict[str, float]:
    """Slots without a time stand evenly between those around them, in the order of the file."""
    found: dict[str, float] = {}
    hanging: list[str] = []
    before = 0.0
    for name, time in [*slots.items(), (None, None)]:
        if name is not None and time is None:
            hanging.append(name)
            continue
        until = before if time is None else time
        for slot, (_, at) in zip(hanging, divided([1] * (len(hanging) + 1), before, until), strict=False):
            found[slot] = at
        hanging = []
        if name is not None:
            found[name] = before = time
    return found


def _media(name: str) -> str:
    if not name:
        return ""
    url = quoteattr(f"./{quote(one_line(name))}")
    return f'<MEDIA_DESCRIPTOR MEDIA_URL={url} RELATIVE_MEDIA_URL={url} MIME_TYPE="audio/*"/>'


def _tier(number: int, tier: Tier, placed: Sequence[Placed], slots: Mapping[tuple[int, str], str]) -> str:
    speakers = {segment.speaker for segment in tier.segments}
    speaker = next(iter(speakers)) if len(speakers) == 1 else None
    participant = f" PARTICIPANT={quoteattr(one_line(speaker))}" if speaker else ""
    rows = "".join(
        f'        <ANNOTATION><ALIGNABLE_ANNOTATION ANNOTATION_ID="a{number}_{i}"'
        f' TIME_SLOT_REF1="{slots[start, tier.name]}" TIME_SLOT_REF2="{slots[end, tier.name]}">'
        f"<ANNOTATION_VALUE>{_content(item.text)}</ANNOTATION_VALUE></ALIGNABLE_ANNOTATION></ANNOTATION>\n"
        for i, (start, end, item) in enumerate(placed)
    )
    name = quoteattr(_NO_XML.sub("", one_line(tier.name)) or "tier")
    return f'    <TIER LINGUISTIC_TYPE_REF="{tier.kind}" TIER_ID={name}{participant}>\n{rows}    </TIER>\n'


def _content(text: str) -> str:
    return escape(_NO_XML.sub("", text.replace("\r\n", "\n").replace("\r", "\n")))
