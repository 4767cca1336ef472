"""Whisper checkpoints in a folder, in any of three layouts: MLX (safetensors or npz), transformers, CTranslate2."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mlx.core as mx
import mlx.nn as nn
import numpy as np
from mlx.utils import tree_flatten

from asr_core.errors import DamagedError, ModelError
from asr_core.models import ctranslate2
from asr_core.models.weights import read_config
from asr_core.models.whisper import Whisper
from asr_core.models.whisper_config import Dimensions, WhisperConfig, alignment_heads, dimensions_of
from asr_core.models.whisper_network import Network

DTYPES = {"float32": mx.float32, "float16": mx.float16, "bfloat16": mx.bfloat16}
CTRANSLATE2_FILE = "model.bin"
WEIGHT_FILES = ("model.safetensors", "weights.safetensors", "weights.npz")
#: Tensors that are computed anew, or that are no weights.
DROPPED = ("encoder.positional_embedding", "alignment_heads", "decoder.projection.weight")
QUANTIZATION = (".scales", ".biases")


@dataclass(frozen=True)
class WhisperCheckpoint:
    """A model as it is stored.

    Args:
        weights: by MLX's names and in its layout.
        quantization: `group_size` and `bits` where linear layers are MLX-quantized.
        size_bytes: of the weights on disk.
        card: the model card.
    """

    config: WhisperConfig
    weights: Mapping[str, mx.array]
    quantization: Mapping[str, int] | None
    size_bytes: int
    card: str | None


def is_whisper(folder: Path) -> bool:
    """Whether a folder holds a Whisper model, by its files and its config.json."""
    if (folder / CTRANSLATE2_FILE).is_file():
        return not any((folder / name).is_file() for name in WEIGHT_FILES)
    return (folder / "config.json").is_file() and dimensions_of(read_config(folder)) is not None


def load_checkpoint(folder: Path) -> WhisperCheckpoint:
    """Read a folder. Raises ModelError that names the file or tensor that is missing or wrong."""
    raw = read_config(folder) if (folder / "config.json").is_file() else {}
    if (folder / CTRANSLATE2_FILE).is_file() and dimensions_of(raw) is None:
        files = [folder / CTRANSLATE2_FILE]
        variables = ctranslate2.read(files[0])
        dimensions = _dimensions_from(variables)
        weights = {name: mx.array(x) for name, x in from_ctranslate2(variables, dimensions).items()}
    else:
        dimensions = dimensions_of(raw)
        files = _weight_files(folder)
        loaded: dict[str, mx.array] = {}
        for file in files:
            loaded.update(_loaded(file))
        weights = to_mlx(loaded, dimensions)
    given = raw.get("alignment_heads") or _generation(folder).get("alignment_heads")
    if given is None and "alignment_heads" in weights:
        given = np.array(weights["alignment_heads"]).tolist()
    config = WhisperConfig(dimensions, alignment_heads(dimensions, given))
    kept = {name: x for name, x in weights.items() if name not in DROPPED}
    # Files are read lazily, and what is lazy cannot leave the engine's thread.
    mx.eval(kept)
    card = folder / "README.md"
    return WhisperCheckpoint(
        config,
        kept,
        raw.get("quantization"),
        sum(file.stat().st_size for file in files),
        card.read_text(encoding="utf-8", errors="replace") if card.is_file() else None,
    )


def build(checkpoint: WhisperCheckpoint, dtype: str) -> Whisper:
    """Put the weights in their places and evaluate them in this thread.

    Raises ModelError where a tensor is missing, left over or of the wrong shape.
    """
    network, weights = Network(checkpoint.config.dimensions), checkpoint.weights
    if checkpoint.quantization:
        group = {"group_size": int(checkpoint.quantization["group_size"]), "bits": int(checkpoint.quantization["bits"])}
        nn.quantize(network, **group, class_predicate=lambda path, _: f"{path}.scales" in weights)
    _check(dict(tree_flatten(network.parameters())), weights)
    kind = DTYPES[dtype]
    network.load_weights(
        [(n, x.astype(kind) if mx.issubdtype(x.dtype, mx.floating) else x) for n, x in weights.items()]
    )
    network.eval()
    mx.eval(network.parameters(), network.encoder._positions)
    parameters = sum(x.size for name, x in weights.items() if not name.endswith(QUANTIZATION))
    on_host = mx.default_device().type == mx.DeviceType.cpu and not checkpoint.quantization
    embedding = network.decoder.token_embedding.weight if on_host else None
    projection = None if embedding is None else np.array(embedding.astype(mx.float32), copy=False)
    return Whisper(checkpoint.config, network, kind, parameters, projection)


def to_mlx(weights: Mapping[str, mx.array], dimensions: Dimensions) -> dict[str, mx.array]:
    """Tensors of MLX, openai or transformers in MLX's names; convolutions as (out, taps, in)."""
    out = {}
    for name, x in weights.items():
        name = _from_transformers(name)
        name = re.sub(r"\.mlp\.0\.", ".mlp1.", re.sub(r"\.mlp\.2\.", ".mlp2.", name))
        if name in ("encoder.conv1.weight", "encoder.conv2.weight"):
            into = dimensions.n_mels if "conv1" in name else dimensions.n_audio_state
            x = x.swapaxes(1, 2) if x.shape[1] == into and x.shape[2] == 3 else x
        out[name] = x
    return out


