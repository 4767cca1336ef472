"""What takes long in Annotate, as jobs that the page follows: imports, and hearing a recording with another decoder."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import asr_core
from asr_core import formats
from asr_core.annotation import Audio, ConflictError, Document, marking
from asr_core.errors import DecodingError, FormatError, StoreError
from asr_core.formats import txt
from components import documents as recordings
from components.annotate_desk import allowed_model
from components.annotate_jobs import Made, Work
from components.annotations import SAMPLE_RATE, document_of
from components.decoder_settings import HEADS, decoder_name
from components.documents import read_sound
from components.job import Job
from components.models import short_name
from components.services import Services
from components.uploads import uploaded_file
from components.wording import too_long

#: Letters of a text that is aligned.
LONGEST = 500_000
BEAM = 5


def start_import(services: Services, work: Work, key: Any, what: Any) -> dict[str, Any]:
    """Take one recording in.

    Args:
        what: {audio, file, format, text, model}: the uploaded recording and, if there is one, a file of any format, as
            {path, name}; or a text that gets its times; with neither the recording is transcribed.
    """
    given = what if isinstance(what, dict) else {}
    workspace = services.annotations.workspace(key)
    audio, name = uploaded(given.get("audio"))
    if audio is None:
        raise StoreError("The recording did not arrive. Choose it again.")
    file, file_name = uploaded(given.get("file"))
    text = given.get("text") if isinstance(given.get("text"), str) else ""
    if len(text) > LONGEST:
        raise FormatError(f"The text has {len(text):,} letters; up to {LONGEST:,} are aligned at once.")
    model = allowed_model(services, given.get("model"))
    format = given.get("format") if given.get("format") in formats.FORMATS else None
    work.check_room(workspace)  # before a file is moved: it can be sent again
    found = None
    if file is not None:
        found = _read(file, file_name, format, name)
        file.unlink(missing_ok=True)

    def make(job: Job, _: Made) -> str:
        recording, sound = _take_in(services, audio, name, job)
        document = _document(services, recording, sound, model, found, text, job)
        entry = services.annotations.add(workspace, document, name, recording.source)
        services.annotations.keep_sound(entry.id, recording.id)
        return entry.id

    return work.start(workspace, "import", make)


def start_second(services: Services, work: Work, key: Any, id: Any, model: Any, decoder: Any) -> dict[str, Any]:
    """Hear the recording of a document with another model or decoder, and put its words into a tier of their own."""
    entry, source = services.annotations.entry(key, id), allowed_model(services, model)
    if decoder not in (name for name, _ in decoders_of(services.models.heads(source))):
        raise DecodingError("This model has no such decoder. Load the page again.")

    def make(job: Job, _: Made) -> str:
        recognizer = services.models.get(source, job.on_progress)
        sound = services.annotations.sound(entry.id).audio
        decoding = decoding_of(decoder)
        transcript = recognizer.transcribe(
            sound.open().astype(np.float32) / 32_768,
            sample_rate=sound.sample_rate,
            decoding=decoding,
            on_progress=job.on_progress,
            cancel=job.cancelled,
        )
        name = f"{decoder_name(decoding, recognizer.info.heads)}, {recognizer.info.name or short_name(source)}"
        _add_tier(services, entry.id, transcript, name[:80])
        return entry.id

    return work.start(services.annotations.workspace(key), "second", make)


@dataclass(frozen=True)
class Given:
    """What a file says: a document, or a text without times."""

    document: Document | None = None
    text: str = ""


def decoders_of(heads: tuple[str, ...]) -> list[tuple[str, str]]:
    """(value, name) of the decoders that a model with these heads can be run with."""
    kinds = [("greedy", "Greedy"), ("beam", f"Beam {BEAM}")]
    listed = [(f"{kind} {head}", f"{name}, {HEADS[head]}") for head in heads for kind, name in kinds]
    return [*(listed or kinds), *([("maes", f"MAES {BEAM}")] if set(heads) & {"tdt", "rnnt"} else [])]


def decoding_of(decoder: str) -> asr_core.Greedy | asr_core.Beam | asr_core.Maes:
    """The decoding that `decoders_of` calls so."""
    kind, _, head = decoder.partition(" ")
    if kind == "maes":
        return asr_core.Maes(size=BEAM)
    head = "" if head == "whisper" else head
    return asr_core.Beam(size=BEAM, head=head or None) if kind == "beam" else asr_core.Greedy(head=head or None)


def uploaded(sent: Any) -> tuple[Path | None, str]:
    """The file that the page has uploaded, {path, name}, and its name; None where it did not come."""
    path = uploaded_file(sent.get("path")) if isinstance(sent, dict) else None
    name = sent.get("name") if isinstance(sent, dict) else None
    if path is None:
        return None, ""
    given = name if isinstance(name, str) and name.strip() else path.name
    return path, given[:200].encode("utf-8", "replace").decode("utf-8")


def _read(file: Path, name: str, format: str | None, audio: str) -> Given:
    """Read the file with the text. Raises FormatError."""
    # Read under the name that the person knows: the suffix decides, and messages say it.
    suffix = Path(name).suffix[:16]
    beside = file.with_name(f"text{suffix}")
    if beside != file:
        shutil.move(file, beside)
    try:
        document = formats.read(beside, format=format, audio=Audio(audio))
    except FormatError as error:
        raise FormatError(str(error).replace(repr(beside.name), repr(name[:80]), 1)) from error
    finally:
        beside.unlink(missing_ok=True)
    if txt.UNTIMED in document.warnings:
        return Given(text=document.transcript().text)
    return Given(document)


def _take_in(services: Services, audio: Path, name: str, job: Job) -> tuple[recordings.Document, recordings.Sound]:
    job.report("read")
    limit = services.settings.max_minutes * 60
    recording = services.documents.add(audio, name, move=True)
    if recording.info.duration > limit:
        services.documents.remove(recording.id)
        raise asr_core.AudioError(too_long(name, recording.info.duration, limit))
    sound = read_sound(recording, sample_rate=SAMPLE_RATE, channel=None, max_seconds=limit)
    return services.documents.prepare(recording.id, sound), sound


def _document(
    services: Services,
    recording: recordings.Document,
    sound: recordings.Sound,
    model: str,
    found: Given | None,
    text: str,
    job: Job,
) -> Document:
    if found is not None and found.document is not None:
        return _bounded(found.document, recording, sound)
    recognizer = services.models.get(model, job.on_progress)
    said = found.text if found is not None else text
    how = {"sample_rate": sound.sample_rate, "on_progress": job.on_progress, "cancel": job.cancelled}
    if said.strip():
        transcript = recognizer.align(sound.samples, said, **how)
    else:
        transcript = recognizer.transcribe(sound.samples, **how)
    transcript = replace(transcript, warnings=(*sound.warnings, *transcript.warnings))
    return document_of(recording, transcript, recognizer.info.revision)


def _bounded(document: Document, recording: recordings.Document, sound: recordings.Sound) -> Document:
    """The document of a file with the recording that it belongs to; its times must lie inside."""
    audio = replace(
        document.audio, name=recording.name, duration=sound.duration, sample_rate=recording.info.sample_rate
    )
    last = max((tier.segments[-1].end for tier in document.tiers if tier.segments), default=0.0)
    if last > audio.duration + 0.5:
        raise FormatError(
            f"The file goes on until {last:.2f} s, and the recording lasts {audio.duration:.2f} s. "
            "Choose the recording that it was made of."
        )
    if last > audio.duration:
        audio = replace(audio, duration=last)
    warnings = (*sound.warnings, *document.warnings)
    return replace(document, audio=audio, warnings=warnings, state="new")


def _add_tier(services: Services, id: str, transcript: asr_core.Transcript, name: str) -> None:
    """As an edit of whatever the document is by now: people go on while it is heard again."""
    store = services.annotations.store
    for _ in range(20):
        _, revision = store.load(id)
        try:
            store.edit(id, revision, lambda d: marking.add_words_of(d, transcript, name), f"adding the tier “{name}”")
            return
        except ConflictError:
            continue
    raise StoreError("The document is being edited all the time. Run it again in a moment.")
