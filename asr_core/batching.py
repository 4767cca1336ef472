"""Which windows of which recordings go through the encoder together, and what was heard in them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from asr_core.alignment import Hypothesis
from asr_core.audio import AudioWarning, as_samples
from asr_core.longform import Chunking, Window, windows


@dataclass(frozen=True)
class Recording:
    """What is to be heard: samples at the model's rate, their windows, and what was wrong with the file."""

    samples: np.ndarray
    spans: tuple[Window, ...]
    warnings: tuple[str, ...]


def prepare(audio: Any, sample_rate: int, model_rate: int, chunking: Chunking, grid: int) -> Recording:
    """Read audio and cut it into windows; what is wrong with it becomes the recording's warnings.

    Args:
        audio: 1-D samples at `sample_rate`, or anything `read_audio` takes.
        grid: samples of one encoder frame.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", AudioWarning)
        samples = as_samples(audio, sample_rate, model_rate)
    said = []
    for warning in caught:
        if issubclass(warning.category, AudioWarning):
            said.append(str(warning.message))
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    return Recording(samples, tuple(windows(samples, model_rate, chunking, grid)), tuple(said))


class Work:
    """The windows of some recordings, in order, and what was heard in those that are done."""

    def __init__(self, recordings: Sequence[Recording], done: list[list[Hypothesis]]) -> None:
        self._recordings = recordings
        self._all = [(recording, span) for recording in recordings for span in recording.spans]
        self.done = done
        self.timings: dict[str, float] = {}

    @property
    def samples(self) -> int:
        return sum(span.last - span.first for _, span in self._all)

    @property
    def samples_done(self) -> int:
        return sum(span.last - span.first for _, span in self._all[: len(self.done)])

    def next(self, limit: int) -> list[np.ndarray] | None:
        """The next windows that fit a batch of `limit` padded samples (at least one); None when all are done."""
        batch: list[np.ndarray] = []
        for recording, span in self._all[len(self.done) :]:
            piece = recording.samples[span.start : span.end]
            longest = max(map(len, [*batch, piece]))
            if batch and longest * (len(batch) + 1) > limit:
                break
            batch.append(piece)
        return batch or None

    def add(self, found: list[list[Hypothesis]]) -> None:
        self.done += found

    def by_recording(self) -> list[list[list[Hypothesis]]]:
        """What was heard so far, by recording."""
        rest = iter(self.done)
        return [[h for _, h in zip(recording.spans, rest, strict=False)] for recording in self._recordings]
