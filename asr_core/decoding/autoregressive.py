"""Token decoders of encoder-decoder models: greedy, sampling and beam search (Whisper's; Radford et al. 2022).

A decoder is a value with functions: `update(state, logits)` gives the next state and whether all is done, `finalize`
every candidate with its true score. Which candidate is best is the ranker's affair, not the search's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np

from asr_core.decoding.entries import best_entries, check_choice, log_softmax
from asr_core.errors import DecodingError

Tokens = tuple[int, ...]


class Candidate(NamedTuple):
    """One sequence: its tokens without the end, and the sum of their log-probs, the end's own included."""

    tokens: Tokens
    sum_log_prob: float


class Step(NamedTuple):
    """What the model is asked next.

    Args:
        tokens: (rows,) last token of each sequence; rows = audios x sequences of each.
        sources: (rows,) row whose cache each one goes on from.
    """

    tokens: np.ndarray
    sources: np.ndarray


@dataclass(frozen=True)
class GreedyState:
    """Sequences of all rows, their scores, which are over, and the generator that samples."""

    sequences: tuple[Tokens, ...]
    sums: tuple[float, ...]
    over: tuple[bool, ...]
    random: np.random.Generator | None


@dataclass(frozen=True)
class GreedySearch:
    """The best token at each step, or one drawn at random.

    Args:
        end: id of the token that ends a text.
        temperature: 0 = the best; above, a draw from the distribution sharpened by 1 / temperature.
        group: sequences drawn of each audio.
    """

    end: int
    temperature: float = 0.0
    group: int = 1
    #: How many of a row's best entries an update needs.
    entries: ClassVar[int] = 1

    def __post_init__(self) -> None:
        if not self.temperature >= 0:
            raise DecodingError(f"temperature is a number from 0, not {self.temperature!r}.")

    def start(self, audios: int, seed: int | None = None) -> GreedyState:
        """The state before the first token; `seed` is this search's own."""
        rows = audios * self.group
        random = np.random.default_rng(seed) if self.temperature > 0 else None
        return GreedyState(((),) * rows, (0.0,) * rows, (False,) * rows, random)

    def update(self, state: GreedyState, logits: np.ndarray) -> tuple[GreedyState, Step, bool]:
        """Take the logits (rows, V) of the next token.

        Raises DecodingError where a row has NaN, or nothing that is possible.
        """
        if state.random is None:
            return self.update_from(state, *best_entries(logits, self.entries, ~np.array(state.over, bool)))
        # A Gumbel draw: the largest of log-probs with noise is distributed as their softmax.
        log_probs = log_softmax(logits)
        chosen = (log_probs / self.temperature + state.random.gumbel(size=log_probs.shape)).argmax(-1)
        return self._take(state, chosen, log_probs[np.arange(len(chosen)), chosen])

    def update_from(self, state: GreedyState, values: np.ndarray, ids: np.ndarray) -> tuple[GreedyState, Step, bool]:
        """The same from the best log-prob of each row and its id (rows, 1), as a device may choose them."""
        check_choice(values, ~np.array(state.over, bool))
        return self._take(state, ids[:, 0], values[:, 0])

    def _take(self, state: GreedyState, chosen: np.ndarray, log_probs: np.ndarray) -> tuple[GreedyState, Step, bool]:
        taken = np.where(state.over, self.end, chosen)
        gains = np.where(state.over, 0.0, log_probs)
        grown = tuple(
            s if over or t == self.end else (*s, int(t))
            for s, over, t in zip(state.sequences, state.over, taken, strict=True)
        )
        sums = tuple(a + float(b) for a, b in zip(state.sums, gains, strict=True))
        over = tuple(bool(t == self.end) for t in taken)
        after = replace(state, sequences=grown, sums=sums, over=over)
        return after, Step(taken.astype(np.int32), np.arange(len(taken))), all(over)

    def finalize(self, state: GreedyState) -> list[list[Candidate]]:
        """The sequences of each audio; one that was cut short has no end in its score."""
        found = [Candidate(*pair) for pair in zip(state.sequences, state.sums, strict=True)]
        return [found[first : first + self.group] for first in range(0, len(found), self.group)]


@dataclass(frozen=True)
class BeamState:
    """The beams of all audios.

    Args:
        live: of each audio `size` sequences that go on, and their scores; minus infinity where there are fewer.
        finished: of each audio the sequences that have ended, in order of finishing, with their scores.
    """

    live: tuple[tuple[tuple[Tokens, float], ...], ...]
    finished: tuple[Mapping[Tokens, float], ...]

    @property
    def sequences(self) -> tuple[Tokens, ...]:
        """Of all rows; empty where there is none."""
        return tuple(sequence for beams in self.live for sequence, _ in beams)


