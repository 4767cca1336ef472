"""The tab "Live" as the browser's tests see it: its page, its microphone, and a tone that tells where it is."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path

import numpy as np
from playwright.sync_api import Browser, ConsoleMessage, Page, expect

import asr_core
from components.live_session import PAUSE, WINDOW
from tests.browser.server import FLAGS

#: A tone that climbs: its frequency tells the moment, so gaps, repeats and another order show.
STEP, FIRST_HERTZ, HERTZ_A_STEP = 0.25, 300, 20


class Live:
    """The tab Live of one page."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.problems: list[str] = []
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("console", self._note)
        self.part = page.locator("#ts-live [data-stage], #ts-live[data-stage]").first

    def open(self, address: str) -> Live:
        self.page.goto(address)
        expect(self.page.locator("#ts-device")).to_contain_text("float", timeout=60_000)
        self.page.get_by_role("tab", name="Live").click()
        self.wait("idle")
        return self

    def _note(self, said: ConsoleMessage) -> None:
        if said.type == "error" and "Failed to load resource" not in said.text:
            self.problems.append(said.text)

    def wait(self, stage: str) -> Live:
        expect(self.part).to_have_attribute("data-stage", stage, timeout=60_000)
        return self

    def press(self, name: str) -> Live:
        self.part.get_by_role("button", name=name, exact=True).first.click()
        return self

    def play(self, file: str) -> Live:
        """A sample as microphone."""
        menu = self.part.get_by_label("File to play")
        menu.select_option(menu.locator("option", has_text=file).get_attribute("value"))
        self.part.locator("section", has_text="No microphone?").get_by_role("button", name="Play").click()
        return self.wait("listening")

    def number(self, name: str) -> int:
        return int(self.part.get_attribute(f"data-{name}") or 0)

    def heard_for(self, seconds: float, rate: int) -> Live:
        """Wait until so much has been recorded."""
        self.page.wait_for_function(
            "n => Number(document.querySelector('[data-captured]')?.dataset.captured) >= n", arg=int(seconds * rate)
        )
        return self

    @property
    def text(self) -> str:
        return " ".join(self.part.locator(".ts-live-final").text_content().split())

    def sound(self, folder: Path) -> Path:
        """The recording, as a person saves it."""
        with self.page.expect_download() as download:
            self.press("WAV")
        path = folder / "got.wav"
        download.value.save_as(path)
        return path

    def check(self, folder: Path) -> np.ndarray:
        """All that was recorded has arrived and is in the file. Returns (samples,)."""
        info = asr_core.probe(path := self.sound(folder))
        samples = asr_core.read_audio(path, sample_rate=info.sample_rate)
        assert len(samples) == self.number("captured") == self.number("sent") == self.number("kept")
        expect(self.part.locator("[data-figure=lost]")).to_have_text("0")
        assert not self.problems, self.problems
        return samples


def streamed(demo: asr_core.Recognizer, path: Path) -> str:
    """The live text of a recording, without the page."""
    rate = asr_core.probe(path).sample_rate
    with demo.stream(window=WINDOW, pause=PAUSE) as stream:
        stream.feed(asr_core.read_audio(path, sample_rate=rate), rate)
        return stream.finish().text


def stepped_tone(rate: int, steps: int) -> np.ndarray:
    """(samples,) of the tone."""
    hertz = np.repeat(FIRST_HERTZ + HERTZ_A_STEP * np.arange(steps), int(STEP * rate))
    return 0.5 * np.sin(2 * np.pi * np.cumsum(hertz / rate))


def steps_of(samples: np.ndarray, rate: int) -> list[tuple[int, float]]:
    """The tone's steps in the order in which they are heard, with the seconds of each."""
    size, hop = int(0.06 * rate), int(0.01 * rate)
    window = np.hanning(size)
    found = []
    for first in range(0, len(samples) - size, hop):
        spectrum = np.abs(np.fft.rfft(samples[first : first + size] * window, 1 << 16))
        if spectrum.max() > 0.02 * size:
            hertz = spectrum.argmax() * rate / (1 << 16)
            found.append(round((hertz - FIRST_HERTZ) / HERTZ_A_STEP))
    return [(step, 0.01 * len(list(group))) for step, group in groupby(found)]


#: Opens a page: see the fixture `live`.
Open = Callable[..., Live]


@contextmanager
def microphone(browser: Browser, sound: Path | None, *flags: str) -> Iterator[Browser]:
    """A browser with a microphone, which hears a file, once; without a file, nobody allows it."""
    chromium = browser.browser_type.launch(
        executable_path=shutil.which("chromium"),
        args=[
            *FLAGS,
            "--use-fake-device-for-media-stream",
            *(("--use-fake-ui-for-media-stream", f"--use-file-for-fake-audio-capture={sound}%noloop") if sound else ()),
            *flags,
        ],
    )
    yield chromium
    chromium.close()
