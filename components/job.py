"""One piece of work in a thread of its own; the page looks at how far it is."""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import asr_core
from components.documents import UnknownDocumentError

log = logging.getLogger(__name__)

#: The text so far is made every so many seconds at most, and rests so many times longer than it took.
TEXT_EVERY, TEXT_COSTS = 1.0, 50.0

Stage = Literal["waiting", "download", "load", "fuse", "read", "listen", "done", "stopped", "failed"]


@dataclass(frozen=True)
class State:
    """How far a job is: `done` of `total` in seconds of audio or in bytes, `elapsed` seconds of work in this stage.

    Args:
        begun: `done` at the start of this stage, which is not 0 for a job that goes on.
        error: a sentence for a person, when the job has failed.
        heard: the text so far, where a recording is long enough to be waited for.
    """

    stage: Stage = "waiting"
    done: float = 0.0
    total: float = 0.0
    begun: float = 0.0
    elapsed: float = 0.0
    error: str = ""
    heard: str = ""

    @property
    def is_over(self) -> bool:
        return self.stage in ("done", "stopped", "failed")


class Job:
    """One piece of work; its `id` is unguessable, so knowing it is what allows to cancel."""

    def __init__(self, work: Callable[[Job], None]) -> None:
        self.id = secrets.token_urlsafe(12)
        self.cancelled = threading.Event()
        self._changed = threading.Condition()
        self._state = State()
        self._since = time.perf_counter()
        self._heard, self._next_text = "", 0.0
        self._thread = threading.Thread(target=self._run, args=(work,), name="job", daemon=True)

    def start(self) -> Job:
        self._thread.start()
        return self

    def cancel(self) -> None:
        """Ask the job to stop; it does so between two pieces of audio."""
        self.cancelled.set()

    def state(self) -> State:
        with self._changed:
            elapsed = self._state.elapsed if self._state.is_over else time.perf_counter() - self._since
            return replace(self._state, elapsed=elapsed)

    def wait(self, seconds: float) -> State:
        """The state, as soon as the job is over, or after some time."""
        with self._changed:
            self._changed.wait_for(lambda: self._state.is_over, seconds)
        return self.state()

    def report(self, stage: Stage, done: float = 0.0, total: float = 0.0, error: str = "") -> None:
        """Set the state; called by the work."""
        now = time.perf_counter()
        with self._changed:
            if stage == self._state.stage:
                begun = self._state.begun
            else:
                self._since, begun = now, done
            self._state = State(stage, done, total, begun, now - self._since, error, self._heard)
            self._changed.notify_all()

    def on_progress(self, progress: asr_core.Progress) -> None:
        """What the core calls; a download is left here when the job is cancelled, recognition by its own rule."""
        if progress.stage == "download" and self.cancelled.is_set():
            raise asr_core.Cancelled()
        stage = {"download": "download", "load": "load"}.get(progress.stage, "listen")
        if progress.partial is not None and 0 < progress.done < progress.total:
            self._read_along(progress.partial)
        self.report(stage, progress.done, progress.total)

    def _read_along(self, partial: Callable[[], asr_core.Transcript]) -> None:
        """Take the text so far, as often as costs little of the work: it takes the longer, the longer the recording."""
        began = time.perf_counter()
        if began < self._next_text:
            return
        self._heard = partial().text
        took = time.perf_counter() - began
        self._next_text = began + max(TEXT_EVERY, took * TEXT_COSTS)

    def _run(self, work: Callable[[Job], None]) -> None:
        try:
            work(self)
        except asr_core.Cancelled:
            self.report("stopped")
        except (asr_core.AsrError, UnknownDocumentError) as error:
            self.report("failed", error=str(error))
        except Exception as error:  # a bug; the page says so and lives on
            log.exception("The job failed")
            self.report("failed", error=f"Something went wrong inside the app ({type(error).__name__}). See its log.")
