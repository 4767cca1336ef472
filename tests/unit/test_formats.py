"""Files that other programs open: each format is read back by a library that is not the project's."""

import csv
import io
import itertools
import json
import re
from pathlib import Path

import praatio.textgrid
import pytest
import srt
import textgrid
import webvtt
from hypothesis import given, settings
from hypothesis import strategies as st

from asr_core import formats
from asr_core.alignment import Sentence, Token, Transcript, Word
from asr_core.errors import FormatError
from asr_core.formats.cues import MAX_CHARACTERS, MAX_LINES
from asr_core.formats.layout import intervals, one_line

HOSTILE = [
    "-->",
    "<b>",
    "&amp;",
    'a "quote"',
    "line\nbreak\r\n\n7\n",
    "שלום",
    "👩‍👩‍👧",
    "\x00\x0b\u2028",
    "=1+1",
    ";;x",
    "",
    " ",
    "a" * 100,
]


def transcript(texts, gaps=None, sentence_of=3) -> Transcript:
    """Two tokens a word; a gap of 0 puts a word on the end of the one before it, -1 gives it no length."""
    words, at = [], 0.0
    for text, gap in zip(texts, gaps or [0.1] * len(texts), strict=True):
        start = at + max(gap, 0.0)
        middle, at = (start, start) if gap < 0 else (start + 0.08, start + 0.2)
        tokens = (Token(1, " " + text, start, middle, 0.5, -0.5), Token(2, ".", at, at, 0.9, float("nan")))
        words.append(Word(text, start, at, 0.5, tokens))
    sentences = [words[i : i + sentence_of] for i in range(0, len(words), sentence_of)]
    return Transcript(
        text=" ".join(texts),
        sentences=tuple(Sentence(" ".join(w.text for w in s), s[0].start, s[-1].end, 0.5, tuple(s)) for s in sentences),
        words=tuple(words),
        tokens=tuple(token for word in words for token in word.tokens),
        duration=at,
        score=-1.5,
    )


def rendered(value: Transcript, format: str, tier: str | None = None) -> str:
    out = io.StringIO()
    formats.write(value, out, format=format, tier=tier)
    return out.getvalue()


TEXT = st.text(max_size=60) | st.sampled_from(HOSTILE)
ANY = st.lists(st.tuples(TEXT, st.sampled_from([-1.0, 0.0, 0.0004, 0.5])), max_size=8).map(
    lambda items: transcript([text for text, _ in items], [gap for _, gap in items])
)
EMPTY = Transcript()


@given(ANY)
@settings(deadline=None)
def test_srt(value):
    cues = list(srt.parse(rendered(value, "srt"))) if (text := rendered(value, "srt")) else []
    assert [cue.index for cue in cues] == list(range(1, len(cues) + 1)) and text.count(" --> ") == len(cues)
    check_cues([(cue.start.total_seconds(), cue.end.total_seconds()) for cue in cues])
    expected = re.sub(r"\s", "", "".join(one_line(w.text) for w in value.words)).replace("-->", "→")
    assert re.sub(r"\s", "", "".join(cue.content for cue in cues)) == expected


@given(ANY)
@settings(deadline=None)
def test_vtt(value):
    cues = list(webvtt.from_string(rendered(value, "vtt")))
    check_cues([(seconds(cue.start), seconds(cue.end)) for cue in cues])
    expected = re.sub(r"\s", "", "".join(one_line(w.text) for w in value.words))
    assert re.sub(r"\s", "", "".join(unescaped(cue.text) for cue in cues)) == expected
    for cue in cues:
        for line in cue.text.split("\n"):
            assert len(unescaped(line)) <= MAX_CHARACTERS
        assert cue.text.count("\n") < MAX_LINES
        tags = [seconds(tag) for tag in re.findall(r"<([\d:.]+)>", cue.raw_text)]
        assert tags == sorted(set(tags)) and all(seconds(cue.start) < tag < seconds(cue.end) for tag in tags)


@pytest.mark.parametrize("tier", [None, "tokens", "words", "sentences"])
@given(value=ANY)
@settings(deadline=None, max_examples=40)
def test_textgrid(tmp_path_factory, tier, value):
    path = tmp_path_factory.mktemp("grid") / "x.TextGrid"
    formats.write(value, path, tier=tier)
    names = ["tokens", "words", "sentences"] if tier is None else [tier]
    second = textgrid.TextGrid.fromFile(str(path))
    first = praatio.textgrid.openTextgrid(str(path), includeEmptyIntervals=True)
    assert list(first.tierNames) == names == second.getNames()
    for name in names:
        entries = first.getTier(name).entries
        assert entries[0].start == 0 and entries[-1].end == first.maxTimestamp
        assert all(a.end == b.start for a, b in itertools.pairwise(entries))
        labels = [one_line(item.text) for item in getattr(value, name)]
        assert [e.label for e in entries if e.label] == [label for label in labels if label]
        assert [i.mark.strip() for i in second.getFirst(name) if i.mark] == [label for label in labels if label]


@pytest.mark.parametrize("tier", ["tokens", "words", "sentences"])
@given(value=ANY)
@settings(deadline=None, max_examples=40)
def test_csv(tier, value):
    rows = list(csv.DictReader(io.StringIO(rendered(value, "csv", tier), newline="")))
    assert not any(row["text"].startswith(("=", "+", "-", "@")) for row in rows)  # a spreadsheet would run it
    # As it is, or behind the apostrophe that keeps a spreadsheet from running it.
    pairs = zip(rows, getattr(value, tier), strict=True)
    assert all(row["text"] in (item.text, f"'{item.text}") for row, item in pairs)
    assert [float(row["start"]) for row in rows] == [round(item.start, 3) for item in getattr(value, tier)]


