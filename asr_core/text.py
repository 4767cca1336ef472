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
        """The text of each token, with the space before it.

        A run of byte pieces is decoded together and sits on its first token, the others are empty; bytes that are no
        UTF-8 become U+FFFD.
        """
        texts, run = [""] * len(tokens), bytearray()
        for i in range(len(tokens), 0, -1):
            token = tokens[i - 1]
            byte = self._bytes[token]
            if byte is not None:
                run.insert(0, byte)
                if i == 1 or self._bytes[tokens[i - 2]] is None:
                    texts[i - 1] = run.decode("utf-8", "replace")
                    run.clear()
            elif self.pieces[token] == UNKNOWN:
                texts[i - 1] = " " + UNKNOWN_TEXT
            elif not self._specials[token]:
                texts[i - 1] = self.pieces[token].replace(SPACE, " ")
        return tuple(texts)

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of a label sequence, as the tokenizer writes it, less a space before punctuation (NeMo)."""
        text = "".join(
            text + " " if self.pieces[token] == UNKNOWN else text
            for token, text in zip(tokens, self.token_texts(tokens), strict=True)
        )
        return self.tidy(re.sub(" {2,}", " ", text).strip(" "))

    def tidy(self, text: str) -> str:
        """Remove one space before each supported punctuation mark."""
        return self._space_before_mark.sub(r"\1", text)

    @cached_property
    def _space_before_mark(self) -> re.Pattern[str]:
        marks = "".join(map(re.escape, sorted(self.supported_punctuation)))
        return re.compile(rf"\s([{marks}])") if marks else re.compile(r"(?!)()")

    @cached_property
    def _bytes(self) -> tuple[int | None, ...]:
        matches = (_BYTE.fullmatch(piece) for piece in self.pieces)
        return tuple(int(match[1], 16) if match else None for match in matches)

    @cached_property
    def _specials(self) -> tuple[bool, ...]:
        return tuple(piece != UNKNOWN and bool(_SPECIAL.fullmatch(piece)) for piece in self.pieces)
