"""A comparison as the page draws it: plain columns and rows (assets/compare.js)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import numpy as np

from asr_core import judging
from asr_core.comparison import Comparison, Difference
from asr_core.moments import worst_moments
from components.align_view import columns_of_audio, tiers_of
from components.compare_reference import measured
from components.documents import Document
from components.readings import readings_of
from components.trials import LETTERS, Column, Trial

KINDS = {"substitution": "other word", "boundary": "boundary moved"}


def data_of(trial: Trial, document: Document, known: Any = None) -> dict[str, Any]:
    """All that the page shows of a comparison.

    Args:
        known: name of the audio whose peaks the page already has.
    """
    comparison = trial.comparison
    return {
        **columns_of_audio(document, known),
        **judged_of(trial),
        "columns": [_column(column) for column in trial.columns],
        "partners": [[list(pair) for pair in pairs] for pairs in comparison.partners],
        "moved": trial.moved,
        "differences": differences_of(trial),
        "summaries": [
            {
                "words": one.words,
                "differ": one.words_differ,
                "rate": one.word_error_rate,
                "mean": finite(one.mean_shift),
                "p95": finite(one.p95_shift),
            }
            for one in comparison.summaries
        ],
    }


def judged_of(trial: Trial) -> dict[str, Any]:
    """What the person says about a comparison, and what follows from it; picks by position of the difference."""
    how = trial.normalization
    return {
        "id": trial.id,
        "revision": trial.revision,
        "normalization": {"case": how.ignore_case, "punctuation": how.ignore_punctuation},
        "picks": {str(i): choice for i, choice in trial.judged.items()},
        "tally": tally_of(trial),
        "reference": measured(trial),
    }


def differences_of(trial: Trial) -> list[dict[str, Any]]:
    """The rows of the table, in order of time."""
    comparison = trial.comparison
    slots = Slots(comparison)
    return [
        {
            "kind": one.kind,
            "edge": one.edge,
            "start": round(one.start, 6),
            "end": round(one.end, 6),
            "at": round(one.at, 6),
            "readings": list(one.readings),
            "shifts": [None if shift is None else round(shift, 6) for shift in one.shifts],
            "shift": None if one.shift is None else round(one.shift, 6),
            "slots": list(slots.of(one)),
        }
        for one in comparison.differences
    ]


class Slots:
    """Where the words that a transcript lacks would stand in it."""

    def __init__(self, comparison: Comparison) -> None:
        self._partners = comparison.partners
        # Of each transcript after the first: before which of its words the place behind each word of the first lies,
        # and which word of the first each of its own stands behind (-1 = before all).
        self._next: list[dict[int, int]] = []
        self._behind: list[dict[int, int]] = []
        for pairs in comparison.partners:
            following, behind = {-1: 0}, {}
            last, place = -1, 0
            for i, j in pairs:
                last = last if i is None else i
                if j is not None:
                    behind[j] = last
                    place = j + 1 if i is not None else place
                if i is not None:
                    following[i] = place
            self._next.append(following)
            self._behind.append(behind)

    def of(self, difference: Difference) -> Iterator[int | None]:
        """For each transcript the position of the word before which its empty slot stands; None where it has a word."""
        first = difference.readings[0]
        others = difference.readings[1:]
        anchor = first
        if first is None:
            anchor = next(self._behind[k][j] for k, j in enumerate(others) if j is not None)
            yield anchor + 1
        else:
            yield None
        for k, j in enumerate(others):
            yield self._next[k].get(anchor, 0) if j is None else None


def _column(column: Column) -> dict[str, Any]:
    shown = column.shown
    return {
        "name": column.name,
        "model": shown.model or "",
        "seconds": round(column.seconds, 3),
        "factor": column.seconds / shown.duration if shown.duration else None,
        "text": shown.text,
        "tiers": tiers_of(shown),
        "readings": readings_of(column),
    }


def finite(value: float) -> float | None:
    """JSON has no NaN."""
    return value if math.isfinite(value) else None


def tally_of(trial: Trial) -> dict[str, Any]:
    """The picks counted, with what they prove."""
    tally = judging.tally(trial.judged, len(trial.columns), len(trial.comparison.differences))
    return {"right": list(tally.right), "neither": tally.neither, "left": tally.left, "verdict": verdict(tally)}


def moments_of(trial: Trial, document: Document) -> list[dict[str, Any]]:
    """The worst moments of the first decoder's transcript, worst first."""
    audio = document.audio
    samples = audio.open().astype(np.float32) / 32_768
    comparison = trial.comparison
    found = worst_moments(comparison.transcripts[0], samples, audio.sample_rate, comparison.differences)
    return [asdict(one) for one in found]


def what_of(difference: Difference) -> str:
    """What happened, in plain words."""
    if difference.kind in KINDS:
        return KINDS[difference.kind]
    has = [letter for letter, place in zip(LETTERS, difference.readings, strict=False) if place is not None]
    return f"only in {', '.join(has)}"


def pick_name(pick: int | None) -> str:
    """What the person has picked, or nothing."""
    return "" if pick is None else "neither" if pick == judging.NEITHER else LETTERS[pick]


def verdict(tally: judging.Tally) -> str:
    """What the picks prove, in a sentence."""
    if not tally.decided or tally.leader is None:
        return "Too few yet to call a winner."
    chance = "less than 1 %" if tally.p_value < 0.01 else f"{100 * tally.p_value:.0f} %"
    return f"{LETTERS[tally.leader]} is right more often. Luck alone would do this in {chance} of such tests."
