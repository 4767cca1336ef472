"""One server and one browser for all tests of this folder; each test gets a fresh page that must not have failed."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

import asr_core

if TYPE_CHECKING:
    from tests.browser.live import Live, Open


def _server() -> ModuleType:
    spec = importlib.util.spec_from_file_location("browser_server", Path(__file__).with_name("server.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


server = _server()
expect.set_options(timeout=30_000)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of the running app."""
    with server.running_app(tmp_path_factory.mktemp("app")) as address:
        yield address


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        chromium = server.open_browser(playwright)
        yield chromium
        chromium.close()


@pytest.fixture
def samples() -> Path:
    return server.SAMPLES


@pytest.fixture(scope="session")
def context(browser: Browser) -> Iterator[BrowserContext]:
    """Of all pages that need none of their own: scripts that have been fetched and compiled once need not be again."""
    context = browser.new_context(accept_downloads=True)
    yield context
    context.close()


@pytest.fixture
def page(app: str, context: BrowserContext) -> Iterator[Page]:
    """The page, open, 1440 pixels wide, with nothing kept. Fails the test if a script of the page has failed."""
    page = context.new_page()
    page.set_viewport_size({"width": 1440, "height": 1100})
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda said: said.type == "error" and problems.append(said.text))
    page.goto(app)
    expect(page.locator("#ts-device")).to_contain_text("float")
    yield page
    for opened in context.pages:
        if opened.url.startswith(app):
            opened.evaluate("localStorage.clear(); sessionStorage.clear()")
        opened.close()
    context.clear_cookies()
    context.clear_permissions()
    assert not problems, problems


class View:
    """The alignment view of a page: where its items are, and what has been played."""

    #: From the top of the canvas to the middle of the tokens: overview, ruler, waveform, spectrogram, marks.
    TOKENS = 28 + 4 + 20 + 92 + 4 + 120 + 2 + 8 + 14
    GUTTER = 72

    def __init__(self, page: Page) -> None:
        self.page = page
        self.element = page.locator("#ts-align [data-ready], #ts-align[data-ready]").first

    def wait(self) -> View:
        expect(self.element).to_be_visible(timeout=60_000)
        return self

    @property
    def window(self) -> tuple[float, float]:
        """The seconds in view."""
        a, b = self.element.get_attribute("data-view").split(":")
        return float(a), float(b)

    def place(self, time: float, y: float = TOKENS) -> tuple[float, float]:
        """Where on the page a time is, in the row of the tokens or at `y` of the canvas."""
        box = self.page.locator(".ts-overlay").bounding_box()
        a, b = self.window
        x = box["x"] + self.GUTTER + (time - a) / (b - a) * (box["width"] - self.GUTTER)
        return x, box["y"] + y

    def played(self) -> tuple[float, float, int] | None:
        """Start, end and number of samples of the span that was played last."""
        said = self.element.get_attribute("data-played")
        if not said:
            return None
        start, end, samples = said.split(":")
        return float(start), float(end), int(samples)

    def wait_played(self, start: float, end: float) -> int:
        """Wait until a span has been played, and return how many samples it had."""
        expect(self.element).to_have_attribute("data-played", _starts_with(start, end), timeout=10_000)
        return self.played()[2]

    def focus(self) -> None:
        self.page.locator(".ts-align").focus()


def _starts_with(start: float, end: float) -> re.Pattern[str]:
    return re.compile(re.escape(f"{start:.3f}:{end:.3f}:") + r"\d+$")


@pytest.fixture
def view(page: Page) -> View:
    return View(page)


@pytest.fixture
def live(app: str, browser: Browser) -> Iterator[Open]:
    """Opens pages: live() for one without a microphone, live(sound=path) for one that hears a file.

    `script` runs before those of the page.
    """
    from tests.browser.live import Live, microphone  # it brings the app's modules in, which takes seconds

    with ExitStack() as stack:

        def open_page(
            address: str = app,
            *,
            sound: Path | None = None,
            script: str = "",
            permissions: tuple[str, ...] = ("microphone",),
            **options: Any,
        ) -> Live:
            chosen = browser if sound is None else stack.enter_context(microphone(browser, sound))
            context: BrowserContext = chosen.new_context(viewport={"width": 1440, "height": 1000}, **options)
            stack.callback(context.close)
            if script:
                context.add_init_script(script)
            if permissions:
                context.grant_permissions(list(permissions))
            return Live(context.new_page()).open(address)

        yield open_page


@pytest.fixture(scope="session")
def speech(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sample as a WAV file, with silence around it."""
    samples = asr_core.read_audio(server.SAMPLES / "meeting-date.flac", sample_rate=48_000)
    path = tmp_path_factory.mktemp("speech") / "speech.wav"
    asr_core.write_wav(path, np.pad(samples, 48_000), 48_000)
    return path
