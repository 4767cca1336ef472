"""Phrases that a search should prefer (NeMo's `GPUBoostingTreeModel`).

An Aho-Corasick automaton in the form of a back-off automaton: each token along a phrase earns a bonus, and falling off
before its end takes back what was earned.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from asr_core import checks
from asr_core.decoding.automaton import START, Automaton, build
from asr_core.errors import DecodingError


@dataclass(frozen=True)
class PhraseBoost:
    """Phrases and how much they earn.

    Args:
        phrases: phrases, or phrase to weight (a factor on its bonus; 1 is neutral).
        context_score: bonus of a phrase's first token, natural log.
        depth_scaling: factor on the bonus of the later tokens, which also grows by the log of their place.
        any_case: boost the phrase as written, in lower case, and with capital first letters.
    """

    phrases: Mapping[str, float] | Sequence[str]
    context_score: float = 1.0
    depth_scaling: float = 2.0
    any_case: bool = False
    _weights: dict[str, float] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        given = self.phrases
        weights = {}
        for phrase in _listed(given):
            weight = given[phrase] if isinstance(given, Mapping) else 1.0
            if not isinstance(phrase, str) or not phrase.strip():
                raise DecodingError(
                    f"A phrase to boost is a text with at least one character, not {checks.shown(phrase)}."
                )
            checks.number(f"The weight of {phrase!r}", weight)
            weights[phrase.strip()] = float(weight)
        checks.number("PhraseBoost.context_score", self.context_score)
        checks.number("PhraseBoost.depth_scaling", self.depth_scaling)
        checks.flag("PhraseBoost.any_case", self.any_case)
        object.__setattr__(self, "_weights", weights)

    def automaton(self, vocabulary: int, encode: Callable[[str], Sequence[int]]) -> Automaton:
        """The phrases as an automaton; `encode` gives the labels of a text."""
        sequences: dict[tuple[int, ...], float] = {}
        for phrase, weight in self._weights.items():
            for form in _forms(phrase) if self.any_case else (phrase,):
                labels = tuple(encode(form))
                if labels:
                    sequences[labels] = max(weight, sequences.get(labels, -math.inf))
        return phrase_automaton(sequences, vocabulary, self.context_score, self.depth_scaling)


def phrase_automaton(
    sequences: Mapping[tuple[int, ...], float], vocabulary: int, context_score: float, depth_scaling: float
) -> Automaton:
    """Aho-Corasick over label sequences, each with its weight.

    The bonus of the i-th token is the context score for i = 0 and context score * depth scaling + ln(i + 1) after; a
    token that several phrases share earns the best of them. A node's score is what its path has earned; the back-off
    takes back the difference, except at the end of a phrase, where it has been earned for good.
    """
    children: list[dict[int, int]] = [{}]
    bonus, is_end = [0.0], [False]
    parents = [START]
    for labels, weight in sequences.items():
        node = START
        for depth, label in enumerate(labels):
            earned = weight * (context_score * depth_scaling + math.log(depth + 1) if depth else context_score)
            if label not in children[node]:
                children[node][label] = len(children)
                children.append({})
                bonus.append(earned)
                is_end.append(False)
                parents.append(node)
            node = children[node][label]
            bonus[node] = max(bonus[node], earned)
        is_end[node] = True
    order = _by_depth(children)
    scores, fails = [0.0] * len(children), [START] * len(children)
    for node in order:
        for label, child in children[node].items():
            scores[child] = scores[node] + bonus[child]
            fails[child] = _fail(fails[node], label, children, fails) if node != START else START
    arcs = [{label: (bonus[child], child) for label, child in node.items()} for node in children]
    backoffs = [
        (0.0 if is_end[node] else scores[fails[node]] - scores[node], fails[node]) for node in range(len(children))
    ]
    return build(vocabulary, arcs, backoffs, [0.0] * len(children), initial=START, unknown=0.0)


def _listed(phrases: Any) -> tuple[Any, ...]:
    return tuple(phrases) if isinstance(phrases, Mapping) else checks.several("PhraseBoost.phrases", phrases, "phrases")


def _by_depth(children: Sequence[Mapping[int, int]]) -> list[int]:
    order = [START]
    for node in order:
        order.extend(children[node].values())
    return order


def _fail(node: int, label: int, children: Sequence[Mapping[int, int]], fails: Sequence[int]) -> int:
    """The node of the longest proper suffix."""
    while label not in children[node]:
        if node == START:
            return START
        node = fails[node]
    return children[node][label]


def _forms(phrase: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys((phrase, phrase.lower(), phrase[:1].upper() + phrase[1:], phrase.title())))
