"""A step of Whisper's decoder, greedy and with five beams, beside mlx-whisper and openai-whisper on the same weights.

The peers bring PyTorch along: the variable WHISPER_PYTHON names an interpreter that has them
(`pip install "mlx[cpu]" mlx-whisper openai-whisper`).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import fields
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import asr_core
from asr_core.models import wheels
from asr_core.models.whisper_weights import load_checkpoint
from tests.bench.samples import RATE
from tests.bench.table import Line, seconds
from tests.bench.worker import ROOT, Worker

CLIP = ROOT / "assets" / "samples" / "john-dashwood.flac"
TIMES, BEAM = 5, 5
MODULES = {"mlx": "mlx_whisper", "openai": "whisper.model"}
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
MISSING = "not installed (WHISPER_PYTHON names a Python that has it)"


def rows() -> Iterator[Line]:
    """Steps of a clip of 7 s: seconds of the processor for all of its text, without the encoder, by tokens written."""
    try:
        recognizer = asr_core.load_model("whisper-tiny.en")
    except asr_core.ModelError as error:
        yield Line("Whisper tiny.en, decoder step", note=f"not here: {error}")
        return
    python = os.environ.get("WHISPER_PYTHON", sys.executable)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        clip = Path(folder) / "clip.npz"
        _write(clip, recognizer)
        jobs: dict[tuple[str, int], Callable[[], Any]] = {}

        def start(name: str, module: str, *arguments: str, python: str, sizes: tuple[int, ...]) -> None:
            worker = stack.enter_context(Worker(module, *arguments, str(clip), python=python, environment=ONE_THREAD))
            jobs.update({(name, size): lambda size=size: worker.ask(size) for size in sizes})

        start("ours", "tests.bench.whisper_worker", python=sys.executable, sizes=(1, BEAM))
        for name, sizes in (("mlx", (1,)), ("openai", (1, BEAM))):
            if _has(python, MODULES[name]):
                start(name, "tests.bench.whisper_peer", name, python=python, sizes=sizes)
        found = {key: job() for key, job in jobs.items()}  # the first time is warming up
        rounds = [{key: job()["seconds"] for key, job in jobs.items()} for _ in range(TIMES)]
    steps = {key: len(answer["tokens"]) + 1 for key, answer in found.items()}
    took = {key: median(one[key] / steps[key] for one in rounds) for key in jobs}

    def against(
        size: int, peer: tuple[str, int], what: str, target: float | None = None, *, at_most: bool = False
    ) -> Line:
        if peer not in took:
            return Line(what, seconds(took["ours", size]), target=target, at_most=at_most, note=f"{peer[0]}: {MISSING}")
        ratio = median(one["ours", size] / steps["ours", size] * steps[peer] / one[peer] for one in rounds)
        same = found["ours", size]["tokens"] == found[peer]["tokens"]
        return Line(
            what,
            seconds(took["ours", size]),
            seconds(took[peer]),
            ratio if at_most else 1 / ratio,
            target=target,
            at_most=at_most,
            note=f"{steps['ours', size]} steps, {'the same' if same else 'another'} text; of the processor, one thread",
        )

    yield against(1, ("mlx", 1), "Whisper greedy step, mlx-whisper", 1.2)
    yield against(BEAM, ("mlx", 1), "Whisper beam 5 step, mlx-whisper greedy", 1.2, at_most=True)
    yield against(1, ("openai", 1), "Whisper greedy step, openai-whisper")
    yield against(BEAM, ("openai", BEAM), "Whisper beam 5 step, openai-whisper")


def _has(python: str, module: str) -> bool:
    find = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({module!r}) is None)"
    return subprocess.run([python, "-c", find], capture_output=True, check=False).returncode == 0


def _write(path: Path, recognizer: asr_core.Recognizer) -> None:
    """What all get: the clip's encoder output, the weights as float32, and the model's dimensions."""
    samples = asr_core.read_audio(CLIP, sample_rate=RATE)
    encoded, _ = recognizer.encode(*recognizer.features([samples]))
    weights = load_checkpoint(wheels.fetch("whisper-tiny.en", local_files_only=True)).weights
    dimensions = recognizer.config.dimensions
    names = [field.name for field in fields(dimensions)]
    np.savez(
        path,
        encoded=encoded,
        names=np.array(names),
        sizes=np.array([getattr(dimensions, name) for name in names]),
        **{f"weights.{name}": np.array(x, np.float32) for name, x in weights.items()},
    )
