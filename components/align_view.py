"""The alignment view's Python side: it answers what assets/align_view.js asks for about a recording."""

from __future__ import annotations

import base64
import math
from typing import Any

import gradio as gr
import numpy as np

from asr_core import Transcript, spectrogram
from components.documents import Document, Documents, UnknownDocumentError
from components.inside import Inside
from components.part import part
from components.readings import readings_of

#: Largest spectrogram tile that is drawn, in pixels.
TILE_WIDTH, TILE_HEIGHT = 1600, 256


def build_align_view(documents: Documents, inside: Inside) -> gr.HTML:
    """The view; its value is `value_of(document)`, or None for nothing.

    Events: "shown" {doc, revision, threshold, dark} and "reopen" {doc}.
    """

    def load_document(request: Any) -> dict[str, Any] | None:
        key, known = items(request, 2)
        document = _find(documents, key)
        return None if document is None else columns_of(document, known)

    def spectrogram_tile(request: Any) -> dict[str, Any] | None:
        key, *frame = items(request, 6)
        document = _find(documents, key)
        return None if document is None else tile_of(document, *frame)

    def inside_tile(request: Any) -> dict[str, Any] | None:
        return inside.tile(*items(request, 4))

    return part(
        "align",
        events=("shown", "reopen"),
        server_functions=(load_document, spectrogram_tile, inside_tile),
        elem_id="ts-align",
    )


def value_of(document: Document) -> dict[str, Any]:
    """What the component's value says: bulk data never travels in it."""
    return {"doc": document.id, "revision": document.revision}


def columns_of(document: Document, known: Any = None) -> dict[str, Any]:
    """A recording with its tokens, words and sentences as columns, in times of six decimals.

    Args:
        known: name of the audio whose peaks the page already has; they are left out then.
    """
    transcript = document.shown or Transcript()
    return {
        "revision": document.revision,
        "text": transcript.text,
        **columns_of_audio(document, known),
        "tiers": tiers_of(transcript),
        "readings": readings_of(document),
        "language": document.language,
    }


def columns_of_audio(document: Document, known: Any = None) -> dict[str, Any]:
    """A recording without what was heard in it; arguments as `columns_of`."""
    audio = document.audio
    name = f"{document.id}/{audio.path.name}"
    return {
        "doc": document.id,
        "name": document.name,
        "audio": name,
        "file": str(audio.path),
        "duration": audio.duration,
        "rate": audio.sample_rate,
        "samples": audio.samples,
        "hop": audio.hop,
        "peaks": None if known == name else base64.b64encode(audio.peaks).decode("ascii"),
    }


def tiers_of(transcript: Transcript) -> dict[str, dict[str, list[Any]]]:
    """The three tiers as columns; a token knows its word, a word its sentence."""
    word_of = {id(token): i for i, word in enumerate(transcript.words) for token in word.tokens}
    sentence_of = {id(word): i for i, sentence in enumerate(transcript.sentences) for word in sentence.words}
    return {
        "tokens": {
            **_spans(transcript.tokens),
            "id": [token.id for token in transcript.tokens],
            "log_prob": [_finite(token.log_prob) for token in transcript.tokens],
            "word": [word_of.get(id(token), -1) for token in transcript.tokens],
        },
        "words": {
            **_spans(transcript.words),
            "sentence": [sentence_of.get(id(word), -1) for word in transcript.words],
        },
        "sentences": {
            **_spans(transcript.sentences),
            "words": [len(sentence.words) for sentence in transcript.sentences],
        },
    }


def _is_number(value: Any) -> bool:
    """Whether it is a finite number of a sensible size; a whole number from JSON may have any."""
    return isinstance(value, int | float) and abs(value) < 1e300


def tile_of(document: Document, start: Any, end: Any, width: Any, height: Any, top: Any) -> dict[str, Any] | None:
    """A grey picture of [start, end] seconds from 0 to `top` Hz, 255 the loudest, row by row from above.

    None where the request makes no sense: any client can send anything.
    """
    audio = document.audio
    numbers = (start, end, width, height, top)
    if audio is None or not all(_is_number(n) for n in numbers):
        return None
    start, end = max(0.0, float(start)), min(audio.duration, float(end))
    if end <= start:
        return None
    width, height = int(min(max(width, 1), TILE_WIDTH)), int(min(max(height, 1), TILE_HEIGHT))
    # Only what the tile shows is read from the file.
    first = max(0, int(start * audio.sample_rate) - spectrogram.FRAME)
    last = min(audio.samples, int(end * audio.sample_rate) + spectrogram.FRAME)
    samples = audio.open()[first:last].astype(np.float32) / 32_768
    offset = first / audio.sample_rate
    grey = spectrogram.tile(
        samples,
        start - offset,
        end - offset,
        width,
        height,
        sample_rate=audio.sample_rate,
        top=min(max(float(top), 500.0), audio.sample_rate / 2),
        level=audio.level,
    )
    return {
        "start": start,
        "end": end,
        "width": grey.shape[1],
        "height": grey.shape[0],
        "pixels": base64.b64encode(grey.tobytes()).decode("ascii"),
    }


def _spans(items: Any) -> dict[str, list[Any]]:
    return {
        "text": [item.text for item in items],
        "start": [round(item.start, 6) for item in items],
        "end": [round(item.end, 6) for item in items],
        "confidence": [round(item.confidence, 6) for item in items],
    }


def _finite(value: float) -> float | None:
    return round(value, 6) if math.isfinite(value) else None


def _find(documents: Documents, key: Any) -> Document | None:
    """The recording, if it is here and has been read. A server function must not raise: the page could not say why."""
    try:
        document = documents.get(key)
    except UnknownDocumentError:
        return None
    return document if document.audio is not None else None


def items(request: Any, count: int) -> list[Any]:
    """Arguments of a server function, which come as one list; too few are filled with None."""
    given = list(request) if isinstance(request, list | tuple) else [request]
    return (given + [None] * count)[:count]
