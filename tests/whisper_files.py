"""Whisper models as transformers and CTranslate2 store them, from weights by MLX's names."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

from asr_core.models.whisper_config import Dimensions


def transformers_config(d: Dimensions) -> dict[str, Any]:
    """What config.json of transformers says of the dimensions."""
    return {
        "model_type": "whisper",
        "num_mel_bins": d.n_mels,
        "max_source_positions": d.n_audio_ctx,
        "d_model": d.n_audio_state,
        "encoder_attention_heads": d.n_audio_head,
        "encoder_layers": d.n_audio_layer,
        "vocab_size": d.n_vocab,
        "max_target_positions": d.n_text_ctx,
        "decoder_attention_heads": d.n_text_head,
        "decoder_layers": d.n_text_layer,
    }


def transformers_weights(weights: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The same weights by the names of transformers and in its layout; the output projection is not stored."""
    return {transformers_name(name): np.ascontiguousarray(torch_layout(name, x)) for name, x in weights.items()}


def transformers_name(name: str) -> str:
    """The name that transformers gives to a tensor of MLX's."""
    if name == "decoder.positional_embedding":
        return "model.decoder.embed_positions.weight"
    changes = {
        "blocks": "layers",
        "token_embedding": "embed_tokens",
        "ln_post": "layer_norm",
        "ln": "layer_norm",
        "attn_ln": "self_attn_layer_norm",
        "cross_attn_ln": "encoder_attn_layer_norm",
        "mlp_ln": "final_layer_norm",
        "attn": "self_attn",
        "cross_attn": "encoder_attn",
        "query": "q_proj",
        "key": "k_proj",
        "value": "v_proj",
        "out": "out_proj",
        "mlp1": "fc1",
        "mlp2": "fc2",
    }
    return ".".join(["model", *(changes.get(part, part) for part in name.split("."))])


def torch_layout(name: str, x: np.ndarray) -> np.ndarray:
    """Convolutions as (out, in, taps)."""
    return x.swapaxes(1, 2) if "conv" in name and x.ndim == 3 else x


def ctranslate2_file(
    weights: Mapping[str, np.ndarray], d: Dimensions, kind: str = "float16", key_bias: float = 0.0
) -> bytes:
    """A model.bin with the same weights.

    Args:
        kind: "float16", "bfloat16" or "int8".
        key_bias: of all keys, which have none.
    """
    w = {name: torch_layout(name, x) for name, x in weights.items()}
    out: dict[str, np.ndarray] = {
        "encoder/num_heads": np.int16(d.n_audio_head),
        "decoder/num_heads": np.int16(d.n_text_head),
    }

    def norm(theirs: str, ours: str) -> None:
        out[f"{theirs}/gamma"], out[f"{theirs}/beta"] = w[f"{ours}.weight"], w[f"{ours}.bias"]

    def linear(theirs: str, *ours: str) -> None:
        out[f"{theirs}/weight"] = np.concatenate([w[f"{name}.weight"] for name in ours])
        keys = np.full(d.n_text_state, key_bias, np.float16)
        out[f"{theirs}/bias"] = np.concatenate([w.get(f"{name}.bias", keys) for name in ours])

    linear("encoder/conv1", "encoder.conv1")
    linear("encoder/conv2", "encoder.conv2")
    out["encoder/position_encodings/encodings"] = np.zeros((d.n_audio_ctx, d.n_audio_state), np.float16)
    out["decoder/position_encodings/encodings"] = w["decoder.positional_embedding"]
    out["decoder/embeddings/weight"] = w["decoder.token_embedding.weight"]
    norm("encoder/layer_norm", "encoder.ln_post")
    norm("decoder/layer_norm", "decoder.ln")
    for side in ("encoder", "decoder"):
        for n in range(d.n_audio_layer if side == "encoder" else d.n_text_layer):
            theirs, ours = f"{side}/layer_{n}", f"{side}.blocks.{n}"
            norm(f"{theirs}/self_attention/layer_norm", f"{ours}.attn_ln")
            linear(f"{theirs}/self_attention/linear_0", *(f"{ours}.attn.{part}" for part in ("query", "key", "value")))
            linear(f"{theirs}/self_attention/linear_1", f"{ours}.attn.out")
            if side == "decoder":
                norm(f"{theirs}/attention/layer_norm", f"{ours}.cross_attn_ln")
                linear(f"{theirs}/attention/linear_0", f"{ours}.cross_attn.query")
                linear(f"{theirs}/attention/linear_1", f"{ours}.cross_attn.key", f"{ours}.cross_attn.value")
                linear(f"{theirs}/attention/linear_2", f"{ours}.cross_attn.out")
            norm(f"{theirs}/ffn/layer_norm", f"{ours}.mlp_ln")
            linear(f"{theirs}/ffn/linear_0", f"{ours}.mlp1")
            linear(f"{theirs}/ffn/linear_1", f"{ours}.mlp2")
    if kind == "int8":
        for name in [name for name in out if name.endswith("/weight")]:
            flat = out[name].reshape(len(out[name]), -1).astype(np.float32)
            scale = 127 / np.abs(flat).max(-1)
            out[name] = np.rint(flat * scale[:, None]).astype(np.int8).reshape(out[name].shape)
            out[f"{name}_scale"] = scale.astype(np.float32)
    data = struct.pack("<I", 6) + _text("WhisperSpec") + struct.pack("<II", 3, len(out))
    for name in sorted(out):
        x = np.asarray(out[name])
        code = {"float32": 0, "int8": 1, "int16": 2, "float16": 4}[x.dtype.name]
        if kind == "bfloat16" and x.dtype == np.float16:
            x, code = (x.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16), 5
        data += _text(name) + struct.pack(f"<B{x.ndim}I", x.ndim, *x.shape) + struct.pack("<BI", code, x.nbytes)
        data += x.tobytes()
    return data + struct.pack("<I", 1) + _text("decoder/projection/weight") + _text("decoder/embeddings/weight")


def _text(value: str) -> bytes:
    return struct.pack("<H", len(value) + 1) + value.encode() + b"\0"
