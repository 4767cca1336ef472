"""A person drops a recording, sees its tokens, hears exactly what they click, and takes the result home."""

from __future__ import annotations

import re
import wave
import zipfile
from pathlib import Path

import numpy as np
import pytest
import textgrid
from playwright.sync_api import Page, expect
from praatio import textgrid as praatio_textgrid

import asr_core

NAME = "meeting-date.flac"


@pytest.fixture(scope="module")
def heard(demo: asr_core.Recognizer) -> asr_core.Transcript:
    """What the embedded model hears in the sample, without the page."""
    return demo.transcribe(Path(__file__).parents[2] / "assets" / "samples" / NAME)


@pytest.fixture
def uploaded(page: Page, view, samples: Path):
    """The page with the sample's result."""
    page.set_input_files("input[type=file]", samples / NAME)
    return view.wait()


def test_upload_shows_what_the_model_hears(page: Page, uploaded, heard: asr_core.Transcript) -> None:
    expect(page.locator(".ts-read")).to_have_text(re.compile(r"\s+".join(map(re.escape, heard.text.split()))))
    expect(page.locator(".ts-name")).to_have_text(NAME)
    expect(page.locator(".ts-status")).to_contain_text(f"{len(heard.tokens)} tokens")
    expect(page.locator(".ts-sentences tbody tr")).to_have_count(len(heard.sentences))
    expect(page.locator(".ts-source")).to_contain_text("Done in")
    expect(page.locator("#ts-histogram .main-svg").first).to_be_visible()


def test_click_on_a_token_plays_exactly_its_span(page: Page, uploaded, heard: asr_core.Transcript) -> None:
    for token in [t for t in heard.tokens if t.end - t.start >= 0.16][:3]:
        page.mouse.click(*uploaded.place((token.start + token.end) / 2))
        samples = uploaded.wait_played(token.start, token.end)
        assert samples == round(token.end * 16_000) - round(token.start * 16_000)


def test_a_token_shows_its_card(page: Page, uploaded, heard: asr_core.Transcript) -> None:
    token = next(t for t in heard.tokens if t.end - t.start >= 0.16)
    page.mouse.move(*uploaded.place((token.start + token.end) / 2))
    card = page.locator(".ts-card-hover")
    expect(card).to_be_visible()
    expect(card).to_contain_text(token.text.strip())
    expect(card).to_contain_text(f"{token.start:.3f} s")
    expect(card).to_contain_text(f"{token.confidence:.2f}")
    expect(card).to_contain_text(str(token.id))


def test_sentence_row_and_word_play(page: Page, uploaded, heard: asr_core.Transcript) -> None:
    sentence = heard.sentences[0]
    page.click(".ts-sentences tbody tr >> nth=0")
    uploaded.wait_played(sentence.start, sentence.end)
    word = heard.words[3]
    page.click(".ts-w >> nth=3")
    uploaded.wait_played(word.start, word.end)
    expect(page.locator(".ts-w.ts-current")).to_have_text(word.text)
    expect(page.locator(".ts-sentences tr.ts-selected")).to_have_count(1)


def test_textgrid_opens_in_independent_readers(
    page: Page, uploaded, heard: asr_core.Transcript, tmp_path: Path
) -> None:
    with page.expect_download() as download:
        page.click("[data-format=textgrid]")
    path = tmp_path / "got.TextGrid"
    download.value.save_as(path)
    assert download.value.suggested_filename == "meeting-date.TextGrid"
    words = praatio_textgrid.openTextgrid(path, False).getTier("words").entries
    assert [word.label for word in words if word.label] == [word.text for word in heard.words]
    assert [round(word.start, 3) for word in words if word.label] == [round(word.start, 3) for word in heard.words]
    again = textgrid.TextGrid.fromFile(str(path))
    assert again.getFirst("words").maxTime == pytest.approx(heard.duration, abs=1e-3)


