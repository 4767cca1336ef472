"""A document as the page draws it: plain columns, and what an edit changes in them (assets/annotate_document.js)."""

from __future__ import annotations

from typing import Any

from asr_core.annotation import Change, Document, Entry, Segment, Tier
from asr_core.annotation.marking import speakers_of

#: What the page has of each segment, in this order.
COLUMNS = ("id", "text", "start", "end", "confidence", "accepted", "speaker", "token_id", "log_prob")


def listed(entry: Entry) -> dict[str, Any]:
    """A document in the list."""
    return {
        "id": entry.id,
        "name": entry.name,
        "state": entry.state,
        "words": entry.words,
        "below": entry.below,
        "doubts": entry.doubts,
        "confidence": entry.confidence,
        "changed": entry.changed,
    }


def head_of(entry: Entry, document: Document) -> dict[str, Any]:
    """What stands around the tiers."""
    return {
        "id": entry.id,
        "name": entry.name,
        "revision": entry.revision,
        "undo": entry.undo,
        "redo": entry.redo,
        "state": document.state,
        "reviewer": document.reviewer,
        "notes": document.notes,
        "language": document.language,
        "speakers": speakers_of(document),
        "tiers": [tier.name for tier in document.tiers],
        "model": document.provenance.model,
        "warnings": list(document.warnings),
        "summary": listed(entry),
    }


def tiers_of(document: Document) -> list[dict[str, Any]]:
    """The tiers in order, each with its segments as columns."""

    def columns(tier: Tier) -> list[list[Any]]:
        return [[getattr(segment, name) for segment in tier.segments] for name in COLUMNS]

    return [{"name": tier.name, "kind": tier.kind, "columns": columns(tier)} for tier in document.tiers]


def delta_of(change: Change) -> list[dict[str, Any]]:
    """What a change does to the columns: which rows go (places before), and which come (places after)."""
    return [
        {
            "name": one.name,
            "kind": one.kind,
            "place": one.place,
            "made": one.made,
            "removed": one.removed,
            "gone": [place for place, _ in one.before],
            "come": [[place, row_of(segment)] for place, segment in one.after],
        }
        for one in change.tiers
    ]


def row_of(segment: Segment) -> list[Any]:
    """A segment as the page's columns have it."""
    return [getattr(segment, name) for name in COLUMNS]


def words_changed(change: Change, words: Tier | None) -> list[int]:
    """Ids of words whose text is new: their times may be put right by an alignment."""
    found = []
    for one in change.tiers:
        if words is None or one.name != words.name:
            continue
        before = {segment.id: segment.text for _, segment in one.before}
        found += [segment.id for _, segment in one.after if before.get(segment.id) != segment.text]
    return found
