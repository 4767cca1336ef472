"""A person corrects a recording: by hand, by keyboard, in two windows, and takes the result home."""

from __future__ import annotations

import re
import shutil
import zipfile
from pathlib import Path

import pympi
import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect
from praatio import textgrid as praatio_textgrid

import asr_core
from tests.browser.server_calls import ServerCalls, is_edit

SAMPLES = Path(__file__).parents[2] / "assets" / "samples"
NAME = "meeting-date.flac"
SHORT = "sandwich.flac"
HOSTILE = "<img src=x onerror=window.hacked=1> ${window.hacked=1} {{value}} שלום 👩‍🔬"
#: From the top of the canvas to the middle of the words: overview, ruler, waveform, spectrogram, marks, tokens.
WORDS = 28 + 4 + 20 + 84 + 4 + 96 + 2 + 8 + 28 + 4 + 14
GUTTER = 72


@pytest.fixture(scope="module")
def heard(demo: asr_core.Recognizer) -> asr_core.Transcript:
    """What the embedded model hears in the sample, without the page."""
    return demo.transcribe(SAMPLES / NAME)


def annotated(page: Page, name: str = NAME) -> Locator:
    """Transcribe a sample, hand it over, and return the part of the page that says where the document stands."""
    page.set_input_files("input[type=file]", SAMPLES / name)
    page.locator(".ts-annotate-this").click(timeout=60_000)
    return opened(page)


def opened(page: Page) -> Locator:
    ready = page.locator("#ts-annotate[data-ready], #ts-annotate [data-ready]").first
    expect(ready).to_be_visible(timeout=60_000)
    return ready


def at_revision(page: Page, revision: int) -> None:
    """Wait until the page shows a revision, and says that it is saved."""
    expect(page.locator("#ts-annotate[data-ready], #ts-annotate [data-ready]").first).to_have_attribute(
        "data-ready", re.compile(rf":{revision}$")
    )
    expect(page.locator(".ts-saved")).to_have_attribute("data-saved", "saved")


def place(page: Page, time: float, y: float = WORDS) -> tuple[float, float]:
    """Where on the page a time is, in the row of the words."""
    box = page.locator("#ts-annotate .ts-overlay").bounding_box()
    a, b = map(float, opened(page).get_attribute("data-view").split(":"))
    return box["x"] + GUTTER + (time - a) / (b - a) * (box["width"] - GUTTER), box["y"] + y


def flags(page: Page) -> str:
    """Start and end of the selected segment, as the status line says them."""
    return page.locator("#ts-annotate .ts-status").inner_text()


def drag(page: Page, start: float, end: float) -> None:
    page.mouse.move(*place(page, start))
    page.mouse.down()
    page.mouse.move(*place(page, end), steps=4)
    page.mouse.up()


def delete_open(page: Page) -> None:
    page.locator(".ts-recording-row.ts-open .ts-remove").click(force=True)
    page.get_by_role("button", name="Delete for good").click()


def test_a_dragged_boundary_stays_after_a_reload_and_its_undo_too(page: Page, heard: asr_core.Transcript) -> None:
    annotated(page)
    word = next(w for w, after in zip(heard.words, heard.words[1:], strict=False) if after.start - w.end >= 0.1)
    drag(page, word.end, word.end + 0.06)
    at_revision(page, 1)
    expect(page.locator(".ts-undo")).to_have_text(f"Undo move of “{word.text}”")
    expect(page.locator(".ts-saved")).to_contain_text(re.compile(r"Saved \d\d:\d\d:\d\d"))
    page.reload()
    opened(page)
    page.mouse.click(*place(page, (word.start + word.end) / 2))
    moved = float(re.search(r"to (\d+\.\d+) s", flags(page))[1])
    assert moved == pytest.approx(word.end + 0.06, abs=0.012)
    page.keyboard.press("Control+z")
    at_revision(page, 2)
    expect(page.locator(".ts-redo")).to_have_attribute("title", f"Redo move of “{word.text}”")
    page.mouse.click(*place(page, (word.start + word.end) / 2))
    assert f"to {word.end:.3f} s" in flags(page)