def test_every_format_downloads(page: Page, uploaded, heard: asr_core.Transcript, tmp_path: Path) -> None:
    offered = page.locator("[data-part=downloads] [data-format]")
    assert [one.get_attribute("data-format") for one in offered.all() if one.is_visible()] == [
        *("srt", "vtt", "textgrid", "ctm", "json", "csv", "txt")
    ]
    page.get_by_text("More formats", exact=True).locator("visible=true").click()
    names = offered.evaluate_all("all => all.map((one) => one.dataset.format)")
    assert set(names) == set(asr_core.formats.FORMATS)
    for name in names:
        if name == "eaf":
            page.wait_for_timeout(1500)  # Chromium drops the eleventh download where none is a second behind another
        with page.expect_download() as download:
            page.click(f"[data-part=downloads] [data-format={name}]")
        path = tmp_path / download.value.suggested_filename
        download.value.save_as(path)
        if name == "hf":
            zipfile.ZipFile(path).extractall(path := tmp_path / "dataset")
        found = asr_core.formats.read(path, format=name)
        assert found.tiers[0].segments[-1].end == pytest.approx(heard.words[-1].end, abs=0.1) or name == "txt"


def test_the_text_goes_on_to_the_other_tabs(page: Page, uploaded, samples: Path) -> None:
    name = page.locator("#ts-compare-source .ts-name")
    page.get_by_role("button", name="Compare decoders").click()
    expect(name).to_have_text(NAME)
    page.get_by_role("button", name="New audio").locator("visible=true").click()
    page.set_input_files("#ts-compare-start input[type=file]", samples / "sandwich.flac")
    expect(name).to_have_text("sandwich.flac")
    page.get_by_role("tab", name="Transcribe").click()
    page.get_by_role("button", name="Compare decoders").click()
    expect(name).to_have_text(NAME)
    page.get_by_role("tab", name="Transcribe").click()
    page.get_by_role("button", name="Correct it").click()
    expect(page.locator("#ts-annotate .ts-annotate-bar .ts-name")).to_have_text(NAME)


def test_what_opens_over_the_page_rises_and_goes(page: Page, uploaded) -> None:
    page.evaluate(
        """window.moved = [];
        for (const kind of ["transitionrun", "transitionend"])
          addEventListener(kind, ({target, propertyName, elapsedTime}) =>
            target.matches(".ts-pop") && window.moved.push([kind, propertyName, elapsedTime]));"""
    )
    ended = "() => window.moved.filter(([kind, name]) => kind === 'transitionend' && name === 'opacity').length"
    for times in (1, 2):
        uploaded.focus()
        page.keyboard.press("?")
        page.wait_for_function(f"n => ({ended})() === n", arg=times)
    expect(page.locator(".ts-help")).to_be_hidden()
    assert {took for kind, name, took in page.evaluate("window.moved") if kind == "transitionend"} == {0.2}
    page.emulate_media(reduced_motion="reduce")
    page.evaluate("window.moved.length = 0")
    page.get_by_role("button", name="Layers").locator("visible=true").click()
    expect(page.locator("#ts-align .ts-layers")).to_be_visible()
    page.wait_for_timeout(300)
    assert page.evaluate("window.moved") == []


def test_threshold_moves_every_mark(page: Page, uploaded, heard: asr_core.Transcript) -> None:
    for threshold in (0.95, 0.3):
        low = sum(token.confidence < threshold for token in heard.tokens)
        page.fill(".ts-mark-below input", str(threshold))
        expect(page.locator(".ts-status")).to_contain_text(f"{low} below {threshold:.2f}")
        expect(page.locator("[data-part=below]")).to_have_text(f"{low} of {len(heard.tokens)} below")
        expect(page.locator(".ts-w.ts-low")).to_have_count(sum(word.confidence < threshold for word in heard.words))
        expect(page.locator(".ts-sentences .ts-low")).to_have_count(
            sum(sentence.confidence < threshold for sentence in heard.sentences)
        )
        expect(page.locator("#ts-histogram")).to_contain_text(f"threshold {threshold:.2f}")


