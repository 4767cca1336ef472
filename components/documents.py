"""The recordings that people are working on: bounded in number and age, each in a folder of its own.

An id is unguessable, and knowing it is what gives access: the page asks for a recording by its id, and fetches its
audio by HTTP Range from its folder.
"""

from __future__ import annotations

import secrets
import shutil
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

import asr_core
from asr_core import spectrogram
from asr_core.audio import AudioInfo, AudioWarning

#: Samples of one peak; recordings up to FINE_SECONDS have finer ones, so that a close view is crisp at once.
COARSE_HOP, FINE_HOP, FINE_SECONDS = 256, 64, 300.0
#: Bytes before the first sample of the WAV files that `asr_core.write_wav` makes.
WAV_HEADER = 44


@dataclass(frozen=True)
class Sound:
    """A decoded recording: (samples,) float32 at `sample_rate`, of one channel or (None) the mean of all."""

    samples: np.ndarray
    sample_rate: int
    channel: int | None
    warnings: tuple[str, ...] = ()

    @property
    def duration(self) -> float:
        return len(self.samples) / self.sample_rate


@dataclass(frozen=True)
class Audio:
    """Sound as it is drawn and played: 16-bit mono at the model's rate.

    Args:
        path: the WAV file, served to the page.
        channel: index of the channel it was taken from; None = the mean of all.
        peaks: int8 pairs, lowest and highest, of every `hop` samples.
        level: dB that the spectrogram shows as black.
        warnings: sentences for a person.
    """

    path: Path
    sample_rate: int
    samples: int
    channel: int | None
    hop: int
    peaks: bytes
    level: float
    warnings: tuple[str, ...] = ()

    @property
    def duration(self) -> float:
        return self.samples / self.sample_rate

    def open(self) -> np.ndarray:
        """(samples,) int16, read from the file only where they are looked at."""
        if not self.samples:
            return np.zeros(0, np.int16)
        return np.memmap(self.path, np.int16, mode="r", offset=WAV_HEADER, shape=(self.samples,))


@dataclass(frozen=True)
class Document:
    """One recording.

    Args:
        id: unguessable.
        name: of the file, as the person knows it.
        folder: what the page may fetch: sound to play, and exports.
        source: the file as it came. A stranger chose its bytes and its name, so it lies where nothing is served from.
        info: what it is.
        audio, transcript: None before they are made.
        language: what is known of the language that was spoken, in words: "German, detected"; "" = nothing to say.
        picked: the reading that is shown: 0 = the best, i = the transcript's i-th alternative.
        seconds: of work for the transcript.
        stopped: what `transcribe` needs to go on, after a cancel.
        revision: +1 with every change.
    """

    id: str
    name: str
    folder: Path
    source: Path
    info: AudioInfo
    audio: Audio | None = None
    transcript: asr_core.Transcript | None = None
    language: str = ""
    picked: int = 0
    seconds: float = 0.0
    stopped: asr_core.Cancelled | None = field(default=None, compare=False)
    revision: int = 0

    @property
    def shown(self) -> asr_core.Transcript | None:
        """The reading that has been picked, with what is known of the whole; the others are its alternatives."""
        return None if self.transcript is None else reading_of(self.transcript, self.picked)


def reading_of(best: asr_core.Transcript, picked: int) -> asr_core.Transcript:
    """A reading of the N-best list (0 = the best), with what is known of the whole; the others are its alternatives."""
    if not picked:
        return best
    readings = [replace(best, alternatives=()), *best.alternatives]
    chosen = readings.pop(picked)
    whole = {name: getattr(best, name) for name in ("decoding", "language", "warnings", "cuts", "timings")}
    return replace(chosen, alternatives=tuple(readings), **whole)


class UnknownDocumentError(LookupError):
    """No recording has this id (any more)."""


