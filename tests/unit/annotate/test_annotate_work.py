"""What takes long in Annotate: imports of one and of many, another decoder, the archive of what is done."""

from __future__ import annotations

import json
import threading
import zipfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import asr_core
from asr_core.errors import FormatError, StoreError
from components import annotate_desk as desk
from components.annotate import server_functions
from components.annotate_bulk import start_bulk, start_export
from components.annotate_jobs import Made, Work
from components.annotate_work import decoders_of, start_import, start_second
from components.job import Job
from components.services import Services
from components.settings import Settings
from components.work_folders import WORK
from tests.annotating import NAME, SAID, SAMPLES, edit, finished, load, words


def work_folders(data: Path) -> list[Path]:
    return [path for path in (data / WORK).iterdir() if path.is_dir()]


def test_a_recording_alone_is_transcribed(services: Services, upload, heard) -> None:
    work = Work(services)
    made = finished(work, start_import(services, work, "", {"audio": upload(NAME, SAMPLES / NAME), "model": "demo"}))
    assert load(services, made["done"]).transcript().text == heard.text
    assert desk.list_documents(services, "")["documents"][0]["name"] == NAME


@pytest.mark.parametrize("given", ["text", "txt"])
def test_a_text_gets_its_times(services: Services, upload, given: str) -> None:
    work = Work(services)
    what: dict[str, Any] = {"audio": upload(NAME, SAMPLES / NAME), "model": "demo"}
    what |= {"text": SAID} if given == "text" else {"file": upload("said.txt", SAID.encode())}
    made = load(services, finished(work, start_import(services, work, "", what))["done"])
    found = made.first("words").segments
    assert [word.text for word in found] == SAID.split()
    assert all(a.end <= b.start for a, b in pairwise(found)) and found[-1].end < 1.95


def test_a_file_brings_its_own_times(services: Services, upload, heard, tmp_path: Path) -> None:
    work = Work(services)
    asr_core.formats.write(heard, tmp_path / "x.srt")
    file = upload("subtitles.srt", tmp_path / "x.srt")
    made = finished(work, start_import(services, work, "", {"audio": upload(NAME, SAMPLES / NAME), "file": file}))
    assert load(services, made["done"]).transcript().text == heard.text
    broken = upload("broken.srt", b"1\n00:00:01,000 -- 00:00:02,000\nno arrow\n")
    with pytest.raises(FormatError, match=r"broken\.srt.*line"):
        start_import(services, work, "", {"audio": upload(NAME, SAMPLES / NAME), "file": broken})
    late = upload("late.srt", b"1\n00:10:00,000 --> 00:10:02,000\nlater\n")
    answer = finished(work, start_import(services, work, "", {"audio": upload(NAME, SAMPLES / NAME), "file": late}))
    assert "lasts" in answer["error"]
    with pytest.raises(StoreError, match="did not arrive"):
        start_import(services, work, "", {"audio": {"path": "/etc/passwd", "name": "x.wav"}})


def test_another_decoder_stands_in_a_tier_of_its_own(services: Services, id: str, demo: asr_core.Recognizer) -> None:
    edit(services, id, {"op": "text", "id": words(services, id)[0].id, "text": "Whither"})
    work = Work(services)
    finished(work, start_second(services, work, "", id, "demo", "greedy ctc"))
    document = load(services, id)
    tier = document.tier("Greedy, CTC, Built-in demo, English")
    ctc = demo.transcribe(SAMPLES / NAME, decoding=asr_core.Greedy(head="ctc"))
    assert [word.text for word in tier.segments] == [word.text for word in ctc.words]
    assert document.first("words").segments[0].text == "Whither"
    edit(services, id, {"op": "take", "id": tier.segments[0].id})
    assert words(services, id)[0].text == ctc.words[0].text
    with pytest.raises(asr_core.DecodingError):
        start_second(services, work, "", id, "demo", "maes rnnt")


def test_decoders_are_those_of_the_models_heads() -> None:
    assert [value for value, _ in decoders_of(("tdt", "ctc"))] == [
        "greedy tdt",
        "beam tdt",
        "greedy ctc",
        "beam ctc",
        "maes",
    ]
    assert [value for value, _ in decoders_of(())] == ["greedy", "beam"]


