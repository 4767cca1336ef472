"""When each token was said: the cheapest path through the attention of the alignment heads.

The known text is read once more. The row of an input token predicts the next one, so where the path enters a row is
where that next token begins. The rules are those of openai-whisper's `timing.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from asr_core.alignment import Hypothesis
from asr_core.decoding.autoregressive import Candidate
from asr_core.decoding.entries import log_softmax
from asr_core.decoding.options import Confidence
from asr_core.models.whisper_config import Wanted
from asr_core.whisper.search import Decoder
from asr_core.whisper.sureness import sureness
from asr_core.whisper.tokenizer import WhisperTokenizer

if TYPE_CHECKING:
    from asr_core.models.whisper_cache import DecoderCache

#: Frames of the median filter.
FILTER = 7


@dataclass(frozen=True)
class Timing:
    """Of each token of a text: first frame, frame behind the last, how sure the model was, the log-prob, and the frame
    that was looked at most when it was written.

    Probabilities are those of the text's tokens alone, without timestamps, given the text before.
    """

    starts: np.ndarray
    ends: np.ndarray
    confidences: np.ndarray
    log_probs: np.ndarray
    attended: np.ndarray


def align(
    decoder: Decoder,
    cache: DecoderCache,
    text: Sequence[int],
    tokenizer: WhisperTokenizer,
    start_tokens: Sequence[int],
    frames: int,
    confidence: Confidence,
) -> Timing:
    """Times of a known text.

    Args:
        cache: the decoder's, of one audio, before its first token.
        text: tokens, none of them special.
        start_tokens: what every text of this language begins with.
        frames: encoder frames of the audio proper, without the silence behind it.
    """
    special = tokenizer.vocabulary.special
    if not len(text):
        none = np.zeros(0)
        return Timing(none.astype(int), none.astype(int), none, none, none.astype(int))
    tokens = [*start_tokens, special.no_timestamps, *text, special.end]
    first = len(start_tokens)
    wanted = Wanted(range(first, first + len(text)), decoder.model.config.alignment_heads)
    logits, _, scores = decoder.step(np.array([tokens]), cache, wanted=wanted)
    log_probs = log_softmax(logits[0, :, : special.end])
    chosen = log_probs[np.arange(len(text)), np.asarray(text)]
    entries, attended = np.zeros(len(text) + 1, int), np.zeros(len(text), int)
    if frames > 0:
        path = attention_path(scores[0], frames)[first:-1]
        entries, attended = entered(-path), path[:-1].argmax(-1)
    sure = sureness(log_probs, text, tokenizer.vocabulary, confidence)
    return Timing(entries[:-1], entries[1:], sure, chosen, attended)


def timed(
    decoder: Decoder,
    cache: DecoderCache,
    candidate: Candidate,
    tokenizer: WhisperTokenizer,
    start_tokens: Sequence[int],
    frames: int,
    confidence: Confidence,
) -> Hypothesis:
    """A candidate with times, its timestamps among its tokens: at the time they say, without length, and certain.

    Arguments as for `align`.
    """
    special, tokens = tokenizer.vocabulary.special, candidate.tokens
    text = [i for i, token in enumerate(tokens) if token < special.end]
    timing = align(decoder, cache, [tokens[i] for i in text], tokenizer, start_tokens, frames, confidence)
    starts = np.array([min(max(0, token - special.first_timestamp), frames) for token in tokens], int)
    ends, sure, log_probs = starts.copy(), np.ones(len(tokens)), np.full(len(tokens), np.nan)
    starts[text], ends[text], sure[text], log_probs[text] = (
        *(timing.starts, timing.ends),
        *(timing.confidences, timing.log_probs),
    )
    return Hypothesis(
        tokens,
        tuple(map(int, starts)),
        tuple(map(int, ends)),
        candidate.sum_log_prob,
        tuple(map(float, sure)),
        tuple(map(float, log_probs)),
    )


def attention_path(scores: np.ndarray, frames: int) -> np.ndarray:
    """(heads, tokens, all frames) before the softmax to (tokens, frames): how much each token looks at each frame.

    Each head is normalised over the tokens, so that what all tokens look at counts for nothing.
    """
    weights = scores[..., :frames]
    weights = np.exp(weights - weights.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    deviation = weights.std(-2, keepdims=True)
    weights = (weights - weights.mean(-2, keepdims=True)) / np.where(deviation > 0, deviation, 1)
    return median_filter(weights).mean(0)


def median_filter(values: np.ndarray) -> np.ndarray:
    """Median of each seven neighbours of (..., frames), mirrored at the ends; few frames stay as they are."""
    half = FILTER // 2
    if values.shape[-1] <= half:
        return values
    padded = np.pad(values, [(0, 0)] * (values.ndim - 1) + [(half, half)], mode="reflect")
    p = [padded[..., i : i + values.shape[-1]] for i in range(FILTER)]
    # The fewest comparisons that find the median of seven (N. Devillard, "Fast median search", 1998).
    for a, b in (
        (0, 5),
        (0, 3),
        (1, 6),
        (2, 4),
        (0, 1),
        (3, 5),
        (2, 6),
        (2, 3),
        (3, 6),
        (4, 5),
        (1, 4),
        (1, 3),
        (3, 4),
    ):
        p[a], p[b] = np.minimum(p[a], p[b]), np.maximum(p[a], p[b])
    return p[half]


def entered(cost: np.ndarray) -> np.ndarray:
    """(rows,) the column in which the cheapest monotone path enters each row of (rows, columns).

    Dynamic time warping by antidiagonals. A diagonal step is taken only where it is strictly the cheapest, then a step
    down on the same terms, else a step to the right (openai-whisper's rule, and its 32-bit sums).
    """
    rows, columns = cost.shape
    # The sums of two diagonals, by row; the corner before the first cell is free.
    before, last = np.full(rows + 1, np.inf, np.float32), np.full(rows + 1, np.inf, np.float32)
    before[0] = 0.0
    steps = np.full((rows + columns + 1, rows + 1), 2, np.int8)
    for d in range(2, rows + columns + 1):
        i = np.arange(max(1, d - columns), min(rows, d - 1) + 1)
        diagonal, down, right = before[i - 1], last[i - 1], last[i]
        step = np.where((diagonal < down) & (diagonal < right), 0, np.where((down < diagonal) & (down < right), 1, 2))
        now = np.full(rows + 1, np.inf, np.float32)
        now[i] = cost[i - 1, d - i - 1].astype(np.float64) + np.choose(step, (diagonal, down, right))
        steps[d, i] = step
        before, last = last, now
    entries = np.zeros(rows, int)
    i, j = rows, columns
    while i > 0:
        entries[i - 1] = j - 1
        step = steps[i + j, i]
        i, j = i - (step != 2), j - (step != 1)
    return entries
