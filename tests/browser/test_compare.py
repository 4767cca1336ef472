"""A person compares decoders: the tiers, texts and table agree, and what they say is right is kept."""

from __future__ import annotations

import csv
import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import jiwer
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

import asr_core

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "assets" / "samples"
#: Of a voice that the model never heard, so that its heads hear some words differently.
CLIP = ROOT / "assets/demo_model/training/evaluation/flite-rms/000152.ogg"
HOSTILE = (
    "<img src=x onerror=window.hacked=1>",
    "${window.hacked=1}",
    "{{value}}",
    "</script><script>window.hacked=1</script>",
    "שלום",
    "👩‍🔬",
)


@pytest.fixture(scope="module")
def heard(demo: asr_core.Recognizer) -> asr_core.Comparison:
    """What the heads of the embedded model hear in the sample, without the page."""
    decodings = [asr_core.Greedy(head="tdt"), asr_core.Greedy(head="ctc")]
    found = asr_core.compare(demo.decode_all(asr_core.read_audio(CLIP), decodings))
    assert any(one.kind != "boundary" for one in found.differences), "the clip must have a word that differs"
    return found


def open_tab(page: Page, file: Path | dict = CLIP) -> None:
    """Go to Compare and give it a recording."""
    page.get_by_role("tab", name="Compare").click()
    expect(page.get_by_text("Pick two decoders and press Compare.")).to_be_visible()
    page.set_input_files("#ts-compare-start input[type=file]", file)
    expect(button(page)).to_be_enabled()


def button(page: Page) -> Locator:
    return page.locator("#ts-compare-source .ts-primary")


def compare(page: Page, preset: str | None = None) -> Locator:
    """Choose a preset, press Compare, wait, and return the view."""
    if preset:
        page.get_by_label("Preset").select_option(label=preset)
        page.wait_for_timeout(800)
    button(page).click()
    view = page.locator("#ts-compare-view[data-ready], #ts-compare-view [data-ready]").first
    expect(view).to_be_visible(timeout=60_000)
    expect(page.locator("#ts-compare-table tbody")).to_be_attached()
    return view


def rows(page: Page, kind: str = "") -> Locator:
    return page.locator(f"#ts-compare-table tbody tr{kind}")


WORDS = ":not([data-kind=boundary])"
UNHEARD = re.compile("ts-unheard")


def wait_heard(row: Locator) -> None:
    """Wait until the span of a difference has been played to its end: before that it cannot be judged."""
    expect(row).not_to_have_class(UNHEARD)


def test_marked_words_are_the_word_rows_of_the_table(page: Page, heard: asr_core.Comparison) -> None:
    open_tab(page)
    view = compare(page, "TDT vs CTC")
    words = [one for one in heard.differences if one.kind != "boundary"]
    expect(rows(page)).to_have_count(len(heard.differences))
    expect(rows(page, WORDS)).to_have_count(len(words))
    for k in range(2):
        marked = page.locator(f"#ts-compare-texts [data-column='{k}'] [data-difference]")
        expect(marked).to_have_count(len(words))
        here = heard.transcripts[k].words
        has = [here[one.readings[k]].text for one in words if one.readings[k] is not None]
        assert [text for text in marked.all_inner_texts() if text != "–"] == has
    on_tiers = [sum(one.readings[k] is not None for one in words) for k in range(2)]
    expect(view).to_have_attribute("data-marks", ",".join(map(str, on_tiers)))
    glance = page.locator("#ts-compare-glance")
    expect(glance).to_contain_text(f"{100 * heard.summaries[0].word_error_rate:.1f} %")
    expect(glance).to_contain_text("× real time")


def test_a_click_on_a_row_plays_its_span_and_moves_the_view(page: Page, heard: asr_core.Comparison) -> None:
    open_tab(page)
    view = compare(page, "TDT vs CTC")
    last = heard.differences[-1]
    rows(page).last.click()
    expect(view).to_have_attribute("data-played", re.compile(rf"^{last.start:.3f}:{last.end:.3f}:\d+$"))
    samples = int(view.get_attribute("data-played").split(":")[2])
    assert abs(samples - 16_000 * (last.end - last.start)) <= 1
    a, b = map(float, view.get_attribute("data-view").split(":"))
    assert a <= last.start and last.end <= b
    expect(rows(page).last).to_have_class(re.compile("ts-selected"))


