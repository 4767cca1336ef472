"""From text to labels: what a person types, in the pieces of a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from asr_core.text import SPACE, UNKNOWN, Vocabulary


@dataclass(frozen=True)
class Tokenizer:
    """Encodes text with a model's own SentencePiece model, else by the longest pieces that fit.

    Args:
        vocabulary: the pieces.
        model: the serialized SentencePiece model, where the checkpoint carries one.
    """

    vocabulary: Vocabulary
    model: bytes | None = None

    def encode(self, text: str) -> list[int]:
        """Labels of a text; white space is folded. A character without a piece becomes `<unk>`, or its bytes."""
        text = " ".join(text.split())
        if not text:
            return []
        return list(self._processor.encode(text)) if self._processor is not None else self._longest(text)

    def unknown_characters(self, text: str) -> list[str]:
        """The characters of a text that the model cannot write, in the order of their first appearance."""
        unknown = self._unknown
        return [c for c in dict.fromkeys(text) if not c.isspace() and unknown in self.encode(c)]

    @cached_property
    def _processor(self) -> Any | None:
        if self.model is None:
            return None
        import sentencepiece

        processor = sentencepiece.SentencePieceProcessor(model_proto=self.model)
        # Some conversions list pieces of their own: ids must mean the same in both.
        same = processor.get_piece_size() >= len(self.vocabulary) and all(
            processor.id_to_piece(i) == piece for i, piece in enumerate(self.vocabulary.pieces)
        )
        return processor if same else None

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {piece: i for i, piece in enumerate(self.vocabulary.pieces)}

    @property
    def _unknown(self) -> int:
        return self._ids.get(UNKNOWN, -1)

    def _longest(self, text: str) -> list[int]:
        rest, labels = SPACE + text.replace(" ", SPACE), []
        longest = max(map(len, self.vocabulary.pieces), default=0)
        while rest:
            size = next((n for n in range(min(longest, len(rest)), 0, -1) if rest[:n] in self._ids), 0)
            labels += [self._ids[rest[:size]]] if size else self._bytes(rest[0])
            rest = rest[size or 1 :]
        return [label for label in labels if label >= 0]

    def _bytes(self, character: str) -> Sequence[int]:
        pieces = [f"<0x{byte:02X}>" for byte in character.encode("utf-8")]
        return [self._ids[piece] for piece in pieces] if all(p in self._ids for p in pieces) else [self._unknown]
