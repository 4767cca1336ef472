"""What the inside view asks its server function."""

from __future__ import annotations

import base64
import json
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

import asr_core
from asr_core import FrameScores
from asr_core.text import Vocabulary
from components.documents import Document, Documents, read_sound
from components.inside import KEPT, SPAN, Inside, packed, packed_attention, shown_piece
from components.models import Models
from tests.conftest import SAMPLES

LONG = SAMPLES / "friday-meeting.flac"
HOSTILE = ("<img src=x onerror=alert(1)>", "${alert(1)}", "\u202e\x00\n\ud800", "▁" + "x" * 10_000, "", "{{value}}")


@pytest.fixture(scope="module")
def models() -> Models:
    """The embedded model, loaded."""
    models = Models("demo")
    models.get("demo")
    return models


@pytest.fixture
def documents(tmp_path: Path) -> Documents:
    return Documents(tmp_path, max_documents=9, retention_hours=1)


@pytest.fixture
def document(documents: Documents, models: Models) -> Document:
    """A recording of 20 s, heard by the embedded model."""
    return heard(documents, models, LONG)


def heard(documents: Documents, models: Models, file: Path, decoding: Any = asr_core.Greedy()) -> Document:  # noqa: B008
    key = documents.add(file, file.name, move=False).id
    sound = read_sound(documents.get(key), sample_rate=16_000, channel=None)
    documents.prepare(key, sound)
    return documents.update(key, transcript=models.get("demo").transcribe(sound.samples, decoding=decoding))


def ask(documents: Documents, models: Models, document: Document, number: Any = 0, head: Any = None) -> Any:
    return Inside(documents, models).tile(document.id, document.revision, number, head)


def column(tile: dict[str, Any], name: str, dtype: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(tile[name]), dtype)


def check(tile: dict[str, Any], scores: FrameScores, pieces: tuple[str, ...]) -> None:
    """A tile says what the scores say, to the steps of its integers."""
    frames = len(scores)
    assert (tile["frames"], tile["first"], tile["frame_seconds"]) == (frames, scores.first, scores.frame_seconds)
    assert (tile["durations"], tile["heard"]) == (list(scores.durations), list(scores.heard))
    assert column(tile, "top_ids", "<i4").reshape(frames, -1).tolist() == scores.top_ids.tolist()
    assert column(tile, "taken", "<i4").tolist() == scores.taken.tolist()
    assert column(tile, "duration", "<i4").tolist() == scores.duration.tolist()
    for name, step, dtype in (
        ("blank", 65_535, "<u2"),
        ("top_probs", 65_535, "<u2"),
        ("duration_probs", 65_535, "<u2"),
        ("entropy", 4_096, "<u2"),
        ("heard_probs", 255, "|u1"),
    ):
        expected = np.nan_to_num(getattr(scores, name)).ravel()
        np.testing.assert_allclose(column(tile, name, dtype) / step, expected, atol=0.6 / step)
    shown = {int(i) for i in scores.top_ids.ravel() if 0 <= i < len(pieces)}
    assert {int(i) for i in tile["texts"]} >= shown
    assert all(tile["texts"][str(i)] == pieces[i] for i in shown)


@pytest.mark.parametrize(
    ("decoding", "head"),
    [
        (asr_core.Greedy(), None),
        (asr_core.Beam(size=3), None),
        (asr_core.Greedy(head="ctc"), None),
        (asr_core.Greedy(), "ctc"),
    ],
)
def test_a_tile_says_what_inspect_says(documents: Documents, models: Models, decoding: Any, head: str | None) -> None:
    document = heard(documents, models, LONG, decoding)
    tile = ask(documents, models, document, head=head)
    transcript, recognizer = document.transcript, models.get("demo")
    samples = document.audio.open().astype(np.float32) / 32_768
    own = "ctc" if decoding.head == "ctc" else "tdt"
    assert (tile["own"], tile["head"], tile["heads"]) == (own, head or own, list(recognizer.info.heads))
    if head:
        transcript = replace(transcript, decoding=asr_core.Greedy(head=head))
    scores = recognizer.inspect(samples, transcript, 0, transcript.duration)
    check(tile, scores, recognizer.vocabulary.pieces)
    assert bool(tile["durations"]) == (tile["head"] == "tdt")


def test_frames_that_are_jumped_over_say_nothing(documents: Documents, models: Models, document: Document) -> None:
    tile = ask(documents, models, document)
    ids = column(tile, "top_ids", "<i4").reshape(tile["frames"], -1)
    skipped = ids[:, 0] < 0
    assert 0.2 < skipped.mean() < 0.8
    assert (ids[skipped] == -1).all() and (column(tile, "taken", "<i4")[skipped] == -1).all()
    assert not column(tile, "blank", "<u2")[skipped].any()


def test_spans_of_a_long_recording_follow_each_other(documents: Documents, models: Models, tmp_path: Path) -> None:
    one = asr_core.read_audio(LONG)
    file = tmp_path / "long.wav"
    asr_core.write_wav(file, np.concatenate([one, one, one]), 16_000)
    document = heard(documents, models, file)
    assert document.transcript.cuts
    tiles = [ask(documents, models, document, number) for number in range(3)]
    ends = [tile["first"] + tile["frames"] for tile in tiles]
    assert [tile["first"] for tile in tiles] == [0, *ends[:2]] == [0, round(SPAN / 0.08), round(2 * SPAN / 0.08)]
    samples = document.audio.open().astype(np.float32) / 32_768
    recognizer = models.get("demo")
    check(tiles[1], recognizer.inspect(samples, document.transcript, SPAN, 2 * SPAN), recognizer.vocabulary.pieces)


