"""What is saved of a comparison: table, reviewed text, and a report that needs nothing and runs nothing."""

from __future__ import annotations

import base64
import csv
import io
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import asr_core
from asr_core import formats
from components.align_view import tile_of
from components.compare_export import save, table_of
from components.compare_report import report_of
from components.compare_view import changes_of
from components.documents import Document, Documents, Sound
from components.trials import Column, Trial, Trials

SAMPLES = Path(__file__).parents[2] / "assets" / "samples"
HOSTILE = ("<img src=x onerror=alert(1)>", "${alert(1)}", "{{value}}", "</script>", "שלום", "👩‍🔬", "\"&'", "=1+1")


@pytest.fixture
def document(tmp_path: Path) -> Document:
    documents = Documents(tmp_path, max_documents=3, retention_hours=1)
    found = documents.add(SAMPLES / "friday-meeting.flac", "<img src=x onerror=alert(1)>.flac", move=False)
    samples = asr_core.read_audio(SAMPLES / "friday-meeting.flac")
    return documents.prepare(found.id, Sound(samples, 16_000, None))


@pytest.fixture
def hostile() -> Trial:
    """Words that are anything but words; every one differs."""

    def transcript(tail: str) -> asr_core.Transcript:
        texts = [text.replace(" ", "\N{NO-BREAK SPACE}") + tail for text in HOSTILE]
        words = [asr_core.Word(text, 2.0 * i, 2.0 * i + 1.9, 0.5, ()) for i, text in enumerate(texts)]
        return asr_core.Transcript(text=" ".join(texts), words=tuple(words), duration=21.8, model="<b>m</b>")

    return Trials().add("x", [Column("<i>A</i>", transcript("")), Column("${B}", transcript("!"))])


class Tags(HTMLParser):
    """The tags and the text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.pictures: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attributes}
        self.pictures += [value for name, value in attributes if name == "href"]

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_report_shows_hostile_texts_as_text(hostile: Trial, document: Document) -> None:
    hostile = replace(hostile, **changes_of(hostile, {"pick": [0, 1]}))
    hostile = replace(hostile, **changes_of(hostile, {"reference": {"text": " ".join(HOSTILE)}}))
    page = Tags(report_of(hostile, document))
    assert not page.tags & {"img", "script", "iframe", "link", "object", "i", "b"}
    assert not [name for name in page.attributes if name.startswith("on") or name == "src"]
    for text in HOSTILE:
        assert text.replace(" ", "\N{NO-BREAK SPACE}") in page.text
    assert document.name in page.text


def test_the_report_needs_no_network(hostile: Trial, document: Document) -> None:
    page = report_of(hostile, document)
    assert "default-src 'none'" in page
    assert page.count("<svg") == 3, "22 seconds are three lines"
    pictures = Tags(page).pictures
    for picture in pictures:
        page = page.replace(picture, "")
    assert not re.findall(r"https?://|//\w|url\(", page)


def test_the_report_shows_the_spectrogram(hostile: Trial, document: Document) -> None:
    pictures = Tags(report_of(hostile, document)).pictures
    assert len(pictures) == 3
    for i, picture in enumerate(pictures):
        kind, _, data = picture.partition(",")
        assert kind == "data:image/png;base64"
        grey = np.asarray(Image.open(io.BytesIO(base64.b64decode(data))))
        end = min(10 * (i + 1), document.audio.duration)
        tile = tile_of(document, 10.0 * i, end, grey.shape[1], grey.shape[0], 8_000.0)
        assert (255 - grey).tobytes() == base64.b64decode(tile["pixels"]) and grey.std() > 10


def test_the_report_lists_every_difference(hostile: Trial, document: Document) -> None:
    body = report_of(hostile, document).split("<h2>Differences")[1].split("</table>")[0]
    assert body.count("<tr>") - 1 == len(hostile.comparison.differences) == len(HOSTILE)


def test_a_long_recording_is_shown_where_it_differs(document: Document, demo: asr_core.Recognizer) -> None:
    heard = demo.transcribe(SAMPLES / "friday-meeting.flac")
    long = replace(document.audio, samples=16_000 * 600)
    trial = Trials().add("x", [Column("a", heard), Column("b", heard)])
    page = report_of(trial, replace(document, audio=long))
    assert page.count("<svg") == 0 and "Nowhere." in page


def test_the_table_has_all_rows_and_starts_no_formula(hostile: Trial) -> None:
    hostile = replace(hostile, **changes_of(hostile, {"pick": [1, 0]}))
    rows = list(csv.DictReader(io.StringIO(table_of(hostile))))
    assert len(rows) == len(hostile.comparison.differences)
    assert [row["right"] for row in rows[:3]] == ["", "A", ""]
    assert rows[7]["A: <i>A</i>"] == "'=1+1"
    assert rows[0]["A confidence"] == "0.500000"


def test_the_reviewed_text_is_written(hostile: Trial, document: Document) -> None:
    hostile = replace(hostile, **changes_of(hostile, {"pick": [2, 1]}))
    path = save(hostile, document, "json")
    assert path.parent == document.folder / "exports"
    words = [word.text for word in formats.read(path).transcript().words]
    assert words[2] == "{{value}}!" and words[3] == "</script>"


@pytest.mark.parametrize("what", [None, "exe", "../x", 5, ["csv"]])
def test_other_files_are_not_made(hostile: Trial, document: Document, what: object) -> None:
    with pytest.raises(asr_core.FormatError):
        save(hostile, document, what)
