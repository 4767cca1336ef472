"""Loading a model, whatever it is called and wherever it is."""

from __future__ import annotations

import importlib.metadata
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from asr_core.blas import Blas, bind_blas
from asr_core.checks import shown
from asr_core.engine import engine
from asr_core.errors import DamagedError, ModelError
from asr_core.models import registry
from asr_core.models.config import ParakeetConfig
from asr_core.models.registry import ModelInfo
from asr_core.progress import OnProgress, Progress
from asr_core.recognizer import Recognizer
from asr_core.text import Vocabulary
from asr_core.tokenizer import Tokenizer

if TYPE_CHECKING:
    from asr_core.models.whisper_config import Dimensions
    from asr_core.whisper.tokenizer import WhisperTokenizer

DTYPES = ("float32", "bfloat16", "float16")


@dataclass(frozen=True)
class Runtime:
    """What models run on: "CPU" or "Metal", the version of MLX, and the BLAS in use."""

    device: str
    mlx_version: str
    blas: Blas


def runtime() -> Runtime:
    """What models run on. Loads MLX, after binding a fast BLAS to it."""
    blas = bind_blas()
    return Runtime(engine().run(_device), importlib.metadata.version("mlx"), blas)


def load_model(
    source: str | Path = registry.DEMO,
    *,
    dtype: str | None = None,
    revision: str | None = None,
    local_files_only: bool = False,
    on_progress: OnProgress | None = None,
) -> Recognizer:
    """Load a model.

    Args:
        source: "demo"; "whisper-tiny.en", which comes from PyPI; a folder with config.json and safetensors, or with
            a Whisper model of MLX, transformers or CTranslate2; a .nemo archive; or a Hub id.
        dtype: "float32", "bfloat16" or "float16"; None = float32 on the CPU, bfloat16 on Metal.
        revision: of a Hub repository: branch, tag or commit.
        local_files_only: take only what was fetched before. Else what is damaged in the Hub's cache is fetched again.
        on_progress: called with bytes while files are fetched, then once when the model stands.
    Raises:
        ModelError: says which file, name or value is wrong and what is expected.
    """
    _check_request(dtype, revision, local_files_only, on_progress)
    place = registry.locate(source, revision=revision, local_files_only=local_files_only, on_progress=on_progress)
    where = runtime()
    if on_progress is not None:
        on_progress(Progress(0, 1, "load"))
    options = str(source), revision, dtype or ("bfloat16" if where.device == "Metal" else "float32"), local_files_only
    try:
        made = _opened(place, *options)
    except DamagedError:
        fresh = None if local_files_only else registry.fetched_again(source, revision=revision, on_progress=on_progress)
        if fresh is None:
            raise
        made = _opened(fresh, *options)
    if on_progress is not None:
        on_progress(Progress(1, 1, "load"))
    return made


def _check_request(dtype: object, revision: object, local_files_only: object, on_progress: object) -> None:
    if dtype is not None and not (isinstance(dtype, str) and dtype in DTYPES):
        raise ModelError(f"dtype is {', '.join(map(repr, DTYPES))} or None, not {shown(dtype)}.")
    if revision is not None and not (isinstance(revision, str) and revision):
        raise ModelError(f"revision is the name of a branch, a tag or a commit, or None, not {shown(revision)}.")
    if not isinstance(local_files_only, bool):
        raise ModelError(f"local_files_only is True or False, not {shown(local_files_only)}.")
    if on_progress is not None and not callable(on_progress):
        raise ModelError(f"on_progress is a function or None, not {shown(on_progress)}.")


def _opened(place: Path, source: str, revision: str | None, dtype: str, local_files_only: bool) -> Recognizer:
    if place.is_dir() and engine().run(_is_whisper, place):
        return _load_whisper(place, source, revision, dtype, local_files_only)
    return engine().run(_load, place, source, revision, dtype)


