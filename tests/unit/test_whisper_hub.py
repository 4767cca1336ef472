"""Whisper models as people keep them on the Hub: each is fetched from a small server, opened, and hears a clip."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from asr_core.blas import bind_blas

bind_blas()

import mlx.core as mx  # noqa: E402
import mlx.nn as nn  # noqa: E402
from mlx.utils import tree_flatten  # noqa: E402

from asr_core.models.hub import _needed  # noqa: E402
from asr_core.models.whisper_config import Dimensions, tokenizer_repository  # noqa: E402
from asr_core.models.whisper_network import Network  # noqa: E402
from tests import whisper_rigs as rigs  # noqa: E402
from tests.hub import Hub  # noqa: E402
from tests.whisper_files import ctranslate2_file, transformers_config, transformers_weights  # noqa: E402

ROOT = Path(__file__).parents[2]
#: Opens models one after the other and says what each hears, or why it cannot be had.
OPEN = """
import json, sys
import asr_core
from asr_core import Greedy, ModelError, Whisper
from tests import whisper_rigs as rigs

how = Greedy(whisper=Whisper(language=None, timestamps=False, temperatures=(0.0,)))
for source in sys.argv[1:]:
    local, source = source.startswith("local:"), source.removeprefix("local:")
    try:
        model = asr_core.load_model(source, local_files_only=local)
        heard = model.transcribe(rigs.sound(seconds=1), decoding=how)
        found = {"kind": model.info.kind, "languages": len(model.info.languages), "language": heard.language}
        found |= {"tokens": [token.id for token in heard.tokens], "heads": model.config.alignment_heads}
    except ModelError as error:
        found = {"error": str(error)}
    print(json.dumps(found), flush=True)
"""
NAMED = [[0, 1], [1, 0]]


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    root = tmp_path_factory.mktemp("hub")
    multilingual, large = rigs.dimensions(51_865), rigs.dimensions(51_866, 128)
    rigs.write_mlx(root / "mlx" / "npz", multilingual, tokenizer=False)
    rigs.write_mlx(root / "mlx" / "orphan", rigs.dimensions(51_864), tokenizer=False)
    write_safetensors(root / "mlx" / "large", large)
    for bits in (4, 8):
        write_quantized(root / "mlx" / f"bits-{bits}", multilingual, bits)
    write_transformers(root / "openai" / "whisper-tiny", multilingual)
    write_transformers(root / "openai" / "whisper-large-v3", large)
    write_ctranslate2(root / "systran" / "tiny", multilingual)
    (root / "openai" / "whisper-tiny.en").mkdir()
    (root / "openai" / "whisper-tiny.en" / "config.json").write_text("{}")
    made = Hub(root)
    yield made
    made.end()


def write_safetensors(folder: Path, d: Dimensions) -> None:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps({**vars(d), "model_type": "whisper"}))
    weights = rigs.random_weights(d) | {"alignment_heads": np.array(NAMED)}
    mx.save_safetensors(str(folder / "weights.safetensors"), {name: mx.array(x) for name, x in weights.items()})


def write_quantized(folder: Path, d: Dimensions, bits: int) -> None:
    folder.mkdir(parents=True)
    network, how = Network(d), {"group_size": 64, "bits": bits}
    network.load_weights([(name, mx.array(x)) for name, x in rigs.random_weights(d).items()])
    nn.quantize(network, **how)
    (folder / "config.json").write_text(json.dumps({**vars(d), "model_type": "whisper", "quantization": how}))
    np.savez(folder / "weights.npz", **{name: np.array(x) for name, x in tree_flatten(network.parameters())})


def write_transformers(folder: Path, d: Dimensions) -> None:
    """As openai's own repositories are: with weights for other libraries, and with others' precisions."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(transformers_config(d)))
    (folder / "generation_config.json").write_text(json.dumps({"alignment_heads": NAMED, "is_multilingual": True}))
    (folder / "tokenizer.json").write_text(rigs.tokenizer_json(d.n_vocab))
    weights = transformers_weights(rigs.random_weights(d))
    mx.save_safetensors(str(folder / "model.safetensors"), {name: mx.array(x) for name, x in weights.items()})
    for other in ("pytorch_model.bin", "tf_model.h5", "model.fp32-00001-of-00002.safetensors", "vocab.json"):
        (folder / other).write_bytes(b"not to be fetched")


def write_ctranslate2(folder: Path, d: Dimensions) -> None:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps({"alignment_heads": NAMED, "lang_ids": [50259]}))
    (folder / "tokenizer.json").write_text(rigs.tokenizer_json(d.n_vocab))
    (folder / "vocabulary.txt").write_text("not needed")
    (folder / "model.bin").write_bytes(ctranslate2_file(rigs.random_weights(d), d))


