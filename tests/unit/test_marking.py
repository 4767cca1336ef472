"""Edits beside the words, many texts at once, and the places that boundaries snap to."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import asr_core
from asr_core.annotation import Document, DocumentError, edits
from asr_core.annotation.changes import Change
from asr_core.annotation.document import Audio
from asr_core.annotation.marking import (
    add_words_of,
    mark,
    remove_tier,
    rename_speaker,
    set_speaker,
    speakers_of,
    take_text,
)
from asr_core.annotation.segments import Segment, Tier
from asr_core.annotation.snapping import nearest_frame, nearest_zero_crossing


def said(*texts: str, tokens: bool = True) -> Document:
    """Sentences of one-second words, with a token for each."""
    words, sentences, at = [], [], 0
    for sentence in texts:
        first = at
        for word in sentence.split():
            words.append(Segment(len(words), word, at, at + 1, 0.5))
            at += 1
        sentences.append((sentence, first, at))
    made = [Segment(100 + i, text, start, end, 0.5) for i, (text, start, end) in enumerate(sentences)]
    tiers = [Tier("words", "words", tuple(words)), Tier("sentences", "sentences", tuple(made))]
    if tokens:
        own = tuple(Segment(200 + i, f" {w.text}", w.start, w.end, 0.5, 1, -0.1) for i, w in enumerate(words))
        tiers.insert(0, Tier("tokens", "tokens", own))
    return Document(Audio("x.wav", duration=at), tuple(tiers))


def spans(document: Document, kind: str) -> list[tuple[str, float, float]]:
    return [(s.text or s.speaker or "", s.start, s.end) for s in document.first(kind).segments]


def undone(before: Document, after: Document) -> Document:
    """The edit taken back; only the ids that it gave out stay given out."""
    made = Change.between(before, after, "").inverse().apply(after)
    assert made.next_id == after.next_id
    return replace(made, next_id=before.next_id)


def test_a_mark_makes_room_for_itself() -> None:
    before = mark(said("a b c d"), 0.5, 3.5, "noise")
    after = mark(before, 1.0, 2.0, "  un \n clear ")
    assert spans(after, "marks") == [("noise", 0.5, 1.0), ("un clear", 1.0, 2.0), ("noise", 2.0, 3.5)]
    assert len({s.id for s in after.first("marks").segments}) == 3
    assert spans(mark(after, 0.0, 4.0, "music"), "marks") == [("music", 0.0, 4.0)]
    assert undone(before, after) == before


@pytest.mark.parametrize(("start", "end", "text"), [(1, 1, "x"), (2, 1, "x"), (-1, 1, "x"), (0, 1, " "), (0, 9, "x")])
def test_a_mark_that_cannot_be_is_refused(start: float, end: float, text: str) -> None:
    with pytest.raises(DocumentError):
        mark(said("a b c d"), start, end, text)


def test_turns_of_one_speaker_that_touch_become_one() -> None:
    document = set_speaker(set_speaker(said("a b c d"), 0, 1, "Ann"), 1, 2, "Ann")
    assert spans(document, "speakers") == [("Ann", 0, 2)]
    document = set_speaker(document, 1.5, 3, "Bob")
    assert spans(document, "speakers") == [("Ann", 0, 1.5), ("Bob", 1.5, 3)]
    assert speakers_of(document) == ["Ann", "Bob"]
    assert speakers_of(rename_speaker(document, "Ann", "Zoë")) == ["Zoë", "Bob"]
    with pytest.raises(DocumentError, match="Nobody"):
        rename_speaker(document, "Carl", "Dora")


def test_words_of_another_decoder_stand_beside_and_can_be_taken() -> None:
    other = said("one two three", "four").transcript()
    document = add_words_of(add_words_of(said("a b c", "d"), other, "Beam"), other, "Beam")
    assert [tier.name for tier in document.tiers][-2:] == ["Beam", "Beam 2"]
    second = document.tier("Beam").segments[1]
    assert [s.text for s in take_text(document, second.id).first("sentences").segments] == ["a two c", "d"]
    assert [tier.name for tier in remove_tier(document, "Beam").tiers][-1] == "Beam 2"
    with pytest.raises(DocumentError, match="what this document says"):
        remove_tier(document, "words")


@pytest.mark.parametrize("tokens", [False, True])
def test_many_texts_at_once_are_as_one_after_the_other(tokens: bool) -> None:
    document = said("a b c", "d e", "f", tokens=tokens)
    texts = {100: "a x c y", 101: "d e", 102: "z"}
    one_by_one = document
    for id, text in texts.items():
        one_by_one = edits.set_text(one_by_one, id, text)
    together = edits.set_texts(document, texts)
    for kind in ("words", "sentences", *(["tokens"] if tokens else [])):
        assert spans(together, kind) == spans(one_by_one, kind)
    assert undone(document, together) == document


def test_what_says_nothing_any_more_is_deleted() -> None:
    document = edits.set_texts(said("a b", "c"), {100: "  ", 2: "d"})
    assert spans(document, "sentences") == [("d", 2, 3)]
    assert spans(document, "words") == [("d", 2, 3)]


def test_the_nearest_zero_crossing_lies_between_its_samples() -> None:
    rate = 16_000
    tone = np.sin(2 * np.pi * 100 * np.arange(rate) / rate + 0.3)
    for time in (0.1, 0.5, 0.777):
        found = nearest_zero_crossing(tone, rate, time)
        assert abs(np.sin(2 * np.pi * 100 * found + 0.3)) < 1e-3
        assert abs(found - time) <= 0.0025 + 1e-9
    assert nearest_zero_crossing(np.ones(rate), rate, 0.5) == 0.5
    assert nearest_zero_crossing(np.zeros(0), rate, 0.5) == 0.5


def test_the_nearest_frame() -> None:
    assert nearest_frame(0.125, 0.08) == pytest.approx(0.16)
    assert nearest_frame(0.0, 0.08) == 0.0


def test_tiers_follow_a_transcript_of_a_model(demo: asr_core.Recognizer) -> None:
    transcript = demo.transcribe(np.zeros(16_000, np.float32))
    document = add_words_of(Document.from_transcript(transcript), transcript, "again")
    assert document.tier("again").kind == "free"
