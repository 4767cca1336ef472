"""From the command to the first page, beside what importing gradio takes by itself."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from tests.bench.measuring import timed
from tests.bench.rows.comparing import browser_server
from tests.bench.table import Line
from tests.bench.worker import ROOT

TURNS = 5


def rows() -> Iterator[Line]:
    """Seconds until the page is served, less those of the import just before."""
    turns = [(timed(_import_gradio), _first_page()) for _ in range(TURNS)]
    alone, whole = (median(taken) for taken in zip(*turns, strict=True))
    over = median(page - imported for imported, page in turns)
    note = f"{whole:.1f} s in all; importing gradio alone takes {alone:.1f} s"
    what = "app start, over importing gradio"
    yield Line(what, f"{over:.1f} s", figure=over, unit="s", target=3, at_most=True, note=note)


def _import_gradio() -> None:
    subprocess.run([sys.executable, "-c", "import gradio"], check=True, cwd=ROOT)


def _first_page() -> float:
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        with browser_server().running_app(Path(folder)):
            return time.perf_counter() - began
