"""Greedy decoding: the best entry at each step (NeMo's `greedy_batch`)."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from asr_core import confidence
from asr_core.alignment import Hypothesis
from asr_core.decoding.options import MAX_SYMBOLS, Greedy
from asr_core.decoding.steps import Steps, StepScores
from asr_core.models.transducer import Transducer


def transducer(encoded: np.ndarray, lengths: np.ndarray, head: Transducer, options: Greedy) -> list[Hypothesis]:
    """Label-looping greedy search of an RNN-T or TDT head (Xu et al. 2023; Bataev et al. 2024).

    The encoder is projected once, and the prediction network runs only after a label. A blank of duration 0 advances by
    one frame; so does the last of `max_symbols` labels on one frame.

    Args:
        encoded: (batch, frames, width) float32.
        lengths: (batch,) valid frames.
    Returns:
        One hypothesis an item, scored by the log-probs of its labels, blanks and durations.
    """
    projected = head.joint.project_encoder(encoded)
    output, state = head.prediction.start(len(encoded))
    predicted = head.joint.project_prediction(output)
    limit = options.max_symbols or head.max_symbols or MAX_SYMBOLS
    time, on_frame = np.zeros(len(encoded), int), np.zeros(len(encoded), int)
    scores = StepScores(head, options.confidence)

    active = np.flatnonzero(lengths > 0)
    while active.size:
        logits = head.joint.logits(projected[active, time[active]], predicted[active])
        labels, durations = head.best(logits)
        scores.add(Steps(active, time[active], labels, durations, logits))

        is_label = labels != head.blank
        emitting = active[is_label]
        if emitting.size:
            output, after = head.prediction.step(labels[is_label], state.rows(emitting))
            predicted[emitting] = head.joint.project_prediction(output)
            state.put(emitting, after)

        on_frame[active] = np.where(durations > 0, 0, on_frame[active] + 1)
        spent = on_frame[active] >= limit
        on_frame[active[spent]] = 0
        time[active] += durations + spent
        active = active[time[active] < lengths[active]]
    return scores.hypotheses(len(encoded))


def ctc(log_probs: np.ndarray, lengths: np.ndarray, options: Greedy) -> list[Hypothesis]:
    """Best path of a CTC head, repeats folded and blanks dropped.

    Args:
        log_probs: (batch, frames, V + 1) natural log.
        lengths: (batch,) valid frames.
    Returns:
        One hypothesis an item. A token spans its first to its last frame and has the log-prob of its best frame; the
        score is the log-prob of the frames that are not blank, as NeMo has it.
    """
    return [_best_path(item[:length], options) for item, length in zip(log_probs, lengths, strict=True)]


def _best_path(log_probs: np.ndarray, options: Greedy) -> Hypothesis:
    frames, blank = len(log_probs), log_probs.shape[-1] - 1
    path = log_probs.argmax(-1)
    best = log_probs[np.arange(frames), path]
    sure = confidence.measure(log_probs, options.confidence)
    # A run is a stretch of one label; runs of blank lie between the tokens.
    edges = np.concatenate([[0], np.flatnonzero(np.diff(path)) + 1, [frames]]) if frames else np.zeros(1, int)
    runs = [(int(a), int(b)) for a, b in pairwise(edges) if path[a] != blank]
    ends = [b for _, b in runs]
    heard = ends if options.confidence.exclude_blank else [a for a, _ in runs[1:]] + [frames] * bool(runs)
    return Hypothesis(
        token_ids=tuple(int(path[a]) for a, _ in runs),
        start_frames=tuple(a for a, _ in runs),
        end_frames=tuple(ends),
        score=float(best[path != blank].sum(dtype=np.float64)),
        confidences=tuple(
            float(confidence.aggregate(sure[a:b], options.confidence.aggregation))
            for (a, _), b in zip(runs, heard, strict=True)
        ),
        log_probs=tuple(float(best[a:b].max()) for a, b in runs),
    )
