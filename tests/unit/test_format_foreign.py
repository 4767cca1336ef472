"""Files that other programs write are understood, and what is written here other programs open."""

import io
import json
import re
import shutil
import wave

import praatio.textgrid
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pympi import Elan

from asr_core import formats
from asr_core.alignment import Token, Transcript, Word
from asr_core.annotation import Audio, Document, Segment, Tier
from asr_core.errors import FormatError

NAN = float("nan")


def spans(tier: Tier) -> list[tuple[float, float, str]]:
    return [(s.start, s.end, s.text) for s in tier.segments]


def read(text: str | bytes, format: str | None = None, **known) -> Document:
    return formats.read(text.encode() if isinstance(text, str) else text, format=format, **known)


def words(*items, duration=None, kind="words") -> Document:
    return Document(Audio("clip.wav", duration=duration), (tier(kind, *items),))


def tier(kind, *items, first=0, name=None) -> Tier:
    return Tier(name or kind, kind, tuple(Segment(first + i, *item) for i, item in enumerate(items)))


def written(source, format, tier=None) -> str:
    out = io.StringIO()
    formats.write(source, out, format=format, tier=tier)
    return out.getvalue()


def test_praat_short_form_points_and_comments():
    text = (
        'File type = "ooTextFile short"\n"TextGrid"\n\n0\n2,5\n<exists>\n3\n! a comment with 7 and "quotes"\n'
        '"IntervalTier"\n"Word"\n0\n2.5\n2\n0\n0.5\n""\n0.5\n2.5\n"say ""hi""\nthere"\n'
        '"TextTier"\n"clicks"\n0\n2.5\n1\n1.25\n"click"\n"IntervalTier"\n"Word"\n0\n2.5\n0\n'
    )
    for coded in (text.encode(), text.encode("utf-16"), text.encode("utf-16-be"), text.replace("\n", "\r\n").encode()):
        found = read(coded)
        assert [(t.name, t.kind) for t in found.tiers] == [("Word", "words"), ("clicks", "free"), ("Word 2", "words")]
        assert spans(found.tiers[0])[0][:2] == (0.5, 2.5) and found.tiers[0].segments[0].text.split() == [
            "say",
            '"hi"',
            "there",
        ]
        assert spans(found.tiers[1]) == [(1.25, 1.25, "click")] and found.audio.duration == 2.5


def test_praatio_files_are_read(tmp_path):
    entries = [(0.0, 0.5, 'a "b"'), (0.5, 1.25, "שלום")]
    for form in ("short_textgrid", "long_textgrid"):
        grid = praatio.textgrid.Textgrid()
        grid.addTier(praatio.textgrid.IntervalTier("words", entries, 0, 2))
        grid.addTier(praatio.textgrid.PointTier("marks", [(1.5, "noise")], 0, 2))
        grid.save(str(tmp_path / "x.TextGrid"), format=form, includeBlankSpaces=True)
        found = formats.read(tmp_path / "x.TextGrid")
        assert spans(found.tier("words")) == entries and spans(found.tier("marks")) == [(1.5, 1.5, "noise")]


def test_praat_opens_every_tier(tmp_path):
    document = Document(
        Audio(duration=3),
        (
            tier("words", ("Hi", 0.5, 1)),
            tier("speakers", ("", 0, 2), first=5, name='who "is" it'),
            tier("marks", ("noise", 2, 2), first=9),
        ),
    )
    formats.write(document, tmp_path / "x.TextGrid")
    grid = praatio.textgrid.openTextgrid(str(tmp_path / "x.TextGrid"), includeEmptyIntervals=False)
    assert grid.tierNames == ("words", 'who "is" it', "marks")
    assert [tuple(entry) for entry in grid.getTier("marks").entries] == [(2.0, 2.08, "noise")]