@dataclass(frozen=True)
class BeamSearch:
    """Keep the `size` best sequences that go on, until enough have ended.

    A sequence ends only if it is better than the last of the survivors. The search is over when
    `round(size * patience)` have (Python's rounding; patience 0 counts as 1, as in openai-whisper).
    """

    end: int
    size: int
    patience: float = 1.0

    def __post_init__(self) -> None:
        if self.size < 1:
            raise DecodingError(f"size is a whole number from 1, not {self.size!r}.")
        if not self.patience >= 0:
            raise DecodingError(f"patience is a number from 0, not {self.patience!r}.")

    @property
    def entries(self) -> int:
        """How many of a row's best entries an update needs."""
        return self.size + 1

    @property
    def wanted(self) -> int:
        """Sequences that must have ended."""
        return max(1, round(self.size * (self.patience or 1.0)))

    def start(self, audios: int) -> BeamState:
        """The state before the first token."""
        live = (((), 0.0), *(((), -np.inf),) * (self.size - 1))
        return BeamState((live,) * audios, ({},) * audios)

    def update(self, state: BeamState, logits: np.ndarray) -> tuple[BeamState, Step, bool]:
        """Take the logits (audios * size, V) of the next token.

        Raises DecodingError where a live row has NaN, or nothing that is possible.
        """
        values, ids = best_entries(logits, self.entries, _alive(state))
        return self.update_from(state, values, ids)

    def update_from(self, state: BeamState, values: np.ndarray, ids: np.ndarray) -> tuple[BeamState, Step, bool]:
        """The same from the `size + 1` best log-probs of each row and their ids, as a device may choose them."""
        check_choice(values, _alive(state))
        live, finished, tokens, sources = [], [], [], []
        for audio, beams in enumerate(state.live):
            first = audio * self.size
            kept, ended, parents = self._extend(
                beams, values[first : first + self.size], ids[first : first + self.size]
            )
            done = dict(state.finished[audio])
            for sequence, score in ended:
                if len(done) >= self.wanted:
                    break
                done.setdefault(sequence, score)
            live.append(tuple(kept))
            finished.append(done)
            tokens += [sequence[-1] if sequence else self.end for sequence, _ in kept]
            sources += [first + parent for parent in parents]
        step = Step(np.array(tokens, np.int32), np.array(sources))
        return BeamState(tuple(live), tuple(finished)), step, all(len(done) >= self.wanted for done in finished)

    def finalize(self, state: BeamState) -> list[list[Candidate]]:
        """Every candidate: those that ended in order of ending, then the best that did not, up to `size` in all."""
        found = []
        for beams, done in zip(state.live, state.finished, strict=True):
            candidates = dict(done)
            for sequence, score in sorted(beams, key=lambda beam: -beam[1]):
                if len(candidates) >= self.size or not np.isfinite(score):
                    break
                candidates.setdefault(sequence, score)
            found.append([Candidate(*pair) for pair in candidates.items()])
        return found

    def _extend(
        self, beams: Sequence[tuple[Tokens, float]], values: np.ndarray, ids: np.ndarray
    ) -> tuple[list[tuple[Tokens, float]], list[tuple[Tokens, float]], list[int]]:
        """The survivors, what ended before the last of them, and the rows that the survivors come from."""
        scores: dict[tuple[Tokens, int], tuple[float, int]] = {}
        for row, (sequence, score) in enumerate(beams):
            if np.isfinite(score):
                for value, token in zip(values[row], ids[row], strict=True):
                    if np.isfinite(value):
                        scores[sequence, int(token)] = (score + float(value), row)
        kept, ended, parents = [], [], []
        for (sequence, token), (score, row) in sorted(scores.items(), key=lambda item: -item[1][0]):
            if token == self.end:
                ended.append((sequence, score))
                continue
            kept.append(((*sequence, token), score))
            parents.append(row)
            if len(kept) == self.size:
                break
        while len(kept) < self.size:
            kept.append(((), -np.inf))
            parents.append(0)
        return kept, ended, parents


def rank(candidates: Sequence[Candidate], length_penalty: float | None = None) -> int:
    """Position of the best candidate; arguments as for `ranking`."""
    return ranking(candidates, length_penalty)[0]


def ranking(candidates: Sequence[Candidate], length_penalty: float | None = None) -> list[int]:
    """Positions of the candidates, best first.

    Args:
        length_penalty: None = by the mean log-prob a token; a number a = by sum / ((5 + length) / 6) ** a.
    """

    def value(candidate: Candidate) -> float:
        length = len(candidate.tokens)
        if length_penalty is None:
            return candidate.sum_log_prob / length if length else -np.inf
        return candidate.sum_log_prob / ((5 + length) / 6) ** length_penalty

    return sorted(range(len(candidates)), key=lambda i: -value(candidates[i]))


def _alive(state: BeamState) -> np.ndarray:
    return np.array([np.isfinite(score) for beams in state.live for _, score in beams])