def test_the_limit_of_moved_boundaries_is_a_field_and_the_table_sorts(page: Page, heard: asr_core.Comparison) -> None:
    open_tab(page)
    compare(page, "TDT vs CTC")
    wide = asr_core.compare(heard.transcripts, moved=0.5)
    field = page.get_by_label("Boundaries moved more than")
    field.fill("500")
    field.press("Enter")
    expect(rows(page)).to_have_count(len(wide.differences))
    field.fill("80")
    field.press("Enter")
    expect(rows(page)).to_have_count(len(heard.differences))
    page.locator("[data-sort=shift]").click()
    page.locator("[data-sort=shift]").click()
    # A word that only one has has not moved: it stands last.
    shifts = sorted((round(1000 * abs(one.shift)) for one in heard.differences if one.shift is not None), reverse=True)
    shown = [text.replace("−", "").replace("+", "") for text in rows(page).locator("td:nth-child(6)").all_inner_texts()]
    assert [int(text.split()[0]) for text in shown[: len(shifts)]] == shifts
    assert shown[len(shifts) :] == ["–"] * (len(heard.differences) - len(shifts))
    with page.expect_download() as download:
        page.click("[data-save=csv]")
    with Path(download.value.path()).open(encoding="utf-8", newline="") as file:
        assert len(list(csv.DictReader(file))) == len(heard.differences)


def test_another_reading_goes_on_the_tier(page: Page, demo: asr_core.Recognizer) -> None:
    best = demo.transcribe(CLIP, decoding=asr_core.Beam(size=5))
    assert best.alternatives
    open_tab(page)
    view = compare(page)
    expect(page.locator("#ts-compare-texts [data-column='1']")).to_have_text(spaced(best.text))
    before = view.get_attribute("data-ready")
    page.locator("#ts-compare-readings tbody tr").nth(1).click()
    other = asr_core.compare([demo.transcribe(CLIP), best.alternatives[0]])
    words = [one for one in other.differences if one.kind != "boundary"]
    expect(rows(page, WORDS)).to_have_count(len(words))
    on_tiers = [sum(one.readings[k] is not None for one in words) for k in range(2)]
    expect(view).to_have_attribute("data-marks", ",".join(map(str, on_tiers)))
    assert view.get_attribute("data-ready") != before


def test_a_reference_gives_the_rate_of_jiwer(page: Page, heard: asr_core.Comparison) -> None:
    open_tab(page)
    compare(page, "TDT vs CTC")
    right = "The bakery is behind the airport. Many of the lords chose his ball. April captain engineer often."
    page.get_by_role("textbox", name="The right text").fill(right)
    results = page.locator(".ts-compare-results tbody tr")
    expect(results).to_have_count(2)
    for k, transcript in enumerate(heard.transcripts):
        expect(results.nth(k)).to_contain_text(f"{100 * jiwer.wer(right, transcript.text):.1f} %")
    expect(page.locator("#ts-compare-curve .main-svg").first).to_be_visible()


def test_a_dropped_file_gives_boundary_errors(page: Page, heard: asr_core.Comparison, tmp_path: Path) -> None:
    file = tmp_path / "right.TextGrid"
    asr_core.formats.write(heard.transcripts[0], file)
    open_tab(page)
    compare(page, "TDT vs CTC")
    page.set_input_files("#ts-compare-reference input[type=file]", file)
    expect(page.locator(".ts-compare-edges tbody tr").nth(0)).to_have_text(
        re.compile("A *0 ms *0 ms *100 % *100 % *100 %")
    )
    expect(page.locator(".ts-compare-results tbody tr").nth(0)).to_contain_text("0.0 %")
    box = page.locator("#ts-compare-reference .ts-scroll")
    assert box.evaluate("box => box.scrollWidth <= box.clientWidth")
    bad = tmp_path / "bad.TextGrid"
    bad.write_text("not a TextGrid")
    page.set_input_files("#ts-compare-reference input[type=file]", bad)
    expect(page.locator("#ts-compare-reference .ts-problem")).to_contain_text("bad.TextGrid")


