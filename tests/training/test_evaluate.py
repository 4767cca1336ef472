"""The measures of the evaluation, on transcripts whose answer one can see."""

import math
from pathlib import Path

import pytest

from asr_core import Token, Transcript, Word
from assets.demo_model.training.evaluate import (
    Heard,
    TestClip,
    clips_of,
    confidence_auc,
    mean_confidence,
    start_errors,
    wer,
)
from assets.demo_model.training.language_model import estimated


def heard(text, words, starts=()):
    """A clip and a transcript of (word, start, confidence)."""
    made = []
    for word, start, confidence in words:
        token = Token(0, " " + word, start, start + 0.1, confidence, 0.0)
        made.append(Word(word, start, start + 0.1, confidence, (token,)))
    tokens = tuple(token for word in made for token in word.tokens)
    return Heard(TestClip(Path("x"), text, starts), Transcript(words=tuple(made), tokens=tokens))


def test_words_are_compared_without_case_marks_and_hyphens():
    assert wer([heard("Forty-five, please!", [("forty", 0, 1), ("five", 1, 1), ("Please.", 2, 1)])]) == 0
    assert wer([heard("One two.", [("one", 0, 1)]), heard("Three four.", [("three", 0, 1), ("for", 1, 1)])]) == 50


def test_an_empty_reference_counts_insertions():
    assert wer([heard("", [("oh", 0, 1)])]) == 100
    assert wer([heard("", [])]) == 0


def test_starts_are_those_of_first_words_that_are_right():
    one = heard(
        "Twenty-one men. Go back. Stop.",
        [("Twenty-one", 0.5, 1), ("men.", 1, 1), ("No", 2, 1), ("back.", 2.5, 1), ("Stop.", 3.2, 1)],
        (("Twenty-one men.", 0.4), ("Go back.", 2.0), ("Stop.", 3.0)),
    )
    assert start_errors([one]) == pytest.approx([0.1, 0.2])


def test_confidence_is_informative_where_wrong_words_have_less():
    assert confidence_auc([heard("a b c", [("a", 0, 0.9), ("b", 1, 0.8), ("x", 2, 0.1)])]) == 1
    assert confidence_auc([heard("a b c", [("a", 0, 0.1), ("b", 1, 0.1), ("x", 2, 0.5)])]) == 0
    assert confidence_auc([heard("a b", [("a", 0, 0.5), ("x", 1, 0.5)])]) == 0.5
    assert math.isnan(confidence_auc([heard("a", [("a", 0, 0.5)])]))
    assert mean_confidence([heard("a b", [("a", 0, 0.5), ("x", 1, 1.0)])]) == 0.75


def test_both_kinds_of_manifest_are_read(tmp_path):
    (tmp_path / "manifest.jsonl").write_text(
        '{"audio_filepath": "a.ogg", "text": "Go. On.", "sentences": [{"text": "Go.", "start": 0.1, "end": 0.2}]}\n'
    )
    assert clips_of(tmp_path) == [TestClip(tmp_path / "a.ogg", "Go. On.", (("Go.", 0.1),))]


def test_probabilities_of_the_language_model_sum_to_one():
    model = estimated([[0, 1, 2], [0, 1, 1], [2]], pieces=4, order=3)
    unigrams = sum(math.exp(value) for gram, (value, _) in model.grams[0].items() if gram != ("<s>",))
    assert unigrams == pytest.approx(1)
    seen = {gram[1]: math.exp(value) for gram, (value, _) in model.grams[1].items() if gram[0] == chr(101)}
    rest = sum(
        math.exp(value) for gram, (value, _) in model.grams[0].items() if gram[0] not in seen and gram != ("<s>",)
    )
    assert sum(seen.values()) + math.exp(model.grams[0][(chr(101),)][1]) * rest == pytest.approx(1)
