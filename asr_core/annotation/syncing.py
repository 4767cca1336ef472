"""Finished documents in a dataset repository on the Hub: what a Space loses when it restarts is kept there.

Every document that is set to "done" is written into a folder, with its recording, and the folder is uploaded every few
minutes by huggingface_hub's CommitScheduler.
"""

from __future__ import annotations

import logging
import secrets
import threading
import time
from pathlib import Path

from huggingface_hub import CommitScheduler
from huggingface_hub.errors import HfHubHTTPError, HFValidationError

from asr_core import formats
from asr_core.annotation.exporting import safe_stem
from asr_core.annotation.store import Store
from asr_core.errors import StoreError

log = logging.getLogger(__name__)

#: Seconds between tries to reach the repository; doubled after each.
FIRST_WAIT, LONGEST_WAIT = 5.0, 600.0


class FinishedSync:
    """Uploads finished documents. Every method may be called from any thread.

    The repository gets a folder for each store: `documents/` has them in the project's own format, and `audio/` the
    recordings with a metadata.jsonl, so that `datasets` loads it. A document that is set to "done" again takes the
    place of what was there; one that is deleted here stays there.

    Args:
        store: where the documents are.
        repository: id of the dataset repository; made, private, if it is not there.
        token: that may write there; None = the one of the environment.
        every: minutes between uploads.
    """

    def __init__(self, store: Store, repository: str, *, token: str | None = None, every: float = 5.0) -> None:
        self._store, self.repository = store, repository
        self._token, self._every = token, every
        self.folder = store.folder / "finished" / _name_of(store.folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()
        self._scheduler: CommitScheduler | None = None
        self._stopped = threading.Event()
        self._problem = ""
        threading.Thread(target=self._connect, name="sync", daemon=True).start()

    def put(self, id: str) -> None:
        """Take a finished document in; it is uploaded with the next commit.

        Raises StoreError where there is no such document or the disk is full.
        """
        entry, (document, _), audio = self._store.entry(id), self._store.load(id), self._store.audio(id)
        with self._held():
            try:
                (self.folder / "documents").mkdir(exist_ok=True)
                name = f"{safe_stem(entry.name, set())}-{id[:8]}.json"
                formats.write(document, self.folder / "documents" / name, format="json")
                if audio is not None:
                    formats.write(document, self.folder / "audio", format="hf", audio=audio)
            except OSError as error:
                raise StoreError(f"{entry.name[:80]!r} cannot be kept for the upload: {error.strerror}.") from error

    @property
    def problem(self) -> str:
        """A sentence on why nothing is uploaded at the moment; "" = all is well."""
        last = getattr(self._scheduler, "last_future", None)
        if last is not None and last.done() and (error := last.exception()) is not None:
            return f"{self.repository} did not take the last upload: {_reason(error)}."
        return self._problem

    def upload(self) -> None:
        """Upload now, and wait for it. Raises StoreError where the repository cannot be reached."""
        if self._scheduler is None:
            raise StoreError(self._problem or f"{self.repository} has not been reached yet; try again in a moment.")
        try:
            self._scheduler.trigger().result()
        except (HfHubHTTPError, OSError) as error:
            raise StoreError(f"{self.repository} does not take the upload: {_reason(error)}.") from error

    def close(self) -> None:
        """Stop uploading; what was put in stays in the folder and goes up with the next start."""
        self._stopped.set()
        if self._scheduler is not None:
            self._scheduler.stop()

    def _held(self) -> threading.Lock:
        """The lock of the folder: the scheduler's own once there is one, so that no half-written file goes up."""
        scheduler = self._scheduler
        return self._lock if scheduler is None else scheduler.lock

    def _connect(self) -> None:
        wait = FIRST_WAIT
        while not self._stopped.is_set():
            try:
                scheduler = CommitScheduler(
                    repo_id=self.repository,
                    repo_type="dataset",
                    folder_path=self.folder,
                    path_in_repo=self.folder.name,
                    every=self._every,
                    private=True,
                    token=self._token,
                    ignore_patterns=["*.part"],
                )
            except HFValidationError:
                self._problem = f"{self.repository!r} is not the id of a repository; it reads owner/name."
                log.warning("Sync: %s", self._problem)
                return
            except (HfHubHTTPError, OSError) as error:
                self._problem = f"{self.repository} cannot be reached: {_reason(error)}."
                log.warning("Sync: %s Trying again in %.0f s.", self._problem, wait)
                self._stopped.wait(wait)
                wait = min(2 * wait, LONGEST_WAIT)
            else:
                # Whoever is writing under the old lock finishes first.
                with self._lock:
                    self._scheduler, self._problem = scheduler, ""
                log.info("Sync: finished documents go to %s every %g minutes.", self.repository, self._every)
                return


def _name_of(folder: Path) -> str:
    """The name of a store's folder in the repository, chosen once: a store that starts empty gets another one."""
    path = folder / "sync-name"
    if path.exists():
        return path.read_text().strip()
    name = f"{time.strftime('%Y-%m-%d', time.gmtime())}-{secrets.token_hex(4)}"
    path.write_text(name)
    return name


def _reason(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200].rstrip(".")
