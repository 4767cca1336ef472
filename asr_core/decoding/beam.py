"""Beam search: NeMo's `malsd_batch` for transducers, `beam_batch` for CTC.

Every step advances every hypothesis of every item by one entry of its own frame: one joint and one prediction-network
call for all of them. Only hypotheses that reached the end are returned, scored by true log-probabilities.
"""

from __future__ import annotations

import threading

import numpy as np

from asr_core.alignment import Hypothesis
from asr_core.decoding.ctc_paths import fold
from asr_core.decoding.fusion import Fused, follow
from asr_core.decoding.hypotheses import NOTHING, Hypotheses, pick, top
from asr_core.decoding.options import MAX_SYMBOLS, Beam
from asr_core.decoding.predictions import Predictions
from asr_core.decoding.steps import replay
from asr_core.models.host import log_softmax
from asr_core.models.transducer import Transducer
from asr_core.progress import go_on


def transducer(
    encoded: np.ndarray,
    lengths: np.ndarray,
    head: Transducer,
    options: Beam,
    fused: Fused | None,
    cancel: threading.Event | None = None,
) -> list[list[Hypothesis]]:
    """Time-label-synchronous beam search of an RNN-T or TDT head.

    Args:
        encoded: (batch, frames, width) float32.
        lengths: (batch,) valid frames.
        fused: what else has a say.
        cancel: looked at before each step.
    Returns:
        For each item its hypotheses, best first.
    Raises:
        Cancelled: in the middle of it.
    """
    projected = head.joint.project_encoder(encoded)
    batch, beam = len(encoded), options.size
    hypotheses = Hypotheses(batch, beam, head.blank, "tdt" if head.durations else "rnnt")
    predictions = Predictions(head, hypotheses.hashes.ravel())
    states = fused.start((batch, beam)) if fused else ()
    limit = options.max_symbols or head.max_symbols or MAX_SYMBOLS

    while (active := (hypotheses.frames < lengths[:, None]) & np.isfinite(hypotheses.scores)).any():
        go_on(cancel)
        item, slot = np.nonzero(active)
        predicted = predictions.projected[item * beam + slot]
        logits = head.joint.logits(projected[item, hypotheses.frames[item, slot]], predicted)
        extra, targets = fused.advance(tuple(s[item, slot] for s in states)) if fused else (None, ())
        spent = hypotheses.on_frame[item, slot] >= limit
        gains, labels, durations = _extensions(logits, head, options, fused, extra, spent)

        totals = np.full((batch, beam, gains.shape[1]), -np.inf, np.float32)
        totals[item, slot] = hypotheses.scores[item, slot, None] + gains
        # A finished hypothesis stands as it is.
        totals[:, :, 0] = np.where(active, totals[:, :, 0], hypotheses.scores)
        all_labels, all_durations = np.full(totals.shape, NOTHING), np.zeros(totals.shape, np.int64)
        all_labels[item, slot], all_durations[item, slot] = labels, durations
        scores, chosen = top(totals.reshape(batch, -1), beam)
        parents = chosen // gains.shape[1]
        labels = pick(all_labels.reshape(batch, -1), chosen)
        durations = pick(all_durations.reshape(batch, -1), chosen)
        labels = np.where(np.isfinite(scores), labels, NOTHING)
        hypotheses.add(parents, labels, scores, durations)
        hypotheses.recombine(apart=limit == 1)

        emitted = np.where(labels != head.blank, labels, NOTHING)
        origin = (np.arange(batch)[:, None] * beam + parents).ravel()
        predictions.advance(hypotheses.hashes.ravel(), origin, emitted.ravel())
        if fused:
            full = tuple(np.zeros((batch, beam, head.blank), np.int64) for _ in targets)
            for every, some in zip(full, targets, strict=True):
                every[item, slot] = some
            states = follow(full, parents, emitted, states)

    penalty = 1.0 if options.length_penalty is None else options.length_penalty
    paths = hypotheses.best(options.n_best or beam, penalty)
    return replay(projected, paths, head, options.confidence, predictions=predictions)


