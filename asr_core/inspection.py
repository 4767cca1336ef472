"""A look inside: what a head thought at each frame, along the path of a transcript that is shown."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np

from asr_core import checks
from asr_core.alignment import Hypothesis, Transcript, check_ids
from asr_core.errors import DecodingError
from asr_core.frame_scores import FrameScores, cut, joined
from asr_core.longform import Chunking, Window, windows
from asr_core.stages import Stages

#: Id of a token that a person wrote, or that a file tells only the text of.
UNKNOWN = -1


def look(
    stages: Stages, samples: np.ndarray, transcript: Transcript, head: str, start: float, end: float
) -> FrameScores:
    """The scores of a span; the work behind `Recognizer.inspect`.

    Args:
        samples: (samples,) of the whole recording at the model's rate.
    Raises:
        DecodingError: the span lies outside the recording.
    """
    grid, rate = stages.frame_samples, stages.info.sample_rate
    path = path_of(transcript, stages.config.frame_seconds)
    parts = []
    for window in windows_of(samples, transcript, rate, grid):
        offset = window.start // grid
        first, last = max(window.first, int(start * rate)) // grid, min(window.last, math.ceil(end * rate)) / grid
        if last <= first:
            continue
        encoded, lengths = stages.encode_audio([samples[window.start : window.end]])
        within = between(path, offset, math.ceil(window.end / grid))
        scores = stages.frame_scores(encoded[0, : lengths[0]], within, head)
        parts.append(cut(scores, first - offset, math.ceil(last) - offset, offset))
    if not parts:
        duration = len(samples) / rate
        raise DecodingError(f"The span from {start} to {end} s lies outside the recording of {duration:.3f} s.")
    return joined(parts)


def check(transcript: Transcript, start: float, end: float, vocabulary: int) -> None:
    """Raise DecodingError where these are no transcript of a vocabulary, or no span of time."""
    checks.instance("transcript", transcript, Transcript)
    is_span = checks.is_number(start) and checks.is_number(end) and 0 <= start < end < checks.LARGEST
    if not is_span:
        given = f"{checks.shown(start)} to {checks.shown(end)}"
        raise DecodingError(f"A span to inspect starts at 0 or later and ends after its start, not {given}.")
    check_ids([token.id for token in transcript.tokens if token.id != UNKNOWN], vocabulary)
    times = [time for token in transcript.tokens for time in (token.start, token.end)]
    if not all(checks.is_number(time) and abs(time) < checks.LARGEST for time in (*times, *transcript.cuts)):
        raise DecodingError("The transcript has tokens or cuts without a time; align its text with the audio first.")


def windows_of(samples: np.ndarray, transcript: Transcript, sample_rate: int, grid: int) -> list[Window]:
    """The windows a transcript was heard in.

    They are known exactly where it was cut by the usual settings; else each piece between two of its cuts is one.
    """
    usual = windows(samples, sample_rate, Chunking(), grid)
    cuts = tuple(window.first / sample_rate for window in usual[1:])
    if cuts == transcript.cuts:
        return usual
    edges = [0, *(round(cut * sample_rate) // grid * grid for cut in transcript.cuts), len(samples)]
    return [
        Window(*(a + at for at in window))
        for a, b in pairwise(edges)
        if b > a
        # A piece may be longer than anything was heard in: the cuts of a transcript from a file say little.
        for window in windows(samples[a:b], sample_rate, Chunking(), grid)
    ]


def path_of(transcript: Transcript, frame_seconds: float) -> Hypothesis:
    """A transcript in encoder frames: as the decoder gave it, or by its tokens' times where it came from a file."""
    if transcript.hypothesis is not None:
        return transcript.hypothesis
    tokens = transcript.tokens
    starts = [round(token.start / frame_seconds) for token in tokens]
    ends = [max(a, round(token.end / frame_seconds)) for a, token in zip(starts, tokens, strict=True)]
    ids, sure = tuple(token.id for token in tokens), tuple(token.confidence for token in tokens)
    return Hypothesis(ids, tuple(starts), tuple(ends), transcript.score, sure)


def between(hypothesis: Hypothesis, first: int, last: int) -> Hypothesis:
    """The tokens that start in the frames [first, last), with frames counted from `first`."""
    kept = [i for i, frame in enumerate(hypothesis.start_frames) if first <= frame < last]
    return replace(
        hypothesis,
        token_ids=tuple(hypothesis.token_ids[i] for i in kept),
        start_frames=tuple(hypothesis.start_frames[i] - first for i in kept),
        end_frames=tuple(hypothesis.end_frames[i] - first for i in kept),
        confidences=tuple(hypothesis.confidences[i] for i in kept),
        log_probs=tuple(hypothesis.log_probs[i] for i in kept) if hypothesis.log_probs else (),
    )
