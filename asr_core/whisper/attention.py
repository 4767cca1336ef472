"""A look inside an encoder-decoder: where in the audio each token of a transcript looked."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from asr_core.alignment import Hypothesis, Transcript
from asr_core.errors import DecodingError
from asr_core.inspection import between, path_of
from asr_core.models.whisper_config import Wanted
from asr_core.whisper import features as front_end
from asr_core.whisper.search import probabilities
from asr_core.whisper.settings import options_of
from asr_core.whisper.stages import WhisperStages


@dataclass(frozen=True)
class Attention:
    """Cross-attention of consecutive frames, the mean of the alignment heads.

    Args:
        first: number of the first frame, counted from the start of the recording.
        frame_seconds: seconds of a frame.
        token_ids: the transcript's tokens that look into the span or were said in it, in order.
        start_frames: (tokens,) frame at which each was said, counted from the start of the recording.
        weights: (tokens, frames) share of its attention that the prediction of a token gives to a frame of the audio.
    """

    first: int
    frame_seconds: float
    token_ids: tuple[int, ...]
    start_frames: tuple[int, ...]
    weights: np.ndarray

    @property
    def times(self) -> np.ndarray:
        """(frames,) seconds at which each frame starts."""
        return (self.first + np.arange(self.weights.shape[1])) * self.frame_seconds


def look(stages: WhisperStages, samples: np.ndarray, transcript: Transcript, start: float, end: float) -> Attention:
    """The attention of a span; the work behind `Recognizer.inspect` of a Whisper model.

    The windows that the transcript was heard in are encoded again, and its own tokens read.

    Raises:
        DecodingError: the span lies outside the recording.
    """
    step, hop = stages.config.frame_seconds, stages.frame_samples
    total = len(samples) // hop
    first, last = int(start / step), min(math.ceil(end / step), total)
    if last <= first:
        duration = len(samples) / stages.info.sample_rate
        raise DecodingError(f"The span from {start} to {end} s lies outside the recording of {duration:.3f} s.")
    path = path_of(transcript, step)
    mel = front_end.log_mel(samples, stages.config.features)
    ids: list[int] = []
    starts: list[int] = []
    rows: list[np.ndarray] = []
    for begin, behind in _windows(transcript, total, step):
        if behind <= first or begin >= last:
            continue
        own = between(path, begin, behind)
        reach = min(begin + front_end.FRAMES // 2, total)
        weights = _attention(stages, front_end.window(mel, 2 * begin), own, reach - begin, transcript)
        a, b = max(first, begin), min(last, reach)
        for token, at, row in zip(own.token_ids, own.start_frames, weights, strict=True):
            full = np.zeros(last - first, np.float32)
            full[a - first : b - first] = row[a - begin : b - begin]
            if first <= at + begin < last or full.max(initial=0) > 0.05:
                ids.append(token)
                starts.append(at + begin)
                rows.append(full)
    weights = np.stack(rows) if rows else np.zeros((0, last - first), np.float32)
    return Attention(first, step, tuple(ids), tuple(starts), weights)


def _windows(transcript: Transcript, total: int, step: float) -> list[tuple[int, int]]:
    """First frame and frame behind the last of the part that each window gave; none is longer than a window."""
    edges = [0, *(round(cut / step) for cut in transcript.cuts), total]
    length = front_end.FRAMES // 2
    return [
        (begin, min(begin + length, behind))
        for a, behind in pairwise(edges)
        for begin in range(a, max(behind, a + 1), length)
    ]


def _attention(
    stages: WhisperStages, window: np.ndarray, own: Hypothesis, frames: int, transcript: Transcript
) -> np.ndarray:
    """(tokens, frames) of one window; the row of the token before predicts a token."""
    if not own.token_ids:
        return np.zeros((0, frames), np.float32)
    options = options_of(transcript.decoding)
    # A transcript from a file may be in any language, or name it in another way.
    spoken = options.language or transcript.language
    language = spoken if spoken in stages.info.languages else "en"
    start = stages.start_tokens(language, options.task)
    special = stages.vocabulary.special
    room = stages.decoder.room - len(start) - 1
    tokens = [*start, special.no_timestamps, *own.token_ids[:room]]
    encoded, _ = stages.encode(window[None], np.zeros(1, np.int64))
    wanted = Wanted(heads=stages.config.alignment_heads)
    _, _, scores = stages.decoder.step(np.array([tokens]), stages.decoder.begin(encoded), wanted=wanted)
    found = probabilities(scores[0])[:, len(start) : -1, :frames].mean(0)
    return np.pad(found, ((0, len(own.token_ids) - len(found)), (0, 0)))
