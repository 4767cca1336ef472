"""The text the built-in model is trained on: words of the domain, no test texts, splits that never meet."""

import random
import re

import pytest

from assets.demo_model.training.english_forms import cardinal, ordinal, plural, present_participle, year
from assets.demo_model.training.text import (
    ForbiddenTexts,
    Grammar,
    domain_words,
    finished,
    plain_words,
    split_of,
    vocabulary,
)


def sentences(split="training", count=400):
    grammar, draw = Grammar(split), random.Random(1)
    return [grammar.sentence(draw) for _ in range(count)]


def test_the_domain_has_about_fifteen_hundred_words_and_those_people_say_first():
    words = {part.lower() for entries in domain_words().values() for entry in entries for part in entry.split("/")}
    assert 1400 <= len(words) <= 1700
    cards_and_directions = "clubs spades hearts diamonds forward left right rear front center side go ten meter"
    assert set(cards_and_directions.split()) <= words


def test_sentences_are_cased_punctuated_and_short():
    for sentence in sentences():
        assert re.fullmatch(r"[A-Z][A-Za-z' ,-]*[.?!]", sentence), sentence
        assert 1 <= len(plain_words(sentence)) <= 20
        assert "  " not in sentence and " ," not in sentence and " ." not in sentence


def test_every_word_is_of_the_domain():
    allowed = vocabulary() | {"am", "o'clock", "sharp", "york", "hundred"}
    strange = {word for sentence in sentences() for word in plain_words(sentence)} - allowed
    # Words the patterns write out themselves stay few.
    assert len(strange) < 40, sorted(strange)


def test_a_sentence_is_in_one_split_only():
    training, evaluation = set(sentences("training")), set(sentences("evaluation", 60))
    assert not training & evaluation
    assert {split_of(sentence) for sentence in training} == {"training"}
    assert split_of("Go back!") == split_of("go back")


def test_the_same_seed_gives_the_same_sentences():
    assert sentences(count=20) == sentences(count=20)


@pytest.mark.parametrize(
    ("text", "forbidden"),
    [
        ("Turn blue.", True),
        ("Please turn blue, now.", True),
        ("Turn the blue lamp on.", False),
        ("Six six.", True),
        ("My number is six six two.", False),
        ("We met. Turn blue!", True),
        ("And then there were two green lions here.", True),
        ("Two lions.", False),
        ("", False),
    ],
)
def test_test_texts_are_refused_also_inside_others(text, forbidden):
    texts = ForbiddenTexts(["turn blue", "six six", "", "There were two. Two green lions here."])
    assert (text in texts) is forbidden


def test_the_grammar_never_says_a_forbidden_text():
    forbidden = ForbiddenTexts(["of hearts", "turn the"])
    grammar, draw = Grammar("training", forbidden), random.Random(2)
    clips = [" ".join(grammar.clip(draw)).lower() for _ in range(300)]
    assert not any("of hearts" in clip or "turn the" in clip for clip in clips)


def test_texts_of_manifests_are_read(tmp_path):
    (tmp_path / "manifest.json").write_text('[{"text": "A blue moon."}]')
    (tmp_path / "other.jsonl").write_text('{"text": "A red moon."}\n')
    texts = ForbiddenTexts.of_folders([tmp_path, tmp_path / "missing"])
    assert "a blue moon" in texts and "a red moon" in texts and "a green moon" not in texts


def test_numbers_and_forms():
    assert [cardinal(n) for n in (0, 13, 45, 321, 9000, 62_010)] == [
        "zero",
        "thirteen",
        "forty-five",
        "three hundred and twenty-one",
        "nine thousand",
        "sixty-two thousand ten",
    ]
    assert [ordinal(n) for n in (1, 12, 20, 31, 100)] == [
        "first",
        "twelfth",
        "twentieth",
        "thirty-first",
        "one hundredth",
    ]
    assert [year(n) for n in (1800, 1905, 1987, 2000, 2003, 2024)] == [
        "eighteen hundred",
        "nineteen oh five",
        "nineteen eighty-seven",
        "two thousand",
        "two thousand and three",
        "twenty twenty-four",
    ]
    assert [plural(noun) for noun in ("box", "city", "day", "foot", "dog")] == [
        "boxes",
        "cities",
        "days",
        "feet",
        "dogs",
    ]
    assert [present_participle(verb) for verb in ("run", "make", "see", "die")] == [
        "running",
        "making",
        "seeing",
        "dying",
    ]


def test_articles_titles_and_marks():
    assert finished("a apple and a uniform , please") == "An apple and a uniform, please."
    assert finished("i think doctor Young is a doctor?") == "I think Doctor Young is a doctor?"
