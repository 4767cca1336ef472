"""A person looks inside: what the model thought at each frame, beside the tokens."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

import asr_core

NAME = "meeting-date.flac"
SAMPLES = Path(__file__).parents[2] / "assets" / "samples"
TOGGLE = ".ts-inside-toggle"
CARD = ".ts-inside-card"


@pytest.fixture(scope="module")
def heard(demo: asr_core.Recognizer) -> asr_core.Transcript:
    return demo.transcribe(SAMPLES / NAME)


@pytest.fixture(scope="module")
def scores(demo: asr_core.Recognizer, heard: asr_core.Transcript) -> asr_core.FrameScores:
    """What the core sees in the whole sample."""
    return demo.inspect(SAMPLES / NAME, heard, 0, heard.duration)


class Rows:
    """The rows that the inside view has added."""

    def __init__(self, page: Page, view) -> None:
        self.page, self.view = page, view
        self.element = page.locator("#ts-align [data-inside], #ts-align[data-inside]").first

    def wait(self, head: str = "tdt") -> Rows:
        expect(self.element).to_have_attribute("data-inside", re.compile(f"^{head} "))
        return self

    @property
    def names(self) -> list[str]:
        return [place.split(":")[0] for place in self.places]

    @property
    def places(self) -> list[str]:
        return self.element.get_attribute("data-inside").split()[1:]

    def point(self, name: str, time: float) -> None:
        """Move the pointer on a row, at a time."""
        place = next(place for place in self.places if place.startswith(f"{name}:"))
        _, y, height = place.split(":")
        self.page.mouse.move(*self.view.place(time, float(y) + float(height) / 2))


@pytest.fixture
def inside(page: Page, view, samples: Path) -> Rows:
    """The page with the sample's result, looked into."""
    page.set_input_files("input[type=file]", samples / NAME)
    view.wait()
    page.click(TOGGLE)
    return Rows(page, view).wait()


def test_the_switch_adds_rows_and_is_remembered(page: Page, view, inside: Rows) -> None:
    expect(page.get_by_role("button", name="Look inside")).to_have_attribute("aria-pressed", "true")
    assert inside.names == ["blank", "entropy", "duration"]
    page.reload()
    view.wait()
    inside.wait()
    page.click(TOGGLE)
    expect(page.locator("[data-inside]")).to_have_count(0)
    page.reload()
    view.wait()
    expect(page.locator(TOGGLE)).to_have_attribute("aria-pressed", "false")
    expect(page.locator("[data-inside]")).to_have_count(0)


def test_the_card_shows_the_token_under_it(
    page: Page, inside: Rows, heard: asr_core.Transcript, scores: asr_core.FrameScores
) -> None:
    step = scores.frame_seconds
    for token in [t for t in heard.tokens if t.end > t.start][2:6]:
        frame = round(token.start / step)
        page.mouse.move(5, 5)
        expect(page.locator(CARD)).to_be_hidden()
        inside.point("blank", token.start + step / 2)
        card = page.locator(CARD)
        expect(card).to_be_visible()
        expect(card).to_contain_text(f"{token.start:.3f} s")
        expect(card.locator(".ts-inside-top li")).to_have_count(5)
        best = card.locator(".ts-inside-top li").first
        shown = best.locator(".ts-inside-text").inner_text().replace("▁", " ").strip()
        assert shown == token.text.strip()
        expect(best).to_contain_text(f"{scores.top_probs[frame, 0]:.3f}")
        # It is sent in steps of 1/4096 nats.
        expect(card).to_contain_text(f"{round(4096 * scores.entropy[frame]) / 4096:.3f} nats")
        expect(card).to_contain_text(f"{scores.duration[frame]} ({round(1000 * scores.duration[frame] * step)} ms)")
        expect(card.locator(".ts-inside-durations li")).to_have_count(len(scores.durations))


