"""A loaded model, and every way of asking it what was said."""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from asr_core import features as front_end
from asr_core.aligning import PIECE, Piece, pieces
from asr_core.alignment import Hypothesis, Transcript
from asr_core.audio import AudioWarning, as_samples
from asr_core.batching import Recording, Work
from asr_core.decoding import beam, forced, greedy, maes
from asr_core.decoding.ctc_paths import fold
from asr_core.decoding.fusion import fuse
from asr_core.decoding.options import Beam, Confidence, Decoding, Greedy, Maes
from asr_core.decoding.steps import replay
from asr_core.engine import Engine
from asr_core.errors import Cancelled, DecodingError
from asr_core.longform import Chunking, Window, join, windows
from asr_core.models.config import ParakeetConfig
from asr_core.models.registry import ModelInfo
from asr_core.progress import OnProgress, Progress
from asr_core.segmentation import Segmentation
from asr_core.text import Vocabulary
from asr_core.tokenizer import Tokenizer
from asr_core.wording import build_transcript

if TYPE_CHECKING:
    from asr_core.models.parakeet import Parakeet

#: Seconds of padded audio that go through the encoder together; small on a CPU, where a batch gains little and a
#: cancelled job should stop soon.
BATCH_SECONDS = {"CPU": 30.0, "Metal": 240.0}


