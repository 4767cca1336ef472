"""Annotation: documents that people correct.

`Document` is a value: `Document.from_transcript(transcript)` makes one, `document.transcript()` gives it back.
"""

from asr_core.annotation.document import STATES, Audio, Document, Provenance
from asr_core.annotation.segments import KINDS, DocumentError, Segment, Tier

__all__ = ["KINDS", "STATES", "Audio", "Document", "DocumentError", "Provenance", "Segment", "Tier"]