def _load(place: Path, source: str, revision: str | None, dtype: str) -> Recognizer:
    """In the engine's thread."""
    from asr_core.models import parakeet, weights

    if place.suffix == ".nemo" and place.is_file():
        from asr_core.models.archive import load_nemo

        checkpoint = load_nemo(place)
    else:
        checkpoint = weights.load_folder(place)
    config = ParakeetConfig.from_nemo(checkpoint.config)
    model = parakeet.build(
        config,
        checkpoint.weights,
        len(checkpoint.vocabulary),
        dtype=dtype,
        quantization=checkpoint.quantization,
    )
    listed = registry.known(source) or ModelInfo(Path(source).name, source, license=_license(checkpoint.card))
    info = replace(
        listed,
        revision=revision,
        kind=config.kind,
        heads=config.heads,
        sample_rate=config.features.sample_rate,
        frame_seconds=config.frame_seconds,
        vocabulary_size=len(checkpoint.vocabulary),
        parameters=model.parameters,
        dtype=dtype,
        device=_device(),
        streaming=config.encoder.streaming,
    )
    vocabulary = Vocabulary(checkpoint.vocabulary)
    return Recognizer(
        info,
        config,
        vocabulary,
        Tokenizer(vocabulary, checkpoint.tokenizer),
        model,
        engine(),
        checkpoint.card,
        checkpoint.size_bytes,
    )


def _is_whisper(place: Path) -> bool:
    from asr_core.models import whisper_weights

    return whisper_weights.is_whisper(place)


def _load_whisper(place: Path, source: str, revision: str | None, dtype: str, local_files_only: bool) -> Recognizer:
    """Any thread; the engine is free while a tokenizer is fetched."""
    from asr_core.models import whisper_weights
    from asr_core.whisper.languages import LANGUAGES
    from asr_core.whisper.recognizer import WhisperRecognizer

    checkpoint = engine().run(whisper_weights.load_checkpoint, place)
    dimensions = checkpoint.config.dimensions
    tokenizer = _whisper_tokenizer(place, dimensions, local_files_only)
    model = engine().run(whisper_weights.build, checkpoint, dtype)
    listed = registry.known(source) or ModelInfo(Path(source).name, source, license=_license(checkpoint.card))
    count = len(tokenizer.vocabulary.special.languages) if dimensions.multilingual else 1
    info = replace(
        listed,
        revision=revision,
        kind="whisper",
        heads=(),
        languages=LANGUAGES[:count],
        frame_seconds=checkpoint.config.frame_seconds,
        vocabulary_size=dimensions.n_vocab,
        parameters=model.parameters,
        dtype=dtype,
        device=engine().run(_device),
    )
    parts = checkpoint.config, tokenizer.vocabulary, tokenizer, model, engine(), checkpoint.card, checkpoint.size_bytes
    return WhisperRecognizer(info, *parts)


def _whisper_tokenizer(place: Path, dimensions: Dimensions, local_files_only: bool) -> WhisperTokenizer:
    """The model's own, else that of the original model."""
    from asr_core.models.hub import fetch_tokenizer
    from asr_core.models.whisper_config import tokenizer_repository
    from asr_core.whisper.tokenizer import load_tokenizer

    listing, elsewhere = place / "tokenizer.json", tokenizer_repository(dimensions)
    if listing.is_file() or elsewhere is None:
        return load_tokenizer(listing, dimensions.n_vocab)
    try:
        return load_tokenizer(fetch_tokenizer(elsewhere, local_files_only=local_files_only), dimensions.n_vocab)
    except DamagedError as error:
        if local_files_only:
            raise
        fresh = fetch_tokenizer(elsewhere, again=True)
        try:
            return load_tokenizer(fresh, dimensions.n_vocab)
        except DamagedError:
            # Fetching the weights again, which are whole, would not help.
            raise ModelError(str(error)) from error


def _device() -> str:
    import mlx.core as mx

    return "Metal" if mx.default_device() == mx.Device(mx.gpu) and mx.metal.is_available() else "CPU"


def _license(card: str | None) -> str | None:
    """The `license` of a card's front matter."""
    lines = (card or "").split("\n---", 1)[0].splitlines()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("license:")), None)
