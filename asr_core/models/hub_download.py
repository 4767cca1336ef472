"""A program of its own: downloads files of a repository of the Hub, and says how far it is.

`hub.py` runs it, because a process can be ended whatever it waits for. Where the network is lost in the middle,
huggingface_hub waits and tries again for many minutes, in places that take no limit.

Reads one line from its input: {repository, revision, names, whole}; `whole` names the bytes of files that are fetched
anew where they have another size. Writes a line for each piece of news: {bytes} of the file that is being fetched,
{place} of each file that is there, or {error, text, errno} and ends.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any


def main() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a parent in the background ignores it, and so would this
    wanted = json.loads(sys.stdin.readline())
    # Otherwise nothing is heard, and nothing kept, of a file before its first ten megabytes have arrived.
    from huggingface_hub import constants, hf_hub_download

    constants.DOWNLOAD_CHUNK_SIZE = 1 << 18
    _say(bytes=0)
    try:
        for name in wanted["names"]:
            options = {"revision": wanted["revision"], "tqdm_class": _bar()}
            place = hf_hub_download(wanted["repository"], name, **options)
            whole = wanted["whole"].get(name)
            if whole and Path(place).stat().st_size != whole:
                place = hf_hub_download(wanted["repository"], name, force_download=True, **options)
            _say(place=place)
    except KeyboardInterrupt:
        sys.exit(1)
    except Exception as error:  # it is the caller's to understand
        _say(error=type(error).__name__, text=str(error), errno=getattr(error, "errno", None))
        sys.exit(1)


def _bar() -> type:
    """A progress bar for huggingface_hub that draws nothing and says how many bytes of a file have come."""
    from tqdm import tqdm

    class Report(tqdm):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **{k: v for k, v in kwargs.items() if k != "name"} | {"disable": True})
            self._written = self._received = kwargs.get("initial") or 0

        def update(self, n: float | None = 1) -> None:
            self._written += n or 0
            self._tell()

        def update_transfer(self, n: float) -> None:
            """Bytes that have come; with Xet they are written in pieces later. That there is this makes it one bar."""
            self._received += n
            self._tell()

        def _tell(self) -> None:
            _say(bytes=max(self._written, self._received))

    return Report


def _say(**news: Any) -> None:
    # Not print: a library that prints must not come between.
    os.write(_OUT, f"{json.dumps(news)}\n".encode())


if __name__ == "__main__":
    _OUT = os.dup(1)
    os.dup2(2, 1)
    main()