def test_the_reading_that_is_picked_is_the_one_looked_into(documents: Documents, models: Models) -> None:
    document = heard(documents, models, LONG, asr_core.Beam(size=4))
    assert document.transcript.alternatives
    best = ask(documents, models, document)
    picked = documents.update(document.id, picked=1)
    other = ask(documents, models, picked)
    assert set(other["heard"]) == {token.id for token in document.transcript.alternatives[0].tokens}
    assert best["frames"] == other["frames"]
    assert best["taken"] != other["taken"] or best["blank"] != other["blank"]


def test_what_was_not_heard_yet_has_no_frames(documents: Documents, models: Models, document: Document) -> None:
    recognizer = models.get("demo")
    half = recognizer.transcribe(document.audio.open()[: 8 * 16_000])
    stopped = documents.update(document.id, transcript=half)
    assert ask(documents, models, stopped)["frames"] == 100
    silent = documents.update(document.id, transcript=replace(half, duration=0.0))
    assert ask(documents, models, silent)["frames"] == 0


@pytest.mark.parametrize(
    "request_",
    [
        (None, 0, None),
        (1.5, 0, None),
        ("1", 0, None),
        ("now", -1, None),
        ("now", 0.5, None),
        ("now", True, None),
        ("now", 1, None),
        ("now", 10**30, None),
        ("now", "0", None),
        ("now", [0], None),
        ("now", 0, 7),
        ("now", 0, {}),
    ],
)
def test_requests_that_make_no_sense(
    documents: Documents, models: Models, document: Document, request_: tuple[Any, ...]
) -> None:
    revision, number, head = request_
    revision = document.revision if revision == "now" else revision
    inside = Inside(documents, models)
    assert inside.tile(document.id, revision, number, head) is None
    assert len(inside) == 0


def test_an_older_revision_has_no_answer(documents: Documents, models: Models, document: Document) -> None:
    assert Inside(documents, models).tile(document.id, document.revision - 1, 0) is None


@pytest.mark.parametrize("key", [None, "", "nobody", 7, ["a"]])
def test_an_unknown_recording_is_said(documents: Documents, models: Models, key: Any) -> None:
    assert "no longer kept" in Inside(documents, models).tile(key, 0, 0)["error"]


def test_a_head_that_is_not_there_is_said(documents: Documents, models: Models, document: Document) -> None:
    assert "no rnnt head" in ask(documents, models, document, head="rnnt")["error"]


@pytest.mark.parametrize("model", ["nvidia/parakeet-tdt-0.6b-v3", None, "/etc"])
def test_a_look_never_loads_a_model_that_a_file_names(
    documents: Documents, models: Models, document: Document, model: str | None
) -> None:
    changed = documents.update(document.id, transcript=replace(document.transcript, model=model))
    assert "is not loaded" in ask(documents, models, changed)["error"]
    assert model is None or not models.is_loaded(model)


def test_an_hour_without_cuts_is_not_encoded_at_once(documents: Documents, models: Models, document: Document) -> None:
    changed = documents.update(document.id, transcript=replace(document.transcript, duration=3600.0))
    assert "where it was cut" in ask(documents, models, changed)["error"]


def test_spans_are_kept_up_to_a_bound(documents: Documents, models: Models, document: Document) -> None:
    inside = Inside(documents, models, kept=2)
    first = inside.tile(document.id, document.revision, 0)
    assert inside.tile(document.id, document.revision, 0) is first
    inside.tile(document.id, document.revision, 0, "ctc")
    inside.tile(document.id, document.revision, 0, "tdt")
    assert len(inside) == 2 <= KEPT
    assert inside.tile(document.id, document.revision, 0) is not first
    changed = documents.update(document.id, name="b.flac")
    inside.tile(changed.id, changed.revision, 0)
    assert len(inside) == 1, "spans of an older revision are dropped"


def test_two_pages_that_ask_at_once_get_the_same(documents: Documents, models: Models, document: Document) -> None:
    inside, answers = Inside(documents, models), []
    ask_it = lambda: answers.append(inside.tile(document.id, document.revision, 0))  # noqa: E731
    threads = [threading.Thread(target=ask_it) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(answer) for answer in answers}) == 1


def test_hostile_vocabularies_travel_as_short_plain_text(
    documents: Documents, models: Models, document: Document
) -> None:
    recognizer = models.get("demo")
    size = len(recognizer.vocabulary)
    hostile = replace(recognizer, vocabulary=Vocabulary(tuple(HOSTILE[i % len(HOSTILE)] for i in range(size))))
    samples = document.audio.open().astype(np.float32) / 32_768
    tile = packed(recognizer.inspect(samples, document.transcript, 0, 10), hostile)
    assert json.loads(orjson.dumps(tile)) == tile
    texts = set(tile["texts"].values())
    assert HOSTILE[0] in texts and all(len(text) <= 40 and text.isprintable() for text in texts)
    assert shown_piece(HOSTILE[2]) == "\ufffd" * 4
    assert shown_piece(HOSTILE[3]).endswith("x…")
    assert "onerror" not in json.dumps({name: value for name, value in tile.items() if name != "texts"})


def test_attention_is_packed_row_by_row(demo) -> None:
    weights = np.array([[0.1, 0.4, 0.0], [0.0, 0.0, 0.0]], np.float32)
    sent = packed_attention(asr_core.Attention(50, 0.02, (3, 3), (50, 52), weights), demo)
    assert (sent["first"], sent["frames"], sent["tokens"]) == (50, 3, [[3, 1.0], [3, 1.04]])
    assert list(base64.b64decode(sent["weights"])) == [64, 255, 0, 0, 0, 0] and list(sent["texts"]) == ["3"]
