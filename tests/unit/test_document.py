"""Documents: what annotators edit. Their rules hold by construction, and a transcript comes back as it went in."""

import hashlib
import io
import math
import pickle
import wave
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asr_core import AsrError, annotation, formats
from asr_core.alignment import Sentence, Token, Transcript, Word
from asr_core.annotation import Audio, Document, DocumentError, Provenance, Segment, Tier
from asr_core.annotation.timing import members, placed, spread
from asr_core.decoding.options import Beam, Greedy, Whisper

NAN = float("nan")


def tier(kind, *spans, first=0, name=None) -> Tier:
    """Segments of (text, start, end)."""
    return Tier(name or kind, kind, tuple(Segment(first + i, *span) for i, span in enumerate(spans)))


def word(text, *tokens) -> Word:
    return Word(text, tokens[0].start, max(token.end for token in tokens), 0.5, tokens)


def heard() -> Transcript:
    """ "Hi, (you) there." with marks that have no length, two of them where words meet."""
    hi = word("Hi,", Token(5, " Hi", 0.08, 0.24, 0.9, -0.1), Token(1, ",", 0.24, 0.24, 0.8, -0.2))
    you = word(
        "(you)",
        Token(2, " (", 0.24, 0.24, 0.7, NAN),
        Token(6, "you", 0.24, 0.4, 0.5, -0.7),
        Token(3, ")", 0.4, 0.4, 0.6, -0.3),
    )
    there = word("there.", Token(7, " there", 0.8, 1.04, 0.95, -0.05), Token(4, ".", 1.04, 1.04, 0.99, -0.01))
    words = (hi, you, there)
    sentence = Sentence("Hi, (you) there.", 0.08, 1.04, 0.5, words)
    tokens = tuple(token for one in words for token in one.tokens)
    return Transcript(
        text=sentence.text,
        sentences=(sentence,),
        words=words,
        tokens=tokens,
        duration=1.5,
        language="en",
        model="demo",
        decoding=Beam(size=3),
        warnings=("The file ends early.",),
    )


def test_a_transcript_comes_back():
    before = heard()
    document = Document.from_transcript(before, audio=Audio("clip.wav", sample_rate=16_000), revision="abc")
    after = document.transcript()
    assert [[t.text for t in w.tokens] for w in after.words] == [[" Hi", ","], [" (", "you", ")"], [" there", "."]]
    assert math.isnan(after.tokens[2].log_prob)
    known = [replace(token, log_prob=-0.5) if token.text == " (" else token for token in after.tokens]
    assert known == [replace(token, log_prob=-0.5) if token.text == " (" else token for token in before.tokens]
    assert after.sentences[0].words == after.words
    assert (after.text, after.duration, after.language, after.model) == (before.text, 1.5, "en", "demo")
    assert after.warnings == before.warnings and after.decoding["type"] == "Beam" and after.decoding["size"] == 3
    assert document.audio == Audio("clip.wav", None, 1.5, 16_000) and document.provenance.revision == "abc"
    assert [s.id for t in document.tiers for s in t.segments] == list(range(document.next_id))
    assert document.state == "new" and document.segment(0).token_id == 5 and document.find(8)[0].name == "words"


TIMES = st.floats(0, 20) | st.sampled_from([0.0, 0.08, 0.16, 0.24, 1 / 3])
SPANS = st.lists(st.tuples(TIMES, TIMES).map(sorted), max_size=12).map(sorted)


@given(SPANS, st.floats(0, 25).map(lambda limit: round(limit, 6)))
def test_placed_times_are_in_order_and_apart(spans, limit):
    found = placed(spans, limit)
    assert len(found) == len(spans) and all(0 <= start <= end <= limit for start, end in found)
    assert all(before[1] <= after[0] for before, after in pairwise(found))
    apart = all(a[1] <= b[0] for a, b in pairwise(spans)) and all(end <= limit for _, end in spans)
    if apart:
        assert found == [(round(start, 6), round(end, 6)) for start, end in spans]
    for (start, end), (first, last) in zip(spans, found, strict=True):
        assert start < end or first == last  # what had no length gets none


def test_placed_by_example():
    assert placed([(0.08, 0.16), (0.08, 0.16)]) == [(0.08, 0.12), (0.12, 0.16)]  # two labels on one frame
    assert placed([(0, 0.5), (0.4, 0.8)]) == [(0, 0.4), (0.4, 0.8)]
    assert placed([(0.08, 0.08), (0.08, 0.16), (0.5, 2)], 1) == [(0.08, 0.08), (0.08, 0.16), (0.5, 1)]