def test_many_recordings_come_in_at_once(services: Services, upload, heard, tmp_path: Path) -> None:
    asr_core.formats.write(heard, tmp_path / "said.srt")
    with zipfile.ZipFile(tmp_path / "more.zip", "w") as archive:
        archive.write(SAMPLES / NAME, "inside/zipped.flac")
        archive.writestr("inside/zipped.txt", SAID)
        archive.writestr("inside/deeper.zip", b"PK")
    sent = [
        {**upload("a.flac", SAMPLES / NAME), "name": "clips/a.flac"},
        {**upload("a.srt", tmp_path / "said.srt"), "name": "clips/a.srt"},
        {**upload("b.flac", SAMPLES / NAME), "name": "../../b.flac"},
        {**upload("c.flac", b"no audio"), "name": "clips/c.flac"},
        {**upload("c.txt", b"beside it"), "name": "clips/c.flac/c.txt"},
        upload("more.zip", tmp_path / "more.zip"),
    ]
    work = Work(services)
    done = finished(work, start_bulk(services, work, "", {"files": sent, "model": "demo"}))["done"]
    assert done["of"] == 4 and len(done["ids"]) == 3
    nested, lonely, broken = done["problems"]
    assert nested == "'more.zip' holds archives that stay closed: 'deeper.zip'. Send them by themselves."
    assert "c.txt" in lonely and "c.flac" in broken
    entries = {one["name"]: one["id"] for one in desk.list_documents(services, "")["documents"]}
    assert set(entries) == {"a.flac", "b.flac", "zipped.flac"}
    assert load(services, entries["b.flac"]).transcript().text == heard.text
    assert [word.text for word in words(services, entries["zipped.flac"])] == SAID.split()
    assert work_folders(tmp_path) == [services.live._folder.path]  # the import has none
    with pytest.raises(StoreError, match="files are taken"):
        start_bulk(services, work, "", {"files": []})


def test_what_is_done_goes_into_one_archive(services: Services, id: str) -> None:
    work = Work(services)
    with pytest.raises(StoreError, match="No document is done"):
        start_export(services, work, "")
    edit(services, id, {"op": "state", "state": "done"})
    done = finished(work, start_export(services, work, ""))["done"]
    with zipfile.ZipFile(done["path"]) as archive:
        assert {"json/sandwich.json", "audio/sandwich.flac", "manifest.jsonl"} <= set(archive.namelist())


def test_work_is_found_again_until_a_page_was_told_of_its_end(tmp_path: Path) -> None:
    services = Services.start(Settings(data=tmp_path, mode="hosted"))
    work, go_on = Work(services), threading.Event()

    def make(job: Job, made: Made) -> str:
        made.say("Recording 1 of 2: a.wav", 0.5)
        go_on.wait(30)
        if job.cancelled.is_set():
            raise asr_core.Cancelled(None)
        return "what it made"

    mine, theirs = "m" * 24, "t" * 24
    first, second = work.start(mine, "bulk", make)["job"], work.start(mine, "export", make)["job"]
    call = {one.__name__: one for one in server_functions(services)}["annotate_going_on"]
    work.told(mine, first)  # too early
    assert work.going_on(mine) == {"jobs": [{"job": first, "kind": "bulk"}, {"job": second, "kind": "export"}]}
    assert work.going_on(theirs) == {"jobs": []} and "workspace key" in call([None])["error"]
    assert work.look(first, False)["progress"]["text"] == "Recording 1 of 2: a.wav"
    assert work.look(second, True)["progress"]["share"] == 0.5
    go_on.set()
    assert finished(work, {"job": second}) == {"stopped": True}
    work.told(mine, second)
    # The first one ends, and the answer may go to a page that was closed: it is told until a page says that it knows.
    for job in services.jobs.running():
        job.wait(30)
    for stranger, key in ((theirs, first), (mine, None), (mine, "another")):
        work.told(stranger, key)
        assert work.going_on(mine) == {"jobs": [{"job": first, "kind": "bulk"}]}
        assert work.look(first, False) == {"done": "what it made"}
    work.told(mine, first)
    assert work.going_on(mine) == {"jobs": []}
    # An answer that was lost can be asked for again.
    assert work.look(first, False) == {"done": "what it made"}