@given(st.lists(st.tuples(st.text(max_size=9), st.integers(0, 300), st.integers(1, 500)), max_size=6))
@settings(deadline=None, max_examples=40)
def test_elan_files_are_opened_by_pympi(tmp_path_factory, items):
    at, made = 0, []
    for text, gap, length in items:
        start, at = at + gap, at + gap + length
        made.append((text, start / 1000, at / 1000))
    path = tmp_path_factory.mktemp("elan") / "x.eaf"
    formats.write(words(*made), path)
    opened = Elan.Eaf(str(path))
    assert [opened.get_parameters_for_tier(name)["LINGUISTIC_TYPE_REF"] for name in opened.get_tier_names()] == [
        "words"
    ]
    heard = sorted(opened.get_annotation_data_for_tier("words"), key=lambda one: one[:2])
    assert [one[:2] for one in heard] == [(round(s * 1000), round(e * 1000)) for _, s, e in made]
    touching = sum(made[i][2] == made[i + 1][1] for i in range(len(made) - 1))
    assert len(opened.timeslots) == 2 * len(made) - touching  # neighbours that touch share their slot


def test_files_of_pympi_are_read(tmp_path):
    made = Elan.Eaf(author="Ada")
    made.add_linked_file("file:///recordings/my%20clip.wav", mimetype="audio/x-wav")
    made.add_tier("Mary", part="Mary")
    made.add_annotation("Mary", 500, 2500, "hello & <you>")
    made.add_linguistic_type("parts", constraints="Symbolic_Subdivision", timealignable=False)
    made.add_tier("pieces", ling="parts", parent="Mary")
    made.add_ref_annotation("pieces", "Mary", 600, "first")
    made.to_file(str(tmp_path / "x.eaf"))
    found = formats.read(tmp_path / "x.eaf")
    by_name = {t.name: t for t in found.tiers}
    assert spans(by_name["Mary"]) == [(0.5, 2.5, "hello & <you>")] and by_name["Mary"].segments[0].speaker == "Mary"
    assert spans(by_name["pieces"]) == [(0.5, 2.5, "first")] and found.audio.name == "my clip.wav"


def test_elan_subdivisions_and_hanging_slots():
    note = (
        '<ANNOTATION><{0}_ANNOTATION ANNOTATION_ID="{1}" {2}><ANNOTATION_VALUE>{1}</ANNOTATION_VALUE>'
        "</{0}_ANNOTATION></ANNOTATION>"
    )
    times = [("a", ' TIME_VALUE="0"'), ("b", ""), ("c", ""), ("d", ' TIME_VALUE="3000"')]
    slots = "".join(f'<TIME_SLOT TIME_SLOT_ID="{name}"{time}/>' for name, time in times)
    text = (
        f'<?xml version="1.0" encoding="UTF-16"?><ANNOTATION_DOCUMENT><TIME_ORDER>{slots}</TIME_ORDER>'
        '<TIER TIER_ID="refs">'
        + note.format("REF", "r1", 'ANNOTATION_REF="x"')
        + note.format("REF", "r2", 'ANNOTATION_REF="x" PREVIOUS_ANNOTATION="r1"')
        + '</TIER><TIER TIER_ID="deep">'
        + note.format("REF", "q", 'ANNOTATION_REF="r2"')
        + '</TIER><TIER TIER_ID="top" LINGUISTIC_TYPE_REF="words">'
        + note.format("ALIGNABLE", "x", 'TIME_SLOT_REF1="a" TIME_SLOT_REF2="c"')
        + note.format("ALIGNABLE", "y", 'TIME_SLOT_REF1="c" TIME_SLOT_REF2="d"')
        + "</TIER></ANNOTATION_DOCUMENT>"
    )
    found = read(text.encode("utf-16"))
    assert spans(found.tier("top")) == [(0, 2, "x"), (2, 3, "y")] and found.tier("top").kind == "words"
    assert spans(found.tier("refs")) == [(0, 1, "r1"), (1, 2, "r2")] and spans(found.tier("deep")) == [(1, 2, "q")]


