"""Times for a text that is known: long recordings are cut where the recogniser heard what the text says."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from asr_core import transcribing
from asr_core.alignment import Hypothesis, Transcript, Word
from asr_core.batching import Recording
from asr_core.decoding.options import Confidence, Greedy
from asr_core.errors import Cancelled
from asr_core.longform import Chunking, Window, join, windows
from asr_core.metrics import align_words
from asr_core.progress import OnProgress, Progress
from asr_core.segmentation import Segmentation
from asr_core.stages import Stages

#: Seconds that are aligned in one piece, at most, where anchors allow.
PIECE = 30.0
#: Words in a row that must agree before a cut may go between them.
AGREE = 3


@dataclass(frozen=True)
class Piece:
    """A part of a text, and the seconds it lies in."""

    text: str
    start: float
    end: float


def align(
    stages: Stages,
    recording: Recording,
    text: str,
    head: str,
    segmentation: Segmentation,
    confidence: Confidence,
    on_progress: OnProgress | None,
    cancel: threading.Event | None,
) -> Transcript:
    """The most probable path of a text's tokens through a head's lattice; the work behind `Recognizer.align`.

    Raises:
        DecodingError: a part of the text has more tokens than its audio can hold.
        Cancelled: with the parts that were done.
    """
    rate, grid, samples = stages.info.sample_rate, stages.frame_samples, recording.samples
    duration = len(samples) / rate
    parts = [Piece(text, 0.0, duration)]
    if duration > 2 * PIECE:
        [heard] = transcribing.batch(stages, [recording], Greedy(), Segmentation(), on_progress, cancel)
        parts = pieces(text, heard.words, duration)
    edges = [round(part.start * rate) // grid * grid for part in parts] + [len(samples)]
    spans: list[Window] = []
    found: list[Hypothesis] = []

    def result() -> Transcript:
        whole = join(found, spans, stages.vocabulary, grid, rate)
        made = stages.transcript([whole], duration=duration, segmentation=segmentation, confidence=confidence)
        said = recording.warnings
        if unknown := stages.tokenizer.unknown_characters(text):
            said += (f"The model cannot write {' '.join(unknown)}; that part of the text has no tokens of its own.",)
        cuts = tuple(span.first / rate for span in spans[1:])
        return replace(made, decoding=Greedy(head=head, confidence=confidence), warnings=said, cuts=cuts)

    for part, (start, end) in zip(parts, pairwise(edges), strict=True):
        if cancel is not None and cancel.is_set():
            raise Cancelled(result())
        if on_progress is not None:
            on_progress(Progress(start / rate, duration, "align"))
        encoded = encoded_whole(stages, samples[start:end])
        found.append(stages.force(encoded, stages.tokenizer.encode(part.text), head, confidence))
        spans.append(Window(start, end, start, end))
    if on_progress is not None:
        on_progress(Progress(duration, duration, "align"))
    return result()


def encoded_whole(stages: Stages, samples: np.ndarray) -> np.ndarray:
    """(1, frames, width): the encoder's output of a piece of any length, heard in windows where it is long."""
    rate, grid = stages.info.sample_rate, stages.frame_samples
    parts = []
    for window in windows(samples, rate, Chunking(), grid):
        encoded, lengths = stages.encode_audio([samples[window.start : window.end]])
        first = (window.first - window.start) // grid
        last = lengths[0] if window.last == window.end else (window.last - window.start) // grid
        parts.append(encoded[:, first:last])
    return np.concatenate(parts, axis=1) if parts else stages.encode_audio([samples])[0]


def pieces(text: str, heard: Sequence[Word], duration: float, length: float = PIECE) -> list[Piece]:
    """Cut a text and a recording into parts that belong together.

    A cut goes between two words that the recogniser heard in a row as the text has them, at the middle of the silence
    between them; parts are as long as `length` allows.

    Args:
        heard: the recogniser's words, in order of time.
        duration: seconds of the recording.
    """
    words = text.split()
    wanted, known = [_plain(w) for w in words], [_plain(w.text) for w in heard]
    cuts: list[tuple[int, float]] = []  # how many words stand before it, and when
    agreed = 0
    for i, j in align_words(wanted, known):
        agreed = agreed + 1 if i is not None and j is not None and wanted[i] == known[j] else 0
        if agreed >= AGREE:
            # Between the last two of them, so that one that agrees stands on either side.
            cuts.append((i, (heard[j - 1].end + heard[j].start) / 2))
    parts: list[Piece] = []
    first, start = 0, 0.0
    for index, (position, when) in enumerate(cuts):
        following = cuts[index + 1][1] if index + 1 < len(cuts) else duration
        if following - start > length and when > start:
            parts.append(Piece(" ".join(words[first:position]), start, when))
            first, start = position, when
    parts.append(Piece(" ".join(words[first:]), start, duration))
    return parts


def _plain(word: str) -> str:
    return "".join(c for c in word.casefold() if c.isalnum())
