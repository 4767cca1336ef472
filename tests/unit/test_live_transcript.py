"""The final text of a stream: it only grows, and words, sentences and text say the same."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from asr_core import Segmentation
from asr_core.alignment import Hypothesis, Transcript
from asr_core.decoding.options import Confidence
from asr_core.live_transcript import LiveTranscript
from asr_core.text import Vocabulary

PIECES = Vocabulary(("▁one", "▁two", ".", ",", "?", "▁.", "<EOU>"))
PAUSE = 1.0
FRAME = 0.08
#: Each token: its piece, frames of silence before it, and whether it comes with others or in a packet of its own.
TOKENS = st.lists(st.tuples(st.integers(0, 6), st.sampled_from([0, 1, 5, 13, 40]), st.booleans()), max_size=14)


def hypothesis(rows: list[tuple[int, int]]) -> Hypothesis:
    """Tokens (piece, start frame) of one frame each."""
    ids, starts = tuple(piece for piece, _ in rows), tuple(start for _, start in rows)
    ends = tuple(start + 1 for start in starts)
    sure = (0.9,) * len(rows)
    return Hypothesis(ids, starts, ends, 0.0, sure, sure)


def streamed(rows: list[tuple[int, int, bool]], duration: float) -> tuple[LiveTranscript, list[Transcript]]:
    """What a stream makes of tokens (piece, start frame, whether a packet ends behind it); silence ends utterances."""
    text = LiveTranscript(PIECES, FRAME, Segmentation(), Confidence())
    states, packet = [], []
    for i, (piece, start, ends) in enumerate(rows):
        packet.append((piece, start))
        if not ends:
            continue
        text.add(hypothesis(packet), PAUSE)
        packet = []
        states.append(text.made)
        if i + 1 < len(rows) and (rows[i + 1][1] - start - 1) * FRAME >= PAUSE:
            text.end_utterance()
            states.append(text.made)
    text.add(hypothesis(packet), PAUSE)
    text.finish(duration)
    return text, [*states, text.made]


def timed(tokens: list[tuple[int, int, bool]]) -> list[tuple[int, int, bool]]:
    rows, frame = [], 0
    for piece, gap, ends in tokens:
        rows.append((piece, frame + gap, ends))
        frame += gap + 1
    return rows


@given(TOKENS)
def test_words_sentences_and_text_agree_and_only_grow(tokens: list[tuple[int, int, bool]]) -> None:
    rows = timed(tokens)
    text, states = streamed(rows, 100.0)
    for made in states:
        words = " ".join(word.text for word in made.words)
        assert made.text == words == " ".join(sentence.text for sentence in made.sentences)
    for before, after in pairwise(states):
        assert after.text.startswith(before.text)
        assert len(after.sentences) >= len(before.sentences)
    said = [piece for piece, _, _ in rows if piece != 6]
    assert [token.id for token in text.made.tokens] == said
    # No sentence goes on over a pause; of a mark that came behind the pause the time does not count.
    for sentence in text.made.sentences:
        spoken = [token for word in sentence.words for token in word.tokens if token.id < 2]
        assert all(b.start - a.end < PAUSE for a, b in pairwise(spoken))
    # Marks stand alone only where nothing has been said before them.
    alone = [word.text for word in text.made.words[1:] if not word.text.strip(".,?")]
    assert not alone


def test_a_full_stop_behind_the_pause_belongs_to_the_last_word() -> None:
    rows = [(0, 0, False), (1, 2, True), (2, 30, True), (0, 60, True)]
    text, states = streamed(rows, 10.0)
    assert [state.text for state in states] == [
        "one two",
        "one two",
        "one two.",
        "one two.",
        "one two. one",
        "one two. one",
    ]
    assert [sentence.text for sentence in text.made.sentences] == ["one two.", "one"]
    assert text.utterances == 1


def test_an_utterance_counts_once_whatever_punctuation_follows() -> None:
    text = LiveTranscript(PIECES, FRAME, Segmentation(), Confidence())
    text.add(hypothesis([(0, 0)]), PAUSE)
    text.end_utterance()
    text.add(hypothesis([(2, 20)]), PAUSE)
    text.end_utterance()
    assert (text.utterances, text.made.text) == (1, "one.")
    text.add(hypothesis([(1, 40), (2, 60)]), PAUSE)
    text.end_utterance()
    assert (text.utterances, text.made.text) == (2, "one. two.")
    assert [sentence.text for sentence in text.made.sentences] == ["one.", "two."]


def test_a_mark_behind_the_pause_does_not_join_two_utterances() -> None:
    text = LiveTranscript(PIECES, FRAME, Segmentation(), Confidence())
    text.add(hypothesis([(0, 0), (3, 20), (1, 22)]), PAUSE)
    assert [sentence.text for sentence in text.made.sentences] == ["one,", "two"]
    assert text.utterances == 1


def test_an_opening_mark_begins_the_next_sentence() -> None:
    pieces = Vocabulary(("▁one", "▁two", "(", ")", ".", "<EOU>"))
    text = LiveTranscript(pieces, FRAME, Segmentation(), Confidence())
    text.add(hypothesis([(0, 0)]), PAUSE)
    text.end_utterance()
    text.add(hypothesis([(2, 20), (1, 21), (3, 22)]), PAUSE)
    assert text.made.sentences[0].text == "one"


def test_a_control_token_is_no_utterance() -> None:
    text = LiveTranscript(PIECES, FRAME, Segmentation(), Confidence())
    text.add(hypothesis([(0, 0)]), PAUSE)
    text.end_utterance()
    text.add(hypothesis([(2, 20), (6, 21)]), PAUSE)
    text.add(hypothesis([(6, 60)]), PAUSE)
    assert text.utterances == 1