def test_subtitles_that_overlap_lack_numbers_or_have_hours_in_one_digit():
    text = (
        "\ufeff1\r\n0:00:01.5 --> 0:00:04,000 X1:1\r\n<i>Hello</i>\r\nyou\r\n\r\n\r\n"
        "00:03,000 --> 00:05,000\r\n- At once\r\n\r\nafter a gap\r\n\r\n3\r\n00:00:05,000 --> 00:00:05,000\r\n"
    )
    found = read(text)
    assert spans(found.tier("sentences")) == [(1.5, 4, "<i>Hello</i> you"), (5, 5, "")]
    assert spans(found.tier("sentences 2")) == [(3, 5, "- At once after a gap")]
    assert "overlap, so they stand in 2 tiers" in found.warnings[0]
    again = read(written(found, "srt"))
    assert [spans(t)[0] for t in again.tiers] == [(1.5, 4, "<i>Hello</i> you"), (3, 5, "- At once after a gap")]


def test_vtt_of_others():
    text = (
        "WEBVTT - a title\nKind: captions\n\nSTYLE\n::cue { color: red }\n\nNOTE\nnot said\n\nintro\n"
        "00:01.000 --> 00:02.500 align:start\n<v.loud Ada Lovelace>Fish &amp; <b>chips</b> &lt;b&gt;</v>\n\n"
        "01:00:02.500 --> 01:00:04.000\nRock<01:00:03.000> and <01:00:03.500>roll\n"
    )
    found = read(text)
    first, second = found.tier("sentences").segments
    assert (first.text, first.speaker) == ("Fish & chips <b>", "Ada Lovelace") and second.text == "Rock and roll"
    assert spans(found.tier("words"))[-3:] == [
        (3602.5, 3603, "Rock"),
        (3603, 3603.5, "and"),
        (3603.5, 3604, "roll"),
    ]
    assert "<v Ada Lovelace>Fish &amp; chips" in written(Document(tiers=(found.tier("sentences"),)), "vtt").replace(
        "\n", " "
    )


def test_ctm_of_others():
    text = (
        ";; made by sclite\nsw1 A 0.10 0.13 hello 0.9 lex Ada\nsw1 A 0.22 0.2 you NA lex Ada\nsw1 B 0,15 1 yes\n"
        "sw2 A 0 1 other\n"
    )
    found = read(text, audio="sw1.wav")
    assert spans(found.tier("words A")) == [(0.1, 0.22, "hello"), (0.22, 0.42, "you")]  # hundredths, rounded twice
    assert spans(found.tier("words B")) == [(0.15, 1.15, "yes")] and found.audio.name == "sw1.wav"
    hello, you = found.tier("words A").segments
    assert (hello.confidence, hello.speaker, you.confidence) == (0.9, "Ada", None)
    assert (
        written(words(("a b", 0, 1), ("c", 1, 2, 0.5)), "ctm")
        == "audio 1 0.000 1.000 a_b\naudio 1 1.000 1.000 c 0.5000\n"
    )


def test_speakers_that_overlap_get_a_tier_each():
    text = (
        ";; comment\nSPKR-INFO c 1 <NA> <NA> <NA> unknown Ada <NA>\nSPEAKER c 1 0.0 2.0 <NA> <NA> Ada <NA> <NA>\n"
        "SPEAKER c 1 1.5 1.0 <NA> <NA> Bo <NA> <NA>\nSPEAKER c 1 2.5 0.5 <NA> <NA> Ada <NA> <NA>\n"
    )
    found = read(text)
    assert [(t.name, t.kind, len(t.segments)) for t in found.tiers] == [("Ada", "speakers", 2), ("Bo", "speakers", 1)]
    assert written(found, "rttm").splitlines()[1] == "SPEAKER audio 1 1.500 1.000 <NA> <NA> Bo <NA> <NA>"
    one = Document(tiers=(Tier("sentences", "sentences", (Segment(0, "Hi.", 0, 1, speaker="Ada Lovelace"),)),))
    assert written(one, "rttm") == "SPEAKER audio 1 0.000 1.000 <NA> <NA> Ada_Lovelace <NA> <NA>\n"


def test_labels_with_commas_and_spaces():
    for text in ("0,5\t1,0\tx y\n\\\t100\t200\n1,0\t1,0\t\n", "0,5 1,0 x y\n1,0 1,0\n"):
        found = read(text)
        assert spans(found.tiers[0]) == [(0.5, 1, "x y"), (1, 1, "")] and found.tiers[0].kind == "free"
    assert read("see you at\n10 11 12\n").tiers[0].name == "sentences"


