"""A Whisper model that is ready: the same questions as to any recogniser, answered by an encoder-decoder."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from asr_core.alignment import Hypothesis, Transcript
from asr_core.audio import as_samples
from asr_core.batching import prepare
from asr_core.decoding.options import Beam, Confidence, Decoding, Greedy, Whisper
from asr_core.engine import Priority
from asr_core.errors import AudioError, Cancelled, DecodingError
from asr_core.longform import Chunking
from asr_core.progress import OnProgress, Progress
from asr_core.recognizer import Recognizer
from asr_core.segmentation import Segmentation
from asr_core.streaming import StreamWindow
from asr_core.whisper import aligning, attention, detection, search, settings, word_times
from asr_core.whisper import features as front_end
from asr_core.whisper.search import Decoder
from asr_core.whisper.streaming import AlignAttStream, open_stream
from asr_core.whisper.tokenizer import WhisperTokenizer, WhisperVocabulary
from asr_core.whisper.transcription import FRAMES_PER_SECOND, Heard, Sound, hear

if TYPE_CHECKING:
    from asr_core.models.whisper_config import WhisperConfig


@dataclass(frozen=True)
class WhisperRecognizer(Recognizer):
    """As `Recognizer`; it has no heads, its frames are 20 ms, and a window holds 30 s."""

    config: WhisperConfig
    vocabulary: WhisperVocabulary
    tokenizer: WhisperTokenizer

    # The stages, one by one.

    @property
    def decoder(self) -> Decoder:
        return self.decoder_at(Priority.FILE)

    def decoder_at(self, priority: Priority) -> Decoder:
        return Decoder(self._model, self._engine, priority)

    def features(self, audios: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Log-mel of recordings of at most 30 s, with silence behind them.

        Returns:
            (batch, 3000, mels) float32, and (batch,) mel frames of the recordings proper.
        Raises:
            AudioError: a recording is longer than a window.
        """
        if any(len(audio) > front_end.SAMPLES for audio in audios):
            raise AudioError("A window of Whisper holds 30 s; `transcribe` moves it over longer recordings.")
        mels = [front_end.window(front_end.log_mel(audio, self.config.features), 0) for audio in audios]
        shape = (0, front_end.FRAMES, self.config.features.mels)
        lengths = np.array([len(audio) // front_end.HOP for audio in audios], np.int32)
        return np.stack(mels) if mels else np.zeros(shape, np.float32), lengths

    def encode(
        self, features: np.ndarray, lengths: np.ndarray, *, priority: Priority = Priority.FILE
    ) -> tuple[np.ndarray, np.ndarray]:
        """(batch, 3000, mels), (batch,) mel frames to (batch, 1500, width) float32, (batch,) frames of 20 ms."""
        lengths = np.asarray(lengths) // self.config.encoder.subsampling
        if not len(features):
            return np.zeros((0, self.config.dimensions.n_audio_ctx, self.config.encoder.width), np.float32), lengths
        # One window a job, so that live audio need not wait for a batch.
        windows = [self._engine.run_at(priority, self._model.encode, window[None]) for window in features]
        return np.concatenate(windows), lengths

    def ctc_log_probs(self, encoded: np.ndarray) -> np.ndarray:
        """Refused: there is no such head."""
        raise self._no_head("ctc")

    def decode(self, encoded: np.ndarray, lengths: np.ndarray, decoding: Decoding) -> list[list[Hypothesis]]:
        """Texts of windows, best first, at one temperature: without fallback, prompts of earlier windows, or silence.

        Timestamp tokens stay among the text's; they have no length, and a confidence of 1.

        Args:
            encoded: (batch, 1500, width) float32 and the frames of it that are audio (batch,).
        Raises:
            DecodingError: a setting does not fit the model.
        """
        self.head_of(decoding)
        if not len(encoded):
            return []
        options = decoding.whisper or Whisper()
        languages = [self.language_of(one[None], options) for one in encoded]
        before = self.tokenizer.encode(options.prompt) if options.prompt else []
        readings = search.read(
            self.decoder,
            self.decoder.begin(encoded),
            [search.prompt_of(self.tokenizer, options, code, before, self.decoder.room) for code in languages],
            search.search_of(
                decoding, getattr(decoding, "temperature", 0.0), options.best_of, self.vocabulary.special.end
            ),
            search.filters_of(self.tokenizer, options),
            self.tokenizer,
            length_penalty=getattr(decoding, "length_penalty", None),
            seed=options.seed,
        )
        found = []
        for one, frames, code, reading in zip(encoded, lengths, languages, readings, strict=True):
            cache, start = self.decoder.begin(one[None]), self.start_tokens(code, options.task)
            kept = reading.candidates[: getattr(decoding, "n_best", None)]
            found.append(
                [
                    word_times.timed(
                        self.decoder, cache, candidate, self.tokenizer, start, int(frames), decoding.confidence
                    )
                    for candidate in kept
                ]
            )
        return found

    def start_tokens(self, language: str | None, task: str = "transcribe") -> list[int]:
        return self.tokenizer.start_tokens(language if self.config.dimensions.multilingual else None, task)

    def language_of(self, encoded: np.ndarray, options: Whisper) -> str | None:
        """The language that is set, else the most probable one of (1, 1500, width); None for English-only models."""
        if not self.config.dimensions.multilingual:
            return None
        if options.language is not None:
            return options.language
        found = detection.language_probabilities(self.decoder, encoded, self.vocabulary.special)
        return detection.most_probable(found)

    # From audio to text.

    def transcribe_batch(
        self,
        audios: Sequence[Any],
        *,
        sample_rate: int = 16_000,
        decoding: Decoding = Greedy(),  # noqa: B008 - frozen values
        segmentation: Segmentation = Segmentation(),  # noqa: B008
        chunking: Chunking = Chunking(),  # noqa: B008
        on_progress: OnProgress | None = None,
        cancel: threading.Event | None = None,
        resume: Cancelled | None = None,
    ) -> list[Transcript]:
        """As `Recognizer.transcribe_batch`; one recording after the other."""
        self.head_of(decoding)
        recordings = [self.recording(audio, sample_rate, chunking) for audio in audios]
        total = sum(len(recording.samples) for recording in recordings) / self.info.sample_rate
        states = list(resume.state) if resume is not None else []
        done: list[Transcript] = []
        before = 0.0
        for i, recording in enumerate(recordings):

            def report(frame: int, before: float = before) -> None:
                if on_progress is not None:
                    on_progress(Progress(min(total, before + frame / FRAMES_PER_SECOND), total, "transcribe"))

            sound = self._sound(recording.samples)
            started = sound.now()
            try:
                heard = hear(self, sound, decoding, states[i] if i < len(states) else Heard(), cancel, report)
            except Cancelled as cancelled:
                heard = cancelled.state[0]
                partial = [*done, self._finished(heard, sound, decoding, segmentation, recording.warnings, started)]
                states[i:] = [heard]
                raise Cancelled(partial[0] if len(recordings) == 1 else partial, state=tuple(states)) from None
            states[i : i + 1] = [heard]
            done.append(self._finished(heard, sound, decoding, segmentation, recording.warnings, started))
            before += len(recording.samples) / self.info.sample_rate
        return done

    def decode_all(
        self,
        audio: Any,
        decodings: Sequence[Decoding],
        *,
        sample_rate: int = 16_000,
        segmentation: Segmentation = Segmentation(),  # noqa: B008 - frozen values
        chunking: Chunking = Chunking(),  # noqa: B008
        on_progress: OnProgress | None = None,
        cancel: threading.Event | None = None,
    ) -> list[Transcript]:
        """As `Recognizer.decode_all`; windows that begin at the same place are encoded once."""
        for decoding in decodings:
            self.head_of(decoding)
        recording = self.recording(audio, sample_rate, chunking)
        sound, seconds = self._sound(recording.samples), len(recording.samples) / self.info.sample_rate
        done: list[Transcript] = []
        for i, decoding in enumerate(decodings):
            started = sound.now()

            def report(frame: int, before: int = i) -> None:
                share = (before * seconds + frame / FRAMES_PER_SECOND) / max(1, len(decodings))
                if on_progress is not None:
                    on_progress(Progress(min(seconds, share), seconds, "transcribe"))

            try:
                heard = hear(self, sound, decoding, Heard(), cancel, report)
            except Cancelled as cancelled:
                heard = cancelled.state[0]
                rest = [self._finished(Heard(), sound, one, segmentation, (), started) for one in decodings[i + 1 :]]
                now = self._finished(heard, sound, decoding, segmentation, recording.warnings, started)
                raise Cancelled([*done, now, *rest]) from None
            done.append(self._finished(heard, sound, decoding, segmentation, recording.warnings, started))
        return done

    def align(
        self,
        audio: Any,
        text: str,
        *,
        sample_rate: int = 16_000,
        head: str | None = None,
        segmentation: Segmentation = Segmentation(),  # noqa: B008
        confidence: Confidence = Confidence(),  # noqa: B008
        on_progress: OnProgress | None = None,
        cancel: threading.Event | None = None,
    ) -> Transcript:
        """As `Recognizer.align`, by the attention of the decoder as it reads the text."""
        if head is not None:
            raise self._no_head(head)
        recording = self.recording(audio, sample_rate, Chunking())
        return aligning.align(self, recording, text, segmentation, confidence, on_progress, cancel)

    def inspect(
        self, audio: Any, transcript: Transcript, start: float, end: float, *, sample_rate: int = 16_000
    ) -> attention.Attention:
        """Where the transcript's tokens looked between two times: attention in place of scores by frame."""
        samples = as_samples(audio, sample_rate, self.info.sample_rate)
        return attention.look(self, samples, transcript, start, end)

    def stream(
        self,
        *,
        decoding: Decoding = Greedy(),  # noqa: B008 - frozen values
        window: StreamWindow = StreamWindow(),  # noqa: B008
        lookahead: int | None = None,
        segmentation: Segmentation = Segmentation(),  # noqa: B008
        pause: float | None = None,
    ) -> AlignAttStream:
        """As `Recognizer.stream`, by simultaneous decoding (AlignAtt).

        Args:
            decoding: Greedy at temperature 0, or Beam.
            window: `left` and `right` do not apply; a step is taken each `chunk` seconds of the recording.
        """
        return open_stream(self, decoding, window, lookahead, segmentation, pause)

    def recording(self, audio: Any, sample_rate: int, chunking: Chunking) -> Any:
        """Audio at the model's rate. Raises DecodingError for settings of windows: Whisper's own are 30 s."""
        if chunking != Chunking():
            raise DecodingError(
                "Whisper hears windows of 30 s and moves them by its own timestamps, so chunking does not apply; "
                "leave it at Chunking()."
            )
        return prepare(audio, sample_rate, self.info.sample_rate, chunking, self.frame_samples)

    def _sound(self, samples: np.ndarray) -> Sound:
        started = time.perf_counter()
        mel = front_end.log_mel(samples, self.config.features)
        spent = {"features": time.perf_counter() - started}
        return Sound(samples, mel, lambda window: self.encode(window[None], np.zeros(1))[0], spent)

    def _finished(
        self,
        heard: Heard,
        sound: Sound,
        decoding: Greedy | Beam,
        segmentation: Segmentation,
        warnings: tuple[str, ...],
        started: float,
    ) -> Transcript:
        kept = heard.texts[: getattr(decoding, "n_best", None)]
        made = self.transcript(
            kept,
            duration=len(sound.samples) / self.info.sample_rate,
            segmentation=segmentation,
            confidence=decoding.confidence,
        )
        timings = sound.timings_since(started)
        language = heard.language or self.only_language
        return replace(made, decoding=decoding, warnings=warnings, cuts=heard.cuts, timings=timings, language=language)

    def head_of(self, decoding: Decoding) -> str:
        """Check that the settings fit; there is one way to decode, so the answer is always "whisper"."""
        settings.check(decoding, self.info, self.config.dimensions.multilingual)
        return "whisper"

    def _no_head(self, head: str) -> DecodingError:
        return settings.no_head(self.info, head)
