"""An n-gram model of the domain's text over the model's pieces, for fusion in the beam search."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from random import Random

from asr_core.decoding.ngram_lm import BEGIN, END, OFFSET, UNKNOWN, Gram, NgramLM

from .text import Grammar

DISCOUNT = 0.75


def domain_model(encode: Callable[[str], list[int]], pieces: int, clips: int = 20_000, order: int = 4) -> NgramLM:
    """The model of `clips` clips of training text (never of evaluation text)."""
    grammar, random = Grammar("training"), Random("language model")
    return estimated((encode(" ".join(grammar.clip(random))) for _ in range(clips)), pieces, order)


def estimated(lines: Iterable[list[int]], pieces: int, order: int) -> NgramLM:
    """N-grams with absolute discounting, interpolated with the shorter ones (Ney, Essen and Kneser 1994).

    p(w | h) = max(c(h w) - D, 0) / c(h) + back-off(h) p(w | h'), with back-off(h) = D * kinds(h) / c(h), where kinds(h)
    counts the different tokens seen after h and h' is h without its first token.
    """
    counts: list[Counter[Gram]] = [Counter() for _ in range(order)]
    for line in lines:
        tokens = (BEGIN, *(chr(piece + OFFSET) for piece in line), END)
        for length in range(1, order + 1):
            counts[length - 1].update(tokens[i : i + length] for i in range(len(tokens) - length + 1))
    del counts[0][(BEGIN,)]
    for piece in range(pieces):
        counts[0].setdefault((chr(piece + OFFSET),), 0)
    counts[0][(UNKNOWN,)] = 0

    totals: dict[Gram, int] = defaultdict(int)
    kinds: dict[Gram, int] = defaultdict(int)
    for gram, count in (pair for part in counts for pair in part.items() if pair[1]):
        totals[gram[:-1]] += count
        kinds[gram[:-1]] += 1
    backoff = {history: DISCOUNT * kinds[history] / totals[history] for history in totals}

    probability: dict[Gram, float] = {}
    for part in counts:
        for gram, count in part.items():
            history = gram[:-1]
            shorter = probability[gram[1:]] if history else 1 / len(counts[0])
            probability[gram] = max(count - DISCOUNT, 0) / totals[history] + backoff[history] * shorter
    grams = [
        {gram: (math.log(probability[gram]), math.log(backoff.get(gram, 1.0))) for gram in part} for part in counts
    ]
    grams[0][(BEGIN,)] = (-99.0, math.log(backoff.get((BEGIN,), 1.0)))
    return NgramLM(order, tuple(grams), "the domain's text")
