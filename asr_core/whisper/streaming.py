"""Simultaneous decoding: text while the recording goes on, by where the decoder looks (AlignAtt; Papi et al. 2023).

At fixed times of the recording the audio that is still open is decoded, behind the text that is final. A token is
stable if the decoder, as it wrote it, looked at audio with enough to follow; what looks at the newest frames may change
when more is heard. Text and attention are those of one hypothesis, the best one.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any

import numpy as np

from asr_core import checks
from asr_core.alignment import Hypothesis, Transcript, part
from asr_core.decoding.options import Beam, Decoding, Greedy, Whisper
from asr_core.engine import Priority
from asr_core.errors import DecodingError
from asr_core.live_transcript import LiveTranscript
from asr_core.running_audio import RunningSamples
from asr_core.segmentation import Segmentation
from asr_core.streaming import StreamUpdate, StreamWindow
from asr_core.whisper import detection, search, word_times
from asr_core.whisper import features as front_end
from asr_core.whisper.fallback import is_silence
from asr_core.whisper.guards import is_repeating, without_repeats
from asr_core.whisper.hearing import EMPTY
from asr_core.whisper.search import Prompt
from asr_core.whisper.stages import WhisperStages

#: Frames of 20 ms that must follow the one a stable token looks at.
THRESHOLD = 25
#: Frames by which attention may fall back from one token to the next; what follows a longer way back is not stable.
REWIND = 200
#: Seconds of open audio from which its beginning is given up, how much is kept then, and the most there may be.
FULL, KEPT, MOST = 20.0, 8.0, 28.0
#: Tokens of the text before the open audio that prompt the decoder.
CONTEXT = 100


def open_stream(
    stages: WhisperStages,
    decoding: Decoding,
    window: StreamWindow,
    lookahead: int | None,
    segmentation: Segmentation,
    pause: float | None,
) -> AlignAttStream:
    """The work behind `Recognizer.stream` of a Whisper model. Raises DecodingError for what does not apply."""
    stages.head_of(decoding)
    if getattr(decoding, "temperature", 0.0):
        raise DecodingError("A stream is decoded at temperature 0, so that its text does not change by chance.")
    if lookahead is not None:
        raise DecodingError(f"{stages.info.name} hears whole windows, so lookahead does not apply; leave it at None.")
    checks.instance("window", window, StreamWindow)
    checks.instance("segmentation", segmentation, Segmentation)
    checks.seconds("pause", pause)
    return AlignAttStream(stages, decoding, window.chunk, segmentation, pause)


class AlignAttStream:
    """One recording that is still going on; `WhisperRecognizer.stream` makes it.

    Args:
        every: seconds of the recording from one step to the next.
        pause: seconds of silence that end an utterance; None = never.
    """

    def __init__(
        self,
        stages: WhisperStages,
        decoding: Greedy | Beam,
        every: float,
        segmentation: Segmentation,
        pause: float | None,
    ) -> None:
        self._stages, self._decoding, self._pause = stages, decoding, pause
        self._options = replace(decoding.whisper or Whisper(), timestamps=False)
        self._decoder = stages.decoder_at(Priority.LIVE)
        self._frame, self._grid = stages.config.frame_seconds, stages.frame_samples
        self._every = max(1, round(every * front_end.RATE / self._grid)) * self._grid
        self._incoming = RunningSamples(front_end.RATE)
        #: Samples that are still open, and how many came before them.
        self._samples, self._base = np.zeros(0, np.float32), 0
        #: Samples that have been decoded once.
        self._heard = 0
        #: Final tokens of the open audio, and those before it.
        self._prefix: list[int] = []
        self._context: list[int] = stages.tokenizer.encode(self._options.prompt) if self._options.prompt else []
        self._language: str | None = None
        self._text = LiveTranscript(stages.vocabulary, self._frame, segmentation, decoding.confidence)
        #: Behind the final text.
        self._rest = EMPTY
        self._draft = Transcript()
        self._open = True
        self._lock = threading.Lock()

    def feed(self, samples: Any, sample_rate: int = 16_000) -> StreamUpdate:
        """Take a packet, of any length; as `Stream.feed`."""
        with self._lock:
            self._check_open()
            self._samples = np.concatenate([self._samples, self._incoming.feed(samples, sample_rate)])
            while self._count >= self._heard + self._every:
                self._step(self._heard + self._every)
            settled = max(self._base, self._final_frame * self._grid) / front_end.RATE
            return StreamUpdate(self._text.made, self._draft, self._incoming.clock, self._text.utterances, settled)

    def finish(self) -> Transcript:
        """Decode what is left, and return the whole transcript. Raises DecodingError the second time."""
        with self._lock:
            self._check_open()
            self._samples = np.concatenate([self._samples, self._incoming.finish()])
            while self._count >= self._heard + self._every:
                self._step(self._heard + self._every)
            if self._count > self._heard:
                self._step(self._count)
            self._commit(self._without_repeats(self._rest))
            duration = self._count / front_end.RATE
            self._text.finish(duration)
            self._open = False
            return replace(
                self._text.made,
                duration=duration,
                model=self._stages.info.source,
                decoding=self._decoding,
                language=self._language or self._stages.only_language,
                hypothesis=self._text.hypothesis(),
            )

    def close(self) -> None:
        """Stop without a result; a closed or finished stream may be closed again."""
        with self._lock:
            self._open = False

    def __enter__(self) -> AlignAttStream:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _check_open(self) -> None:
        if not self._open:
            raise DecodingError("This stream has ended; open another one for more audio.")

    @property
    def _count(self) -> int:
        """Samples that have come."""
        return self._base + len(self._samples)

    @property
    def _final_frame(self) -> int:
        """The frame behind the last final token."""
        ends = self._text.hypothesis().end_frames
        return ends[-1] if ends else 0

    def _step(self, until: int) -> None:
        """Decode the open audio up to a sample of the recording, and make final what is stable."""
        self._heard = until
        self._make_room(until)
        found, attended = self._decode(self._samples[: until - self._base])
        stable = self._stable(found, attended, (until - self._base) // self._grid)
        if is_repeating(self._words(found.token_ids[:stable])):
            # The text before is what makes a decoder repeat itself: the next step does without it.
            self._give_up(self._final_frame * self._grid)
            self._context, stable = [], 0
        self._commit(part(found, 0, stable))
        self._show(part(found, stable, len(found.token_ids)), until)
        silence = until // self._grid - self._final_frame
        if self._pause is not None and silence * self._frame >= self._pause:
            self._text.end_utterance()

    def _decode(self, audio: np.ndarray) -> tuple[Hypothesis, np.ndarray]:
        """What follows the final text, in frames of the recording, and the frame each token looked at."""
        frames = len(audio) // self._grid
        if frames < 1 or not audio.any():
            return EMPTY, np.zeros(0, int)
        stages, tokenizer = self._stages, self._stages.tokenizer
        mel = front_end.window(front_end.log_mel(audio, stages.config.features), 0)
        encoded, _ = stages.encode(mel[None], np.zeros(1, np.int64), priority=Priority.LIVE)
        cache = self._decoder.begin(encoded)
        if not self._text.hypothesis().token_ids:
            # Until something is final, more audio may show that it is another language.
            special = tokenizer.vocabulary.special
            self._language = detection.language_of(self._decoder, cache, special, self._options)
        before = search.prompt_of(
            tokenizer, self._options, self._language, self._context[-CONTEXT:], self._decoder.room
        )
        filters = search.filters_of(tokenizer, self._options)
        reading = search.read(
            self._decoder,
            cache,
            [Prompt((*before.tokens, *self._prefix), before.start)],
            search.search_of(self._decoding, 0.0, None, tokenizer.vocabulary.special.end),
            replace(filters, blank=()) if self._prefix else filters,  # behind a text it may end at once
            tokenizer,
            length_penalty=getattr(self._decoding, "length_penalty", None),
        )[0]
        new = [token for token in reading.best.tokens if token < tokenizer.vocabulary.special.end]
        if not new or (is_silence(reading) and not self._prefix):
            return EMPTY, np.zeros(0, int)
        start = stages.start_tokens(self._language, self._options.task)
        timing = word_times.align(
            self._decoder, cache, [*self._prefix, *new], tokenizer, start, frames, self._decoding.confidence
        )
        own, offset = slice(len(self._prefix), None), self._base // self._grid
        starts = np.maximum(timing.starts[own] + offset, self._final_frame)
        return Hypothesis(
            tuple(new),
            tuple(map(int, starts)),
            tuple(map(int, np.maximum(timing.ends[own] + offset, starts))),
            float(timing.log_probs[own].sum()),
            tuple(map(float, timing.confidences[own])),
            tuple(map(float, timing.log_probs[own])),
        ), timing.attended[own]

    def _stable(self, found: Hypothesis, attended: np.ndarray, frames: int) -> int:
        """How many tokens may become final: up to the first that looks at the newest frames, or far back.

        The last word before it is held back, too, and so are the parts of a character that is not whole.
        """
        vocabulary, ids = self._stages.vocabulary, found.token_ids
        count = 0
        for i, frame in enumerate(attended):
            if frames - frame <= THRESHOLD or (i and attended[i - 1] - frame > REWIND):
                break
            count = i + 1
        while 0 < count < len(ids) and not vocabulary.starts_word(ids[count]):
            count -= 1
        if count == len(ids):
            count = max((i for i in range(count) if vocabulary.starts_word(ids[i])), default=0)
        return count - vocabulary.ends_inside_character(ids[:count])

    def _commit(self, found: Hypothesis) -> None:
        if found.token_ids:
            self._prefix += found.token_ids
            self._text.add(found, self._pause)

    def _show(self, rest: Hypothesis, until: int) -> None:
        self._rest = rest
        self._draft = self._stages.transcript(
            [rest], duration=until / front_end.RATE, confidence=self._decoding.confidence
        )

    def _make_room(self, until: int) -> None:
        """Give up the beginning of the open audio where there is much of it, behind a word that is final."""
        rate = front_end.RATE
        if until - self._base > FULL * rate:
            limit = until - int(KEPT * rate)
            ends = [end * self._grid for end in self._open_ends() if end * self._grid <= limit]
            if ends:
                self._give_up(ends[-1])
        if until - self._base > MOST * rate:
            # Nothing has become final for long: what was heard in what must go is final now.
            limit = until - int(KEPT * rate)
            count = sum(end * self._grid <= limit for end in self._rest.end_frames)
            self._commit(self._without_repeats(part(self._rest, 0, count)))
            self._rest = part(self._rest, count, len(self._rest.token_ids))
            self._give_up(limit // self._grid * self._grid)

    def _open_ends(self) -> Sequence[int]:
        """Frames behind the final words of the open audio."""
        whole, vocabulary = self._text.hypothesis(), self._stages.vocabulary
        ids, first = whole.token_ids, len(whole.token_ids) - len(self._prefix)
        return [
            whole.end_frames[i]
            for i in range(first, len(ids))
            if i + 1 == len(ids) or vocabulary.starts_word(ids[i + 1])
        ]

    def _give_up(self, sample: int) -> None:
        """Close the audio before a sample; the final text of it goes on as context."""
        sample = max(self._base, sample)
        self._samples, self._base = self._samples[sample - self._base :], sample
        if self._prefix:
            ends = self._text.hypothesis().end_frames[-len(self._prefix) :]
            count = sum(end * self._grid <= sample for end in ends)
            self._context = (self._context + self._prefix[:count])[-CONTEXT:]
            self._prefix = self._prefix[count:]

    def _words(self, tokens: Sequence[int]) -> list[str]:
        """The last words, with those that would follow."""
        before = self._text.hypothesis().token_ids[-200:]
        return self._stages.vocabulary.decode([*before, *tokens]).split()

    def _without_repeats(self, rest: Hypothesis) -> Hypothesis:
        """What is left at the end, up to where it begins to repeat itself."""
        return part(rest, 0, without_repeats(rest.token_ids, self._words))
