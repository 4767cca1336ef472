"""Long audio: where to cut it, and how to put the pieces together again.

A full-context encoder costs memory with the square of its window, so long audio is heard in windows. Cuts go where it
is quiet. Where it is nowhere quiet, neighbouring windows overlap, and their words are joined at a word both heard.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from asr_core import checks
from asr_core.alignment import Hypothesis, concatenated
from asr_core.errors import DecodingError
from asr_core.text import Vocabulary

#: Seconds of overlap where the audio is cut in the middle of speech and the settings do not say.
OVERLAP = 4.0
#: Seconds that must be quiet for a cut without overlap.
PAUSE = 0.24
#: Quiet means this many dB below the loud parts of the recording.
QUIET_DB = 35.0
#: Seconds by which two windows may place the same word apart.
SAME_WORD = 0.3
#: Seconds of one measurement of loudness.
TICK = 0.01


@dataclass(frozen=True)
class Chunking:
    """How long audio is cut.

    Args:
        length: seconds of one piece, at most.
        overlap: seconds that neighbouring windows share around a cut; None = none at a pause, else as needed.
        at_silence: move each cut to the quietest place in the second half of its piece.
    """

    length: float = 30.0
    overlap: float | None = None
    at_silence: bool = True

    def __post_init__(self) -> None:
        if not checks.is_number(self.length) or not 1 <= self.length < checks.LARGEST:
            raise DecodingError(f"Chunking.length is at least 1 second, not {checks.shown(self.length)}.")
        overlap = self.overlap
        if overlap is not None and not (checks.is_number(overlap) and 0 <= overlap < self.length):
            raise DecodingError(
                f"Chunking.overlap is at least 0 and less than the length of {self.length} s, or None, "
                f"not {checks.shown(overlap)}."
            )
        checks.flag("Chunking.at_silence", self.at_silence)


class Window(NamedTuple):
    """A piece of a recording, in samples: [`start`, `end`) is heard, and [`first`, `last`) is the piece's own part."""

    start: int
    end: int
    first: int
    last: int


