"""The inside view's Python side: what a head thought at each frame, in spans that assets/inside_view.js asks for."""

from __future__ import annotations

import base64
import logging
import threading
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

import asr_core
from asr_core import FrameScores
from components.documents import Document, Documents, UnknownDocumentError
from components.models import Models

log = logging.getLogger(__name__)

#: Seconds of one span; the n-th begins at n times as many.
SPAN = 30.0
#: Spans that are kept, those unused for longest go; one of 30 s takes about 100 kB.
KEPT = 64
#: Seconds of the longest piece that is encoded again. A transcript that says where it was cut has shorter ones.
LONGEST_PIECE = 90.0
#: Characters of a vocabulary entry that are shown.
LONGEST_TEXT = 40
#: Stands for a probability of 1, and for 1 / NATS nats.
FULL, NATS = 65_535, 4_096


@dataclass(frozen=True)
class Subject:
    """A transcript to look into.

    Args:
        owner, version: what it belongs to; of an owner only one version is kept.
        document: whose sound it is.
        shown: the transcript; it may be another reading than the best.
        best: the best reading, which knows its model and its duration.
    """

    owner: Hashable
    version: int
    document: Document
    shown: asr_core.Transcript
    best: asr_core.Transcript


class Inside:
    """Looks inside recordings, one span at a time, so that a long one is held in memory once. Any thread may call."""

    def __init__(self, documents: Documents, models: Models, *, kept: int = KEPT) -> None:
        self._documents, self._models, self._kept = documents, models, kept
        self._lock = threading.Lock()
        self._at_work = threading.Lock()
        self._spans: OrderedDict[tuple[Any, ...], dict[str, Any]] = OrderedDict()

    def tile(self, key: Any, revision: Any, number: Any, head: Any = None) -> dict[str, Any] | None:
        """The scores of one span of the reading that is shown; it never raises.

        Args:
            key: id of the recording.
            revision: of it, as the page knows it.
            number: of the span.
            head: "ctc" = what that head thinks of the same tokens; None = the head that heard them.
        Returns:
            What `packed` makes; {"error": a sentence} where there is nothing to see; None where the recording has
            changed meanwhile, or the request makes no sense: any client can send anything.
        """
        try:
            document = self._documents.get(key)
        except UnknownDocumentError as error:
            return {"error": str(error)}
        is_known = _is_count(revision) and revision == document.revision
        if not is_known or document.audio is None or document.shown is None:
            return None
        subject = Subject(document.id, document.revision, document, document.shown, document.transcript)
        return self.look(subject, number, head)

    def look(self, subject: Subject, number: Any, head: Any = None) -> dict[str, Any] | None:
        """The scores of one span of a transcript; arguments and answer as those of `tile`."""
        if not _is_count(number) or number * SPAN >= subject.document.audio.duration:
            return None
        if not (head is None or isinstance(head, str)):
            return None
        try:
            return self._span(subject, number, head)
        except asr_core.AsrError as error:
            return {"error": str(error)}
        except Exception as error:  # a bug; the page says so and lives on
            log.exception("Looking inside failed")
            return {"error": f"Something went wrong inside the app ({type(error).__name__}). See its log."}

    def __len__(self) -> int:
        return len(self._spans)

    def _span(self, subject: Subject, number: int, head: str | None) -> dict[str, Any]:
        name = (subject.owner, subject.version, number, head)
        if (found := self._find(name)) is not None:
            return found
        with self._at_work:
            if (found := self._find(name)) is not None:  # another page has asked for the same
                return found
            made = self._look(subject, number, head)
            self._keep(subject, name, made)
        return made

    def _keep(self, subject: Subject, name: tuple[Any, ...], made: dict[str, Any]) -> None:
        with self._lock:
            for old in [old for old in self._spans if old[0] == subject.owner and old[1] != subject.version]:
                del self._spans[old]
            self._spans[name] = made
            while len(self._spans) > self._kept:
                self._spans.popitem(last=False)

    def _find(self, name: tuple[Any, ...]) -> dict[str, Any] | None:
        with self._lock:
            found = self._spans.get(name)
            if found is not None:
                self._spans.move_to_end(name)
            return found

    def _look(self, subject: Subject, number: int, head: str | None) -> dict[str, Any]:
        best = subject.best
        transcript = replace(subject.shown, duration=best.duration)  # other readings do not know it
        recognizer = self._model(best.model)
        if recognizer.info.kind == "whisper":
            return self._attention(subject.document, number, transcript, recognizer)
        heads = recognizer.info.heads
        if not heads:
            raise asr_core.DecodingError(f"{recognizer.info.name} has no head that speaks frame by frame.")
        own = getattr(transcript.decoding, "head", None) or heads[0]
        if head is not None:
            transcript = replace(transcript, decoding=asr_core.Greedy(head=head))
        answer = {"number": number, "head": head or own, "own": own, "heads": list(heads)}
        start, end = number * SPAN, min((number + 1) * SPAN, transcript.duration)
        if end <= start:  # a recording that was stopped before
            return {**answer, "frames": 0}
        return {**answer, **packed(self._scores(subject.document, recognizer, transcript, start, end), recognizer)}

    def _attention(
        self, document: Document, number: int, transcript: asr_core.Transcript, recognizer: asr_core.Recognizer
    ) -> dict[str, Any]:
        """The same of a Whisper model, whose decoder looks at the audio token by token."""
        answer = {"number": number, "head": "whisper", "own": "whisper", "heads": ["whisper"]}
        start, end = number * SPAN, min((number + 1) * SPAN, transcript.duration)
        if end <= start:
            return {**answer, "frames": 0}
        return {**answer, **packed_attention(self._scores(document, recognizer, transcript, start, end), recognizer)}

    def _model(self, source: str | None) -> asr_core.Recognizer:
        """The model of a transcript. A look never fetches one, and a transcript from a file can name any."""
        if source is not None and (source == "demo" or self._models.is_loaded(source)):
            return self._models.get(source)
        name = source or "which is not known"
        raise asr_core.ModelError(
            f"The model of this transcript, {name}, is not loaded. Pick it and transcribe again to look inside."
        )

    def _scores(
        self,
        document: Document,
        recognizer: asr_core.Recognizer,
        transcript: asr_core.Transcript,
        start: float,
        end: float,
    ) -> FrameScores | asr_core.Attention:
        edges = [0.0, *transcript.cuts, transcript.duration]
        if max(b - a for a, b in pairwise(edges)) > LONGEST_PIECE:
            raise asr_core.DecodingError(
                "This transcript does not say where it was cut. Transcribe again to look inside."
            )
        audio = document.audio
        # Beyond the transcript's end is what a stopped recognition has not heard.
        samples = audio.open()[: round(transcript.duration * audio.sample_rate)].astype(np.float32)
        samples /= 32_768
        return recognizer.inspect(samples, transcript, start, end, sample_rate=audio.sample_rate)


