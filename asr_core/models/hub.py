"""Fetching a model from the Hugging Face Hub, only when a person asks for it."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Sequence
from pathlib import Path

from asr_core.errors import AsrError, ModelError
from asr_core.models.downloading import LOST, DownloadError, download
from asr_core.progress import OnProgress

SMALL = ("config.json", "tokenizer.model", "tokenizer.json", "generation_config.json", "vocab.txt", "README.md")
#: Safetensors that hold a whole model; beside them a repository may have the same weights in other precisions.
WHOLE = ("model.safetensors", "weights.safetensors", "nemo.safetensors")
_DISK = (errno.ENOSPC, errno.EACCES, errno.EROFS)
_REFUSALS = {
    "GatedRepoError": "{repository} asks you to accept its terms: do so on its page, then set HF_TOKEN to a token of "
    "yours.",
    "RevisionNotFoundError": "{repository} has no revision {revision!r}; give a branch, a tag or a commit.",
    "RepositoryNotFoundError": "There is no model {repository} on the Hub, or it is private; check the name, or set "
    "HF_TOKEN.",
}
_SHARD = re.compile(r"model-\d+-of-\d+\.safetensors")
#: Weights that are one file, when there are no safetensors: MLX's older conversions, CTranslate2's model.
SINGLE = ("weights.npz", "model.bin")


def fetch(
    repository: str,
    *,
    revision: str | None = None,
    local_files_only: bool = False,
    on_progress: OnProgress | None = None,
    again: bool = False,
) -> Path:
    """The folder of a model in the Hub's cache, or its .nemo file; what is missing there is downloaded.

    Args:
        revision: branch, tag or commit; None = the main branch.
        local_files_only: ask no server. Without a network this happens by itself.
        on_progress: called with bytes of the whole download.
        again: download also what is there in another size than the Hub has it, because something is damaged.
    Raises:
        ModelError: no such repository or revision, no permission, no model in it, or neither cache nor network has it.
    """
    if local_files_only:
        return _cached(repository, revision, "it is not in the cache, and only the cache was to be asked")
    try:
        return _download(repository, revision, on_progress, again)
    except AsrError:
        raise
    except Exception as error:  # which HTTP library raises what is huggingface_hub's own affair
        name = error.name if isinstance(error, DownloadError) else type(error).__name__
        if name in _REFUSALS:
            raise ModelError(_REFUSALS[name].format(repository=repository, revision=revision)) from None
        if (number := getattr(error, "errno", None)) in _DISK:
            raise ModelError(f"{repository} could not be stored: {os.strerror(number)}.") from error
        why = str(error) if name == LOST else f"the Hub does not answer ({_reason(error)})"
        return _cached(repository, revision, f"{why}, and it is not in the cache")


def _download(repository: str, revision: str | None, on_progress: OnProgress | None, again: bool) -> Path:
    from huggingface_hub import HfApi

    info = HfApi().model_info(repository, revision=revision, files_metadata=True)
    sizes = {file.rfilename: file.size or 0 for file in info.siblings or ()}
    names = _needed(repository, sorted(sizes))
    found = download(repository, revision, {name: sizes[name] for name in names}, on_progress, again=again)
    places = dict(zip(names, found, strict=True))
    weights = next(name for name in names if name.endswith((".safetensors", ".nemo", *SINGLE)))
    return places[weights] if weights.endswith(".nemo") else places[weights].parent


def _needed(repository: str, names: Sequence[str]) -> list[str]:
    """Configuration, vocabulary, card, and weights: safetensors, else a .nemo archive."""
    small = [name for name in SMALL if name in names]
    whole = [name for name in WHOLE if name in names]
    safetensors = whole[:1] or [name for name in names if _SHARD.fullmatch(name)]
    archives = [name for name in names if name.endswith(".nemo") and "/" not in name]
    if safetensors and "config.json" in small:
        return small + safetensors
    if archives:
        return archives[:1]
    single = [name for name in SINGLE if name in names]
    if single and "config.json" in small:
        return small + single[:1]
    raise ModelError(f"{repository} holds no model of a known kind: config.json and safetensors, or a .nemo archive.")


def _cached(repository: str, revision: str | None, why: str) -> Path:
    from huggingface_hub import snapshot_download

    try:
        folder = Path(snapshot_download(repository, revision=revision, local_files_only=True))
    except Exception as error:  # every way of not being there
        raise ModelError(
            f"{repository} cannot be had: {why}. Connect to the network, or pick a model you have."
        ) from error
    archives = sorted(folder.glob("*.nemo"))
    if not (folder / "config.json").exists() and archives:
        return archives[0]
    has_weights = any(folder.glob("*.safetensors")) or any((folder / name).exists() for name in SINGLE)
    if not (folder / "config.json").exists() or not has_weights:
        raise ModelError(f"{repository} cannot be had: {why}, or only in part. Connect to the network and try again.")
    return folder


def fetch_tokenizer(repository: str, *, local_files_only: bool = False, again: bool = False) -> Path:
    """tokenizer.json of a repository, from the cache or the Hub, for a model that was stored without one.

    Args:
        again: from the Hub where it answers, because the one in the cache may be damaged.
    Raises ModelError where neither has it.
    """
    from huggingface_hub import HfApi, errors, hf_hub_download

    name = "tokenizer.json"
    needs = f"This model was stored without its {name}, which is that of {repository}"
    help_yourself = f"put a {name} of the same size beside the weights"
    try:
        if not again:
            return Path(hf_hub_download(repository, name, local_files_only=True))
    except errors.LocalEntryNotFoundError:
        if local_files_only:
            raise ModelError(
                f"{needs}; it is not in the cache, and only the cache was to be asked. "
                f"Connect to the network once, or {help_yourself}."
            ) from None
    try:
        # A download tries a dead network again for half a minute; a question does not.
        if HfApi().file_exists(repository, name):
            return Path(hf_hub_download(repository, name, force_download=again))
    except Exception as error:  # which HTTP library raises what is huggingface_hub's own affair
        if isinstance(error, OSError) and error.errno in _DISK:
            raise ModelError(f"{name} of {repository} could not be stored: {error.strerror}.") from error
        raise ModelError(
            f"{needs}; the Hub does not answer ({_reason(error)}), and the cache does not have it{' whole' * again}. "
            f"Connect to the network once, or {help_yourself}."
        ) from error
    raise ModelError(f"{needs}, but the Hub does not have it there; {help_yourself}.")


def _reason(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
