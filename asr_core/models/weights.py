"""Checkpoints in a folder: configuration, weights and vocabulary, in the layout of the Hub's MLX conversions.

NeMo's own names and layout are converted on the way in. Nothing here runs code from a file: safetensors and JSON only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mlx.core as mx

from asr_core.errors import DamagedError, ModelError

WEIGHT_FILES = ("model.safetensors", "weights.safetensors", "nemo.safetensors")
DROPPED = ("preprocessor.", "spec_augmentation.", "loss.")
_LSTM = re.compile(r"(decoder\.prediction\.dec_rnn\.lstm)\.(weight_ih|weight_hh|bias_ih|bias_hh)_l(\d+)")
_JOINT_OUTPUT = re.compile(r"joint\.joint_net\.\d+\.(weight|bias)")


@dataclass(frozen=True)
class Checkpoint:
    """A model as it is stored.

    Args:
        config: NeMo's configuration as a dictionary.
        weights: tensors by name, MLX layout.
        vocabulary: pieces by id, without blank.
        tokenizer: the SentencePiece model, where there is one.
        card: the model card.
        size_bytes: of the weights on disk.
        quantization: `group_size` and `bits` where linear layers are MLX-quantized.
    """

    config: Mapping[str, Any]
    weights: Mapping[str, mx.array]
    vocabulary: tuple[str, ...]
    tokenizer: bytes | None
    card: str | None
    size_bytes: int
    quantization: Mapping[str, int] | None


def load_folder(folder: Path) -> Checkpoint:
    """Read a folder with config.json and safetensors, in one file or in shards.

    Raises ModelError that names the file that is missing or broken.
    """
    config = read_config(folder)
    files = _weight_files(folder)
    weights: dict[str, mx.array] = {}
    for file in files:
        try:
            weights.update(mx.load(str(file)))
        except (RuntimeError, ValueError, OSError) as error:
            raise DamagedError(
                f"{file.name} is broken or incomplete ({error}); a whole safetensors file is expected. Fetch it again."
            ) from error
    return Checkpoint(
        config,
        to_mlx(weights),
        vocabulary_of(config, _text(folder / "vocab.txt")),
        _bytes(folder / "tokenizer.model"),
        _text(folder / "README.md"),
        sum(file.stat().st_size for file in files),
        _quantization(config),
    )


def read_config(folder: Path) -> Mapping[str, Any]:
    """config.json of a model's folder. Raises ModelError where it is missing or no JSON object."""
    file = folder / "config.json"
    if not file.is_file():
        raise ModelError(f"{folder.name} has no config.json; a model's folder has one, beside model.safetensors.")
    try:
        config = json.loads(file.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise DamagedError(f"config.json of {folder.name} is not valid JSON: {error}.") from error
    if not isinstance(config, dict):
        raise ModelError(f"config.json of {folder.name} holds {type(config).__name__}; a JSON object is expected.")
    return config


def vocabulary_of(config: Mapping[str, Any], listing: str | None = None) -> tuple[str, ...]:
    """The pieces of a model: from its configuration, else from vocab.txt, one a line.

    Raises ModelError where neither has them, or the configuration's lists disagree.
    """
    sections = (("joint",), ("decoder",), ("aux_ctc", "decoder"))
    found = []
    for path in sections:
        section: Any = config
        for key in path:
            section = section.get(key) if isinstance(section, Mapping) else None
        if isinstance(section, Mapping) and isinstance(section.get("vocabulary"), list | tuple):
            found.append(tuple(map(str, section["vocabulary"])))
    if isinstance(config.get("labels"), list | tuple):
        found.append(tuple(map(str, config["labels"])))
    if any(other != found[0] for other in found[1:]):
        raise ModelError("The configuration lists two different vocabularies for its heads; one is expected.")
    if found and found[0]:
        return found[0]
    if listing:
        return tuple(line.split("\t")[0] for line in listing.rstrip("\n").split("\n"))
    raise ModelError("The configuration lists no vocabulary (joint.vocabulary), and there is no vocab.txt.")


def to_mlx(weights: Mapping[str, mx.array]) -> dict[str, mx.array]:
    """Weights in MLX names and layout, whichever of the two they came in.

    NeMo stores convolutions as (out, in, ...), MLX as (out, ..., in); NeMo's LSTM has two biases, MLX's their sum; the
    joint's last linear layer is index 2 behind a dropout and 1 without.
    """
    if not _is_nemo(weights):
        return {_joint_name(name): x for name, x in weights.items() if not name.startswith(DROPPED)}
    out: dict[str, mx.array] = {}
    for name, x in weights.items():
        if name.startswith(DROPPED) or name.endswith("num_batches_tracked"):
            continue
        lstm = _LSTM.fullmatch(name)
        if lstm is None:
            out[_joint_name(name)] = mx.moveaxis(x, 1, -1) if x.ndim >= 3 else x
        elif lstm[2] == "bias_ih":
            out[f"{lstm[1]}.{lstm[3]}.bias"] = x + weights[name.replace("bias_ih", "bias_hh")]
        elif lstm[2] != "bias_hh":
            out[f"{lstm[1]}.{lstm[3]}.{'Wx' if lstm[2] == 'weight_ih' else 'Wh'}"] = x
    return out


def _is_nemo(weights: Mapping[str, mx.array]) -> bool:
    first = weights.get("encoder.pre_encode.conv.0.weight")
    if first is not None and first.ndim == 4:
        return first.shape[1] != first.shape[2]  # (out, 1, 3, 3) against (out, 3, 3, 1)
    return any(_LSTM.fullmatch(name) or name.endswith("num_batches_tracked") for name in weights)


def _joint_name(name: str) -> str:
    match = _JOINT_OUTPUT.fullmatch(name)
    return f"joint.joint_net.2.{match[1]}" if match else name


def _weight_files(folder: Path) -> list[Path]:
    for name in WEIGHT_FILES:
        if (folder / name).is_file():
            return [folder / name]
    shards = sorted(folder.glob("model-*-of-*.safetensors"))
    if not shards:
        raise ModelError(f"{folder.name} has no model.safetensors; a model's folder has one, beside config.json.")
    expected = int(shards[0].stem.rsplit("-of-", 1)[1])
    if len(shards) != expected:
        raise ModelError(
            f"{folder.name} has {len(shards)} of {expected} files model-…-of-….safetensors; fetch the rest."
        )
    return shards


def _quantization(config: Mapping[str, Any]) -> Mapping[str, int] | None:
    found = config.get("quantization")
    if not found:
        return None
    try:
        return {"group_size": int(found["group_size"]), "bits": int(found["bits"])}
    except (KeyError, TypeError, ValueError) as error:
        raise ModelError(
            "The quantization entry of config.json has a group_size and bits, both whole numbers."
        ) from error


def _text(file: Path) -> str | None:
    return file.read_text(encoding="utf-8", errors="replace") if file.is_file() else None


def _bytes(file: Path) -> bytes | None:
    return file.read_bytes() if file.is_file() else None
