"""A look inside: what a head thought at each frame, along the path of a transcript that is shown."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from asr_core.alignment import Hypothesis, Transcript
from asr_core.errors import DecodingError
from asr_core.longform import Chunking, Window, windows
from asr_core.models.host import log_softmax
from asr_core.models.transducer import Transducer

if TYPE_CHECKING:
    from asr_core.recognizer import Recognizer

#: Entries of the vocabulary that are listed for a frame.
TOP = 5
#: Stands for blank until the vocabulary is known.
BLANK = -2


@dataclass(frozen=True)
class FrameScores:
    """Scores of consecutive encoder frames along a transcript's own path.

    On a frame where a transducer takes several steps, the first of them is shown. A frame that TDT jumps over has NaN
    for every probability and -1 for every id and duration.

    Args:
        first: number of the first frame, counted from the start of the recording.
        frame_seconds: seconds of a frame.
        visited: (frames,) bool, False where the path jumped over the frame.
        blank: (frames,) probability of blank.
        entropy: (frames,) of labels and blank together, in nats.
        top_ids, top_probs: (frames, 5) the most probable entries, best first; the id after the vocabulary is blank.
        taken: (frames,) id of the entry the path took.
        duration: (frames,) frames the path advanced by; TDT only, elsewhere -1.
        durations: the durations a TDT head chooses from, in frames; empty elsewhere.
        duration_probs: (frames, len(durations)).
        heard: ids of the transcript's tokens in the span, each once, in order of time.
        heard_probs: (frames, len(heard)) probability of each.
    """

    first: int
    frame_seconds: float
    visited: np.ndarray
    blank: np.ndarray
    entropy: np.ndarray
    top_ids: np.ndarray
    top_probs: np.ndarray
    taken: np.ndarray
    duration: np.ndarray
    durations: tuple[int, ...]
    duration_probs: np.ndarray
    heard: tuple[int, ...]
    heard_probs: np.ndarray

    def __len__(self) -> int:
        return len(self.visited)

    @property
    def times(self) -> np.ndarray:
        """(frames,) seconds at which each frame starts."""
        return (self.first + np.arange(len(self))) * self.frame_seconds


def look(
    recognizer: Recognizer, samples: np.ndarray, transcript: Transcript, head: str, start: float, end: float
) -> FrameScores:
    """The scores of a span; the work behind `Recognizer.inspect`.

    Args:
        samples: (samples,) of the whole recording at the model's rate.
    Raises:
        DecodingError: the span is not one, or lies outside the recording.
    """
    if not (math.isfinite(start) and math.isfinite(end) and 0 <= start < end):
        raise DecodingError(f"A span to inspect starts at 0 or later and ends after its start, not {start} to {end}.")
    grid, rate = recognizer.frame_samples, recognizer.info.sample_rate
    path = path_of(transcript, recognizer.config.frame_seconds)
    parts = []
    for window in windows_of(samples, transcript, rate, grid):
        offset = window.start // grid
        first, last = max(window.first, int(start * rate)) // grid, min(window.last, math.ceil(end * rate)) / grid
        if last <= first:
            continue
        encoded, lengths = recognizer.encode_audio([samples[window.start : window.end]])
        within = between(path, offset, math.ceil(window.end / grid))
        scores = recognizer.frame_scores(encoded[0, : lengths[0]], within, head)
        parts.append(cut(scores, first - offset, math.ceil(last) - offset, offset))
    if not parts:
        duration = len(samples) / rate
        raise DecodingError(f"The span from {start} to {end} s lies outside the recording of {duration:.3f} s.")
    return joined(parts)


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


def ctc(log_probs: np.ndarray, path: Hypothesis, frame_seconds: float) -> FrameScores:
    """Scores of a CTC head: every frame has its own.

    Args:
        log_probs: (frames, V + 1) natural log.
        path: frames counted from the first of `log_probs`.
    """
    frames, blank = len(log_probs), log_probs.shape[1] - 1
    taken = np.full(frames, blank)
    for token, start, end in zip(path.token_ids, path.start_frames, path.end_frames, strict=True):
        taken[start:end] = token
    return _scores(log_probs, np.ones(frames, bool), taken, _distinct(path.token_ids), frame_seconds)


def transducer(projected: np.ndarray, path: Hypothesis, head: Transducer, frame_seconds: float) -> FrameScores:
    """Scores of an RNN-T or TDT head, each frame with the prediction of the labels before it.

    Where TDT emits nothing it advances by the most probable duration, though never past the path's next token.

    Args:
        projected: (frames, joint width) of the encoder.
        path: frames counted from the first of `projected`.
    """
    frames = len(projected)
    starts = np.asarray(path.start_frames, np.int64)
    # The labels emitted before frame t is reached: those of earlier frames.
    known = np.searchsorted(starts, np.arange(frames), side="left")
    predictions = _predictions(path.token_ids, head)
    logits = head.joint.logits(projected, predictions[known])
    entries = head.blank + 1
    log_probs = log_softmax(logits[:, :entries])
    if not head.durations:
        taken = np.full(frames, head.blank)
        firsts = np.flatnonzero(np.diff(starts, prepend=-1))
        taken[starts[firsts]] = np.asarray(path.token_ids, np.int64)[firsts]
        return _scores(log_probs, np.ones(frames, bool), taken, _distinct(path.token_ids), frame_seconds)
    # Behind a last label of duration 0 the path goes on by a blank, with that label known.
    still = np.unique(starts[np.asarray(path.end_frames, np.int64) == starts])
    by_duration = logits[:, entries:].copy()
    after = np.searchsorted(starts, still, side="right")
    by_duration[still] = head.joint.logits(projected[still], predictions[after])[:, entries:]
    visited, taken, advanced = _walk(path, np.asarray(head.durations)[by_duration.argmax(-1)])
    scores = _scores(log_probs, visited, taken, _distinct(path.token_ids), frame_seconds)
    probabilities = np.exp(log_softmax(logits[:, entries:])).astype(np.float32)
    probabilities[~visited] = np.nan
    return replace(scores, duration=advanced, durations=head.durations, duration_probs=probabilities)


def joined(parts: Sequence[FrameScores]) -> FrameScores:
    """Neighbouring spans as one; ids heard in several of them get one column."""
    first = parts[0]
    heard = _distinct([token for part in parts for token in part.heard])
    columns = []
    for part in parts:
        probabilities = np.full((len(part), len(heard)), np.nan, np.float32)
        probabilities[:, [heard.index(token) for token in part.heard]] = part.heard_probs
        columns.append(probabilities)
    rows = {
        field.name: np.concatenate([getattr(part, field.name) for part in parts])
        for field in fields(FrameScores)
        if isinstance(getattr(first, field.name), np.ndarray) and field.name != "heard_probs"
    }
    return replace(first, **rows, heard=heard, heard_probs=np.concatenate(columns))


def cut(scores: FrameScores, start: int, end: int, offset: int) -> FrameScores:
    """The rows [start, end), renumbered so that row 0 of `scores` is frame `offset` of the recording."""
    rows = {
        field.name: value[start:end]
        for field in fields(FrameScores)
        if isinstance(value := getattr(scores, field.name), np.ndarray)
    }
    return replace(scores, first=offset + start, **rows)


def _walk(path: Hypothesis, blank_advance: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Which frames a TDT path visits, the entry it takes first on each, and the frames it advances by.

    Args:
        blank_advance: (frames,) the most probable duration where the path emits nothing more.
    """
    frames = len(blank_advance)
    visited, taken, advanced = np.zeros(frames, bool), np.full(frames, BLANK), np.full(frames, -1)
    # Several tokens on one frame: the first is shown, the last says where the path goes on.
    tokens: dict[int, tuple[int, int]] = {}
    for token, start, end in zip(path.token_ids, path.start_frames, path.end_frames, strict=True):
        tokens[start] = (tokens.get(start, (token,))[0], end)
    starts, frame = np.array(sorted(tokens), np.int64), 0
    while frame < frames:
        later = np.searchsorted(starts, frame, side="right")
        limit = int(starts[later]) if later < len(starts) else frames
        step = max(1, min(int(blank_advance[frame]), limit - frame))
        visited[frame], advanced[frame] = True, step
        if frame in tokens:
            taken[frame], end = tokens[frame]
            advanced[frame] = end - frame
            step = end - frame or step
        frame += step
    return visited, taken, advanced


