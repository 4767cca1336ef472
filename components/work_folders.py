"""Folders that a server works in: it locks its own, so that another one on the same data leaves them alone."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import weakref
from contextlib import suppress
from pathlib import Path

#: Among the data; nothing else is in it.
WORK = "work"


class WorkFolder:
    """A new folder among the data. It goes with `close`, with this object, or when a server starts after a kill."""

    def __init__(self, data: Path) -> None:
        (data / WORK).mkdir(parents=True, exist_ok=True)
        lock, name = tempfile.mkstemp(suffix=".lock", dir=data / WORK)
        with suppress(OSError):  # of a file system without locks, on which `sweep` leaves all folders
            fcntl.flock(lock, fcntl.LOCK_EX)
        self.path = Path(name).with_suffix("")
        self.path.mkdir()
        self._finalizer = weakref.finalize(self, _remove, self.path, lock)

    def close(self) -> None:
        """Remove the folder and all that is in it."""
        self._finalizer()


def sweep(data: Path) -> None:
    """Remove the folders of servers that were killed."""
    for file in (data / WORK).glob("*.lock"):
        try:
            lock = os.open(file, os.O_RDWR)
        except OSError:  # another server was faster, or it is another person's
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:  # its server lives
            os.close(lock)
        else:
            _remove(file.with_suffix(""), lock)


def _remove(folder: Path, lock: int) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.with_name(f"{folder.name}.lock").unlink(missing_ok=True)
    os.close(lock)
