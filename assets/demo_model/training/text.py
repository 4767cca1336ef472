"""Sentences of the domain: `sentence_patterns.txt` filled with `domain_words.txt`, cased, punctuated, numbers as words.

    python -m assets.demo_model.training.text --count 20                     # look at some
    python -m assets.demo_model.training.text --count 20 --split evaluation

A sentence belongs to training or to evaluation by a hash of its words, so no sentence is ever in both, whenever either
was made. Texts of the clips that recognisers are tested with belong to neither (`ForbiddenTexts`).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Literal

from .english_forms import ONES, PLURALS, cardinal, ordinal, past_of, plural, present_participle, year

HERE = Path(__file__).parent
Split = Literal["training", "evaluation"]
#: One sentence in so many is kept for evaluation.
EVALUATION_SHARE = 25
MOST_WORDS = 20
#: Folders whose manifests name clips that are only ever listened to in tests; those that do not exist are skipped.
TEST_FOLDERS = (HERE / "evaluation", HERE.parents[3] / "shared/speech", HERE.parents[3] / "shared/demo-model/dev")

_SLOT = re.compile(r"\{([^{}]+)\}")
_CHOICE = re.compile(r"\(([^()]*)\)")
_TITLE_BEFORE_NAME = r"\b(?:mister|doctor|miss|captain|professor)\b(?= [A-Z])"
_VERBS = ("verb", "action", "say")
_DIGITS = ONES[:10]


def plain_words(text: str) -> list[str]:
    """Lower-case words without punctuation; hyphens part words, as in the scoring."""
    return re.sub(r"[^a-z0-9' ]", " ", text.lower().replace("-", " ")).split()


@cache
def domain_words() -> dict[str, list[str]]:
    """Section to words (verbs as "base/past"), in the order of the file."""
    sections: dict[str, list[str]] = {}
    section = ""
    for line in (HERE / "domain_words.txt").read_text("utf-8").splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif not line.startswith("#"):
            sections.setdefault(section, []).extend(line.split())
    return sections


@cache
def vocabulary() -> frozenset[str]:
    """Every word the domain names, in lower case, with the plurals and verb forms the patterns make of them."""
    words: set[str] = set()
    for section, entries in domain_words().items():
        for entry in entries:
            words.update(entry.lower().split("/"))
            if section in _VERBS:
                words.add(present_participle(entry.split("/")[0]))
            if section in PLURALS:
                words.add(plural(entry))
    return frozenset(words)


@cache
def patterns() -> tuple[list[str], list[float]]:
    """The sentence patterns and their weights."""
    pairs = [line.split(maxsplit=1) for line in _grammar_lines() if line[0].isdigit()]
    return [text for _, text in pairs], [float(weight) for weight, _ in pairs]


@cache
def phrases() -> dict[str, list[str]]:
    """Name of a phrase to its forms."""
    pairs = [line.split(": ", maxsplit=1) for line in _grammar_lines() if not line[0].isdigit()]
    return {name: forms.split(" / ") for name, forms in pairs}


def _grammar_lines() -> list[str]:
    lines = (HERE / "sentence_patterns.txt").read_text("utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def split_of(sentence: str) -> Split:
    """The split a sentence belongs to, by a hash of its words: the same on every machine and in every run."""
    digest = hashlib.sha256(" ".join(plain_words(sentence)).encode()).digest()
    return "evaluation" if int.from_bytes(digest[:4], "big") % EVALUATION_SHARE == 0 else "training"


class ForbiddenTexts:
    """Texts of test clips. `in` is true for a text that equals one or holds it as a run of words.

    A test text that is digits only ("five five") is forbidden as a whole sentence and not inside a longer one: without
    it no telephone number could hold a digit twice.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._exact: set[str] = set()
        self._runs: dict[int, set[str]] = {}
        for text in texts:
            for part in (text, *re.split(r"(?<=[.!?])\s+", text)):
                words = plain_words(part)
                self._exact |= {" ".join(words)} if words else set()
                if len(words) > 1 and not all(word in _DIGITS for word in words):
                    self._runs.setdefault(len(words), set()).add(" ".join(words))

    @classmethod
    def of_folders(cls, folders: Iterable[Path] = TEST_FOLDERS) -> ForbiddenTexts:
        """The texts of every manifest (.json or .jsonl with "text") in the folders."""
        texts: list[str] = []
        for manifest in (path for folder in folders for path in sorted(folder.rglob("*.json*"))):
            raw = manifest.read_text("utf-8")
            rows = json.loads(raw) if manifest.suffix == ".json" else [json.loads(row) for row in raw.splitlines()]
            texts += [row["text"] for row in rows]
        return cls(texts)

    def __contains__(self, text: str) -> bool:
        for part in (text, *re.split(r"(?<=[.!?])\s+", text)):
            words = plain_words(part)
            if " ".join(words) in self._exact:
                return True
        words = plain_words(text)
        return any(
            " ".join(words[first : first + length]) in runs
            for length, runs in self._runs.items()
            for first in range(len(words) - length + 1)
        )