def test_keys_go_to_differences_and_pick(page: Page, heard: asr_core.Comparison) -> None:
    open_tab(page)
    compare(page, "TDT vs CTC")
    page.locator("#ts-compare-view .ts-align").focus()
    page.keyboard.press("n")
    expect(rows(page).nth(0)).to_have_class(re.compile("ts-selected"))
    wait_heard(rows(page).nth(0))
    page.keyboard.press("2")
    expect(rows(page).nth(0).locator("[data-pick='1']")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("n")
    wait_heard(rows(page).nth(1))
    page.keyboard.press("x")
    expect(rows(page).nth(1).locator("[data-pick='-1']")).to_have_attribute("aria-pressed", "true")
    place, at = next((i, one) for i, one in enumerate(heard.differences) if i > 1 and one.kind == "substitution")
    word = rows(page).nth(place)
    expect(word).to_have_class(UNHEARD)
    word.locator("[data-pick='1']").click()
    expect(page.locator("#ts-compare-view .ts-status")).to_contain_text("Hear it to the end, then pick")
    wait_heard(word)
    expect(word.locator("[data-pick='1']")).to_have_attribute("aria-pressed", "false")
    word.locator("[data-pick='1']").click()
    expect(word.locator("[data-pick='1']")).to_be_focused()
    picks = page.locator("#ts-compare-picks")
    expect(picks).to_contain_text(f"{len(heard.differences) - 3} left. Too few yet to call a winner.")
    with page.expect_download() as download:
        page.click("[data-reviewed=txt]")
    words = [word.text for word in heard.transcripts[0].words]
    for one in (heard.differences[0], at):  # those of which the second reading was picked
        words[one.readings[0]] = heard.transcripts[1].words[one.readings[1]].text
    assert Path(download.value.path()).read_text(encoding="utf-8").split() == words


def test_arrows_walk_the_words_of_both_decoders(page: Page, heard: asr_core.Comparison) -> None:
    open_tab(page)
    view = compare(page, "TDT vs CTC")
    ours, theirs = (transcript.words for transcript in heard.transcripts)
    index, partner = next((i, j) for i, j in heard.partners[0] if i and j)
    card = page.locator("#ts-compare-view .ts-card-hover")
    page.locator("#ts-compare-view .ts-align").focus()
    for word in ours[: index + 1]:
        page.keyboard.press("ArrowRight")
        expect(view).to_have_attribute("data-played", re.compile(rf"^{word.start:.3f}:{word.end:.3f}:"))
        expect(card).to_contain_text(f"“{word.text}”")
        expect(card).to_contain_text(f"{word.start:.3f} s")
    there = theirs[partner]
    page.keyboard.press("ArrowDown")
    expect(view).to_have_attribute("data-played", re.compile(rf"^{there.start:.3f}:{there.end:.3f}:"))
    expect(page.locator("#ts-compare-view .ts-status")).to_contain_text(f"{there.text}, B, confidence")
    expect(card).to_contain_text(f"{there.confidence:.2f}")
    page.keyboard.press("ArrowUp")
    expect(page.locator("#ts-compare-view .ts-status")).to_contain_text(f"{ours[index].text}, A, confidence")
    page.keyboard.press("+")
    expect(view).not_to_have_attribute("data-view", re.compile(r"^0\.0000:"))
    page.keyboard.press("0")
    expect(view).to_have_attribute("data-view", re.compile(rf"^0\.0000:{heard.transcripts[0].duration:.2f}"))
    expect(rows(page).locator("[aria-pressed=true]")).to_have_count(0)
    page.keyboard.press("?")
    for text in ("Zoom in, out, all+ − 0", "NeitherX", "Word before, after← →"):
        expect(page.locator("#ts-compare-view .ts-help")).to_contain_text(text)


def test_partners_light_up_and_the_worst_moments_are_walked(page: Page, heard: asr_core.Comparison) -> None:
    open_tab(page)
    view = compare(page, "TDT vs CTC")
    index, partner = next((i, j) for i, j in heard.partners[0] if i and j)
    page.locator(f"[data-column='0'] [data-i='{index}']").hover()
    expect(page.locator(f"[data-column='1'] [data-i='{partner}']")).to_have_class(re.compile("ts-pointed"))
    moments = page.locator("#ts-compare-moments")
    moments.get_by_role("button", name="Next").click()
    expect(view).to_have_attribute("data-played", re.compile(r"\d+:\d"))
    expect(moments.locator("li").nth(0)).to_have_class(re.compile("ts-selected"))
    moments.get_by_role("button", name="Previous").click()
    expect(moments.locator("li").last).to_have_class(re.compile("ts-selected"))


def test_a_sentence_of_the_timeline_is_played(page: Page, heard: asr_core.Comparison) -> None:
    open_tab(page)
    view = compare(page, "TDT vs CTC")
    chart = page.locator("#ts-compare-timeline")
    expect(chart.locator(".main-svg").first).to_be_visible()
    page.wait_for_timeout(800)
    chart.scroll_into_view_if_needed()
    box = chart.locator(".bars .point path").first.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x - 5, y)
    page.mouse.move(x, y)
    page.wait_for_timeout(400)
    page.mouse.click(x, y)
    sentence = heard.transcripts[0].sentences[0]
    expect(view).to_have_attribute("data-played", re.compile(rf"^{sentence.start:.3f}:{sentence.end:.3f}:"))


