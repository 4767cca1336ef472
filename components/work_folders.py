"""Folders that a server works in: it locks its own, so that another one on the same data leaves them alone."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from pathlib import Path


class WorkFolder:
    """A new folder among the data, which is there until `close`, or until a server starts after this one has ended.

    Args:
        prefix: how its name begins, which tells the kinds of work apart.
    """

    def __init__(self, data: Path, prefix: str) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=prefix, dir=data))
        self._lock = os.open(self.path, os.O_RDONLY)
        fcntl.flock(self._lock, fcntl.LOCK_EX)

    def close(self) -> None:
        """Remove the folder and all that is in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)


def sweep(data: Path, prefix: str) -> None:
    """Remove the folders of servers that have ended without closing them."""
    for left in data.glob(f"{prefix}*"):
        lock = os.open(left, os.O_RDONLY)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            continue  # its server lives
        else:
            shutil.rmtree(left, ignore_errors=True)
        finally:
            os.close(lock)
