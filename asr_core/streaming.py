"""Live decoding: audio comes in packets, final text grows, and a draft of the last seconds follows the voice.

The encoder of an offline model sees a window: some seconds that were heard before, the chunk that is decoded, and some
that follow it. Windows lie on a fixed grid of the recording, so the result is the same however the audio was cut into
packets, and the same as that of the whole recording cut into these windows.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any

import numpy as np

from asr_core import checks
from asr_core import features as front_end
from asr_core.alignment import Transcript, concatenated, shifted
from asr_core.decoding.live import Decoder
from asr_core.decoding.options import Decoding, Greedy
from asr_core.engine import Priority
from asr_core.errors import DecodingError
from asr_core.live_transcript import LiveTranscript
from asr_core.running_audio import RunningFeatures, RunningSamples
from asr_core.segmentation import Segmentation
from asr_core.stages import Stages


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
            if not checks.is_number(value) or not least <= value <= 60:
                raise DecodingError(f"StreamWindow.{name} is from {least:g} to 60 seconds, not {checks.shown(value)}.")


@dataclass(frozen=True)
class StreamUpdate:
    """Where a stream stands.

    Args:
        final: all that will not change any more, but for punctuation that its last word may still get.
        draft: what was heard behind it; it will be heard again with more context.
        seconds: of audio that have come.
        utterances: that have ended, by a pause or because the model said so.
        settled: seconds of audio that have been decoded for good; the draft is what was heard behind them.
    """

    final: Transcript
    draft: Transcript
    seconds: float
    utterances: int = 0
    settled: float = 0.0


def open_stream(
    stages: Stages,
    decoding: Decoding,
    window: StreamWindow,
    lookahead: int | None,
    segmentation: Segmentation,
    pause: float | None,
) -> Stream:
    """The stream that fits a model; the work behind `Recognizer.stream`.

    Raises:
        DecodingError: a decoder that cannot go on from a state, or a setting that does not fit the model.
    """
    head = stages.head_of(decoding)
    if not isinstance(decoding, Greedy):
        name = type(decoding).__name__
        raise DecodingError(f"A stream is decoded by Greedy, not {name}; transcribe with that afterwards.")
    if head == "ctc" and decoding.fusion is not None:
        raise DecodingError("A stream of a CTC head is decoded without fusion; use the transducer, or no fusion.")
    encoder, name = stages.config.encoder, stages.info.name
    checks.whole("lookahead", lookahead, least=0, optional=True)
    if lookahead is not None and not encoder.streaming:
        raise DecodingError(f"{name} hears whole windows, so lookahead does not apply; leave it at None.")
    checks.instance("window", window, StreamWindow)
    checks.instance("segmentation", segmentation, Segmentation)
    checks.seconds("pause", pause)
    settings = stages, stages.live_decoder(decoding, head), decoding, segmentation, pause
    return CacheAwareStream(lookahead, *settings) if encoder.streaming else WindowStream(window, *settings)


class Stream(ABC):
    """One recording that is still going on. `Recognizer.stream` makes it.

    Args:
        decoder: goes on from chunk to chunk.
        pause: seconds of silence that end an utterance: its sentence closes, the decoder begins afresh; None = never.
    """

    def __init__(
        self,
        stages: Stages,
        decoder: Decoder,
        decoding: Greedy,
        segmentation: Segmentation,
        pause: float | None,
    ) -> None:
        self._stages, self._decoder, self._decoding = stages, decoder, decoding
        self._stride, self._frame = stages.config.encoder.subsampling, stages.config.frame_seconds
        self._pause = pause
        self._samples = RunningSamples(stages.config.features.sample_rate)
        self._features = RunningFeatures(stages.config.features)
        self._state = decoder.start()
        self._text = LiveTranscript(stages.vocabulary, self._frame, segmentation, decoding.confidence)
        self._draft = Transcript()
        #: Encoder frames that are decoded for good.
        self._decoded = 0
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
            self._hear()
            settled = self._decoded * self._frame
            return StreamUpdate(self._text.made, self._draft, self._samples.clock, self._text.utterances, settled)

    def finish(self) -> Transcript:
        """Decode what is left, and return the whole transcript. Raises DecodingError the second time."""
        with self._lock:
            self._check_open()
            self._features.feed(self._samples.finish())
            self._features.finish()
            self._hear_rest()
            duration = self._features.samples / self._samples.sample_rate
            self._text.add(shifted(self._decoder.close(self._state), self._decoded), self._pause)
            self._text.finish(duration)
            self._open = False
            return replace(
                self._text.made,
                duration=duration,
                model=self._stages.info.source,
                decoding=self._decoding,
                language=self._stages.only_language,
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

    @abstractmethod
    def _hear(self) -> None:
        """Encode and decode what has come."""

    @abstractmethod
    def _hear_rest(self) -> None:
        """Encode and decode the end, behind which nothing comes."""

    def _check_open(self) -> None:
        if not self._open:
            raise DecodingError("This stream has ended; open another one for more audio.")

    def _decode(self, encoded: np.ndarray) -> None:
        """Decode (frames, width) for good."""
        found, self._state = self._decoder.advance(encoded, self._state)
        self._text.add(shifted(found, self._decoded), self._pause)
        self._decoded += len(encoded)
        last = self._text.last_end
        if self._pause is not None and last is not None and (self._decoded - last) * self._frame >= self._pause:
            self._text.end_utterance()
            self._state = self._decoder.start()


class WindowStream(Stream):
    """A stream of an encoder that wants to see whole windows.

    A window is encoded again and again with full attention, and only its chunk is decoded, so the cost of a second of
    audio stays the same.
    """

    def __init__(self, window: StreamWindow, *rest: Any) -> None:
        super().__init__(*rest)
        self._left, self._chunk, self._right = (
            round(seconds / self._frame) for seconds in (window.left, window.chunk, window.right)
        )
        self._every = None if window.draft_every is None else max(1, round(window.draft_every / self._frame))
        #: Encoder frames up to which the draft reaches.
        self._drafted = 0

    def _hear(self) -> None:
        available = self._features.count // self._stride
        while available >= self._decoded + self._chunk + self._right:
            self._advance(self._chunk, self._decoded + self._chunk + self._right)
        behind = available - self._drafted
        if self._every is not None and behind >= self._every and available > self._decoded:
            seen = available - behind % self._every
            # The next chunk brings a draft with it; one just before that would cost as much and show nothing new.
            if self._decoded + self._chunk + self._right - seen > self._every // 2:
                encoded, start = self._encoded(seen)
                self._show_draft(encoded[self._decoded - start :], seen)

    def _hear_rest(self) -> None:
        total = -(-self._features.count // self._stride)
        while self._decoded < total:
            chunk = min(self._chunk, total - self._decoded)
            self._advance(chunk, min(self._decoded + chunk + self._right, total))

    def _advance(self, chunk: int, seen: int) -> None:
        """Decode so many frames for good, with those up to `seen` as context, and draft these."""
        encoded, start = self._encoded(seen)
        here = self._decoded - start
        self._decode(encoded[here : here + chunk])
        if self._every is not None:
            self._show_draft(encoded[here + chunk :], seen)

    def _show_draft(self, encoded: np.ndarray, seen: int) -> None:
        """Decode the frames behind the final ones on a copy of the state."""
        found, state = self._decoder.advance(encoded, self._state)
        end = self._decoded + len(encoded)
        whole = concatenated(shifted(found, self._decoded), shifted(self._decoder.close(state), end))
        self._draft = self._stages.transcript([whole], duration=end * self._frame, confidence=self._decoding.confidence)
        self._drafted = seen

    def _encoded(self, seen: int) -> tuple[np.ndarray, int]:
        """(frames, width) of the window up to the encoder frame `seen`, and the frame it begins with."""
        start = max(0, self._decoded - self._left)
        raw = self._features.frames(start * self._stride, seen * self._stride)
        config = self._stages.config.features
        features, lengths = front_end.batch([front_end.from_raw(raw, config)], config)
        encoded, lengths = self._stages.encode(features, lengths, priority=Priority.LIVE)
        return encoded[0, : lengths[0]], start


class CacheAwareStream(Stream):
    """A stream of an encoder that was trained to hear step by step (NeMo's cache-aware streaming FastConformer).

    Each step encodes new frames only, with what its layers keep of those before; all it gives is final, so there is no
    draft. The first step is one encoder frame of mel frames and the look-ahead, the others the look-ahead and one more,
    with a little history for the subsampling's convolutions.
    """

    def __init__(self, lookahead: int | None, *rest: Any) -> None:
        super().__init__(*rest)
        _, right = self._stages.config.encoder.context(lookahead)
        self._cache = self._stages.begin_steps(lookahead)
        self._first, self._size = 1 + self._stride * right, self._stride * (1 + right)
        self._history = self._stride + 1
        #: Mel frames that are encoded.
        self._heard = 0

    def _hear(self) -> None:
        while self._features.count >= self._heard + (self._size if self._heard else self._first):
            self._advance(self._heard + (self._size if self._heard else self._first))

    def _hear_rest(self) -> None:
        self._hear()
        if self._features.count > self._heard:
            self._advance(self._features.count)

    def _advance(self, end: int) -> None:
        history = min(self._history, self._heard)
        raw = self._features.frames(self._heard - history, end)
        features = front_end.from_raw(raw, self._stages.config.features)
        drop = min(self._decoded, 1 + (self._history - 1) // self._stride)
        encoded, self._cache = self._stages.encode_step(features, drop, self._cache)
        self._heard = end
        self._decode(encoded)
