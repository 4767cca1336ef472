"""What a store says of its documents without opening them, and what it refuses."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal

from asr_core.annotation.document import Document
from asr_core.errors import StoreError

#: Confidence below which a list counts a word as one to check.
UNSURE = 0.6


class ConflictError(StoreError):
    """Somebody else has edited the document; `revision` is where it stands now."""

    def __init__(self, revision: int) -> None:
        super().__init__("This document has been edited in another window; load it again to see what changed.")
        self.revision = revision


@dataclass(frozen=True)
class Entry:
    """A document as a list shows it.

    Args:
        id: unguessable.
        sha256: of its recording; None where there is none.
        revision: edits, undos and redos so far.
        undo, redo: what would be undone or redone next, in a person's words; None where there is nothing.
        words, below: words, and those whose confidence is below 0.6 and that nobody has accepted.
        confidence: mean of the words; None where unknown.
        created, changed: seconds since the epoch.
    """

    id: str
    name: str
    sha256: str | None
    state: str
    revision: int
    undo: str | None
    redo: str | None
    words: int
    below: int
    confidence: float | None
    created: float
    changed: float


@dataclass(frozen=True)
class LogEntry:
    """One line of a document's log."""

    revision: int
    kind: Literal["edit", "undo", "redo"]
    label: str
    at: float
    reviewer: str


@dataclass(frozen=True)
class Limits:
    """What a store takes.

    Args:
        documents: of one workspace.
        recording_bytes: of one recording; None = any.
        total_bytes: of all recordings together; None = any.
    """

    documents: int = 100_000
    recording_bytes: int | None = None
    total_bytes: int | None = None


#: The query of the list; `WHERE` follows.
ENTRIES = """
SELECT d.id, d.name, d.sha256, d.state, d.revision, u.label, r.label, d.summary, d.created, d.changed FROM documents d
LEFT JOIN history hu ON hu.document = d.id AND hu.place = d.done - 1
LEFT JOIN log u ON u.document = d.id AND u.revision = hu.revision
LEFT JOIN history hr ON hr.document = d.id AND hr.place = d.done
LEFT JOIN log r ON r.document = d.id AND r.revision = hr.revision
"""


def entry_of(row: tuple) -> Entry:
    """A row of `ENTRIES`."""
    summary = json.loads(row[7])
    return Entry(*row[:7], summary["words"], summary["below"], summary["confidence"], *row[8:])


def summary_of(document: Document) -> str:
    """What a list shows of a document besides its name, as JSON: counts of words, and their mean confidence."""
    tier = document.first("words")
    words = tier.segments if tier else ()
    sure = [word.confidence for word in words if word.confidence is not None]
    below = sum(not word.accepted and word.confidence is not None and word.confidence < UNSURE for word in words)
    mean = sum(sure) / len(sure) if sure else None
    return json.dumps({"words": len(words), "below": below, "confidence": mean})
