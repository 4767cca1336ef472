"""A person speaks, or plays a file: every sample arrives in order, the words come, the recording can be looked at."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import groupby, pairwise
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect

import asr_core
from components.live_sessions import PAUSE, WINDOW
from tests.browser.server import FLAGS, ROOT, running_app

#: A tone that climbs: its frequency tells the moment, so gaps, repeats and another order show.
STEP, FIRST_HERTZ, HERTZ_A_STEP = 0.25, 300, 20
SLOW = """
import time
from components.live_sessions import LiveSession

push = LiveSession.push


def slow_push(self, packet):
    time.sleep(1.2)
    return push(self, packet)


LiveSession.push = slow_push
"""


@pytest.fixture(scope="module")
def slow_app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of an app that takes 1.2 s to answer each packet."""
    folder = tmp_path_factory.mktemp("slow")
    (folder / "sitecustomize.py").write_text(SLOW, encoding="utf-8")
    with running_app(folder, PYTHONPATH=os.pathsep.join((str(folder), str(ROOT)))) as address:
        yield address


@pytest.fixture(scope="module")
def small_app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of an app that takes three seconds of one person."""
    with running_app(
        tmp_path_factory.mktemp("small"), TOKENSCOPE_MAX_LIVE="1", TOKENSCOPE_MAX_LIVE_MINUTES="0.05"
    ) as address:
        yield address


@pytest.fixture(scope="module")
def tone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Fifteen seconds of the stepped tone, at 48 kHz."""
    rate, steps = 48_000, 60
    hertz = np.repeat(FIRST_HERTZ + HERTZ_A_STEP * np.arange(steps), int(STEP * rate))
    path = tmp_path_factory.mktemp("tone") / "tone.wav"
    asr_core.write_wav(path, 0.5 * np.sin(2 * np.pi * np.cumsum(hertz / rate)), rate)
    return path


