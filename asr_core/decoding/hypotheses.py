"""The hypotheses of a beam search, for all items of a batch in arrays (NeMo's `BatchedBeamHyps`).

A hypothesis is a slot: its score and what tells it apart stand in arrays (batch, beam); its labels are a path of
back-pointers through the steps taken so far, read once at the end.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

Kind = Literal["rnnt", "tdt", "ctc"]

#: Multiplier of the rolling hash of a label sequence (Knuth's MMIX generator); int64 wraps around.
HASH = np.int64(6364136223846793005)
NOTHING = -1


class Path(NamedTuple):
    """One finished hypothesis.

    Args:
        score: search score.
        labels, frames, durations: (steps,) of every step with a label or blank: id, frame of emission, frames
            advanced by.
        length: labels without blanks (for CTC without repeats).
    """

    score: float
    labels: np.ndarray
    frames: np.ndarray
    durations: np.ndarray
    length: int


class Hypotheses:
    """The beam of each item.

    Attributes:
        scores: (batch, beam) float32; minus infinity where a slot holds nothing.
        last_labels: (batch, beam) last label, -1 at the start; for CTC blanks count.
        hashes, prefix_hashes: (batch, beam) int64 of the labels, and of the labels but the last.
        lengths: (batch, beam) labels so far.
        frames: (batch, beam) frame that is decoded next.
        on_frame: (batch, beam) labels since the last advance.
    """

    def __init__(self, batch: int, beam: int, blank: int, kind: Kind) -> None:
        shape = (batch, beam)
        self.kind, self.blank = kind, blank
        self.scores = np.full(shape, -np.inf, np.float32)
        self.scores[:, 0] = 0
        self.last_labels = np.full(shape, NOTHING)
        self.hashes, self.prefix_hashes = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        self.lengths, self.frames, self.on_frame = (np.zeros(shape, np.int64) for _ in range(3))
        self._steps: list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]] = []

    @property
    def batch(self) -> int:
        return self.scores.shape[0]

    @property
    def beam(self) -> int:
        return self.scores.shape[1]

    def add(
        self, parents: np.ndarray, labels: np.ndarray, scores: np.ndarray, durations: np.ndarray | None = None
    ) -> None:
        """Each slot becomes its parent, extended by a label.

        Args:
            parents: (batch, beam) slot that each new one comes from.
            labels: (batch, beam) id; -1 leaves the parent as it is.
            scores: (batch, beam) of the new slots.
            durations: (batch, beam) frames a label advances by; None where only a blank advances, by one.
        """
        is_blank = labels == self.blank
        last = self._of(self.last_labels, parents)
        is_label = (labels >= 0) & ~is_blank
        if self.kind == "ctc":
            is_label &= labels != last
            durations = np.ones_like(labels)
        elif durations is None:
            durations = is_blank.astype(np.int64)
        durations = np.where(labels >= 0, durations, 0)
        frames, on_frame = self._of(self.frames, parents), self._of(self.on_frame, parents)
        hashes, prefixes = self._of(self.hashes, parents), self._of(self.prefix_hashes, parents)
        self._steps.append((parents, labels, frames, durations))
        self.scores = scores.astype(np.float32)
        self.prefix_hashes = np.where(is_label, hashes, prefixes)
        with np.errstate(over="ignore"):
            self.hashes = np.where(is_label, hashes * HASH + 1 + labels, hashes)
        self.lengths = self._of(self.lengths, parents) + is_label
        keeps_last = ~is_label if self.kind != "ctc" else labels < 0
        self.last_labels = np.where(keeps_last, last, labels)
        self.frames = frames + durations
        self.on_frame = np.where(durations > 0, 0, on_frame + is_label)

    def recombine(self, *, apart: bool = False) -> None:
        """Merge slots that stand for the same labels at the same place.

        Their probabilities are summed into the best of them; for CTC the best is kept, as NeMo does.

        Args:
            apart: keep a slot that has emitted a label on its frame apart from one that has not. NeMo merges them;
                where one label a frame is all there may be, the merged one could say more, or less, than its parts.
        """
        if self.beam == 1:
            return
        same = self._pairs(self.hashes) & self._pairs(self.last_labels) & self._pairs(self.lengths)
        if self.kind == "tdt":
            same &= self._pairs(self.frames)
        if apart:
            same &= self._pairs(self.on_frame)
        alive = np.isfinite(self.scores)
        same &= alive[:, :, None] & alive[:, None, :]
        group = np.where(same, self.scores[:, None, :], -np.inf)
        first = group.argmax(-1)
        is_best = alive & (first == np.arange(self.beam))
        merged = _logsumexp(group) if self.kind != "ctc" else self.scores
        self.scores = np.where(is_best, merged, -np.inf).astype(np.float32)

    def recombine_prefixes(self, log_probs: np.ndarray, active: np.ndarray) -> None:
        """Give each hypothesis the probability of having been reached from another one by its last label.

        Args:
            log_probs: (batch, beam, V + 1) of the next step of each.
            active: (batch, beam) slots that are still being extended.
        """
        if self.beam == 1 or not self._steps:
            return
        alive = active & np.isfinite(self.scores)
        prefixes = np.where(self.lengths > 0, self.prefix_hashes, -2)
        reaches = (self.hashes[:, None, :] == prefixes[:, :, None]) & alive[:, :, None] & alive[:, None, :]
        reaches &= (self.lengths > 0)[:, :, None]
        last = np.maximum(self.last_labels, 0)
        by_last = np.take_along_axis(log_probs, last[:, None, :].repeat(self.beam, 1), axis=2)  # (batch, from, to)
        gains = np.where(reaches, self.scores[:, None, :] + by_last.swapaxes(1, 2), -np.inf)
        self.scores = np.where(alive, np.logaddexp(self.scores, _logsumexp(gains)), self.scores).astype(np.float32)

    def drop_duplicates(self, labels: np.ndarray, totals: np.ndarray) -> np.ndarray:
        """Take out extensions that stand for a hypothesis that is in the beam, or for a better extension.

        Args:
            labels, totals: (batch, beam, extensions) ids and scores.
        Returns:
            The scores, minus infinity where an extension is taken out.
        """
        if self.beam == 1:
            return totals
        shape = totals.shape
        with np.errstate(over="ignore"):
            extended = self.hashes[:, :, None] * HASH + 1 + labels
        is_label = labels != self.blank
        hashes = np.where(is_label, extended, self.hashes[:, :, None]).reshape(self.batch, -1)
        is_label = is_label.reshape(self.batch, -1)
        standing = np.where(np.isfinite(self.scores), self.hashes, -1)
        known = is_label & (hashes[:, :, None] == standing[:, None, :]).any(-1)
        flat = np.where(known, -np.inf, totals.reshape(self.batch, -1))
        rank = np.argsort(np.argsort(-flat, axis=-1, kind="stable"), axis=-1, kind="stable")
        same = (hashes[:, :, None] == hashes[:, None, :]) & is_label[:, :, None] & is_label[:, None, :]
        better = same & (rank[:, None, :] < rank[:, :, None])
        return np.where(better.any(-1), -np.inf, flat).reshape(shape)

    def best(self, count: int, length_penalty: float) -> list[list[Path]]:
        """Up to `count` hypotheses of each item, ranked by score / (length + 1) ** length_penalty."""
        ranking = self.scores / (self.lengths + 1.0) ** length_penalty
        found = []
        for item, order in enumerate(np.argsort(-ranking, axis=-1, kind="stable")):
            slots = [slot for slot in order[:count] if np.isfinite(self.scores[item, slot])]
            found.append([self._trace(item, slot) for slot in slots])
        return found

    def gather(self, values: np.ndarray, parents: np.ndarray) -> np.ndarray:
        """(batch, beam, ...) of each slot's parent."""
        return np.take_along_axis(values, parents.reshape(parents.shape + (1,) * (values.ndim - 2)), axis=1)

    def _trace(self, item: int, slot: int) -> Path:
        steps = []
        at = slot
        for parents, labels, frames, durations in reversed(self._steps):
            if labels[item, at] >= 0:
                steps.append((labels[item, at], frames[item, at], durations[item, at]))
            at = parents[item, at]
        columns = np.array(steps[::-1], np.int64).reshape(-1, 3).T
        return Path(float(self.scores[item, slot]), *columns, length=int(self.lengths[item, slot]))

    def _of(self, values: np.ndarray, parents: np.ndarray) -> np.ndarray:
        return pick(values, parents)

    def _pairs(self, values: np.ndarray) -> np.ndarray:
        return values[:, :, None] == values[:, None, :]


