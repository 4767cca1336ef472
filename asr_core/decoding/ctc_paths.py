"""From a CTC path, one label a frame, to tokens with times and confidence."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from asr_core.alignment import Hypothesis
from asr_core.confidence import aggregate, measure
from asr_core.decoding.options import Confidence


def fold(path: np.ndarray, log_probs: np.ndarray, options: Confidence, score: float) -> Hypothesis:
    """Fold repeats and drop blanks.

    A token spans its first to its last frame, has the log-prob of its best frame, and a confidence aggregated over its
    frames (and the blanks behind them, where these count).

    Args:
        path: (frames,) labels.
        log_probs: (frames, V + 1) natural log.
        score: of the hypothesis.
    """
    frames, blank = len(path), log_probs.shape[-1] - 1
    chosen = log_probs[np.arange(frames), path]
    edges = np.concatenate([[0], np.flatnonzero(np.diff(path)) + 1, [frames]]) if frames else np.zeros(1, int)
    runs = [(int(a), int(b)) for a, b in pairwise(edges) if path[a] != blank]
    starts, ends = [a for a, _ in runs], [b for _, b in runs]
    heard = ends if options.exclude_blank else [*starts[1:], frames][: len(runs)]
    sure = measure(log_probs, options)
    return Hypothesis(
        token_ids=tuple(int(path[a]) for a in starts),
        start_frames=tuple(starts),
        end_frames=tuple(ends),
        score=score,
        confidences=tuple(aggregate(sure[a:b], options.aggregation) for a, b in zip(starts, heard, strict=True)),
        log_probs=tuple(float(chosen[a:b].max()) for a, b in runs),
    )
