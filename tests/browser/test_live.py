"""A person speaks, or plays a file: the words come, the recording can be looked at, and what does not work is said."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

import asr_core
from tests.browser.live import Live, Open, microphone, streamed
from tests.browser.server import running_app


@pytest.fixture(scope="module")
def small_app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of an app that takes three seconds of one person."""
    with running_app(
        tmp_path_factory.mktemp("small"), TOKENSCOPE_MAX_LIVE="1", TOKENSCOPE_MAX_LIVE_MINUTES="0.05"
    ) as address:
        yield address


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


def test_the_recording_opens_in_transcribe(live: Open, demo: asr_core.Recognizer, tmp_path: Path) -> None:
    page = live().play("meeting-date.flac").wait("done")
    whole = demo.transcribe(page.sound(tmp_path))
    with page.page.expect_download() as download:
        page.press("TXT")
    assert " ".join(Path(download.value.path()).read_text(encoding="utf-8").split()) == page.text
    page.part.get_by_text("More formats").click()
    for name, format in (("EAF", "eaf"), ("Hugging Face dataset", "hf")):
        with page.page.expect_download() as download:
            page.press(name)
        download.value.save_as(path := tmp_path / download.value.suggested_filename)
        if format == "hf":
            zipfile.ZipFile(path).extractall(path := tmp_path / "dataset")
        assert asr_core.formats.read(path, format=format).transcript().text.split() == page.text.split()
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
    page.wait("done")


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
