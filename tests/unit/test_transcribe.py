"""The handlers of the Transcribe tab, with the embedded model and without a browser."""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from gradio.utils import get_upload_folder

import asr_core
from asr_core.lm import write_arpa
from components import transcribe as tab
from components.align_view import columns_of
from components.downloads import export, offered
from components.screen import KEEP, Screen
from components.services import Services
from components.settings import Settings

SAMPLES = Path(__file__).parents[2] / "assets" / "samples"
CHOICE = tab.Choice(model="demo", decoder={"strategy": "greedy", "head": "tdt"}, channel="mix", sentences="Punctuation")


@pytest.fixture
def services(tmp_path: Path) -> Services:
    return Services.start(Settings(data=tmp_path, max_minutes=0.2))


@pytest.fixture
def uploads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "uploads" / "abc"
    folder.mkdir(parents=True)
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path / "uploads"))
    assert get_upload_folder() == str(tmp_path / "uploads")
    return folder


def last(screens: Iterator[Screen]) -> dict[str, object]:
    """What the page shows in the end, as far as the handler has said."""
    shown: dict[str, object] = {}
    for screen in screens:
        shown |= {name: value for name, value in vars(screen).items() if value is not KEEP}
    return shown


def test_an_upload_becomes_a_result(services: Services, uploads: Path, demo: asr_core.Recognizer) -> None:
    file = uploads / "x.flac"
    shutil.copy(SAMPLES / "sandwich.flac", file)
    shown = last(tab.take_upload(services, CHOICE, SimpleNamespace(path=str(file), name="Sandwich.flac")))
    assert shown["messages"]["stage"] == "result"
    assert shown["source"]["name"] == "Sandwich.flac"
    assert shown["source"]["decoder"] == "Greedy, TDT"
    document = services.documents.get(shown["document"])
    assert document.transcript.tokens == demo.transcribe(SAMPLES / "sandwich.flac").tokens
    assert not file.exists(), "Gradio's copy of the upload must not pile up"


@pytest.mark.parametrize("path", [None, 5, "/etc/passwd", str(SAMPLES / "sandwich.flac"), "nothing"])
def test_only_uploads_can_be_named(services: Services, uploads: Path, path: object) -> None:
    shown = last(tab.take_upload(services, CHOICE, SimpleNamespace(path=path, name="a.wav")))
    assert shown["messages"]["messages"][0]["kind"] == "error"
    assert len(services.documents) == 0


@pytest.mark.parametrize("index", [-1, 99, None, "0", True, 1.5])
def test_samples_that_are_not_there(services: Services, index: object) -> None:
    assert last(tab.take_sample(services, CHOICE, SimpleNamespace(index=index)))["messages"]["stage"] == "empty"


def test_a_recording_above_the_limit_is_refused(services: Services) -> None:
    shown = last(tab.take_sample(services, CHOICE, SimpleNamespace(index=0)))
    said = shown["messages"]["messages"][0]
    assert said["kind"] == "error"
    assert "friday-meeting.flac is 21.8 s long" in f"{said['strong']} {said['text']}"
    assert "0.2 minutes" in f"{said['strong']} {said['text']}"


def test_a_head_the_model_lacks_keeps_the_recording(services: Services) -> None:
    choice = replace(CHOICE, decoder={"strategy": "greedy", "head": "rnnt"})
    shown = last(tab.take_sample(services, choice, SimpleNamespace(index=3)))
    assert shown["messages"]["stage"] == "empty"
    assert "rnnt" in shown["messages"]["messages"][0]["text"] + shown["messages"]["messages"][0]["strong"]
    assert last(tab.transcribe(services, CHOICE, shown["document"]))["messages"]["stage"] == "result"


def test_bad_settings_keep_the_result(services: Services) -> None:
    shown = last(tab.take_sample(services, CHOICE, SimpleNamespace(index=3)))
    before = services.documents.get(shown["document"])
    wrong = [{"strategy": "beam", "size": 99}, {"phrases": "a: b"}, {"lm": {"id": "gone", "name": "x.arpa"}}]
    for decoder in wrong:
        said = last(tab.transcribe(services, replace(CHOICE, decoder=decoder), before.id))["messages"]
        assert (said["stage"], said["messages"][0]["kind"]) == ("result", "error")
        assert services.documents.get(before.id) == before


def test_a_language_model_of_other_tokens_keeps_the_result(services: Services, uploads: Path) -> None:
    """Also where another channel was chosen together with it, whose sound would replace the one that is shown."""
    left = asr_core.read_audio(SAMPLES / "sandwich.flac")
    asr_core.write_wav(uploads / "x.wav", left, 16_000)
    write_arpa(uploads / "lm.arpa", [[5000, 5001]], vocabulary=6000, order=2)
    key = services.language_models.add(uploads / "lm.arpa", "other.arpa")
    upload = SimpleNamespace(path=str(uploads / "x.wav"), name="x.wav")
    before = services.documents.get(last(tab.take_upload(services, CHOICE, upload))["document"])
    choice = replace(CHOICE, decoder={"lm": {"id": key, "name": "other.arpa"}}, channel="0")
    said = last(tab.transcribe(services, choice, before.id))["messages"]
    assert said["stage"] == "result"
    assert "other.arpa has the token" in said["messages"][0]["strong"] + said["messages"][0]["text"]
    assert services.documents.get(before.id) == before


