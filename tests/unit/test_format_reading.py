"""What a format keeps comes back as it was, and files of other programs are understood."""

import io
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asr_core import formats
from asr_core.annotation import Audio, Document, Provenance, Segment, Tier
from asr_core.formats.layout import one_line

HOSTILE = [
    "-->",
    "<b>",
    "</c>",
    "&amp;",
    "&",
    '"q"',
    "'tis",
    "שלום",
    "👩‍👩‍👧",
    "${x}",
    "{an8}",
    "=1+1",
    "'=1",
    "@x",
    ";;",
    "7",
    "a_b",
    "\\n",
]
LETTERS = st.characters(exclude_categories=("Cs", "Cc", "Cn", "Zs", "Zl", "Zp"), exclude_characters="_")
TEXT = st.text(LETTERS, min_size=1, max_size=12).filter(lambda text: one_line(text) == text) | st.sampled_from(HOSTILE)


@st.composite
def documents(draw) -> Document:
    """Sentences of up to four words, in whole milliseconds; words of up to two tokens and a mark without length."""
    at, words, tokens, sentences = 0, [], [], []
    for size in draw(st.lists(st.integers(1, 4), max_size=4)):
        first = len(words)
        for text in draw(st.lists(TEXT, min_size=size, max_size=size)):
            start = at + draw(st.sampled_from([0, 1, 30, 400]))
            middle, at = start + draw(st.integers(5, 90)), start + draw(st.integers(100, 500))
            sure = draw(st.none() | st.floats(0, 1))
            tokens.append((f" {text[:1]}", start, middle, sure, 7))
            tokens.append((text[1:], middle, at, sure, 0))
            if draw(st.booleans()):
                tokens.append((text[-1:], at, at, 0.5, 9))
            words.append((text, start, at, sure))
        group = words[first:]
        sentences.append((" ".join(word[0] for word in group), group[0][1], at, draw(st.none() | st.floats(0, 1))))
    log_prob = draw(st.none() | st.floats(-20, 0))
    return Document(
        Audio("clip.wav", "0" * 64, at / 1000 + draw(st.sampled_from([0, 0.5])), 16_000),
        (
            tier("tokens", [Segment(0, t, s / 1000, e / 1000, c, id, log_prob) for t, s, e, c, id in tokens]),
            tier("words", [Segment(0, t, s / 1000, e / 1000, c) for t, s, e, c in words], 1000),
            tier("sentences", [Segment(0, t, s / 1000, e / 1000, c) for t, s, e, c in sentences], 2000),
        ),
    )


def tier(kind, segments, first=0, name=None) -> Tier:
    return Tier(name or kind, kind, tuple(replace(segment, id=first + i) for i, segment in enumerate(segments)))


def written(source, format, tier=None) -> bytes:
    out = io.StringIO()
    formats.write(source, out, format=format, tier=tier)
    return out.getvalue().encode()


def again(document, format, tier=None) -> Document:
    return formats.read(written(document, format, tier), format=format)


def assert_same(found: Tier, wanted: Tier, *, text=lambda text: text, ends=True, sure=None):
    """Texts as they are kept, and times within a millisecond."""
    assert [s.text for s in found.segments] == [text(s.text) for s in wanted.segments]
    for one, other in zip(found.segments, wanted.segments, strict=True):
        assert one.start == pytest.approx(other.start, abs=0.0011)
        assert not ends or one.end == pytest.approx(other.end, abs=0.0011)
        if sure is not None:
            assert one.confidence == (None if other.confidence is None else pytest.approx(other.confidence, abs=sure))


@given(documents(), st.sampled_from(["new", "in review", "done"]), TEXT)
@settings(deadline=None)
def test_json_keeps_all_of_a_document(document, state, notes):
    document = replace(
        document,
        state=state,
        notes=f"{notes}\r\n{notes}",
        reviewer="Ada",
        language="en",
        provenance=Provenance("demo", "abc", {"type": "Beam", "size": 4}),
        warnings=("One.",),
        next_id=5000,
        tiers=(
            *document.tiers,
            Tier("noise", "marks", (Segment(4000, "noise", 0, 0, speaker="A", accepted=True),)),
        ),
    )
    assert again(document, "json") == document


@given(documents())
@settings(deadline=None)
def test_json_of_a_transcript(document):
    before = document.transcript()
    after = again(before, "json")
    for kind in ("tokens", "words", "sentences"):
        assert_same(after.tier(kind), document.tier(kind), sure=1e-6)
    assert [[t.text for t in w.tokens] for w in after.transcript().words] == [
        [t.text for t in w.tokens] for w in before.words
    ]
    assert after.audio.duration == document.audio.duration


@pytest.mark.parametrize("name", ["tokens", "words", "sentences"])
@given(document=documents())
@settings(deadline=None, max_examples=50)
def test_csv(name, document):
    found = again(document, "csv", name).tiers[0]
    assert_same(found, document.tier(name), sure=1e-6)
    assert [s.token_id for s in found.segments] == [s.token_id for s in document.tier(name).segments]
    assert found.kind == name or name == "sentences" or not found.segments


@given(documents())
@settings(deadline=None)
def test_textgrid(document):
    found = again(document, "textgrid")
    assert [(t.name, t.kind) for t in found.tiers] == [(t.name, t.kind) for t in document.tiers]
    for kind in ("words", "sentences"):
        assert_same(found.tier(kind), document.tier(kind), text=one_line)
    visible = tier("tokens", [s for s in document.tier("tokens").segments if s.text.strip()])
    assert_same(found.tier("tokens"), visible, text=one_line, ends=False)
    assert found.audio.duration == pytest.approx(document.audio.duration, abs=0.0011)


