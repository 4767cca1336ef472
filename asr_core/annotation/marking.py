"""Edits beside the words: marks such as [noise], speakers' turns, tiers of another decoder, reviewer and notes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain, count

from asr_core.alignment import Transcript
from asr_core.annotation.conversion import tiers_of
from asr_core.annotation.document import Document
from asr_core.annotation.edits import set_text
from asr_core.annotation.segments import DocumentError, Segment, Tier, words_in
from asr_core.annotation.timing import members

#: What a mark says, at most this long; a name is as short.
LONGEST_MARK = 80
LONGEST_NOTES = 20_000


def mark(document: Document, start: float, end: float, text: str) -> Document:
    """Say that something other than speech is heard; a mark in the same place is replaced. Raises DocumentError."""
    return _cover(document, "marks", start, end, lambda id: Segment(id, _short(text, "mark"), start, end))


def set_speaker(document: Document, start: float, end: float, name: str) -> Document:
    """Say who speaks; turns that the new one covers make room, and neighbouring turns of one speaker become one."""
    name = _short(name, "name")
    made = _cover(document, "speakers", start, end, lambda id: Segment(id, "", start, end, speaker=name))
    tier = made.first("speakers")
    joined: list[Segment] = []
    for turn in tier.segments:
        if joined and joined[-1].speaker == turn.speaker and joined[-1].end == turn.start:
            joined[-1] = replace(joined[-1], end=turn.end)
        else:
            joined.append(turn)
    return made.with_tiers(Tier(tier.name, tier.kind, tuple(joined)))


def rename_speaker(document: Document, old: str, new: str) -> Document:
    """Call a speaker something else, wherever they are named."""
    new = _short(new, "name")
    tiers = [
        Tier(t.name, t.kind, tuple(replace(s, speaker=new) if s.speaker == old else s for s in t.segments))
        for t in document.tiers
        if any(segment.speaker == old for segment in t.segments)
    ]
    if not tiers:
        raise DocumentError(f"Nobody in this document is called {old!r}.")
    return document.with_tiers(*tiers)


def speakers_of(document: Document) -> list[str]:
    """The names, in the order in which they are heard first."""
    first: dict[str, float] = {}
    for tier in document.tiers:
        for segment in tier.segments:
            if segment.speaker is not None:
                first[segment.speaker] = min(segment.start, first.get(segment.speaker, math.inf))
    return sorted(first, key=first.__getitem__)


def set_details(document: Document, *, reviewer: str | None = None, notes: str | None = None) -> Document:
    """Name the reviewer, or write notes; None leaves as it is."""
    values = {"reviewer": reviewer, "notes": notes}
    given = {name: value for name, value in values.items() if value is not None}
    if any(not isinstance(value, str) or len(value) > LONGEST_NOTES for value in given.values()):
        raise DocumentError(f"A reviewer's name and notes are texts of up to {LONGEST_NOTES:,} letters.")
    return replace(document, **given)


def add_words_of(document: Document, transcript: Transcript, name: str) -> Document:
    """The words of another transcript of the same recording as a free tier beside what is edited."""
    limit = document.audio.duration if document.audio.duration is not None else math.inf
    words = next(tier for tier in tiers_of(transcript, limit) if tier.kind == "words")
    first = document.next_id
    segments = tuple(replace(word, id=first + i) for i, word in enumerate(words.segments))
    return document.with_tiers(Tier(_free_name(document, name), "free", segments), next_id=first + len(segments))


def remove_tier(document: Document, name: str) -> Document:
    """Take a tier away; not the words, and not what hangs together with them."""
    tier = document.tier(name)
    if tier.kind in ("tokens", "words", "sentences") and document.first(tier.kind) is tier:
        raise DocumentError(f"The tier {name!r} is what this document says; delete its segments instead.")
    return replace(document, tiers=tuple(one for one in document.tiers if one is not tier))


def take_text(document: Document, id: int) -> Document:
    """Let the words below a segment of another tier say what it says."""
    segment, tier = document.segment(id), document.first("words")
    below = [w for w in (tier.segments if tier else ()) if segment.start <= (w.start + w.end) / 2 <= segment.end]
    if not below:
        raise DocumentError(f"There are no words below {segment} that could say this.")
    sentences = document.first("sentences")
    home = _home(sentences.segments, tier.segments) if sentences else {}
    if len(below) == 1 or len({home.get(word.id) for word in below}) > 1 or home.get(below[0].id) is None:
        return set_text(document, below[0].id, segment.text)
    ids = {word.id for word in below}
    said: list[str] = []
    for word in tier.segments:
        if home.get(word.id) != home[below[0].id]:
            continue
        if word.id == below[0].id:
            said.append(segment.text)
        elif word.id not in ids:
            said.append(word.text)
    return set_text(document, home[below[0].id], " ".join(said))


def _home(sentences: Sequence[Segment], words: Sequence[Segment]) -> dict[int, int]:
    groups = zip(sentences, members(sentences, words), strict=True)
    return {word.id: sentence.id for sentence, inside in groups for word in inside}


def _cover(document: Document, kind: str, start: float, end: float, make: Callable[[int], Segment]) -> Document:
    """Put a segment into the document's tier of a kind, which is made where there is none; others make room."""
    if not 0 <= start < end:
        raise DocumentError(f"It lasts from {start:g} to {end:g} s; give it a length.")
    tier = document.first(kind) or Tier(_free_name(document, kind), kind)
    next_id = document.next_id + 1
    new = make(document.next_id)
    kept: list[Segment] = []
    for other in tier.segments:
        if other.end <= new.start or other.start >= new.end:
            kept.append(other)
            continue
        if other.start < new.start:
            kept.append(replace(other, end=new.start))
        if other.end > new.end:
            after = replace(other, start=new.end)
            if other.start < new.start:
                after, next_id = replace(after, id=next_id), next_id + 1
            kept.append(after)
    ordered = sorted((*kept, new), key=lambda one: (one.start, one.end))
    return document.with_tiers(Tier(tier.name, kind, tuple(ordered)), next_id=next_id)


def _free_name(document: Document, name: str) -> str:
    """The name, with a number where a tier has it already."""
    taken = {tier.name for tier in document.tiers}
    return next(one for one in chain([name], (f"{name} {i}" for i in count(2))) if one not in taken)


def _short(text: str, what: str) -> str:
    text = " ".join(words_in(text)) if isinstance(text, str) else ""
    if not 0 < len(text) <= LONGEST_MARK:
        raise DocumentError(f"A {what} has 1 to {LONGEST_MARK} letters.")
    return text
