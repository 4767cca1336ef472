"""Services with a store on disk, a document of the embedded model in it, and uploads as Gradio leaves them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from gradio.utils import get_upload_folder

import asr_core
from components import annotate_desk as desk
from components.services import Services
from components.settings import Settings
from tests.annotating import NAME, SAMPLES, transcribed


@pytest.fixture
def services(tmp_path: Path) -> Services:
    return Services.start(Settings(data=tmp_path))


@pytest.fixture(scope="module")
def heard(demo: asr_core.Recognizer) -> asr_core.Transcript:
    return demo.transcribe(SAMPLES / NAME)


@pytest.fixture
def id(services: Services, heard: asr_core.Transcript) -> str:
    """A document that came over from Transcribe."""
    return desk.take(services, "", "transcribe", transcribed(services, heard))["id"]


@pytest.fixture
def upload(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Put a file where Gradio's upload route would, and say what the page sends of it."""
    folder = tmp_path / "uploads"
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(folder))
    assert get_upload_folder() == str(folder)

    def put(name: str, content: bytes | Path) -> dict[str, str]:
        path = folder / f"{len(list(folder.glob('*')))}" / name
        path.parent.mkdir(parents=True)
        path.write_bytes(content) if isinstance(content, bytes) else shutil.copy(content, path)
        return {"path": str(path), "name": name}

    return put
