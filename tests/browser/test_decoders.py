"""A person sets the decoder, sees the readings a beam found, and picks one: everything on the page follows."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

import asr_core
from asr_core.lm import write_arpa

SAMPLES = Path(__file__).parents[2] / "assets" / "samples"
NAME = "meeting-date.flac"
RNNT = Path(__file__).parents[1] / "data" / "oracle" / "rnnt"


@pytest.fixture(scope="module")
def heard(demo: asr_core.Recognizer) -> asr_core.Transcript:
    """What a beam of 5 hears in the sample, without the page."""
    transcript = demo.transcribe(SAMPLES / NAME, decoding=asr_core.Beam(size=5))
    assert transcript.alternatives, "the sample must have more than one reading"
    return transcript


@pytest.fixture
def form(page: Page) -> Locator:
    """The decoder's controls."""
    expect(page.locator("#ts-decoder")).to_contain_text("This model also has CTC.")
    return page.locator("#ts-decoder")


def says(text: str) -> re.Pattern[str]:
    """These words, whatever stands between them."""
    return re.compile(r"^\s*" + r"\s+".join(map(re.escape, text.split())) + r"\s*$")


def transcribe(page: Page, view) -> None:
    page.set_input_files("[data-part=files] input[type=file]", SAMPLES / NAME)
    view.wait()


def fold(form: Locator, group: str) -> Locator:
    """A part of the form, opened."""
    part = form.locator(f"[data-group={group}]")
    part.locator("summary").click()
    return part


def test_a_beam_lists_its_readings_and_the_picked_one_is_shown(
    page: Page, view, form: Locator, heard: asr_core.Transcript, tmp_path: Path
) -> None:
    form.get_by_label("Decoder").select_option("Beam")
    expect(form).to_contain_text("Follows several readings at once")
    form.get_by_label("Beam size").fill("5")
    transcribe(page, view)
    expect(page.locator(".ts-source-buttons")).to_contain_text("Beam 5, TDT")
    expect(page.locator(".ts-read")).to_have_text(says(heard.text))
    rows = page.locator("#ts-readings tbody tr:not([data-i=none])")
    expect(rows).to_have_count(1 + len(heard.alternatives))
    expect(rows.nth(1)).to_contain_text(f"{heard.alternatives[0].score:.2f}".replace("-", "−"))

    second = heard.alternatives[0]
    rows.nth(1).click()
    expect(page.locator(".ts-read")).to_have_text(says(second.text))
    expect(page.locator("#ts-text")).to_contain_text(f"Reading 2 of {1 + len(heard.alternatives)}")
    expect(page.locator(".ts-status")).to_contain_text(f"{len(second.tokens)} tokens")
    expect(rows.nth(1).get_by_role("radio")).to_be_checked()
    rows.nth(1).get_by_role("radio").press("0")
    expect(page.get_by_label("None of these is right")).to_be_checked()
    expect(page.locator("#ts-readings")).to_contain_text("Open the recording in Annotate")
    expect(page.locator(".ts-read")).to_have_text(says(second.text))
    page.get_by_label("None of these is right").press("2")
    expect(rows.nth(1).get_by_role("radio")).to_be_checked()
    expect(page.locator("#ts-readings")).not_to_contain_text("Open the recording in Annotate")
    expect(page.locator("[data-part=downloads]")).to_contain_text(
        f"Reading 2 of {1 + len(heard.alternatives)} is shown"
    )
    with page.expect_download() as download:
        page.click("[data-format=txt]")
    assert download.value.suggested_filename == "meeting-date.reading-2.txt"
    assert Path(download.value.path()).read_text(encoding="utf-8").split() == second.text.split()
    with page.expect_download() as download:
        page.click("[data-format=json]")
    held = json.loads(Path(download.value.path()).read_text(encoding="utf-8"))
    assert (held["text"], held["alternatives"][0]["text"]) == (second.text, heard.text)

    page.reload()
    view.wait()
    expect(page.locator(".ts-read")).to_have_text(says(second.text))
    rows.nth(1).get_by_role("radio").focus()
    page.keyboard.press("ArrowUp")
    expect(page.locator(".ts-read")).to_have_text(says(heard.text))
    expect(rows.nth(0).get_by_role("radio")).to_be_focused()
    expect(page.locator("#ts-text [data-reading]")).to_be_hidden()
    with page.expect_download() as download:
        page.click("[data-format=txt]")
    assert download.value.suggested_filename == "meeting-date.txt"


