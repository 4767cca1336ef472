"""What a store says of its documents without opening them, and what it refuses."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass
from typing import Literal

from asr_core.annotation.document import Document
from asr_core.errors import StoreError

#: Confidence below which a list counts a word as one to check.
UNSURE = 0.6
#: Thresholds that a page can have.
HUNDREDTHS = tuple(i / 100 for i in range(101))


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
        doubts: pairs of a hundredth and a count: confidences from that hundredth up to the next, of words that nobody
            has accepted. What is below a threshold of whole hundredths is the sum of those before it. None where an
            older version has counted.
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
    doubts: tuple[tuple[int, int], ...] | None = None


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
    doubts = summary.get("doubts")
    listed = None if doubts is None else tuple((hundredth, count) for hundredth, count in doubts)
    return Entry(*row[:7], summary["words"], summary["below"], summary["confidence"], *row[8:], listed)


def summary_of(document: Document) -> str:
    """What a list shows of a document besides its name, as JSON: counts of words, and their mean confidence."""
    tier = document.first("words")
    words = tier.segments if tier else ()
    sure = [word.confidence for word in words if word.confidence is not None]
    mean = sum(sure) / len(sure) if sure else None
    # What a page has people check: words, and sentences where there are none.
    checked = tier or document.first("sentences")
    doubted = [one.confidence for one in checked.segments if not one.accepted] if checked else []
    doubts = Counter(bisect_right(HUNDREDTHS, sure) - 1 for sure in doubted if sure is not None)
    below = sum(count for hundredth, count in doubts.items() if hundredth < round(100 * UNSURE))
    listed = sorted(doubts.items())
    return json.dumps({"words": len(words), "below": below, "confidence": mean, "doubts": listed})
