"""Many documents at once, as jobs that the page follows: an import of files, folders and archives, and an export."""

from __future__ import annotations

import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

import asr_core
from asr_core.annotation import Document
from asr_core.annotation.document import Audio
from asr_core.annotation.exporting import export_zip
from asr_core.annotation.gathering import Found, cut, gather, said
from asr_core.annotation.unpacking import ArchiveLimits, unpack
from asr_core.audio_pieces import Pieces
from asr_core.errors import FormatError, StoreError
from components import wording
from components.annotate_desk import allowed_model
from components.annotate_jobs import Made, Work
from components.annotate_work import uploaded
from components.documents import file_name
from components.job import Job
from components.services import Services
from components.work_folders import WorkFolder

#: Files of one import that come up one by one; more come in an archive.
MOST = 2_000
#: Sentences about what was left out that the page shows.
TOLD = 8
#: Bytes that an archive of strangers may unpack to.
STRANGERS = 2 << 30


def start_bulk(services: Services, work: Work, key: Any, what: Any) -> dict[str, Any]:
    """Take many recordings in, each with the text that lies beside it.

    Args:
        what: {files, model}: the uploaded files as {path, name}; a name may have folders. Zip archives are unpacked,
            manifests of NeMo and Hugging Face datasets read.
    """
    given = what if isinstance(what, dict) else {}
    workspace, model = services.annotations.workspace(key), allowed_model(services, given.get("model"))
    sent = given.get("files")
    if not isinstance(sent, list) or not 0 < len(sent) <= MOST:
        raise StoreError(f"1 to {MOST:,} files are taken at once. Send more of them as a .zip.")
    arrived = [uploaded(one) for one in sent]

    def make(job: Job, made: Made) -> dict[str, Any]:
        folder = WorkFolder(services.settings.data)
        try:
            for path, name in arrived:
                if path is not None:
                    _put(path, folder.path, name)
            return _import(services, workspace, model, folder.path, job, made)
        finally:
            folder.close()

    return work.start(workspace, "bulk", make)


def start_export(services: Services, work: Work, key: Any) -> dict[str, Any]:
    """Put all documents that are done into one archive, in every format, with their recordings."""
    workspace = services.annotations.workspace(key)
    entries = services.annotations.store.entries(workspace)
    ids = [entry.id for entry in entries if entry.state == "done"]
    if not ids:
        raise StoreError("No document is done yet. Mark one as done first.")

    def make(job: Job, made: Made) -> dict[str, Any]:
        # In a folder that the store of recordings sweeps in time, since it does not know it.
        folder = services.documents.folder / secrets.token_urlsafe(18)
        folder.mkdir()
        path = folder / f"tokenscope {time.strftime('%Y-%m-%d')}.zip"

        def on_progress(progress: asr_core.Progress) -> None:
            made.say(f"Packing document {progress.done:.0f} of {progress.total:.0f}", progress.done / progress.total)

        export_zip(services.annotations.store, ids, path, on_progress=on_progress, cancel=job.cancelled)
        return {"path": str(path), "name": path.name}

    return work.start(workspace, "export", make)


def _put(path: Path, folder: Path, name: str) -> None:
    """Into the folder of the import, below the folders that its name has; names that lead elsewhere lose them."""
    parts = [part for part in PurePosixPath(name.replace("\\", "/")).parts if part not in ("/", "..", ".")]
    target = folder.joinpath(*(file_name(part) for part in parts[-6:] or [path.name]))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):  # a file has the name of its folder
        target = folder / target.name
    if target.exists():
        target = target.with_name(f"{secrets.token_hex(4)}-{target.name}")
    shutil.move(path, target)


def _import(services: Services, workspace: str, model: str, folder: Path, job: Job, made: Made) -> dict[str, Any]:
    is_hosted = services.settings.mode == "hosted"
    problems = _unpack_all(folder, STRANGERS if is_hosted else ArchiveLimits().total_bytes, made)
    gathered = gather([folder], within=folder if is_hosted else None)
    recordings, ids = gathered.recordings, []
    problems += gathered.problems
    if not recordings and not problems:
        raise StoreError("There is no recording among these files. Choose audio files, a folder of them, or a .zip.")
    with Pieces() as pieces:
        for i, found in enumerate(recordings):
            if job.cancelled.is_set():
                break
            made.say(f"Recording {i + 1} of {len(recordings)}: {found.name}", i / len(recordings))
            try:
                services.annotations.store.check_room(workspace)
            except StoreError as error:  # said once, and nothing is heard in vain
                problems.append(str(error))
                break
            try:
                with _piece(found, folder, pieces, services.settings.max_minutes * 60) as audio:
                    ids.append(_take(services, workspace, model, found, audio, job))
                made.count = len(ids)
            except asr_core.Cancelled:
                break
            except asr_core.AsrError as error:
                problems.append(f"{found.name}: {error}" if found.name not in str(error) else str(error))
    more = [f"and {len(problems) - TOLD} more"] if len(problems) > TOLD else []
    return {"ids": ids, "problems": [*problems[:TOLD], *more], "of": len(recordings)}


def _unpack_all(folder: Path, most: int, made: Made) -> list[str]:
    """Take the archives of an import apart, to `most` bytes in all at most; a sentence for each that is not whole."""
    problems = []
    for archive in [path for path in folder.rglob("*") if path.suffix.lower() == ".zip"]:
        made.say("Unpacking", None)
        # A folder of its own: one of the archive's name may have come up too.
        inside = archive.with_name(f"{archive.stem}-{secrets.token_hex(4)}")
        try:
            unpack(archive, inside, ArchiveLimits(total_bytes=most))
        except FormatError as error:
            problems.append(str(error))
            shutil.rmtree(inside, ignore_errors=True)
        else:
            most -= sum(path.stat().st_size for path in inside.rglob("*") if path.is_file())
            closed = sorted(path.name for path in inside.rglob("*") if path.suffix.lower() == ".zip")
            if closed:
                named = ", ".join(repr(name) for name in closed[:TOLD])
                problems.append(f"{archive.name!r} holds archives that stay closed: {named}. Send them by themselves.")
        archive.unlink()
    return problems


@contextmanager
def _piece(found: Found, folder: Path, pieces: Pieces, limit: float) -> Iterator[Path]:
    """The recording, or the part of it that is meant, which is there for as long as it is needed."""
    path = cut(found, folder, pieces, max_seconds=limit)
    try:
        yield path
    finally:
        if path != found.audio:
            path.unlink(missing_ok=True)


def _take(services: Services, workspace: str, model: str, found: Found, audio: Path, job: Job) -> str:
    """One recording becomes a document: with the times of its text, with its text aligned, or transcribed."""
    limit = services.settings.max_minutes * 60
    known = Audio.of_file(audio)
    if known.duration is not None and known.duration > limit:
        raise asr_core.AudioError(wording.too_long(found.name, known.duration, limit))
    document, text = said(found, known)
    if document is None:
        recognizer = services.models.get(model)
        samples = asr_core.read_audio(audio, sample_rate=recognizer.info.sample_rate, max_seconds=limit)
        if text.strip():
            transcript = recognizer.align(samples, text, cancel=job.cancelled)
        else:
            transcript = recognizer.transcribe(samples, cancel=job.cancelled)
        document = Document.from_transcript(transcript, audio=known, revision=recognizer.info.revision)
    return services.annotations.add(workspace, document, found.name, audio).id
