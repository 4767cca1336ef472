"""The page in hard conditions: no network, hostile text, bad files, long work, a narrow window."""

from __future__ import annotations

import json
import re
import shutil
import struct
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, Route, expect

import asr_core

HOSTILE = (
    "<img src=x onerror=window.hacked=1>",
    "${window.hacked=1}",
    "{{value}}",
    "</script><script>window.hacked=1</script>",
    "שלום",
    "👩‍🔬",
)


def test_nothing_comes_from_outside(app: str, browser: Browser, samples: Path) -> None:
    context = browser.new_context(viewport={"width": 1440, "height": 1100})
    outside: list[str] = []

    def only_the_app(route: Route) -> None:
        url = urlsplit(route.request.url)
        if url.scheme in ("data", "blob") or f"{url.scheme}://{url.netloc}" == app:
            route.continue_()
        else:
            outside.append(route.request.url)
            route.abort()

    context.route("**/*", only_the_app)
    page = context.new_page()
    page.goto(app)
    page.set_input_files("input[type=file]", samples / "sandwich.flac")
    expect(page.locator(".ts-read")).to_contain_text("Why")
    expect(page.locator("#ts-histogram .main-svg").first).to_be_visible()
    page.click(".ts-w >> nth=0")
    expect(page.locator("[data-played]")).to_have_count(1)
    page.click("role=tab[name='About this model']")
    expect(page.locator(".ts-vocabulary tbody tr").first).to_be_visible()
    context.close()
    assert outside == []


def test_hostile_file_name_is_text(page: Page, view, samples: Path) -> None:
    name = "<img src=x onerror=window.hacked=1>${window.hacked=1}{{value}} שלום 👩‍🔬.flac"
    page.set_input_files(
        "input[type=file]",
        {"name": name, "mimeType": "audio/flac", "buffer": (samples / "sandwich.flac").read_bytes()},
    )
    view.wait()
    expect(page.locator(".ts-name")).to_have_text(name)
    assert page.evaluate("window.hacked") is None


def test_hostile_tokens_are_text(page: Page, view, samples: Path, tmp_path: Path) -> None:
    model = hostile_model(tmp_path)
    page.locator("#ts-model input").fill(str(model))
    page.keyboard.press("Enter")
    expect(page.locator("#ts-understands")).to_contain_text("hostile")
    page.set_input_files("input[type=file]", samples / "friday-meeting.flac")
    view.wait()
    text = page.locator(".ts-read").inner_text()
    assert [piece for piece in HOSTILE if piece not in text] == []
    page.click(".ts-w >> nth=1")
    view.focus()
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    expect(page.locator(".ts-card-hover")).to_be_visible()
    page.click("role=tab[name='About this model']")
    expect(page.locator(".ts-vocabulary")).to_contain_text(HOSTILE[0])
    assert page.evaluate("window.hacked") is None
    assert page.locator("img[src=x]").count() == 0


