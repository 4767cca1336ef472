"""Files sent to the server: what nothing takes in does not stay."""

import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from gradio import Blocks

from app import build_app, launch_options
from components.documents import Documents
from components.live import kept
from components.settings import Settings

SAMPLE = Path(__file__).parents[2] / "assets/samples/sandwich.flac"


@pytest.fixture
def blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Blocks]:
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path / "uploads"))
    made = build_app(Settings(data=tmp_path / "data", mode="hosted", retention_hours=2.0))
    yield made
    made.close()


def launched(blocks: Blocks, settings: Settings) -> str:
    options = {**launch_options(settings), "server_name": "127.0.0.1", "server_port": None}
    return blocks.launch(**options, prevent_thread_lock=True, quiet=True)[1]


def send(address: str, name: str) -> Path:
    files = {"files": (name, SAMPLE.read_bytes())}
    return Path(httpx.post(f"{address}gradio_api/upload", files=files).raise_for_status().json()[0])


def comes(true: Callable[[], bool], seconds: float = 20.0) -> bool:
    until = time.monotonic() + seconds
    while not (now := true()) and time.monotonic() < until:
        time.sleep(0.1)
    return now


def test_what_nothing_takes_in_goes_when_a_recording_would(blocks: Blocks) -> None:
    sweep, age = blocks.delete_cache
    assert age == 2 * 3600 and sweep <= age / 4


def test_an_upload_that_is_left_goes_and_one_that_is_taken_in_stays(blocks: Blocks, tmp_path: Path) -> None:
    blocks.delete_cache = (1, 4)
    settings = Settings(data=tmp_path / "data", mode="hosted")
    address = launched(blocks, settings)
    left, taken = send(address, "left.flac"), send(address, "taken.flac")
    documents = Documents(settings.data, max_documents=2, retention_hours=1.0)
    document = documents.add(taken, "taken.flac", move=True)
    assert left.is_file() and not taken.exists()
    assert comes(lambda: not left.exists())
    assert document.source.read_bytes() == SAMPLE.read_bytes()
    young = send(address, "young.flac")
    time.sleep(1.2)  # longer than the sweep's rest, shorter than the age
    assert young.is_file()
    shutil.rmtree(tmp_path / "uploads")


def test_strangers_are_told_before_they_speak_how_long_it_is_kept(tmp_path: Path) -> None:
    assert kept(Settings(data=tmp_path, mode="hosted", retention_hours=2.0)).startswith("A recording is deleted 2 h")
    assert kept(Settings(data=tmp_path)) == ""