def test_a_workspace_takes_half_of_the_places_at_most(tmp_path: Path, upload) -> None:
    services = Services.start(Settings(data=tmp_path, mode="hosted"))
    work, go_on = Work(services), threading.Event()
    first, second, third = "m" * 24, "t" * 24, "u" * 24
    for workspace in (first, second):
        for _ in range(4):
            work.start(workspace, "export", lambda job, made: go_on.wait(30))
    sent = upload("a.flac", SAMPLES / NAME)
    with pytest.raises(StoreError, match="4 pieces of your work are going on"):
        start_bulk(services, work, first, {"files": [sent], "model": "demo"})
    with pytest.raises(StoreError, match="8 pieces of work are going on here"):
        start_bulk(services, work, third, {"files": [sent], "model": "demo"})
    assert work_folders(tmp_path) == [services.live._folder.path]  # the import has none
    go_on.set()
    for job in services.jobs.running():
        job.wait(30)
    # The upload has survived the refusals.
    done = finished(work, start_bulk(services, work, first, {"files": [sent], "model": "demo"}))["done"]
    assert len(done["ids"]) == 1


def test_a_damaged_archive_is_told_of_and_the_rest_comes_in(services: Services, upload, heard, tmp_path: Path) -> None:
    asr_core.formats.write(heard, tmp_path / "said.srt")
    for name in ("good", "damaged"):
        with zipfile.ZipFile(tmp_path / f"{name}.zip", "w") as archive:
            archive.write(SAMPLES / NAME, f"{name}/one.flac")
            archive.write(tmp_path / "said.srt", f"{name}/one.srt")
            archive.write(SAMPLES / NAME, f"{name}/two.flac")
    whole = (tmp_path / "damaged.zip").read_bytes()
    at = len(whole) * 2 // 3
    sent = [
        {**upload("a.flac", SAMPLES / NAME), "name": "good/a.flac"},
        {**upload("a.srt", tmp_path / "said.srt"), "name": "good/a.srt"},
        upload("good.zip", tmp_path / "good.zip"),
        upload("damaged.zip", whole[:at] + bytes(200) + whole[at + 200 :]),
        upload("none.zip", b"PK no"),
    ]
    work = Work(services)
    done = finished(work, start_bulk(services, work, "", {"files": sent, "model": "demo"}))["done"]
    names = sorted(one["name"] for one in desk.list_documents(services, "")["documents"])
    assert names == ["a.flac", "one.flac", "two.flac"] and done["of"] == 3
    assert sorted(problem.split("'")[1] for problem in done["problems"]) == ["damaged.zip", "none.zip"]


def test_an_import_stops_where_a_visitor_may_keep_no_more(tmp_path: Path, upload, heard) -> None:
    services = Services.start(Settings(data=tmp_path / "data", mode="hosted", max_kept=2))
    asr_core.formats.write(heard, tmp_path / "said.srt")
    sent = [
        upload(f"{name}.{kind}", file)
        for name in "abcd"
        for kind, file in (("flac", SAMPLES / NAME), ("srt", tmp_path / "said.srt"))
    ]
    work = Work(services)
    done = finished(work, start_bulk(services, work, "k" * 24, {"files": sent, "model": "demo"}))["done"]
    assert (len(done["ids"]), done["of"]) == (2, 4)
    assert done["problems"] == ["This workspace holds 2 documents, all it may; delete some first."]


def test_a_manifest_of_a_stranger_names_nothing_outside(tmp_path: Path, upload, heard) -> None:
    services = Services.start(Settings(data=tmp_path / "data", mode="hosted"))
    asr_core.formats.write(heard, tmp_path / "said.srt")
    rows = [{"audio_filepath": name, "text": "x"} for name in (str(SAMPLES / NAME), "../../../etc/passwd", "C:\\x.wav")]
    sent = [
        upload("m.jsonl", "".join(json.dumps(row) + "\n" for row in rows).encode()),
        upload("a.flac", SAMPLES / NAME),
        upload("a.srt", tmp_path / "said.srt"),
    ]
    work, key = Work(services), "k" * 24
    done = finished(work, start_bulk(services, work, key, {"files": sent, "model": "demo"}))["done"]
    assert [one["name"] for one in desk.list_documents(services, key)["documents"]] == ["a.flac"]
    assert len(done["problems"]) == 3 and all("Line" in problem for problem in done["problems"])
