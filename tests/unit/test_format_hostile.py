"""Files that are broken, cut off or made to harm: each is refused in a sentence that says where and why, at once."""

import contextlib
import io
import json
import re
import time

import pytest

from asr_core import formats
from asr_core.annotation import Audio
from asr_core.errors import AsrError, FormatError
from asr_core.formats import importing
from asr_core.formats.source import MAX_BYTES

GRID = 'File type = "ooTextFile"\nObject class = "TextGrid"\n\n0\n1\n<exists>\n1\n"IntervalTier"\n"words"\n0\n1\n'
EAF = '<ANNOTATION_DOCUMENT>\n<TIME_ORDER>\n<TIME_SLOT TIME_SLOT_ID="a" TIME_VALUE="0"/>\n</TIME_ORDER>\n'
NOTE = '<ALIGNABLE_ANNOTATION ANNOTATION_ID="x" TIME_SLOT_REF1="a" TIME_SLOT_REF2="{}"/>'
ENTITIES = (
    '<?xml version="1.0"?>\n<!DOCTYPE a [\n<!ENTITY a "aaaaaaaaaa">\n<!ENTITY b "&a;&a;&a;&a;&a;&a;">\n]>\n<a>&b;</a>'
)
EXTERNAL = '<!DOCTYPE ANNOTATION_DOCUMENT SYSTEM "file:///etc/passwd">\n<ANNOTATION_DOCUMENT/>'
DOCUMENT = '{"version": 1, "tiers": [%s]}'
SEGMENT = '{"name": "w", "kind": "words", "segments": [%s]}'
HEARD = '{"version": 1, "duration": 2, "tokens": [%s], "words": [%s], "sentences": [%s]}'
WORD = '{"text": "a", "start": 0, "end": 1, "confidence": 1, "tokens": [0, 1]}'

