"""A Whisper model that is ready: the same questions as to any recogniser, answered by an encoder-decoder."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from types import ModuleType
from typing import Any, ClassVar

from asr_core import checks, inspection
from asr_core.alignment import Transcript
from asr_core.audio import as_samples
from asr_core.decoding.options import Confidence, Decoding, Greedy, Whisper
from asr_core.longform import Chunking
from asr_core.progress import OnProgress
from asr_core.recognizer import Recognizer, check_request
from asr_core.segmentation import Segmentation
from asr_core.streaming import StreamWindow
from asr_core.whisper import aligning, attention, transcribing
from asr_core.whisper.stages import WhisperStages
from asr_core.whisper.streaming import AlignAttStream, open_stream


@dataclass(frozen=True)
class WhisperRecognizer(WhisperStages, Recognizer):
    """As `Recognizer`, with the stages of a Whisper model."""

    _transcribing: ClassVar[ModuleType] = transcribing

    def align(
        self,
        audio: Any,
        text: str,
        *,
        sample_rate: int = 16_000,
        head: str | None = None,
        whisper: Whisper | None = None,
        segmentation: Segmentation = Segmentation(),  # noqa: B008
        confidence: Confidence = Confidence(),  # noqa: B008
        on_progress: OnProgress | None = None,
        cancel: threading.Event | None = None,
    ) -> Transcript:
        """As `Recognizer.align`, by the attention of the decoder as it reads the text.

        Args:
            whisper: the language that is spoken, else it is found out, and whether the text is a translation of it.
        """
        self.head_of(Greedy(head=head, confidence=confidence, whisper=whisper))
        checks.text("text", text)
        check_request(segmentation, Chunking(), on_progress, cancel)
        recording = self.recording(audio, sample_rate, Chunking())
        return aligning.align(self, recording, text, whisper, segmentation, confidence, on_progress, cancel)

    def inspect(
        self, audio: Any, transcript: Transcript, start: float, end: float, *, sample_rate: int = 16_000
    ) -> attention.Attention:
        """Where the transcript's tokens looked between two times: attention in place of scores by frame."""
        inspection.check(transcript, start, end, len(self.vocabulary))
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