def opened(url: str, cache: Path, *sources: str) -> list[dict[str, Any]]:
    """What each model hears, in a process of its own with a cache of its own."""
    environment = os.environ | {"HF_ENDPOINT": url, "HF_HOME": str(cache), "HF_HUB_DISABLE_TELEMETRY": "1"}
    environment |= {"HF_HUB_DOWNLOAD_TIMEOUT": "2", "HF_HUB_ETAG_TIMEOUT": "2", "HF_HUB_DISABLE_XET": "1"}
    run = subprocess.run(
        [sys.executable, "-c", OPEN, *sources],
        capture_output=True,
        text=True,
        env=environment,
        cwd=ROOT,
        timeout=180,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return [json.loads(line) for line in run.stdout.splitlines()]


def test_every_kind_of_repository(hub: Hub, tmp_path: Path) -> None:
    names = ("mlx/npz", "openai/whisper-tiny", "systran/tiny", "mlx/bits-8", "mlx/bits-4", "mlx/large")
    by_name = dict(zip(names, opened(hub.url, tmp_path, *names), strict=True))
    assert not [one["error"] for one in by_name.values() if "error" in one]
    assert {one["kind"] for one in by_name.values()} == {"whisper"}
    tiny = by_name["openai/whisper-tiny"]
    assert tiny["languages"] == 99 and by_name["mlx/large"]["languages"] == 100 and len(tiny["tokens"]) > 10
    # The same weights say the same, however they are stored; rounded to 8 bits they still hear the language.
    for name in ("mlx/npz", "systran/tiny"):
        assert (by_name[name]["tokens"], by_name[name]["language"]) == (tiny["tokens"], tiny["language"]), name
    assert by_name["mlx/bits-8"]["language"] == tiny["language"]
    assert by_name["mlx/bits-4"]["tokens"] and by_name["mlx/bits-4"]["tokens"] != tiny["tokens"]
    # Heads are named by transformers' generation_config.json, by CTranslate2's config.json, or among MLX's weights.
    for name in ("openai/whisper-tiny", "systran/tiny", "mlx/large"):
        assert by_name[name]["heads"] == NAMED, name
    assert by_name["mlx/npz"]["heads"] == [[1, 0], [1, 1]]
    asked = {path.split("/resolve/")[0].strip("/") + "/" + path.rsplit("/", 1)[1] for path in hub.requests}
    assert {"openai/whisper-tiny/tokenizer.json", "openai/whisper-large-v3/tokenizer.json"} <= asked
    assert not [path for path in asked if "fp32" in path or path.endswith((".h5", "pytorch_model.bin", "vocab.json"))]
    # Then no server is needed, also for the tokenizer that came from elsewhere.
    before = len(hub.requests)
    assert opened(hub.url, tmp_path, "local:mlx/npz")[0]["tokens"] == tiny["tokens"]
    assert len(hub.requests) == before


def test_what_cannot_be_had_is_said_in_one_sentence(hub: Hub, tmp_path: Path) -> None:
    missing = opened(hub.url, tmp_path, "mlx/orphan")[0]["error"]
    assert missing == (
        "This model was stored without its tokenizer.json, which is that of openai/whisper-tiny.en, but the Hub does "
        "not have it there; put a tokenizer.json of the same size beside the weights."
    )
    # The weights are there, the network has gone.
    gone = opened("http://127.0.0.1:9", tmp_path, "mlx/orphan", "local:mlx/orphan")
    assert "which is that of openai/whisper-tiny.en; the Hub does not answer (" in gone[0]["error"]
    assert "Connect to the network once, or put a tokenizer.json" in gone[0]["error"]
    assert "only the cache was to be asked" in gone[1]["error"]
    for one in gone:
        assert "\n" not in one["error"] and one["error"].count(". ") == 1 and len(one["error"]) < 400


def test_a_half_finished_download_is_an_error_and_the_next_one_finishes(hub: Hub, tmp_path: Path) -> None:
    hub.last = 2_000_000  # configuration and tokenizer are smaller, weights are larger
    said, later = opened(hub.url, tmp_path, "systran/tiny", "local:systran/tiny")
    assert said["error"].startswith("systran/tiny cannot be had: ") and "\n" not in said["error"]
    assert "only in part" in later["error"]
    hub.last = None
    assert opened(hub.url, tmp_path, "systran/tiny")[0]["languages"] == 99


@pytest.mark.parametrize(
    ("layers", "width", "vocabulary", "encoder", "mels", "name"),
    [
        (4, 384, 51_864, 4, 80, "tiny.en"),
        (4, 384, 51_865, 4, 80, "tiny"),
        (6, 512, 51_864, 6, 80, "base.en"),
        (6, 512, 51_865, 6, 80, "base"),
        (12, 768, 51_864, 12, 80, "small.en"),
        (12, 768, 51_865, 12, 80, "small"),
        (24, 1024, 51_864, 24, 80, "medium.en"),
        (24, 1024, 51_865, 24, 80, "medium"),
        (32, 1280, 51_865, 32, 80, "large-v2"),
        (32, 1280, 51_866, 32, 128, "large-v3"),
        (4, 1280, 51_866, 32, 128, "large-v3-turbo"),
        (2, 1280, 51_866, 32, 128, "large-v3"),  # distilled: as many tokens
        (4, 768, 51_864, 12, 80, "tiny.en"),
    ],
)
def test_whose_tokenizer_it_is(layers: int, width: int, vocabulary: int, encoder: int, mels: int, name: str) -> None:
    heads = width // 64
    d = Dimensions(mels, 1500, width, heads, encoder, vocabulary, 448, width, heads, layers)
    assert tokenizer_repository(d) == f"openai/whisper-{name}"


def test_of_safetensors_the_whole_model_is_enough() -> None:
    def weights(names: Sequence[str]) -> list[str]:
        return [name for name in _needed("a/b", ["config.json", *names]) if name.endswith(".safetensors")]

    fp32 = [f"model.fp32-0000{i}-of-00002.safetensors" for i in (1, 2)]
    shards = [f"model-0000{i}-of-00002.safetensors" for i in (1, 2)]
    cases: Mapping[tuple[str, ...], list[str]] = {
        ("model.safetensors", *fp32): ["model.safetensors"],
        (*fp32, *shards): shards,
        ("weights.safetensors",): ["weights.safetensors"],
    }
    for names, wanted in cases.items():
        assert weights(sorted(names)) == wanted
