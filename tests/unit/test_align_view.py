"""What the alignment view asks its server functions."""

from __future__ import annotations

import base64
from pathlib import Path

import numpy as np
import pytest

import asr_core
from components.align_view import columns_of, tile_of
from components.documents import Document, Documents, read_sound

SAMPLE = Path(__file__).parents[2] / "assets" / "samples" / "meeting-date.flac"


@pytest.fixture
def document(tmp_path: Path, demo: asr_core.Recognizer) -> Document:
    documents = Documents(tmp_path, max_documents=3, retention_hours=1)
    key = documents.add(SAMPLE, "a.flac", move=False).id
    sound = read_sound(documents.get(key), sample_rate=16_000, channel=None)
    documents.prepare(key, sound)
    return documents.update(key, transcript=demo.transcribe(sound.samples))


def test_columns_hold_the_transcript(document: Document) -> None:
    columns = columns_of(document)
    transcript = document.transcript
    tokens, words, sentences = (columns["tiers"][tier] for tier in ("tokens", "words", "sentences"))
    assert tokens["text"] == [token.text for token in transcript.tokens]
    assert tokens["start"] == pytest.approx([token.start for token in transcript.tokens])
    of_words = [word.text for word in transcript.words for _ in word.tokens]
    assert [words["text"][i] for i in tokens["word"]] == of_words and of_words[0] == "The"
    assert len(words["sentence"]) == len(transcript.words)
    assert sum(sentences["words"]) == len(transcript.words)
    assert len(base64.b64decode(columns["peaks"])) == len(document.audio.peaks)


def test_peaks_travel_once(document: Document) -> None:
    assert columns_of(document, columns_of(document)["audio"])["peaks"] is None


def test_a_tile_is_the_picture_of_its_span(document: Document) -> None:
    tile = tile_of(document, 0.5, 1.5, 200, 64, 8000)
    pixels = np.frombuffer(base64.b64decode(tile["pixels"]), np.uint8).reshape(tile["height"], tile["width"])
    assert (tile["start"], tile["end"], pixels.shape) == (0.5, 1.5, (64, 200))
    samples = document.audio.open().astype(np.float32) / 32_768
    whole = asr_core.spectrogram.tile(samples, 0.5, 1.5, 200, 64, level=document.audio.level)
    assert np.abs(whole.astype(int) - pixels).max() <= 1


@pytest.mark.parametrize(
    "frame",
    [
        (None, 1, 10, 10, 8000),
        (1, 1, 10, 10, 8000),
        (5, 2, 10, 10, 8000),
        (float("nan"), 1, 10, 10, 8000),
        (0, "1", 10, 10, 8000),
        (1e9, 2e9, 10, 10, 8000),
    ],
)
def test_tiles_that_make_no_sense(document: Document, frame: tuple[object, ...]) -> None:
    assert tile_of(document, *frame) is None


def test_a_huge_tile_is_bounded(document: Document) -> None:
    tile = tile_of(document, 0, 5, 10**9, 10**9, 1e12)
    assert tile["width"] <= 1600 and tile["height"] <= 256
