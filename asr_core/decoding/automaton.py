"""A back-off automaton over labels: what an n-gram model and a set of boosted phrases have in common (NeMo's NGPU-LM).

A state holds arcs for some labels and a back-off to a state that knows less. State 0 knows all labels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

START = 0


@dataclass(frozen=True)
class Automaton:
    """
    Args:
        vocabulary: number of labels.
        first: (states + 1,) arcs of state s are first[s] : first[s + 1]; state 0 has one for each label, in order.
        labels, weights, targets: (arcs,) label, natural-log weight, next state.
        backoff_weights, backoff_targets: (states,) what leaving by back-off costs, and where it leads.
        finals: (states,) weight of ending in a state, back-off resolved.
        initial: state before the first label.
    """

    vocabulary: int
    first: np.ndarray
    labels: np.ndarray
    weights: np.ndarray
    targets: np.ndarray
    backoff_weights: np.ndarray
    backoff_targets: np.ndarray
    finals: np.ndarray
    initial: int

    def advance(self, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Weights and next states for every label, following back-offs until each label has an arc.

        Args:
            states: (n,) states.
        Returns:
            (n, vocabulary) float32 weights and (n, vocabulary) next states.
        """
        states, rows = np.unique(states, return_inverse=True)
        shape = (len(states), self.vocabulary)
        weights, targets = np.zeros(shape, np.float32), np.zeros(shape, np.int64)
        missing = np.ones(shape, bool)
        current, paid, open_ = states.copy(), np.zeros(len(states), np.float32), np.arange(len(states))
        while open_.size:
            row, arc = self._arcs(current[open_])
            row = open_[row]
            new = missing[row, self.labels[arc]]
            row, arc = row[new], arc[new]
            weights[row, self.labels[arc]] = paid[row] + self.weights[arc]
            targets[row, self.labels[arc]] = self.targets[arc]
            missing[row, self.labels[arc]] = False
            open_ = open_[current[open_] != START]
            paid[open_] += self.backoff_weights[current[open_]]
            current[open_] = self.backoff_targets[current[open_]]
        return weights[rows.ravel()], targets[rows.ravel()]

    def _arcs(self, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rows and indices of all arcs of some states."""
        counts = self.first[states + 1] - self.first[states]
        row = np.repeat(np.arange(len(states)), counts)
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        return row, self.first[states][row] + within


def build(
    vocabulary: int,
    arcs: Sequence[Mapping[int, tuple[float, int]]],
    backoffs: Sequence[tuple[float, int]],
    finals: Sequence[float],
    *,
    initial: int,
    unknown: float,
) -> Automaton:
    """Put an automaton together.

    Args:
        arcs: for each state, label to (weight, next state).
        backoffs: for each state, (weight, next state).
        finals: for each state, weight of ending there.
        unknown: weight of a label that state 0 has no arc for; it leads back to state 0.
    """
    full = [dict(state) for state in arcs]
    full[START] = {label: full[START].get(label, (unknown, START)) for label in range(vocabulary)}
    flat = [(label, *arc) for state in full for label, arc in sorted(state.items())]
    labels, weights, targets = zip(*flat, strict=True)
    return Automaton(
        vocabulary=vocabulary,
        first=np.concatenate([[0], np.cumsum([len(state) for state in full])]),
        labels=np.array(labels, np.int64),
        weights=np.array(weights, np.float32),
        targets=np.array(targets, np.int64),
        backoff_weights=np.array([weight for weight, _ in backoffs], np.float32),
        backoff_targets=np.array([target for _, target in backoffs], np.int64),
        finals=np.array(finals, np.float32),
        initial=initial,
    )
