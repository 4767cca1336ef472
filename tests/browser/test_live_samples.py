"""Nothing is lost between the microphone and the file: every sample arrives, once and in order, whatever goes wrong."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Route, expect

import asr_core
from tests.browser.live import STEP, Open, stepped_tone, steps_of, streamed
from tests.browser.server import ROOT, running_app

SLOW = """
import time
from components.live_session import LiveSession

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


@pytest.fixture(params=["no delay", "1.2 s"])
def answering(request: pytest.FixtureRequest, app: str) -> str:
    """Address of an app that answers at once, and of one that takes its time."""
    return app if request.param == "no delay" else request.getfixturevalue("slow_app")


@pytest.fixture(scope="module")
def tone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Fifteen seconds of the stepped tone, at 48 kHz."""
    path = tmp_path_factory.mktemp("tone") / "tone.wav"
    asr_core.write_wav(path, stepped_tone(48_000, 60), 48_000)
    return path


def test_every_sample_arrives_in_order(live: Open, app: str, answering: str, tone: Path, tmp_path: Path) -> None:
    page = live(answering, sound=tone).press("Start").wait("listening")
    page.page.wait_for_timeout(7000)
    page.press("Stop").wait("done")
    samples = page.check(tmp_path)
    rate = asr_core.probe(tmp_path / "got.wav").sample_rate
    steps = steps_of(samples, rate)
    assert len(steps) >= 20
    for (step, _), (after, _) in pairwise(steps):
        assert after == step + 1
    assert all(length == pytest.approx(STEP, abs=0.031) for _, length in steps[1:-1])
    if answering != app:
        assert page.number("packets") < 12  # what waits goes together


def test_a_page_that_stands_still_loses_nothing(live: Open, answering: str, tone: Path, tmp_path: Path) -> None:
    """The page's script is blocked, as it is in a tab that sleeps; a pause is not recorded."""
    page = live(answering, sound=tone).press("Start").wait("listening")
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


def test_two_people_at_once_do_not_mix(
    live: Open, demo: asr_core.Recognizer, tone: Path, speech: Path, tmp_path: Path
) -> None:
    """One whistles, one speaks, each into a microphone of their own."""
    whistler, speaker = live(sound=tone), live(sound=speech)
    for page in (whistler, speaker):
        page.press("Start").wait("listening")
    whistler.page.wait_for_timeout(5000)
    heard = []
    for i, page in enumerate((whistler, speaker)):
        page.press("Stop").wait("done")
        folder = tmp_path / str(i)
        folder.mkdir()
        heard.append(page.check(folder))
        assert page.text == streamed(demo, folder / "got.wav")
    steps = [step for step, _ in steps_of(heard[0], 48_000)]
    assert len(steps) > 15 and steps == list(range(steps[0], steps[0] + len(steps)))
    assert "meeting" in speaker.text and "meeting" not in whistler.text


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


def test_pause_and_go_on(live: Open, demo: asr_core.Recognizer, samples: Path, tmp_path: Path) -> None:
    page = live().play("meeting-date.flac").heard_for(1.5, 16_000)
    page.press("Pause").wait("paused")
    before = page.number("captured")
    page.page.wait_for_timeout(1500)
    assert page.number("captured") == before
    page.press("Go on").wait("done")
    assert len(page.check(tmp_path)) == len(asr_core.read_audio(samples / "meeting-date.flac"))
    assert page.text == streamed(demo, tmp_path / "got.wav")


#: Keeps what the page opens, so that a test can do to it what a computer does.
WATCHED = """
const { mediaDevices } = navigator;
const open = mediaDevices.getUserMedia.bind(mediaDevices);
mediaDevices.getUserMedia = async (wanted) => (window.opened = await open(wanted));
window.AudioContext = class extends AudioContext {
  constructor(...options) {
    super(...options);
    window.context = this;
  }
};
"""


def test_sleep_is_said_and_an_unplugged_microphone_ends_the_recording(live: Open, tone: Path, tmp_path: Path) -> None:
    page = live(sound=tone, script=WATCHED).press("Start").wait("listening").heard_for(1.0, 48_000)
    page.page.evaluate("window.context.suspend()")
    page.page.wait_for_timeout(2500)
    page.page.evaluate("window.context.resume()")
    expect(page.part).to_contain_text(
        re.compile(r"gave nothing for [2-9]\.\d s at 0:0\d\.\d; the computer may have slept")
    )
    page.page.evaluate("window.opened.getAudioTracks()[0].dispatchEvent(new Event('ended'))")
    page.wait("done")
    expect(page.part).to_contain_text(
        "The microphone was unplugged or switched off. What was said up to there is kept."
    )
    assert len(page.check(tmp_path)) >= 48_000


def test_a_full_disk_is_said_and_waited_for(live: Open, demo: asr_core.Recognizer, tmp_path: Path) -> None:
    page = live().play("friday-meeting.flac").heard_for(2.0, 16_000)

    def refuse(route: Route) -> None:
        if "live_push" not in (route.request.post_data or ""):
            return route.continue_()
        return route.fulfill(json={"next": 0, "trouble": "The server's disk is full."})

    page.page.route("**/component_server**", refuse)
    expect(page.part).to_contain_text("The server's disk is full. Your voice is kept here and sent when there is room.")
    page.page.unroute("**/component_server**")
    expect(page.part).not_to_contain_text("disk is full")
    page.press("Stop").wait("done")
    page.check(tmp_path)
    assert page.text == streamed(demo, tmp_path / "got.wav")