class Documents:
    """The store. Every method may be called from any thread."""

    def __init__(
        self,
        folder: Path,
        *,
        max_documents: int,
        retention_hours: float,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.folder = folder / "recordings"
        self.sources = folder / "sources"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.sources.mkdir(parents=True, exist_ok=True)
        self._max = max_documents
        self._age = retention_hours * 3600
        self._clock = clock
        self._lock = threading.Lock()
        self._documents: dict[str, Document] = {}
        self._used: dict[str, float] = {}
        self.sweep()

    def add(self, file: Path, name: str, *, move: bool) -> Document:
        """Take a file in.

        Args:
            file: copied, or moved where `move` says so.
            name: of the file, as the person knows it.
        Raises:
            AudioError: it is not audio; a file that was to be moved is deleted then.
        """
        key = secrets.token_urlsafe(18)
        home = self.folder / key
        # The core's messages name the file, so it keeps the name that the person knows.
        source = self.sources / key / file_name(name)
        home.mkdir()
        source.parent.mkdir()
        try:
            (shutil.move if move else shutil.copyfile)(file, source)
            info = asr_core.probe(source)
        except BaseException:
            _delete(home, source.parent)
            raise
        document = Document(key, name.encode("utf-8", "replace").decode("utf-8"), home, source, info)
        with self._lock:
            self._documents[key] = document
            self._used[key] = self._clock()
        self.sweep()
        return document

    def get(self, key: Any) -> Document:
        """The recording with this id. Raises UnknownDocumentError."""
        with self._lock:
            document = self._documents.get(key) if isinstance(key, str) else None
            if document is None:
                raise UnknownDocumentError("This recording is no longer kept here. Choose the file again.")
            self._used[key] = self._clock()
            return document

    def update(self, key: str, **changes: Any) -> Document:
        """Replace fields of a recording; its revision goes up. Raises UnknownDocumentError."""
        self.get(key)
        with self._lock:
            document = self._documents.get(key)
            if document is None:
                raise UnknownDocumentError("This recording is no longer kept here. Choose the file again.")
            changed = replace(document, revision=document.revision + 1, **changes)
            self._documents[key] = changed
            return changed

    def prepare(self, key: str, sound: Sound) -> Document:
        """Keep the sound of a recording as what the page draws and plays. Raises UnknownDocumentError."""
        document = self.get(key)
        made = document.audio
        if made is not None and (made.sample_rate, made.channel) == (sound.sample_rate, sound.channel):
            return document
        audio = _prepare(document, sound)
        if made is not None and made.path != audio.path:
            made.path.unlink(missing_ok=True)
        return self.update(key, audio=audio, transcript=None, language="", picked=0, stopped=None)

    def remove(self, key: str) -> None:
        """Forget a recording and delete its files."""
        with self._lock:
            self._forget(key)

    def sweep(self) -> None:
        """Delete what is too old or too much, and folders that an earlier run left behind."""
        now = self._clock()
        with self._lock:
            for key in [key for key, used in self._used.items() if now - used > self._age]:
                self._forget(key)
            by_use = sorted(self._used, key=self._used.__getitem__)
            for key in by_use[: max(0, len(by_use) - self._max)]:
                self._forget(key)
            known = set(self._documents)
        for left in (*self.folder.iterdir(), *self.sources.iterdir()):
            if left.name not in known and _age(left, now) > self._age:
                _delete(left)

    def sweep_every(self, seconds: float) -> threading.Thread:
        """Sweep in the background for as long as the process lives."""

        def run() -> None:
            while True:
                time.sleep(seconds)
                self.sweep()

        thread = threading.Thread(target=run, name="sweep", daemon=True)
        thread.start()
        return thread

    def __len__(self) -> int:
        return len(self._documents)

    def _forget(self, key: str) -> None:
        document = self._documents.pop(key, None)
        self._used.pop(key, None)
        if document is not None:
            _delete(document.folder, document.source.parent)


def read_sound(document: Document, *, sample_rate: int, channel: int | None, max_seconds: float | None = None) -> Sound:
    """Decode a recording. Raises AudioError, also as soon as it turns out longer than `max_seconds`."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", AudioWarning)
        samples = asr_core.read_audio(
            document.source, sample_rate=sample_rate, channel=channel, max_seconds=max_seconds
        )
    said = tuple(str(warning.message) for warning in caught if issubclass(warning.category, AudioWarning))
    return Sound(samples, sample_rate, channel, said)


def _prepare(document: Document, sound: Sound) -> Audio:
    """Write the WAV file and make the peaks."""
    name = "mix" if sound.channel is None else f"channel-{sound.channel + 1}"
    path = document.folder / f"{name}-{sound.sample_rate}.wav"
    asr_core.write_wav(path, sound.samples, sound.sample_rate)
    hop = FINE_HOP if len(sound.samples) <= FINE_SECONDS * sound.sample_rate else COARSE_HOP
    return Audio(
        path=path,
        sample_rate=sound.sample_rate,
        samples=len(sound.samples),
        channel=sound.channel,
        hop=hop,
        peaks=asr_core.peaks(sound.samples, hop).tobytes(),
        level=spectrogram.reference(sound.samples, sound.sample_rate),
        warnings=sound.warnings,
    )


def file_name(name: str) -> str:
    """A name that a folder can hold, as close as possible to what the person calls the file."""
    name = name.encode("utf-8", "replace").decode("utf-8")
    kept = "".join("_" if c in "/\\" or not (c.isprintable() or c == "\u200d") else c for c in name).strip()
    stem, dot, suffix = kept.rpartition(".")
    if not dot or len(suffix) > 8:
        stem, suffix = kept, ""
    stem = stem.encode("utf-8", "replace")[:160].decode("utf-8", "ignore").strip(" .") or "recording"
    return f"{stem}.{suffix}" if suffix else stem


def _delete(*folders: Path) -> None:
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


def _age(path: Path, now: float) -> float:
    try:
        return now - path.stat().st_mtime
    except OSError:
        return 0.0
