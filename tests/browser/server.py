"""The real app in a process of its own, and a browser to look at it; for the tests and for the README's picture."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Playwright

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "assets" / "samples"
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--autoplay-policy=no-user-gesture-required",
)


@contextmanager
def running_app(folder: Path, **environment: str) -> Iterator[str]:
    """Start `python app.py` with its data in `folder` and yield its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = (folder / "app.log").open("wb")
    process = subprocess.Popen(
        [sys.executable, "app.py"],
        cwd=ROOT,
        env={
            **os.environ,
            "TOKENSCOPE_DATA": str(folder / "data"),
            "GRADIO_TEMP_DIR": str(folder / "uploads"),
            "GRADIO_SERVER_NAME": "127.0.0.1",
            "GRADIO_SERVER_PORT": str(port),
            **environment,
        },
        stdout=log,
        stderr=log,
    )
    address = f"http://127.0.0.1:{port}"
    try:
        _wait(address, process, folder / "app.log")
        yield address
    finally:
        process.terminate()
        process.wait(20)
        log.close()


def _wait(address: str, process: subprocess.Popen, log: Path) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"The app ended early:\n{log.read_text(errors='replace')}")
        try:
            urllib.request.urlopen(address, timeout=2).close()
            return
        except (urllib.error.URLError, TimeoutError, ConnectionError):
            time.sleep(0.3)
    raise RuntimeError(f"The app did not answer:\n{log.read_text(errors='replace')}")


def open_browser(playwright: Playwright, *flags: str) -> Browser:
    """The system's Chromium; where there is none, Playwright's own."""
    return playwright.chromium.launch(executable_path=shutil.which("chromium"), args=[*FLAGS, *flags])
