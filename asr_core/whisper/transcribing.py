"""From recordings to transcripts: the work behind `transcribe_batch` and `decode_all` of a Whisper model."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

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

#: Makes the transcript of what one decoder has heard of one recording.
Ending = Callable[[Heard], Transcript]


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
        sound = _sound(stages, recording.samples)
        started = sound.now()
        ending = partial(_finished, stages, sound, decoding, segmentation, recording.warnings, started)
        report = _reporter(on_progress, sound, before, total, ending if len(recordings) == 1 else None)
        try:
            heard = hear(stages, sound, decoding, states[i] if i < len(states) else Heard(), cancel, report)
        except Cancelled as cancelled:
            heard = cancelled.state[0]
            so_far = [*done, ending(heard)]
            states[i:] = [heard]
            raise Cancelled(so_far[0] if len(recordings) == 1 else so_far, state=tuple(states)) from None
        states[i : i + 1] = [heard]
        done.append(ending(heard))
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

        def report(heard: Heard, before: int = i) -> None:
            share = (before * seconds + _reached(heard, sound)) / max(1, len(decodings))
            if on_progress is not None:
                on_progress(Progress(min(seconds, share), seconds, "transcribe"))

        try:
            heard = hear(stages, sound, decoding, Heard(), cancel, report)
        except Cancelled as cancelled:
            heard = cancelled.state[0]
            rest = [_finished(stages, sound, one, segmentation, (), started, Heard()) for one in decodings[i + 1 :]]
            now = _finished(stages, sound, decoding, segmentation, recording.warnings, started, heard)
            raise Cancelled([*done, now, *rest]) from None
        done.append(_finished(stages, sound, decoding, segmentation, recording.warnings, started, heard))
    return done


def _reporter(
    on_progress: OnProgress | None, sound: Sound, before: float, total: float, ending: Ending | None
) -> Callable[[Heard], None]:
    """Tells how far a recording is that begins `before` seconds into the work, and with `ending` what it has become."""

    def report(heard: Heard) -> None:
        if on_progress is not None:
            so_far = None if ending is None else partial(ending, heard)
            on_progress(Progress(min(total, before + _reached(heard, sound)), total, "transcribe", so_far))

    return report


def _reached(heard: Heard, sound: Sound) -> float:
    """Seconds that have been heard; the last window may be longer than what is left."""
    return min(heard.seek, sound.frames) / FRAMES_PER_SECOND


def _sound(stages: WhisperStages, samples: np.ndarray) -> Sound:
    started = time.perf_counter()
    mel = front_end.log_mel(samples, stages.config.features)
    spent = {"features": time.perf_counter() - started}
    return Sound(samples, mel, lambda window: stages.encode(window[None], np.zeros(1, np.int64))[0], spent)


def _finished(
    stages: WhisperStages,
    sound: Sound,
    decoding: Greedy | Beam,
    segmentation: Segmentation,
    warnings: tuple[str, ...],
    started: float,
    heard: Heard,
) -> Transcript:
    """The transcript of what was heard of a recording."""
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
