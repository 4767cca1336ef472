"""Where to look first: the moments of a recording that are most likely wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from asr_core.alignment import Transcript
from asr_core.comparison import Difference

Kind = Literal["unsure", "differences", "unheard"]

#: Seconds of one moment.
WINDOW = 4.0
#: Seconds of one measurement of loudness.
TICK = 0.02
#: A gap sounds like speech where it is at most this many dB below the words around it.
SPEECH_DB = 20.0
#: Seconds of such sound that make a gap worth looking at.
SHORTEST = 0.4


@dataclass(frozen=True)
class Moment:
    """A span worth looking at.

    Args:
        kind: "unsure" = low confidence; "differences" = decoders differ; "unheard" = it sounds like speech, but no
            word was heard.
        start, end: seconds.
        value: mean token confidence, number of differences, or seconds of sound.
        severity: 0..1, comparable between kinds.
    """

    kind: Kind
    start: float
    end: float
    value: float
    severity: float


def worst_moments(
    transcript: Transcript,
    samples: np.ndarray,
    sample_rate: int,
    differences: Sequence[Difference] = (),
    *,
    count: int = 10,
    window: float = WINDOW,
) -> tuple[Moment, ...]:
    """The worst moments, worst first; moments of one kind do not overlap.

    Args:
        samples: (samples,) float32 of the recording.
        differences: between this transcript and others.
        count: moments returned, at most.
    """
    found = [
        *_unsure(transcript, window, count),
        *_differing(differences, transcript.duration, window, count),
        *_unheard(transcript, samples, sample_rate, count),
    ]
    return tuple(sorted(found, key=lambda moment: (-moment.severity, moment.start))[:count])


def _unsure(transcript: Transcript, window: float, count: int) -> list[Moment]:
    tokens = transcript.tokens
    starts = np.array([token.start for token in tokens])
    doubts = np.array([1 - token.confidence for token in tokens])
    found = []
    for first, last in _densest(starts, doubts, window, count):
        mean = 1 - float(doubts[first:last].mean())
        if mean < 1:
            end = max(token.end for token in tokens[first:last])
            found.append(Moment("unsure", float(starts[first]), end, mean, 1 - mean))
    return found


def _differing(differences: Sequence[Difference], duration: float, window: float, count: int) -> list[Moment]:
    ordered = sorted(differences, key=lambda difference: difference.start)
    starts = np.array([difference.start for difference in ordered])
    weights = np.array([0.25 if difference.kind == "boundary" else 1.0 for difference in ordered])
    found = []
    for first, last in _densest(starts, weights, window, count):
        end = min(duration, max(difference.end for difference in ordered[first:last]))
        amount = float(weights[first:last].sum())
        found.append(Moment("differences", float(starts[first]), end, last - first, amount / (amount + 1)))
    return found


def _unheard(transcript: Transcript, samples: np.ndarray, sample_rate: int, count: int) -> list[Moment]:
    """Gaps between words in which there is sound about as loud as the words are."""
    loudness = _loudness(samples, sample_rate)
    spoken = np.zeros(len(loudness), bool)
    for word in transcript.words:
        spoken[int(word.start / TICK) : int(np.ceil(word.end / TICK))] = True
    if not len(loudness):
        return []
    level = np.percentile(loudness[spoken], 75) if spoken.any() else np.percentile(loudness, 95)
    sounding = ~spoken & (loudness > max(level - SPEECH_DB, -60.0))
    edges = np.flatnonzero(np.diff(np.concatenate([[True], spoken, [True]]).astype(np.int8)))
    found = []
    for first, last in zip(edges[::2], edges[1::2], strict=False):
        inside = np.flatnonzero(sounding[first:last])
        seconds = len(inside) * TICK
        if seconds >= SHORTEST:
            start, end = (first + inside[0]) * TICK, (first + inside[-1] + 1) * TICK
            severity = seconds / (seconds + 1)
            found.append(Moment("unheard", float(start), min(float(end), transcript.duration), seconds, severity))
    return sorted(found, key=lambda moment: -moment.severity)[:count]


def _densest(starts: np.ndarray, weights: np.ndarray, window: float, count: int) -> list[tuple[int, int]]:
    """Runs [first, last) of entries that start within `window` seconds and weigh most; none overlaps another."""
    if not len(starts):
        return []
    lasts = np.searchsorted(starts, starts + window, side="left")
    sums = np.concatenate([[0.0], np.cumsum(weights)])
    totals = sums[lasts] - sums[:-1]
    taken, found = np.zeros(len(starts), bool), []
    for first in np.argsort(-totals, kind="stable"):
        last = int(lasts[first])
        if len(found) == count or totals[first] <= 0:
            break
        if not taken[first:last].any():
            taken[first:last] = True
            found.append((int(first), last))
    return found


def _loudness(samples: np.ndarray, sample_rate: int) -> np.ndarray:
    """(ticks,) dB."""
    tick = max(1, int(TICK * sample_rate))
    usable = np.asarray(samples[: len(samples) // tick * tick], np.float32).reshape(-1, tick)
    return 10 * np.log10(np.einsum("ij,ij->i", usable, usable) / tick + 1e-10)
