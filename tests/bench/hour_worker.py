"""Transcribes an hour of audio and says how far memory rose above the model's."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import soundfile

from tests.bench import samples
from tests.bench.worker import peak_bytes, serve


def hear(_: Any) -> dict[str, float]:
    """Peak bytes above the model, seconds, tokens."""
    recognizer = samples.recognizer()
    recognizer.transcribe(samples.recordings()[0])  # whatever is made once is made now
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "hour.wav"
        _write_hour(path)
        before, started = peak_bytes(), time.perf_counter()
        transcript = recognizer.transcribe(path)
        return {
            "bytes": peak_bytes() - before,
            "seconds": time.perf_counter() - started,
            "tokens": len(transcript.tokens),
        }


def _write_hour(path: Path) -> None:
    """Minute by minute, so that the peak so far stays that of the model."""
    minute = np.resize(np.concatenate(samples.recordings()), 60 * samples.RATE)
    with soundfile.SoundFile(path, "w", samples.RATE, 1, "PCM_16") as file:
        for _ in range(60):
            file.write(minute)


if __name__ == "__main__":
    serve(hear)
