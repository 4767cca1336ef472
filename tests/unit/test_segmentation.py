"""Words to sentences, tokens to words, and other sentences for the same words."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asr_core.alignment import Hypothesis, Word
from asr_core.decoding.options import Confidence, Greedy
from asr_core.errors import DecodingError
from asr_core.segmentation import Segmentation, sentences_of
from asr_core.text import Vocabulary
from asr_core.wording import build_transcript, resegment

PIECES = (
    "▁hello",
    "▁wor",
    "ld",
    ".",
    "?",
    "!",
    "▁",
    "▁¡",
    "ola",
    "¡",
    ",",
    "<unk>",
    "<|en|>",
    "<0xC3>",
    "<0xA9>",
    "。",
)
V = Vocabulary(PIECES)


def words(text: str, gaps: dict[int, float] | None = None) -> list[Word]:
    """Words of half a second, with a gap before some of them."""
    found, at = [], 0.0
    for i, word in enumerate(text.split()):
        at += (gaps or {}).get(i, 0.0)
        found.append(Word(word, at, at + 0.5, 1 - i / 100, ()))
        at += 0.5
    return found


def split(text: str, segmentation: Segmentation = Segmentation(), **gaps) -> list[str]:  # noqa: B008 - a frozen value
    return [sentence.text for sentence in sentences_of(words(text, **gaps), segmentation)]


def spoken(*pieces: str, duration: float = 100.0, **settings):
    ids = tuple(PIECES.index(piece) for piece in pieces)
    frames = range(len(ids))
    hypothesis = Hypothesis(ids, tuple(frames), tuple(t + 1 for t in frames), 0.0, tuple(1 - t / 100 for t in frames))
    return build_transcript(hypothesis, V, frame_seconds=0.08, duration=duration, **settings)


@pytest.mark.parametrize(
    "text",
    [
        "Mr. Smith met Dr. Who. | He left.",
        "The U.S. army came. | It left.",
        "The U.S. Army came.",
        "She lives in the U.S. | The end.",
        "Use units, e.g. this one. | Then stop.",
        "See No. 5 there. | He said no. | Then he left.",
        "On Jan. 5 it rained. | So it did in Jan. | Then came Feb. 2 and sun.",
        "It is 3.14 about. | Not 3.2 now.",
        "J. R. Smith wrote it. | So did I. | Then plan B. | It failed.",
        'He said "go." | She went (at last.) | Then "no!" | End.',
        "What?! | No!! | Really?",
        "Well... maybe not. | Yes… | No.",
        "यह है। | वह है।",
        "متى؟ | الآن.",
        "At 5 p.m. we met. | He left at 6 p.m. | She stayed.",
        "Apples, pears, etc. are fruit. | Apples, etc. | Good.",
        "no mark at all",
    ],
)
def test_separators(text):
    assert split(text.replace(" | ", " ")) == text.split(" | ")


def test_a_mark_that_stands_apart_stays_with_its_sentence():
    assert split("He left . ” Then she") == ["He left . ”", "Then she"]


def test_silence_and_length():
    plain = {"separators": ()}
    assert split("a b c d", Segmentation(**plain, silence=0.3), gaps={2: 0.3}) == ["a b", "c d"]
    assert split("a b c d", Segmentation(**plain, silence=0.4), gaps={2: 0.3}) == ["a b c d"]
    assert split("a b c d e", Segmentation(**plain, max_words=2)) == ["a b", "c d", "e"]
    assert split("a b c d e", Segmentation(**plain, max_seconds=1.0)) == ["a b", "c d", "e"]
    assert split("a b. c d e", Segmentation(max_words=2)) == ["a b.", "c d", "e"]


def test_nemo_rule_takes_separators_as_they_are():
    assert split("Mr. Smith left. So", Segmentation(gap_frames=0)) == ["Mr.", "Smith left.", "So"]
    assert split("Mr. Smith left. So", Segmentation(gap_frames=4), gaps={2: 0.32}) == ["Mr.", "Smith", "left. So"]


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"separators": "."}, "list of marks"),
        ({"silence": 0}, "silence"),
        ({"silence": float("nan")}, "silence"),
        ({"max_words": 0}, "max_words is a whole number from 1"),
        ({"max_words": 1.5}, "max_words"),
        ({"max_seconds": -1}, "max_seconds"),
        ({"max_seconds": "2"}, "max_seconds"),
        ({"gap_frames": -1}, "gap_frames is a whole number from 0"),
    ],
)
def test_a_setting_out_of_range_is_refused(settings, sentence):
    with pytest.raises(DecodingError, match=sentence):
        Segmentation(**settings)


def test_confidence_of_a_sentence():
    found = sentences_of(words("a b c"), Segmentation(), aggregation="mean")
    assert found[0].confidence == pytest.approx((1 + 0.99 + 0.98) / 3)
    assert sentences_of([], Segmentation()) == ()


def test_punctuation_has_no_length_and_belongs_to_the_word_before():
    found = spoken("▁hello", "▁wor", "ld", ".", "?")
    assert [(w.text, w.start, w.end) for w in found.words] == [("hello", 0.0, 0.08), ("world.?", 0.08, 0.24)]
    assert all(token.start == token.end == 0.24 for token in found.tokens[3:])
    assert found.words[1].confidence == pytest.approx(0.96)


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        (("¡", "ola", "!"), ["¡ola!"]),
        (("▁hello", "▁¡", "ola", "!"), ["hello", "¡ola!"]),
        ((".",), ["."]),
        ((".", "▁hello"), [".", "hello"]),
        (("▁", "▁hello", "▁"), ["hello"]),
        (("▁hello", "▁", "ola"), ["hello", "ola"]),
        (("▁hello", "▁", "."), ["hello."]),
        (("▁hello", "<unk>", "ola"), ["hello", "⁇", "ola"]),
        (("▁hello", "<|en|>", "."), ["hello."]),
        (("▁", "<0xC3>", "<0xA9>", "ola"), ["éola"]),
        (("ola", "。", "ola", "。"), ["ola。", "ola。"]),
        (("<|en|>",), []),
        (("▁",), []),
        ((), []),
    ],
)
def test_words(pieces, expected):
    found = spoken(*pieces)
    assert [word.text for word in found.words] == expected
    assert [word.text for sentence in found.sentences for word in sentence.words] == expected


@given(st.lists(st.sampled_from(PIECES), max_size=12), st.floats(0, 1), st.sampled_from(["min", "prod"]))
def test_whatever_is_emitted(pieces, duration, how):
    found = spoken(*pieces, duration=duration, confidence=Confidence(aggregation=how))
    assert found.text == V.decode([PIECES.index(piece) for piece in pieces])
    for item in (*found.tokens, *found.words, *found.sentences):
        assert 0 <= item.start <= item.end <= duration and 0 <= item.confidence <= 1
    assert all(word.text and word.text == word.text.strip() for word in found.words)
    assert tuple(word for sentence in found.sentences for word in sentence.words) == found.words
    inside = [token for word in found.words for token in word.tokens]
    assert inside == [token for token in found.tokens if token in inside]
    assert all(sentence.text == " ".join(word.text for word in sentence.words) for sentence in found.sentences)
    assert "".join(word.text for word in found.words) == found.text.replace(" ", "")


def test_resegment_keeps_tokens_and_words():
    one = spoken("▁hello", ".", "▁hello", "▁wor", "ld", ".")
    found = resegment(one, Segmentation(separators=(), max_words=1))
    assert [s.text for s in found.sentences] == ["hello.", "hello", "world."]
    assert (found.tokens, found.words) == (one.tokens, one.words)


def test_resegment_takes_the_alternatives_along():
    other = spoken("▁hello", "▁wor", "ld")
    one = replace(other, alternatives=(other,), decoding=Greedy(confidence=Confidence(aggregation="mean")))
    found = resegment(one, Segmentation(max_words=2)).alternatives[0]
    assert found.sentences[0].confidence == pytest.approx((1 + 0.98) / 2)
    assert len(resegment(one, Segmentation(max_words=1)).alternatives[0].sentences) == 2
