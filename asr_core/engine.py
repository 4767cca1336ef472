"""The one thread that owns MLX.

MLX's streams are thread-local: an array made lazily in one thread cannot be evaluated in another. So every function
that touches MLX is a job of this thread; callers wait for a plain or NumPy value. Jobs are short (one chunk of audio),
which is what lets live audio go before a long file and a cancelled file stop soon.
"""

from __future__ import annotations

import itertools
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from enum import IntEnum
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class Priority(IntEnum):
    """The order in which waiting jobs run; jobs of one priority run first come, first served."""

    LIVE = 0
    FILE = 1


class Engine:
    """A thread, and a queue of jobs for it ordered by priority and arrival."""

    def __init__(self, name: str = "mlx") -> None:
        self._jobs: queue.PriorityQueue = queue.PriorityQueue()
        self._ticket = itertools.count()
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def submit(self, priority: Priority, job: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Queue `job(*args, **kwargs)`; its value or exception arrives in the future. Values must not be lazy."""
        future: Future[T] = Future()
        self._jobs.put((priority, next(self._ticket), future, lambda: job(*args, **kwargs)))
        return future

    def run(self, job: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `job` for a file and wait for its value. Inside the engine's own thread it runs at once."""
        return self.run_at(Priority.FILE, job, *args, **kwargs)

    def run_at(self, priority: Priority, job: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `job` at `priority` and wait for its value. Inside the engine's own thread it runs at once."""
        if threading.current_thread() is self._thread:
            return job(*args, **kwargs)
        return self.submit(priority, job, *args, **kwargs).result()

    def _work(self) -> None:
        while True:
            _, _, future, job = self._jobs.get()
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(job())
            except BaseException as error:  # the caller's to see, whatever it is
                future.set_exception(error)
            # Holding the last job would keep its arrays alive until the next one comes.
            del future, job


_engine: Engine | None = None
_lock = threading.Lock()


def engine() -> Engine:
    """The process's engine, started at its first use."""
    global _engine
    with _lock:
        if _engine is None:
            _engine = Engine()
    return _engine
