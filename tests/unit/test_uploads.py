"""Files sent to the server: what nothing takes in does not stay."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest
from gradio import Blocks

from app import build_app, launch_options
from components import uploads
from components.documents import Documents
from components.live import kept
from components.settings import Settings

SAMPLE = Path(__file__).parents[2] / "assets/samples/sandwich.flac"
HOUR = 3600.0


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path / "uploads"))
    return Settings(data=tmp_path / "data", mode="hosted", retention_hours=2.0)


@pytest.fixture
def blocks(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Blocks]:
    asked: list[tuple[float, float]] = []
    monkeypatch.setattr(uploads, "sweep_every", lambda _, seconds, age: asked.append((seconds, age)))
    made = build_app(settings)
    assert asked == [(600.0, 2 * HOUR)]  # as old as recordings may be
    yield made
    made.close()


def test_an_upload_that_is_left_goes_and_one_that_is_taken_in_stays(blocks: Blocks, settings: Settings) -> None:
    options = {**launch_options(settings), "server_name": "127.0.0.1", "server_port": None}
    address = blocks.launch(**options, prevent_thread_lock=True, quiet=True)[1]

    def send(name: str) -> Path:
        files = {"files": (name, SAMPLE.read_bytes())}
        return Path(httpx.post(f"{address}gradio_api/upload", files=files, timeout=60).raise_for_status().json()[0])

    left, taken = send("left.flac"), send("taken.flac")
    documents = Documents(settings.data, max_documents=2, retention_hours=2.0)
    document = documents.add(taken, "taken.flac", move=True)
    uploads.sweep(blocks, 2 * HOUR)
    assert left.is_file() and blocks.upload_file_set == {str(left)}
    uploads.sweep(blocks, 2 * HOUR, now=time.time() + 2.1 * HOUR)
    assert not left.exists() and not blocks.upload_file_set
    assert document.source.read_bytes() == SAMPLE.read_bytes()


def test_files_that_come_while_it_sweeps_do_not_end_it(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    sent = SimpleNamespace(upload_file_set={str(tmp_path / f"gone-{i}") for i in range(5000)})
    (tmp_path / "folder").mkdir()
    sent.upload_file_set.add(str(tmp_path / "folder"))  # cannot be unlinked
    is_over = threading.Event()

    def send() -> None:
        for i in range(200_000):
            if is_over.is_set():
                return
            sent.upload_file_set.add(str(tmp_path / f"new-{i % 1000}"))

    sender = threading.Thread(target=send)
    sender.start()
    for _ in range(20):
        uploads.sweep(sent, HOUR)
    is_over.set()
    sender.join()
    uploads.sweep(sent, -HOUR)
    assert not sent.upload_file_set and (tmp_path / "folder").is_dir()
    assert [record.levelname for record in caplog.records] == ["WARNING"]


def test_strangers_are_told_before_they_speak_how_long_it_is_kept(tmp_path: Path) -> None:
    assert kept(Settings(data=tmp_path, mode="hosted", retention_hours=2.0)).startswith("A recording is deleted 2 h")
    assert kept(Settings(data=tmp_path)) == ""
