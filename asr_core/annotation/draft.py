"""A document while it is edited: its tiers as lists that may break the rules for a moment, checked again at the end."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import replace

from asr_core.annotation.document import Document
from asr_core.annotation.segments import DECIMALS, Segment, Tier
from asr_core.annotation.timing import divided, members


class Draft:
    """The tiers that hang together (a sentence, its words, their tokens), and what belongs to what.

    Attributes:
        words, tokens, sentences: the document's own tiers of these kinds; empty where it has none.
        home: word id to the id of its sentence.
        next_id: of the next new segment.
    """

    def __init__(self, document: Document) -> None:
        self._document = document
        self.words, self.tokens, self.sentences = (
            list(tier.segments) if (tier := document.first(kind)) else [] for kind in ("words", "tokens", "sentences")
        )
        self.next_id = document.next_id
        self.home = {
            word.id: sentence.id
            for sentence, inside in zip(self.sentences, members(self.sentences, self.words), strict=True)
            for word in inside
        }
        self._touched: set[int] = set()

    def new_id(self) -> int:
        """An id that no segment has or had."""
        self.next_id += 1
        return self.next_id - 1

    def place(self, id: int) -> int:
        """Where a word stands."""
        return next(i for i, word in enumerate(self.words) if word.id == id)

    def tokens_of(self, words: Sequence[Segment]) -> list[list[Segment]]:
        """The tokens that each of some neighbouring words covers."""
        if not words:
            return []
        first = bisect_left(self.tokens, words[0].start, key=_middle)
        last = bisect_right(self.tokens, words[-1].end, key=_middle)
        return members(words, self.tokens[first:last])

    def put_words(self, first: int, last: int, new: Sequence[Segment], home: int | None = None) -> None:
        """Other words in the place of words [first, last).

        Words whose text is new get one token of that text instead of those they had; the others keep theirs, stretched
        to the word's new time.

        Args:
            home: sentence of words that have none yet.
        """
        old = self.words[first:last]
        covered = self.tokens_of(old)
        gone = {token.id for inside in covered for token in inside}
        kept = {word.id: (word, inside) for word, inside in zip(old, covered, strict=True)}
        made: list[Segment] = []
        for word in new:
            before, inside = kept.get(word.id, (None, []))
            if before is not None and before.text == word.text and inside:
                made += [stretched(token, before, word) for token in inside]
            elif self.tokens or before is not None:
                made.append(Segment(self.new_id(), " " + word.text, word.start, word.end, accepted=word.accepted))
            if (where := self.home.get(word.id, home)) is not None:
                self.home[word.id] = where
        if self._document.first("tokens"):
            self._put_tokens(gone, made)
        self._touched |= {self.home[word.id] for word in (*old, *new) if word.id in self.home}
        self.words[first:last] = new
        for word in old:
            if word.id not in {w.id for w in new}:
                self.home.pop(word.id, None)

    def touch(self, sentences: Iterable[int]) -> None:
        """Let sentences say what their words say, in the end."""
        self._touched |= set(sentences)

    def done(self, **values: object) -> Document:
        """The next document. Raises DocumentError where a rule is broken."""
        if self._document.first("words"):
            self.sentences = [made for sentence in self.sentences if (made := self._spoken(sentence)) is not None]
        changed = []
        for kind, segments in (("tokens", self.tokens), ("words", self.words), ("sentences", self.sentences)):
            tier = self._document.first(kind)
            if tier is not None and list(tier.segments) != segments:
                changed.append(Tier(tier.name, tier.kind, tuple(segments)))
        made = self._document.with_tiers(*changed, next_id=self.next_id)
        return replace(made, **values) if values else made

    def _put_tokens(self, gone: set[int], made: Sequence[Segment]) -> None:
        rest = [token for token in self.tokens if token.id not in gone]
        if not made:
            self.tokens = rest
            return
        at = next((i for i, t in enumerate(rest) if t.start >= made[-1].end or t.end > made[0].start), len(rest))
        self.tokens = rest[:at] + list(made) + rest[at:]

    def _spoken(self, sentence: Segment) -> Segment | None:
        """A sentence as its words say it; None where it has none left."""
        if sentence.id not in self._touched:
            return sentence
        words = [word for word in self.words if self.home.get(word.id) == sentence.id]
        if not words:
            return None
        text = " ".join(word.text for word in words)
        known = [word.confidence for word in words if word.confidence is not None]
        return replace(
            sentence, text=text, start=words[0].start, end=words[-1].end, confidence=min(known, default=None)
        )


def _middle(segment: Segment) -> float:
    return (segment.start + segment.end) / 2


def stretched(part: Segment, before: Segment, after: Segment) -> Segment:
    """A part of a whole whose time has changed, in proportion."""
    if (before.start, before.end) == (after.start, after.end):
        return part
    length = before.end - before.start
    scale = (after.end - after.start) / length if length else 0.0

    def moved(time: float) -> float:
        inside = round(after.start + (time - before.start) * scale, DECIMALS)
        return min(max(inside, after.start), after.end)

    return replace(part, start=moved(part.start), end=moved(part.end))


def shared(texts: Sequence[str], start: float, end: float) -> list[tuple[float, float]]:
    """A time divided between texts by their letters."""
    return divided([max(1, len(text)) for text in texts], start, end)