def test_neighbours_that_touch_move_together(page: Page, heard: asr_core.Transcript) -> None:
    annotated(page)
    i = next(i for i, (a, b) in enumerate(zip(heard.words, heard.words[1:], strict=False)) if a.end == b.start)
    border = heard.words[i].end
    drag(page, border, border - 0.03)
    at_revision(page, 1)
    page.mouse.click(*place(page, (heard.words[i + 1].start + heard.words[i + 1].end) / 2))
    start = float(re.search(r", (\d+\.\d+) to", flags(page))[1])
    assert start == pytest.approx(border - 0.03, abs=0.012)


def test_a_sample_is_reviewed_to_done_by_keyboard_alone(page: Page) -> None:
    annotated(page, SHORT)
    count = page.locator(".ts-annotate-queue header")
    expect(count).to_contain_text(re.compile(r"(\d+) of \1 left"))
    left = int(re.search(r"(\d+) of", count.inner_text())[1])
    assert left >= 2, "the sample must have unsure words"
    page.keyboard.press("n")
    expect(page.locator(".ts-current-row")).to_be_visible()
    page.keyboard.press("e")
    expect(page.locator(".ts-annotate-text")).to_be_focused()
    page.keyboard.type("Where")
    page.keyboard.press("Escape")
    expect(page.locator(".ts-annotate-text")).not_to_have_value(re.compile("Where"))
    for done in range(1, left + 1):
        page.keyboard.press("a")
        expect(page.locator(".ts-annotate-queue footer")).to_contain_text(f"{done} accepted")
    expect(page.locator(".ts-queue")).to_contain_text("Nothing below 0.60. Well done.")
    page.keyboard.press("d")
    expect(page.locator(".ts-annotate-state")).to_have_text("Done")
    at_revision(page, left + 1)
    expect(page.locator(".ts-recording-row.ts-open .ts-state")).to_have_attribute("data-state", "done")


def test_new_text_is_aligned_and_its_times_wait_for_yes_or_no(page: Page) -> None:
    annotated(page, SHORT)
    text = page.locator(".ts-annotate-text")
    page.keyboard.press("ArrowRight")
    expect(text).to_have_value(re.compile("sandwich"))
    page.keyboard.press("e")
    text.fill("Why should you sell two sandwiches?")
    page.keyboard.press("Enter")
    offer = page.locator(".ts-annotate-offer")
    expect(offer).to_contain_text(
        re.compile(r"New times for \d words?\. “.+” would (begin|end) \d+ ms (earlier|later)")
    )
    at_revision(page, 1)
    page.locator(".ts-keep-old").click()
    expect(offer).to_be_hidden()
    expect(page.locator(".ts-undo")).to_have_text(re.compile("Undo new text “should"))
    page.keyboard.press("e")
    text.fill("Why should you sell five sandwiches?")
    page.keyboard.press("Enter")
    expect(offer).to_be_visible()
    page.keyboard.press("t")
    at_revision(page, 3)
    expect(offer).to_be_hidden()
    expect(page.locator(".ts-undo")).to_have_text(re.compile("Undo new times of"))
    page.locator(".ts-undo").click()
    at_revision(page, 4)
    expect(text).to_have_value("Why should you sell five sandwiches?")


def test_two_windows_on_one_document(page: Page, browser: Browser) -> None:
    annotated(page, SHORT)
    page.keyboard.press("ArrowRight")
    other = browser.new_context(viewport={"width": 1440, "height": 1100}).new_page()
    other.goto(page.url)
    opened(other)
    # It does not look by itself while it is hidden, so that its next edit meets a document that has changed.
    other.evaluate("Object.defineProperty(document, 'hidden', {configurable: true, value: true})")
    page.keyboard.press("m")
    at_revision(page, 1)
    other.locator("#ts-annotate .ts-align").focus()
    other.keyboard.press("ArrowRight")
    other.keyboard.press("x")
    message = other.locator(".ts-annotate-messages")
    expect(message).to_contain_text("This document was changed in another window")
    expect(message).to_contain_text("mark “unclear”")
    at_revision(other, 1)
    expect(other.locator(".ts-undo")).to_contain_text("merge of")
    other.get_by_role("button", name="Make it again").click()
    at_revision(other, 2)
    expect(other.locator(".ts-undo")).to_have_text("Undo mark “unclear”")
    # The first one sees it without doing anything.
    at_revision(page, 2)
    expect(page.locator(".ts-annotate-messages")).to_contain_text("Another window has changed this document")
    # One deletes it while the other one is writing.
    page.keyboard.press("e")
    page.locator(".ts-annotate-text").fill("half a sentence")
    delete_open(other)
    expect(page.locator(".ts-annotate-messages")).to_contain_text("What you wrote: half a sentence")
    expect(page.locator(".ts-annotate-empty")).to_be_visible()
    other.context.close()


