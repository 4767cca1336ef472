"""What reviewing showed: how wrong the machine was, how fast it went, and whether its confidence can be believed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from asr_core.alignment import Transcript, Word
from asr_core.annotation.document import Document
from asr_core.annotation.entries import LogEntry
from asr_core.calibration import Reliability, reliability
from asr_core.metrics import (
    BoundaryReport,
    align_words,
    boundary_report,
    matched_words,
    milliseconds_apart,
    word_error_rate,
)
from asr_core.normalization import Normalization

#: Seconds without an edit after which nobody was working.
IDLE = 120.0
#: Share of the wrong words that a threshold worth reviewing finds.
FOUND = 0.9


@dataclass(frozen=True)
class Quality:
    """The machine's first version beside what people made of it.

    Args:
        edits: that stand or stood, undos and redos not counted.
        minutes: of work: time between edits, long pauses left out.
        words: of the corrected text.
        words_changed: substitutions, insertions and deletions together.
        word_error_rate: of the machine's text against the corrected one.
        boundaries: differences of the words that both have.
        calibration: confidence of the machine's words against whether they stayed.
        threshold: reviewing all words below this confidence would have found 9 of 10 wrong words with the least
            reading; None where nothing was wrong.
        share_below: share of the machine's words below it.
    """

    edits: int
    minutes: float
    words: int
    words_changed: int
    word_error_rate: float
    boundaries: BoundaryReport
    calibration: Reliability
    threshold: float | None
    share_below: float

    @property
    def edits_per_minute(self) -> float:
        """NaN where nobody worked."""
        return self.edits / self.minutes if self.minutes else float("nan")


@dataclass(frozen=True)
class Reviewed:
    """One document: as the machine made it, as it was corrected, and its log."""

    machine: Document
    corrected: Document
    log: Sequence[LogEntry] = ()


def report(documents: Sequence[Reviewed], normalization: Normalization = Normalization()) -> Quality:  # noqa: B008
    """The quality of one document or of several together.

    Args:
        normalization: what counts as the same word.
    """
    pairs: list[tuple[Word, Word]] = []
    count: Counter[str] = Counter()
    confidences: list[float] = []
    stayed: list[bool] = []
    for document in documents:
        machine, corrected = (
            normalization.transcript(one.transcript()) for one in (document.machine, document.corrected)
        )
        errors = word_error_rate(corrected, machine)
        count += Counter(pair.operation for pair in errors.alignment)
        pairs += matched_words(corrected, machine)
        sure, right = _stayed(machine, corrected)
        confidences, stayed = confidences + sure, stayed + right
    wrong = count["substitute"] + count["insert"] + count["delete"]
    words = count.total() - count["insert"]
    threshold, share = worth_reviewing(confidences, stayed)
    return Quality(
        edits=sum(line.kind == "edit" for document in documents for line in document.log),
        minutes=sum(_minutes(document.log) for document in documents),
        words=words,
        words_changed=wrong,
        word_error_rate=wrong / max(words, 1),
        boundaries=boundary_report(pairs),
        calibration=reliability(confidences, stayed),
        threshold=threshold,
        share_below=share,
    )


def worth_reviewing(confidences: Sequence[float], right: Sequence[bool]) -> tuple[float | None, float]:
    """The lowest confidence below which FOUND of the wrong words lie, and the share of all words below it."""
    sure, wrong = np.asarray(confidences, float), ~np.asarray(right, bool)
    if not wrong.any():
        return None, 0.0
    order = np.sort(sure[wrong])
    last = order[int(np.ceil(FOUND * len(order))) - 1]
    threshold = float(np.nextafter(last, np.inf))
    return min(1.0, threshold), float((sure < threshold).mean())


def _stayed(machine: Transcript, corrected: Transcript) -> tuple[list[float], list[bool]]:
    """The confidence of the machine's words where it is known, and whether they were left as they were."""
    ours, theirs = machine.words, corrected.words
    pairs = align_words([w.text for w in ours], [w.text for w in theirs], milliseconds_apart(ours, theirs))
    kept = {i for i, j in pairs if i is not None and j is not None and ours[i].text == theirs[j].text}
    known = [i for i, word in enumerate(ours) if not math.isnan(word.confidence)]
    return [ours[i].confidence for i in known], [i in kept for i in known]


def _minutes(log: Sequence[LogEntry]) -> float:
    """Time between neighbouring entries; a long pause counts as IDLE. One entry is no time."""
    return sum(min(b.at - a.at, IDLE) for a, b in pairwise(log)) / 60
