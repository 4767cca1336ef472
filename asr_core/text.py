"""From vocabulary pieces to text.

Pieces follow SentencePiece: "▁" is the space before a word, "<0xE4>" one byte of a character that has no piece of its
own, "<unk>" what the tokenizer could not write. Control tokens ("<|en|>", "[EOU]") never reach the text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

SPACE = "▁"
UNKNOWN = "<unk>"
#: What SentencePiece writes for an unknown piece.
UNKNOWN_TEXT = "⁇"

_BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>")
_SPECIAL = re.compile(r"<[^<>]+>|\[[^\[\]]+\]")


@dataclass(frozen=True)
class Vocabulary:
    """The pieces of a model, by id; blank is the id after the last."""

    pieces: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.pieces)

    @property
    def blank(self) -> int:
        """Id of the blank."""
        return len(self.pieces)

    @cached_property
    def supported_punctuation(self) -> frozenset[str]:
        """Punctuation the model can write: characters of Unicode category P in pieces inside words (NeMo's rule)."""
        inside = (p for p in self.pieces if not (_SPECIAL.fullmatch(p) or p.startswith((SPACE, "##"))))
        return frozenset(c for piece in inside for c in piece if unicodedata.category(c).startswith("P"))

    def is_special(self, token: int) -> bool:
        """Whether the token is a control token, which is not shown."""
        return self._bytes[token] is None and self._specials[token]

    def is_punctuation(self, token: int) -> bool:
        """Whether the token is one supported punctuation mark, with or without a space before it."""
        return self.pieces[token].removeprefix(SPACE) in self.supported_punctuation

    def starts_word(self, token: int) -> bool:
        """Whether the token begins with a space; an unknown piece stands alone."""
        return self.pieces[token].startswith(SPACE) or self.pieces[token] == UNKNOWN

    def token_texts(self, tokens: Sequence[int]) -> tuple[str, ...]:
        """The text of each token, with the space before it; control tokens have none.

        A run of byte pieces is decoded together and sits on its first token, the others are empty. Each byte that is no
        UTF-8 becomes U+FFFD, as in SentencePiece. An unknown piece is " ⁇".
        """
        texts = [""] * len(tokens)
        for is_byte, run in groupby(range(len(tokens)), lambda i: self._bytes[tokens[i]] is not None):
            places = list(run)
            if is_byte:
                texts[places[0]] = _decoded(bytes(self._bytes[tokens[i]] for i in places))
                continue
            for i in places:
                texts[i] = self._texts[tokens[i]]
        return tuple(texts)

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of a label sequence, as SentencePiece writes it, less a space before punctuation (NeMo).

        The space of the first word is left out, and an unknown piece has one on both sides. Spaces are not folded.
        """
        parts: list[str] = []
        begun = False
        for token, text in zip(tokens, self.token_texts(tokens), strict=True):
            piece = self.pieces[token]
            if piece == UNKNOWN:
                text += " "
            elif not begun and piece.startswith(SPACE):
                text = text[1:]
            begun = begun or bool(text)
            parts.append(text)
        return self.tidy("".join(parts))

    def tidy(self, text: str) -> str:
        """Remove one space before each supported punctuation mark."""
        return self._space_before_mark.sub(r"\1", text)

    @cached_property
    def _space_before_mark(self) -> re.Pattern[str]:
        marks = "".join(map(re.escape, sorted(self.supported_punctuation)))
        return re.compile(rf"\s([{marks}])") if marks else re.compile(r"(?!)()")

    @cached_property
    def _texts(self) -> tuple[str, ...]:
        """What each piece writes by itself."""
        shown = (
            "" if special else p.replace(SPACE, " ") for p, special in zip(self.pieces, self._specials, strict=True)
        )
        return tuple(" " + UNKNOWN_TEXT if p == UNKNOWN else text for p, text in zip(self.pieces, shown, strict=True))

    @cached_property
    def _bytes(self) -> tuple[int | None, ...]:
        matches = (_BYTE.fullmatch(piece) for piece in self.pieces)
        return tuple(int(match[1], 16) if match else None for match in matches)

    @cached_property
    def _specials(self) -> tuple[bool, ...]:
        return tuple(piece != UNKNOWN and bool(_SPECIAL.fullmatch(piece)) for piece in self.pieces)


def _decoded(raw: bytes) -> str:
    """UTF-8, with U+FFFD for each byte that is none (Python's own "replace" folds several into one)."""
    return re.sub("[\udc80-\udcff]", "\ufffd", raw.decode("utf-8", "surrogateescape"))
