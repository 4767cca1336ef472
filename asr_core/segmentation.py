"""Where one sentence ends and the next begins."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from asr_core import checks
from asr_core.alignment import Sentence, Word
from asr_core.confidence import aggregate
from asr_core.errors import DecodingError

SEPARATORS = (".", "?", "!", "。", "？", "！", "।", "؟", "…")
#: Marks that may follow a separator and stay with its sentence.
CLOSING = "\"'”’»›)]}」』）】"
#: Marks that may stand before the first letter of a word.
OPENING = "\"'“‘«‹([{¿¡"


def _listed(words: str) -> frozenset[str]:
    return frozenset(words.split())


#: Abbreviations before a name: a sentence never ends with them. All lists are lower case, without the last full stop.
TITLES = _listed("mr mrs ms dr prof rev hon st messrs mme mlle gen col capt lt sgt gov sen rep pres vs cf e.g i.e viz")
#: Abbreviations before a number.
NUMBERED = _listed("no nos p pp vol fig figs ch sec eq approx jan feb mar apr jun jul aug sep sept oct nov dec")
#: Abbreviations that also end sentences.
TRAILING = _listed("etc jr sr inc ltd co corp al ed eds est a.k.a a.m p.m")
#: Words that begin a sentence more often than they follow initials ("in the U.S. The" but "the U.S. Army").
STARTERS = _listed(
    "the a an it he she we you they i this that these those there then but and so or if in on at when what who why how "
    "his her their our my its as for from with after before no yes not now one some many most"
)
_INITIALS = re.compile(r"(?:[^\W\d_]\.)+")


@dataclass(frozen=True)
class Segmentation:
    """When a sentence closes: at a separator, a silence, or a length, whichever comes first.

    Args:
        separators: marks that end a sentence. Abbreviations, decimals, initials and closing quotes are understood.
        silence: seconds between two words from which the sentence closes; None = silence does not close it.
        max_words: words after which it closes.
        max_seconds: seconds after which it closes.
        gap_frames: NeMo's own rule (`segment_gap_threshold`, encoder frames): a word that ends with a separator closes,
            whatever it is, and so does a gap between words of at least that many frames. With a gap NeMo looks at the
            separator only where no word is open yet, so that in effect the gap replaces it. 0 = no gap, as in NeMo.
    """

    separators: tuple[str, ...] = SEPARATORS
    silence: float | None = None
    max_words: int | None = None
    max_seconds: float | None = None
    gap_frames: int | None = None

    def __post_init__(self) -> None:
        marks = checks.several("Segmentation.separators", self.separators, "marks")
        if not all(isinstance(mark, str) and mark for mark in marks):
            raise DecodingError(f"Segmentation.separators is a list of marks, not {checks.shown(self.separators)}.")
        object.__setattr__(self, "separators", marks)
        for name in ("silence", "max_seconds"):
            checks.seconds(f"Segmentation.{name}", getattr(self, name))
        for name, least in (("max_words", 1), ("gap_frames", 0)):
            checks.whole(f"Segmentation.{name}", getattr(self, name), least=least, optional=True)


def sentences_of(
    words: Sequence[Word], segmentation: Segmentation, *, frame_seconds: float = 0.08, aggregation: str = "min"
) -> tuple[Sentence, ...]:
    """Group words into sentences.

    Args:
        frame_seconds: seconds of an encoder frame, for `gap_frames`.
        aggregation: how the words' confidences make the sentence's.
    """
    groups: list[list[Word]] = []
    open_: list[Word] = []
    for i, word in enumerate(words):
        following = words[i + 1].text if i + 1 < len(words) else None
        was_open = bool(open_)
        if open_ and _closes_before(open_, word, segmentation, frame_seconds):
            groups.append(open_)
            open_ = []
        open_.append(word)
        # A closing quote that stands apart goes with what it closes.
        apart = len(open_) > 1 and not word.text.strip(CLOSING)
        last = open_[-2].text + word.text if apart else word.text
        if _closes_after(last, following, was_open, segmentation):
            groups.append(open_)
            open_ = []
    if open_:
        groups.append(open_)
    return tuple(_sentence(group, aggregation) for group in groups)


def ends_sentence(word: str, following: str | None, separators: Sequence[str]) -> bool:
    """Whether a sentence ends with `word`, given the word after it (None at the end)."""
    core = word.rstrip(CLOSING)
    mark = next((s for s in separators if core.endswith(s)), None)
    if mark is None:
        return False
    if following is None:
        return True
    if following not in ('"', "'") and all(c in CLOSING or c in separators for c in following):
        return False  # a mark that stands apart: the sentence closes behind it
    if core.endswith(("..", "…")):
        return not following[:1].islower()
    return mark != "." or not _is_abbreviated(core.lstrip(OPENING), following.lstrip(OPENING))


def _closes_before(open_: Sequence[Word], word: Word, segmentation: Segmentation, frame_seconds: float) -> bool:
    gap = word.start - open_[-1].end
    if segmentation.gap_frames and round(gap / frame_seconds) >= segmentation.gap_frames:
        return True
    if segmentation.silence is not None and gap >= segmentation.silence:
        return True
    if segmentation.max_words is not None and len(open_) >= segmentation.max_words:
        return True
    return segmentation.max_seconds is not None and word.end - open_[0].start > segmentation.max_seconds


def _closes_after(word: str, following: str | None, was_open: bool, segmentation: Segmentation) -> bool:
    if segmentation.gap_frames is None:
        return ends_sentence(word, following, segmentation.separators)
    # NeMo: `if threshold and segment_words: ... elif word[-1] in separators or word in separators: ...`
    return not (segmentation.gap_frames and was_open) and word.endswith(tuple(segmentation.separators))


def _is_abbreviated(word: str, following: str) -> bool:
    """Whether the full stop at the end of `word` belongs to the word."""
    stem = word[:-1].lower()
    goes_on = following[:1].islower() or following[:1].isdigit()
    if stem in TITLES:
        return True
    if stem in NUMBERED or stem in TRAILING:
        return goes_on
    if _INITIALS.fullmatch(word) and word.isupper() and word != "I.":
        return following.rstrip(".,?!").lower() not in STARTERS
    return bool(_INITIALS.fullmatch(word)) and len(stem) > 1 and goes_on


def _sentence(words: Sequence[Word], aggregation: str) -> Sentence:
    return Sentence(
        text=" ".join(word.text for word in words),
        start=words[0].start,
        end=words[-1].end,
        confidence=aggregate([word.confidence for word in words], aggregation),
        words=tuple(words),
    )