def packed(scores: FrameScores, recognizer: asr_core.Recognizer) -> dict[str, Any]:
    """Scores as the page reads them: little-endian columns in base64, and the texts of the entries that occur.

    Returns:
        first, frames, frame_seconds, blank_id, top: as in `FrameScores`; durations, heard: lists.
        blank, top_probs, duration_probs: uint16, 65535 = 1; entropy: uint16 in 1/4096 nats; top_ids, taken, duration:
        int32; heard_probs: uint8, 255 = 1; matrices row by row. A frame that was jumped over has -1 as ids and
        duration, and 0 elsewhere.
        texts: {id: text} of all ids but blank's.
    """
    blank = len(recognizer.vocabulary)
    ids = {int(i) for i in np.unique(scores.top_ids)} | {int(i) for i in np.unique(scores.taken)} | {*scores.heard}
    return {
        "first": scores.first,
        "frames": len(scores),
        "frame_seconds": scores.frame_seconds,
        "blank_id": blank,
        "top": scores.top_ids.shape[1],
        "durations": list(scores.durations),
        "heard": list(scores.heard),
        "blank": _column(scores.blank, FULL, "<u2"),
        "entropy": _column(scores.entropy, NATS, "<u2"),
        "top_ids": _column(scores.top_ids, 1, "<i4"),
        "top_probs": _column(scores.top_probs, FULL, "<u2"),
        "taken": _column(scores.taken, 1, "<i4"),
        "duration": _column(scores.duration, 1, "<i4"),
        "duration_probs": _column(scores.duration_probs, FULL, "<u2"),
        "heard_probs": _column(scores.heard_probs, 255, "|u1"),
        "texts": {str(i): shown_piece(recognizer.vocabulary.pieces[i]) for i in sorted(ids) if 0 <= i < blank},
    }


def packed_attention(scores: asr_core.Attention, recognizer: asr_core.Recognizer) -> dict[str, Any]:
    """Attention as the page reads it.

    Returns:
        first, frames, frame_seconds: as in `packed`; tokens: [id, seconds at which it was said] of each row;
        weights: uint8 in base64, row by row, 255 = the most that the token gives to one frame; texts: {id: text}.
    """
    weights = scores.weights
    most = weights.max(-1, keepdims=True, initial=0)
    rows = zip(scores.token_ids, scores.start_frames, strict=True)
    return {
        "first": scores.first,
        "frames": weights.shape[1],
        "frame_seconds": scores.frame_seconds,
        "tokens": [[token, round(start * scores.frame_seconds, 3)] for token, start in rows],
        "weights": _column(weights / np.where(most > 0, most, 1), 255, "|u1"),
        "texts": {str(i): shown_piece(recognizer.vocabulary.pieces[i]) for i in sorted(set(scores.token_ids))},
    }


def shown_piece(piece: str) -> str:
    """A vocabulary entry as one short line: a file chose its text, and what cannot be seen or sent is replaced."""
    seen = "".join(c if c.isprintable() and not "\ud800" <= c <= "\udfff" else "\ufffd" for c in piece)
    return seen if len(seen) <= LONGEST_TEXT else f"{seen[: LONGEST_TEXT - 1]}…"


def _column(values: np.ndarray, scale: int, dtype: str) -> str:
    """Numbers as base64; NaN becomes 0, what is out of range its nearest."""
    kind = np.dtype(dtype)
    limits = np.iinfo(kind)
    whole = np.rint(np.nan_to_num(np.asarray(values, np.float64)) * scale)
    return base64.b64encode(np.clip(whole, limits.min, limits.max).astype(kind).tobytes()).decode("ascii")


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1_000_000_000
