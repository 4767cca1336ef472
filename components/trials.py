"""The comparisons that people look at: one recording, what each decoder heard, and what the person says about it."""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import asr_core
from asr_core.comparison import MOVED, Comparison, Difference
from components.documents import reading_of

#: Kept at once; the one unused for longest goes.
KEPT = 32
LETTERS = "ABCD"
#: What a pick belongs to: kind, edge, positions of the words, and the readings that were shown then.
PickKey = tuple[Any, ...]


@dataclass(frozen=True)
class Column:
    """What one decoder heard.

    Args:
        name: of the decoder, as the page says it.
        transcript: the best reading, with the others as its alternatives.
        picked: the reading that is shown: 0 = the best.
    """

    name: str
    transcript: asr_core.Transcript
    picked: int = 0

    @property
    def shown(self) -> asr_core.Transcript:
        return reading_of(self.transcript, self.picked)

    @property
    def seconds(self) -> float:
        """Seconds of work: features and encoder, which columns of one model share, and the decoder's own."""
        return self.transcript.timings.get("total", 0.0)


@dataclass(frozen=True)
class Reference:
    """What was really said.

    Args:
        name: of the file it came from; "" where it was typed.
        timed: whether its words have times of their own.
    """

    transcript: asr_core.Transcript
    name: str = ""
    timed: bool = False

    @property
    def words(self) -> str:
        """The words, separated by single spaces."""
        return " ".join(self.transcript.text.split())


@dataclass(frozen=True)
class Trial:
    """One comparison.

    Args:
        id: unguessable.
        document: id of the recording.
        moved: seconds beyond which a moved boundary is listed.
        normalization: what counts as the same word where a decoder is measured against the reference.
        picks: of differences, by `key_of`: position of the column that is right, or `judging.NEITHER`.
        revision: +1 with every change.
    """

    id: str
    document: str
    columns: tuple[Column, ...]
    moved: float = MOVED
    normalization: asr_core.Normalization = field(default_factory=asr_core.Normalization)
    reference: Reference | None = None
    picks: Mapping[PickKey, int] = field(default_factory=dict)
    revision: int = 0

    @cached_property
    def comparison(self) -> Comparison:
        return asr_core.compare([column.shown for column in self.columns], moved=self.moved)

    def compares_as(self, other: Trial) -> bool:
        """Whether both have the same words and differences."""
        return self.columns == other.columns and self.moved == other.moved

    def changed(self, **changes: Any) -> Trial:
        """With other fields, one revision on."""
        trial = replace(self, revision=self.revision + 1, **changes)
        if trial.compares_as(self) and "comparison" in vars(self):
            vars(trial)["comparison"] = self.comparison  # seconds of work where the recording is long
        return trial

    @cached_property
    def judged(self) -> dict[int, int]:
        """The picks by position of the difference."""
        keys = (self.key_of(difference) for difference in self.comparison.differences)
        return {i: self.picks[key] for i, key in enumerate(keys) if key in self.picks}

    def key_of(self, difference: Difference) -> PickKey:
        return (difference.kind, difference.edge, difference.readings, tuple(column.picked for column in self.columns))


class UnknownTrialError(LookupError):
    """No comparison has this id (any more)."""


class Trials:
    """The store. Every method may be called from any thread."""

    def __init__(self, *, kept: int = KEPT) -> None:
        self._kept = kept
        self._lock = threading.Lock()
        self._trials: OrderedDict[str, Trial] = OrderedDict()

    def add(self, document: str, columns: Sequence[Column]) -> Trial:
        trial = Trial(secrets.token_urlsafe(18), document, tuple(columns))
        with self._lock:
            self._trials[trial.id] = trial
            while len(self._trials) > self._kept:
                self._trials.popitem(last=False)
        return trial

    def get(self, key: Any) -> Trial:
        """The comparison with this id. Raises UnknownTrialError."""
        with self._lock:
            return self._get(key)

    def update(self, key: Any, **changes: Any) -> Trial:
        """Replace fields of a comparison; its revision goes up. Raises UnknownTrialError."""
        with self._lock:
            trial = self._get(key).changed(**changes)
            self._trials[trial.id] = trial
        return trial

    def _get(self, key: Any) -> Trial:
        found = self._trials.get(key) if isinstance(key, str) else None
        if found is None:
            raise UnknownTrialError("This comparison is no longer kept here. Press Compare again.")
        self._trials.move_to_end(found.id)
        return found