def top(scores: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The `count` largest along the last axis, largest first, of equals the first: values and indices."""
    if scores.shape[-1] > 4 * count:
        # Sorting a few candidates is cheaper than sorting a vocabulary.
        near = np.argpartition(scores, -count, axis=-1)[..., -count:]
        threshold = pick(scores, near).min(-1, keepdims=True)
        if (scores >= threshold).sum(-1).max() == count:
            near.sort(axis=-1)
            values = pick(scores, near)
            order = np.argsort(-values, axis=-1, kind="stable")
            return pick(values, order), pick(near, order)
    order = np.argsort(-scores, axis=-1, kind="stable")[..., :count]
    return pick(scores, order), order


def prefix_hashes(labels: np.ndarray) -> np.ndarray:
    """(n + 1,) int64 of the first 0, 1, ... n labels (n,), as `Hypotheses.hashes` has them."""
    hashes = np.zeros(len(labels) + 1, np.int64)
    with np.errstate(over="ignore"):
        for i, label in enumerate(labels):
            hashes[i + 1] = hashes[i] * HASH + 1 + label
    return hashes


def pick(values: np.ndarray, places: np.ndarray) -> np.ndarray:
    """The entries of (..., n) at places (..., m) of the last axis: `np.take_along_axis` without its overhead."""
    rows = np.arange(0, values.size, values.shape[-1]).reshape(*values.shape[:-1], 1)
    return values.take(places + rows)


def _logsumexp(values: np.ndarray) -> np.ndarray:
    """Over the last axis; minus infinity where all are."""
    peak = values.max(-1, keepdims=True)
    safe = np.where(np.isfinite(peak), peak, 0)
    with np.errstate(divide="ignore"):
        return np.log(np.exp(values - safe).sum(-1)) + safe[..., 0]
