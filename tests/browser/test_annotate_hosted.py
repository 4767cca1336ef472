"""Annotate as strangers have it: each browser has documents and work of its own, and finds them again."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.server import SAMPLES, running_app

SHORT = "sandwich.flac"
# Long enough to be still going on after a reload, and fewer than a workspace may hold.
LONG, MANY = "friday-meeting.flac", 40


@pytest.fixture
def hosted(tmp_path: Path) -> Iterator[str]:
    """Address of an app that serves strangers."""
    with running_app(tmp_path, TOKENSCOPE_MODE="hosted") as address:
        yield address


def visitor(browser: Browser, address: str) -> Page:
    """The Annotate tab in a browser that has never been here."""
    page = browser.new_context(viewport={"width": 1440, "height": 1100}).new_page()
    page.goto(address)
    page.get_by_role("tab", name="Annotate").click()
    return page


def send(page: Page, *files: Path) -> None:
    page.get_by_role("button", name="Import", exact=True).first.click()
    page.get_by_label("Recording", exact=True).set_input_files(files)
    page.get_by_role("dialog").get_by_role("button", name="Import").click()


def test_visitors_have_documents_and_work_of_their_own(hosted: str, browser: Browser, tmp_path: Path) -> None:
    mine = visitor(browser, hosted)
    send(mine, SAMPLES / SHORT)
    ready = mine.locator("#ts-annotate[data-ready], #ts-annotate [data-ready]").first
    expect(ready).to_be_visible(timeout=60_000)
    mine.keyboard.press("ArrowRight")
    mine.keyboard.press("a")
    expect(ready).to_have_attribute("data-ready", re.compile(":1$"))
    # A stranger, also one who has the address of the document.
    theirs = visitor(browser, mine.url)
    expect(theirs.locator(".ts-annotate-messages")).to_contain_text("There is no such document")
    expect(theirs.locator(".ts-annotate-empty")).to_contain_text("No recordings yet")
    # Work goes on without the page that began it, and belongs to its visitor.
    with zipfile.ZipFile(tmp_path / "many.zip", "w") as archive:
        for number in range(MANY):
            archive.write(SAMPLES / LONG, f"{number}.flac")
    send(mine, tmp_path / "many.zip")
    progress = mine.locator("#ts-annotate .ts-progress")
    expect(progress).to_contain_text(f"of {MANY}")
    mine.reload()
    expect(progress).to_contain_text(f"of {MANY}")
    theirs.reload()
    expect(theirs.locator(".ts-annotate-messages")).to_contain_text("There is no such document")
    expect(theirs.locator(".ts-recording-row, .ts-progress")).to_have_count(0)
    progress.get_by_role("button", name="Cancel").click()
    expect(mine.locator(".ts-annotate-messages")).to_contain_text(re.compile(rf"\d+ of {MANY} recordings imported\."))
    expect(progress).to_have_count(0)
    # The reloaded page has the document with its edit, and takes it home.
    expect(mine.locator(".ts-undo")).to_contain_text("accepting")
    expect(mine.locator(".ts-recording-row", has_text=SHORT)).to_be_visible()
    expect(mine.locator(".ts-annotate-list")).to_contain_text("Deleted 7 days after the last change")
    mine.locator(".ts-export").click()
    with mine.expect_download() as download:
        mine.locator(".ts-menu [data-format=json]").click()
    kept = json.loads(download.value.path().read_text(encoding="utf-8"))
    assert any(segment.get("accepted") for tier in kept["tiers"] for segment in tier["segments"])
    for page in (mine, theirs):
        page.context.close()
