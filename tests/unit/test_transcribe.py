"""The handlers of the Transcribe tab, with the embedded model and without a browser."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from gradio.utils import get_upload_folder

import asr_core
from components import transcribe as tab
from components.screen import KEEP, Screen
from components.services import Services
from components.settings import Settings

SAMPLES = Path(__file__).parents[2] / "assets" / "samples"
CHOICE = tab.Choice(model="demo", decoder="greedy", head="tdt", channel="mix", sentences="Punctuation")


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
    choice = tab.Choice(model="demo", decoder="greedy", head="rnnt", channel="mix", sentences="Punctuation")
    shown = last(tab.take_sample(services, choice, SimpleNamespace(index=3)))
    assert shown["messages"]["stage"] == "empty"
    assert "rnnt" in shown["messages"]["messages"][0]["text"] + shown["messages"]["messages"][0]["strong"]
    assert last(tab.transcribe(services, CHOICE, shown["document"]))["messages"]["stage"] == "result"


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
