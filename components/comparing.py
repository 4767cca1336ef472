"""A recording through several decoders: each model hears it once, and what is done when it is stopped is kept."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import asr_core
from asr_core.decoding.options import Decoding
from components.documents import Document, Sound
from components.job import Job
from components.models import Models

#: Recordings of which the finished columns of a stopped comparison are kept.
KEPT = 8
#: Columns without which there is nothing to compare.
LEAST = 2

#: The model and the settings of a column.
Setting = tuple[str, Decoding]


@dataclass(frozen=True)
class CompareRequest:
    """One recording through several decoders.

    Args:
        columns: the model and the settings of each.
    """

    document: str
    columns: tuple[Setting, ...]
    segmentation: asr_core.Segmentation


@dataclass(frozen=True)
class Compared:
    """What a comparison has found.

    Args:
        transcripts: by position of the column; all columns, unless it was stopped.
        heard: seconds of the recording that they cover; None = all.
    """

    transcripts: Mapping[int, asr_core.Transcript]
    heard: float | None = None


#: Called with the recording and what was found, before the job is over.
Finish = Callable[[Document, Compared], None]


class Comparing:
    """The work of comparisons. Any thread may call.

    Args:
        read: decodes a recording: (its id, channel, sample rate, job) to what is kept of it and its samples.
    """

    def __init__(self, models: Models, read: Callable[[str, int | None, int, Job], tuple[Document, Sound]]) -> None:
        self._models, self._read = models, read
        self._lock = threading.Lock()
        #: Of each recording the columns that had finished when a comparison was stopped, with their channel.
        self._finished: OrderedDict[str, list[tuple[Setting, int | None, asr_core.Transcript]]] = OrderedDict()

    def work(self, request: CompareRequest, channel: int | None, finish: Finish, job: Job) -> None:
        """Hear what is missing, and finish.

        Raises:
            Cancelled: the job was stopped before anything could be compared; columns that are done are kept.
        """
        found = self._done_before(request, channel)
        document, sound, waiting = None, None, []
        try:
            for model in dict.fromkeys(model for model, _ in request.columns):
                waiting = [i for i, (one, _) in enumerate(request.columns) if one == model and i not in found]
                decodings = [request.columns[i][1] for i in waiting]
                recognizer = self._models.get(model, job.on_progress)
                for decoding in decodings:
                    prepare_fusion(decoding, job, recognizer)
                if sound is None:
                    document, sound = self._read(request.document, channel, recognizer.info.sample_rate, job)
                if not waiting:
                    continue
                transcripts = recognizer.decode_all(
                    sound.samples,
                    decodings,
                    sample_rate=sound.sample_rate,
                    segmentation=request.segmentation,
                    on_progress=job.on_progress,
                    cancel=job.cancelled,
                )
                warned = [replace(one, warnings=sound.warnings) for one in transcripts]
                found.update(zip(waiting, warned, strict=True))
        except asr_core.Cancelled as stopped:
            self._keep(request, channel, found)
            state = job.state()
            compared = _comparable(found, dict(zip(waiting, stopped.partial or (), strict=False)), state.done)
            if compared is None:
                raise
            finish(document, compared)
            job.report("stopped", state.done, state.total)
        else:
            finish(document, Compared(found))
            job.report("done")

    def _done_before(self, request: CompareRequest, channel: int | None) -> dict[int, asr_core.Transcript]:
        """The columns that a stopped comparison of the recording has finished."""
        with self._lock:
            kept = self._finished.pop(request.document, [])
        found = {}
        for i, column in enumerate(request.columns):
            for setting, of_channel, transcript in kept:
                if setting == column and of_channel == channel:
                    found[i] = transcript
        return found

    def _keep(self, request: CompareRequest, channel: int | None, found: Mapping[int, asr_core.Transcript]) -> None:
        with self._lock:
            self._finished[request.document] = [(request.columns[i], channel, one) for i, one in found.items()]
            while len(self._finished) > KEPT:
                self._finished.popitem(last=False)


def _comparable(
    found: Mapping[int, asr_core.Transcript], partial: Mapping[int, asr_core.Transcript], heard: float
) -> Compared | None:
    """What of a stopped comparison can be set side by side: columns that are whole, or that end at the same place."""
    if len(found) >= LEAST:
        return Compared(dict(sorted(found.items())))
    if not found and len(partial) >= LEAST and heard > 0:
        return Compared(partial, heard)
    return None


def prepare_fusion(decoding: Decoding, job: Job, recognizer: asr_core.Recognizer) -> None:
    """Bring the language model over to the tokens of this model, which keeps it for the next time.

    It can take a while, and it can fail: then it does so before anything of an earlier result has changed.
    """
    fusion = decoding.fusion
    if fusion is not None and fusion.lm is not None:
        job.report("fuse")
        fusion.lm.automaton(len(recognizer.vocabulary))
