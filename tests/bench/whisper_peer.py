"""mlx-whisper or openai-whisper on one encoded clip, run by an interpreter that has them; imports nothing of ours.

Usage: python -m tests.bench.whisper_peer mlx|openai clip.npz (see tests/bench/rows/whisper.py).
"""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from tests.bench.worker import serve

PREFIX = "weights."


def main() -> None:
    """For each question, a beam size, decode the clip; answer with the seconds of the processor and the tokens."""
    with np.load(sys.argv[2]) as file:
        weights = {name.removeprefix(PREFIX): file[name] for name in file.files if name.startswith(PREFIX)}
        encoded, dimensions = (
            file["encoded"],
            {name: int(n) for name, n in zip(file["names"], file["sizes"], strict=True)},
        )
    run = {"mlx": _mlx, "openai": _openai}[sys.argv[1]](dimensions, weights, encoded)

    def decode(size: int) -> dict[str, Any]:
        started = time.process_time()
        tokens = run(size)
        return {"seconds": time.process_time() - started, "tokens": [int(token) for token in tokens]}

    serve(decode)


def _mlx(dimensions: dict[str, int], weights: dict[str, np.ndarray], encoded: np.ndarray) -> Callable[[int], list[int]]:
    with suppress(OSError):
        # As ours does on Linux: the wheel's own BLAS is many times slower.
        ctypes.CDLL("libopenblas.so.0", mode=ctypes.RTLD_GLOBAL)
    import mlx.core as mx
    from mlx.utils import tree_unflatten
    from mlx_whisper.decoding import DecodingOptions, decode
    from mlx_whisper.whisper import ModelDimensions, Whisper

    model = Whisper(ModelDimensions(**dimensions), mx.float32)
    model.update(tree_unflatten([(name, mx.array(x)) for name, x in weights.items()]))
    mx.eval(model.parameters())
    features, options = mx.array(encoded), DecodingOptions(language="en", without_timestamps=True, fp16=False)
    return lambda size: decode(model, features, options)[0].tokens


def _openai(
    dimensions: dict[str, int], weights: dict[str, np.ndarray], encoded: np.ndarray
) -> Callable[[int], list[int]]:
    import torch
    from whisper.decoding import DecodingOptions, decode
    from whisper.model import ModelDimensions, Whisper

    torch.set_num_threads(1)
    model = Whisper(ModelDimensions(**dimensions))
    renamed = {name.replace(".mlp1.", ".mlp.0.").replace(".mlp2.", ".mlp.2."): x for name, x in weights.items()}
    as_torch = {
        n: torch.from_numpy(x.swapaxes(1, 2).copy() if "conv" in n and x.ndim == 3 else x) for n, x in renamed.items()
    }
    model.load_state_dict(as_torch, strict=False)  # but for the encoder's positions, which it computes itself
    model.eval()
    features = torch.from_numpy(encoded)

    def run(size: int) -> list[int]:
        beam = size if size > 1 else None
        return decode(
            model, features, DecodingOptions("transcribe", "en", beam_size=beam, without_timestamps=True, fp16=False)
        )[0].tokens

    return run


if __name__ == "__main__":
    main()
