"""The stages of a Whisper model: features of 30 s, encoder, decoder, times."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from asr_core import checks
from asr_core.alignment import Hypothesis
from asr_core.batching import Recording, prepare
from asr_core.decoding.options import Decoding, Whisper
from asr_core.engine import Priority
from asr_core.errors import AudioError, DecodingError
from asr_core.longform import Chunking
from asr_core.stages import Stages
from asr_core.whisper import detection, search, settings, word_times
from asr_core.whisper import features as front_end
from asr_core.whisper.search import Decoder
from asr_core.whisper.tokenizer import WhisperTokenizer, WhisperVocabulary

if TYPE_CHECKING:
    from asr_core.models.whisper_config import WhisperConfig


@dataclass(frozen=True)
class WhisperStages(Stages):
    """As `Stages`; there are no heads, frames are 20 ms, and a window holds 30 s."""

    config: WhisperConfig
    vocabulary: WhisperVocabulary
    tokenizer: WhisperTokenizer

    @property
    def decoder(self) -> Decoder:
        """The decoder for the work of files."""
        return self.decoder_at(Priority.FILE)

    def decoder_at(self, priority: Priority) -> Decoder:
        """The decoder whose steps wait in the engine's queue at a priority."""
        return Decoder(self._model, self._engine, priority)

    def features(self, audios: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Log-mel of recordings of at most 30 s, with silence behind them.

        Returns:
            (batch, 3000, mels) float32, and (batch,) mel frames of the recordings proper.
        Raises:
            AudioError: a recording is longer than a window.
        """
        audios = self.sounds(audios)
        if any(len(audio) > front_end.SAMPLES for audio in audios):
            raise AudioError("A window of Whisper holds 30 s; `transcribe` moves it over longer recordings.")
        mels = [front_end.window(front_end.log_mel(audio, self.config.features), 0) for audio in audios]
        shape = (0, front_end.FRAMES, self.config.features.mels)
        lengths = np.array([len(audio) // front_end.HOP for audio in audios], np.int32)
        return np.stack(mels) if mels else np.zeros(shape, np.float32), lengths

    def encode(
        self, features: np.ndarray, lengths: np.ndarray, *, priority: Priority = Priority.FILE
    ) -> tuple[np.ndarray, np.ndarray]:
        """(batch, 3000, mels), (batch,) mel frames to (batch, 1500, width) float32, (batch,) frames of 20 ms.

        Raises:
            DecodingError: the shapes are not these, a length lies beyond the frames, or a number is not finite.
        """
        features, lengths = checks.frames("features", features, lengths, self.config.features.mels)
        if features.shape[1] != front_end.FRAMES:
            raise DecodingError(
                f"A window of Whisper has {front_end.FRAMES} frames of features, not {features.shape[1]}."
            )
        lengths = lengths // self.config.encoder.subsampling
        if not len(features):
            return np.zeros((0, self.config.dimensions.n_audio_ctx, self.config.encoder.width), np.float32), lengths
        # One window a job, so that live audio need not wait for a batch.
        windows = [self._engine.run_at(priority, self._model.encode, window[None]) for window in features]
        return np.concatenate(windows), lengths

    def ctc_log_probs(self, encoded: np.ndarray) -> np.ndarray:
        """Refused: there is no such head."""
        raise settings.no_head(self.info, "ctc")

    def decode(
        self, encoded: np.ndarray, lengths: np.ndarray, decoding: Decoding, *, cancel: threading.Event | None = None
    ) -> list[list[Hypothesis]]:
        """Texts of windows, best first, at one temperature: without fallback, prompts of earlier windows, or silence.

        Timestamp tokens stay among the text's; they have no length, and a confidence of 1.

        Args:
            encoded: (batch, 1500, width) float32 and the frames of it that are audio (batch,).
            cancel: looked at between the steps of the search.
        Raises:
            DecodingError: a setting does not fit the model, or the frames are not its encoder's.
            Cancelled: in the middle of it.
        """
        self.head_of(decoding)
        encoded, lengths = checks.frames("encoded", encoded, lengths, self.config.encoder.width)
        if not len(encoded):
            return []
        options = decoding.whisper or Whisper()
        decoder, special = self.decoder, self.vocabulary.special
        cache = decoder.begin(encoded)
        alone = [decoder.only(cache, i) for i in range(len(encoded))]
        languages = [detection.language_of(decoder, one, special, options) for one in alone]
        before = self.tokenizer.encode(options.prompt) if options.prompt else []
        readings = search.read(
            decoder,
            cache,
            [search.prompt_of(self.tokenizer, options, code, before, decoder.room) for code in languages],
            search.search_of(decoding, getattr(decoding, "temperature", 0.0), options.best_of, special.end),
            search.filters_of(self.tokenizer, options),
            self.tokenizer,
            length_penalty=getattr(decoding, "length_penalty", None),
            seed=options.seed,
            cancel=cancel,
        )
        found = []
        for one, frames, code, reading in zip(alone, lengths, languages, readings, strict=True):
            start, kept = self.start_tokens(code, options.task), reading.candidates[: getattr(decoding, "n_best", None)]
            how = self.tokenizer, start, int(frames), decoding.confidence
            found.append([word_times.timed(decoder, one, candidate, *how) for candidate in kept])
        return found

    def start_tokens(self, language: str | None, task: str = "transcribe") -> list[int]:
        """Ids of the tokens before a text: its start, and of a multilingual model language and task."""
        return self.tokenizer.start_tokens(language if self.config.dimensions.multilingual else None, task)

    def recording(self, audio: Any, sample_rate: int, chunking: Chunking) -> Recording:
        """Audio at the model's rate. Raises DecodingError for settings of windows: Whisper's own are 30 s."""
        checks.instance("chunking", chunking, Chunking)
        if chunking != Chunking():
            raise DecodingError(
                "Whisper hears windows of 30 s and moves them by its own timestamps, so chunking does not apply; "
                "leave it at Chunking()."
            )
        return prepare(audio, sample_rate, self.info.sample_rate, chunking, self.frame_samples)

    def head_of(self, decoding: Decoding) -> str:
        """Check that the settings fit; there is one way to decode, so the answer is always "whisper"."""
        settings.check(decoding, self.info, self.config.dimensions.multilingual)
        return "whisper"