@given(st.lists(st.tuples(st.text(max_size=3), st.integers(0, 3), st.integers(-1, 4)), max_size=10), st.data())
@settings(deadline=None)
def test_every_transcript_makes_a_document(items, data):
    """Labels that share frames, have no length or overlap: the document is valid, and no text is lost."""
    frame, words = 0, []
    for text, gap, length in items:
        frame += gap
        ends = frame + max(length, 0)
        tokens = tuple(Token(i, f" {text}"[i:], frame * 0.08, ends * 0.08, 0.5, -1.0) for i in range(2))
        words.append(Word(text, frame * 0.08, ends * 0.08, 0.5, tokens))
        frame += data.draw(st.sampled_from([0, max(length, 0)]))
    tokens = tuple(token for one in words for token in one.tokens)
    text = " ".join(one.text for one in words)
    sentences = tuple(Sentence(text, one.start, words[-1].end, 0.5, tuple(words)) for one in words[:1])
    before = Transcript(text, sentences, tuple(words), tokens)
    document = Document.from_transcript(before)
    assert [[s.text for s in t.segments] for t in document.tiers] == [
        [item.text for item in getattr(before, kind)] for kind in ("tokens", "words", "sentences")
    ]
    after = document.transcript()
    assert [w.text for w in after.words] == [w.text for w in before.words]
    for one in after.words:
        assert all(one.start <= token.start <= token.end <= one.end for token in one.tokens)


def test_the_rules_are_kept():
    refused = {
        "in order and do not overlap": lambda: tier("words", ("a", 0, 1), ("b", 0.9, 2)),
        "ends at 2 s, after the recording": lambda: Document(Audio(duration=1.5), (tier("words", ("a", 0, 2)),)),
        "crosses the border of a word": lambda: Document(
            tiers=(tier("words", ("a", 0, 1), ("b", 1, 2)), tier("tokens", ("x", 0.5, 1.5), first=5))
        ),
        "'a' is there twice": lambda: Document(tiers=(tier("free", name="a"), tier("free", name="a"))),
        "0 is there twice": lambda: Document(tiers=(tier("words", ("a", 0, 1)), tier("marks", ("b", 0, 1)))),
        "The next id is a whole number from 1": lambda: Document(tiers=(tier("words", ("a", 0, 1)),), next_id=-1),
        "Kinds of tiers are": lambda: Tier("a", "phones"),
        "name of a tier": lambda: Tier(" ", "free"),
        "States are new, in review, done": lambda: Document(state="finished"),
        "reviewer is a string": lambda: Document(reviewer=None),
        "language is a code": lambda: Document(language=3),
        "id of a segment": lambda: Segment(True, "a", 0, 1),
        "text of segment 1": lambda: Segment(1, None, 0, 1),
        "start of segment 1": lambda: Segment(1, "a", NAN, 1),
        "end of segment 1": lambda: Segment(1, "a", 0, "1"),
        "0 <= start <= end": lambda: Segment(1, "a", 2, 1),
        "from -1 to 1 s": lambda: Segment(1, "a", -1, 1),
        "lies from 0 to 1; 1.5 does not": lambda: Segment(1, "a", 0, 1, 1.5),
        "confidence of segment 1": lambda: Segment(1, "a", 0, 1, NAN),
        "log_prob of segment 1": lambda: Segment(1, "a", 0, 1, log_prob=math.inf),
        "speaker of segment 1": lambda: Segment(1, "a", 0, 1, speaker=""),
        "token id of segment 1": lambda: Segment(1, "a", 0, 1, token_id=1.5),
        "duration is a number": lambda: Audio(duration=-1),
        "SHA-256": lambda: Audio(sha256="abc"),
        "sample rate": lambda: Audio(sample_rate=0),
        "decoding is a mapping": lambda: Provenance(decoding=[1]),
        "'x' has no times": lambda: Document.from_transcript(Transcript(words=(Word("x", NAN, NAN, 1, ()),))),
        "no tier 'b'; its tiers are words": lambda: Document(tiers=(tier("words"),)).tier("b"),
        "no segment 7": lambda: Document(tiers=(tier("words"),)).segment(7),
    }
    for cause, make in refused.items():
        with pytest.raises(DocumentError, match=cause.replace("(", r"\(")):
            make()
    assert issubclass(DocumentError, AsrError)


def test_what_is_allowed():
    """Silence between segments, no length, tokens outside of words, and numbers of NumPy."""
    document = Document(
        Audio(duration=2.0000004),
        (
            tier("words", ("a", 0.5, 1), ("b", 1, 1), ("c", 1, 2.0000004)),
            tier("tokens", ("a", 0.5, 1.0), (".", 1, 1), ("x", 1.2, 1.3), first=3),
            tier("marks", ("noise", np.float32(0.25), np.float64(0.5)), first=6),
        ),
    )
    assert document.next_id == 7 and document.tier("marks").segments[0] == Segment(6, "noise", 0.25, 0.5)
    outside = Document(
        tiers=(tier("words", ("a", 1, 2)), tier("tokens", (" ", 0, 1), ("a", 1, 2), ("z", 2, 3), first=1))
    )
    assert [[t.text for t in w.tokens] for w in outside.transcript().words] == [["a"]]