def ctc(
    log_probs: np.ndarray,
    lengths: np.ndarray,
    options: Beam,
    fused: Fused | None,
    cancel: threading.Event | None = None,
) -> list[list[Hypothesis]]:
    """Beam search of a CTC head; paths with the same labels are merged by their maximum, as NeMo does.

    Args:
        log_probs: (batch, frames, V + 1) natural log.
        lengths: (batch,) valid frames.
        cancel: looked at before each frame.
    Returns:
        For each item its hypotheses, best first.
    Raises:
        Cancelled: in the middle of it.
    """
    batch, _, entries = log_probs.shape
    beam, blank = options.size, entries - 1
    hypotheses = Hypotheses(batch, beam, blank, "ctc")
    states = fused.start((batch, beam)) if fused else ()
    for frame in range(int(lengths.max(initial=0))):
        go_on(cancel)
        running = (frame < lengths)[:, None]
        extra, targets = fused.advance(states) if fused else (np.zeros((batch, beam, blank), np.float32), ())
        gains = np.repeat(log_probs[:, frame, None], beam, axis=1)
        gains[..., :blank] += _unless_repeated(extra + options.label_bonus, hypotheses.last_labels)
        totals = (hypotheses.scores[..., None] + gains).reshape(batch, -1)
        scores, chosen = top(totals, beam)
        scores = np.where(scores > scores[:, :1] - options.prune, scores, -np.inf)
        parents, labels = chosen // entries, chosen % entries
        last = pick(hypotheses.last_labels, parents)
        parents = np.where(running, parents, np.arange(beam))
        labels = np.where(running & np.isfinite(scores), labels, NOTHING)
        hypotheses.add(parents, labels, np.where(running, scores, hypotheses.scores))
        hypotheses.recombine()
        if fused:
            new = np.where((labels != blank) & (labels != last), labels, NOTHING)
            states = follow(targets, parents, new, states)
    if fused:
        hypotheses.scores = (hypotheses.scores + fused.final(states)).astype(np.float32)
    penalty = 1.0 if options.length_penalty is None else options.length_penalty
    return [
        [fold(path.labels, item[: len(path.labels)], options.confidence, path.score) for path in paths]
        for item, paths in zip(log_probs, hypotheses.best(options.n_best or beam, penalty), strict=True)
    ]


def _extensions(
    logits: np.ndarray,
    head: Transducer,
    options: Beam,
    fused: Fused | None,
    extra: np.ndarray | None,
    spent: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The best `size` ways to extend each hypothesis.

    Args:
        logits: (n, V + 1 + D).
        extra: (n, V) weighted scores of the automata.
        spent: (n,) hypotheses that may emit no more labels on this frame: only a blank is left.
    Returns:
        (n, size) gains in score, labels, and frames advanced by.
    """
    log_probs = log_softmax(logits[:, : head.blank + 1])
    gains, labels, forced = _best_labels(log_probs, options, fused, extra)
    gains = gains + np.where(labels != head.blank, np.float32(options.label_bonus), np.float32(0))
    if head.durations:
        by_duration = options.duration_weight * log_softmax(logits[:, head.blank + 1 :])
        pairs = (gains[:, :, None] + by_duration[:, None, :]).reshape(len(gains), -1)
        gains, chosen = top(pairs, min(options.size, pairs.shape[1]))
        labels = pick(labels, chosen // len(head.durations))
        durations = np.asarray(head.durations)[chosen % len(head.durations)]
        of_blank = by_duration.max(-1), np.asarray(head.durations)[by_duration.argmax(-1)]
    else:
        durations = np.zeros_like(labels)
        of_blank = 0.0, 1
    durations = np.where(labels == head.blank, np.maximum(durations, 1), durations)
    if spent.any():
        gains, labels, durations = gains.copy(), labels.copy(), durations.copy()
        blank = (forced + of_blank[0], np.maximum(of_blank[1], 1))
        gains[spent, 1:] = -np.inf
        gains[spent, 0], labels[spent, 0] = blank[0][spent], head.blank
        durations[spent, 0] = np.broadcast_to(blank[1], spent.shape)[spent]
    return gains, labels, durations


def _best_labels(
    log_probs: np.ndarray, options: Beam, fused: Fused | None, extra: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores and labels of the `size` best entries (fewer in a smaller vocabulary), and the score of a forced blank."""
    count = min(options.size, log_probs.shape[-1])
    if fused is None:
        return *top(log_probs, count), log_probs[:, -1]
    combined = fused.combine(log_probs, extra)
    if fused.options.pruning == "late":
        return *top(combined, count), combined[:, -1]
    _, labels = top(log_probs, count)
    return pick(combined, labels), labels, log_probs[:, -1]


def _unless_repeated(bonus: np.ndarray, last: np.ndarray) -> np.ndarray:
    """(batch, beam, V) without what a repeat of the last label would get: it emits nothing."""
    item, slot = np.nonzero((last >= 0) & (last < bonus.shape[-1]))
    bonus = bonus.copy()
    bonus[item, slot, last[item, slot]] = 0
    return bonus
