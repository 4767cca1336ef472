"""The peer as a user has it: parakeet-mlx without OpenBLAS, in a process of its own.

Its `transcribe` wants a file and the ffmpeg program; what follows the decoding of the file is done here as it does it.
"""

from __future__ import annotations

import time
from typing import Any

import mlx.core as mx
import soundfile
from parakeet_mlx import from_pretrained
from parakeet_mlx.audio import get_logmel

from tests.bench.worker import ROOT, serve


def main() -> None:
    """For each question transcribe every sample; answer with the seconds and the texts."""
    model = from_pretrained(str(ROOT / "assets" / "demo_model"), dtype=mx.float32)
    paths = sorted((ROOT / "assets" / "samples").glob("*.flac"))

    def transcribe(_: Any) -> dict[str, Any]:
        started = time.perf_counter()
        texts = []
        for path in paths:
            audio = mx.array(soundfile.read(path, dtype="float32")[0])
            texts.append(model.generate(get_logmel(audio, model.preprocessor_config))[0].text)
        return {"seconds": time.perf_counter() - started, "texts": texts}

    serve(transcribe)


if __name__ == "__main__":
    main()
