"""Annotation: documents that people correct.

`Document` is a value: `Document.from_transcript(transcript)` makes one, `document.transcript()` gives it back.
"""

from asr_core.annotation import edits
from asr_core.annotation.changes import Change
from asr_core.annotation.document import STATES, Audio, Document, Provenance
from asr_core.annotation.entries import ConflictError, Entry, Limits
from asr_core.annotation.segments import KINDS, DocumentError, Segment, Tier
from asr_core.annotation.store import Store

__all__ = [
    "KINDS",
    "STATES",
    "Audio",
    "Change",
    "ConflictError",
    "Document",
    "DocumentError",
    "Entry",
    "Limits",
    "Provenance",
    "Segment",
    "Store",
    "Tier",
    "edits",
]
