"""Pieces to text; SentencePiece is the oracle."""

import io
import random
import re
from pathlib import Path

import pytest
import sentencepiece
from hypothesis import given, settings
from hypothesis import strategies as st

from asr_core.text import Vocabulary

ORACLE = Path(__file__).parents[1] / "data/oracle"
PIECES = ("<unk>", "▁a", "▁b", "c", ".", "▁", "▁?", "<0xE4>", "<0xBD>", "<0xA0>", "<|en|>", "<pad>", "[EOU]", "¡", "(")
V = Vocabulary(PIECES)


def pieces_of(model: sentencepiece.SentencePieceProcessor) -> tuple[str, ...]:
    return tuple(model.id_to_piece(i) for i in range(len(model)))


@pytest.fixture(scope="module")
def bpe():
    return sentencepiece.SentencePieceProcessor(str(ORACLE / "tdt/tokenizer.model"))


@pytest.fixture(scope="module")
def bytes_too():
    """A model with byte fallback, trained here on a few words."""
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["the cat sat", "on the mat, he said.", "what now?"] * 20),
        model_writer=out,
        vocab_size=300,
        byte_fallback=True,
        model_type="bpe",
        minloglevel=2,
    )
    return sentencepiece.SentencePieceProcessor(model_proto=out.getvalue())


@pytest.mark.parametrize("name", ["bpe", "bytes_too"])
def test_decode_equals_sentencepiece_less_the_space_before_marks(name, request):
    model = request.getfixturevalue(name)
    vocabulary = Vocabulary(pieces_of(model))
    marks = "".join(map(re.escape, vocabulary.supported_punctuation))
    draw = random.Random(3)
    for _ in range(3000):
        ids = [draw.randrange(len(vocabulary)) for _ in range(draw.randrange(12))]
        assert vocabulary.decode(ids) == re.sub(rf"\s([{marks}])", r"\1", model.decode(ids)), ids


def test_a_round_trip_of_text(bytes_too):
    vocabulary = Vocabulary(pieces_of(bytes_too))
    for text in ("the cat sat, he said.", "on 你好 mat?", "Ё 👩‍👩‍👧"):
        assert vocabulary.decode(bytes_too.encode(text)) == text


@given(st.lists(st.integers(0, len(PIECES) - 1)))
@settings(deadline=None)
def test_one_text_a_token_and_no_control_token_shown(ids):
    texts = V.token_texts(ids)
    assert len(texts) == len(ids)
    for token, text in zip(ids, texts, strict=True):
        assert not (V.is_special(token) and text)
    assert not re.search(r"<|\[", V.decode(ids))


def test_a_run_of_bytes_sits_on_its_first_token():
    assert V.token_texts([1, 7, 8, 9, 3]) == (" a", "你", "", "", "c")
    assert V.token_texts([7, 8, 1]) == ("\ufffd\ufffd", "", " a")
    assert V.decode([7, 10, 8, 9]) == "\ufffd" * 3  # a control token ends the run


def test_kinds_of_tokens():
    assert [V.is_special(i) for i in range(len(V))] == [piece in ("<|en|>", "<pad>", "[EOU]") for piece in PIECES]
    assert V.supported_punctuation == {
        ".",
        "¡",
        "(",
    }  # "?" stands only after a space, "<" and "[" only in control tokens
    assert [i for i in range(len(V)) if V.is_punctuation(i)] == [4, 13, 14]
    assert [i for i in range(len(V)) if V.starts_word(i)] == [0, 1, 2, 5, 6]
    assert V.blank == len(PIECES)


def test_unknown_pieces_have_a_text():
    assert V.token_texts([1, 0, 3]) == (" a", " ⁇", "c")
    assert V.decode([1, 0, 3]) == "a ⁇ c"


def test_one_space_before_a_mark_goes():
    assert V.decode([1, 5, 4]) == "a."
    assert V.decode([1, 5, 5, 4]) == "a ."


def test_a_vocabulary_of_8192():
    vocabulary = Vocabulary((*(f"▁w{i}" for i in range(8191)), "."))
    assert len(vocabulary) == 8192 and vocabulary.decode([5, 8191, 8190]) == "w5. w8190"
