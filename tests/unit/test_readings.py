"""The N-best list as the page shows it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import asr_core
from asr_core.audio import AudioInfo
from components.documents import Document
from components.readings import differences, readings_of

SAMPLES = Path(__file__).parents[2] / "assets" / "samples"


def said(text: str) -> asr_core.Transcript:
    return asr_core.Transcript(text=text, words=tuple(asr_core.Word(word, 0.0, 0.0, 1.0, ()) for word in text.split()))


def document(transcript: asr_core.Transcript, **more: object) -> Document:
    here = Path()
    return Document("x", "x", here, here, AudioInfo(1.0, 16_000, 1, "WAV"), transcript=transcript, **more)


@pytest.mark.parametrize(
    ("best", "other", "runs"),
    [
        ("a b c", "a b c", []),
        ("", "", []),
        ("", "a", [("other", "a")]),
        ("a", "", [("missing", "a")]),
        ("a b c", "a x c", [("same", "a"), ("other", "x"), ("same", "c")]),
        ("a b c", "a c", [("same", "a"), ("missing", "b"), ("same", "c")]),
        ("a c", "a b c", [("same", "a"), ("other", "b"), ("same", "c")]),
        (
            "a b c d e f g h i j",
            "a b c d x f g h i y",
            [("gap", "…"), ("same", "c d"), ("other", "x"), ("same", "f g h i"), ("other", "y")],
        ),
        ("x a b c d e", "y a b c d e", [("other", "y"), ("same", "a b"), ("gap", "…")]),
        (
            "x a b c d e f z",
            "y a b c d e f w",
            [("other", "y"), ("same", "a b"), ("gap", "…"), ("same", "e f"), ("other", "w")],
        ),
        ("a b c d", "a x y d", [("same", "a"), ("other", "x y"), ("same", "d")]),
        ("a b c d", "a d", [("same", "a"), ("missing", "b c"), ("same", "d")]),
        ("Hello there", "hello there", [("other", "hello"), ("same", "there")]),
    ],
)
def test_words_that_differ_with_their_neighbours(best: str, other: str, runs: list[tuple[str, str]]) -> None:
    assert differences(said(best), said(other)) == runs


def test_the_list_of_a_beam(demo: asr_core.Recognizer) -> None:
    transcript = demo.transcribe(SAMPLES / "meeting-date.flac", decoding=asr_core.Beam(size=5, length_penalty=0.5))
    listed = readings_of(document(transcript))
    readings = [transcript, *transcript.alternatives]
    assert len(listed["items"]) == len(readings) > 1
    assert [item["score"] for item in listed["items"]] == [round(one.score, 3) for one in readings]
    assert listed["items"][0]["rank"] == pytest.approx(transcript.score / (len(transcript.tokens) + 1) ** 0.5, abs=1e-3)
    ranks = [item["rank"] for item in listed["items"]]
    assert ranks == sorted(ranks, reverse=True), "the list is in the order of what it shows"
    assert (listed["picked"], listed["exponent"], listed["note"]) == (0, 0.5, "")


def test_no_list_where_there_is_none(demo: asr_core.Recognizer) -> None:
    assert readings_of(document(demo.transcribe(SAMPLES / "sandwich.flac"))) is None
    one = demo.transcribe(SAMPLES / "sandwich.flac", decoding=asr_core.Beam(size=1))
    assert readings_of(document(one))["note"] == "The search kept no other reading."
    assert "heard in 3 pieces" in readings_of(document(replace(one, cuts=(10.0, 20.0))))["note"]


def test_a_document_without_a_transcript() -> None:
    assert document(asr_core.Transcript()).shown == asr_core.Transcript()
    assert readings_of(replace(document(asr_core.Transcript()), transcript=None)) is None