def test_documents_are_values():
    """They compare, pickle, and change only into new ones; an id once used is not given again."""
    settings_ = {"size": 3}
    document = Document(tiers=(tier("words", ("a", 0, 1), ("b", 1, 2)),), provenance=Provenance(decoding=settings_))
    settings_["size"] = 4
    assert document.provenance.decoding == {"size": 3} and pickle.loads(pickle.dumps(document)) == document
    shorter = document.with_tiers(replace(document.tiers[0], segments=document.tiers[0].segments[:1]))
    assert shorter.next_id == 2 and [s.text for s in shorter.tiers[0].segments] == ["a"] and shorter != document
    grown = shorter.with_tiers(tier("marks", ("noise", 0, 1), first=shorter.next_id), next_id=3)
    assert [t.name for t in grown.tiers] == ["words", "marks"] and grown.segment(2).text == "noise"


def test_what_a_document_lacks_is_made_up_openly():
    said = Document(tiers=(tier("sentences", ("one three", 1, 9), ("", 9, 9), ("ab", 10, 12)),)).transcript()
    assert [(w.text, w.start, w.end) for w in said.words] == [("one", 1, 4), ("three", 4, 9), ("ab", 10, 12)]
    assert [len(s.words) for s in said.sentences] == [2, 0, 1] and said.text == "one three ab" and said.duration == 12
    assert math.isnan(said.words[0].confidence) and "divided" in said.warnings[0]

    words = Document(tiers=(tier("words", ("A", 0, 1), ("b.", 1, 2), ("C", 3, 4)),)).transcript()
    assert [s.text for s in words.sentences] == ["A b.", "C"] and not words.warnings

    tokens = Document(tiers=(tier("tokens", (" a", 0, 1), ("b", 1, 2), (" c", 2, 3)),)).transcript()
    assert [(w.text, w.start, w.end, len(w.tokens)) for w in tokens.words] == [("ab", 0, 2, 2), ("c", 2, 3, 1)]
    assert tokens.tokens[0].id == -1

    free = Document(tiers=(tier("free", ("hello you", 0, 2), name="Mary"),)).transcript()
    assert [w.text for w in free.words] == ["hello", "you"] and [s.text for s in free.sentences] == ["hello you"]
    assert Document().transcript() == Transcript()


def test_members_by_example():
    wholes = [Segment(0, "a.", 0, 1), Segment(1, "b", 1, 2), Segment(2, "c", 3, 4)]
    parts = [Segment(i, *p) for i, p in enumerate([("a", 0, 1), (".", 1, 1), ("b", 1, 2), ("-", 2, 3), ("c", 3, 4)])]
    assert [[p.text for p in group] for group in members(wholes, parts)] == [["a", "."], ["b"], ["c"]]


@given(st.text(max_size=30), st.floats(0, 100), st.floats(0, 10))
def test_spread_words_fill_their_time(text, start, length):
    found = spread(text, round(start, 6), round(start + length, 6))
    assert [one for one, _, _ in found] == text.split()
    if found:
        assert found[0][1] == round(start, 6) and found[-1][2] == round(start + length, 6)
        assert all(a[2] == b[1] for a, b in pairwise(found)) and all(s <= e for _, s, e in found)


def test_a_recording_is_known_by_its_content(tmp_path):
    path = tmp_path / "clip.wav"
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, 8000, 0, "NONE", ""))
        file.writeframes(bytes(2 * 8001))
    audio = Audio.of_file(path)
    assert audio == Audio("clip.wav", hashlib.sha256(path.read_bytes()).hexdigest(), 8001 / 8000, 8000)
    assert annotation.Document(audio).transcript().duration == pytest.approx(8001 / 8000, abs=1e-6)


def test_a_translation_is_english() -> None:
    spoken = Transcript(language="de", decoding=Greedy(whisper=Whisper(task="transcribe")))
    assert Document.from_transcript(spoken).language == "de"
    translated = replace(spoken, decoding=Greedy(whisper=Whisper(task="translate")))
    assert Document.from_transcript(translated).language == "en"
    # Also in files of it, where the transcript keeps what was spoken.
    for name, language in (("nemo", '"lang": "en"'), ("hf", '"language": "en"'), ("json", '"language": "de"')):
        formats.write(translated, file := io.StringIO(), format=name)
        assert language in file.getvalue()
        assert formats.read(file.getvalue().encode(), format=name).language == "en"
