"""What the decoder may not write next (openai-whisper's logit filters).

The rules say which spans of ids are forbidden behind a text; they are applied to logits on the host, or handed to the
device (asr_core/decoding/device_entries.py). What is forbidden becomes minus infinity, exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from asr_core.whisper.tokenizer import LAST_TIMESTAMP, SpecialTokens

#: Ids [low, high).
Span = tuple[int, int]


@dataclass(frozen=True)
class Filters:
    """What may not come next.

    Args:
        special: ids of the special tokens.
        suppressed: tokens that are never written.
        blank: tokens with which no text may begin: a lone space, and the end.
        timestamps: whether timestamps begin and end each segment, and do not go back; else nothing is said of them.
        first_at_most: steps of 0.02 s up to which the first timestamp may lie; None = anywhere.
    """

    special: SpecialTokens
    suppressed: tuple[int, ...] = ()
    blank: tuple[int, ...] = ()
    timestamps: bool = True
    first_at_most: int | None = 50

    @property
    def first_timestamp(self) -> int | None:
        """From this id on are tokens of which one must come where together they are more probable than any other."""
        return self.special.first_timestamp if self.timestamps else None

    def spans(self, sequence: Sequence[int]) -> list[Span]:
        """Ids that may not follow a text, besides those that are always suppressed."""
        begins = [] if sequence else [(token, token + 1) for token in self.blank]
        return begins + self._of_timestamps(sequence) if self.timestamps else begins

    def apply(self, logits: np.ndarray, sequences: Sequence[Sequence[int]]) -> None:
        """Forbid in logits (rows, V), in place, what may not follow the text of each row."""
        logits[:, list(self.suppressed)] = -np.inf
        for row, sequence in zip(logits, sequences, strict=True):
            for low, high in self.spans(sequence):
                row[low:high] = -np.inf
            if self.timestamps:
                times, text = row[self.special.first_timestamp :], row[: self.special.first_timestamp]
                best = times.max()
                if best > -np.inf and best + np.log(np.exp(times - best).sum()) > text.max():
                    text[:] = -np.inf

    def _of_timestamps(self, sequence: Sequence[int]) -> list[Span]:
        special, first = self.special, self.special.first_timestamp
        behind = first + LAST_TIMESTAMP + 1
        spans = [(special.no_timestamps, special.no_timestamps + 1)]
        if not sequence:
            spans.append((0, first))
            return spans if self.first_at_most is None else [*spans, (first + self.first_at_most + 1, behind)]
        ends = sequence[-1] >= first
        before = len(sequence) < 2 or sequence[-2] >= first
        if ends:
            spans.append((first, behind) if before else (0, special.end))
        earlier = [token for token in sequence if token >= first]
        if earlier:
            # One that closes a segment may be where the segment before it ended.
            spans.append((first, earlier[-1] if ends and not before else earlier[-1] + 1))
        return spans