def hostile_model(folder: Path) -> Path:
    """The embedded model with other texts for its commonest pieces."""
    model = folder / "hostile"
    shutil.copytree(Path(__file__).parents[2] / "assets" / "demo_model", model)
    (model / "tokenizer.model").unlink()
    config = json.loads((model / "config.json").read_text(encoding="utf-8"))

    def replaced(pieces: list[str]) -> list[str]:
        wanted = ("▁the", "▁The", "▁is", "▁at", "▁on", "▁in")
        new = {old: "▁" + text for old, text in zip(wanted, HOSTILE, strict=True)}
        return [new.get(piece, piece) for piece in pieces]

    def walk(node: object) -> None:
        if isinstance(node, dict):
            for key, value in node.items():
                if key in ("vocabulary", "labels") and isinstance(value, list):
                    node[key] = replaced(value)
                else:
                    walk(value)

    walk(config)
    (model / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return model


def test_a_file_that_is_no_audio_keeps_the_page_alive(page: Page, view, samples: Path, tmp_path: Path) -> None:
    file = tmp_path / "notes.wav"
    file.write_text("These are my notes.\n" * 20)
    page.set_input_files("input[type=file]", file)
    expect(page.locator(".ts-error")).to_contain_text("notes.wav is text, not audio.")
    assert "Traceback" not in page.content()
    page.set_input_files("input[type=file]", samples / "sandwich.flac")
    view.wait()
    expect(page.locator(".ts-error")).to_have_count(0)


def test_a_cut_off_file_gives_what_decodes(page: Page, view, samples: Path, tmp_path: Path) -> None:
    whole = tmp_path / "whole.wav"
    asr_core.write_wav(whole, asr_core.read_audio(samples / "meeting-date.flac"), 16_000)
    file = tmp_path / "cut.wav"
    file.write_bytes(whole.read_bytes()[: 44 + 2 * 16_000 * 3])
    page.set_input_files("input[type=file]", file)
    view.wait()
    expect(page.locator(".ts-message.ts-warn")).to_contain_text("The file ends early. The first 3.0 s could be read.")


def test_an_empty_recording_is_refused(page: Page, tmp_path: Path) -> None:
    file = tmp_path / "nothing.wav"
    file.write_bytes(
        b"RIFF"
        + struct.pack("<I", 36)
        + b"WAVEfmt "
        + struct.pack("<IHHIIHH", 16, 1, 1, 16000, 32000, 2, 16)
        + b"data"
        + struct.pack("<I", 0)
    )
    page.set_input_files("input[type=file]", file)
    expect(page.locator(".ts-error")).to_contain_text("holds no audio samples")


@pytest.fixture(scope="module")
def long_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten minutes of speech and pauses."""
    sample = asr_core.read_audio(Path(__file__).parents[2] / "assets" / "samples" / "friday-meeting.flac")
    rng = np.random.default_rng(7)
    pieces: list[np.ndarray] = []
    while sum(map(len, pieces)) < 600 * 16_000:
        pieces += [sample, np.zeros(int(rng.uniform(0.5, 1.2) * 16_000), np.float32)]
    file = tmp_path_factory.mktemp("long") / "ten-minutes.wav"
    asr_core.write_wav(file, np.concatenate(pieces)[: 600 * 16_000], 16_000)
    return file


def test_cancel_keeps_what_was_heard_and_goes_on(page: Page, view, long_file: Path, demo: asr_core.Recognizer) -> None:
    page.set_input_files("input[type=file]", long_file)
    far = re.compile(r"Listening to minute [2-9] of 10.*Text so far.* on Friday", re.DOTALL)
    expect(page.locator("#ts-messages")).to_contain_text(far)
    page.click(".ts-cancel")
    view.wait()
    message = page.locator("#ts-messages")
    expect(message).to_contain_text(re.compile(r"Stopped at minute \d+\. What was heard up to there is below\."))
    partly = page.locator(".ts-w").count()
    assert partly > 50
    page.click("text=Go on")
    expect(page.locator(".ts-progress")).to_be_visible()
    expect(message).to_contain_text("cut at quiet places", timeout=120_000)
    in_one_go = demo.transcribe(long_file)
    assert partly < len(in_one_go.words)
    expect(page.locator(".ts-w")).to_have_count(len(in_one_go.words))


def test_a_model_that_is_not_there_leaves_the_old_one(page: Page, tmp_path: Path) -> None:
    page.locator("#ts-model input").fill(str(tmp_path / "no-such.nemo"))
    page.keyboard.press("Enter")
    expect(page.locator("#ts-model-messages .ts-error")).to_contain_text("no-such.nemo")
    expect(page.locator("#ts-model input")).to_have_value("Built-in demo, English")
    expect(page.locator("#ts-understands")).to_contain_text("The built-in model knows")


def test_samples_can_be_heard_and_used(page: Page, view) -> None:
    page.click(".ts-sample >> nth=3 >> [aria-label='Play sample 4']")
    page.click(".ts-sample >> nth=3 >> text=Use")
    view.wait()
    expect(page.locator(".ts-read")).to_contain_text("sandwich?")
    page.click("text=New audio")
    expect(page.locator(".ts-dropzone")).to_be_visible()


def test_about_this_model(page: Page, demo: asr_core.Recognizer) -> None:
    page.click("role=tab[name='About this model']")
    about = page.locator("[data-part=about]")
    for text in ("It can", "It cannot", "Words wrong", "FastConformer, TDT and CTC", "3.74 M", "80 ms", "MLX"):
        expect(about).to_contain_text(text)
    page.fill("[placeholder='Search tokens']", "thing")
    found = [piece for piece in demo.vocabulary.pieces if "thing" in piece]
    assert len(found) > 1
    numbered = "".join(r"\d+\s*" + piece + r"\s*" for piece in found)
    expect(page.locator(".ts-vocabulary tbody")).to_have_text(re.compile(f"^{numbered}$"))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_narrow_page_does_not_scroll_sideways(app: str, browser: Browser, samples: Path, theme: str) -> None:
    context = browser.new_context(viewport={"width": 420, "height": 900}, has_touch=True)
    page = context.new_page()
    page.goto(f"{app}?__theme={theme}")
    width = "document.documentElement.scrollWidth - window.innerWidth"
    expect(page.locator(".ts-dropzone")).to_be_visible()
    assert page.evaluate(width) <= 0
    page.set_input_files("input[type=file]", samples / "friday-meeting.flac")
    expect(page.locator("[data-ready]")).to_be_visible()
    assert page.evaluate(width) <= 0
    page.click("role=tab[name='About this model']")
    expect(page.locator(".ts-vocabulary tbody tr").first).to_be_visible()
    assert page.evaluate(width) <= 0
    context.close()


def test_only_the_recordings_folder_is_served(page: Page, app: str, samples: Path) -> None:
    for path in ("/etc/passwd", str(Path(__file__)), str(samples / "samples.json")):
        assert page.request.get(f"{app}/gradio_api/file={path}").status == 403
