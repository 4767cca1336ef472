"""A document as a file of any format."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from asr_core import formats
from asr_core.errors import FormatError
from components.documents import file_name
from components.services import Services

#: The usual suffix of each format, after the name of the recording.
SUFFIXES = {
    "textgrid": "TextGrid",
    "eaf": "eaf",
    "srt": "srt",
    "vtt": "vtt",
    "ctm": "ctm",
    "rttm": "rttm",
    "audacity": "labels.txt",
    "json": "json",
    "csv": "csv",
    "nemo": "manifest.jsonl",
    "hf": "dataset.zip",
    "txt": "txt",
}


def export(services: Services, key: Any, id: Any, format: Any) -> dict[str, Any]:
    """Write the document where the page may fetch it: {path, name}. Raises FormatError, StoreError."""
    entry = services.annotations.entry(key, id)
    if not isinstance(format, str) or format not in SUFFIXES:
        raise FormatError(f"Formats are {', '.join(SUFFIXES)}; the page asked for another one.")
    document, _ = services.annotations.store.load(entry.id)
    folder = services.annotations.sound(entry.id).folder / "exports"
    folder.mkdir(exist_ok=True)
    stem = file_name(Path(entry.name).stem or "document")
    path = folder / f"{stem}.{SUFFIXES[format]}"
    if format == "hf":
        _zip(services, entry.id, document, path)
    else:
        formats.write(document, path, format=format)
    return {"path": str(path), "name": path.name}


def _zip(services: Services, id: str, document: Any, path: Path) -> None:
    """A dataset is a folder, so it goes as an archive."""
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        formats.write(document, Path(folder) / "data", format="hf", audio=services.annotations.store.audio(id))
        made = shutil.make_archive(str(Path(folder) / "packed"), "zip", Path(folder) / "data")
        Path(made).replace(path)