def test_four_decoders_and_the_recording_of_transcribe(page: Page, view) -> None:
    page.set_input_files("input[type=file] >> nth=0", SAMPLES / "meeting-date.flac")
    view.wait()
    page.get_by_role("tab", name="Compare").click()
    expect(page.locator("#ts-compare-source .ts-name")).to_have_text("meeting-date.flac")
    for _ in range(2):
        page.get_by_role("button", name="Add a decoder").click()
    expect(page.get_by_label("Preset")).to_have_value("")
    compare(page)
    names = page.locator("#ts-compare-texts h2")
    expect(names).to_have_text(["Greedy, TDT", "Beam 5, TDT", "Beam 5, TDT", "Beam 5, TDT"])
    expect(page.locator("#ts-compare-glance .ts-compare-speed tr")).to_have_count(4)
    page.get_by_role("button", name="Decoders").click()
    page.locator("#ts-compare-D").get_by_label("Head").select_option("ctc")
    page.get_by_role("button", name="Remove decoder A").click()
    page.get_by_role("button", name="Remove decoder B").click()
    expect(page.locator("#ts-compare-B").get_by_label("Head")).to_have_value("ctc")
    expect(page.get_by_role("button", name="Remove decoder A")).to_be_hidden()
    button(page).click()
    expect(names).to_have_text(["Beam 5, TDT", "Beam 5, CTC"], timeout=60_000)


def test_a_preset_that_is_changed_is_no_preset(page: Page) -> None:
    open_tab(page)
    preset = page.get_by_label("Preset")
    expect(preset).to_have_value("beam")
    page.locator("#ts-compare-B").get_by_label("Beam size").fill("4")
    expect(preset.locator("option:checked")).to_have_text("Custom")
    preset.focus()
    preset.select_option("beam")
    expect(page.locator("#ts-compare-B").get_by_label("Beam size")).to_have_value("5")
    page.locator("#ts-compare-B").get_by_label("Head").select_option("ctc")
    expect(preset.locator("option:checked")).to_have_text("Custom")


def test_any_decoder_can_be_looked_into(page: Page, demo: asr_core.Recognizer) -> None:
    open_tab(page)
    view = compare(page, "TDT vs CTC")
    page.locator("#ts-compare-view .ts-inside-toggle").click()
    expect(view).to_have_attribute("data-inside", re.compile("^tdt blank:.* entropy:.* duration:"))
    page.locator("#ts-compare-view").get_by_role("button", name="Layers").click()
    page.get_by_label("Decoder to look into").select_option("1")
    expect(view).to_have_attribute("data-inside", re.compile("^ctc blank:.* entropy:.* heard:"))
    page.locator("#ts-compare-view .ts-status").click()
    page.locator("#ts-compare-view .ts-align").focus()
    page.keyboard.press(".")
    card = page.locator("#ts-compare-view .ts-inside-card")
    expect(card).to_contain_text("frame 0")
    of_ctc = demo.transcribe(CLIP, decoding=asr_core.Greedy(head="ctc"))
    scores = demo.inspect(CLIP, of_ctc, 0, 1)
    expect(card.locator(".ts-inside-top li").first).to_contain_text(f"{scores.top_probs[0, 0]:.3f}")


