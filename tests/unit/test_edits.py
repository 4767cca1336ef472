"""Edits of documents: what each does, and that all of them can be taken back."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from asr_core import formats
from asr_core.annotation import Audio, Document, DocumentError, Segment, Tier, edits
from asr_core.annotation.changes import Change


def document(*, tokens: bool = True) -> Document:
    """Two sentences; every word has two tokens."""
    texts = ["The", "meeting", "is", "today.", "Come", "early."]
    words = tuple(Segment(i, text, i * 0.5, i * 0.5 + 0.5 - 0.1 * (i == 3), 0.9) for i, text in enumerate(texts))
    pieces, id = [], 6
    for word in words:
        middle = round((word.start + word.end) / 2, 6)
        for text, start, end in ((" " + word.text[:2], word.start, middle), (word.text[2:], middle, word.end)):
            pieces.append(Segment(id, text, start, end, 0.8, token_id=id))
            id += 1
    sentences = (
        Segment(id, "The meeting is today.", 0, words[3].end, 0.9),
        Segment(id + 1, "Come early.", 2.0, 3.0, 0.9),
    )
    tiers = [Tier("words", "words", words), Tier("sentences", "sentences", sentences)]
    if tokens:
        tiers.insert(0, Tier("tokens", "tokens", tuple(pieces)))
    return Document(Audio("a.wav", duration=4.0), tuple(tiers))


def said(made: Document) -> list[str]:
    return [segment.text for segment in made.first("sentences").segments]


def written(made: Document) -> str:
    out = io.StringIO()
    formats.write(made, out, format="json")
    return out.getvalue()


def test_a_sentence_says_something_else() -> None:
    before = document()
    made = edits.set_text(before, before.first("sentences").segments[0].id, "The big meeting was today.")
    words = made.first("words").segments
    assert [w.text for w in words][:5] == ["The", "big", "meeting", "was", "today."]
    assert said(made) == ["The big meeting was today.", "Come early."]
    # What stays keeps its time; the new word shares that of the one before it.
    assert (words[2].start, words[2].end, words[2].confidence) == (0.5, 1.0, 0.9)
    assert words[0].start == 0 and words[0].end == words[1].start and words[1].end == 0.5
    assert words[3].accepted and words[3].confidence is None and not words[4].accepted
    tokens = made.first("tokens").segments
    assert " was" in [t.text for t in tokens] and " is" not in [t.text for t in tokens]


@pytest.mark.parametrize(
    "text", ["x", "so The meeting is today.", "The meeting is today. so", "meeting", "a b c d e f g"]
)
def test_any_text_can_be_said(text: str) -> None:
    before = document()
    made = edits.set_text(before, before.first("sentences").segments[0].id, text)
    assert said(made)[0] == text
    words = made.first("words").segments
    assert " ".join(w.text for w in words) == text + " Come early."
    assert "".join(t.text for t in made.first("tokens").segments).split() == (text + " Come early.").split()
    assert made.transcript().text == text + " Come early."


def test_a_word_may_become_two_and_a_token_spells_its_word() -> None:
    before = document()
    made = edits.set_text(before, 1, "big meeting")
    assert said(made)[0] == "The big meeting is today."
    token = made.first("tokens").segments[0]
    made = edits.set_text(made, token.id, "Tx")
    assert made.segment(0).text == "Txe" and said(made)[0].startswith("Txe big")
    with pytest.raises(DocumentError, match="delete it"):
        edits.set_text(before, 1, "  ")


def test_a_boundary_takes_its_neighbour_and_its_tokens_along() -> None:
    made = edits.move_boundary(document(), 0, "end", 0.7)
    first, second = made.first("words").segments[:2]
    assert (first.end, second.start) == (0.7, 0.7)
    tokens = made.first("tokens").segments
    assert [t.start for t in tokens[:5]] == [0, 0.35, 0.7, 0.85, 1.0]
    # Behind a gap nothing moves along, and the sentence follows.
    made = edits.move_boundary(document(), 3, "end", 1.95)
    assert made.segment(4).start == 2.0 and made.first("sentences").segments[0].end == 1.95
    for time in (2.01, 1.4):
        with pytest.raises(DocumentError, match="may lie from"):
            edits.move_boundary(document(), 3, "end", time)
    with pytest.raises(DocumentError, match="may lie from"):
        edits.move_boundary(document(), 5, "end", 4.1)


def test_split_and_merge() -> None:
    before = document()
    made = edits.split(before, 1, 0.75)
    words = made.first("words").segments
    assert len(words) == 7 and words[1].end == words[2].start == 0.75
    assert words[1].text + words[2].text == "meeting"
    again = edits.merge(made, 1)
    assert again.segment(1).text == "meeting" and said(again) == said(before)
    with pytest.raises(DocumentError, match="two sentences"):
        edits.merge(before, 3)
    cut = edits.split(before, before.first("sentences").segments[0].id, 1.0)
    assert said(cut) == ["The meeting", "is today.", "Come early."]
    joined = edits.merge(cut, cut.first("sentences").segments[0].id)
    assert said(joined) == said(before)
    with pytest.raises(DocumentError, match="last"):
        edits.merge(before, 5)


@pytest.mark.parametrize("text", ["\u200b", "\ufeff \u2060", "\u202e", "  \n "])
def test_what_cannot_be_seen_is_no_word(text: str) -> None:
    before = document()
    sentence = before.first("sentences").segments[1]
    for refused in (
        lambda: edits.set_text(before, 1, text),
        lambda: edits.insert(before, "words", 3.2, 3.4, text),
        lambda: edits.split(before, 1, 0.75, ("meet", text)),
    ):
        with pytest.raises(DocumentError, match="a text"):
            refused()
    made = edits.set_text(before, sentence.id, f"Come {text} early.\u200b")
    assert [word.text for word in made.first("words").segments[4:]] == ["Come", "early.\u200b"]
    assert said(edits.set_texts(before, {sentence.id: text})) == ["The meeting is today."]


def test_several_words_that_are_inserted_are_several_words() -> None:
    made = edits.insert(document(), "words", 3.2, 3.8, "so they say")
    assert [(w.text, w.start) for w in made.first("words").segments[-3:]] == [
        ("so", 3.2),
        ("they", 3.333333),
        ("say", 3.6),
    ]
    assert said(made)[-1] == "Come early. so they say"


def test_insert_delete_copy_accept() -> None:
    before = document()
    made = edits.insert(before, "words", 3.2, 3.5, "please")
    assert said(made)[1] == "Come early. please"
    with pytest.raises(DocumentError, match=r"overlap|before"):
        edits.insert(before, "words", 0.4, 0.6, "no")
    made = edits.delete(before, 2)
    assert said(made)[0] == "The meeting today." and len(made.first("tokens").segments) == 10
    made = edits.delete(before, before.first("sentences").segments[1].id)
    assert said(made) == ["The meeting is today."] and len(made.first("words").segments) == 4
    made = edits.copy_to(before, 1, "check", move=True)
    assert made.tier("check").segments[0].text == "meeting" and len(made.first("words").segments) == 5
    made = edits.accept(before, [1])
    assert made.segment(1).accepted and sum(t.accepted for t in made.first("tokens").segments) == 2
    assert edits.set_state(before, "done").state == "done"
    made = edits.retime(before, [(4, 2.1, 2.4), (5, 2.4, 2.9)])
    assert made.first("sentences").segments[1].start == 2.1 and made.segment(5).end == 2.9


def test_a_change_is_applied_only_to_what_it_was_made_for() -> None:
    before = document()
    change = Change.between(before, edits.set_text(before, 1, "party"), "x")
    other = edits.set_text(before, 1, "feast")
    with pytest.raises(DocumentError, match="meantime"):
        change.apply(other)
    assert not Change.between(before, before, "nothing")


def random_edit(made: Document, random: np.random.Generator) -> Document:
    """Some edit of some segment; those that are refused leave everything as it was."""
    every = [s for tier in made.tiers for s in tier.segments]
    segment = every[random.integers(len(every))] if every else None
    time = float(random.uniform(0, 4))
    tries = {
        0: lambda: edits.set_text(
            made, segment.id, " ".join(random.choice(["a", "bb", "ü", "😀"], random.integers(1, 4)))
        ),
        1: lambda: edits.move_boundary(made, segment.id, random.choice(["start", "end"]), time),
        2: lambda: edits.split(made, segment.id, float(random.uniform(segment.start, max(segment.end, 1e-3)))),
        3: lambda: edits.merge(made, segment.id),
        4: lambda: edits.insert(made, made.tiers[random.integers(len(made.tiers))].name, time, time + 0.1, "new"),
        5: lambda: edits.delete(made, segment.id),
        6: lambda: edits.copy_to(made, segment.id, "other", move=bool(random.integers(2))),
        7: lambda: edits.accept(made, [segment.id], bool(random.integers(2))),
        8: lambda: edits.set_state(made, random.choice(["new", "in review", "done"])),
    }
    choice = int(random.choice(9, p=[0.15, 0.2, 0.1, 0.1, 0.15, 0.05, 0.05, 0.1, 0.1]))
    try:
        return tries[choice]() if segment is not None or choice == 4 else made
    except DocumentError:
        return made


def test_ten_thousand_edits_undone_and_redone_are_byte_identical() -> None:
    random = np.random.default_rng(1)
    start = made = document()
    changes = []
    for _ in range(10_000):
        after = random_edit(made, random)
        change = Change.between(made, after, "edit")
        # What goes through the log comes back.
        change = Change.from_plain(json.loads(json.dumps(change.to_plain())))
        assert change.apply(made) == after
        changes.append(change)
        made = after
        if sum(len(t.segments) for t in made.tiers) > 60:
            made = (
                edits.delete(made, made.first("sentences").segments[0].id) if made.first("sentences").segments else made
            )
            changes.append(Change.between(after, made, "tidy"))
    end = written(made)
    for tier in made.tiers:
        assert all(a.end <= b.start for a, b in pairwise(tier.segments))
    for change in reversed(changes):
        made = change.inverse().apply(made)
    # The ids of what was taken back are not given out again, so the next id stays.
    assert written(replace(made, next_id=start.next_id)) == written(start)
    for change in changes:
        made = change.apply(made)
    assert written(made) == end
