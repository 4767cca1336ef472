"""The live recordings of a server: bounded in number, ended when their page has gone, kept as documents."""

from __future__ import annotations

import os
import secrets
import shutil
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import asr_core
from components.documents import Document, Documents, read_sound
from components.live_session import LiveSession, not_stored
from components.models import Models
from components.wording import hours
from components.work_folders import WorkFolder

#: Sample rates a browser may record at, in Hz.
RATES = (8_000, 192_000)
#: Seconds without a word from the page after which a recording is ended, and kept.
SILENT_PAGE = 180.0
#: Sessions that have ended and can still be looked at.
KEPT = 64


class LiveSessions:
    """The sessions of this server, bounded in number; the sound of each becomes a document when it has ended.

    Args:
        folder: where a folder is made for sound that still grows.
        max_sessions: recordings that may go on at once.
        max_minutes: of one recording.
    """

    def __init__(
        self, folder: Path, documents: Documents, models: Models, *, max_sessions: int, max_minutes: float
    ) -> None:
        self._folder = WorkFolder(folder)
        self._documents, self._models = documents, models
        self._max_sessions, self.max_minutes = max_sessions, max_minutes
        self._lock = threading.Lock()
        self._sessions: dict[str, LiveSession] = {}

    def open(self, model: str, rate: Any, decoding: asr_core.Greedy | None = None) -> LiveSession:
        """Begin a recording.

        Args:
            rate: in Hz, of the packets.
            decoding: None = greedily.
        Raises:
            AudioError: the rate is not taken, or too many recordings go on.
        """
        if not isinstance(rate, int | float) or isinstance(rate, bool) or not RATES[0] <= rate <= RATES[1]:
            raise asr_core.AudioError(f"The microphone's sample rate is from {RATES[0]} to {RATES[1]} Hz here.")
        self.sweep()
        with self._lock:
            going_on = sum(session.stage != "done" for session in self._sessions.values())
            if going_on >= self._max_sessions:
                raise asr_core.AudioError(
                    f"This server takes no more live recordings at once than {self._max_sessions}. Try again later."
                )
            session = self._begin(model, int(rate), decoding or asr_core.Greedy())
            self._sessions[session.id] = session
            return session

    def _begin(self, model: str, rate: int, decoding: asr_core.Greedy) -> LiveSession:
        try:
            return LiveSession(
                path=self._folder.path / f"{secrets.token_hex(12)}.wav",
                name=f"live {time.strftime('%Y-%m-%d %H.%M.%S')}.wav",
                model=model,
                rate=rate,
                decoding=decoding,
                max_seconds=self.max_minutes * 60,
                recognizer=lambda: self._models.get(model),
                keep=self._keep,
            )
        except OSError as error:
            raise asr_core.AudioError(f"{not_stored(error)} Free some space, then press Start again.") from error

    def get(self, key: Any) -> LiveSession | None:
        with self._lock:
            return self._sessions.get(key) if isinstance(key, str) else None

    def of_document(self, key: Any) -> LiveSession | None:
        """The session that a document was made of."""
        with self._lock:
            return next((s for s in self._sessions.values() if s.document and s.document == key), None)

    def sweep(self) -> None:
        """End recordings whose page has gone, and forget those that were looked at longest ago."""
        now = time.monotonic()
        with self._lock:
            for session in self._sessions.values():
                if session.stage != "done" and now - session.seen > SILENT_PAGE:
                    session.end()
            over = [key for key, session in self._sessions.items() if session.stage == "done"]
            for key in sorted(over, key=lambda key: self._sessions[key].seen)[: max(0, len(over) - KEPT)]:
                del self._sessions[key]

    def sweep_every(self, seconds: float) -> threading.Thread:
        """Sweep in the background for as long as the process lives."""

        def run() -> None:
            while True:
                time.sleep(seconds)
                self.sweep()

        thread = threading.Thread(target=run, name="live sweep", daemon=True)
        thread.start()
        return thread

    def limit(self) -> str:
        """The longest recording, in words."""
        return hours(self.max_minutes)

    def _keep(self, session: LiveSession) -> Document:
        """Make a document of the sound, with the live text as its transcript."""
        document = self._documents.add(session.recording.path, session.name, move=True)
        document = self._documents.prepare(
            document.id, read_sound(document, sample_rate=session.model_rate, channel=None)
        )
        share_sound(document)
        transcript = session.heard.final
        if session.problem:
            transcript = replace(transcript, warnings=(*transcript.warnings, session.problem))
        return self._documents.update(document.id, transcript=transcript, seconds=session.heard.work)


def share_sound(document: Document) -> Path:
    """Put the recording as it came where the page may fetch it; for sound that this server has written itself."""
    path = document.folder / "exports" / document.source.name
    if path.exists():
        return path
    path.parent.mkdir(exist_ok=True)
    try:
        os.link(document.source, path)
    except OSError:  # a file system without links
        shutil.copyfile(document.source, path)
    return path
