"""The Compare tab in Chromium: an hour, 12,000 tokens in each of four tiers; first drawing, and frames at 10 s."""

from __future__ import annotations

import importlib.util
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from types import ModuleType
from typing import Any
from unittest.mock import patch

import numpy as np
from playwright.sync_api import Page, expect, sync_playwright

import asr_core
from tests.bench.table import Line

TOKENS, COLUMNS, SECONDS, RATE = 12_000, 4, 3600.0, 16_000
FRAMES, SPAN = 120, 10.0
VIEW = "#ts-compare-view [data-ready], #ts-compare-view[data-ready]"


def rows() -> Iterator[Line]:
    """Milliseconds as the view measures them: from the data to the first picture, and of each painting."""
    with tempfile.TemporaryDirectory() as folder, _page(Path(folder)) as page:
        first = float(page.locator(VIEW).first.get_attribute("data-first"))
        frames = _frames(page)
    size = f"{TOKENS:,} tokens x {COLUMNS}"
    yield Line(f"Compare, {size}: first drawing", f"{first:.0f} ms", figure=first, unit="ms", target=800, at_most=True)
    usual, slow = median(frames), sorted(frames)[int(0.95 * len(frames))]
    note = f"95th percentile of {len(frames)} frames of panning and zooming around {SPAN:g} s; median {usual:.1f} ms"
    what = f"Compare, {size}: a frame"
    yield Line(what, f"{slow:.1f} ms", figure=slow, unit="ms", target=16, at_most=True, note=note)


def _frames(page: Page) -> list[float]:
    """Zoom to the span, then pan, and zoom in and out; the painting of each frame."""
    view = page.locator(VIEW).first

    def span() -> float:
        a, b = map(float, view.get_attribute("data-view").split(":"))
        return b - a

    page.locator("#ts-compare-view .ts-align").focus()
    for _ in range(20):
        if span() <= SPAN:
            break
        page.keyboard.press("+")
        page.wait_for_timeout(60)
    box = page.locator("#ts-compare-view .ts-overlay").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 100)
    frames = []
    for i in range(FRAMES):
        if i % 10 in (0, 1):
            page.keyboard.press("-" if i % 10 else "+")
        else:
            page.mouse.wheel(0, 60 if i % 3 else -40)
        page.wait_for_timeout(50)
        frames.append(float(view.get_attribute("data-draw")))
    return frames


def made_up(seed: int) -> asr_core.Transcript:
    """Words of one token each that lie where those of other seeds lie, give or take a frame; some are other words."""
    random = np.random.default_rng(seed)
    step = SECONDS / TOKENS
    tokens, words = [], []
    for i in range(TOKENS):
        start = i * step + 0.08 * int(random.integers(0, 2))
        text = "other" if random.random() < 0.03 else f"word{i % 97}"
        token = asr_core.Token(1, f" {text}", start, start + 0.2, float(random.random()), -0.1)
        tokens.append(token)
        words.append(asr_core.Word(text, token.start, token.end, token.confidence, (token,)))
    sentences = tuple(
        asr_core.Sentence("", group[0].start, group[-1].end, 0.5, tuple(group))
        for group in (words[i : i + 20] for i in range(0, TOKENS, 20))
    )
    text = " ".join(word.text for word in words)
    return asr_core.Transcript(
        text=text, sentences=sentences, words=tuple(words), tokens=tuple(tokens), duration=SECONDS
    )


@contextmanager
def _page(folder: Path) -> Iterator[Page]:
    """The real app in this process, with a comparison that was not decoded but made up, in Chromium."""
    from app import build_app, launch_options
    from components import compare
    from components.documents import Sound
    from components.services import Services
    from components.settings import Settings
    from components.trials import Column

    settings = Settings(data=folder / "data")
    services = Services.start(settings)
    source = folder / "hour.wav"
    samples = 0.1 * np.random.default_rng(0).standard_normal(int(SECONDS * RATE)).astype(np.float32)
    asr_core.write_wav(source, samples, RATE)
    document = services.documents.add(source, "hour.wav", move=True)
    services.documents.prepare(document.id, Sound(samples, RATE, None))
    trial = services.trials.add(document.id, [Column(f"Made up {i}", made_up(i)) for i in range(COLUMNS)])

    def shown(*_: Any) -> Iterator[compare.CompareScreen]:
        yield compare.show(services, trial.id)

    server = browser_server()
    with patch.object(Services, "start", return_value=services), patch.object(compare, "compare", shown):
        blocks = build_app(settings)
        options = {**launch_options(settings), "server_name": "127.0.0.1", "prevent_thread_lock": True, "quiet": True}
        _, address, _ = blocks.launch(**options)
        with sync_playwright() as playwright:
            browser = server.open_browser(playwright)
            page = browser.new_page(viewport={"width": 1440, "height": 1100})
            page.goto(address)
            expect(page.locator("#ts-device")).to_contain_text("float", timeout=60_000)
            page.get_by_role("tab", name="Compare").click()
            page.set_input_files("#ts-compare-start input[type=file]", server.SAMPLES / "sandwich.flac")
            expect(page.locator("#ts-compare-source .ts-primary")).to_be_enabled(timeout=30_000)
            page.locator("#ts-compare-source .ts-primary").click()
            expect(page.locator(VIEW).first).to_be_visible(timeout=300_000)
            page.wait_for_timeout(4000)
            yield page
            browser.close()
        blocks.close()


def browser_server() -> ModuleType:
    """The helper of the browser's tests, which are no package."""
    path = Path(__file__).parents[2] / "browser" / "server.py"
    spec = importlib.util.spec_from_file_location("browser_server", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
