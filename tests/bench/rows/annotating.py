"""The Annotate tab in Chromium: an hour with 12,000 tokens; edits there and back, and what the page paints then."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from unittest.mock import patch

import numpy as np
from playwright.sync_api import Locator, Page, expect, sync_playwright

import asr_core
from asr_core.annotation import Document
from tests.bench.rows.comparing import RATE, SECONDS, TOKENS, browser_server, made_up
from tests.bench.table import Line

EDITS, SPAN = 30, 10.0
VIEW = "#ts-annotate[data-ready], #ts-annotate [data-ready]"
#: Long tasks of the page's thread, as the browser reports them.
WATCH = """() => {
  window.stalls = [];
  new PerformanceObserver((list) => window.stalls.push(...list.getEntries().map((one) => one.duration)))
    .observe({ type: "longtask" });
}"""


def rows() -> Iterator[Line]:
    """Milliseconds: the first picture, an edit from the key to the store's answer, and what is painted after it."""
    with tempfile.TemporaryDirectory() as folder, _page(Path(folder)) as (page, view):
        first = float(view.get_attribute("data-first"))
        page.evaluate(WATCH)
        trips, frames = _edits(page, view)
        stall = max(page.evaluate("window.stalls"), default=0.0)
    what = f"Annotate, {TOKENS:,} tokens"
    yield Line(f"{what}: first drawing", f"{first:.0f} ms", figure=first, unit="ms", target=500, at_most=True)
    usual, slow = median(trips), sorted(trips)[int(0.95 * len(trips))]
    note = f"median of {len(trips)} edits: boundaries, texts, accepting, undo; 95 % took less than {slow:.0f} ms"
    yield Line(
        f"{what}: edit and answer", f"{usual:.0f} ms", figure=usual, unit="ms", target=100, at_most=True, note=note
    )
    note = f"after an edit, at {SPAN:g} s; the longest stall of the page was {stall:.0f} ms (0 = none above 50)"
    usual = median(frames)
    yield Line(f"{what}: a frame", f"{usual:.1f} ms", figure=usual, unit="ms", target=16, at_most=True, note=note)


def _edits(page: Page, view: Locator) -> tuple[list[float], list[float]]:
    """Edits of four kinds, one after the other: how long each took there and back, and the painting after it."""
    trips, frames = [], []
    for i in range(EDITS):
        page.keyboard.press("ArrowRight" if i % 4 else "n")
        page.wait_for_timeout(120)
        before = view.get_attribute("data-trips") or "0"
        if i % 4 == 1:
            page.keyboard.press("e")
            page.keyboard.type(f"new{i}")
            page.keyboard.press("Enter")
        else:
            page.keyboard.press(("Alt+ArrowRight", "", "a", "Control+z")[i % 4])
        expect(view).not_to_have_attribute("data-trips", before, timeout=10_000)
        page.wait_for_timeout(400)
        trips.append(float(view.get_attribute("data-trip")))
        frames.append(float(view.get_attribute("data-draw")))
    return trips, frames


@contextmanager
def _page(folder: Path) -> Iterator[tuple[Page, Locator]]:
    """The real app in this process, with a document of a made-up transcript, in Chromium, at a view of SPAN seconds."""
    from app import build_app, launch_options
    from components.services import Services
    from components.settings import Settings

    settings = Settings(data=folder / "data")
    services = Services.start(settings)
    source = folder / "hour.wav"
    samples = 0.1 * np.random.default_rng(0).standard_normal(int(SECONDS * RATE)).astype(np.float32)
    asr_core.write_wav(source, samples, RATE)
    document = Document.from_transcript(made_up(0))
    entry = services.annotations.store.add(document, name="hour.wav", audio=source)
    server = browser_server()
    with patch.object(Services, "start", return_value=services):
        blocks = build_app(settings)
        options = {**launch_options(settings), "server_name": "127.0.0.1", "prevent_thread_lock": True, "quiet": True}
        _, address, _ = blocks.launch(**options)
        with sync_playwright() as playwright:
            browser = server.open_browser(playwright)
            page = browser.new_page(viewport={"width": 1440, "height": 1100})
            page.goto(f"{address}#a={entry.id}")
            view = page.locator(VIEW).first
            expect(view).to_be_visible(timeout=120_000)
            page.wait_for_timeout(4000)
            yield page, view
            browser.close()
        blocks.close()
