"""The steps of a transducer search, and what they are worth.

A search only needs to know which entry is largest. Log-probs and confidences of what it took are computed afterwards,
many steps at a time.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from asr_core.alignment import Hypothesis
from asr_core.confidence import aggregate, measure
from asr_core.decoding.hypotheses import Path, prefix_hashes
from asr_core.decoding.options import Confidence
from asr_core.decoding.predictions import Predictions
from asr_core.models.host import log_softmax
from asr_core.models.transducer import Transducer

#: Floats of joint output that are kept until they are scored together: few enough to stay in the cache.
KEPT = 2**18


class Steps(NamedTuple):
    """Steps of several items.

    Args:
        items, frames, labels, durations: (steps,) row of the batch, encoder frame, id, frames advanced by.
        logits: (steps, V + 1 + D) output of the joint.
    """

    items: np.ndarray
    frames: np.ndarray
    labels: np.ndarray
    durations: np.ndarray
    logits: np.ndarray


class Scored(NamedTuple):
    """The same steps with the log-prob of the label, of label and duration together, and the confidence (0..1)."""

    items: np.ndarray
    frames: np.ndarray
    labels: np.ndarray
    durations: np.ndarray
    label_log_probs: np.ndarray
    log_probs: np.ndarray
    confidences: np.ndarray


class StepScores:
    """Collects the steps of a search and turns them into hypotheses."""

    def __init__(self, head: Transducer, options: Confidence) -> None:
        self._head, self._options = head, options
        self._waiting: list[Steps] = []
        self._kept = 0
        self._scored: list[Scored] = []

    def add(self, steps: Steps) -> None:
        """Take the next steps; of each item in order of time."""
        self._waiting.append(steps)
        self._kept += steps.logits.size
        if self._kept > KEPT:
            self._score()

    def hypotheses(self, batch: int) -> list[Hypothesis]:
        """One hypothesis for each of `batch` items."""
        self._score()
        if not self._scored:
            return [_hypothesis(None, self._head, self._options) for _ in range(batch)]
        steps = Scored(*(np.concatenate(column) for column in zip(*self._scored, strict=True)))
        order = np.argsort(steps.items, kind="stable")
        bounds = np.searchsorted(steps.items[order], np.arange(batch + 1))
        rows = [order[bounds[item] : bounds[item + 1]] for item in range(batch)]
        return [_hypothesis(Scored(*(column[r] for column in steps)), self._head, self._options) for r in rows]

    def _score(self) -> None:
        if self._waiting:
            steps = Steps(*(np.concatenate(column) for column in zip(*self._waiting, strict=True)))
            self._scored.append(score(steps, self._head, self._options))
        self._waiting, self._kept = [], 0


def score(steps: Steps, head: Transducer, options: Confidence) -> Scored:
    """Log-probs and confidences of steps; the confidence of a blank is computed only where it counts."""
    row, entries = np.arange(len(steps.labels)), head.blank + 1
    labels = log_softmax(steps.logits[:, :entries])
    label_log_probs = labels[row, steps.labels]
    log_probs = label_log_probs
    wanted = row if not options.exclude_blank else np.flatnonzero(steps.labels != head.blank)
    confidences = np.full(len(row), np.nan, np.float32)
    confidences[wanted] = measure(labels[wanted], options)
    if head.durations:
        by_duration = log_softmax(steps.logits[:, entries:])
        # By the output that was taken, not by the frames advanced: a blank of duration 0 advances by 1.
        log_probs = log_probs + by_duration.max(-1)
        if options.include_duration:
            of_duration = measure(by_duration[wanted], options, size=entries)
            both = np.stack([confidences[wanted], of_duration], axis=-1)
            confidences[wanted] = [aggregate(pair, options.aggregation) for pair in both]
    return Scored(*steps[:4], label_log_probs, log_probs, confidences)


def replay(
    projected: np.ndarray,
    paths: list[list[Path]],
    head: Transducer,
    options: Confidence,
    *,
    rescore: bool = False,
    predictions: Predictions | None = None,
) -> list[list[Hypothesis]]:
    """Log-probs and confidences of the hypotheses a search found, by walking their paths again.

    Args:
        projected: (batch, frames, joint width) of the encoder.
        paths: of each item.
        rescore: score each by the log-probs of its steps, instead of keeping the score of the search.
        predictions: of the search, by the hashes of labels; None = the prediction network is run again.
    Returns:
        For each item its hypotheses in the same order.
    """
    flat = [(item, path) for item, found in enumerate(paths) for path in found]
    scores = StepScores(head, options)
    sequences = [path.labels[path.labels != head.blank] for _, path in flat]
    if predictions is None:
        predicted = _predicted(sequences, head)
    else:
        predicted = [predictions.along(prefix_hashes(labels)) for labels in sequences]
    for row, (item, path) in enumerate(flat):
        before = np.cumsum(path.labels != head.blank) - (path.labels != head.blank)
        kept = slice(None) if rescore or not options.exclude_blank else path.labels != head.blank
        frames, labels, durations = path.frames[kept], path.labels[kept], path.durations[kept]
        # With NeMo's own defects a path may count more blanks than there are frames.
        at = np.minimum(frames, projected.shape[1] - 1)
        logits = head.joint.logits(projected[item, at], predicted[row][before[kept]])
        scores.add(Steps(np.full(len(labels), row), frames, labels, durations, logits))
    rest = iter(scores.hypotheses(len(flat)))
    return [[next(rest) if rescore else replace(next(rest), score=path.score) for path in found] for found in paths]


def _predicted(sequences: list[np.ndarray], head: Transducer) -> list[np.ndarray]:
    """For each sequence (labels + 1, joint width): the prediction before each label, and after the last."""
    if not sequences:
        return []
    output, state = head.prediction.start(len(sequences))
    outputs = [[row] for row in head.joint.project_prediction(output)]
    for position in range(max(map(len, sequences))):
        going = np.array([row for row, labels in enumerate(sequences) if len(labels) > position])
        labels = np.array([sequences[row][position] for row in going])
        output, after = head.prediction.step(labels, state.rows(going))
        state.put(going, after)
        for row, predicted in zip(going, head.joint.project_prediction(output), strict=True):
            outputs[row].append(predicted)
    return [np.stack(rows) for rows in outputs]


def _hypothesis(steps: Scored | None, head: Transducer, options: Confidence) -> Hypothesis:
    if steps is None or not len(steps.labels):
        return Hypothesis((), (), (), 0.0, (), ())
    at = np.flatnonzero(steps.labels != head.blank)
    starts = steps.frames[at]
    # RNN-T labels carry no duration of their own; NeMo gives them one frame.
    ends = starts + (steps.durations[at] if head.durations else 1)
    return Hypothesis(
        token_ids=tuple(steps.labels[at].tolist()),
        start_frames=tuple(starts.tolist()),
        end_frames=tuple(ends.tolist()),
        score=float(steps.log_probs.sum(dtype=np.float64)),
        confidences=tuple(_token_confidences(steps, at, head, options)),
        log_probs=tuple(steps.label_log_probs[at].tolist()),
    )


def _token_confidences(steps: Scored, at: np.ndarray, head: Transducer, options: Confidence) -> list[float]:
    if options.exclude_blank:
        return steps.confidences[at].tolist()
    counted = np.ones(len(steps.labels), bool)
    if not head.durations:
        # An RNN-T leaves each frame by a blank. NeMo counts the first step of a frame, so not the blank behind a label.
        counted[1:] = (steps.frames[1:] != steps.frames[:-1]) | (steps.labels[1:] != head.blank)
    parts = zip(np.split(steps.confidences, at)[1:], np.split(counted, at)[1:], strict=True)
    return [aggregate(part[kept], options.aggregation) for part, kept in parts]