def test_a_failed_save_is_said_and_tried_again(app: str, browser: Browser) -> None:
    context = browser.new_context(viewport={"width": 1440, "height": 1100})
    page = context.new_page()
    calls = ServerCalls(page)
    page.goto(app)
    annotated(page, SHORT)
    page.keyboard.press("ArrowRight")
    context.set_offline(True)
    page.keyboard.press("a")
    expect(page.locator(".ts-saved")).to_have_text("Not saved. Trying again")
    expect(page.locator(".ts-undo")).to_be_disabled()
    context.set_offline(False)
    at_revision(page, 1)
    expect(page.locator(".ts-undo")).to_contain_text("accepting")
    # The store makes the next edit, and its answer does not arrive: it is asked for again, and made once.
    lost: list[Route] = []

    def lose(route: Route) -> None:
        if is_edit(route) and not lost:
            lost.append(route)
            route.fetch()
            route.abort()
        else:
            route.continue_()

    calls.handle = lose
    page.keyboard.press("x")
    at_revision(page, 2)
    assert lost
    expect(page.locator(".ts-undo")).to_have_text("Undo mark “unclear”")
    expect(page.locator(".ts-annotate-messages")).not_to_contain_text("another window")
    context.close()


def test_exports_open_in_independent_readers(page: Page, heard: asr_core.Transcript, tmp_path: Path) -> None:
    annotated(page)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("x")
    at_revision(page, 1)
    got = {}
    for format in ("textgrid", "eaf", "srt", "vtt", "ctm", "audacity", "json", "csv", "nemo", "hf", "txt", "rttm"):
        page.locator(".ts-export").click()
        with page.expect_download() as download:
            page.locator(f".ts-menu [data-format={format}]").click()
        got[format] = tmp_path / download.value.suggested_filename
        download.value.save_as(got[format])
        assert got[format].stat().st_size > 20
    found = praatio_textgrid.openTextgrid(got["textgrid"], False)
    assert [one.label for one in found.getTier("words").entries if one.label] == [word.text for word in heard.words]
    assert [one.label for one in found.getTier("marks").entries if one.label] == ["unclear"]
    eaf = pympi.Elan.Eaf(str(got["eaf"]))
    assert [one[2] for one in sorted(eaf.get_annotation_data_for_tier("words"))] == [word.text for word in heard.words]


def test_keys_are_shown_changed_and_never_act_while_typing(page: Page) -> None:
    annotated(page, SHORT)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("?")
    overlay = page.locator(".ts-keys")
    expect(overlay).to_be_visible()
    overlay.get_by_role("button", name="Change keys").click()
    overlay.locator("[data-action=accept]").click()
    page.keyboard.press("n")
    expect(overlay).to_contain_text("N is “Next to check” already")
    overlay.locator("[data-action=accept]").click()
    page.keyboard.press("j")
    expect(overlay).to_contain_text("“Accept” is J now")
    page.keyboard.press("Escape")
    expect(overlay).to_be_hidden()
    page.keyboard.press("a")
    page.keyboard.press("j")
    at_revision(page, 1)
    expect(page.locator(".ts-undo")).to_contain_text("accepting")
    page.reload()
    opened(page)
    for field in (
        page.get_by_label("Search recordings"),
        page.get_by_label("Notes"),
        page.locator(".ts-annotate-text"),
    ):
        page.keyboard.press("ArrowRight")
        field.focus()
        page.keyboard.type("jms")
        page.keyboard.press("Escape")
        page.locator("#ts-annotate .ts-align").focus()
    expect(page.locator(".ts-undo")).to_have_text("Undo new notes")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("j")
    expect(page.locator(".ts-undo")).to_contain_text("accepting")


