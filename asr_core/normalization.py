"""What counts as the same word."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, replace

from asr_core.alignment import Transcript, Word


@dataclass(frozen=True)
class Normalization:
    """Differences of writing that count for nothing; numbers stay as they are written.

    Args:
        ignore_case: "Friday" is "friday".
        ignore_punctuation: "Friday," is "Friday"; hyphens between letters separate words that are otherwise one
            ("fifty-four" is "fiftyfour"); apostrophes inside a word stay.
    """

    ignore_case: bool = False
    ignore_punctuation: bool = False

    def word(self, text: str) -> str:
        """One word as it is compared; empty where nothing of it counts."""
        text = unicodedata.normalize("NFC", text)
        if self.ignore_case:
            text = text.casefold()
        if self.ignore_punctuation:
            kept = [c for i, c in enumerate(text) if not _is_mark(c) or _inside(text, i)]
            text = "".join(kept)
        return text

    def text(self, text: str) -> str:
        """A text as it is compared, its words separated by single spaces."""
        return " ".join(word for word in map(self.word, text.split()) if word)

    def transcript(self, transcript: Transcript) -> Transcript:
        """The transcript's words as they are compared, without those of which nothing counts."""
        words = tuple(replace(word, text=text) for word in transcript.words if (text := self.word(word.text)))
        return replace(transcript, text=" ".join(word.text for word in words), words=words)


def words_as_compared(words: tuple[Word, ...], normalization: Normalization) -> list[str]:
    """The words' texts as they are compared; one entry a word, empty where nothing of it counts."""
    return [normalization.word(word.text) for word in words]


def _is_mark(character: str) -> bool:
    return unicodedata.category(character)[0] in "PS"


def _inside(text: str, index: int) -> bool:
    """Whether an apostrophe stands between letters."""
    return text[index] in "'’" and 0 < index < len(text) - 1 and text[index - 1].isalnum() and text[index + 1].isalnum()
