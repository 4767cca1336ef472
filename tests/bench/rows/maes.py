"""MAES of a batch against NeMo's `maes_batch`, where NeMo is installed.

NeMo and its PyTorch are too large for the project's environment: the variable NEMO_PYTHON names an interpreter that has
them (`pip install "nemo_toolkit[asr]>=2.5"`).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import numpy as np

from asr_core.decoding import maes
from asr_core.decoding.options import Maes
from tests.bench.heads import Heads, random_heads
from tests.bench.measuring import timed
from tests.bench.table import Line, seconds
from tests.bench.worker import Worker

BATCH, FRAMES, SIZE, TIMES = 8, 96, 4, 3
FIND = "import importlib.util, sys; sys.exit(importlib.util.find_spec('nemo') is None)"


def rows() -> Iterator[Line]:
    """An RNN-T with 1024 tokens, eight clips."""
    what = f"MAES {SIZE} RNN-T, 1024 tokens, {BATCH} clips"
    heads = random_heads("rnnt", 1024)
    python = os.environ.get("NEMO_PYTHON", sys.executable)
    if subprocess.run([python, "-c", FIND], capture_output=True, check=False).returncode:
        took = median(timed(lambda: _ours(heads)) for _ in range(TIMES))
        yield Line(what, seconds(took), target=2, note="NeMo: not installed (NEMO_PYTHON names a Python that has it)")
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "heads.npz"
        np.savez(path, **heads.weights, encoded=heads.encoded[:BATCH, :FRAMES], beam=SIZE)
        with Worker("tests.bench.nemo_maes", str(path), python=python) as worker:
            tokens, theirs = _ours(heads), worker.ask()["tokens"]
            pairs = [(timed(lambda: _ours(heads)), worker.ask()["seconds"]) for _ in range(TIMES)]
    same = sum(a == b for a, b in zip(tokens, theirs, strict=True))
    yield Line(
        what,
        seconds(median(a for a, _ in pairs)),
        seconds(median(b for _, b in pairs)),
        median(b / a for a, b in pairs),
        target=2,
        note=f"{FRAMES} frames, NeMo on PyTorch's CPU; {same} of {BATCH} best hypotheses the same",
    )


def _ours(heads: Heads) -> list[list[int]]:
    encoded, lengths = heads.encoded[:BATCH, :FRAMES], np.full(BATCH, FRAMES)
    found = maes.transducer(encoded, lengths, heads.transducer, Maes(size=SIZE, n_best=1), None)
    return [list(hypotheses[0].token_ids) for hypotheses in found]