#: Parts of transformers' names and what MLX calls them, in the order in which they are replaced.
_TRANSFORMERS = (
    (r"^model\.", ""),
    (r"^proj_out\.", "decoder.projection."),
    (r"^encoder\.embed_positions\.weight$", "encoder.positional_embedding"),
    (r"^decoder\.embed_positions\.weight$", "decoder.positional_embedding"),
    (r"\.embed_tokens\.", ".token_embedding."),
    (r"^encoder\.layer_norm\.", "encoder.ln_post."),
    (r"^decoder\.layer_norm\.", "decoder.ln."),
    (r"\.layers\.", ".blocks."),
    (r"\.self_attn_layer_norm\.", ".attn_ln."),
    (r"\.encoder_attn_layer_norm\.", ".cross_attn_ln."),
    (r"\.final_layer_norm\.", ".mlp_ln."),
    (r"\.self_attn\.", ".attn."),
    (r"\.encoder_attn\.", ".cross_attn."),
    (r"\.q_proj\.", ".query."),
    (r"\.k_proj\.", ".key."),
    (r"\.v_proj\.", ".value."),
    (r"\.out_proj\.", ".out."),
    (r"\.fc1\.", ".mlp1."),
    (r"\.fc2\.", ".mlp2."),
)


def _from_transformers(name: str) -> str:
    for pattern, ours in _TRANSFORMERS:
        name = re.sub(pattern, ours, name)
    return name


def from_ctranslate2(variables: Mapping[str, np.ndarray], dimensions: Dimensions) -> dict[str, np.ndarray]:
    """CTranslate2's variables in MLX's names and layout.

    It joins the projections of queries, keys and values in one matrix, and rounds the encoder's positions to 16 bits;
    those are computed anew.
    """
    get = _Variables(variables)
    out: dict[str, np.ndarray] = {}
    for n in (1, 2):
        into = dimensions.n_mels if n == 1 else dimensions.n_audio_state
        weight = get(f"encoder/conv{n}/weight").reshape(dimensions.n_audio_state, into, 3)
        out[f"encoder.conv{n}.weight"] = np.ascontiguousarray(weight.swapaxes(1, 2))
        out[f"encoder.conv{n}.bias"] = get(f"encoder/conv{n}/bias")
    out["decoder.token_embedding.weight"] = get("decoder/embeddings/weight")
    out["decoder.positional_embedding"] = get("decoder/position_encodings/encodings")
    out |= get.norm("encoder/layer_norm", "encoder.ln_post") | get.norm("decoder/layer_norm", "decoder.ln")
    for side, layers in (("encoder", dimensions.n_audio_layer), ("decoder", dimensions.n_text_layer)):
        for layer in range(layers):
            out |= _layer(get, f"{side}/layer_{layer}", f"{side}.blocks.{layer}", cross=side == "decoder")
    return out


class _Variables:
    """Looks variables up by name. Raises ModelError where one is missing."""

    def __init__(self, variables: Mapping[str, np.ndarray]) -> None:
        self._variables = variables

    def __call__(self, name: str) -> np.ndarray:
        if name not in self._variables:
            raise ModelError(f"{CTRANSLATE2_FILE} lacks {name}.")
        return self._variables[name]

    def norm(self, theirs: str, ours: str) -> dict[str, np.ndarray]:
        return {f"{ours}.weight": self(f"{theirs}/gamma"), f"{ours}.bias": self(f"{theirs}/beta")}

    def linear(self, theirs: str, *ours: str) -> dict[str, np.ndarray]:
        """A linear layer, or several whose rows stand one below the other. Keys have no bias."""
        out = {}
        weights, biases = (np.split(self(f"{theirs}/{part}"), len(ours)) for part in ("weight", "bias"))
        for name, weight, bias in zip(ours, weights, biases, strict=True):
            out[f"{name}.weight"] = weight
            if not name.endswith(".key"):
                out[f"{name}.bias"] = bias
            elif bias.any():
                raise ModelError(f"{theirs} has a bias for its keys; Whisper has none.")
        return out


