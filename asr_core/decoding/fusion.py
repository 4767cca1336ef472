"""Language model and boosted phrases beside the acoustic scores of a search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from asr_core.decoding.automaton import Automaton
from asr_core.decoding.options import Fusion

States = tuple[np.ndarray, ...]
#: Highest probability of blank when labels share what is left (NeMo's, for half precision).
CEILING = 1 - 1e-2


@dataclass(frozen=True)
class Fused:
    """The automata that take part in a search.

    Args:
        automata, weights: one each.
        ends: whether ending in a state is scored (language models, not phrases).
        options: how they are mixed with the acoustic scores.
        ceiling: highest probability of blank when labels share what is left.
    """

    automata: tuple[Automaton, ...]
    weights: tuple[float, ...]
    ends: tuple[bool, ...]
    options: Fusion
    ceiling: float = CEILING

    @property
    def total(self) -> float:
        """Sum of the weights."""
        return sum(self.weights)

    def start(self, shape: tuple[int, ...]) -> States:
        """The state of each automaton before the first label, for slots in any shape."""
        return tuple(np.full(shape, automaton.initial) for automaton in self.automata)

    def advance(self, states: States) -> tuple[np.ndarray, States]:
        """Weighted scores of every label, (..., V), and the states behind it, each (..., V)."""
        total, targets = 0.0, []
        for automaton, weight, state in zip(self.automata, self.weights, states, strict=True):
            scores, target = automaton.advance(state.ravel())
            total = total + weight * scores.reshape(*state.shape, -1)
            targets.append(target.reshape(*state.shape, -1))
        return total, tuple(targets)

    def final(self, states: States) -> np.ndarray:
        """Weighted score of ending in each slot."""
        scored = zip(self.automata, self.weights, self.ends, states, strict=True)
        parts = [weight * automaton.finals[state] for automaton, weight, ends, state in scored if ends]
        return sum(parts, np.zeros(states[0].shape))

    def combine(self, log_probs: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """Acoustic log-probs (..., V + 1), blank last, with the weighted scores (..., V) of the labels."""
        labels, blank = log_probs[..., :-1] + scores, log_probs[..., -1:]
        if self.options.blank_lm_score == "lm_weighted_full":
            labels = labels + self.total * self.not_blank(blank)
            blank = blank * (1 + self.total)
        return np.concatenate([labels, blank], axis=-1)

    def not_blank(self, blank: np.ndarray) -> np.ndarray:
        """Log-prob of anything but blank, from the log-prob of blank."""
        return np.log1p(-np.minimum(np.exp(blank), self.ceiling))


def fuse(
    options: Fusion | None, vocabulary: int, encode: Callable[[str], Sequence[int]], *, ceiling: float = 1 - 1e-2
) -> Fused | None:
    """The automata of some settings; None where nothing takes part (nothing given, or a weight of 0)."""
    if options is None:
        return None
    parts = []
    if options.lm is not None and options.lm_weight:
        parts.append((options.lm.automaton(vocabulary), options.lm_weight, True))
    if options.phrases is not None and options.phrase_weight:
        parts.append((options.phrases.automaton(vocabulary, encode), options.phrase_weight, False))
    if not parts:
        return None
    automata, weights, ends = zip(*parts, strict=True)
    return Fused(automata, weights, ends, options, ceiling)


def follow(targets: States, parents: np.ndarray, labels: np.ndarray, states: States) -> States:
    """The states of new slots.

    Args:
        targets: of every label of every old slot, each (batch, beam, V).
        parents, labels: (batch, beam) old slot and label of each new one; -1 keeps the parent's state.
        states: of the old slots, each (batch, beam).
    """
    batch = np.arange(len(parents))[:, None]
    moved = labels >= 0
    return tuple(
        np.where(moved, target[batch, parents, np.maximum(labels, 0)], np.take_along_axis(state, parents, axis=1))
        for target, state in zip(targets, states, strict=True)
    )