def test_words_that_differ_are_marked(page: Page, view, form: Locator, heard: asr_core.Transcript) -> None:
    form.get_by_label("Decoder").select_option("Beam")
    form.get_by_label("Beam size").fill("5")
    transcribe(page, view)
    for i, other in enumerate(heard.alternatives, 1):
        pairs = asr_core.word_error_rate(heard, other).alignment
        words = [pair.hypothesis for pair in pairs if pair.operation in ("substitute", "insert")]
        marked = page.locator("#ts-readings tbody tr").nth(i).locator(".ts-diff").all_inner_texts()
        assert " ".join(marked) == " ".join(words)


def test_greedy_has_no_list(page: Page, view, form: Locator) -> None:
    transcribe(page, view)
    expect(page.locator("#ts-readings .ts-card")).to_have_count(0)


def test_settings_that_mean_nothing_are_hidden(page: Page, form: Locator) -> None:
    size = form.get_by_label("Beam size")
    expect(size).to_be_hidden()
    fold(form, "search")
    expect(form.get_by_label("Labels per frame")).to_be_visible()
    form.get_by_label("Decoder").select_option("Beam")
    expect(size).to_be_visible()
    expect(form.get_by_label("Duration weight")).to_be_visible()
    expect(form.get_by_label("Prune")).to_be_hidden()
    form.get_by_label("Head").select_option("CTC")
    expect(form.get_by_label("Duration weight")).to_be_hidden()
    expect(form.get_by_label("Labels per frame")).to_be_hidden()
    expect(form.get_by_label("Prune")).to_be_visible()
    confidence = fold(form, "confidence")
    confidence.get_by_label("Measure").select_option("Max probability")
    expect(form.get_by_label("Normalisation")).to_be_hidden()
    expect(confidence.locator("summary")).to_contain_text("1 changed")
    form.get_by_label("Decoder").select_option("Greedy")
    expect(form.locator("[data-group=search]")).to_be_hidden()


def test_maes_is_for_rnnt_models(page: Page, view, form: Locator) -> None:
    expect(form.locator("option[value=maes]")).to_be_disabled()
    expect(form.locator("option[value=maes]")).to_have_text("MAES (needs an RNN-T head)")
    page.locator("#ts-model input").fill(str(RNNT))
    page.keyboard.press("Enter")
    expect(form.locator("option[value=maes]")).to_be_enabled()
    form.get_by_label("Decoder").select_option("MAES")
    expect(form.get_by_label("Head")).to_be_hidden()
    form.get_by_label("Beam size").fill("3")
    fold(form, "search").get_by_label("Expansion beta").fill("1")
    transcribe(page, view)
    expect(page.locator(".ts-source-buttons")).to_contain_text("MAES 3, RNN-T")
    made = asr_core.load_model(RNNT).transcribe(SAMPLES / NAME, decoding=asr_core.Maes(size=3, expansion_beta=1))
    listed = page.locator("#ts-readings tbody tr:not([data-i=none])")
    expect(listed).to_have_count(1 + len(made.alternatives) if made.alternatives else 0)
    expect(page.locator(".ts-status")).to_contain_text(f"{len(made.tokens)} tokens")
    page.locator("#ts-model input").fill("demo")
    page.keyboard.press("Enter")
    page.click(".ts-source-buttons >> text=MAES 3")
    expect(form.get_by_label("Decoder")).to_have_value("beam")