def windows(samples: np.ndarray, sample_rate: int, chunking: Chunking, grid: int) -> list[Window]:
    """Cut a recording.

    Args:
        samples: (samples,) float.
        grid: samples of one encoder frame; windows begin on it, so that frames of all windows are on one clock.
    Returns:
        Windows in order, whose own parts cover the recording without gap or overlap. One where it is short.
    """
    total = len(samples)
    length = int(chunking.length * sample_rate)
    if total <= length:
        return [Window(0, total, 0, total)] if total else []
    loudness = _loudness(samples, sample_rate)
    quiet = np.percentile(loudness, 95) - QUIET_DB
    cuts, margins = [0], [0]
    while total - cuts[-1] > length:
        cut, is_pause = cuts[-1] + length, False
        if chunking.at_silence:
            cut, is_pause = _quietest(loudness, quiet, cuts[-1] + length // 2, cut, sample_rate)
        overlap = chunking.overlap if chunking.overlap is not None else (0.0 if is_pause else OVERLAP)
        cuts.append(max(cuts[-1] + grid, cut // grid * grid))
        margins.append(math.ceil(min(overlap, chunking.length / 2) / 2 * sample_rate / grid) * grid)
    cuts.append(total)
    margins.append(0)
    return [
        Window(max(0, cuts[i] - margins[i]), min(total, cuts[i + 1] + margins[i + 1]), cuts[i], cuts[i + 1])
        for i in range(len(cuts) - 1)
    ]


def join(
    pieces: Sequence[Hypothesis], spans: Sequence[Window], vocabulary: Vocabulary, grid: int, sample_rate: int
) -> Hypothesis:
    """Put the hypotheses of neighbouring windows together: every word once, in order.

    Args:
        pieces: one hypothesis a window, frames counted from the window's start.
        spans: the windows; `grid` samples make a frame.
    Returns:
        One hypothesis with frames counted from the start of the recording; its score is the sum.
    """
    if not pieces:
        return Hypothesis((), (), (), 0.0, (), ())
    shifted = [_place(piece, span, grid) for piece, span in zip(pieces, spans, strict=True)]
    tolerance = SAME_WORD * sample_rate / grid
    joined = shifted[0]
    for piece, span, before in zip(shifted[1:], spans[1:], spans, strict=False):
        if before.end > span.start:
            left, right = _seam(joined, piece, span.first / grid, span.start / grid, tolerance, vocabulary)
            joined, piece = _slice(joined, 0, left), _slice(piece, right, len(piece.token_ids))
        joined = concatenated(joined, piece)
    return joined


def _loudness(samples: np.ndarray, sample_rate: int) -> np.ndarray:
    """(ticks,) dB, each over three ticks."""
    tick = int(TICK * sample_rate)
    usable = np.asarray(samples[: len(samples) // tick * tick], np.float32).reshape(-1, tick)
    energy = np.einsum("ij,ij->i", usable, usable) / tick
    smooth = np.convolve(energy, np.full(3, 1 / 3), mode="same")
    return 10 * np.log10(smooth + 1e-10)


def _quietest(loudness: np.ndarray, quiet: float, first: int, last: int, sample_rate: int) -> tuple[int, bool]:
    """The sample to cut at between `first` and `last`, and whether it lies in a pause.

    The middle of the longest pause, else the quietest tick.
    """
    tick = int(TICK * sample_rate)
    zone = loudness[first // tick : last // tick]
    silent = np.concatenate([[False], zone <= quiet, [False]]).astype(np.int8)
    starts, ends = np.flatnonzero(np.diff(silent) == 1), np.flatnonzero(np.diff(silent) == -1)
    if len(starts) and (ends - starts).max() * TICK >= PAUSE:
        longest = int((ends - starts).argmax())
        return first + int(starts[longest] + ends[longest]) // 2 * tick, True
    return first + int(zone.argmin()) * tick, False


def _seam(
    left: Hypothesis, right: Hypothesis, cut: float, shared_from: float, tolerance: float, vocabulary: Vocabulary
) -> tuple[int, int]:
    """Where to leave `left` and enter `right`: the number of tokens kept of the one and skipped of the other."""
    ours, theirs = _words(left, vocabulary, shared_from), _words(right, vocabulary, 0.0)
    best, meeting = math.inf, None
    for a in ours:
        for b in theirs:
            apart = abs(a.middle - b.middle)
            if a.ids == b.ids and apart <= tolerance:
                distance = abs((a.middle + b.middle) / 2 - cut) + apart
                if distance < best:
                    best, meeting = distance, (a.end, b.end)
    if meeting:
        return meeting
    # Nothing in common: each window keeps what lies on its own side, and of two readings of one span the surer one.
    keep, late = [a for a in ours if a.middle < cut], [a for a in ours if a.middle >= cut]
    take, early = [b for b in theirs if b.middle >= cut], [b for b in theirs if b.middle < cut]
    if late and early and _overlap(late[0], early[-1]):
        keep.append(late[0])  # each window would leave this span to the other
    if keep and take and _overlap(keep[-1], take[0]):
        if keep[-1].confidence < take[0].confidence:
            keep.pop()
        else:
            take.pop(0)
    first_ours = ours[0].start if ours else len(left.token_ids)
    return keep[-1].end if keep else first_ours, take[0].start if take else len(right.token_ids)


def _overlap(a: _Word, b: _Word) -> bool:
    """Whether two words share more than half of the shorter one's time."""
    shared = min(a.to_frame, b.to_frame) - max(a.from_frame, b.from_frame)
    return 2 * shared > min(a.to_frame - a.from_frame, b.to_frame - b.from_frame)


@dataclass(frozen=True)
class _Word:
    """Tokens [start, end) of a hypothesis that form a word, and the frames they span."""

    start: int
    end: int
    ids: tuple[int, ...]
    from_frame: int
    to_frame: int
    confidence: float

    @property
    def middle(self) -> float:
        return (self.from_frame + self.to_frame) / 2


def _words(hypothesis: Hypothesis, vocabulary: Vocabulary, after: float) -> list[_Word]:
    """The words that end after a frame."""
    ids = hypothesis.token_ids
    starts = [i for i, token in enumerate(ids) if i == 0 or vocabulary.starts_word(token)]
    words = []
    for a, b in pairwise([*starts, len(ids)]):
        span = hypothesis.start_frames[a], hypothesis.end_frames[b - 1]
        if span[1] > after:
            words.append(_Word(a, b, ids[a:b], *span, min(hypothesis.confidences[a:b])))
    return words


def _place(piece: Hypothesis, span: Window, grid: int) -> Hypothesis:
    """On the recording's clock. A TDT token may claim frames behind its window's end: those are not its own."""
    offset, end = span.start // grid, -(-span.end // grid)
    return replace(
        piece,
        start_frames=tuple(t + offset for t in piece.start_frames),
        end_frames=tuple(min(t + offset, end) for t in piece.end_frames),
    )


def _slice(piece: Hypothesis, first: int, last: int) -> Hypothesis:
    cut = slice(first, last)
    return replace(
        piece,
        token_ids=piece.token_ids[cut],
        start_frames=piece.start_frames[cut],
        end_frames=piece.end_frames[cut],
        confidences=piece.confidences[cut],
        log_probs=piece.log_probs[cut],
    )
