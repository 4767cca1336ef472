"""What a recogniser heard, and when: the values that every other part of the project speaks in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from asr_core import checks
from asr_core.errors import DecodingError


@dataclass(frozen=True)
class Token:
    """One emitted entry of the vocabulary.

    Args:
        id: index in the vocabulary.
        text: its text, with its leading space where it starts a word; a run of byte pieces sits on its first token.
        start, end: seconds from the beginning of the audio.
        confidence: 0 (a guess) to 1 (certain).
        log_prob: natural log of the probability it was chosen with; NaN where a source does not know it.
    """

    id: int
    text: str
    start: float
    end: float
    confidence: float
    log_prob: float


@dataclass(frozen=True)
class Word:
    """Tokens that are written without a space between them; `text` has none at its ends."""

    text: str
    start: float
    end: float
    confidence: float
    tokens: tuple[Token, ...]


@dataclass(frozen=True)
class Sentence:
    """Words up to a separator, a silence or a limit of length (`Segmentation`)."""

    text: str
    start: float
    end: float
    confidence: float
    words: tuple[Word, ...]


@dataclass(frozen=True)
class Hypothesis:
    """One label sequence of a decoder, in encoder frames.

    Args:
        token_ids: indices in the vocabulary, without blanks.
        start_frames: frame of emission of each token.
        end_frames: first frame after each token.
        score: the decoder's search score, in natural log.
        confidences: 0..1 for each token.
        log_probs: natural-log probability of each token at its emission; empty where unknown.
    """

    token_ids: tuple[int, ...]
    start_frames: tuple[int, ...]
    end_frames: tuple[int, ...]
    score: float
    confidences: tuple[float, ...]
    log_probs: tuple[float, ...] = ()


def check_hypothesis(value: Any, vocabulary: int) -> None:
    """Raise DecodingError where it is no hypothesis, or not one of a vocabulary's tokens."""
    checks.instance("A hypothesis", value, Hypothesis)
    frames, sure = (value.token_ids, value.start_frames, value.end_frames), (value.confidences, value.log_probs)
    is_listed = all(isinstance(column, tuple | list) for column in (*frames, *sure))
    if not is_listed or {len(column) for column in (*frames, value.confidences)} != {len(value.token_ids)}:
        raise DecodingError("A hypothesis has frames and a confidence for each of its tokens, in tuples.")
    if not all(isinstance(i, int | np.integer) and abs(i) < checks.LARGEST for column in frames for i in column):
        raise DecodingError("The tokens and frames of a hypothesis are whole numbers.")
    if not all(map(checks.is_number, (value.score, *sure[0], *sure[1]))) or len(sure[1]) not in (0, len(sure[0])):
        raise DecodingError("The score, confidences and log-probs of a hypothesis are numbers, none or one a token.")
    check_ids(value.token_ids, vocabulary)


def check_ids(ids: Sequence[int], vocabulary: int) -> None:
    """Raise DecodingError where one is no token of the vocabulary."""
    foreign = [i for i in ids if not isinstance(i, int | np.integer) or not 0 <= i < vocabulary]
    if foreign:
        given = checks.shown(foreign[0])
        raise DecodingError(f"This model has tokens from 0 to {vocabulary - 1}; {given} is one of another model.")


def shifted(hypothesis: Hypothesis, frames: int) -> Hypothesis:
    """The same tokens, so many frames later."""
    return replace(
        hypothesis,
        start_frames=tuple(frame + frames for frame in hypothesis.start_frames),
        end_frames=tuple(frame + frames for frame in hypothesis.end_frames),
    )


def concatenated(first: Hypothesis, second: Hypothesis) -> Hypothesis:
    """One after the other, on the same clock; the scores add up."""
    return Hypothesis(
        first.token_ids + second.token_ids,
        first.start_frames + second.start_frames,
        first.end_frames + second.end_frames,
        first.score + second.score,
        first.confidences + second.confidences,
        first.log_probs + second.log_probs,
    )


def part(hypothesis: Hypothesis, first: int, last: int) -> Hypothesis:
    """The tokens [first, last) of one whose log-probs are known; their score is the sum of them."""
    cut = slice(first, last)
    return Hypothesis(
        hypothesis.token_ids[cut],
        hypothesis.start_frames[cut],
        hypothesis.end_frames[cut],
        float(sum(hypothesis.log_probs[cut])),
        hypothesis.confidences[cut],
        hypothesis.log_probs[cut],
    )


@dataclass(frozen=True)
class Transcript:
    """What was heard in one recording.

    Args:
        text: the whole text.
        sentences, words, tokens: the same, at three grains; each in order of time.
        alternatives: the N-best after the best one, as transcripts of their own.
        score: the search score of the hypothesis, natural log.
        duration: seconds of audio.
        language: code of the language that was spoken, where it is known; a translation is English.
        model: where the model came from (`ModelInfo.source`).
        decoding: the settings it was decoded with.
        warnings: sentences for a person, for example that a file ended early.
        cuts: seconds at which long audio was cut.
        timings: seconds of work by stage ("features", "encoder", "decoder", "total").
        hypothesis: what the decoder said, in encoder frames; None where the transcript came from a file.
    """

    text: str = ""
    sentences: tuple[Sentence, ...] = ()
    words: tuple[Word, ...] = ()
    tokens: tuple[Token, ...] = ()
    alternatives: tuple[Transcript, ...] = ()
    score: float = 0.0
    duration: float = 0.0
    language: str | None = None
    model: str | None = None
    decoding: Any = None
    warnings: tuple[str, ...] = ()
    cuts: tuple[float, ...] = ()
    timings: dict[str, float] = field(default_factory=dict, compare=False)
    hypothesis: Hypothesis | None = field(default=None, compare=False, repr=False)
