"""Files that a browser has sent through Gradio's upload route."""

from __future__ import annotations

import logging
import threading
import time
from pathlib import Path
from typing import Any

from gradio import Blocks
from gradio.utils import get_upload_folder

log = logging.getLogger(__name__)


def sweep(blocks: Blocks, age: float, now: float | None = None) -> None:
    """Delete files that this app was sent and nothing has taken in for `age` seconds: their page has closed, or they
    were refused. Gradio's own `delete_cache` goes over the set while it grows, and stops for good when that is noticed.
    """
    now = time.time() if now is None else now
    for name in list(blocks.upload_file_set):
        file = Path(name)
        try:
            if now - file.lstat().st_ctime <= age:
                continue
            file.unlink()
        except FileNotFoundError:  # it was taken in
            pass
        except OSError as error:  # said once
            log.warning("An upload could not be deleted (%s)", error)
        blocks.upload_file_set.discard(name)


def sweep_every(blocks: Blocks, seconds: float, age: float) -> threading.Thread:
    """Sweep in the background for as long as the process lives."""

    def run() -> None:
        while True:
            time.sleep(seconds)
            sweep(blocks, age)

    thread = threading.Thread(target=run, name="uploads sweep", daemon=True)
    thread.start()
    return thread


def uploaded_file(path: Any) -> Path | None:
    """A file that came through the upload route; None for any other path that a client may send."""
    if not isinstance(path, str):
        return None
    try:
        file, folder = Path(path).resolve(), Path(get_upload_folder()).resolve()
        return file if file.is_relative_to(folder) and file.is_file() else None
    except (OSError, ValueError):  # a name too long, or with a null character
        return None
