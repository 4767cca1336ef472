"""A folder as Hugging Face's `audiofolder` has it: audio files, and metadata.jsonl with a row for each."""

from __future__ import annotations

import os
import shutil
from pathlib import Path, PurePosixPath

from asr_core.alignment import Transcript
from asr_core.annotation.document import Audio
from asr_core.errors import FormatError
from asr_core.formats import jsonl
from asr_core.formats.contents import Contents, Row, Track, recording, shown
from asr_core.formats.layout import Source
from asr_core.formats.source import bytes_of, replace_file, text_of

NAME = "Hugging Face dataset"
SUFFIXES = ("jsonl",)
TIERS = ("sentences", "words", "tokens")
KEEPS = "A folder: the audio beside metadata.jsonl with text, words and sentences as in a NeMo manifest."
METADATA = "metadata.jsonl"


def render(source: Source, tier: str | None, name: str) -> str:
    """The row of one recording in metadata.jsonl.

    Args:
        name: of the recording, for a transcript; a document knows its own.
    """
    own = "" if isinstance(source, Transcript) else source.audio.name
    text, times = jsonl.said(source, TIERS, tier)
    head = {"file_name": own or name, "transcription": text, "duration": jsonl.seconds(source)}
    return jsonl.line({**head, **jsonl.language(source, "language"), **times})


def add(folder: Path, source: Source, tier: str | None, audio: str | os.PathLike[str] | None) -> None:
    """Write a row into the folder's metadata, in place of one of the same recording, and the audio beside it.

    Args:
        audio: the file that is copied into the folder; None = it is there, or comes later.
    """
    row = render(source, tier, Path(audio).name if audio is not None else f"{folder.stem}.wav")
    name = jsonl.rows(row, "file_name")[0][1]["file_name"] if audio is None else Path(audio).name
    if audio is not None:
        row = jsonl.line({**jsonl.rows(row, "file_name")[0][1], "file_name": name})
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if audio is not None and not (folder / name).exists():
            shutil.copyfile(audio, folder / name)
    except OSError as error:
        raise FormatError(f"{str(folder)[:80]!r} cannot be written: {error.strerror or error}.") from error
    path = folder / METADATA
    kept = text_of(bytes_of(path)[1]) if path.exists() else ""
    others = [jsonl.line(one) for _, one in jsonl.rows(kept, "file_name") if one["file_name"] != name]
    replace_file(path, "".join([*others, row]))


def sniff(text: str) -> bool:
    """Whether its first line is an object that names a file."""
    first = text.lstrip()[:100_000].split("\n", 1)[0]
    return first.startswith("{") and '"file_name"' in first


def read(text: str, wanted: str | None) -> Contents:
    """The row of one recording."""
    lines = jsonl.rows(text, "file_name")
    chosen = recording((row["file_name"] for _, row in lines), wanted)
    tracks: tuple[Track, ...] = ()
    duration, language, guessed = None, None, False
    for i, row in lines:
        if row["file_name"] != chosen:
            continue
        duration = jsonl.number(row, "duration", i)
        around = 0.0, duration or 0.0
        words, lacking = jsonl.times(row, jsonl.WORDS, "word", i, around)
        whole, more = jsonl.times(row, jsonl.SENTENCES, "segment", i, around)
        said = jsonl.text(row, ("transcription", "text", "sentence", "transcript"), i)
        language = jsonl.text(row, ("language",), i) or None
        guessed = lacking or more
        sentences = whole or (
            [Row(i, 0.0, max([around[1], *(one.end for one in words)]), said)] if said.strip() else []
        )
        tracks = (Track("words", "words", tuple(words)),) if words else ()
        tracks += (Track("sentences", "sentences", tuple(sentences)),)
    known = any(row.end for track in tracks for row in track.rows)
    return Contents(tracks, duration, chosen, language, (jsonl.GUESSED,) if guessed else (), timed=known)


def folder_of(source: object) -> Path | None:
    """The folder of a dataset, where a path of it or of its metadata is given."""
    if not isinstance(source, str | os.PathLike):
        return None
    path = Path(source)
    try:
        return path if path.is_dir() else path.parent if path.name == METADATA else None
    except (OSError, ValueError):
        return None


def audio_beside(folder: Path, name: str) -> Audio | None:
    """The recording of a row, where it is in the folder. A name that leads out of the folder is refused."""
    inside = PurePosixPath(name.replace("\\", "/"))
    if inside.is_absolute() or ".." in inside.parts or ":" in name:
        raise FormatError(f"the file name {shown(name)} leads out of the folder.")
    path = folder / inside
    return Audio.of_file(path) if path.is_file() else None
