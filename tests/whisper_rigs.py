"""Small Whisper models with random weights and the vocabularies of the real ones: no multilingual weights can be had.

The weights come from a seed, so that openai-whisper could be run on the same ones (tests/data/whisper/README.md).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from asr_core.models.whisper_config import Dimensions
from tests.conftest import DATA

SEED = 20
WIDTH, HEADS, LAYERS, ROOM = 64, 2, 2, 64


def dimensions(vocabulary: int, mels: int = 80) -> Dimensions:
    """A model of 64 numbers and two layers that hears 30 s and has room for 64 tokens."""
    return Dimensions(mels, 1500, WIDTH, HEADS, LAYERS, vocabulary, ROOM, WIDTH, HEADS, LAYERS)


def random_weights(d: Dimensions, seed: int = SEED) -> dict[str, np.ndarray]:
    """Weights by MLX's names and in its layout, float16, drawn in the order of the names.

    The token's own embedding is small beside what the layers add, or the model would repeat its last token for ever.
    """
    random = np.random.default_rng(seed)
    return {name: _draw(random, name, shape) for name, shape in sorted(shapes(d).items())}


def _draw(random: np.random.Generator, name: str, shape: tuple[int, ...]) -> np.ndarray:
    values = random.standard_normal(shape, dtype=np.float32)
    if name.endswith("embedding.weight"):
        values *= 0.2
    elif name.endswith("positional_embedding"):
        pass
    elif "ln" in name:
        values = 1 + 0.1 * values if name.endswith("weight") else 0.1 * values
    elif name.endswith("bias"):
        values *= 0.1
    else:
        values *= 2 / math.sqrt(math.prod(shape[1:]))
    return values.astype(np.float16)


def shapes(d: Dimensions) -> dict[str, tuple[int, ...]]:
    """The shape of each tensor of a model, by MLX's names."""
    wide, out = d.n_audio_state, {}
    out["encoder.conv1.weight"], out["encoder.conv1.bias"] = (wide, 3, d.n_mels), (wide,)
    out["encoder.conv2.weight"], out["encoder.conv2.bias"] = (wide, 3, wide), (wide,)
    out["decoder.token_embedding.weight"] = (d.n_vocab, d.n_text_state)
    out["decoder.positional_embedding"] = (d.n_text_ctx, d.n_text_state)
    norms = {"encoder.ln_post": wide, "decoder.ln": d.n_text_state}
    for side, layers, width in (
        ("encoder", d.n_audio_layer, wide),
        ("decoder", d.n_text_layer, d.n_text_state),
    ):
        for block in (f"{side}.blocks.{i}" for i in range(layers)):
            for attention in ("attn", "cross_attn")[: 1 + (side == "decoder")]:
                norms[f"{block}.{attention}_ln"] = width
                for part in ("query", "key", "value", "out"):
                    out[f"{block}.{attention}.{part}.weight"] = (width, width)
                    if part != "key":
                        out[f"{block}.{attention}.{part}.bias"] = (width,)
            norms[f"{block}.mlp_ln"] = width
            out[f"{block}.mlp1.weight"], out[f"{block}.mlp1.bias"] = (4 * width, width), (4 * width,)
            out[f"{block}.mlp2.weight"], out[f"{block}.mlp2.bias"] = (width, 4 * width), (width,)
    return out | {f"{name}.{part}": (width,) for name, width in norms.items() for part in ("weight", "bias")}


@cache
def tokens() -> Mapping[str, Any]:
    """What openai-whisper's tokenizers say: parts of their merges, ids of special tokens, suppressed tokens."""
    return json.loads((DATA / "whisper" / "tokens.json").read_text(encoding="utf-8"))


def tokenizer_json(vocabulary: int) -> str:
    """A tokenizer.json with the ids of a real vocabulary.

    It has the bytes, and the merges that suppressed tokens and some texts need; every other piece is a made-up word.
    """
    facts = tokens()["vocabularies"][str(vocabulary)]
    merges = tokens()["tokenizers"][facts["tokenizer"]]["merges"]
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    pieces = [*map(chr, printable), *(chr(0x100 + i) for i in range(256 - len(printable)))]
    pieces += [f"Ġw{i}" for i in range(256, facts["special"]["end"])]
    for rank, left, right in merges:
        pieces[rank] = left + right
    if facts["tokenizer"] == "multilingual":
        pieces[-1] = ""
    model = {
        "type": "BPE",
        "vocab": {piece: i for i, piece in enumerate(pieces)},
        "merges": [[left, right] for _, left, right in merges],
    }
    added = {"<|endoftext|>": facts["special"]["end"], "<|startoftranscript|>": facts["special"]["start"]}
    added |= {f"<|{code}|>": i for code, i in facts.get("languages", {}).items()}
    shape = {"add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    return json.dumps(
        {
            "version": "1.0",
            "added_tokens": [_added(content, i) for content, i in added.items()],
            "pre_tokenizer": {"type": "ByteLevel", **shape},
            "decoder": {"type": "ByteLevel", **shape},
            "model": model,
        }
    )


def _added(content: str, i: int) -> dict[str, Any]:
    marks = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    return {"id": i, "content": content, "special": True, **marks}


def write_mlx(folder: Path, d: Dimensions, *, tokenizer: bool = True) -> Path:
    """A model as mlx-examples converts it, with its weights in an npz; with or without tokenizer.json."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps({**vars(d), "model_type": "whisper"}), encoding="utf-8")
    np.savez(folder / "weights.npz", **random_weights(d))
    if tokenizer:
        (folder / "tokenizer.json").write_text(tokenizer_json(d.n_vocab), encoding="utf-8")
    return folder


def sound(seed: int = SEED, seconds: float = 4.0) -> np.ndarray:
    """Tones that change four times a second, with some noise: (samples,) float32 at 16 kHz."""
    random = np.random.default_rng(seed)
    pitches = np.repeat(random.uniform(150, 3000, math.ceil(4 * seconds)), 4000)[: round(16_000 * seconds)]
    tone = 0.3 * np.sin(2 * np.pi * np.cumsum(pitches) / 16_000)
    return (tone + 0.01 * random.standard_normal(len(tone))).astype(np.float32)