class Grammar:
    """Draws sentences of one split with a random generator of one's own."""

    def __init__(self, split: Split = "training", forbidden: ForbiddenTexts | None = None) -> None:
        self.split = split
        self.forbidden = ForbiddenTexts.of_folders() if forbidden is None else forbidden

    def sentence(self, random: random.Random) -> str:
        """A sentence of at most 20 words that belongs to the split and is no test text."""
        while True:
            texts, weights = patterns()
            sentence = finished(_filled(random.choices(texts, weights)[0], random))
            if (
                len(plain_words(sentence)) <= MOST_WORDS
                and split_of(sentence) == self.split
                and sentence not in self.forbidden
            ):
                return sentence

    def clip(self, random: random.Random, longest: int = 170) -> list[str]:
        """One to six sentences that are spoken in one clip, at most `longest` characters together."""
        sentences = [self.sentence(random)]
        for _ in range(random.choices(range(6), [50, 22, 12, 8, 5, 3])[0]):
            sentence = self.sentence(random)
            if (
                sum(map(len, sentences)) + len(sentence) <= longest
                and " ".join([*sentences, sentence]) not in self.forbidden
            ):
                sentences.append(sentence)
        return sentences


def finished(text: str) -> str:
    """Capital letter, final mark, "an" before vowels and one space between words."""
    text = re.sub(r"\s+", " ", text).replace(" ,", ",").strip()
    text = re.sub(r"\b([Aa]) (?=(?!uni|use|eu|one\b|once\b)[aeiou]|hour|honest)", r"\1n ", text)
    text = re.sub(_TITLE_BEFORE_NAME, lambda match: match[0].capitalize(), text)
    text = re.sub(r"\bi(?='|\b)", "I", text)
    return text[0].upper() + text[1:] + ("" if text[-1] in ".?!" else ".")


def _filled(pattern: str, random: random.Random) -> str:
    """Resolve choices, innermost first, then slots, whose fillings may hold both again."""
    while True:
        if match := _CHOICE.search(pattern):
            filling = random.choice(match[1].split("|"))
        elif match := _SLOT.search(pattern):
            filling = _slot(match[1], random)
        else:
            return pattern
        pattern = pattern[: match.start()] + filling + pattern[match.end() :]


def _slot(name: str, random: random.Random) -> str:
    if rule := RULES.get(name):
        return rule(random)
    if forms := phrases().get(name):
        return random.choice(forms)
    section, _, form = name.partition(".")
    entry = random.choice(domain_words()[section])
    if section in _VERBS:
        base = entry.split("/")[0]
        return {"past": past_of(entry), "ing": present_participle(base)}.get(form, base)
    return plural(entry) if form == "plural" else entry


def _count(random: random.Random) -> int:
    """Small numbers are as frequent as in speech: most below 100, some below 100,000."""
    first, last, step = random.choice([(2, 12, 1), (2, 99, 1), (2, 99, 1), (100, 999, 1), (100, 900, 100),
                                       (1000, 9999, 1), (1000, 99000, 1000)])  # fmt: skip
    return random.randrange(first, last + 1, step)