def test_blank_and_skipped_frames_say_so(page: Page, inside: Rows, view, scores: asr_core.FrameScores) -> None:
    a, b = view.window
    times = scores.times + scores.frame_seconds / 2
    seen = (times > a) & (times < b)
    blank = np.flatnonzero(seen & (np.nan_to_num(scores.blank) > 0.9))[0]
    inside.point("entropy", times[blank])
    expect(page.locator(CARD).locator(".ts-inside-top li").first).to_contain_text("blank")
    skipped = np.flatnonzero(seen & ~scores.visited)[0]
    inside.point("duration", times[skipped])
    expect(page.locator(CARD)).to_contain_text("skipped by TDT")


def test_keys_switch_and_step_through_the_frames(page: Page, view, inside: Rows, scores: asr_core.FrameScores) -> None:
    view.focus()
    page.keyboard.press(".")
    expect(page.locator(CARD)).to_contain_text("frame 0")
    page.keyboard.press(".")
    expect(page.locator(CARD)).to_contain_text("frame 1")
    said = page.locator(".ts-align + [aria-live=polite]")
    expect(said).to_contain_text("0.080 s")
    expect(said).to_contain_text("entropy" if scores.visited[1] else "skipped")
    page.keyboard.press(",")
    expect(page.locator(CARD)).to_contain_text("frame 0")
    page.keyboard.press("i")
    expect(page.locator(TOGGLE)).to_have_attribute("aria-pressed", "false")
    expect(page.locator(CARD)).to_be_hidden()
    page.keyboard.press("i")
    inside.wait()


def test_the_ctc_head_can_be_asked_about_the_same_tokens(
    page: Page, inside: Rows, heard: asr_core.Transcript, demo: asr_core.Recognizer
) -> None:
    page.get_by_role("button", name="Layers").click()
    page.get_by_label("Head to look into").select_option("ctc")
    inside.wait("ctc")
    assert inside.names == ["blank", "entropy", "heard"]
    page.keyboard.press("Escape")
    page.locator(".ts-status").click()
    of_ctc = demo.transcribe(SAMPLES / NAME, decoding=asr_core.Greedy(head="ctc"))
    scores = demo.inspect(SAMPLES / NAME, of_ctc, 0, of_ctc.duration)
    frame = round(of_ctc.tokens[3].start / scores.frame_seconds)
    inside.point("heard", (frame + 0.5) * scores.frame_seconds)
    best = page.locator(CARD).locator(".ts-inside-top li").first
    expect(best).to_contain_text(demo.vocabulary.pieces[scores.top_ids[frame, 0]])
    expect(best).to_contain_text(f"{scores.top_probs[frame, 0]:.3f}")
    expect(page.locator(CARD)).not_to_contain_text("Duration")


def test_an_hour_is_looked_into_only_where_it_is_near(page: Page, view, tmp_path: Path) -> None:
    one = asr_core.read_audio(SAMPLES / "friday-meeting.flac")
    file = tmp_path / "long.wav"
    asr_core.write_wav(file, np.tile(one, 5), 16_000)
    asked: list[str] = []
    page.on("request", lambda request: "inside_tile" in (request.post_data or "") and asked.append(request.url))
    page.set_input_files("input[type=file]", file)
    view.wait()
    page.click(TOGGLE)
    rows = Rows(page, view).wait()
    first = len(asked)
    assert 1 <= first <= 2
    view.focus()
    page.keyboard.press("0")
    expect(rows.element).to_have_attribute("data-inside", re.compile("Zoom in to look inside"))
    page.wait_for_timeout(500)
    assert len(asked) == first
    page.keyboard.press("+")
    rows.wait()
    assert first < len(asked) <= first + 3


@pytest.mark.parametrize("page_width", [420])
def test_a_narrow_page_docks_the_card(page: Page, view, samples: Path, page_width: int) -> None:
    page.set_viewport_size({"width": page_width, "height": 900})
    page.set_input_files("input[type=file]", samples / NAME)
    view.wait()
    page.click(TOGGLE)
    rows = Rows(page, view).wait()
    box = page.locator(".ts-overlay").bounding_box()
    y = float(rows.places[0].split(":")[1])
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + y + 10)
    card = page.locator(CARD)
    expect(card).to_be_visible()
    assert card.bounding_box()["y"] > box["y"] + box["height"] - 1
    bar = page.locator(".ts-align .ts-bar")
    assert bar.evaluate("bar => bar.scrollWidth <= bar.clientWidth")
