"""Modified adaptive expansion search for RNN-T (NeMo's `maes_batch`; Kim et al. 2020).

All hypotheses stand on the same frame. There each may emit a few labels, and ends with a blank. A hypothesis that
another one reaches by one more label takes over that probability.
"""

from __future__ import annotations

import threading

import numpy as np

from asr_core.alignment import Hypothesis
from asr_core.decoding.fusion import Fused, follow
from asr_core.decoding.hypotheses import NOTHING, Hypotheses, top
from asr_core.decoding.options import Maes
from asr_core.decoding.selection import top_as_torch
from asr_core.decoding.steps import replay
from asr_core.models.host import log_softmax
from asr_core.models.transducer import PredictionState, Transducer
from asr_core.progress import go_on

#: Highest probability of blank when labels share what is left (NeMo's value in this search).
CEILING = 1 - 1e-6


def transducer(
    encoded: np.ndarray,
    lengths: np.ndarray,
    head: Transducer,
    options: Maes,
    fused: Fused | None,
    cancel: threading.Event | None = None,
) -> list[list[Hypothesis]]:
    """Search an RNN-T head.

    Args:
        encoded: (batch, frames, width) float32.
        lengths: (batch,) valid frames.
        cancel: looked at before each frame.
    Returns:
        For each item its hypotheses, best first by score / (labels + 1).
    Raises:
        Cancelled: in the middle of it.
    """
    search = _Search(head.joint.project_encoder(encoded), head, options, fused)
    for frame in range(int(lengths.max(initial=0))):
        go_on(cancel)
        search.frame(frame, frame < lengths)
    paths = search.hypotheses.best(options.n_best or options.size, 1.0)
    return replay(search.projected, paths, head, options.confidence)


