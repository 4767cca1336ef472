"""The documents that people annotate: the store, who may see what in it, and their recordings as sound to play."""

from __future__ import annotations

import logging
import re
import threading
import time
import unicodedata
from dataclasses import replace
from pathlib import Path
from typing import Any

from asr_core import Transcript
from asr_core.annotation import Audio, Document, Entry, Limits, Store
from asr_core.annotation.syncing import FinishedSync
from asr_core.errors import StoreError
from components import documents as recordings
from components.documents import Documents, UnknownDocumentError, read_sound
from components.settings import Settings

log = logging.getLogger(__name__)

#: A workspace key as the page makes it: 128 random bits or more.
KEY = re.compile(r"[A-Za-z0-9_-]{22,64}")
SAMPLE_RATE = 16_000
#: Recordings and comparisons of other tabs of which it is known that they are documents here.
TAKEN = 2_000
LONGEST_NAME = 200
#: Zero width non-joiner and joiner.
JOINERS = "\u200c\u200d"
NO_KEY = "This page has no workspace key. Allow the site to keep data in this browser, and load the page again."


class Annotations:
    """Every method may be called from any thread.

    Args:
        sounds: where a recording is prepared for the page while somebody has its document open.
    """

    def __init__(self, settings: Settings, sounds: Documents) -> None:
        folder = settings.documents or settings.data / "documents"
        total = None if settings.max_kept_mb is None else settings.max_kept_mb * 1_000_000
        limits = Limits(settings.max_kept, settings.max_upload_mb * 1_000_000, total)
        self.store = Store(folder, limits=limits)
        self._finished: FinishedSync | None = None
        self._not_put = ""
        if settings.sync_repository:
            self._finished = FinishedSync(self.store, settings.sync_repository, every=settings.sync_minutes)
        self.settings = settings
        self._sounds = sounds
        self._lock = threading.Lock()
        self._prepared: dict[str, str] = {}  # id of a document -> id of its sound
        self._preparing: dict[str, threading.Lock] = {}
        self._taken: dict[tuple[Any, ...], str] = {}  # what a document was made of -> its id

    def workspace(self, key: Any) -> str:
        """The workspace of a page. Raises StoreError for a key that cannot be one."""
        if self.settings.mode == "local":
            return ""
        if not isinstance(key, str) or not KEY.fullmatch(key):
            raise StoreError(NO_KEY)
        return key

    def entry(self, key: Any, id: Any) -> Entry:
        """A document of the page's workspace. Raises StoreError, also where it belongs to another."""
        return self.store.entry(id if isinstance(id, str) else "", self.workspace(key))

    def add(self, key: Any, document: Document, name: str, audio: Path, source: tuple[Any, ...] = ()) -> Entry:
        """Take a document in.

        Args:
            source: what it was made of; the same is not taken twice while the first is there.
        """
        workspace = self.workspace(key)
        if source and (known := self._taken.get((workspace, *source))):
            try:
                return self.store.entry(known, workspace)
            except StoreError:  # it has been deleted since
                self._taken.pop((workspace, *source), None)
        entry = self.store.add(document, name=shown_name(name) or "recording", audio=audio, workspace=workspace)
        if source:
            self._taken[workspace, *source] = entry.id
            while len(self._taken) > TAKEN:
                self._taken.pop(next(iter(self._taken)))
        return entry

    def sound(self, id: str) -> recordings.Document:
        """The recording of a document, read. Raises StoreError, AudioError."""
        with self._lock:
            lock = self._preparing.setdefault(id, threading.Lock())
        with lock:
            try:
                found = self._sounds.get(self._prepared.get(id))
                if found.audio is not None:
                    return found
            except UnknownDocumentError:
                pass
            entry, path = self.store.entry(id), self.store.audio(id)
            if path is None:
                raise StoreError(f"{entry.name} has no recording. Import it again with its audio.")
            made = self._sounds.add(path, entry.name, move=False)
            sound = read_sound(made, sample_rate=SAMPLE_RATE, channel=channel_of(self.store.load(id)[0]))
            self._prepared[id] = made.id
            return self._sounds.prepare(made.id, sound)

    def keep_sound(self, id: str, recording: str) -> None:
        """Let a recording that has just been read be the sound of a document that was made of it."""
        self._prepared[id] = recording

    def finish(self, id: str) -> None:
        """Hand a document that is done to the upload, where the host has set one up.

        The edit is on disk by now: what goes wrong here is told by `sync_state`, and tried again with the next edit.
        """
        if self._finished is not None:
            try:
                self._finished.put(id)
                self._not_put = ""
            except StoreError as error:
                self._not_put = str(error)
                log.warning("Sync: %s", error)

    def sync_state(self) -> str:
        """A sentence on where finished documents are uploaded to, or on why they are not; "" where none are."""
        if self._finished is None:
            return ""
        minutes = f"{self.settings.sync_minutes:g} minutes"
        problem = self._not_put or self._finished.problem
        return problem or f"Finished documents are uploaded to {self._finished.repository} every {minutes}."

    def delete(self, id: str) -> None:
        """Delete a document, its log, its recording where no other has it, and the sound made of it."""
        self.store.delete(id)
        if sound := self._prepared.pop(id, None):
            self._sounds.remove(sound)

    def sweep(self, now: float | None = None) -> None:
        """Delete what has been left alone for longer than the host keeps it."""
        if self.settings.keep_days is None:
            return
        before = (time.time() if now is None else now) - self.settings.keep_days * 86_400
        for id in self.store.unchanged_since(before):
            self.delete(id)

    def sweep_every(self, seconds: float) -> threading.Thread:
        """Sweep in the background for as long as the process lives."""

        def run() -> None:
            while True:
                self.sweep()
                time.sleep(seconds)

        thread = threading.Thread(target=run, name="annotations sweep", daemon=True)
        thread.start()
        return thread


def shown_name(name: Any) -> str:
    """A name as a list shows it, in one line; "" where nothing of it can be seen.

    What cannot be seen is left out, since it would let one name look like another; only joiners stay, which letters and
    signs are made with.
    """
    text = name.encode("utf-8", "replace").decode("utf-8") if isinstance(name, str) else ""
    text = " ".join(text.split())[:LONGEST_NAME]
    kept = "".join(c for c in text if c in JOINERS or unicodedata.category(c) not in ("Cc", "Cf")).strip()
    return kept if kept.strip(JOINERS + " ") else ""


def document_of(recording: recordings.Document, transcript: Transcript, revision: str | None = None) -> Document:
    """A new document of what was heard in a recording; the channel is kept with what made it."""
    name, rate = recording.name, recording.info.sample_rate
    made = Document.from_transcript(transcript, audio=Audio(name, sample_rate=rate), revision=revision)
    channel = recording.audio.channel if recording.audio is not None else None
    return with_channel(made, channel)


def with_channel(document: Document, channel: int | None) -> Document:
    """Say which channel of the recording was heard; None = the mean of all."""
    if channel is None:
        return document
    made = document.provenance
    return replace(document, provenance=replace(made, decoding={**made.decoding, "channel": channel}))


def channel_of(document: Document) -> int | None:
    """The channel that was heard, as `with_channel` has kept it."""
    channel = document.provenance.decoding.get("channel")
    return channel if isinstance(channel, int) and not isinstance(channel, bool) and channel >= 0 else None