#: format, content, where, and a part of the cause
HOSTILE = [
    ("textgrid", "", "line 1", "the file ends before the type"),
    ("textgrid", "hello", "line 1", "the file ends before"),
    ("textgrid", '"a" "b"', "line 1", "ooTextFile"),
    ("textgrid", '"ooTextFile"\n"Sound"', "line 2", "'Sound'"),
    ("textgrid", GRID + "2\n0\n1\n" + '"a"', "line 15", "cut off"),
    ("textgrid", GRID + '1\n0\n1\n"never closed', "line 15", "never closed"),
    ("textgrid", GRID + '2\n0\n0.6\n"a"\n0.5\n1\n"b"', "line 16", "begins at 0.5 s, before"),
    ("textgrid", GRID + '1\n0.9\n0.5\n"a"', "line 13", "ends at 0.5 s, before it begins"),
    ("textgrid", GRID + '1\n-1\n0.5\n"a"', "line 13", "times begin at 0"),
    ("textgrid", GRID + '1\n0\n1\n"a"\n"IntervalTier"', "line 16", "more follows"),
    ("textgrid", GRID + '99999999999\n0\n1\n"a"', "line 15", "99999999999 items"),
    ("textgrid", GRID + '1\n0\n1e999\n"a"', "line 14", "number"),
    ("textgrid", GRID.replace("IntervalTier", "Tier") + "0", "line 8", "'Tier'"),
    ("eaf", "", "line 1", "no element found"),
    ("eaf", EAF, "line 5", "no element found"),
    ("eaf", EAF + "<a></b>", "line 5", "mismatched tag"),
    ("eaf", ENTITIES, "line 2", "entities"),
    ("eaf", EXTERNAL, "line 1", "DTD"),
    ("eaf", EAF + "&lol;</ANNOTATION_DOCUMENT>", "line 5", "undefined entity"),
    ("eaf", "<html>\n</html>", "line 1", "ANNOTATION_DOCUMENT"),
    ("eaf", '<ANNOTATION_DOCUMENT>\n<HEADER TIME_UNITS="PAL-frames"/>', "line 2", "milliseconds"),
    ("eaf", EAF.replace('"0"', '"-5"'), "line 3", "'-5'"),
    (
        "eaf",
        EAF + '<TIER TIER_ID="t">' + NOTE.format("b") + "</TIER></ANNOTATION_DOCUMENT>",
        "line 5",
        "no time slot 'b'",
    ),
    ("eaf", EAF + '<TIER TIER_ID="t"><ALIGNABLE_ANNOTATION/></TIER></ANNOTATION_DOCUMENT>', "line 5", "TIME_SLOT_REF1"),
    ("eaf", EAF + "<TIER/></ANNOTATION_DOCUMENT>", "line 5", "TIER_ID"),
    (
        "eaf",
        EAF + '<TIER TIER_ID="t">\n<REF_ANNOTATION ANNOTATION_ID="x" ANNOTATION_REF="y"/>\n'
        '<REF_ANNOTATION ANNOTATION_ID="y" ANNOTATION_REF="x"/></TIER></ANNOTATION_DOCUMENT>',
        "line 6",
        "gives it no time",
    ),
    ("srt", "hello", "line 1", "begins with its number and its times"),
    ("srt", "1\n00:00:01,000 --> soon\na", "line 2", "hh:mm:ss,mmm"),
    ("srt", "1\n-00:00:01,000 --> 00:00:02,000\na", "line 2", "hh:mm:ss,mmm"),
    ("srt", "1\n00:00:02,000 --> 00:00:01,000\na", "line 2", "before it begins"),
    ("srt", "1\n00:61:02,000 --> 00:62:01,000\na", "line 2", "go up to 59"),
    ("srt", "1\n00:00:00,000 --> 00:00:01,000\na\n\n2\n00:00:01,0", "line 6", "hh:mm:ss,mmm"),
    ("srt", "1\n00:00:00,000 --> 00:00:01,000\na\n\n2\n", "line 5", "cut off"),
    ("vtt", "", "line 1", "WEBVTT"),
    ("vtt", "WEBVTTX\n", "line 1", "WEBVTT"),
    ("vtt", "WEBVTT\n\n00:01.000 -> 00:02.000\na", "line 3", "has times"),
    ("vtt", "WEBVTT\n\n00:01.000 --> 1:2\na", "line 3", "hh:mm:ss.mmm"),
    ("vtt", "WEBVTT\n\n00:01.000 --> 00:02.000\na<00:09.000>b", "line 3", "go forward inside it"),
    ("ctm", "clip 1 0.5 1", "line 1", "recording, channel, start"),
    ("ctm", ";; ok\nclip 1 zero 1 a", "line 2", "'zero'"),
    ("ctm", "clip 1 0.5 -1 a", "line 1", "from 0"),
    ("ctm", "clip 1 0.5 1 a 7", "line 1", "from 0 to 1"),
    ("ctm", "clip 1 0.5 nan a", "line 1", "'nan'"),
    ("ctm", "a 1 0 1 x\nb 1 0 1 y", "2 recordings ('a', 'b')", "audio="),
    ("ctm", "clip 1 1_0 1 a", "line 1", "'1_0'"),
    ("ctm", "".join(f"clip 1 0 9 a{i}\n" for i in range(40)), "line 33", "more than 32"),
    ("rttm", "SPEAKER clip 1 0 1", "line 1", "SPEAKER, recording"),
    ("rttm", "TURN clip 1 0 1 <NA> <NA> A <NA> <NA>", "line 1", "SPEAKER, recording"),
    ("rttm", "SPEAKER c 1 0 2 - - A\nSPEAKER c 1 1 2 - - A", "line 2", "overlaps the one of line 1"),
    ("audacity", "0.5", "line 1", "tabs between"),
    ("audacity", "0.5\t1.0\ta\nstart\tend\tb", "line 2", "'start'"),
    ("audacity", "1\t1e20\ta", "line 1", "up to 1,000 hours"),
    ("csv", "start,end\rtext", "line 1", "text is not in 'start,end'"),
    ("audacity", "2\t1\ta", "line 1", "before it begins"),
    ("csv", "", "line 1", "start, end and text"),
    ("csv", "a,b,c\n1,2,3", "line 1", "start is not in"),
    ("csv", "start,end,text\n0,1", "line 2", "at least 3 cells"),
    ("csv", 'start,end,text\n0,1,a\n0,1,"never closed', "line 3", "unexpected end of data"),
    ("csv", "start,end,text\n0,=1+1,a", "line 2", "'=1+1'"),
    ("csv", "start,end,text,id\n0,1,a,1e5", "line 2", "whole number"),
    ("csv", "start,end,text\n0,1," + "a" * 200_000, "line 2", "field limit"),
    ("json", "", "line 1", "no JSON"),
    ("json", '{"version": 1,\n"tiers": [', "line 2", "no JSON"),
    ("json", "[" * 100_000, "line 1", "nested too deeply"),
    ("json", "1" * 5000, "line 1", "too long"),
    ("json", "[1, 2]", "line 1", "not of Tokenscope"),
    ("json", '{"version": 2, "tiers": []}', "line 1", "newer program"),
    ("json", DOCUMENT % "7", "tiers[0]", "an object"),
    ("json", DOCUMENT % (SEGMENT % '{"id": 0, "text": "a", "start": NaN, "end": 1}'), "line 1", "NaN is no JSON"),
    (
        "json",
        DOCUMENT % (SEGMENT % '{"id": 0, "text": "a", "start": 1e999, "end": 1}'),
        "tiers[0].segments[0]",
        "finite",
    ),
    ("json", DOCUMENT % (SEGMENT % '{"id": 0}'), "tiers[0].segments[0]", "lacks a value"),
    ("json", DOCUMENT % (SEGMENT % '{"__class__": 1}'), "tiers[0].segments[0]", "__class__"),
    ("json", HEARD % ("", WORD, ""), "words[0].tokens", "only 0 tokens"),
    ("json", HEARD % ("", WORD.replace("0, 1", "1, 0"), ""), "words[0].tokens", "range"),
    ("json", HEARD % ("", WORD.replace('"end": 1', '"end": -1'), ""), "words[0]", "start <= end"),
    ("json", HEARD % ('{"id": "a"}', "", ""), "tokens[0].id", "whole number"),
    ("nemo", "{}", "line 1", "'audio_filepath'"),
    ("nemo", '{"audio_filepath": "a.wav"}\n{"audio_filepath"', "line 2", "no JSON"),
    ("nemo", '{"audio_filepath": "a.wav", "duration": "long"}', "line 1", "'duration' is a number"),
    ("nemo", '{"audio_filepath": "a.wav", "text": 7}', "line 1", "is a text"),
    ("nemo", '{"audio_filepath": "a.wav", "timestamps_word": [{"word": 1}]}', "line 1", "as 'word'"),
    ("hf", '{"file_name": ""}', "line 1", "'file_name'"),
    ("hf", '{"file_name": "a.wav", "timestamps_word": {"a": 1}}', "line 1", "list of objects"),
    ("txt", b"RIFF\x24\0\0\0WAVE", "line 1", "no text file"),
    ("txt", b"good\nbad \xe9", "line 2", "byte 0xe9"),
    ("srt", b"\xff\xfe1\x00\n", "line 1", "no UTF-16"),
]


