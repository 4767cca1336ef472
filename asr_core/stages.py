"""The stages between audio and a transcript, one by one: features, encoder, heads, words."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from asr_core import checks, frame_scores
from asr_core import features as front_end
from asr_core.alignment import Hypothesis, Transcript, check_hypothesis
from asr_core.audio import as_samples
from asr_core.batching import Recording, prepare
from asr_core.decoding import beam, forced, greedy, heads, maes
from asr_core.decoding.ctc_paths import fold
from asr_core.decoding.fusion import CEILING, fuse
from asr_core.decoding.live import LiveCtc, LiveTransducer
from asr_core.decoding.options import MAX_SYMBOLS, Beam, Confidence, Decoding, Greedy, Maes
from asr_core.decoding.steps import replay
from asr_core.engine import Engine, Priority
from asr_core.frame_scores import FrameScores
from asr_core.longform import Chunking
from asr_core.models.config import ParakeetConfig
from asr_core.models.registry import ModelInfo
from asr_core.segmentation import Segmentation
from asr_core.text import Vocabulary
from asr_core.tokenizer import Tokenizer
from asr_core.wording import build_transcript

if TYPE_CHECKING:
    from asr_core.models.conformer import StreamCache
    from asr_core.models.parakeet import Parakeet


@dataclass(frozen=True)
class Stages:
    """A loaded model, asked stage by stage. Any thread may call it; the engine's thread does the MLX work.

    Args:
        info: what the model is.
        config: its architecture.
        vocabulary: its tokens.
        tokenizer: text to tokens.
    """

    info: ModelInfo
    config: ParakeetConfig
    vocabulary: Vocabulary
    tokenizer: Tokenizer
    _model: Parakeet = field(repr=False)
    _engine: Engine = field(repr=False)

    def features(self, audios: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Log-mel features of recordings at the model's sample rate.

        Returns:
            (batch, frames, mels) float32 and (batch,) valid frames.
        Raises:
            AudioError: one of them is no sound.
        """
        config = self.config.features
        return front_end.batch([front_end.log_mel(audio, config) for audio in self.sounds(audios)], config)

    def sounds(self, audios: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Recordings at the model's sample rate, each (samples,) float32. Raises AudioError, DecodingError."""
        rate = self.info.sample_rate
        return [as_samples(audio, rate, rate) for audio in checks.several("audios", audios, "recordings")]

    def encode(
        self, features: np.ndarray, lengths: np.ndarray, *, priority: Priority = Priority.FILE
    ) -> tuple[np.ndarray, np.ndarray]:
        """(batch, frames, mels), (batch,) to (batch, encoder frames, width) float32, (batch,).

        Raises:
            DecodingError: the shapes are not these, a length lies beyond the frames, or a number is not finite.
        """
        features, lengths = checks.frames("features", features, lengths, self.config.features.mels)
        return self._engine.run_at(priority, self._model.encode, features, lengths)

    def ctc_log_probs(self, encoded: np.ndarray) -> np.ndarray:
        """(batch, frames, width) to (batch, frames, V + 1) natural log. Raises DecodingError without a CTC head."""
        if self._model.ctc is None:
            raise heads.no_head(self.info, "ctc")
        encoded = checks.batch("encoded", encoded, self.config.encoder.width)
        return self._model.ctc.log_probs(encoded)

    def decode(
        self, encoded: np.ndarray, lengths: np.ndarray, decoding: Decoding, *, cancel: threading.Event | None = None
    ) -> list[list[Hypothesis]]:
        """Hypotheses of each item, best first.

        Args:
            encoded: (batch, frames, width) float32 and its valid `lengths` (batch,).
            cancel: looked at between the steps of the search.
        Raises:
            DecodingError: the model lacks the head, a setting does not fit it, or the frames are not its encoder's.
            Cancelled: in the middle of it.
        """
        head = self.head_of(decoding)
        encoded, lengths = checks.frames("encoded", encoded, lengths, self.config.encoder.width)
        if not len(encoded):
            return []
        source = self._model.transducer if head != "ctc" else None
        ceiling = maes.CEILING if isinstance(decoding, Maes) else CEILING
        fused = fuse(decoding.fusion, len(self.vocabulary), self.tokenizer.encode, ceiling=ceiling)
        arguments = (lengths, *([source] if source else []), decoding, fused, cancel)
        states = encoded if source else self.ctc_log_probs(encoded)
        if isinstance(decoding, Greedy) and source and not fused and self._model.device_greedy:
            return self._decode_on_device(encoded, lengths, decoding, cancel)
        if isinstance(decoding, Greedy):
            search = greedy.transducer if source else greedy.ctc
            return [[hypothesis] for hypothesis in search(states, *arguments)]
        if isinstance(decoding, Beam):
            return (beam.transducer if source else beam.ctc)(states, *arguments)
        return maes.transducer(states, *arguments)

    def transcript(
        self,
        hypotheses: Sequence[Hypothesis],
        *,
        duration: float,
        segmentation: Segmentation = Segmentation(),  # noqa: B008 - a frozen value
        confidence: Confidence = Confidence(),  # noqa: B008
    ) -> Transcript:
        """Words, sentences and seconds of hypotheses, best first; the others become its `alternatives`.

        Args:
            duration: seconds of the recording; no time lies outside it.
            confidence: how tokens make a word.
        Raises:
            DecodingError: a hypothesis is not of this model's tokens, or a setting is none.
        """
        hypotheses = checks.several("hypotheses", hypotheses, "Hypothesis values")
        for hypothesis in hypotheses:
            check_hypothesis(hypothesis, len(self.vocabulary))
        checks.from_zero("duration", duration)
        checks.instance("segmentation", segmentation, Segmentation)
        checks.instance("confidence", confidence, Confidence)
        # Two TDT hypotheses may differ in their last duration only: that is no other reading.
        distinct: dict[tuple[int, ...], Hypothesis] = {}
        for hypothesis in hypotheses:
            distinct.setdefault(hypothesis.token_ids, hypothesis)
        made = [
            build_transcript(
                hypothesis,
                self.vocabulary,
                frame_seconds=self.config.frame_seconds,
                duration=duration,
                segmentation=segmentation,
                confidence=confidence,
            )
            for hypothesis in distinct.values()
        ]
        made = [replace(one, model=self.info.source, language=self.only_language) for one in made]
        if not made:
            return Transcript(duration=duration, model=self.info.source, language=self.only_language)
        return replace(made[0], alternatives=tuple(made[1:]))

    def live_decoder(self, decoding: Greedy, head: str) -> LiveTransducer | LiveCtc:
        """A decoder that goes on from chunk to chunk."""
        if head == "ctc":
            return LiveCtc(self._model.ctc, decoding)
        fused = fuse(decoding.fusion, len(self.vocabulary), self.tokenizer.encode, ceiling=CEILING)
        return LiveTransducer(self._model.transducer, decoding, fused)

    def begin_steps(self, lookahead: int | None) -> StreamCache:
        """The cache of a cache-aware stream that begins."""
        return self._engine.run_at(Priority.LIVE, self._model.begin_stream, lookahead)

    def encode_step(self, features: np.ndarray, drop: int, cache: StreamCache) -> tuple[np.ndarray, StreamCache]:
        """One step of a cache-aware stream (see `Parakeet.step`)."""
        return self._engine.run_at(Priority.LIVE, self._model.step, features, drop, cache)

    def force(self, encoded: np.ndarray, labels: Sequence[int], head: str, confidence: Confidence) -> Hypothesis:
        """The best path of known labels through a head's lattice.

        Args:
            encoded: (1, frames, width) float32, all frames valid.
        Raises:
            DecodingError: more labels than the frames can hold.
        """
        wanted = np.array(labels, np.int64)
        if head == "ctc":
            log_probs = self.ctc_log_probs(encoded)[0]
            path, score = forced.ctc(log_probs, wanted)
            return fold(path, log_probs, confidence, score)
        transducer = self._model.transducer
        projected = transducer.joint.project_encoder(encoded)
        return replay(projected, [[forced.transducer(projected[0], wanted, transducer)]], transducer, confidence)[0][0]

    def encode_audio(
        self, pieces: Sequence[np.ndarray], timings: dict[str, float] | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Features and encoder of some pieces of audio, all at once; adds the seconds of both to `timings`."""
        started = time.perf_counter()
        features, lengths = self.features(pieces)
        between = time.perf_counter()
        encoded = self.encode(features, lengths)
        if timings is not None:
            timings["features"] = timings.get("features", 0.0) + between - started
            timings["encoder"] = timings.get("encoder", 0.0) + time.perf_counter() - between
        return encoded

    def recording(self, audio: Any, sample_rate: int, chunking: Chunking) -> Recording:
        """Audio at the model's rate and the windows it is heard in."""
        return prepare(audio, sample_rate, self.info.sample_rate, chunking, self.frame_samples)

    @property
    def frame_samples(self) -> int:
        """Samples of one encoder frame."""
        return self.config.features.hop * self.config.encoder.subsampling

    def frame_scores(self, encoded: np.ndarray, path: Hypothesis, head: str) -> FrameScores:
        """Scores of each frame of one window, (frames, width) of the encoder, along its part of a path."""
        if head == "ctc":
            return frame_scores.ctc(self.ctc_log_probs(encoded[None])[0], path, self.config.frame_seconds)
        transducer = self._model.transducer
        projected = transducer.joint.project_encoder(encoded)
        return frame_scores.transducer(projected, path, transducer, self.config.frame_seconds)

    @property
    def only_language(self) -> str | None:
        """The language of a model that knows one only."""
        return self.info.languages[0] if self.info.languages and len(self.info.languages) == 1 else None

    def head_of(self, decoding: Decoding) -> str:
        """The head that `decoding` asks for, checked; also that its other settings fit."""
        return heads.head_of(decoding, self.info)

    def _decode_on_device(
        self, encoded: np.ndarray, lengths: np.ndarray, decoding: Greedy, cancel: threading.Event | None
    ) -> list[list[Hypothesis]]:
        head = self._model.transducer
        limit = decoding.max_symbols or head.max_symbols or MAX_SYMBOLS
        paths = self._engine.run(self._model.device_greedy.paths, encoded, lengths, limit, cancel)
        projected = head.joint.project_encoder(encoded)
        return replay(projected, [[path] for path in paths], head, decoding.confidence, rescore=True)
