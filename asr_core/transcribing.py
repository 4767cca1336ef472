"""From recordings to transcripts, window by window: the work behind `Recognizer.transcribe_batch` and `decode_all`."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import replace

from asr_core.alignment import Hypothesis, Transcript
from asr_core.batching import Recording, Work
from asr_core.decoding.options import Decoding
from asr_core.errors import Cancelled
from asr_core.longform import join
from asr_core.progress import OnProgress, Progress, go_on
from asr_core.segmentation import Segmentation
from asr_core.stages import Stages

#: Seconds of padded audio that go through the encoder together; small on a CPU, where a batch gains little and a
#: cancelled job should stop soon.
BATCH_SECONDS = {"CPU": 30.0, "Metal": 240.0}


def batch(
    stages: Stages,
    recordings: Sequence[Recording],
    decoding: Decoding,
    segmentation: Segmentation,
    on_progress: OnProgress | None,
    cancel: threading.Event | None,
    resume: Cancelled | None = None,
) -> list[Transcript]:
    """Several recordings through one decoder; windows of all of them share the encoder's batches.

    Raises:
        Cancelled: with what was heard so far, a list unless there is one recording, and the state to go on from.
    """
    rate = stages.info.sample_rate
    limit = int(BATCH_SECONDS.get(stages.info.device, 30.0) * rate)
    work = Work(recordings, list(resume.state) if resume is not None else [])
    started = time.perf_counter()

    def results() -> list[Transcript]:
        spent = {**work.timings, "total": time.perf_counter() - started}
        return [
            finished(stages, recording, found, decoding, segmentation, spent)
            for recording, found in zip(recordings, work.by_recording(), strict=True)
        ]

    def report(samples: int) -> None:
        if on_progress is not None:
            so_far = (lambda: results()[0]) if len(recordings) == 1 else None
            on_progress(Progress(samples / rate, work.samples / rate, "transcribe", so_far))

    while (waiting := work.next(limit)) is not None:
        report(work.samples_done)
        try:
            go_on(cancel)
            encoded = stages.encode_audio(waiting, work.timings)
            before = time.perf_counter()
            work.add(stages.decode(*encoded, decoding, cancel=cancel))
        except Cancelled:
            partial = results()
            raise Cancelled(partial[0] if len(partial) == 1 else partial, state=tuple(work.done)) from None
        work.timings["decoder"] = work.timings.get("decoder", 0.0) + time.perf_counter() - before
    report(work.samples)
    return results()


def every(
    stages: Stages,
    recording: Recording,
    decodings: Sequence[Decoding],
    segmentation: Segmentation,
    on_progress: OnProgress | None,
    cancel: threading.Event | None,
) -> list[Transcript]:
    """One recording through several decoders; each window goes through the encoder once.

    Raises:
        Cancelled: with the list of what each decoder had, up to the same place.
    """
    found: list[list[list[Hypothesis]]] = [[] for _ in decodings]
    shared: dict[str, float] = {}
    own: list[dict[str, float]] = [{} for _ in decodings]
    rate = stages.info.sample_rate
    total = len(recording.samples) / rate

    def results(windows: int) -> list[Transcript]:
        return [
            finished(stages, recording, each[:windows], decoding, segmentation, _summed(shared, times))
            for each, decoding, times in zip(found, decodings, own, strict=True)
        ]

    for number, span in enumerate(recording.spans):
        if on_progress is not None:
            on_progress(Progress(span.first / rate, total, "transcribe"))
        encoded = stages.encode_audio([recording.samples[span.start : span.end]], shared)
        for each, decoding, times in zip(found, decodings, own, strict=True):
            started = time.perf_counter()
            try:
                go_on(cancel)
                each += stages.decode(*encoded, decoding, cancel=cancel)
            except Cancelled:
                raise Cancelled(results(number)) from None
            times["decoder"] = times.get("decoder", 0.0) + time.perf_counter() - started
    if on_progress is not None:
        on_progress(Progress(total, total, "transcribe"))
    return results(len(recording.spans))


def finished(
    stages: Stages,
    recording: Recording,
    found: Sequence[Sequence[Hypothesis]],
    decoding: Decoding,
    segmentation: Segmentation,
    timings: dict[str, float],
) -> Transcript:
    """The transcript of a recording's first windows.

    Args:
        found: the hypotheses of each window heard so far, best first.
    """
    rate, spans = stages.info.sample_rate, recording.spans[: len(found)]
    whole = found[0] if len(found) == 1 else None
    if whole is None:
        # The N-best of a recording that was cut would be one of all combinations: only its best is joined.
        best = [hypotheses[0] for hypotheses in found]
        whole = [join(best, spans, stages.vocabulary, stages.frame_samples, rate)]
    made = stages.transcript(
        whole, duration=len(recording.samples) / rate, segmentation=segmentation, confidence=decoding.confidence
    )
    cuts = tuple(span.first / rate for span in recording.spans[1:])
    return replace(made, decoding=decoding, warnings=recording.warnings, cuts=cuts, timings=timings)


def _summed(*timings: dict[str, float]) -> dict[str, float]:
    together = {stage: seconds for part in timings for stage, seconds in part.items()}
    return {**together, "total": sum(together.values())}
