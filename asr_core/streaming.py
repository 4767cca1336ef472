"""Live decoding: audio comes in packets, final text grows, and a draft of the last seconds follows the voice.

The encoder of an offline model sees a window: some seconds that were heard before, the chunk that is decoded, and some
that follow it. Windows lie on a fixed grid of the recording, so the result is the same however the audio was cut into
packets, and the same as that of the whole recording cut into these windows.
"""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass, replace
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from asr_core import features as front_end
from asr_core.alignment import Hypothesis, Transcript, concatenated, shifted
from asr_core.decoding.live import Decoder
from asr_core.decoding.options import Greedy
from asr_core.engine import Priority
from asr_core.errors import DecodingError
from asr_core.live_transcript import LiveTranscript
from asr_core.running_audio import RunningFeatures, RunningSamples
from asr_core.segmentation import Segmentation

if TYPE_CHECKING:
    from asr_core.recognizer import Recognizer


@dataclass(frozen=True)
class StreamWindow:
    """What the encoder sees at a time, in seconds.

    Args:
        left: heard before the chunk, for context.
        chunk: what is decoded for good.
        right: what follows it; final text lies this far behind the voice, or up to a chunk more.
        draft_every: a draft of what is not final yet is made each time so much has come; None = no drafts.
    """

    left: float = 10.0
    chunk: float = 2.0
    right: float = 2.0
    draft_every: float | None = 0.5

    def __post_init__(self) -> None:
        for name, least in (("left", 0.0), ("chunk", 0.08), ("right", 0.0), ("draft_every", 0.08)):
            value = getattr(self, name)
            if name == "draft_every" and value is None:
                continue
            is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
            if not is_number or not least <= value <= 60:
                raise DecodingError(f"StreamWindow.{name} is from {least:g} to 60 seconds, not {value!r}.")


@dataclass(frozen=True)
class StreamUpdate:
    """Where a stream stands.

    Args:
        final: all that will not change any more.
        draft: what was heard behind it; it will be heard again with more context.
        seconds: of audio that have come.
        utterances: that have ended, by a pause or because the model said so.
    """

    final: Transcript
    draft: Transcript
    seconds: float
    utterances: int = 0


class Stream:
    """One recording that is still going on. `Recognizer.stream` makes it.

    Args:
        pause: seconds of silence that end an utterance: its sentence closes, the decoder begins afresh; None = never.
    """

    def __init__(
        self,
        recognizer: Recognizer,
        decoder: Decoder,
        decoding: Greedy,
        window: StreamWindow,
        segmentation: Segmentation,
        pause: float | None,
    ) -> None:
        self._recognizer, self._decoder, self._decoding = recognizer, decoder, decoding
        config = recognizer.config
        self._stride, frame = config.encoder.subsampling, config.frame_seconds
        self._left, self._chunk, self._right = (round(s / frame) for s in (window.left, window.chunk, window.right))
        self._chunk = max(1, self._chunk)
        self._every = None if window.draft_every is None else max(1, round(window.draft_every / frame))
        self._pause = pause
        self._samples = RunningSamples(config.features.sample_rate)
        self._features = RunningFeatures(config.features)
        self._state = decoder.start()
        self._text = LiveTranscript(recognizer.vocabulary, frame, segmentation, decoding.confidence)
        self._draft = Transcript()
        #: Encoder frames that are decoded for good, and up to which the draft reaches.
        self._decoded = self._drafted = 0
        self._open = True
        self._lock = threading.Lock()

    def feed(self, samples: Any, sample_rate: int = 16_000) -> StreamUpdate:
        """Take a packet, of any length.

        Args:
            samples: (n,), (n, channels) or (channels, n), float or integers of full scale, at `sample_rate`, which may
                differ from packet to packet.
        Raises:
            AudioError: the packet is no sound; the stream goes on without it.
            DecodingError: the stream has been finished or closed.
        """
        with self._lock:
            self._check_open()
            self._features.feed(self._samples.feed(samples, sample_rate))
            while self._available >= self._decoded + self._chunk + self._right:
                self._advance(self._decoded + self._chunk, self._decoded + self._chunk + self._right)
            behind = self._available - self._drafted
            if self._every is not None and behind >= self._every and self._available > self._decoded:
                self._make_draft(self._available - behind % self._every)
            return StreamUpdate(self._text.made, self._draft, self._samples.clock, self._text.utterances)

    def finish(self) -> Transcript:
        """Decode what is left, and return the whole transcript. Raises DecodingError the second time."""
        with self._lock:
            self._check_open()
            self._features.feed(self._samples.finish())
            self._features.finish()
            total = -(-self._features.count // self._stride)
            while self._decoded < total:
                end = min(self._decoded + self._chunk, total)
                self._advance(end, min(end + self._right, total))
            duration = self._features.samples / self._samples.sample_rate
            self._take(self._decoder.close(self._state), self._decoded)
            self._text.finish(duration)
            self._open = False
            info = self._recognizer.info
            return replace(
                self._text.made,
                duration=duration,
                model=info.source,
                decoding=self._decoding,
                language=info.languages[0] if info.languages and len(info.languages) == 1 else None,
                hypothesis=self._text.hypothesis(),
            )

    def close(self) -> None:
        """Stop without a result; a closed or finished stream may be closed again."""
        with self._lock:
            self._open = False

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _check_open(self) -> None:
        if not self._open:
            raise DecodingError("This stream has ended; open another one for more audio.")

    @property
    def _available(self) -> int:
        """Encoder frames whose mel frames are all there."""
        return self._features.count // self._stride

    def _advance(self, end: int, seen: int) -> None:
        """Decode the frames up to `end` for good, with those up to `seen` as context, and draft these."""
        encoded, start = self._encoded(seen)
        here = self._decoded
        found, self._state = self._decoder.advance(encoded[here - start : end - start], self._state)
        self._take(found, here)
        self._decoded = end
        last = self._text.last_end
        frame = self._recognizer.config.frame_seconds
        if self._pause is not None and last is not None and (end - last) * frame >= self._pause:
            self._text.end_utterance()
            self._state = self._decoder.start()
        if self._every is not None:
            self._show_draft(encoded[end - start :], seen)

    def _make_draft(self, seen: int) -> None:
        encoded, start = self._encoded(seen)
        self._show_draft(encoded[self._decoded - start :], seen)

    def _show_draft(self, encoded: np.ndarray, seen: int) -> None:
        """Decode the frames behind the final ones on a copy of the state."""
        found, state = self._decoder.advance(encoded, self._state)
        rest = self._decoder.close(state)
        whole = concatenated(shifted(found, self._decoded), shifted(rest, self._decoded + len(encoded)))
        seconds = (self._decoded + len(encoded)) * self._recognizer.config.frame_seconds
        self._draft = self._recognizer.transcript([whole], duration=seconds, confidence=self._decoding.confidence)
        self._drafted = seen

    def _take(self, found: Hypothesis, offset: int) -> None:
        self._text.add(shifted(found, offset), self._pause)

    def _encoded(self, seen: int) -> tuple[np.ndarray, int]:
        """(frames, width) of the window up to the encoder frame `seen`, and the frame it begins with."""
        start = max(0, self._decoded - self._left)
        raw = self._features.frames(start * self._stride, seen * self._stride)
        features, lengths = front_end.batch(
            [front_end.from_raw(raw, self._recognizer.config.features)], self._recognizer.config.features
        )
        encoded, lengths = self._recognizer.encode(features, lengths, priority=Priority.LIVE)
        return encoded[0, : lengths[0]], start