def _digits(random: random.Random, count: int | None = None) -> str:
    return " ".join(random.choices(_DIGITS, k=count or random.choices([1, 2, 3, 4, 5, 6], [3, 3, 3, 2, 1, 1])[0]))


def _phone(random: random.Random) -> str:
    groups = random.choice([(3, 4), (3, 3, 4), (2, 3), (4,), (2, 2, 2)])
    return ", ".join(_digits(random, count) for count in groups)


def _time(random: random.Random) -> str:
    hour = cardinal(random.randint(1, 12))
    minutes = random.choice(["fifteen", "thirty", "forty-five", "oh five", cardinal(random.randint(10, 59))])
    return random.choice([f"{hour} o'clock", f"(half|a quarter) past {hour}", f"a quarter to {hour}",
                          f"{hour} {minutes}", f"{hour} {minutes} (in the morning|at night|A M|P M)",
                          f"{hour} (sharp|A M|P M|in the afternoon|in the morning)",
                          f"{cardinal(random.randint(2, 29))} minutes (to|past) {hour}", "noon"])  # fmt: skip


def _date(random: random.Random) -> str:
    day, month = ordinal(random.randint(1, 31)), random.choice(domain_words()["month"])
    date = random.choice([f"the {day} of {month}", f"{month} {day}", f"{month} the {day}"])
    return date + (f", {_year(random)}" if random.random() < 0.35 else "")


def _year(random: random.Random) -> str:
    return year(random.choice([random.randint(1700, 1999), random.randint(2000, 2009), random.randint(2010, 2035)]))


def _price(random: random.Random) -> str:
    whole, cents = _count(random), cardinal(random.randint(2, 99))
    money = random.choice(["dollar", "euro", "pound"])
    amount = f"{cardinal(whole)} {money}{'' if whole == 1 else 's'}"
    return random.choice([amount, f"{amount} and {cents} cents", f"{cents} cents"])


def _sum(random: random.Random) -> str:
    a, b, c = (cardinal(random.randint(0, 200)) for _ in range(3))
    return f"{a} {random.choice(['plus', 'minus', 'times'])} {b} (is|equals) {c}"


def _ordinal(random: random.Random) -> str:
    return ordinal(random.choice([random.randint(1, 10), random.randint(1, 31), random.randint(1, 100)]))


def _words(random: random.Random) -> str:
    """Loose words of the whole domain, without any grammar."""
    sections = [section for section in domain_words() if section != "letter"]
    weights = [len(domain_words()[section]) ** 0.5 for section in sections]
    chosen = random.choices(sections, weights, k=random.choices(range(1, 10), [3, 3, 3, 3, 3, 2, 2, 1, 1])[0])
    return " ".join(random.choice(random.choice(domain_words()[section]).split("/")) for section in chosen)


def _spelled(word: str) -> str:
    return " ".join(word.upper())


#: Slots that are computed; all others are phrases of sentence_patterns.txt or sections of domain_words.txt.
RULES = {
    "cardinal": lambda random: cardinal(_count(random)),
    "digits": _digits,
    "ordinal number": _ordinal,
    "time": _time,
    "date": _date,
    "year": _year,
    "price": _price,
    "phone": _phone,
    "sum": _sum,
    "words": _words,
    "spelled name": lambda random: _spelled(random.choice(domain_words()["name"] + domain_words()["surname"])),
    "spelled letters": lambda random: " ".join(random.choices(domain_words()["letter"], k=random.randint(1, 6))),
}


def main() -> None:
    """Print sentences, one clip a line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--split", choices=["training", "evaluation"], default="training")
    arguments = parser.parse_args()
    grammar, draw = Grammar(arguments.split), random.Random(arguments.seed)
    for _ in range(arguments.count):
        print(" ".join(grammar.clip(draw)))


if __name__ == "__main__":
    main()