def test_keys_walk_play_and_zoom(page: Page, uploaded, heard: asr_core.Transcript) -> None:
    tokens = heard.tokens
    uploaded.focus()
    page.keyboard.press("ArrowRight")
    uploaded.wait_played(tokens[0].start, tokens[0].end)
    page.keyboard.press("ArrowRight")
    uploaded.wait_played(tokens[1].start, tokens[1].end)
    page.fill(".ts-mark-below input", "1")
    uploaded.focus()
    low = next(t for t in tokens[2:] if t.end > t.start)
    page.keyboard.press("n")
    uploaded.wait_played(low.start, low.end)
    page.keyboard.press("0")
    page.wait_for_function("v => document.querySelector('[data-ready]').dataset.view.startsWith(v)", arg="0.0000:5.")
    a, b = uploaded.window
    page.keyboard.press("+")
    page.wait_for_function("v => document.querySelector('[data-ready]').dataset.view !== v", arg=f"{a:.4f}:{b:.4f}")
    a2, b2 = uploaded.window
    assert b2 - a2 == pytest.approx((b - a) / 2, rel=1e-3)
    page.keyboard.press("?")
    expect(page.locator(".ts-help")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".ts-help")).to_be_hidden()


def test_keys_in_a_field_stay_in_the_field(page: Page, uploaded) -> None:
    page.click(".ts-mark-below input")
    page.keyboard.press("l")
    expect(page.locator("[aria-label='Loop the selection']")).to_have_attribute("aria-pressed", "false")


def test_wheel_pans_and_ctrl_wheel_zooms(page: Page, uploaded) -> None:
    uploaded.focus()
    for _ in range(2):
        page.keyboard.press("+")
    page.wait_for_timeout(200)
    a, b = uploaded.window
    page.mouse.move(*uploaded.place((a + b) / 2, y=100))
    page.mouse.wheel(0, 120)
    page.wait_for_timeout(200)
    a2, b2 = uploaded.window
    assert a2 > a and b2 - a2 == pytest.approx(b - a, abs=1e-3)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -120)
    page.keyboard.up("Control")
    page.wait_for_timeout(200)
    a3, b3 = uploaded.window
    assert b3 - a3 < b2 - a2


def test_other_sentences_of_the_same_words(page: Page, uploaded, heard: asr_core.Transcript) -> None:
    page.click("#ts-split input")
    page.click("role=option[name='Length']")
    cut = asr_core.resegment(heard, asr_core.Segmentation(separators=(), max_seconds=5.0))
    expect(page.locator(".ts-sentences tbody tr")).to_have_count(len(cut.sentences))


def test_a_reload_comes_back_to_the_same_place(page: Page, uploaded, heard: asr_core.Transcript) -> None:
    page.click(".ts-w >> nth=6")
    expect(page).to_have_url(re.compile(rf"#d=[\w-]+&t={heard.words[6].start:.3f}"))
    page.reload()
    uploaded.wait()
    expect(page.locator(".ts-name")).to_have_text(NAME)
    expect(page.locator(".ts-time")).to_contain_text(f"{heard.words[6].start:.3f}")
    a, b = uploaded.window
    assert a <= heard.words[6].start <= b


def test_other_head_by_the_settings(page: Page, uploaded, demo: asr_core.Recognizer, samples: Path) -> None:
    page.click(".ts-source-buttons >> text=Greedy, TDT")
    page.locator("#ts-settings").get_by_label("Head").select_option("CTC")
    page.click("#ts-transcribe")
    expect(page.locator(".ts-source-buttons")).to_contain_text("Greedy, CTC")
    ctc = demo.transcribe(samples / NAME, decoding=asr_core.Greedy(head="ctc"))
    expect(page.locator(".ts-read")).to_have_text(re.compile(r"\s+".join(map(re.escape, ctc.text.split()))))


def test_channels_are_told_apart(page: Page, view, samples: Path, tmp_path: Path) -> None:
    left = asr_core.read_audio(samples / NAME)
    right = np.zeros_like(left)
    file = tmp_path / "two.wav"
    with wave.open(str(file), "wb") as out:
        out.setnchannels(2)
        out.setsampwidth(2)
        out.setframerate(16_000)
        out.writeframes((np.stack([left, right], 1) * 32767).astype("<i2").tobytes())
    page.set_input_files("input[type=file]", file)
    view.wait()
    page.click(".ts-source-buttons >> text=Greedy")
    page.locator("#ts-settings").get_by_label("Channel").click()
    page.click("role=option[name='2']")
    page.click("#ts-transcribe")
    expect(page.locator("#ts-messages")).to_contain_text("heard no words")
    expect(page.locator(".ts-status")).to_contain_text("0 tokens")
