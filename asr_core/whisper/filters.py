"""What the decoder may not write next (openai-whisper's logit filters).

A filter changes logits (rows, vocabulary) in place: what is forbidden becomes minus infinity, exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from asr_core.whisper.tokenizer import SpecialTokens

#: Logits and, of each row, the tokens after the prompt.
Filter = Callable[[np.ndarray, Sequence[Sequence[int]]], None]


def suppress_blank(blank: Sequence[int]) -> Filter:
    """A text does not begin with a space, and is not empty."""
    ids = list(blank)

    def apply(logits: np.ndarray, sequences: Sequence[Sequence[int]]) -> None:
        for row, sequence in zip(logits, sequences, strict=True):
            if not sequence:
                row[ids] = -np.inf

    return apply


def suppress_tokens(suppressed: Sequence[int]) -> Filter:
    """Tokens that are never written."""
    ids = list(suppressed)

    def apply(logits: np.ndarray, sequences: Sequence[Sequence[int]]) -> None:
        logits[:, ids] = -np.inf

    return apply


def timestamp_rules(special: SpecialTokens, first_at_most: int | None = 50) -> Filter:
    """Timestamps begin and end each segment, and do not go back.

    Args:
        first_at_most: steps of 0.02 s up to which the first one may lie; None = anywhere.
    """
    first = special.first_timestamp

    def apply(logits: np.ndarray, sequences: Sequence[Sequence[int]]) -> None:
        logits[:, special.no_timestamps] = -np.inf
        for row, sequence in zip(logits, sequences, strict=True):
            _pair(row, sequence)
            if not sequence:
                row[:first] = -np.inf
                if first_at_most is not None:
                    row[first + first_at_most + 1 :] = -np.inf
            # Where timestamps together are more probable than any other token, one of them must come.
            times, text = row[first:], row[:first]
            best = times.max()
            if best > -np.inf and best + np.log(np.exp(times - best).sum()) > text.max():
                text[:] = -np.inf

    def _pair(row: np.ndarray, sequence: Sequence[int]) -> None:
        ends = bool(sequence) and sequence[-1] >= first
        before = len(sequence) < 2 or sequence[-2] >= first
        if ends and before:
            row[first:] = -np.inf
        elif ends:
            row[: special.end] = -np.inf
        earlier = [token for token in sequence if token >= first]
        if earlier:
            # One that closes a segment may be where the segment before it ended.
            last = earlier[-1] if ends and not before else earlier[-1] + 1
            row[first:last] = -np.inf

    return apply