@dataclass(frozen=True)
class Recognizer:
    """A model that is ready. Any thread may call it; the engine's thread does the MLX work.

    Args:
        info: what the model is.
        config: its architecture.
        vocabulary: its tokens.
        tokenizer: text to tokens.
        card: its model card, where it has one.
        size_bytes: of its weights on disk.
    """

    info: ModelInfo
    config: ParakeetConfig
    vocabulary: Vocabulary
    tokenizer: Tokenizer
    card: str | None
    size_bytes: int
    _model: Parakeet = field(repr=False)
    _engine: Engine = field(repr=False)

    # The stages, one by one.

    def features(self, audios: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Log-mel features of recordings at the model's sample rate.

        Returns:
            (batch, frames, mels) float32 and (batch,) valid frames.
        """
        config = self.config.features
        return front_end.batch([front_end.log_mel(audio, config) for audio in audios], config)

    def encode(self, features: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(batch, frames, mels), (batch,) to (batch, encoder frames, width) float32, (batch,)."""
        return self._engine.run(self._model.encode, features, lengths)

    def ctc_log_probs(self, encoded: np.ndarray) -> np.ndarray:
        """(batch, frames, width) to (batch, frames, V + 1) natural log. Raises DecodingError without a CTC head."""
        if self._model.ctc is None:
            raise self._no_head("ctc")
        return self._model.ctc.log_probs(encoded)

    def decode(self, encoded: np.ndarray, lengths: np.ndarray, decoding: Decoding) -> list[list[Hypothesis]]:
        """Hypotheses of each item, best first.

        Args:
            encoded: (batch, frames, width) float32 and its valid `lengths` (batch,).
        Raises:
            DecodingError: the model lacks the head, or a setting does not fit it.
        """
        head = self._head(decoding)
        source = self._model.transducer if head != "ctc" else None
        ceiling = maes.CEILING if isinstance(decoding, Maes) else 1 - 1e-2
        fused = fuse(decoding.fusion, len(self.vocabulary), self.tokenizer.encode, ceiling=ceiling)
        arguments = (np.asarray(lengths), *([source] if source else []), decoding, fused)
        states = encoded if source else self.ctc_log_probs(encoded)
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
        """
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
        made = [replace(one, model=self.info.source, language=self._language()) for one in made]
        if not made:
            return Transcript(duration=duration, model=self.info.source, language=self._language())
        return replace(made[0], alternatives=tuple(made[1:]))

    # From audio to text.

    def transcribe(
        self,
        audio: Any,
        *,
        sample_rate: int = 16_000,
        decoding: Decoding = Greedy(),  # noqa: B008 - frozen values
        segmentation: Segmentation = Segmentation(),  # noqa: B008
        chunking: Chunking = Chunking(),  # noqa: B008
        on_progress: OnProgress | None = None,
        cancel: threading.Event | None = None,
        resume: Cancelled | None = None,
    ) -> Transcript:
        """What was said in one recording.

        Args:
            audio: 1-D samples at `sample_rate` (float, or integers of full scale), or anything `read_audio` takes.
            on_progress: called with seconds of audio.
            cancel: looked at between pieces of audio.
            resume: an earlier, cancelled call with the same audio and settings, to go on from.
        Raises:
            AudioError, DecodingError, Cancelled (with the transcript of the pieces that were done).
        """
        return self.transcribe_batch(
            [audio],
            sample_rate=sample_rate,
            decoding=decoding,
            segmentation=segmentation,
            chunking=chunking,
            on_progress=on_progress,
            cancel=cancel,
            resume=resume,
        )[0]

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
        """What was said in several recordings; each gets what it gets alone.

        Args:
            As for `transcribe`; seconds of progress are those of all recordings together.
        Raises:
            As `transcribe`; `Cancelled.partial` is a list, unless there is one recording.
        """
        self._head(decoding)
        recordings = [self._recording(audio, sample_rate, chunking) for audio in audios]
        work = Work(recordings, list(resume.state) if resume is not None else [])
        started = time.perf_counter()

        def results() -> list[Transcript]:
            spent = {**work.timings, "total": time.perf_counter() - started}
            return [
                self._finish(recording, found, decoding, segmentation, spent)
                for recording, found in zip(recordings, work.by_recording(), strict=True)
            ]

        def report(samples: int) -> None:
            if on_progress is not None:
                rate = self.info.sample_rate
                on_progress(Progress(samples / rate, work.samples / rate, "transcribe"))

        while (waiting := work.next(self._batch_samples)) is not None:
            report(work.samples_done)
            if cancel is not None and cancel.is_set():
                partial = results()
                raise Cancelled(partial[0] if len(partial) == 1 else partial, state=tuple(work.done))
            work.add(self._hear(waiting, decoding, work.timings))
        report(work.samples)
        return results()

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
        """One recording through several decoders; each window goes through the encoder once.

        Returns:
            A transcript for each of `decodings`. The time of features and encoder is in the timings of each.
        Raises:
            As `transcribe`; `Cancelled.partial` is the list of what each decoder had.
        """
        for decoding in decodings:
            self._head(decoding)
        recording = self._recording(audio, sample_rate, chunking)
        found: list[list[list[Hypothesis]]] = [[] for _ in decodings]
        shared: dict[str, float] = {}
        own: list[dict[str, float]] = [{} for _ in decodings]
        rate, total = self.info.sample_rate, len(recording.samples) / self.info.sample_rate

        def results() -> list[Transcript]:
            return [
                self._finish(recording, each, decoding, segmentation, _summed(shared, times))
                for each, decoding, times in zip(found, decodings, own, strict=True)
            ]

        for span in recording.spans:
            if on_progress is not None:
                on_progress(Progress(span.first / rate, total, "transcribe"))
            encoded = self._encoded([recording.samples[span.start : span.end]], shared)
            for each, decoding, times in zip(found, decodings, own, strict=True):
                if cancel is not None and cancel.is_set():
                    raise Cancelled(results())
                started = time.perf_counter()
                each += self.decode(*encoded, decoding)
                times["decoder"] = times.get("decoder", 0.0) + time.perf_counter() - started
        if on_progress is not None:
            on_progress(Progress(total, total, "transcribe"))
        return results()

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
        """When a known text was said: the most probable path of its tokens through a head's lattice.

        Long audio is transcribed first, and cut where the text says what was heard.

        Args:
            head: "ctc" where the model has it, else the transducer; or one of the model's heads.
        Returns:
            A transcript of that text with times, confidence, and the path's log-prob as its score; characters that the
            model cannot write are named in its warnings.
        Raises:
            DecodingError: the text has more tokens than the audio can hold, or the model lacks the head.
        """
        head = self._head(Greedy(head=head or ("ctc" if "ctc" in self.info.heads else None)))
        recording = self._recording(audio, sample_rate, Chunking())
        rate, samples = self.info.sample_rate, recording.samples
        duration = len(samples) / rate
        parts = [Piece(text, 0.0, duration)]
        if duration > 2 * PIECE:
            heard = self.transcribe(samples, sample_rate=rate, on_progress=on_progress, cancel=cancel)
            parts = pieces(text, heard.words, duration)
        edges = [round(part.start * rate) // self._grid * self._grid for part in parts] + [len(samples)]
        spans, found = [], []
        for part, (start, end) in zip(parts, pairwise(edges), strict=True):
            if cancel is not None and cancel.is_set():
                raise Cancelled(self._aligned(recording, spans, found, segmentation, confidence, text))
            if on_progress is not None:
                on_progress(Progress(start / rate, duration, "align"))
            encoded, lengths = self._encoded([samples[start:end]], {})
            found.append(self._forced(encoded[:, : lengths[0]], self.tokenizer.encode(part.text), head, confidence))
            spans.append(Window(start, end, start, end))
        if on_progress is not None:
            on_progress(Progress(duration, duration, "align"))
        return self._aligned(recording, spans, found, segmentation, confidence, text)

    # Inside.

    def _forced(self, encoded: np.ndarray, labels: Sequence[int], head: str, confidence: Confidence) -> Hypothesis:
        """The path of labels through one piece of audio, (1, frames, width)."""
        wanted = np.array(labels, np.int64)
        if head == "ctc":
            log_probs = self.ctc_log_probs(encoded)[0]
            path, score = forced.ctc(log_probs, wanted)
            return fold(path, log_probs, confidence, score)
        transducer = self._model.transducer
        projected = transducer.joint.project_encoder(encoded)
        return replay(projected, [[forced.transducer(projected[0], wanted, transducer)]], transducer, confidence)[0][0]

    def _aligned(
        self,
        recording: Recording,
        spans: list[Window],
        found: list[Hypothesis],
        segmentation: Segmentation,
        confidence: Confidence,
        text: str,
    ) -> Transcript:
        whole = join(found, spans, self.vocabulary, self._grid, self.info.sample_rate)
        duration = len(recording.samples) / self.info.sample_rate
        made = self.transcript([whole], duration=duration, segmentation=segmentation, confidence=confidence)
        said = recording.warnings
        if unknown := self.tokenizer.unknown_characters(text):
            said += (f"The model cannot write {' '.join(unknown)}; that part of the text has no tokens of its own.",)
        cuts = tuple(span.first / self.info.sample_rate for span in spans[1:])
        return replace(made, warnings=said, cuts=cuts)

    def _encoded(self, pieces: list[np.ndarray], timings: dict[str, float]) -> tuple[np.ndarray, np.ndarray]:
        """Encoder output of some pieces of audio, all at once; adds to the timings."""
        t0 = time.perf_counter()
        features, lengths = self.features(pieces)
        t1 = time.perf_counter()
        encoded = self.encode(features, lengths)
        timings["features"] = timings.get("features", 0.0) + t1 - t0
        timings["encoder"] = timings.get("encoder", 0.0) + time.perf_counter() - t1
        return encoded

    def _recording(self, audio: Any, sample_rate: int, chunking: Chunking) -> Recording:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", AudioWarning)
            samples = as_samples(audio, sample_rate, self.info.sample_rate)
        said = []
        for warning in caught:
            if issubclass(warning.category, AudioWarning):
                said.append(str(warning.message))
            else:
                warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
        return Recording(samples, tuple(windows(samples, self.info.sample_rate, chunking, self._grid)), tuple(said))

    def _hear(self, pieces: list[np.ndarray], decoding: Decoding, timings: dict[str, float]) -> list[list[Hypothesis]]:
        """The hypotheses of each piece, best first; all go through the encoder at once."""
        encoded = self._encoded(pieces, timings)
        started = time.perf_counter()
        found = self.decode(*encoded, decoding)
        timings["decoder"] = timings.get("decoder", 0.0) + time.perf_counter() - started
        return found

    def _finish(
        self,
        recording: Recording,
        found: list[list[Hypothesis]],
        decoding: Decoding,
        segmentation: Segmentation,
        timings: dict[str, float],
    ) -> Transcript:
        spans = recording.spans[: len(found)]
        rate = self.info.sample_rate
        # The N-best of a recording that was cut would be one of all combinations: only its best is joined.
        whole = found[0] if len(found) == 1 else [join([h[0] for h in found], spans, self.vocabulary, self._grid, rate)]
        made = self.transcript(
            whole, duration=len(recording.samples) / rate, segmentation=segmentation, confidence=decoding.confidence
        )
        cuts = tuple(span.first / rate for span in recording.spans[1:])
        return replace(made, decoding=decoding, warnings=recording.warnings, cuts=cuts, timings=timings)

    @property
    def _grid(self) -> int:
        """Samples of one encoder frame."""
        return self.config.features.hop * self.config.encoder.subsampling

    @property
    def _batch_samples(self) -> int:
        return int(BATCH_SECONDS.get(self.info.device, 30.0) * self.info.sample_rate)

    def _language(self) -> str | None:
        return self.info.languages[0] if self.info.languages and len(self.info.languages) == 1 else None

    def _head(self, decoding: Decoding) -> str:
        """The head that `decoding` asks for, checked; also that its other settings fit."""
        if not isinstance(decoding, Greedy | Beam | Maes):
            raise DecodingError(f"decoding is a Greedy, Beam or Maes value, not {type(decoding).__name__}.")
        head = decoding.head or self.info.heads[0]
        if head not in self.info.heads:
            raise self._no_head(head)
        if isinstance(decoding, Maes) and "rnnt" not in self.info.heads:
            has = " and ".join(self.info.heads)
            raise DecodingError(f"MAES decodes RNN-T models; {self.info.name} has {has}. Use Beam.")
        neutral = {"temperature": 0.0, "patience": 1.0, "whisper": None}
        if head != "tdt":
            neutral["duration_weight"] = 1.0
        if head != "ctc":
            neutral["prune"] = 20.0
        for name, value in neutral.items():
            if getattr(decoding, name, value) != value:
                given = f"{name} = {getattr(decoding, name)!r}"
                raise DecodingError(f"{given} does not apply to {head} decoding; leave it at {value!r}.")
        return head

    def _no_head(self, head: str) -> DecodingError:
        has = " and ".join(self.info.heads)
        return DecodingError(f"{self.info.name} has no {head} head; it has {has}.")


def _summed(*timings: dict[str, float]) -> dict[str, float]:
    together = {stage: seconds for part in timings for stage, seconds in part.items()}
    return {**together, "total": sum(together.values())}
