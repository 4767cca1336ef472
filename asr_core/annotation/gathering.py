"""Many recordings at once: what lies in a folder, in an unpacked archive, or in the lines of a manifest.

A recording belongs together with the files of the same name beside it (`talk.wav`, `talk.TextGrid`), or with the line
that names it in a NeMo manifest or in the metadata.jsonl of a Hugging Face dataset.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from asr_core import formats
from asr_core.annotation.document import Audio, Document
from asr_core.audio import write_wav
from asr_core.audio_pieces import Pieces
from asr_core.errors import AudioError, FormatError
from asr_core.formats import hf, jsonl, nemo
from asr_core.formats.source import bytes_of, text_of
from asr_core.formats.txt import UNTIMED

#: Suffixes of files that are tried as recordings; what the file really is shows when it is read.
AUDIO = frozenset(
    {"wav", "flac", "mp3", "ogg", "oga", "opus", "m4a", "mp4", "webm", "aac", "aiff", "aif", "caf", "mkv", "mov"}
)
#: Where several texts lie beside a recording, the one that keeps most is read.
RICHEST_FIRST = ("json", "textgrid", "eaf", "nemo", "csv", "vtt", "srt", "ctm", "audacity", "txt")
#: Recordings of one import, and problems that are told of.
MOST, TOLD = 100_000, 20


@dataclass(frozen=True)
class Found:
    """One recording and what is known of its text.

    Args:
        audio: its file.
        name: what a list calls it.
        text: a file of any format that belongs to it, or the bytes of one; None = nothing is known.
        format: of `text`, where its content alone does not tell.
        start: seconds at which the piece that is meant begins.
        seconds: length of that piece; None = to the end of the file.
    """

    audio: Path
    name: str
    text: Path | bytes | None = None
    format: str | None = None
    start: float = 0.0
    seconds: float | None = None

    @property
    def is_piece(self) -> bool:
        """Whether only a part of the file is meant."""
        return self.start > 0 or self.seconds is not None


@dataclass(frozen=True)
class Gathered:
    """Recordings in the order of their names, and a sentence for everything that was left out."""

    recordings: tuple[Found, ...]
    problems: tuple[str, ...] = ()


def gather(paths: Sequence[str | os.PathLike[str]], *, within: str | os.PathLike[str] | None = None) -> Gathered:
    """Find the recordings in files and folders, and the text of each where there is one.

    Args:
        paths: recordings, texts, manifests, folders; folders are searched with all below them.
        within: folder that everything must lie in, also what a manifest names; None = a manifest may name any file.
    Raises:
        FormatError: a manifest that cannot be read, or more than 100,000 recordings.
    """
    fence = None if within is None else Path(within).resolve()
    files, problems = [], []
    for path in map(Path, paths):
        files += sorted(_files_below(path)) if path.is_dir() else [path]
    manifests = [path for path in files if path.suffix.lower() in (".json", ".jsonl") and _is_manifest(path)]
    named: list[Found] = []
    for path in manifests:
        named += _of_manifest(path, fence, problems)
    listed = {_same(found.audio) for found in named}
    alone = _of_files((path for path in files if path not in manifests), listed, fence, problems)
    recordings = sorted(
        [*named, *alone], key=lambda found: (found.audio.stem.casefold(), str(found.audio), found.start)
    )
    if len(recordings) > MOST:
        raise FormatError(f"There are {len(recordings)} recordings; at most {MOST} are taken at once.")
    return Gathered(tuple(recordings), tuple(problems))


def cut(
    found: Found, folder: str | os.PathLike[str], pieces: Pieces | None = None, *, max_seconds: float | None = None
) -> Path:
    """The recording of a piece as a WAV file of its own, at its own rate, one channel; a whole file as it is.

    Args:
        pieces: reads several of one file, in the order in which `gather` gives them, with one decoding at most.
        max_seconds: longest piece that is taken.
    Raises:
        AudioError: the file cannot be read, is over before the piece begins, or the piece is too long.
    """
    if not found.is_piece:
        return found.audio
    with nullcontext(pieces) if pieces is not None else Pieces() as reader:
        samples, rate = reader.read(found.audio, found.start, found.seconds, max_seconds=max_seconds)
    if not len(samples):
        raise AudioError(f"{found.audio.name!r} is over before {found.start:g} s, where the piece begins.")
    target = Path(folder) / f"{found.audio.stem[:80]}-{round(1000 * found.start)}.wav"
    write_wav(target, samples, rate)
    return target


def said(found: Found, audio: Audio) -> tuple[Document | None, str]:
    """What is known of a recording: a document with times, or a text without, or neither ("").

    Args:
        audio: of the recording itself, or of its piece.
    Raises:
        FormatError: a text that cannot be read.
    """
    if found.text is None:
        return None, ""
    # A file names the recording as it was there, and a manifest of one line names only one.
    named = replace(audio, name=found.audio.name)
    document = formats.read(found.text, format=found.format, audio=named)
    if UNTIMED in document.warnings or _without_times(found):
        return None, document.transcript().text
    return replace(document, audio=audio), ""


def _without_times(found: Found) -> bool:
    """Whether the line of a manifest has nothing but a text, so that its times are better found than divided."""
    if not isinstance(found.text, bytes):
        return False
    row = json.loads(found.text)
    return not any(row.get(key) for key in (jsonl.WORDS, jsonl.SENTENCES))


def _files_below(folder: Path) -> Iterator[Path]:
    """Files of a folder and of all below it, but hidden ones; links to folders are not followed."""
    for root, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".") and name != "__MACOSX"]
        for name in names:
            if not name.startswith("."):
                yield Path(root, name)


def _of_files(files: Iterable[Path], listed: set[str], fence: Path | None, problems: list[str]) -> Iterator[Found]:
    by_stem: dict[tuple[Path, str], list[Path]] = defaultdict(list)
    for path in files:
        by_stem[path.parent, path.stem.casefold()].append(path)
    for group in by_stem.values():
        audio = [path for path in group if path.suffix[1:].lower() in AUDIO and _same(path) not in listed]
        texts = sorted((path for path in group if _rank(path) is not None), key=_rank)
        for path in audio:
            if _allowed(path, fence):
                yield Found(path, path.name, texts[0] if texts else None)
            else:
                _tell(problems, f"{path.name!r} leads out of the folder and was left out.")
        if texts and not audio and not any(_same(path) in listed for path in group):
            _tell(problems, f"{texts[0].name!r} has no recording of the same name beside it.")


def _of_manifest(path: Path, fence: Path | None, problems: list[str]) -> Iterator[Found]:
    """The recordings of a manifest, one for each line; several lines of a file with offsets are pieces of it."""
    text = text_of(bytes_of(path)[1])
    form, key = ("nemo", "audio_filepath") if nemo.sniff(text) else ("hf", "file_name")
    try:
        rows = jsonl.rows(text, key)
    except FormatError as error:
        raise FormatError(f"{path.name!r} cannot be read as {formats.FORMATS[form].NAME}: {error}") from error
    for line, row in rows:
        audio = _beside(path.parent, row[key])
        if audio is None or not _allowed(audio, fence):
            _tell(problems, f"Line {line} of {path.name!r} names {row[key][:80]!r}, which leads out of the folder.")
        elif not audio.is_file():
            _tell(problems, f"Line {line} of {path.name!r} names {row[key][:80]!r}, which is not there.")
        else:
            yield _of_row(audio, row, line, form)


def _of_row(audio: Path, row: dict[str, Any], line: int, form: str) -> Found:
    """A row is kept as a manifest of one line, whose times count from the start of its piece."""
    start = jsonl.number(row, "offset", line)
    seconds = None if start is None else jsonl.number(row, "duration", line)
    known = any(row.get(key) for key in ("text", "transcription", "sentence", "transcript"))
    plain = {key: value for key, value in row.items() if key != "offset"}
    text = jsonl.line(plain).encode("utf-8", "replace") if known else None
    name = audio.name if start is None else f"{audio.stem} {start:g} s{audio.suffix}"
    return Found(audio, name, text, form if known else None, start or 0.0, seconds)


def _beside(folder: Path, name: str) -> Path | None:
    """The file that a manifest in a folder names; None for a name that no file can have."""
    if "\0" in name:
        return None
    path = PurePosixPath(name.replace("\\", "/")) if "\\" in name and "/" not in name else Path(name)
    return folder / path


def _is_manifest(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            start = file.read(100_000).decode("utf-8-sig", "replace")
    except OSError:
        return False
    first = start.lstrip().split("\n", 1)[0]
    if not (nemo.sniff(first) or hf.sniff(first)):
        return False
    # A manifest of one line may be cut by what was read of it; anything else on the line is an object of one format.
    try:
        return isinstance(json.loads(first), dict)
    except ValueError:
        return len(start) >= 100_000


def _rank(path: Path) -> int | None:
    """Place of a text's format, richest first; None where the suffix belongs to no text."""
    suffix = path.suffix[1:].lower()
    places = [place for place, name in enumerate(RICHEST_FIRST) if suffix in formats.FORMATS[name].SUFFIXES]
    return min(places, default=None)


def _allowed(path: Path, fence: Path | None) -> bool:
    try:
        return fence is None or path.resolve().is_relative_to(fence)
    except (OSError, ValueError):
        return False


def _same(path: Path) -> str:
    return os.path.normcase(os.path.abspath(path))  # noqa: PTH100 - without following links


def _tell(problems: list[str], sentence: str) -> None:
    if len(problems) < TOLD:
        problems.append(sentence)
    elif len(problems) == TOLD:
        problems.append("There is more that was left out; only the first of it is told here.")
