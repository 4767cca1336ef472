"""Feeds an hour of audio to a stream and says what its beginning and end cost."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from asr_core import StreamWindow
from tests.bench import samples
from tests.bench.worker import peak_bytes, serve

PACKET, FIVE_MINUTES = 1600, 300 * samples.RATE


def hear(_: Any) -> dict[str, float]:
    """Processor seconds of the first and last five minutes, bytes gained between, real-time factor with drafts."""
    recognizer = samples.recognizer()
    sound = np.resize(np.concatenate(samples.recordings()), FIVE_MINUTES)
    with recognizer.stream() as stream:
        started = time.perf_counter()
        _feed(stream, sound[: 60 * samples.RATE])
        factor = (time.perf_counter() - started) / 60
    costs, memory = [], []
    with recognizer.stream(window=StreamWindow(draft_every=None)) as stream:
        for _ in range(12):
            started = time.process_time()
            _feed(stream, sound)
            costs.append(time.process_time() - started)
            memory.append(peak_bytes())
        tokens = len(stream.finish().tokens)
    return {
        "first": costs[0],
        "last": costs[-1],
        "bytes": memory[-1] - memory[0],
        "factor": factor,
        "tokens": tokens,
    }


def _feed(stream: Any, sound: np.ndarray) -> None:
    for first in range(0, len(sound), PACKET):
        stream.feed(sound[first : first + PACKET])


if __name__ == "__main__":
    serve(hear)