def test_a_bad_language_model_is_refused_and_a_good_one_is_used(
    page: Page, view, form: Locator, demo: asr_core.Recognizer, tmp_path: Path
) -> None:
    bad, good, foreign = tmp_path / "bad.arpa", tmp_path / "dates.arpa", tmp_path / "foreign.arpa"
    bad.write_text("\\data\\\nngram 1=1\n\n\\1-grams:\n-1.0\thello\n\n\\end\\\n")
    text = ["The meeting is on Tuesday, the third of May.", "The meeting is on Monday, the second of June."]
    write_arpa(good, [demo.tokenizer.encode(line) for line in text], len(demo.vocabulary), order=3)
    write_arpa(foreign, [[5000, 5001]], 6000, order=2)
    form.get_by_label("Decoder").select_option("Beam")
    form.get_by_label("Beam size").fill("5")
    part = fold(form, "lm")
    part.locator("input[type=file]").set_input_files(bad)
    expect(part).to_contain_text("Line 5 of bad.arpa holds 1 tokens")
    expect(part.locator("summary")).to_contain_text("none")
    part.locator("input[type=file]").set_input_files(good)
    expect(part.locator("bdi")).to_have_text("dates.arpa")
    expect(part.locator(".ts-setting-file .ts-problem")).to_have_count(0)
    part.get_by_label("Weight").fill("0.8")
    transcribe(page, view)
    expect(page.locator(".ts-source-buttons")).to_contain_text("Beam 5, TDT, LM 0.8")
    fusion = asr_core.Fusion(lm=asr_core.NgramLM.from_arpa(good), lm_weight=0.8)
    heard = demo.transcribe(SAMPLES / NAME, decoding=asr_core.Beam(size=5, head="tdt", fusion=fusion))
    expect(page.locator(".ts-read")).to_have_text(says(heard.text))
    expect(page.locator("#ts-readings tbody tr").nth(0)).to_contain_text(f"{heard.score:.2f}".replace("-", "−"))

    # A model over other tokens fails in the job: what was heard before stays, and so do the settings.
    page.click(".ts-source-buttons >> text=Beam 5")
    part.get_by_label("Remove the language model").click()
    part.locator("input[type=file]").set_input_files(foreign)
    expect(part.locator("bdi")).to_have_text("foreign.arpa")
    page.click("#ts-transcribe")
    expect(page.locator("#ts-messages .ts-error")).to_contain_text("foreign.arpa has the token")
    expect(page.locator(".ts-read")).to_have_text(says(heard.text))
    expect(page.locator(".ts-source-buttons")).to_contain_text("LM 0.8")
    expect(page.locator(".ts-source-buttons [aria-expanded]")).to_have_attribute("aria-expanded", "true")
    part.get_by_label("Remove the language model").click()
    expect(part.locator("summary")).to_contain_text("none")
    page.click(".ts-source-buttons >> text=Transcribe again")
    expect(page.locator(".ts-source-buttons")).not_to_contain_text("LM")
    expect(page.locator(".ts-source-buttons [aria-expanded]")).to_have_attribute("aria-expanded", "false")
    expect(page.locator("#ts-messages .ts-error")).to_have_count(0)


def test_phrases_are_checked_as_they_are_typed_and_used(
    page: Page, view, form: Locator, demo: asr_core.Recognizer
) -> None:
    part = fold(form, "phrases")
    area = part.get_by_label("One a line")
    area.fill("Thursday: 3\nnote: this")
    expect(part).to_contain_text("Line 2 of the phrases, 'note: this', has no weight")
    page.set_input_files("[data-part=files] input[type=file]", SAMPLES / NAME)
    expect(page.locator("#ts-messages .ts-error")).to_contain_text("Line 2 of the phrases")
    expect(page.locator("#ts-reason")).to_contain_text(NAME)
    area.fill("Thursday: 3\nNovember")
    expect(part.locator("summary")).to_contain_text("2")
    part.get_by_label("Weight of all").fill("2")
    page.click("#ts-transcribe")
    view.wait()
    expect(page.locator(".ts-source-buttons")).to_contain_text("Greedy, TDT, 2 phrases")
    boost = asr_core.PhraseBoost({"Thursday": 3.0, "November": 1.0}, any_case=True)
    fusion = asr_core.Fusion(phrases=boost, phrase_weight=2.0)
    heard = demo.transcribe(SAMPLES / NAME, decoding=asr_core.Greedy(head="tdt", fusion=fusion))
    expect(page.locator(".ts-read")).to_have_text(says(heard.text))


def test_a_wrong_number_is_said_beside_it_and_settings_outlive_a_recording(page: Page, view, form: Locator) -> None:
    form.get_by_label("Decoder").select_option("Beam")
    size = form.get_by_label("Beam size")
    size.fill("99")
    expect(form).to_contain_text("1 to 16")
    page.set_input_files("[data-part=files] input[type=file]", SAMPLES / NAME)
    expect(page.locator("#ts-messages .ts-error")).to_contain_text("Beam size is a whole number from 1 to 16, not 99.")
    size.fill("3")
    page.click("#ts-transcribe")
    view.wait()
    expect(page.locator(".ts-source-buttons")).to_contain_text("Beam 3")
    page.click(".ts-source-buttons >> text=New audio")
    expect(size).to_have_value("3")
    page.set_input_files("[data-part=files] input[type=file]", SAMPLES / "sandwich.flac")
    expect(page.locator(".ts-name")).to_have_text("sandwich.flac")
    expect(page.locator(".ts-source-buttons")).to_contain_text("Beam 3")