def test_csv_of_others():
    semicolons = "\ufeffBegin;End;Word;Score\n0,5;1,25;hello;0,75\n1,25;2;you;\n"
    found = read(semicolons)
    assert spans(found.tier("words")) == [(0.5, 1.25, "hello"), (1.25, 2, "you")]
    assert [s.confidence for s in found.tier("words").segments] == [0.75, None]
    tabs = read('start\tend\ttext\r\n0\t1\t"two\r\nlines"\r\n', "csv")
    assert spans(tabs.tiers[0]) == [(0, 1, "two\r\nlines")] and tabs.tiers[0].kind == "sentences"


@pytest.mark.parametrize("text", ["=1+1", "+1", "-x", "@a", "'=1", "''@", "'tis", "\t=1", "＝1", "-", "'"])
def test_no_cell_is_run_by_a_spreadsheet(text):
    file = written(words((text, 0, 1)), "csv", "words")
    cell = file.split("\r\n")[1].split(",")[2].strip('"')
    assert not cell.lstrip("\t\r\n").startswith(("=", "+", "-", "@", "＝")) or cell.startswith("'")
    assert read(file, "csv").tiers[0].segments[0].text == text.strip()


def test_what_is_unknown_is_no_number():
    """Neither NaN nor None is ever written."""
    token = Token(3, " a", 0.0, 1.0, NAN, NAN)
    heard = Transcript("a", words=(Word("a", 0.0, 1.0, NAN, (token,)),), tokens=(token,), duration=1.0)
    document = Document.from_transcript(heard)
    for format in formats.FORMATS:
        for source in (heard, document):
            text = written(source, format)
            assert not re.search(r"\bnan\b|\bNone\b", text, re.IGNORECASE)
    assert written(heard, "csv").splitlines()[1] == "0.000,1.000, a,,3,"
    assert json.loads(written(heard, "json"))["tokens"][0]["log_prob"] is None
    assert written(heard, "ctm") == "audio 1 0.000 1.000 a\n"


def test_times_that_are_missing():
    lost = Transcript("a", words=(Word("a", NAN, NAN, 1.0, ()),), duration=1.0)
    for format in ("textgrid", "eaf", "ctm", "audacity"):
        with pytest.raises(FormatError, match="no times"):
            written(lost, format, "words")
    assert written(lost, "csv", "words").splitlines()[1] == ",,a,1.000000"
    row = {
        "audio_filepath": "a/clip.wav",
        "duration": 4,
        "text": "in 2266 they came",
        "timestamps_word": [
            {"word": "in", "start": 0, "end": 1},
            {"word": "2266"},
            {"word": "they"},
            {"word": "came", "start": 3, "end": 4},
        ],
    }
    found = read(json.dumps(row))
    assert spans(found.tier("words")) == [(0, 1, "in"), (1, 2, "2266"), (2, 3, "they"), (3, 4, "came")]
    assert "had no times" in found.warnings[0]


def test_a_manifest_of_parts_is_one_recording():
    rows = [
        {"audio_filepath": "a/one.wav", "offset": 0.0, "duration": 2.0, "text": "Hello."},
        {"audio_filepath": "a/two.wav", "duration": 1.0, "text": "Other."},
        {
            "audio_filepath": "a/one.wav",
            "offset": 2.0,
            "duration": 1.5,
            "pred_text": "You.",
            "timestamps_word": [{"word": "You.", "start": 0.5, "end": 1.0, "start_offset": 6}],
        },
    ]
    text = "\n".join(map(json.dumps, rows))
    found = read(text, audio="one")
    assert spans(found.tier("sentences")) == [(0, 2, "Hello."), (2, 3.5, "You.")]
    assert spans(found.tier("words")) == [(2.5, 3, "You.")] and found.audio == Audio("one")
    with pytest.raises(FormatError, match=r"2 recordings \('a/one.wav', 'a/two.wav'\); say with audio="):
        read(text)


@pytest.fixture
def clip(tmp_path):
    path = tmp_path / "clip.wav"
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, 8000, 0, "NONE", ""))
        file.writeframes(bytes(2 * 24_000))
    return path


