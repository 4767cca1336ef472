"""Phrases as people type and paste them."""

from __future__ import annotations

import pytest

import asr_core
from components.phrases import parse_phrases


@pytest.mark.parametrize(
    ("text", "weights"),
    [
        ("", {}),
        ("\n  \n", {}),
        ("New York", {"New York": 1.0}),
        ("  New York  \r\nParis", {"New York": 1.0, "Paris": 1.0}),
        ("tokenscope: 2.5", {"tokenscope": 2.5}),
        ("tokenscope:2.5", {"tokenscope": 2.5}),
        ("tokenscope\t2.5", {"tokenscope": 2.5}),
        ("tokenscope \t 2.5", {"tokenscope": 2.5}),
        ("uh: -1", {"uh": -1.0}),
        ("at 10:30", {"at 10:30": 1.0}),
        ("at 10:30: 2", {"at 10:30": 2.0}),
        ("at 10:30\t2", {"at 10:30": 2.0}),
        ("Station 9: 2", {"Station 9": 2.0}),
        ("one: two: 3", {"one: two": 3.0}),
        ("same\nsame", {"same": 1.0}),
        ("שלום: 2\n👩‍🔬", {"שלום": 2.0, "👩‍🔬": 1.0}),
    ],
)
def test_lines_that_are_phrases(text: str, weights: dict[str, float]) -> None:
    assert parse_phrases(text) == weights
    if weights:
        assert dict(asr_core.PhraseBoost(parse_phrases(text)).phrases) == weights


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("fine\n\nnote: this", "Line 3 of the phrases, 'note: this', has no weight"),
        ("note:", "Line 1 of the phrases, 'note:', has no weight"),
        (": 2", "Line 1 of the phrases, ': 2', has no phrase"),
        ("\t2", "has no phrase"),
        ("a: nan", "has no weight"),
        ("a: inf", "has no weight"),
        ("a: 101", "from -100 to 100"),
        ("a: 1\nb\na: 2", "Line 3 of the phrases gives 'a' the weight 2, but line 1 gives it 1."),
        ("x" * 50_001, "50,001 characters"),
        ("y" * 3000 + ": z", "…"),
    ],
)
def test_a_bad_line_is_named(text: str, said: str) -> None:
    with pytest.raises(asr_core.DecodingError) as error:
        parse_phrases(text)
    assert said in str(error.value)
    assert len(str(error.value)) < 300