class _Search:
    """The hypotheses with their prediction-network and automaton states, each (batch, beam)."""

    def __init__(self, projected: np.ndarray, head: Transducer, options: Maes, fused: Fused | None) -> None:
        self.projected, self._head, self._options, self._fused = projected, head, options, fused
        batch, beam = len(projected), options.size
        self.hypotheses = Hypotheses(batch, beam, head.blank, "rnnt")
        output, self._state = head.prediction.start(batch * beam)
        self._predicted = head.joint.project_prediction(output).reshape(batch, beam, -1)
        self._states = fused.start((batch, beam)) if fused else ()

    def frame(self, frame: int, running: np.ndarray) -> None:
        """Take all running items through one frame."""
        hypotheses = self.hypotheses
        extending = np.repeat(running[:, None], hypotheses.beam, axis=1)
        log_probs, extra, targets = self._scores(frame)
        combined = self._fused.combine(log_probs, extra) if self._fused else log_probs
        hypotheses.recombine_prefixes(combined, extending)
        for _ in range(self._options.num_steps):
            if not extending.any():
                break
            extending = self._expand(log_probs, extra, targets, extending)
            log_probs, extra, targets = self._scores(frame)
        if extending.any():
            self._close(log_probs, extending)

    def _scores(self, frame: int) -> tuple[np.ndarray, np.ndarray | None, tuple[np.ndarray, ...]]:
        """Log-probs (batch, beam, V + 1) on a frame, and what the automata say."""
        log_probs = log_softmax(self._head.joint.logits(self.projected[:, frame, None], self._predicted))
        extra, targets = self._fused.advance(self._states) if self._fused else (None, ())
        return log_probs, extra, targets

    def _expand(
        self, log_probs: np.ndarray, extra: np.ndarray | None, targets: tuple[np.ndarray, ...], extending: np.ndarray
    ) -> np.ndarray:
        """One more label or blank for each hypothesis that is being extended; returns those that go on."""
        hypotheses, options = self.hypotheses, self._options
        count = min(options.size + options.expansion_beta, log_probs.shape[-1])
        totals, labels = candidates(log_probs, hypotheses.scores, extra, count, options, self._fused)
        labels = np.where(extending[..., None], labels, NOTHING)
        totals = np.where(extending[..., None], totals, -np.inf)
        totals = hypotheses.drop_duplicates(labels, totals)
        totals[..., -1] = np.where(extending, totals[..., -1], hypotheses.scores)
        select = top_as_torch if options.compat == "nemo" else top
        scores, chosen = select(totals.reshape(hypotheses.batch, -1), hypotheses.beam)
        parents = chosen // count
        labels = np.take_along_axis(labels.reshape(hypotheses.batch, -1), chosen, axis=1)
        hypotheses.add(parents, labels, scores)
        self._emit(parents, np.where(labels == self._head.blank, NOTHING, labels), targets)
        goes_on = (labels >= 0) & (labels != self._head.blank)
        if options.compat == "nemo":
            # NeMo leaves this mask on its slots while the hypotheses move between them. An empty slot has a label too.
            return extending & goes_on
        return hypotheses.gather(extending, parents) & goes_on

    def _emit(self, parents: np.ndarray, labels: np.ndarray, targets: tuple[np.ndarray, ...]) -> None:
        """Move the states to the new slots and advance those that got a label."""
        batch, beam = parents.shape
        origin = (np.arange(batch)[:, None] * beam + parents).ravel()
        predicted, state = self._predicted.reshape(batch * beam, -1)[origin], self._state.rows(origin)
        new = np.flatnonzero(labels.ravel() >= 0)
        if new.size:
            output, after = self._head.prediction.step(labels.ravel()[new], state.rows(new))
            predicted[new] = self._head.joint.project_prediction(output)
            state.put(new, after)
        self._predicted, self._state = predicted.reshape(batch, beam, -1), PredictionState(*state)
        if self._fused:
            self._states = follow(targets, parents, labels, self._states)

    def _close(self, log_probs: np.ndarray, extending: np.ndarray) -> None:
        """A blank, at its plain acoustic score, for hypotheses whose last step was a label."""
        hypotheses = self.hypotheses
        labels = np.where(extending, self._head.blank, NOTHING)
        scores = hypotheses.scores + np.where(extending, log_probs[..., -1], 0)
        hypotheses.add(np.repeat(np.arange(hypotheses.beam)[None], hypotheses.batch, axis=0), labels, scores)


def candidates(
    log_probs: np.ndarray,
    scores: np.ndarray,
    extra: np.ndarray | None,
    count: int,
    options: Maes,
    fused: Fused | None,
) -> tuple[np.ndarray, np.ndarray]:
    """The best extensions of each hypothesis (NeMo's `topk_lm`), those far behind its best taken out.

    Args:
        log_probs: (batch, beam, V + 1) natural log, blank last.
        scores: (batch, beam) of the hypotheses.
        extra: (batch, beam, V) weighted scores of the automata.
        count: extensions of each.
    Returns:
        (batch, beam, count) totals, best first before automata had a say, and labels.
    """
    # An empty slot keeps the labels of its log-probs, which say whether it stays open: the score is added later.
    if fused is None or fused.options.pruning == "late":
        combined = fused.combine(log_probs, extra) if fused else log_probs
        values, labels = top(combined, count)
        return _pruned(scores[..., None] + values, options), labels
    combined = fused.combine(log_probs, extra)
    acoustic, labels = top(log_probs, count)
    kept = np.isfinite(_pruned(scores[..., None] + acoustic, options))
    totals = scores[..., None] + np.take_along_axis(combined, labels, axis=-1)
    if options.compat == "nemo" and fused.options.blank_lm_score == "lm_weighted_full":
        totals = totals + acoustic  # it counts the acoustic score twice
    return np.where(kept, totals, -np.inf), labels


def _pruned(totals: np.ndarray, options: Maes) -> np.ndarray:
    worst = totals.max(-1, keepdims=True) - options.expansion_gamma
    return np.where(totals > worst, totals, -np.inf)
