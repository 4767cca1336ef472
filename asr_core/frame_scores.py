"""What a head thought at each frame of the encoder, along a path through them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from asr_core.alignment import Hypothesis
from asr_core.models.host import log_softmax
from asr_core.models.transducer import Transducer

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