def _predictions(labels: Sequence[int], head: Transducer) -> np.ndarray:
    """(labels + 1, joint width): the prediction before each label, and after the last."""
    output, state = head.prediction.start(1)
    outputs = [output]
    for label in labels:
        output, state = head.prediction.step(np.array([label]), state)
        outputs.append(output)
    return head.joint.project_prediction(np.concatenate(outputs))


def _distinct(labels: Sequence[int]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(int(label) for label in labels))


def _scores(
    log_probs: np.ndarray, visited: np.ndarray, taken: np.ndarray, heard: tuple[int, ...], frame_seconds: float
) -> FrameScores:
    """Scores of (frames, V + 1) natural log-probs; nothing where the path did not go."""
    probabilities = np.exp(log_probs, dtype=np.float32)
    entropy = -np.where(probabilities > 0, probabilities * log_probs, 0).sum(-1)
    count = min(TOP, log_probs.shape[1])
    order = np.argsort(-log_probs, axis=-1, kind="stable")[:, :count]
    top, of_heard = np.take_along_axis(probabilities, order, -1), probabilities[:, list(heard)]
    blank = probabilities[:, -1].copy()
    for values in (entropy, top, of_heard, blank):
        values[~visited] = np.nan
    order[~visited] = -1
    return FrameScores(
        first=0,
        frame_seconds=frame_seconds,
        visited=visited,
        blank=blank,
        entropy=entropy.astype(np.float32),
        top_ids=order,
        top_probs=top,
        taken=np.where(visited, np.where(taken == BLANK, log_probs.shape[1] - 1, taken), -1),
        duration=np.full(len(visited), -1),
        durations=(),
        duration_probs=np.zeros((len(visited), 0), np.float32),
        heard=heard,
        heard_probs=of_heard,
    )