def test_the_card_follows_the_keys(page: Page, heard: asr_core.Transcript) -> None:
    annotated(page)
    card = page.locator("#ts-annotate .ts-card-hover")
    page.keyboard.press("ArrowRight")
    word = heard.words[0]
    expect(card).to_contain_text(f"“{word.text}”")
    expect(card).to_contain_text(f"{word.start:.3f} s")
    page.keyboard.press("Shift+Alt+BracketRight")
    at_revision(page, 1)
    expect(card).to_contain_text(f"{word.start + 0.01:.3f} s")
    page.keyboard.press("Shift+Alt+BracketLeft")
    at_revision(page, 2)
    expect(card).to_contain_text(f"{word.start:.3f} s")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowUp")
    token = heard.words[1].tokens[0]
    for text in (
        f"“{token.text.strip()}”",
        "Log-prob",
        f"{token.log_prob:.3f}".replace("-", "−"),
        f"Token id{token.id}",
    ):
        expect(card).to_contain_text(text)
    page.keyboard.press("n")
    expect(card).to_contain_text("unsure")
    page.keyboard.press("?")
    expect(page.locator(".ts-keys")).to_contain_text(re.compile(r"10 ms\s*Shift Alt \[ \]"))


def test_find_and_replace_shows_what_it_would_do(page: Page) -> None:
    annotated(page, SHORT)
    page.keyboard.press("/")
    page.keyboard.type("(")
    page.get_by_label("Regular expression").check()
    expect(page.locator(".ts-annotate-find header")).to_contain_text("This is no regular expression")
    page.get_by_label("Find", exact=True).fill(r"(sand)(wich)")
    page.get_by_label("Replace with").fill("$1-$2es")
    expect(page.locator(".ts-annotate-find header")).to_contain_text("1 place")
    expect(page.locator(".ts-found mark")).to_have_text("sandwich")
    expect(page.locator(".ts-found-after")).to_contain_text("sand-wiches")
    page.get_by_role("button", name="Replace all").click()
    at_revision(page, 1)
    expect(page.locator(".ts-undo")).to_have_text(re.compile("Undo replacing “.*” in 1 place"))
    expect(page.locator(".ts-annotate-find header")).to_contain_text("0 places")


def test_a_recording_and_its_text_are_imported_and_aligned(page: Page) -> None:
    page.get_by_role("tab", name="Annotate").click()
    page.get_by_role("button", name="Import", exact=True).click()
    page.get_by_label("Recording", exact=True).set_input_files(SAMPLES / SHORT)
    page.get_by_placeholder("I have the text").fill("Why would you sell a sandwich?")
    page.get_by_role("dialog").get_by_role("button", name="Import").click()
    opened(page)
    page.keyboard.press("ArrowRight")
    expect(page.locator(".ts-annotate-text")).to_have_value("Why would you sell a sandwich?")
    expect(page.locator(".ts-recording-row.ts-open")).to_contain_text(SHORT)
    delete_open(page)
    expect(page.locator(".ts-annotate-empty")).to_be_visible()


def test_another_decoder_becomes_a_tier_beside_the_edits(page: Page) -> None:
    annotated(page, SHORT)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("a")
    at_revision(page, 1)
    page.get_by_text("Another model or decoder").click()
    page.get_by_label("Decoder").nth(-1).select_option("greedy ctc")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator(".ts-undo")).to_contain_text("adding the tier “Greedy, CTC")
    at_revision(page, 2)
    page.locator("#ts-annotate .ts-undo").click()
    at_revision(page, 3)
    expect(page.locator(".ts-undo")).to_contain_text("accepting")


