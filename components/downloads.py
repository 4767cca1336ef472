"""A file in each format, made when it is asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gradio as gr

import asr_core
from asr_core import formats
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
SUFFIXES = {name: suffix for name, _, suffix in FORMATS}


def build_downloads(documents: Documents) -> gr.HTML:
    """The card with a button for each format."""

    def export_file(request: Any) -> dict[str, str]:
        key, name = request if isinstance(request, list) and len(request) == 2 else (None, None)
        try:
            path = export(documents.get(key), name)
        except (UnknownDocumentError, asr_core.AsrError) as error:
            return {"error": str(error)}
        return {"path": str(path), "name": path.name}

    value = [{"format": name, "name": label} for name, label, _ in FORMATS]
    return part("downloads", value, server_functions=(export_file,))


def export(document: Document, format: Any) -> Path:
    """Write the reading that is shown beside the audio; the name says so if it is not the best. Raises FormatError."""
    if not isinstance(format, str) or format not in SUFFIXES or document.shown is None:
        raise asr_core.FormatError(f"Formats are {', '.join(SUFFIXES)}, of a recording that has been transcribed.")
    folder = document.folder / "exports"
    folder.mkdir(exist_ok=True)
    reading = f".reading-{document.picked + 1}" if document.picked else ""
    path = folder / f"{document.source.stem}{reading}.{SUFFIXES[format]}"
    formats.write(document.shown, path, format=format)
    return path
