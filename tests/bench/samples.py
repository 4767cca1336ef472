"""The embedded model on the sample recordings: what both decoders get."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import mlx.core as mx
import numpy as np

import asr_core
from tests.bench.worker import ROOT

MODEL = ROOT / "assets" / "demo_model"
RATE = 16_000


@cache
def recognizer() -> asr_core.Recognizer:
    """The embedded model."""
    return asr_core.load_model()


@cache
def recordings() -> tuple[np.ndarray, ...]:
    """The samples, each (samples,) float32 at RATE."""
    return tuple(asr_core.read_audio(path) for path in sorted(sample_files()))


def sample_files() -> list[Path]:
    """Their paths."""
    return list((ROOT / "assets" / "samples").glob("*.flac"))


@cache
def encoded() -> tuple[np.ndarray, ...]:
    """Encoder output of each sample, (1, frames, width)."""
    model = recognizer()
    return tuple(model.encode(*model.features([samples]))[0] for samples in recordings())


def head_weights() -> dict[str, np.ndarray]:
    """Prediction network and joint in the MLX layout."""
    weights = mx.load(str(MODEL / "model.safetensors"))
    heads = {name: x for name, x in weights.items() if name.startswith(("decoder.", "joint."))}
    return {name: np.array(x.astype(mx.float32)) for name, x in heads.items()}