@pytest.fixture(scope="module")
def speech(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sample as a WAV file, with silence around it."""
    samples = asr_core.read_audio(ROOT / "assets" / "samples" / "meeting-date.flac", sample_rate=48_000)
    path = tmp_path_factory.mktemp("speech") / "speech.wav"
    asr_core.write_wav(path, np.pad(samples, 48_000), 48_000)
    return path


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


Open = Callable[..., Live]


@pytest.fixture
def live(app: str, browser: Browser) -> Iterator[Open]:
    """Opens pages: live() for one without a microphone, live(sound=path) for one that hears a file."""
    with ExitStack() as stack:

        def open_page(
            address: str = app, *, sound: Path | None = None, permissions: tuple[str, ...] = ("microphone",), **options
        ) -> Live:
            chosen = browser if sound is None else stack.enter_context(microphone(browser, sound))
            context: BrowserContext = chosen.new_context(viewport={"width": 1440, "height": 1000}, **options)
            stack.callback(context.close)
            if permissions:
                context.grant_permissions(list(permissions))
            return Live(context.new_page()).open(address)

        yield open_page


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


@pytest.mark.parametrize("delay", ["no delay", "1.2 s"])
def test_every_sample_arrives_in_order(
    live: Open, app: str, request: pytest.FixtureRequest, tone: Path, tmp_path: Path, delay: str
) -> None:
    address = app if delay == "no delay" else request.getfixturevalue("slow_app")
    page = live(address, sound=tone).press("Start").wait("listening")
    page.page.wait_for_timeout(7000)
    page.press("Stop").wait("done")
    samples = page.check(tmp_path)
    rate = asr_core.probe(tmp_path / "got.wav").sample_rate
    steps = steps_of(samples, rate)
    assert len(steps) >= 20
    for (step, _), (after, _) in pairwise(steps):
        assert after == step + 1
    assert all(length == pytest.approx(STEP, abs=0.031) for _, length in steps[1:-1])
    if delay == "1.2 s":
        assert page.number("packets") < 12  # what waits goes together


def test_a_page_that_stands_still_loses_nothing(live: Open, tone: Path, tmp_path: Path) -> None:
    """The page's script is blocked, as it is in a tab that sleeps; a pause is not recorded."""
    page = live(sound=tone).press("Start").wait("listening")
    page.page.wait_for_timeout(1000)
    page.page.evaluate("() => { const end = Date.now() + 3000; while (Date.now() < end); }")
    page.page.wait_for_timeout(1000)
    page.press("Pause").wait("paused")
    page.page.wait_for_timeout(300)
    before = page.number("captured")
    page.page.wait_for_timeout(1200)
    assert page.number("captured") == before
    page.press("Go on").wait("listening")
    page.page.wait_for_timeout(1000)
    page.press("Stop").wait("done")
    samples = page.check(tmp_path)
    assert len(samples) > before
    rate = asr_core.probe(tmp_path / "got.wav").sample_rate
    steps = steps_of(samples[:before], rate)
    # Chromium itself may skip some sound while it is starved; what it gave is there, once and in order.
    assert len(steps) >= 14
    assert all(after > step for (step, _), (after, _) in pairwise(steps[:-1]))
    assert all(length < STEP + 0.031 for _, length in steps)


def test_speech_becomes_text(live: Open, demo: asr_core.Recognizer, speech: Path, tmp_path: Path) -> None:
    page = live(sound=speech).press("Start").wait("listening")
    expect(page.part.locator(".ts-live-draft")).to_contain_text("meeting")
    page.page.wait_for_timeout(6500)
    page.press("Stop").wait("done")
    page.check(tmp_path)
    assert "meeting is on Monday" in page.text
    assert page.text == streamed(demo, tmp_path / "got.wav")
    expect(page.part.locator(".ts-live-draft")).to_have_text("")
    expect(page.part.locator("[data-figure=delay]")).to_have_text(re.compile(r"^\d\.\d s$"))


def test_a_file_is_heard_as_it_is(live: Open, demo: asr_core.Recognizer, samples: Path, tmp_path: Path) -> None:
    """It ends by itself, and its sound is kept sample by sample."""
    page = live().play("platform-nineteen.flac").wait("done")
    kept = page.check(tmp_path)
    original = asr_core.read_audio(samples / "platform-nineteen.flac")
    assert len(kept) == len(original) and np.abs(kept - original).max() < 2e-4
    assert page.text == streamed(demo, tmp_path / "got.wav")
    sentences = page.part.locator(".ts-live-sentences tr")
    expect(sentences).to_have_count(len(demo.transcribe(tmp_path / "got.wav").sentences))


def test_stop_while_a_packet_is_on_its_way(live: Open, slow_app: str, tmp_path: Path) -> None:
    page = live(slow_app).play("friday-meeting.flac").heard_for(2.0, 16_000)
    page.press("Stop").wait("done")
    assert len(page.check(tmp_path)) >= 2.0 * 16_000
    assert "meeting" in page.text


def test_the_second_recording_begins_empty(live: Open, demo: asr_core.Recognizer, tmp_path: Path) -> None:
    page = live().play("meeting-date.flac").wait("done")
    first = page.text
    page.play("sandwich.flac")
    assert page.text == ""
    page.wait("done")
    page.check(tmp_path)
    assert page.text != first and page.text == streamed(demo, tmp_path / "got.wav")
    page.press("Clear").wait("idle")
    expect(page.part).to_contain_text("Press Start and speak. Your words appear here.")
    assert page.text == ""


def test_two_people_at_once_do_not_mix(live: Open, demo: asr_core.Recognizer, tmp_path: Path) -> None:
    pages = [live(), live()]
    for page, name in zip(pages, ("meeting-date", "platform-nineteen"), strict=True):
        page.play(f"{name}.flac")
    for i, page in enumerate(pages):
        page.wait("done")
        folder = tmp_path / str(i)
        folder.mkdir()
        page.check(folder)
        assert page.text == streamed(demo, folder / "got.wav")
    assert pages[0].text != pages[1].text


def test_a_lost_connection_loses_nothing(live: Open, demo: asr_core.Recognizer, tmp_path: Path) -> None:
    page = live().play("friday-meeting.flac").heard_for(2.0, 16_000)
    page.page.context.set_offline(True)
    expect(page.part).to_contain_text("Your voice is kept here")
    page.page.wait_for_timeout(10_000)
    page.page.context.set_offline(False)
    expect(page.part).not_to_contain_text("Your voice is kept here", timeout=15_000)
    page.wait("done")
    page.check(tmp_path)
    assert page.text == streamed(demo, tmp_path / "got.wav")


def test_the_page_keeps_what_a_server_forgets(live: Open, tmp_path: Path) -> None:
    page = live().play("friday-meeting.flac").heard_for(2.0, 16_000)
    page.page.route("**/component_server**", lambda route: route.fulfill(json={"error": "No longer kept here."}))
    page.wait("done")
    expect(page.part.get_by_role("alert")).to_contain_text("No longer kept here.")
    path = page.sound(tmp_path)
    assert len(asr_core.read_audio(path)) == page.number("captured") > 2.0 * 16_000


def test_a_server_says_what_it_does_not_take(live: Open, small_app: str, tmp_path: Path) -> None:
    page, other = live(small_app), live(small_app)
    page.play("friday-meeting.flac")
    other.part.locator("section", has_text="No microphone?").get_by_role("button", name="Play").click()
    expect(other.part.get_by_role("alert")).to_contain_text("takes no more live recordings at once than 1")
    other.wait("idle")
    page.wait("done")
    expect(page.part).to_contain_text("so this one was ended. All of it is kept.")
    assert len(asr_core.read_audio(page.sound(tmp_path))) == 3 * 16_000
    assert not page.problems, page.problems


def test_pause_and_go_on(live: Open, demo: asr_core.Recognizer, samples: Path, tmp_path: Path) -> None:
    page = live().play("meeting-date.flac").heard_for(1.5, 16_000)
    page.press("Pause").wait("paused")
    before = page.number("captured")
    page.page.wait_for_timeout(1500)
    assert page.number("captured") == before
    page.press("Go on").wait("done")
    assert len(page.check(tmp_path)) == len(asr_core.read_audio(samples / "meeting-date.flac"))
    assert page.text == streamed(demo, tmp_path / "got.wav")


def test_the_recording_opens_in_transcribe(live: Open, demo: asr_core.Recognizer, tmp_path: Path) -> None:
    page = live().play("meeting-date.flac").wait("done")
    whole = demo.transcribe(page.sound(tmp_path))
    with page.page.expect_download() as download:
        page.press("TXT")
    assert " ".join(Path(download.value.path()).read_text(encoding="utf-8").split()) == page.text
    page.press("Open in Transcribe")
    view = page.page
    expect(view.locator("[data-ready]")).to_be_visible(timeout=60_000)
    expect(view.locator(".ts-name")).to_contain_text("live ")
    expect(view.locator(".ts-read")).to_have_text(re.compile(r"\s+".join(map(re.escape, whole.text.split()))))
    expect(view.locator("#ts-live-beside")).to_contain_text("Heard live")
    expect(view.locator("#ts-live-beside .ts-live-compared").first).to_have_text(page.text)
    assert not page.problems, page.problems


def test_the_text_waits_for_a_reader(live: Open) -> None:
    page = live()
    page.page.add_style_tag(content="#ts-live .ts-live-prose { max-height: 80px; min-height: 0; max-width: 320px }")
    page.play("friday-meeting.flac")
    prose = page.part.locator(".ts-live-prose")
    page.page.wait_for_function("(p => p.scrollHeight > p.clientHeight + 90)(document.querySelector('.ts-live-prose'))")
    at_end = "p => p.scrollHeight - p.scrollTop - p.clientHeight < 48"
    assert prose.evaluate(at_end)
    prose.evaluate("p => (p.scrollTop = 0)")
    count = len(page.text)
    page.page.wait_for_function("n => document.querySelector('.ts-live-final').textContent.length > n + 10", arg=count)
    assert prose.evaluate("p => p.scrollTop") == 0
    page.press("Newer text")
    assert prose.evaluate(at_end)
    page.press("Stop").wait("done")


def test_a_refused_microphone_is_explained(app: str, browser: Browser) -> None:
    with microphone(browser, None) as chromium:
        page = Live(chromium.new_page()).open(app).press("Start")
        expect(page.part.get_by_role("alert")).to_contain_text("does not allow this page the microphone")
        page.wait("idle")


def test_no_microphone_is_explained(live: Open) -> None:
    page = live()
    page.page.evaluate(
        "() => { navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException('', 'NotFoundError')); }"
    )
    page.press("Start")
    expect(page.part.get_by_role("alert")).to_contain_text("No microphone was found")
    page.wait("idle")


def test_plain_http_is_explained_and_files_still_play(app: str, browser: Browser, tmp_path: Path) -> None:
    port = app.rsplit(":", 1)[1]
    with microphone(browser, None, "--host-resolver-rules=MAP plain.test 127.0.0.1") as chromium:
        page = Live(chromium.new_page(accept_downloads=True)).open(f"http://plain.test:{port}")
        expect(page.part).to_contain_text("plain http, where browsers give no microphone")
        page.press("Start")
        expect(page.part.get_by_role("alert")).to_contain_text("https or on localhost")
        page.play("sandwich.flac").wait("done")
        page.check(tmp_path)


def test_names_of_files_are_text(live: Open, tmp_path: Path) -> None:
    page = live()
    file = tmp_path / "<img src=x onerror=window.hacked=1>${alert(1)}.wav"
    file.write_text("no sound")
    page.part.locator("input[type=file]").set_input_files(file)
    expect(page.part.get_by_role("alert")).to_contain_text(
        "<img src=x onerror=window.hacked=1>${alert(1)}.wav holds no"
    )
    assert page.page.evaluate("window.hacked") is None
    assert not page.problems
