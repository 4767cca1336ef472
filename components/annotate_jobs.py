"""The jobs of Annotate: what goes on in a workspace, how far it is, and what it has made.

A job belongs to a workspace, not to the page that began it: a page that is loaded again, or a second one, finds it.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Literal

from asr_core.errors import StoreError
from components import messages
from components.job import Job
from components.services import Services

#: Jobs whose result can still be asked for, and seconds that a look waits.
KEPT, LOOK = 256, 0.4
#: Jobs at once: of one visitor, and of all.
MINE, AT_ONCE = 4, 8

Kind = Literal["import", "bulk", "export", "second"]


class Made:
    """What a job has made so far, and what it says of itself where the stages of `Job` do not.

    Attributes:
        workspace, kind: what it is, and whose.
        count: documents that have come into the list.
        result: plain data for the page.
        is_told: whether a page has said that it knows how it ended.
    """

    def __init__(self, workspace: str, kind: Kind) -> None:
        self.workspace, self.kind = workspace, kind
        self.count = 0
        self.result: Any = None
        self.said: tuple[str, float | None] | None = None
        self.is_told = False

    def say(self, text: str, share: float | None) -> None:
        """Words for the page, and the share that is done; None = nobody knows."""
        self.said = text, share


class Work:
    """The jobs of Annotate by their unguessable ids, and what they made."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._lock = threading.Lock()
        self._jobs: OrderedDict[str, tuple[Job, Made]] = OrderedDict()

    def start(self, workspace: str, kind: Kind, work: Callable[[Job, Made], Any]) -> dict[str, Any]:
        """Start a job that answers with plain data, such as the id of a document. Raises StoreError."""
        made = Made(workspace, kind)

        def run(job: Job) -> None:
            made.result = work(job, made)
            job.report("done")

        with self._lock:
            self._check_room(workspace)
            job = self._services.jobs.run(run)
            self._jobs[job.id] = job, made
            while len(self._jobs) > KEPT:
                self._jobs.popitem(last=False)
        return {"job": job.id}

    def check_room(self, workspace: str) -> None:
        """Raises StoreError where no more jobs of a workspace can be started now."""
        with self._lock:
            self._check_room(workspace)

    def _check_room(self, workspace: str) -> None:
        going_on = [made.workspace for job, made in self._jobs.values() if not job.state().is_over]
        if workspace and going_on.count(workspace) >= MINE:  # a person alone has all places
            raise StoreError(f"{MINE} pieces of your work are going on. Try again when one of them is done.")
        if len(going_on) >= AT_ONCE:
            raise StoreError(f"{AT_ONCE} pieces of work are going on here. Try again when one of them is done.")

    def going_on(self, workspace: str) -> dict[str, Any]:
        """The jobs of a workspace that go on, or whose end no page knows: {jobs: [{job, kind}]}."""
        with self._lock:
            found = [(job, made) for job, made in self._jobs.values() if made.workspace == workspace]
        return {"jobs": [{"job": job.id, "kind": made.kind} for job, made in found if not made.is_told]}

    def told(self, workspace: str, key: Any) -> dict[str, Any]:
        """A page knows how a job has ended. An answer alone may have gone to a page that was closed."""
        with self._lock:
            job, made = self._jobs.get(key if isinstance(key, str) else None, (None, None))
        if made is not None and made.workspace == workspace and job.state().is_over:
            made.is_told = True
        return {}

    def look(self, key: Any, cancel: Any) -> dict[str, Any]:
        """{progress} while a job goes on, then {done: id}, {stopped} or {error}. Raises StoreError."""
        with self._lock:
            found = self._jobs.get(key) if isinstance(key, str) else None
        if found is None:
            raise StoreError("This work is no longer known here. Start it again.")
        job, made = found
        if cancel is True:
            job.cancel()
        state = job.wait(LOOK)
        match state.stage:
            case "done":
                return {"done": made.result}
            case "stopped":
                return {"stopped": True}
            case "failed":
                return {"error": state.error}
        if made.said is None:
            return {"progress": messages.progress(job, state), "count": made.count}
        text, share = made.said
        return {"progress": {"text": text, "left": "", "share": share, "job": job.id}, "count": made.count}
