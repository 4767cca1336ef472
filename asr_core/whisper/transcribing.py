"""From recordings to transcripts: the work behind `transcribe_batch` and `decode_all` of a Whisper model."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from asr_core.alignment import Transcript
from asr_core.batching import Recording
from asr_core.decoding.options import Beam, Decoding, Greedy
from asr_core.errors import Cancelled
from asr_core.progress import OnProgress, Progress
from asr_core.segmentation import Segmentation
from asr_core.whisper import features as front_end
from asr_core.whisper.hearing import FRAMES_PER_SECOND, Heard, Sound, hear
from asr_core.whisper.stages import WhisperStages


def batch(
    stages: WhisperStages,
    recordings: Sequence[Recording],
    decoding: Decoding,
    segmentation: Segmentation,
    on_progress: OnProgress | None,
    cancel: threading.Event | None,
    resume: Cancelled | None = None,
) -> list[Transcript]:
    """Several recordings, one after the other.

    Raises:
        Cancelled: with what was heard so far, a list unless there is one recording, and the state to go on from.
    """
    total = sum(len(recording.samples) for recording in recordings) / stages.info.sample_rate
    states = list(resume.state) if resume is not None else []
    done: list[Transcript] = []
    before = 0.0
    for i, recording in enumerate(recordings):

        def report(frame: int, before: float = before) -> None:
            if on_progress is not None:
                on_progress(Progress(min(total, before + frame / FRAMES_PER_SECOND), total, "transcribe"))

        sound = _sound(stages, recording.samples)
        started = sound.now()
        try:
            heard = hear(stages, sound, decoding, states[i] if i < len(states) else Heard(), cancel, report)
        except Cancelled as cancelled:
            heard = cancelled.state[0]
            partial = [*done, _finished(stages, heard, sound, decoding, segmentation, recording.warnings, started)]
            states[i:] = [heard]
            raise Cancelled(partial[0] if len(recordings) == 1 else partial, state=tuple(states)) from None
        states[i : i + 1] = [heard]
        done.append(_finished(stages, heard, sound, decoding, segmentation, recording.warnings, started))
        before += len(recording.samples) / stages.info.sample_rate
    return done


def every(
    stages: WhisperStages,
    recording: Recording,
    decodings: Sequence[Decoding],
    segmentation: Segmentation,
    on_progress: OnProgress | None,
    cancel: threading.Event | None,
) -> list[Transcript]:
    """One recording through several decoders; windows that begin at the same place are encoded once.

    Raises:
        Cancelled: with the list of what each decoder had.
    """
    sound, seconds = _sound(stages, recording.samples), len(recording.samples) / stages.info.sample_rate
    done: list[Transcript] = []
    for i, decoding in enumerate(decodings):
        started = sound.now()

        def report(frame: int, before: int = i) -> None:
            share = (before * seconds + frame / FRAMES_PER_SECOND) / max(1, len(decodings))
            if on_progress is not None:
                on_progress(Progress(min(seconds, share), seconds, "transcribe"))

        try:
            heard = hear(stages, sound, decoding, Heard(), cancel, report)
        except Cancelled as cancelled:
            heard = cancelled.state[0]
            rest = [_finished(stages, Heard(), sound, one, segmentation, (), started) for one in decodings[i + 1 :]]
            now = _finished(stages, heard, sound, decoding, segmentation, recording.warnings, started)
            raise Cancelled([*done, now, *rest]) from None
        done.append(_finished(stages, heard, sound, decoding, segmentation, recording.warnings, started))
    return done


def _sound(stages: WhisperStages, samples: np.ndarray) -> Sound:
    started = time.perf_counter()
    mel = front_end.log_mel(samples, stages.config.features)
    spent = {"features": time.perf_counter() - started}
    return Sound(samples, mel, lambda window: stages.encode(window[None], np.zeros(1, np.int64))[0], spent)


def _finished(
    stages: WhisperStages,
    heard: Heard,
    sound: Sound,
    decoding: Greedy | Beam,
    segmentation: Segmentation,
    warnings: tuple[str, ...],
    started: float,
) -> Transcript:
    kept = heard.texts[: getattr(decoding, "n_best", None)]
    made = stages.transcript(
        kept,
        duration=len(sound.samples) / stages.info.sample_rate,
        segmentation=segmentation,
        confidence=decoding.confidence,
    )
    timings = sound.timings_since(started)
    language = heard.language or stages.only_language
    return replace(made, decoding=decoding, warnings=warnings, cuts=heard.cuts, timings=timings, language=language)
