"""A file in each format, made when it is asked for."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import gradio as gr

import asr_core
from asr_core import annotation, formats
from components.documents import Document, Documents, UnknownDocumentError
from components.part import part

#: Format and name of each, and its suffix, in the order of the buttons.
FORMATS = (
    ("srt", "SRT", "srt"),
    ("vtt", "VTT", "vtt"),
    ("textgrid", "TextGrid", "TextGrid"),
    ("ctm", "CTM", "ctm"),
    ("json", "JSON", "json"),
    ("csv", "CSV", "csv"),
    ("txt", "TXT", "txt"),
)
#: Those that fewer people need, which the page folds away. They name the recording they belong to.
MORE = (
    ("eaf", "EAF", "eaf"),
    ("rttm", "RTTM", "rttm"),
    ("audacity", "Audacity labels", "labels.txt"),
    ("nemo", "NeMo manifest", "manifest.jsonl"),
)
#: Of those that are one text file.
SUFFIXES = {name: suffix for name, _, suffix in (*FORMATS, *MORE)}
#: A folder with the recording in it, so it goes as an archive.
DATASET = ("hf", "Hugging Face dataset", "dataset.zip")
OFFERED = ", ".join([*SUFFIXES, DATASET[0]])


def offered() -> list[dict[str, Any]]:
    """What the page makes its buttons of."""
    more = [{"format": name, "name": label, "more": True} for name, label, _ in (*MORE, DATASET)]
    return [*({"format": name, "name": label, "more": False} for name, label, _ in FORMATS), *more]


def build_downloads(documents: Documents) -> gr.HTML:
    """The card with a button for each format."""

    def export_file(request: Any) -> dict[str, str]:
        key, name = request if isinstance(request, list) and len(request) == 2 else (None, None)
        try:
            path = export(documents.get(key), name)
        except (UnknownDocumentError, asr_core.AsrError) as error:
            return {"error": str(error)}
        return {"path": str(path), "name": path.name}

    return part("downloads", offered(), server_functions=(export_file,))


def export(document: Document, format: Any) -> Path:
    """Write the reading that is shown beside the audio; the name says so if it is not the best. Raises FormatError."""
    if not is_offered(format) or document.shown is None:
        raise asr_core.FormatError(f"Formats are {OFFERED}, of a recording that has been transcribed.")
    reading = f".reading-{document.picked + 1}" if document.picked else ""
    return write(document, document.shown, format, f"{document.source.stem}{reading}")


def is_offered(format: Any) -> bool:
    return isinstance(format, str) and (format in SUFFIXES or format == DATASET[0])


def write(document: Document, transcript: asr_core.Transcript, format: str, stem: str) -> Path:
    """Write a transcript of a recording where the page may fetch it, in a format that is offered.

    Args:
        stem: name of the file before its suffix.
    Raises:
        FormatError: it cannot be written.
    """
    folder = document.folder / "exports"
    folder.mkdir(exist_ok=True)
    if format == DATASET[0]:
        return _pack(document, transcript, folder / f"{stem}.{DATASET[2]}")
    path = folder / f"{stem}.{SUFFIXES[format]}"
    names_audio = any(format == name for name, *_ in MORE)
    formats.write(_with_audio(document, transcript) if names_audio else transcript, path, format=format)
    return path


def _with_audio(document: Document, transcript: asr_core.Transcript) -> annotation.Document:
    return annotation.Document.from_transcript(transcript, audio=annotation.Audio(document.source.name))


def _pack(document: Document, transcript: asr_core.Transcript, path: Path) -> Path:
    # What a stranger sent is put together where nothing is served from.
    with tempfile.TemporaryDirectory(dir=document.source.parent) as folder:
        data = Path(folder) / "data"
        formats.write(_with_audio(document, transcript), data, format=DATASET[0], audio=document.source)
        Path(shutil.make_archive(str(Path(folder) / "packed"), "zip", data)).replace(path)
    return path
