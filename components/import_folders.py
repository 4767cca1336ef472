"""Folders of imports that go on: a server locks its own, so that another one on the same data leaves them alone."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from pathlib import Path

PREFIX = "import-"


class ImportFolder:
    """A new folder among the data, which is there until `close`, or until a server starts after this one has ended."""

    def __init__(self, data: Path) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=data))
        self._lock = os.open(self.path, os.O_RDONLY)
        fcntl.flock(self._lock, fcntl.LOCK_EX)

    def close(self) -> None:
        """Remove the folder and all that is in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)


def sweep(data: Path) -> None:
    """Remove the folders of servers that were stopped in the middle of an import."""
    for left in data.glob(f"{PREFIX}*"):
        lock = os.open(left, os.O_RDONLY)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            continue  # its server lives
        else:
            shutil.rmtree(left, ignore_errors=True)
        finally:
            os.close(lock)
