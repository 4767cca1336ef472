"""Words of a window with believable lengths (openai-whisper's `add_word_timestamps`).

The attention of a long silence belongs to no word. So words beside the end of a sentence, and the first after a
silence, are cut to twice the usual length.
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from asr_core.whisper.tokenizer import WhisperVocabulary

SENTENCE_ENDS = frozenset(".。!！?？")
OPENING = frozenset("\"'“¿([{-")
CLOSING = frozenset("\"'.。,，!！?？:：”)]}、")
#: Seconds of a usual word, at most.
USUAL = 0.7
#: Seconds by which a word and its segment may differ.
APART = 0.5


@dataclass
class Span:
    """Tokens [first, last) that form a word, and when it is said, in seconds."""

    first: int
    last: int
    text: str
    start: float
    end: float

    @property
    def length(self) -> float:
        return self.end - self.start


@dataclass(frozen=True)
class Segment:
    """What stands between two timestamps: seconds from the beginning of the recording, and how many tokens of text."""

    start: float
    end: float
    tokens: int


def believable(
    tokens: Sequence[int],
    starts: np.ndarray,
    ends: np.ndarray,
    segments: Sequence[Segment],
    last_speech: float,
    vocabulary: WhisperVocabulary,
) -> tuple[np.ndarray, np.ndarray]:
    """Times of a window's tokens, corrected.

    Args:
        tokens: of text, in all `segments` together.
        starts, ends: (tokens,) seconds from the beginning of the recording.
        last_speech: seconds at which the segment before these ended.
    """
    spans = [Span(a, b, text, starts[a], ends[b - 1]) for a, b, text in words_of(tokens, vocabulary)]
    lengths = [span.length for span in spans if span.length > 0]
    if not lengths:
        return starts, ends
    usual = min(USUAL, float(np.median(lengths)))
    _shorten_at_sentences(spans, 2 * usual)
    words = _merged(spans)
    at = 0
    for segment in segments:
        own = [word for word in words if at <= word.first < at + segment.tokens]
        at += segment.tokens
        if own:
            last_speech = _fit(own, segment, last_speech, usual)
    starts, ends = starts.copy(), ends.copy()
    for word in words:
        inside = slice(word.first, word.last)
        starts[inside] = np.clip(starts[inside], word.start, word.end)
        ends[inside] = np.clip(ends[inside], word.start, word.end)
        starts[word.first], ends[word.last - 1] = word.start, word.end
    starts = np.maximum.accumulate(starts)
    return starts, np.maximum(starts, ends)


def words_of(tokens: Sequence[int], vocabulary: WhisperVocabulary) -> list[tuple[int, int, str]]:
    """First token, token behind the last, and text of each word; punctuation stands alone."""
    found: list[tuple[int, int, str]] = []
    texts = vocabulary.token_texts(tokens)
    for i, text in enumerate(texts):
        begins = text.startswith(" ") or (bool(text.strip()) and text.strip() in string.punctuation)
        if found and not begins:
            a, _, before = found.pop()
            found.append((a, i + 1, before + text))
        else:
            found.append((i, i + 1, text))
    return found


def _shorten_at_sentences(spans: Sequence[Span], longest: float) -> None:
    for before, span in pairwise(spans):
        if span.length > longest:
            if span.text in SENTENCE_ENDS:
                span.end = span.start + longest
            elif before.text in SENTENCE_ENDS:
                span.start = span.end - longest


def _merged(spans: Sequence[Span]) -> list[Span]:
    """Punctuation goes with its word, which keeps its own times."""
    words: list[Span] = []
    for span in spans:
        if words and span.text in CLOSING:
            words[-1].last, words[-1].text = span.last, words[-1].text + span.text
        elif words and words[-1].text.startswith(" ") and words[-1].text.strip() in OPENING:
            opening = words.pop()
            words.append(Span(opening.first, span.last, opening.text + span.text, span.start, span.end))
        else:
            words.append(Span(span.first, span.last, span.text, span.start, span.end))
    return words


def _fit(words: Sequence[Span], segment: Segment, last_speech: float, usual: float) -> float:
    """Bring the first and last word in line with their segment; returns where that ends."""
    first, last, longest = words[0], words[-1], 2 * usual
    two = words[1].end - first.start if len(words) > 1 else 0.0
    if first.end - last_speech > 4 * usual and (first.length > longest or two > 2 * longest):
        if len(words) > 1 and words[1].length > longest:
            first.end = words[1].start = max(words[1].end / 2, words[1].end - longest)
        first.start = max(0.0, first.end - longest)
    if segment.start < first.end and segment.start - APART > first.start:
        first.start = max(0.0, min(first.end - usual, segment.start))
    if segment.end > last.start and segment.end + APART < last.end:
        last.end = max(last.start + usual, segment.end)
        return segment.end
    return last.end