@given(documents())
@settings(deadline=None)
def test_ctm(document):
    found = again(document, "ctm")
    assert [tier.kind for tier in found.tiers] == ["words"]
    assert_same(found.tier("words"), document.tier("words"), sure=0.0001)


@given(documents())
@settings(deadline=None)
def test_srt(document):
    found = again(document, "srt")
    assert "sentences" in {tier.kind for tier in found.tiers}
    assert_same(found.tier("sentences"), document.tier("sentences"), text=lambda text: text.replace("-->", "→"))


@given(documents())
@settings(deadline=None)
def test_vtt(document):
    found = again(document, "vtt")
    assert {tier.kind for tier in found.tiers} <= {"words", "sentences"}
    assert_same(found.tier("sentences"), document.tier("sentences"))
    if any(tier.kind == "words" for tier in found.tiers):
        assert_same(found.tier("words"), document.tier("words"), ends=False)


@given(documents())
@settings(deadline=None)
def test_txt_keeps_the_text(document):
    found = again(document, "txt")
    assert [s.text for s in found.tiers[0].segments] == [s.text for s in document.tier("sentences").segments]
    assert found.warnings == () or "no times" in found.warnings[0]


@given(documents())
@settings(deadline=None)
def test_eaf(document):
    marks = Tier('my <marks> & "more"', "marks", (Segment(4000, "noise\n& more", 0, 0.25, speaker="Ada"),))
    document = replace(document, audio=Audio("clip.wav"), tiers=(*document.tiers, marks), next_id=5000)
    found = again(document, "eaf")
    assert [(t.name, t.kind) for t in found.tiers] == [(t.name, t.kind) for t in document.tiers]
    for kind in ("words", "sentences"):
        assert_same(found.tier(kind), document.tier(kind))
    assert_same(found.tier("tokens"), document.tier("tokens"), ends=False)
    assert found.tiers[3].segments[0].speaker == "Ada" and found.tiers[3].segments[0].text == "noise\n& more"
    assert found.audio.name == "clip.wav"


@pytest.mark.parametrize("name", ["words", "sentences"])
@given(document=documents())
@settings(deadline=None, max_examples=50)
def test_audacity(name, document):
    found = again(document, "audacity", name)
    assert [t.name for t in found.tiers] == ["labels"]
    assert_same(found.tiers[0], document.tier(name))


def test_audacity_keeps_points():
    document = Document(tiers=(tier("words", [Segment(0, "a", 0.5, 1), Segment(0, ".", 1, 1)]),))
    assert written(document, "audacity") == b"0.500000\t1.000000\ta\n1.000000\t1.000000\t.\n"
    assert_same(again(document, "audacity").tiers[0], document.tiers[0])


TURNS = st.lists(
    st.tuples(st.integers(0, 900), st.integers(1, 900), st.sampled_from(["A", "B", "Ада", "a-->b"])), max_size=8
)


@given(TURNS)
def test_rttm(turns):
    """Speakers may overlap each other."""
    tiers = {}
    for gap, length, speaker in turns:
        own = tiers.setdefault(speaker, [])
        start = (own[-1].end if own else 0) + gap / 1000 + 0.001
        own.append(Segment(0, "", start, start + length / 1000, speaker=speaker))
    document = Document(
        Audio("my clip.wav"), tuple(tier("speakers", own, 100 * i, name) for i, (name, own) in enumerate(tiers.items()))
    )
    found = again(document, "rttm")
    heard = sorted((s.start, s.end, s.speaker) for t in found.tiers for s in t.segments)
    wanted = sorted((s.start, s.end, s.speaker) for own in tiers.values() for s in own)
    assert [one[2] for one in heard] == [one[2] for one in wanted] and {t.kind for t in found.tiers} == {"speakers"}
    for one, other in zip(heard, wanted, strict=True):
        assert one[:2] == pytest.approx(other[:2], abs=0.0011)


@pytest.mark.parametrize("format", ["nemo", "hf"])
@given(document=documents())
@settings(deadline=None, max_examples=50)
def test_rows_of_json(format, document):
    document = replace(document, language="en")
    found = again(document, format)
    assert_same(found.tier("sentences"), document.tier("sentences"), sure=1e-6)
    if document.tier("words").segments:
        assert_same(found.tier("words"), document.tier("words"), sure=1e-6)
    assert found.audio.name == "clip.wav" and found.language == "en" and found.warnings == ()
    assert found.audio.duration == pytest.approx(document.audio.duration, abs=1e-6)


@pytest.mark.parametrize("format", formats.FORMATS)
def test_a_format_is_known_by_its_content(format):
    words = [Segment(0, "Hello", 0.5, 1, 0.5), Segment(0, "you.", 1.25, 2, 0.5)]
    document = Document(
        Audio("clip.wav", duration=3), (tier("words", words), tier("sentences", [Segment(0, "Hello you.", 0.5, 2)], 9))
    )
    data = written(document, format)
    found = formats.read(data)
    assert found.tiers[-1].kind == formats.read(data, format=format).tiers[-1].kind and found.tiers[-1].segments
    for encoding in ("utf-16", "utf-16-le", "utf-16-be", "utf-8-sig"):
        coded = data.decode().replace("\n", "\r\n").encode(encoding)
        assert formats.read(coded).tiers == found.tiers
        assert formats.read(io.BytesIO(coded), format=format).tiers == found.tiers
