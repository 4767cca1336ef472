"""Recordings of any length (openai-whisper's `transcribe`): windows of 30 s that move by the model's own timestamps.

One window differs from openai-whisper's: behind the end of the recording stands the log-mel of silence, as in training,
and not the number 0. So a short recording gets what its one window gets when it is decoded by itself.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from asr_core.alignment import Hypothesis, concatenated
from asr_core.decoding.autoregressive import Candidate
from asr_core.decoding.options import Beam, Greedy, Whisper
from asr_core.errors import Cancelled
from asr_core.whisper import detection, word_times
from asr_core.whisper import features as front_end
from asr_core.whisper.fallback import is_silence, with_fallback
from asr_core.whisper.stages import WhisperStages
from asr_core.whisper.tokenizer import SpecialTokens
from asr_core.whisper.words import Segment, believable

if TYPE_CHECKING:
    from asr_core.models.whisper_cache import DecoderCache

#: A text drawn at a higher temperature is no prompt for what follows.
UNRELIABLE = 0.5
#: Mel frames a second, and mel frames of one step of the timestamps.
FRAMES_PER_SECOND, FRAMES_PER_STEP = 100, 2
#: Windows of a recording whose encodings are kept for other decoders.
KEPT = 32

EMPTY = Hypothesis((), (), (), 0.0, (), ())


@dataclass
class Sound:
    """A recording and what has been computed of it, shared by all that decode it.

    Args:
        samples: (samples,) at 16 kHz.
        encode: (3000, mels) to (1, 1500, width).
    """

    samples: np.ndarray
    mel: np.ndarray
    encode: Callable[[np.ndarray], np.ndarray]
    timings: dict[str, float] = field(default_factory=dict)
    _encoded: dict[int, np.ndarray] = field(default_factory=dict)

    @property
    def frames(self) -> int:
        """Mel frames of the recording proper."""
        return len(self.samples) // front_end.HOP

    def anything_in(self, seek: int) -> bool:
        """Whether the window that begins with a mel frame holds any sound: in plain zeros Whisper hears "you"."""
        start = seek * front_end.HOP
        return bool(self.samples[start : start + front_end.SAMPLES].any())

    def now(self) -> float:
        """A clock that stands still while the encoder works."""
        return time.perf_counter() - self.timings.get("encoder", 0.0)

    def timings_since(self, started: float) -> dict[str, float]:
        """Seconds of work by stage; those of features and encoder are shared by all decoders."""
        stages = {**self.timings, "decoder": self.now() - started}
        return {**stages, "total": sum(stages.values())}

    def encoded(self, seek: int) -> np.ndarray:
        """(1, 1500, width) of the window that begins with a mel frame."""
        if seek not in self._encoded:
            started = time.perf_counter()
            while len(self._encoded) >= KEPT:
                del self._encoded[next(iter(self._encoded))]
            self._encoded[seek] = self.encode(front_end.window(self.mel, seek))
            self.timings["encoder"] = self.timings.get("encoder", 0.0) + time.perf_counter() - started
        return self._encoded[seek]


@dataclass(frozen=True)
class Heard:
    """What one decoder has made of a recording so far, and what it needs to go on.

    Args:
        seek: mel frame at which the next window begins.
        texts: the best text of what was heard, and while there is one window, the others behind it.
        before: tokens that prompt the next window.
        last_speech: seconds.
        cuts: seconds at which windows began, but for the first.
    """

    seek: int = 0
    texts: tuple[Hypothesis, ...] = (EMPTY,)
    before: tuple[int, ...] = ()
    language: str | None = None
    last_speech: float = 0.0
    cuts: tuple[float, ...] = ()


def hear(
    stages: WhisperStages,
    sound: Sound,
    decoding: Greedy | Beam,
    heard: Heard,
    cancel: threading.Event | None,
    report: Callable[[Heard], None],
) -> Heard:
    """Decode a recording from where `heard` stands to its end.

    Args:
        report: told what has been heard, before each window and at the end.
    Raises:
        Cancelled: its state is a `Heard`.
    """
    options, decoder = decoding.whisper or Whisper(), stages.decoder
    if heard == Heard() and options.prompt:
        heard = replace(heard, before=tuple(stages.tokenizer.encode(options.prompt)))
    while heard.seek < sound.frames:
        report(heard)
        if cancel is not None and cancel.is_set():
            raise Cancelled(state=(heard,))
        if not sound.anything_in(heard.seek):
            heard = replace(heard, seek=heard.seek + front_end.FRAMES)
            continue
        cache = decoder.begin(sound.encoded(heard.seek))
        if heard.language is None:
            heard = replace(heard, language=detection.language_of(decoder, cache, stages.vocabulary.special, options))
        try:
            heard = _window(stages, sound, decoding, options, heard, cache, cancel)
        except Cancelled:
            raise Cancelled(state=(heard,)) from None
    report(heard)
    return heard


def _window(
    stages: WhisperStages,
    sound: Sound,
    decoding: Greedy | Beam,
    options: Whisper,
    heard: Heard,
    cache: DecoderCache,
    cancel: threading.Event | None,
) -> Heard:
    """Decode one window and move behind it.

    Args:
        cache: the decoder's, of the window, before its first token.
    """
    size = min(front_end.FRAMES, sound.frames - heard.seek)
    cuts = (*heard.cuts, heard.seek / FRAMES_PER_SECOND) if heard.seek else heard.cuts
    heard = replace(heard, cuts=cuts)
    decoder, tokenizer = stages.decoder, stages.tokenizer
    reading = with_fallback(decoder, tokenizer, decoding, options, heard.language, heard.before, cache, cancel)
    if is_silence(reading):
        # What was detected where nothing is said is no language to keep.
        language = heard.language if heard.texts[0].token_ids else options.language
        return replace(heard, seek=heard.seek + size, language=language)
    special = stages.vocabulary.special
    cut = cut_at_timestamps(reading.best.tokens, size, special)
    offset, start_tokens = heard.seek / FRAMES_PER_SECOND, stages.start_tokens(heard.language, options.task)
    only = heard.seek == 0 and cut.advance >= sound.frames
    candidates = reading.candidates if only and isinstance(decoding, Beam) else (reading.best,)
    made = []
    for candidate in candidates:
        whole = cut if candidate is reading.best else cut_at_timestamps(candidate.tokens, size, special)
        made.append(
            timed(
                stages,
                cache,
                candidate,
                whole,
                start_tokens,
                size // 2,
                decoding,
                offset,
                heard.last_speech,
            )
        )
    text = made[0]
    advance = cut.advance
    if text.token_ids and (cut.by_timestamp or (not options.timestamps and size == front_end.FRAMES)):
        # The end of the last word is a better place than the timestamp.
        behind = text.end_frames[-1] * FRAMES_PER_STEP - heard.seek
        advance = min(behind, size) if behind > 0 else advance
    said = tuple(token for token in reading.best.tokens[: cut.tokens])
    before = (*heard.before, *said) if reading.temperature <= UNRELIABLE else ()
    whole = (
        (concatenated(heard.texts[0], text), *made[1:]) if heard.seek == 0 else (concatenated(heard.texts[0], text),)
    )
    spoken = text.end_frames[-1] * stages.config.frame_seconds if text.token_ids else heard.last_speech
    return replace(heard, seek=heard.seek + max(1, advance), texts=whole, before=before, last_speech=spoken)


@dataclass(frozen=True)
class Cut:
    """Where a window's text is cut.

    Args:
        segments: (first token, token behind the last, start, end) with steps of 0.02 s from the window's beginning.
        tokens: how many tokens are kept; what follows is heard again.
        advance: mel frames to the next window.
        by_timestamp: whether the text ended in the middle of the window, so that a timestamp says where to go on.
    """

    segments: tuple[tuple[int, int, int, int], ...]
    tokens: int
    advance: int
    by_timestamp: bool = False


def cut_at_timestamps(tokens: Sequence[int], size: int, special: SpecialTokens) -> Cut:
    """Cut a text where one timestamp follows another.

    Args:
        size: mel frames of the window that are audio.
    """
    is_time = [token >= special.first_timestamp for token in tokens]
    edges = [i for i in range(1, len(tokens)) if is_time[i - 1] and is_time[i]]
    if not edges:
        times = [token - special.first_timestamp for token in tokens if token >= special.first_timestamp]
        end = times[-1] if times and times[-1] else size // FRAMES_PER_STEP
        start = tokens[0] - special.first_timestamp if tokens and is_time[0] else 0
        return Cut(((0, len(tokens), start, end),), len(tokens), size)
    single = is_time[-2:] == [False, True]
    if single:
        edges.append(len(tokens))
    segments = tuple(
        (a, b, tokens[a] - special.first_timestamp, tokens[b - 1] - special.first_timestamp)
        for a, b in zip([0, *edges], edges, strict=False)
    )
    if single:
        return Cut(segments, edges[-1], size)
    return Cut(segments, edges[-1], min(size, FRAMES_PER_STEP * segments[-1][3]), by_timestamp=True)


def timed(
    stages: WhisperStages,
    cache: DecoderCache,
    candidate: Candidate,
    cut: Cut,
    start_tokens: Sequence[int],
    frames: int,
    decoding: Greedy | Beam,
    offset: float = 0.0,
    last_speech: float = 0.0,
) -> Hypothesis:
    """A text with times: its text's tokens, in frames of the recording.

    Args:
        cache: the decoder's, before the window's first token.
        frames: encoder frames of the window that are audio.
        offset: seconds at which the window begins.
        last_speech: seconds at which the segment before ended.
    """
    special, step = stages.vocabulary.special, stages.config.frame_seconds
    pieces = [[t for t in candidate.tokens[a:b] if t < special.end] for a, b, _, _ in cut.segments]
    text = [token for piece in pieces for token in piece]
    found = word_times.align(stages.decoder, cache, text, stages.tokenizer, start_tokens, frames, decoding.confidence)
    segments = [
        Segment(offset + start * step, offset + min(end, frames) * step, len(piece))
        for piece, (_, _, start, end) in zip(pieces, cut.segments, strict=True)
    ]
    starts, ends = believable(
        text, offset + found.starts * step, offset + found.ends * step, segments, last_speech, stages.vocabulary
    )
    return Hypothesis(
        tuple(text),
        tuple(int(frame) for frame in np.rint(starts / step)),
        tuple(int(frame) for frame in np.rint(ends / step)),
        candidate.sum_log_prob,
        tuple(float(value) for value in found.confidences),
        tuple(float(value) for value in found.log_probs),
    )