@pytest.mark.parametrize(("format", "content", "where", "cause"), HOSTILE, ids=lambda value: str(value)[:24])
def test_hostile_files_are_refused(format, content, where, cause):
    data = content.encode() if isinstance(content, str) else content
    began = time.process_time()
    with pytest.raises(FormatError) as refused:
        formats.read(data, format=format)
    message = str(refused.value)
    assert where in message and cause in message and message.startswith("The file cannot be read as ")
    assert len(message) < 400 and "\n" not in message and time.process_time() - began < 5


def test_there_are_enough_of_them():
    assert len(HOSTILE) >= 50 and {format for format, *_ in HOSTILE} == set(formats.FORMATS)


@pytest.mark.parametrize("format", formats.FORMATS)
def test_no_bytes_crash_a_reader(format):
    """Every file of the list, as every format, cut anywhere: a document or a FormatError, and nothing else."""
    for _, content, *_ in HOSTILE:
        data = content.encode() if isinstance(content, str) else content
        for end in {len(data), len(data) // 2, len(data) // 3, min(len(data), 40)}:
            try:
                formats.read(data[:end], format=format)
            except FormatError as error:
                assert str(error)


@pytest.mark.parametrize("format", [name for name in formats.FORMATS if name not in ("txt", "audacity")])
def test_a_file_cut_off_is_refused_or_whole_so_far(format):
    out = io.StringIO()
    document = formats.read(b"start,end,text\n0,0.5,Hello\n0.5,1,you.\n1.5,2,Yes.\n", format="csv")
    formats.write(document, out, format=format)
    data, refused = out.getvalue().encode(), 0
    texts = [s.text for t in formats.read(data, format=format).tiers for s in t.segments]
    for end in range(1, len(data)):
        try:
            found = [s.text for t in formats.read(data[:end], format=format).tiers for s in t.segments]
            assert all(any(text in whole for whole in texts) for text in found)
        except FormatError:
            refused += 1
    assert refused


def test_too_large_is_refused(monkeypatch):
    with pytest.raises(FormatError, match="more than 48 MB"):
        formats.read(io.BytesIO(b"a" * (MAX_BYTES + 1)), format="txt")
    monkeypatch.setattr(importing, "MAX_SEGMENTS", 3)
    with pytest.raises(FormatError, match="holds 4 segments; at most 3"):
        formats.read(b"a\nb\nc\nd\n", format="txt")
    many = "<ANNOTATION_DOCUMENT>" + '<TIER TIER_ID="a"/>' * 1001 + "</ANNOTATION_DOCUMENT>"
    with pytest.raises(FormatError, match="1,001 tiers, channels or speakers; at most 1,000"):
        formats.read(many.encode())
    closed = io.BytesIO(b"a")
    closed.close()
    with pytest.raises(FormatError, match="closed file"):
        formats.read(closed)


@pytest.mark.parametrize(
    ("format", "unit"),
    [
        ("textgrid", '"'),
        ("textgrid", '""'),
        ("srt", "1\n"),
        ("srt", "00:00:00,000 --> 00:00:00,000\n"),
        ("vtt", "<"),
        ("vtt", "WEBVTT\n\n00:00.000 --> 00:00.000\n&lt"),
        ("eaf", "<a>"),
        ("ctm", "a 1 0 0 b\n"),
        ("csv", '"'),
        ("csv", "start,"),
        ("json", '{"a":'),
        ("audacity", "0\t0\t\n"),
        ("rttm", "SPEAKER "),
        ("eaf", "<ANNOTATION_DOCUMENT>" + '<TIER TIER_ID="a"/>' * 20_000 + "</ANNOTATION_DOCUMENT>"),
        ("rttm", "".join(f"SPEAKER c 1 {i // 2} 1.5 - - s{i}\n" for i in range(20_000))),
        ("json", '{"version": 1, "tiers": [' + '{"name": "a", "kind": "free", "segments": []}, ' * 9_000 + "{}]}"),
        ("txt", "a "),
    ],
)
def test_no_file_takes_long(format, unit):
    """Half a megabyte of the same thing: a reader that is quadratic would take minutes."""
    data = (unit * max(1, 500_000 // len(unit))).encode()
    began = time.process_time()
    with contextlib.suppress(AsrError):
        formats.read(data, format=format).transcript()
    assert time.process_time() - began < 10


def test_what_is_no_file_is_refused(tmp_path):
    for source, cause in [
        (7, "not int"),
        (tmp_path / "missing.srt", "No such file"),
        (tmp_path, "No such file"),
        ("a\0b.srt", "null byte"),
    ]:
        with pytest.raises(FormatError, match=cause):
            formats.read(source)
    with pytest.raises(FormatError, match=r"Formats are txt, .*'docx' is none"):
        formats.read(b"", format="docx")
    with pytest.raises(FormatError, match="audio is an Audio"):
        formats.read(b"", format="txt", audio=7)


def test_the_wrong_format_is_named():
    subtitles = b"1\n00:00:00,000 --> 00:00:01,000\nHello\n"
    with pytest.raises(FormatError, match=r"as TextGrid: line 1: .*It looks like SRT\."):
        formats.read(subtitles, format="textgrid")
    file = io.BytesIO(b"WEBVTT\n\n00:00.000 --> 00:01.000\nHello\n")
    file.name = "clip.srt"
    with pytest.raises(FormatError, match=r"'clip.srt' cannot be read as SRT: line 1: .*It looks like WebVTT\."):
        formats.read(file)


def test_times_beyond_the_recording():
    audio = Audio("clip.wav", duration=1.5)
    found = formats.read(b"clip 1 0 1 a\nclip 1 1 1 b\n", format="ctm", audio=audio)
    assert found.tiers[0].segments[-1].end == 1.5 and "cut there" in found.warnings[0]
    with pytest.raises(FormatError, match=r"line 2: it begins at 2 s, after the recording, which lasts 1.5 s"):
        formats.read(b"clip 1 0 1 a\nclip 1 2 1 b\n", format="ctm", audio=audio)
    rounded = formats.read(b"0\t1.5\ta\n1.5\t1.5\t.\n", format="audacity", audio=Audio(duration=1.4996))
    assert [s.end for s in rounded.tiers[0].segments] == [1.4996, 1.4996] and rounded.warnings == ()


def test_a_dataset_leads_nowhere_else(tmp_path):
    secret = tmp_path / "secret.wav"
    secret.write_bytes(b"")
    folder = tmp_path / "data"
    folder.mkdir()
    for name in ("../secret.wav", str(secret), "..\\secret.wav", "C:\\secret.wav"):
        row = json.dumps({"file_name": name, "transcription": "a"})
        (folder / "metadata.jsonl").write_text(row, encoding="utf-8")
        with pytest.raises(FormatError, match=r"leads out of the folder") as refused:
            formats.read(folder)
        assert re.search("Hugging Face", str(refused.value))
