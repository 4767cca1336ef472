"""Forms of English words: numbers, ordinals and years as words, plurals, participles and past tenses."""

from __future__ import annotations

ONES = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
]  # fmt: skip
TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
#: Sections of the word list whose words have a plural.
PLURALS = frozenset(
    ["thing", "building", "animal", "person", "unit", "unit of time", "money", "idea", "outdoors", "season", "day"]
)

_ORDINALS = {
    "one": "first",
    "two": "second",
    "three": "third",
    "five": "fifth",
    "eight": "eighth",
    "nine": "ninth",
    "twelve": "twelfth",
}
_IRREGULAR_PLURALS = {
    "foot": "feet", "goose": "geese", "mouse": "mice", "wolf": "wolves", "knife": "knives", "child": "children",
    "man": "men", "woman": "women", "wife": "wives", "sheep": "sheep", "fish": "fish", "inch": "inches",
    "music": "songs", "news": "news", "luck": "chances", "money": "coins", "gentleman": "gentlemen", "lady": "ladies",
    "piano": "pianos", "radio": "radios", "leaf": "leaves", "life": "lives",
}  # fmt: skip
#: Verbs whose last consonant is doubled before -ing.
_DOUBLING = frozenset(["drop", "stop", "get", "put", "cut", "hit", "win", "sit", "run", "swim", "begin"])


def cardinal(number: int) -> str:
    """0 to 999,999 in words, with hyphens and "and": 321 is "three hundred and twenty-one"."""
    if number < 20:
        return ONES[number]
    if number < 100:
        return TENS[number // 10 - 2] + (f"-{ONES[number % 10]}" if number % 10 else "")
    if number < 1000:
        return f"{ONES[number // 100]} hundred" + (f" and {cardinal(number % 100)}" if number % 100 else "")
    return f"{cardinal(number // 1000)} thousand" + (f" {cardinal(number % 1000)}" if number % 1000 else "")


def ordinal(number: int) -> str:
    """The rank: 21 is "twenty-first"."""
    words = cardinal(number)
    start = max(words.rfind("-"), words.rfind(" ")) + 1
    last = words[start:]
    return words[:start] + (_ORDINALS.get(last) or (last[:-1] + "ie" if last.endswith("y") else last) + "th")


def year(number: int) -> str:
    """As years are read: 1905 is "nineteen oh five", 2003 "two thousand and three"."""
    century, rest = divmod(number, 100)
    if 2000 <= number < 2010:
        return "two thousand" + (f" and {ONES[rest]}" if rest else "")
    if rest < 10:
        return f"{cardinal(century)} {f'oh {ONES[rest]}' if rest else 'hundred'}"
    return f"{cardinal(century)} {cardinal(rest)}"


def plural(noun: str) -> str:
    """The plural of one of the domain's nouns."""
    if irregular := _IRREGULAR_PLURALS.get(noun):
        return irregular
    if noun.endswith(("s", "x", "ch", "sh", "tomato", "potato")):
        return noun + "es"
    return noun[:-1] + "ies" if noun.endswith("y") and noun[-2] not in "aeiou" else noun + "s"


def present_participle(verb: str) -> str:
    """The -ing form of one of the domain's verbs."""
    if verb in _DOUBLING:
        return verb + verb[-1] + "ing"
    if verb in ("die", "lie"):
        return verb[:-2] + "ying"
    return (verb[:-1] if verb.endswith("e") and not verb.endswith("ee") else verb) + "ing"


def past_of(entry: str) -> str:
    """The past tense of an entry "base/past" of the word list."""
    return entry.split("/")[1]
