"""A loaded model, and every way of asking it what was said."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, ClassVar

from asr_core import aligning, checks, inspection, transcribing
from asr_core.alignment import Transcript
from asr_core.audio import as_samples
from asr_core.decoding.options import Confidence, Decoding, Greedy, Whisper
from asr_core.errors import Cancelled
from asr_core.frame_scores import FrameScores
from asr_core.longform import Chunking
from asr_core.progress import OnProgress
from asr_core.segmentation import Segmentation
from asr_core.stages import Stages
from asr_core.streaming import Stream, StreamWindow, open_stream


@dataclass(frozen=True)
class Recognizer(Stages):
    """A model that is ready: its stages, and the questions that go through all of them. Any thread may call it.

    Args:
        card: its model card, where it has one.
        size_bytes: of its weights on disk.
    """

    card: str | None
    size_bytes: int
    #: The module with the `batch` and `every` of models of this kind.
    _transcribing: ClassVar[ModuleType] = transcribing

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
            cancel: looked at between pieces of audio, and between the steps of a search.
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
        self.head_of(decoding)
        check_request(segmentation, chunking, on_progress, cancel, resume)
        audios = checks.several("audios", audios, "recordings")
        recordings = [self.recording(audio, sample_rate, chunking) for audio in audios]
        return self._transcribing.batch(self, recordings, decoding, segmentation, on_progress, cancel, resume)

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
            As `transcribe`; `Cancelled.partial` is the list of what each decoder had, up to the same place.
        """
        decodings = checks.several("decodings", decodings, "Greedy, Beam or Maes values")
        check_request(segmentation, chunking, on_progress, cancel)
        for decoding in decodings:
            self.head_of(decoding)
        recording = self.recording(audio, sample_rate, chunking)
        return self._transcribing.every(self, recording, decodings, segmentation, on_progress, cancel)

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
        """When a known text was said: the most probable path of its tokens through a head's lattice.

        Long audio is transcribed first, and cut where the text says what was heard.

        Args:
            head: "ctc" where the model has it, else the transducer; or one of the model's heads.
            whisper: what a Whisper model has to be told of the text: its language, or that it is a translation.
        Returns:
            A transcript of that text with times, confidence, and the path's log-prob as its score; characters that the
            model cannot write are named in its warnings.
        Raises:
            DecodingError: the text has more tokens than the audio can hold, or the model lacks the head.
        """
        if head is None and "ctc" in self.info.heads:
            head = "ctc"
        head = self.head_of(Greedy(head=head, confidence=confidence, whisper=whisper))
        checks.text("text", text)
        check_request(segmentation, Chunking(), on_progress, cancel)
        recording = self.recording(audio, sample_rate, Chunking())
        return aligning.align(self, recording, text, head, segmentation, confidence, on_progress, cancel)

    def inspect(
        self, audio: Any, transcript: Transcript, start: float, end: float, *, sample_rate: int = 16_000
    ) -> FrameScores:
        """What the transcript's own head thought at each frame between two times.

        The audio of that span is encoded again, in the windows it was heard in.

        Args:
            audio: the whole recording the transcript belongs to.
            start, end: seconds.
        Raises:
            AudioError, DecodingError: the span is not one, or the model lacks the head the transcript was decoded with.
        """
        inspection.check(transcript, start, end, len(self.vocabulary))
        head = self.head_of(Greedy(head=getattr(transcript.decoding, "head", None)))
        return inspection.look(
            self, as_samples(audio, sample_rate, self.info.sample_rate), transcript, head, start, end
        )

    def stream(
        self,
        *,
        decoding: Decoding = Greedy(),  # noqa: B008 - frozen values
        window: StreamWindow = StreamWindow(),  # noqa: B008
        lookahead: int | None = None,
        segmentation: Segmentation = Segmentation(),  # noqa: B008
        pause: float | None = None,
    ) -> Stream:
        """Decode a recording while it goes on; several streams may go on at once.

        Args:
            decoding: Greedy, of any head.
            window: what the encoder sees at a time; a cache-aware model has steps of its own.
            lookahead: encoder frames that a cache-aware streaming model looks ahead; None for other models.
            pause: seconds of silence that end an utterance; None = only the model's own end-of-utterance token does.
        Raises:
            DecodingError: a decoder that cannot go on from a state, or a setting that does not fit the model.
        """
        return open_stream(self, decoding, window, lookahead, segmentation, pause)


def check_request(
    segmentation: Segmentation,
    chunking: Chunking,
    on_progress: OnProgress | None,
    cancel: threading.Event | None,
    resume: Cancelled | None = None,
) -> None:
    """Raise DecodingError for what every question takes, where one of it is of another kind."""
    checks.instance("segmentation", segmentation, Segmentation)
    checks.instance("chunking", chunking, Chunking)
    checks.callback("on_progress", on_progress)
    checks.event("cancel", cancel)
    checks.instance("resume", resume, Cancelled, optional=True)
