"""The jobs that run: load a model, read a recording, recognise or compare."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import asr_core
from asr_core.decoding.options import Decoding
from components.comparing import CompareRequest, Comparing, Finish, prepare_fusion
from components.documents import Document, Documents, Sound, read_sound
from components.job import Job
from components.models import Models
from components.wording import spoken, too_long


@dataclass(frozen=True)
class Request:
    """What to do: which recording, with which model and settings.

    Args:
        channel: index of the channel; None = the mean of all.
        resume: go on where an earlier job was stopped, if the settings allow it.
    """

    document: str
    model: str
    decoding: Decoding
    segmentation: asr_core.Segmentation
    channel: int | None = None
    resume: bool = False


class Jobs:
    """The jobs that run, by id."""

    def __init__(self, documents: Documents, models: Models, max_minutes: float) -> None:
        self._documents, self._models, self._max_minutes = documents, models, max_minutes
        self._comparing = Comparing(models, self._read)
        self._running: dict[str, Job] = {}

    def transcribe(self, request: Request) -> Job:
        """Start a transcription; its result goes into the recording's document."""
        return self._start(lambda job: self._transcribe(request, job))

    def compare(self, request: CompareRequest, finish: Finish) -> Job:
        """Start a comparison; it is stopped where there is too little to compare."""
        return self._start(lambda job: self._compare(request, finish, job))

    def run(self, work: Callable[[Job], None]) -> Job:
        """Start other work; it reports its stage to the job that it is given, and looks at its `cancelled`."""
        return self._start(work)

    def load(self, model: str) -> Job:
        """Start to load a model."""

        def work(job: Job) -> None:
            self._models.get(model, job.on_progress)
            job.report("done")

        return self._start(work)

    def cancel(self, key: object) -> bool:
        """Cancel the job with this id; False if there is none."""
        job = self._running.get(key) if isinstance(key, str) else None
        if job is not None:
            job.cancel()
        return job is not None

    def running(self) -> tuple[Job, ...]:
        """The jobs that are not over."""
        return tuple(self._running.values())

    def _start(self, work: Callable[[Job], None]) -> Job:
        def run(job: Job) -> None:
            try:
                work(job)
            finally:
                self._running.pop(job.id, None)

        job = Job(run)
        self._running[job.id] = job
        return job.start()

    def _transcribe(self, request: Request, job: Job) -> None:
        recognizer = self._models.get(request.model, job.on_progress)
        prepare_fusion(request.decoding, job, recognizer)
        document, sound = self._read(request.document, request.channel, recognizer.info.sample_rate, job)
        self._listen(request, job, recognizer, document, sound)

    def _read(self, key: str, channel: int | None, sample_rate: int, job: Job) -> tuple[Document, Sound]:
        """Decode a recording, and keep what the page draws and plays of it."""
        job.report("read")
        document = self._documents.get(key)
        limit = self._max_minutes * 60
        if document.info.duration > limit:  # False for NaN: then the samples tell
            raise asr_core.AudioError(too_long(document.name, document.info.duration, limit))
        sound = read_sound(document, sample_rate=sample_rate, channel=channel, max_seconds=limit)
        return self._documents.prepare(document.id, sound), sound

    def _compare(self, request: CompareRequest, finish: Finish, job: Job) -> None:
        audio = self._documents.get(request.document).audio
        channel = None if audio is None else audio.channel  # the one that has been opened in Transcribe
        self._comparing.work(request, channel, finish, job)

    def _listen(
        self, request: Request, job: Job, recognizer: asr_core.Recognizer, document: Document, sound: Sound
    ) -> None:
        """Recognise; a cancel keeps what was heard, and what is needed to go on."""
        resume = document.stopped if request.resume and _continues(document, request, recognizer) else None
        before = document.seconds if resume is not None else 0.0
        stopped = None
        started = time.perf_counter()
        try:
            transcript = recognizer.transcribe(
                sound.samples,
                sample_rate=sound.sample_rate,
                decoding=request.decoding,
                segmentation=request.segmentation,
                on_progress=job.on_progress,
                cancel=job.cancelled,
                resume=resume,
            )
        except asr_core.Cancelled as cancelled:
            transcript, stopped = cancelled.partial, cancelled
        seconds = before + time.perf_counter() - started
        transcript = replace(transcript, warnings=(*sound.warnings, *transcript.warnings))
        made = {"transcript": transcript, "language": spoken(transcript, recognizer.info.languages)}
        self._documents.update(document.id, **made, picked=0, seconds=seconds, stopped=stopped)
        state = job.state()
        job.report("done" if stopped is None else "stopped", state.done, state.total)


def _continues(document: Document, request: Request, recognizer: asr_core.Recognizer) -> bool:
    """Whether a stopped transcript was made by the same model with the same decoder."""
    made = document.transcript
    return made is not None and made.model == recognizer.info.source and made.decoding == request.decoding
