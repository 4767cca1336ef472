"""Our decoder on one encoded clip, in a process with one thread.

Usage: python -m tests.bench.whisper_worker clip.npz (see tests/bench/rows/whisper.py).
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

import asr_core
from asr_core import Beam, Greedy, Whisper
from asr_core.whisper import search
from tests.bench.worker import serve


def main() -> None:
    """For each question, a beam size, decode the clip; answer with the seconds of the processor and the tokens."""
    recognizer = asr_core.load_model("whisper-tiny.en", local_files_only=True)
    with np.load(sys.argv[1]) as file:
        encoded = file["encoded"]
    options, tokenizer, decoder = Whisper(timestamps=False), recognizer.tokenizer, recognizer.decoder
    prompt = search.prompt_of(tokenizer, options, None, (), decoder.room)
    filters = search.filters_of(tokenizer, options)

    def decode(size: int) -> dict[str, Any]:
        decoding = Beam(size=size) if size > 1 else Greedy()
        started = time.process_time()
        kind = search.search_of(decoding, 0.0, None, tokenizer.vocabulary.special.end)
        found = search.read(decoder, decoder.begin(encoded), [prompt], kind, filters, tokenizer)[0]
        return {"seconds": time.process_time() - started, "tokens": list(found.best.tokens)}

    serve(decode)


if __name__ == "__main__":
    main()
