"""Downloads that end: files of the Hub are fetched by a process of their own, which is watched."""

from __future__ import annotations

import json
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from asr_core.progress import OnProgress, Progress

#: Seconds without a byte after which a download is given up.
PATIENCE = 60.0
#: Between two looks at whether the caller wants to go on.
LOOK = 0.5
#: Name of the `DownloadError` for that.
LOST = "Lost"
_PROGRAM = Path(__file__).with_name("hub_download.py")
_MB = 1_000_000


class DownloadError(Exception):
    """A download that has failed: the name of the error in the other process, its text, and errno where it has one."""

    def __init__(self, name: str, text: str, errno: int | None = None) -> None:
        super().__init__(text)
        self.name, self.errno = name, errno


def download(
    repository: str,
    revision: str | None,
    sizes: Mapping[str, int],
    on_progress: OnProgress | None,
    *,
    again: bool = False,
) -> list[Path]:
    """Where the files are in the Hub's cache; those that are not there are fetched.

    Args:
        sizes: bytes of each file.
        again: fetch also those that are there with another size: they are damaged.
        on_progress: called with bytes of all files, also when there are no new ones; what it raises ends the download.
    Raises:
        DownloadError: it has failed, or no byte has come for `PATIENCE` seconds.
    """
    names, total, places = list(sizes), sum(sizes.values()), []
    before = now = 0
    heard = None
    wanted = {"repository": repository, "revision": revision, "names": names, "whole": dict(sizes) if again else {}}
    with closing(_news(wanted)) as listening:
        for news in listening:
            if "error" in news:
                raise DownloadError(news["error"], news["text"], news["errno"])
            if news:
                heard = time.monotonic()
            elif heard is not None and time.monotonic() - heard > PATIENCE:
                raise DownloadError(
                    LOST, f"no byte has come for {PATIENCE:.0f} s (after {now / _MB:.0f} of {total / _MB:.0f} MB)"
                )
            if "place" in news:
                before = now = before + sizes[names[len(places)]]
                places.append(Path(news["place"]))
            elif "bytes" in news:
                now = before + news["bytes"]
            if on_progress is not None:
                on_progress(Progress(min(now, total), total, "download"))
    if len(places) < len(names):
        raise DownloadError("Ended", "the download ended early")
    return places


def _news(wanted: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """What the other process says, and {} where it says nothing for a while. It is ended when this is closed."""
    lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    # -P: the modules beside the program are not to be imported by their short names.
    command = [sys.executable, "-P", str(_PROGRAM)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8")

    def listen() -> None:
        for line in process.stdout:
            lines.put(line)
        lines.put(None)

    threading.Thread(target=listen, name="download", daemon=True).start()
    try:
        process.stdin.write(json.dumps(wanted) + "\n")
        process.stdin.close()
        while True:
            try:
                line = lines.get(timeout=LOOK)
            except queue.Empty:
                yield {}
                continue
            if line is None:
                return
            yield json.loads(line)
    finally:
        _end(process)


def _end(process: subprocess.Popen) -> None:
    """Interrupted, it throws half a file away; if it cannot, it is killed."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