def test_a_picked_reading_is_what_is_shown_and_exported(services: Services) -> None:
    choice = replace(CHOICE, decoder={"strategy": "beam", "head": "tdt", "size": 5})
    key = last(tab.take_sample(services, choice, SimpleNamespace(index=1)))["document"]
    best = services.documents.get(key).transcript
    second = best.alternatives[0]
    screen = tab.pick_reading(services, SimpleNamespace(doc=key, reading=1))
    document = services.documents.get(key)
    assert screen.align == {"doc": key, "revision": document.revision}
    assert (document.shown.tokens, document.shown.words) == (second.tokens, second.words)
    assert document.shown.decoding == best.decoding
    columns = columns_of(document)
    assert columns["tiers"]["words"]["text"] == [word.text for word in second.words]
    assert columns["readings"]["picked"] == 1
    path = export(document, "txt")
    assert path.name.endswith(".reading-2.txt")
    assert path.read_text(encoding="utf-8").split() == second.text.split()
    as_json = json.loads(export(document, "json").read_text(encoding="utf-8"))
    assert [as_json["text"], *(one["text"] for one in as_json["alternatives"])] == [
        second.text,
        best.text,
        *(one.text for one in best.alternatives[1:]),
    ]
    tab.split_sentences(services, key, "Length")
    assert services.documents.get(key).shown.tokens == second.tokens
    tab.pick_reading(services, SimpleNamespace(doc=key, reading=0))
    document = services.documents.get(key)
    assert document.shown.tokens == best.tokens
    assert export(document, "txt").read_text(encoding="utf-8").split() == best.text.split()
    tab.pick_reading(services, SimpleNamespace(doc=key, reading=1))
    last(tab.transcribe(services, CHOICE, key))
    assert services.documents.get(key).picked == 0


def test_every_format_that_is_offered_reads_back(services: Services, demo: asr_core.Recognizer, tmp_path: Path) -> None:
    heard = demo.transcribe(SAMPLES / "sandwich.flac")
    document = services.documents.add(SAMPLES / "sandwich.flac", "my clip.flac", move=False)
    document = services.documents.update(document.id, transcript=heard)
    assert {one["format"] for one in offered()} == set(asr_core.formats.FORMATS)
    for format in (one["format"] for one in offered()):
        path = export(document, format)
        assert path.parent.parent == document.folder, "it must lie where the page may fetch it"
        if format == "hf":
            zipfile.ZipFile(path).extractall(tmp_path / "data")
            assert (tmp_path / "data" / "my clip.flac").read_bytes() == document.source.read_bytes()
            path = tmp_path / "data"
        found = asr_core.formats.read(path, format=format)
        if format == "rttm":
            assert [(one.start, one.end) for one in found.tiers[0].segments] == [
                (pytest.approx(one.start, abs=1e-3), pytest.approx(one.end, abs=1e-3)) for one in heard.sentences
            ]
            continue
        said = " ".join(one.text.strip() for one in found.tiers[-1].segments)
        assert found.transcript().text.split() == heard.text.split() or said.split() == heard.text.split(), format
        if format in ("eaf", "nemo", "hf"):
            assert found.audio.name == "my clip.flac"


@pytest.mark.parametrize("reading", [-1, 99, None, "1", True, 1.0])
def test_readings_that_are_not_there(services: Services, reading: object) -> None:
    choice = replace(CHOICE, decoder={"strategy": "beam", "size": 3})
    key = last(tab.take_sample(services, choice, SimpleNamespace(index=1)))["document"]
    before = services.documents.get(key)
    tab.pick_reading(services, SimpleNamespace(doc=key, reading=reading))
    assert services.documents.get(key) == before
    assert tab.pick_reading(services, SimpleNamespace(doc="x", reading=1)).messages["messages"][0]["kind"] == "error"


def test_other_sentences(services: Services) -> None:
    shown = last(tab.take_sample(services, CHOICE, SimpleNamespace(index=1)))
    before = services.documents.get(shown["document"])
    screen = tab.split_sentences(services, before.id, "Length")
    after = services.documents.get(before.id)
    assert screen.align == {"doc": before.id, "revision": before.revision + 1}
    assert after.transcript.tokens == before.transcript.tokens
    assert len(after.transcript.sentences) > len(before.transcript.sentences)


def test_a_page_that_goes_away_cancels_its_work(services: Services) -> None:
    services = Services.start(Settings(data=services.settings.data, max_minutes=10))
    running = tab.take_sample(services, CHOICE, SimpleNamespace(index=0))
    for screen in running:
        if screen.messages is not KEEP and (screen.messages["progress"] or {}).get("job"):
            break
    job = services.jobs.running()[0]
    running.close()
    assert job.cancelled.is_set()


@pytest.mark.parametrize("data", [{}, {"doc": "x", "threshold": 0.5}, {"doc": None, "threshold": "a"}])
def test_histograms_of_nothing(services: Services, data: dict[str, object]) -> None:
    assert tab.draw_histogram(services, SimpleNamespace(**data))["__type__"] == "update"


def test_histogram_counts_every_token(services: Services) -> None:
    shown = last(tab.take_sample(services, CHOICE, SimpleNamespace(index=1)))
    data = SimpleNamespace(doc=shown["document"], threshold=0.6, dark=True)
    bars = tab.draw_histogram(services, data).data[0]
    document = services.documents.get(shown["document"])
    assert sum(count for count, *_ in bars.customdata) == len(document.transcript.tokens)