def test_hostile_texts_are_only_text(page: Page) -> None:
    annotated(page, SHORT)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("e")
    page.locator(".ts-annotate-text").fill(f"{HOSTILE} sandwich?")
    page.keyboard.press("Enter")
    at_revision(page, 1)
    page.locator(".ts-add").click()
    page.get_by_label("New speaker").fill(HOSTILE)
    page.keyboard.press("Enter")
    at_revision(page, 2)
    page.get_by_label("Name", exact=True).fill(HOSTILE)
    page.get_by_label("Notes").fill(HOSTILE)
    page.get_by_label("Reviewer").focus()
    at_revision(page, 3)
    expect(page.locator(".ts-annotate-bar h2")).to_have_text(HOSTILE)
    expect(page.locator(".ts-recording-row.ts-open")).to_contain_text(HOSTILE)
    expect(page.locator(".ts-undo")).to_contain_text("new notes")
    page.get_by_text("History", exact=True).click()
    expect(page.locator(".ts-history")).to_contain_text("<img src=x")
    page.get_by_role("button", name="Find").click()
    page.get_by_label("Find", exact=True).fill("${window")
    expect(page.locator(".ts-found mark")).to_have_text("${window")
    page.get_by_role("button", name="Quality report").click()
    page.get_by_role("button", name="This one").click()
    expect(page.locator("#ts-annotate-report")).to_contain_text(HOSTILE)
    expect(page.locator("#ts-annotate-curve .main-svg").first).to_be_visible()
    assert page.evaluate("window.hacked") is None
    assert page.locator("#ts-annotate img, #ts-annotate-report img").count() == 0


def test_a_folder_comes_in_and_what_is_done_goes_out(page: Page, tmp_path: Path) -> None:
    calls = ServerCalls(page)
    folder = tmp_path / "clips"
    folder.mkdir()
    for name in ("one", "two"):
        shutil.copy(SAMPLES / SHORT, folder / f"{name}.flac")
    (folder / "two.txt").write_text("Why would you sell two sandwiches?")
    page.get_by_role("tab", name="Annotate").click()
    page.get_by_role("button", name="Import", exact=True).click()
    page.get_by_label("Folder").set_input_files(folder)
    page.get_by_role("dialog").get_by_role("button", name="Import").click()
    expect(page.locator(".ts-annotate-messages")).to_contain_text("2 of 2 recordings imported.")
    opened(page)
    # What the list counts of a document is what its queue holds, at any threshold.
    page.locator("#ts-annotate").get_by_label("Mark below", exact=True).fill("0.95")
    other = page.locator(".ts-recording-row", has_text="two.flac")
    count = other.locator(".ts-left").inner_text().strip()
    other.locator(".ts-recording").click()
    expect(page.locator(".ts-annotate-bar h2")).to_have_text("two.flac")
    expect(page.locator(".ts-annotate-queue header")).to_contain_text(f"{count} of {count} left")
    expect(page.locator(".ts-annotate-queue header")).to_contain_text("below 0.95")
    expect(page.locator("#ts-annotate .ts-align")).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".ts-annotate-text")).to_have_value("Why would you sell two sandwiches?")
    page.keyboard.press("d")
    at_revision(page, 1)
    with page.expect_download() as download:
        page.get_by_role("button", name="Export done (.zip)").click()
    with zipfile.ZipFile(download.value.path()) as archive:
        assert any(name.startswith("textgrid/two") for name in archive.namelist())
    # An edit is on its way while its document is deleted; what is done to the next one is saved all the same.
    held: list[Route] = []
    calls.handle = lambda route: held.append(route) if is_edit(route) else route.continue_()
    page.locator("#ts-annotate .ts-align").focus()
    page.keyboard.press("d")
    expect(page.locator(".ts-saved")).to_have_attribute("data-saved", "saving")
    delete_open(page)
    expect(other).to_have_count(0)
    held[0].continue_()
    calls.go_on()
    page.locator(".ts-recording", has_text="one.flac").click()
    expect(page.locator(".ts-annotate-bar h2")).to_have_text("one.flac")
    page.keyboard.press("d")
    at_revision(page, 1)
