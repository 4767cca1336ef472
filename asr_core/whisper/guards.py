"""Texts that a decoder fell into repeating: what people know as Whisper's stutter."""

from __future__ import annotations

from collections.abc import Callable, Sequence

#: Times that one word may come in a row, and that a group of words may.
ONE, SEVERAL = 8, 3
#: Words in the longest group, and words that its repetitions cover at least.
LONGEST, COVERED = 8, 12


def is_repeating(words: Sequence[str]) -> bool:
    """Whether a text ends in a word or a group of words that comes again and again."""
    plain = ["".join(c for c in word.casefold() if c.isalnum()) for word in words]
    return any(_times(plain, size) * size >= _enough(size) for size in range(1, LONGEST + 1))


def without_repeats(tokens: Sequence[int], words: Callable[[Sequence[int]], Sequence[str]]) -> int:
    """How many tokens to keep: all, or those before the text began to repeat itself.

    Args:
        words: the last words of a text that ends with some of the tokens.
    """
    return next((count for count in range(1, len(tokens) + 1) if is_repeating(words(tokens[:count]))), len(tokens))


def _enough(size: int) -> int:
    return ONE if size == 1 else max(COVERED, SEVERAL * size)


def _times(words: Sequence[str], size: int) -> int:
    """How often the last `size` words stand at the end."""
    tail, times = list(words[-size:]), 1
    while len(words) >= (times + 1) * size and list(words[-(times + 1) * size : -times * size]) == tail:
        times += 1
    return times
