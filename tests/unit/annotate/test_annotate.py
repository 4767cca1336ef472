"""What the Annotate tab asks of the server: plain functions, with the embedded model and a store on disk."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

import asr_core
from asr_core.annotation import Audio, ConflictError, Document, Tier
from asr_core.errors import FormatError, StoreError
from components import annotate_desk as desk
from components.annotate import server_functions
from components.annotate_export import SUFFIXES, export
from components.annotate_report import report_of
from components.annotations import shown_name
from components.services import Services
from components.settings import Settings
from tests.annotating import NAME, SAMPLES, edit, load, transcribed, words

HOSTILE = "<img src=x onerror=alert(1)> ${alert(1)} {{value}} שלום 👩‍🔬"


def test_a_document_of_transcribe_has_its_words_and_its_sound(services: Services, id: str, heard) -> None:
    answer = desk.open_document(services, "", id)
    tiers = {tier["name"]: tier["columns"] for tier in answer["tiers"]}
    assert tiers["words"][1] == [word.text for word in heard.words]
    assert answer["sound"]["samples"] == pytest.approx(heard.duration * 16_000, abs=1)
    assert answer["sound"]["peaks"]
    assert desk.open_document(services, "", id, answer["sound"]["audio"])["sound"]["peaks"] is None
    assert json.dumps(answer, allow_nan=False)


def test_the_same_recording_is_taken_once(services: Services, heard) -> None:
    source = transcribed(services, heard)
    first = desk.take(services, "", "transcribe", source)
    assert desk.take(services, "", "transcribe", source) == first
    desk.delete(services, "", first["id"])
    assert desk.take(services, "", "transcribe", source) != first


def test_a_comparison_comes_over_as_it_was_judged(services: Services, demo: asr_core.Recognizer) -> None:
    from components.trials import Column

    transcripts = demo.decode_all(
        asr_core.read_audio(SAMPLES / NAME), [asr_core.Greedy(head="tdt"), asr_core.Greedy(head="ctc")]
    )
    recording = services.documents.add(SAMPLES / NAME, NAME, move=False)
    trial = services.trials.add(recording.id, [Column("A", transcripts[0]), Column("B", transcripts[1])])
    made = desk.take(services, "", "compare", trial.id)["id"]
    assert [word.text for word in words(services, made)] == [word.text for word in transcripts[0].words]


def test_an_edit_says_what_it_changed_and_what_undo_would_do(services: Services, id: str) -> None:
    before = words(services, id)
    answer = edit(services, id, {"op": "boundary", "id": before[1].id, "edge": "end", "time": before[1].end - 0.02})
    assert answer["head"]["undo"] == f"move of “{before[1].text}”"
    assert answer["head"]["state"] == "in review"
    assert {one["name"] for one in answer["delta"]} >= {"words", "tokens"}
    assert words(services, id)[1].end == pytest.approx(before[1].end - 0.02)
    answer = edit(services, id, {"op": "undo"})
    assert answer["head"]["redo"] == f"move of “{before[1].text}”"
    assert words(services, id) == before
    again = Services.start(services.settings)
    assert edit(again, id, {"op": "redo"})["head"]["undo"]
    assert words(again, id)[1].end == pytest.approx(before[1].end - 0.02)


def test_the_delta_makes_the_new_columns_of_the_old_ones(services: Services, id: str) -> None:
    """What assets/annotate_document.js does with it."""
    columns = {
        tier["name"]: list(zip(*tier["columns"], strict=True)) for tier in desk.open_document(services, "", id)["tiers"]
    }
    first = words(services, id)
    for op in (
        {"op": "merge", "id": first[0].id},
        {"op": "text", "id": load(services, id).first("sentences").segments[0].id, "text": "What would they sell now"},
        {"op": "mark", "start": 0.1, "end": 0.3, "text": "noise"},
        {"op": "undo"},
        {"op": "delete", "id": first[2].id},
    ):
        for one in edit(services, id, op)["delta"]:
            rows = [] if one["made"] else columns[one["name"]]
            for place in reversed(one["gone"]):
                del rows[place]
            for place, row in one["come"]:
                rows.insert(place, tuple(row))
            columns[one["name"]] = rows
            if one["removed"]:
                del columns[one["name"]]
        now = desk.open_document(services, "", id)["tiers"]
        assert columns == {tier["name"]: list(zip(*tier["columns"], strict=True)) for tier in now}


def test_a_second_window_cannot_overwrite(services: Services, id: str) -> None:
    word = words(services, id)[0]
    edit(services, id, {"op": "accept", "ids": [word.id]}, revision=0)
    with pytest.raises(ConflictError) as error:
        edit(services, id, {"op": "text", "id": word.id, "text": "other"}, revision=0)
    assert error.value.revision == 1
    assert words(services, id)[0].text == word.text


def test_an_edit_that_is_sent_again_is_made_once(services: Services, id: str) -> None:
    word = words(services, id)[0]
    op = {"op": "split", "id": word.id, "time": (word.start + word.end) / 2}
    made = desk.edit(services, "", id, 0, op, "ticket-of-this-page")
    again = {"again": made["head"]["revision"]}
    assert desk.edit(services, "", id, 0, op, "ticket-of-this-page") == again
    # Another window has gone on, and the server was started anew: the page without an answer is told the same.
    edit(services, id, {"op": "undo"}, "ticket-of-another")
    restarted = Services.start(services.settings)
    assert desk.edit(restarted, "", id, 0, op, "ticket-of-this-page") == again
    for other in ("ticket-of-nobody", "", None):
        with pytest.raises(ConflictError):
            desk.edit(restarted, "", id, 0, op, other)
    assert desk.look(services, "", id) == {"revision": 2}


def test_new_words_get_times_by_an_alignment(services: Services, id: str) -> None:
    sentence = load(services, id).first("sentences").segments[0]
    answer = edit(services, id, {"op": "text", "id": sentence.id, "text": "Why should you sell two sandwiches?"})
    assert len(answer["changed"]) == 3
    found = desk.propose(services, "", id, 1, answer["changed"], "demo")
    assert {row[0] for row in found["times"]} & set(answer["changed"])
    edit(services, id, {"op": "retime", "times": [list(row) for row in found["times"]]})
    times = {word.id: (word.start, word.end) for word in words(services, id)}
    assert all(times[key] == (start, end) for key, start, end in found["times"])


def test_stretches_are_parted_where_words_lie_apart(services: Services, id: str) -> None:
    document = load(services, id)
    ids = [word.id for word in document.first("words").segments]
    assert desk.stretches(document, [ids[0], ids[1], ids[5]]) == [[ids[0], ids[1]], [ids[5]]]


def test_boundaries_snap_to_zero_crossings_and_frames(services: Services, id: str) -> None:
    word = words(services, id)[2]
    op = {"op": "boundary", "id": word.id, "edge": "end", "time": word.end - 0.013, "snap": "frame"}
    edit(services, id, op)
    assert words(services, id)[2].end * 12.5 == pytest.approx(round(words(services, id)[2].end * 12.5), abs=1e-4)
    edit(services, id, {**op, "snap": "zero"})
    sound = services.annotations.sound(id).audio
    at = words(services, id)[2].end * sound.sample_rate
    before, after = (int(sound.open()[int(at) + i]) for i in (0, 1))
    assert (before < 0) != (after < 0) or before == 0 or after == 0


@pytest.mark.parametrize(
    "op",
    [
        None,
        7,
        {},
        {"op": "nothing"},
        {"op": ["text"]},
        {"op": "text", "id": "0", "text": "x"},
        {"op": "text", "id": 0, "text": None},
        {"op": "text", "id": 10**30, "text": "x"},
        {"op": "text", "id": 0, "text": "x" * 50_000},
        {"op": "boundary", "id": 0, "edge": "middle", "time": 0},
        {"op": "boundary", "id": 0, "edge": "end", "time": 1e300},
        {"op": "boundary", "id": 0, "edge": "end", "time": "now"},
        {"op": "boundary", "id": 0, "edge": "end", "time": 0.5, "snap": {}},
        {"op": "retime", "times": [[0, 1]]},
        {"op": "retime", "times": {"0": 1}},
        {"op": "texts", "texts": [["0", "x"]], "what": ""},
        {"op": "accept", "ids": "all"},
        {"op": "insert", "tier": "no such tier", "start": 0, "end": 1, "text": "x"},
        {"op": "mark", "start": 1, "end": 0, "text": "noise"},
        {"op": "speaker", "start": 0, "end": 1, "name": ""},
        {"op": "remove_tier", "tier": "words"},
        {"op": "state", "state": "perfect"},
        {"op": "restore", "version": "first"},
        {"op": "restore", "version": 99},
        {"op": "undo"},
    ],
)
def test_what_a_client_makes_up_is_refused_in_a_sentence(services: Services, id: str, op: Any) -> None:
    call = {one.__name__: one for one in server_functions(services)}["annotate_edit"]
    answer = call(["", id, 0, op, "ticket-1"])
    assert answer["error"].endswith(".")
    assert desk.look(services, "", id) == {"revision": 0}


@pytest.mark.parametrize("request_", [None, [], [None] * 6, [[], {}, "x", 1, 2], {"a": 1}, "x", ["", "no such id"]])
def test_no_server_function_raises(services: Services, request_: Any) -> None:
    for call in server_functions(services):
        answer = call(request_)
        assert answer is None or isinstance(answer, dict)


def test_strangers_see_only_their_own_documents(tmp_path: Path, heard) -> None:
    services = Services.start(Settings(data=tmp_path, mode="hosted", keep_days=7.0))
    mine, theirs = "m" * 24, "t" * 24
    made = desk.take(services, mine, "transcribe", transcribed(services, heard))["id"]
    assert [one["id"] for one in desk.list_documents(services, mine)["documents"]] == [made]
    assert "7 days" in desk.list_documents(services, mine)["kept"]
    assert desk.list_documents(services, theirs)["documents"] == []
    for ask in (
        lambda: desk.open_document(services, theirs, made),
        lambda: desk.look(services, theirs, made),
        lambda: desk.delete(services, theirs, made),
        lambda: desk.history(services, theirs, made),
        lambda: desk.edit(services, theirs, made, 0, {"op": "undo"}, None),
        lambda: export(services, theirs, made, "json"),
        lambda: report_of(services, theirs, made),
    ):
        with pytest.raises(StoreError, match="no such document"):
            ask()
    for key in (None, "", "short", "x" * 24 + "/", 7):
        with pytest.raises(StoreError, match="workspace key"):
            desk.list_documents(services, key)
    with pytest.raises(asr_core.DecodingError, match="not offered"):
        desk.allowed_model(services, "somebody/large-model")


def test_a_host_deletes_what_was_left_alone(tmp_path: Path, heard) -> None:
    services = Services.start(Settings(data=tmp_path, mode="hosted", keep_days=2.0))
    key = "k" * 24
    made = desk.take(services, key, "transcribe", transcribed(services, heard))["id"]
    sound = services.annotations.sound(made)
    services.annotations.sweep(time.time() + 86_400)
    assert desk.list_documents(services, key)["documents"]
    services.annotations.sweep(time.time() + 3 * 86_400)
    assert desk.list_documents(services, key)["documents"] == []
    assert not sound.folder.exists() and not list(services.annotations.store.recordings.iterdir())


def test_every_format_is_written_and_reads_back(services: Services, id: str) -> None:
    edit(services, id, {"op": "speaker", "start": 0.0, "end": 1.0, "name": "Ann"})
    edit(services, id, {"op": "text", "id": words(services, id)[0].id, "text": "Whither"})
    for format in SUFFIXES:
        path = Path(export(services, "", id, format)["path"])
        assert path.stat().st_size > 20
        if format not in ("hf", "rttm"):
            assert "Whither" in asr_core.formats.read(path, format=format).transcript().text
    with pytest.raises(FormatError):
        export(services, "", id, "../../etc/passwd")


def test_the_report_measures_what_was_reviewed(services: Services, id: str) -> None:
    assert report_of(services, "", None)["quality"] is None
    word = words(services, id)[1]
    edit(services, id, {"op": "text", "id": word.id, "text": "wouldn’t"})
    edit(services, id, {"op": "state", "state": "done"})
    for which in (id, None):
        quality = report_of(services, "", which)["quality"]
        assert quality["words_changed"] == 1 and quality["words"] == 6
        assert quality["word_error_rate"] == pytest.approx(1 / 6)
    assert json.dumps(report_of(services, "", id), allow_nan=False)


def test_hostile_texts_are_kept_as_they_are(services: Services, id: str) -> None:
    word = words(services, id)[0]
    edit(services, id, {"op": "texts", "texts": [[word.id, HOSTILE]], "what": HOSTILE})
    edit(services, id, {"op": "speaker", "start": 0.0, "end": 1.0, "name": HOSTILE})
    edit(services, id, {"op": "details", "notes": HOSTILE, "reviewer": "\ud800"})
    desk.rename(services, "", id, HOSTILE)
    answer = desk.open_document(services, "", id)
    assert answer["head"]["notes"] == answer["head"]["name"] == answer["head"]["speakers"][0] == HOSTILE
    assert " ".join(word.text for word in words(services, id)).startswith(HOSTILE)
    assert answer["head"]["reviewer"] == "?"


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("a\nb\t c.wav", "a b c.wav"),
        ("\u202egnp.exe.wav", "gnp.exe.wav"),
        ("\u200bx\ufeff", "x"),
        ("👩\u200d🔬.wav", "👩\u200d🔬.wav"),
        ("\ud800.wav", "?.wav"),
        ("x" * 300, "x" * 200),
        (" \u200b\u200d ", ""),
        (7, ""),
    ],
)
def test_a_name_is_what_can_be_seen_of_it(services: Services, id: str, given: Any, shown: str) -> None:
    assert shown_name(given) == shown
    if not shown:
        with pytest.raises(StoreError, match="can be seen"):
            desk.rename(services, "", id, given)
    else:
        assert desk.rename(services, "", id, given)["documents"][0]["name"] == shown


@pytest.mark.parametrize("kinds", [(), ("tokens", "words", "sentences")])
def test_an_empty_document_goes_into_every_format(services: Services, kinds: tuple[str, ...]) -> None:
    empty = Document(Audio(duration=1.9), tuple(Tier(kind, kind) for kind in kinds))
    id = services.annotations.add("", empty, "..", SAMPLES / NAME).id
    answer = desk.open_document(services, "", id)
    assert answer["head"]["summary"]["doubts"] == () and json.dumps(answer, allow_nan=False)
    for format in SUFFIXES:
        path = Path(export(services, "", id, format)["path"])
        assert path.is_file()
        if path.stat().st_size and format not in ("hf", "nemo"):
            assert asr_core.formats.read(path, format=format).transcript().text == ""


def test_ids_that_an_undo_took_back_are_new_ones_afterwards(services: Services, id: str) -> None:
    first = edit(
        services, id, {"op": "split", "id": words(services, id)[0].id, "time": words(services, id)[0].end - 0.05}
    )
    come = {row[0] for one in first["delta"] for _, row in one["come"]} - set(first["changed"][:1])
    edit(services, id, {"op": "restore", "version": 0})
    second = edit(services, id, {"op": "mark", "start": 0.1, "end": 0.3, "text": "noise"})
    (marks,) = [one for one in second["delta"] if one["name"] == "marks"]
    assert marks["come"][0][1][0] not in come and second["head"]["tiers"][-1] == "marks"