def test_a_dataset_grows_by_recordings(tmp_path, clip):
    folder = tmp_path / "data"
    other = shutil.copy(clip, tmp_path / "other.wav")
    formats.write(words(("Hello", 0, 1), ("you.", 1, 2)), folder, format="hf", audio=clip)
    formats.write(words(("Yes.", 0, 1)), folder, format="hf", audio=other)
    formats.write(words(("Hello", 0, 1), ("there.", 1, 2.5)), folder, format="hf", audio=clip)
    rows = [json.loads(line) for line in (folder / "metadata.jsonl").read_text("utf-8").splitlines()]
    assert [(r["file_name"], r["transcription"]) for r in rows] == [("other.wav", "Yes."), ("clip.wav", "Hello there.")]
    assert (folder / "clip.wav").read_bytes() == clip.read_bytes()
    found = formats.read(folder, audio="clip")
    assert spans(found.tier("words")) == [(0, 1, "Hello"), (1, 2.5, "there.")]
    assert found.audio == Audio.of_file(clip)
    with pytest.raises(FormatError, match="2 recordings"):
        formats.read(folder / "metadata.jsonl")


def test_text_without_times_is_spread_over_the_recording(clip):
    found = formats.read(b"One two\nthree\n", format="txt", audio=clip)
    assert spans(found.tiers[0]) == [(0, 1.75, "One two"), (1.75, 3, "three")] and "no times" in found.warnings[0]
    assert found.audio.sha256 == Audio.of_file(clip).sha256
    assert [w.text for w in read("One two\nthree\n").transcript().words] == ["One", "two", "three"]


def test_tiers_of_a_document_are_written_by_name():
    document = Document(
        tiers=(tier("words", ("a", 0, 1)), tier("reference", ("b", 0, 1), ("c", 1, 2), first=5, name="gold"))
    )
    assert written(document, "txt", "gold") == "b\nc\n" and written(document, "txt") == "a\n"
    assert written(document, "ctm", "gold").splitlines()[1] == "audio 1 1.000 1.000 c"
    assert json.loads(written(document, "nemo", "gold"))["text"] == "b c"
    assert "gold" in written(document, "textgrid") and '"words"' not in written(document, "textgrid", "gold")
    with pytest.raises(FormatError, match="words, gold, sentences, tokens, not 'silver'"):
        written(document, "txt", "silver")


def test_subtitles_follow_the_text_of_the_sentence():
    """Words that do not say the same (they were corrected in one tier only) do not decide what is shown."""
    document = Document(tiers=(tier("words", ("a", 0, 1), ("b", 3, 4)), tier("sentences", ("a b", 0, 4), first=5)))
    assert "<00:00:03.000><c> b</c>" in written(document, "vtt")
    changed = document.with_tiers(tier("sentences", ("a c", 0, 4), first=5))
    assert written(changed, "vtt").endswith("00:00:00.000 --> 00:00:04.000\na c\n")


def test_marks_without_length_stay_with_their_word():
    tokens = [(" a", 0, 0.5), (",", 0.5, 0.5), (" b", 0.5, 1)]
    document = Document(tiers=(tier("tokens", *tokens), tier("words", ("a,", 0, 0.5), ("b", 0.5, 1), first=5)))
    for format in ("textgrid", "eaf", "json"):
        found = read(written(document, format))
        assert [[t.text.strip() for t in w.tokens] for w in found.transcript().words] == [["a", ","], ["b"]]


def test_tokens_across_words_become_a_free_tier():
    grid = Document(tiers=(tier("words", ("a", 0, 1), ("b", 1, 2)), tier("free", ("x", 0.5, 1.5), first=5)))
    found = read(written(grid, "textgrid").replace('"free"', '"tokens"'))
    assert [(t.name, t.kind) for t in found.tiers] == [("words", "words"), ("tokens", "free")]
    assert "cross borders" in found.warnings[0]


def test_a_document_of_another_recording_says_so(clip):
    document = Document(Audio("clip.wav", "0" * 64, 3.0), (tier("words", ("a", 0, 1)),))
    found = formats.read(written(document, "json").encode(), audio=clip)
    assert "another recording" in found.warnings[0] and found.audio == Audio.of_file(clip)
