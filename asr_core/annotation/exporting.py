"""Many documents as one archive: a folder for each format, the recordings, and lists that training tools read."""

from __future__ import annotations

import os
import re
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Event

from asr_core import formats
from asr_core.annotation.document import Document
from asr_core.annotation.store import Store
from asr_core.errors import Cancelled, FormatError, StoreError
from asr_core.progress import Progress

#: Suffix of each format's files in the archive.
SUFFIXES = {
    "json": "json",
    "textgrid": "TextGrid",
    "eaf": "eaf",
    "srt": "srt",
    "vtt": "vtt",
    "ctm": "ctm",
    "rttm": "rttm",
    "audacity": "labels.txt",
    "csv": "csv",
    "txt": "txt",
}
#: Formats that hold all recordings in one file; they name the files in `audio/`.
LISTS = {"nemo": "manifest.jsonl", "hf": f"audio/{formats.hf.METADATA}"}
_UNSAFE = re.compile(r"[^\w.()\- ]+")


def export_zip(
    store: Store,
    ids: Sequence[str],
    path: str | os.PathLike[str],
    *,
    wanted: Sequence[str] = (*SUFFIXES, *LISTS),
    audio: bool = True,
    on_progress: Callable[[Progress], None] | None = None,
    cancel: Event | None = None,
) -> int:
    """Write documents, in all the formats asked for, into one zip archive.

    Documents of the same name are told apart by a number. A format that cannot hold a document is left out for it, and
    `left out.txt` in the archive says why; nothing else is left out silently.

    Args:
        ids: of the documents, in the order of the lists.
        path: of the archive; it appears whole or not at all.
        wanted: names of formats.
        audio: whether the recordings go in too.
    Returns:
        The number of documents written.
    Raises:
        FormatError: an unknown format, or nothing to write. StoreError: an unknown document, or no room on the disk.
        Cancelled.
    """
    if unknown := [name for name in wanted if name not in (*SUFFIXES, *LISTS)]:
        raise FormatError(f"Formats are {', '.join((*SUFFIXES, *LISTS))}; {unknown[0]!r} is none of them.")
    if not ids or not (wanted or audio):
        raise FormatError("There is nothing to export; choose at least one document and one format.")
    target = Path(path)
    try:
        with tempfile.NamedTemporaryFile(dir=target.parent, suffix=".part", delete=False) as part:
            try:
                _write_all(store, ids, part, wanted, audio, on_progress, cancel)
                part.close()
                Path(part.name).replace(target)
            finally:
                Path(part.name).unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(f"{target.name[:80]!r} cannot be written: {error.strerror or error}.") from error
    return len(ids)


def safe_stem(name: str, taken: set[str]) -> str:
    """A name without its suffix that every file system takes, and that nobody has yet; it is added to `taken`."""
    stem = _UNSAFE.sub("_", Path(name).stem).strip(" .")[:100] or "document"
    tries = (stem if number == 1 else f"{stem} {number}" for number in range(1, len(taken) + 2))
    chosen = next(one for one in tries if one.casefold() not in taken)
    taken.add(chosen.casefold())
    return chosen


def _write_all(
    store: Store,
    ids: Sequence[str],
    file: object,
    wanted: Sequence[str],
    audio: bool,
    on_progress: Callable[[Progress], None] | None,
    cancel: Event | None,
) -> None:
    taken: set[str] = set()
    left_out: list[str] = []
    lists: dict[str, list[str]] = {name: [] for name in LISTS if name in wanted}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for done, id in enumerate(ids):
            if cancel is not None and cancel.is_set():
                raise Cancelled(None)
            entry, (document, _), source = store.entry(id), store.load(id), store.audio(id)
            stem = safe_stem(entry.name, taken)
            name = stem + (source.suffix if source else "")
            document = replace(document, audio=replace(document.audio, name=name))
            for place, text in _files(document, stem, wanted, left_out):
                archive.writestr(place, text)
            for form, rows in lists.items():
                row = formats.FORMATS[form].render(document, None, name)
                rows.append(row if form == "hf" else row.replace(f'"{name}"', f'"audio/{name}"', 1))
            if audio and source is not None:
                # Recordings are compressed already, or do not gain much by it.
                archive.write(source, f"audio/{name}", zipfile.ZIP_STORED)
            if on_progress is not None:
                on_progress(Progress(done + 1, len(ids), "export"))
        for form, rows in lists.items():
            archive.writestr(LISTS[form], "".join(rows))
        if left_out:
            archive.writestr("left out.txt", "\n".join(left_out) + "\n")


def _files(document: Document, stem: str, wanted: Sequence[str], left_out: list[str]) -> Iterator[tuple[str, bytes]]:
    """The place in the archive and the content of a document in each format that holds it alone."""
    for form in wanted:
        if form in SUFFIXES:
            try:
                text = formats.FORMATS[form].render(document, None, stem)
            except FormatError as error:
                left_out.append(f"{form}/{stem}.{SUFFIXES[form]}: {error}")
            else:
                yield f"{form}/{stem}.{SUFFIXES[form]}", text.encode("utf-8", "replace")