@given(ANY)
@settings(deadline=None)
def test_ctm(value):
    lines = rendered(value, "ctm").split("\n")[:-1]
    fields = [line.split(" ") for line in lines]
    assert all(len(row) == 6 for row in fields)
    assert [row[4] for row in fields] == [one_line(w.text).replace(" ", "_") for w in value.words if one_line(w.text)]
    assert all(float(row[3]) > 0 for row in fields)


@given(ANY)
@settings(deadline=None)
def test_json_holds_everything(value):
    def refuse(constant):
        raise AssertionError(f"{constant} is no JSON")

    found = json.loads(rendered(value, "json"), parse_constant=refuse)
    tokens = tuple(
        Token(**{**token, "log_prob": float("nan") if token["log_prob"] is None else token["log_prob"]})
        for token in found["tokens"]
    )
    words = [
        Word(w["text"], w["start"], w["end"], w["confidence"], tokens[slice(*w["tokens"])]) for w in found["words"]
    ]
    assert found["version"] == 1 and found["text"] == value.text and found["duration"] == pytest.approx(value.duration)
    assert [w.text for w in words] == [w.text for w in value.words]
    assert [[t.text for t in w.tokens] for w in words] == [[t.text for t in w.tokens] for w in value.words]
    assert [[words[i].text for i in range(*s["words"])] for s in found["sentences"]] == [
        [w.text for w in s.words] for s in value.sentences
    ]


@given(ANY)
def test_txt(value):
    lines = rendered(value, "txt").split("\n")[:-1]
    assert lines == [one_line(s.text) for s in value.sentences if one_line(s.text)]


@pytest.mark.parametrize("format", formats.FORMATS)
@pytest.mark.parametrize("value", [EMPTY, Transcript(duration=2.5), transcript([""]), transcript(["\n", "-->"])])
def test_nothing_to_say_is_a_valid_file(tmp_path, format, value):
    path = tmp_path / f"x.{format}"
    formats.write(value, path)
    assert path.exists() and [p.name for p in tmp_path.iterdir()] == [path.name]


@given(
    st.lists(st.tuples(st.floats(0, 2), st.floats(-0.1, 0.5)).map(lambda t: (t[0], t[0] + t[1])), max_size=12),
    st.floats(0, 3),
)
def test_intervals_are_positive_ordered_and_inside(spans, duration):
    placed = intervals(sorted(spans), duration)
    at = 0
    for start, end in placed:
        assert at <= start < end
        at = end
    assert at <= max(round(duration * 1000), len(placed))


def test_intervals_by_example():
    assert intervals([(0, 0.5), (0.5, 0.5), (0.5, 0.8)], 1) == [(0, 500), (500, 501), (501, 800)]  # "." before a word
    assert intervals([(0, 0.5), (0.5, 0.5), (0.9, 1.0)], 1) == [(0, 500), (500, 580), (900, 1000)]  # "." at a pause
    assert intervals([(0, 1.0), (1.0, 1.0)], 1) == [(0, 999), (999, 1000)]  # "." at the end
    assert intervals([(0.08, 0.16), (0.08, 0.16)], 1) == [(80, 120), (120, 160)]  # two labels on one frame


def test_vtt_by_example():
    value = transcript(["Fish", "&", "<b>"])
    assert rendered(value, "vtt") == (
        "WEBVTT\n\n00:00:00.100 --> 00:00:00.900\nFish<00:00:00.400><c> &amp;</c><00:00:00.700><c> &lt;b&gt;</c>\n"
    )


def test_long_sentences_become_several_cues():
    value = transcript(["word"] * 40, sentence_of=40)
    cues = list(srt.parse(rendered(value, "srt")))
    assert len(cues) == 3 and all(len(line) <= MAX_CHARACTERS for cue in cues for line in cue.content.split("\n"))


def test_what_is_refused_says_what_is_accepted(tmp_path):
    with pytest.raises(FormatError, match="txt, srt, vtt, json, csv, textgrid, ctm"):
        formats.write(EMPTY, tmp_path / "x.docx")
    with pytest.raises(FormatError, match="txt, srt"):
        formats.write(EMPTY, io.StringIO())
    with pytest.raises(FormatError, match=r"words, tokens.*'sentences'"):
        formats.write(EMPTY, io.StringIO(), format="ctm", tier="sentences")
    with pytest.raises(FormatError, match="cannot be written"):
        formats.write(EMPTY, tmp_path / "missing" / "x.srt")
    assert list(tmp_path.iterdir()) == []


def test_the_readme_says_what_each_format_keeps():
    readme = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \|[^|]*\|[^|]*\| (.*) \|$", readme, re.MULTILINE))
    assert {name: rows.get(name) for name in formats.FORMATS} == formats.TABLE


def check_cues(spans):
    at = 0.0
    for start, end in spans:
        assert at <= start < end
        at = end


def seconds(tag: str) -> float:
    hours, minutes, rest = tag.split(":")
    return int(hours) * 3600 + int(minutes) * 60 + float(rest)


def unescaped(text: str) -> str:
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