def _layer(get: _Variables, theirs: str, ours: str, *, cross: bool) -> dict[str, np.ndarray]:
    attention = f"{theirs}/self_attention"
    out = get.norm(f"{attention}/layer_norm", f"{ours}.attn_ln")
    out |= get.linear(f"{attention}/linear_0", *(f"{ours}.attn.{part}" for part in ("query", "key", "value")))
    out |= get.linear(f"{attention}/linear_1", f"{ours}.attn.out")
    if cross:
        out |= get.norm(f"{theirs}/attention/layer_norm", f"{ours}.cross_attn_ln")
        out |= get.linear(f"{theirs}/attention/linear_0", f"{ours}.cross_attn.query")
        out |= get.linear(f"{theirs}/attention/linear_1", f"{ours}.cross_attn.key", f"{ours}.cross_attn.value")
        out |= get.linear(f"{theirs}/attention/linear_2", f"{ours}.cross_attn.out")
    out |= get.norm(f"{theirs}/ffn/layer_norm", f"{ours}.mlp_ln")
    return (
        out
        | get.linear(f"{theirs}/ffn/linear_0", f"{ours}.mlp1")
        | get.linear(f"{theirs}/ffn/linear_1", f"{ours}.mlp2")
    )


def _dimensions_from(variables: Mapping[str, np.ndarray]) -> Dimensions:
    """The dimensions of a CTranslate2 model, which has them in the shapes of its variables only."""
    get = _Variables(variables)

    def layers(side: str) -> int:
        return len(
            {
                name.split("/")[1]
                for name in variables
                if name.startswith(f"{side}/layer_") and "norm" not in name.split("/")[1]
            }
        )

    def heads(side: str, width: int) -> int:
        return int(variables.get(f"{side}/num_heads", width // 64))

    vocabulary, width = get("decoder/embeddings/weight").shape
    audio = len(get("encoder/conv1/bias"))
    return Dimensions(
        n_mels=get("encoder/conv1/weight").size // (3 * audio),
        n_audio_ctx=len(get("encoder/position_encodings/encodings")),
        n_audio_state=audio,
        n_audio_head=heads("encoder", audio),
        n_audio_layer=layers("encoder"),
        n_vocab=vocabulary,
        n_text_ctx=len(get("decoder/position_encodings/encodings")),
        n_text_state=width,
        n_text_head=heads("decoder", width),
        n_text_layer=layers("decoder"),
    )


def _weight_files(folder: Path) -> list[Path]:
    for name in WEIGHT_FILES:
        if (folder / name).is_file():
            return [folder / name]
    shards = sorted(folder.glob("model-*-of-*.safetensors"))
    if shards and len(shards) == int(shards[0].stem.rsplit("-of-", 1)[1]):
        return shards
    raise ModelError(f"{folder.name} has no whole weights; one of {', '.join(WEIGHT_FILES)} is expected.")


def _loaded(file: Path) -> dict[str, mx.array]:
    try:
        if file.suffix == ".npz":
            # allow_pickle stays off: nothing in a file is run.
            with np.load(file, allow_pickle=False) as arrays:
                return {name: mx.array(arrays[name]) for name in arrays.files}
        return mx.load(str(file))
    except (RuntimeError, ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise DamagedError(f"{file.name} is broken or incomplete ({error}); fetch the model again.") from error


def _generation(folder: Path) -> Mapping[str, Any]:
    """transformers' generation_config.json, which names the alignment heads; empty where there is none."""
    file = folder / "generation_config.json"
    if not file.is_file():
        return {}
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise DamagedError(f"generation_config.json of {folder.name} is not valid JSON: {error}.") from error
    return found if isinstance(found, dict) else {}


def _check(expected: Mapping[str, mx.array], given: Mapping[str, mx.array]) -> None:
    missing, left = sorted(expected.keys() - given.keys()), sorted(given.keys() - expected.keys())
    if missing:
        raise ModelError(f"The weights lack {len(missing)} tensors of the model, the first of them {missing[0]}.")
    if left:
        raise ModelError(f"The weights hold {len(left)} tensors that Whisper has no place for, the first {left[0]}.")
    for name, x in expected.items():
        if x.shape != given[name].shape:
            raise ModelError(
                f"The tensor {name} has the shape {given[name].shape}; the configuration makes it {x.shape}."
            )