def test_beam_with_a_language_model_asks_for_the_file(page: Page) -> None:
    open_tab(page)
    page.get_by_label("Preset").select_option(label="Beam vs beam + LM")
    page.wait_for_timeout(800)
    expect(page.locator("#ts-compare-B").get_by_role("button", name="Choose an ARPA file")).to_be_visible()
    button(page).click()
    expect(page.locator("#ts-compare-messages .ts-error")).to_contain_text("Choose its ARPA file in the settings of B")


class Tags(HTMLParser):
    """The tags and the text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def test_hostile_texts_are_text_and_so_they_are_in_the_report(page: Page, browser: Browser, tmp_path: Path) -> None:
    page.locator("#ts-model input").fill(str(hostile_model(tmp_path)))
    page.keyboard.press("Enter")
    expect(page.locator("#ts-understands")).to_contain_text("hostile")
    name = "<img src=x onerror=window.hacked=1>${window.hacked=1}{{value}}.flac"
    open_tab(page, {"name": name, "mimeType": "audio/flac", "buffer": (SAMPLES / "friday-meeting.flac").read_bytes()})
    compare(page, "TDT vs CTC")
    expect(page.locator("#ts-compare-source .ts-name")).to_have_text(name)
    texts = page.locator("#ts-compare-texts").inner_text()
    assert [piece for piece in HOSTILE if piece not in texts] == []
    page.get_by_role("textbox", name="The right text").fill(" ".join(HOSTILE))
    expect(page.locator(".ts-compare-results tbody tr")).to_have_count(2)
    page.locator("[data-column='0'] .ts-w").nth(2).hover()
    with page.expect_download() as download:
        page.get_by_role("button", name="Save report").click()
    report = Path(download.value.path()).read_text(encoding="utf-8")
    shown = Tags(report)
    assert not shown.tags & {"img", "script", "link", "iframe"}
    assert [piece for piece in (*HOSTILE, name) if piece not in shown.text] == []
    saved = browser.new_page()
    file = tmp_path / "report.html"
    file.write_text(report, encoding="utf-8")
    requests: list[str] = []
    saved.on("request", lambda request: requests.append(request.url))
    saved.goto(file.as_uri())
    assert requests == [file.as_uri()]
    assert saved.evaluate("window.hacked") is None
    saved.close()
    assert page.evaluate("window.hacked") is None
    assert page.locator("img[src=x]").count() == 0


def hostile_model(folder: Path) -> Path:
    """The embedded model with other texts for its commonest pieces."""
    model = folder / "hostile"
    shutil.copytree(ROOT / "assets" / "demo_model", model)
    (model / "tokenizer.model").unlink()
    text = (model / "config.json").read_text(encoding="utf-8")
    for old, new in zip(("▁the", "▁The", "▁is", "▁at", "▁on", "▁in"), HOSTILE, strict=True):
        for quoted in {json.dumps(old), json.dumps(old, ensure_ascii=False)}:
            text = text.replace(quoted, json.dumps("▁" + new))
    (model / "config.json").write_text(text, encoding="utf-8")
    return model


def spaced(text: str) -> re.Pattern[str]:
    """These words, whatever stands between them."""
    return re.compile(r"^\s*" + r"\s+".join(map(re.escape, text.split())) + r"\s*$")


def test_a_narrow_window_holds_the_comparison(app: str, browser: Browser) -> None:
    context = browser.new_context(viewport={"width": 420, "height": 900})
    page = context.new_page()
    page.goto(app)
    expect(page.locator("#ts-model input")).to_have_value(re.compile("demo", re.I))
    open_tab(page)
    compare(page, "TDT vs CTC")
    page.wait_for_timeout(500)
    assert page.evaluate("document.documentElement.scrollWidth") <= 420
    table = page.locator("#ts-compare-table .ts-scroll")
    assert table.evaluate("box => box.scrollWidth <= box.clientWidth")
    for box in (one.bounding_box() for one in rows(page).first.locator("[data-pick]").all()):
        assert box["x"] >= 0 and box["x"] + box["width"] <= 420 and box["height"] >= 40
    page.locator("#ts-compare-view .ts-inside-toggle").click()
    choice = page.get_by_label("Decoder to look into")
    choice.select_option("1")
    expect(page.locator("#ts-compare-view [data-inside]").first).to_have_attribute("data-inside", re.compile("^ctc "))
    context.close()
