"""Whisper checkpoints in every layout, and what is refused."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np
import pytest

from asr_core.blas import bind_blas

bind_blas()

import mlx.core as mx  # noqa: E402
import mlx.nn as nn  # noqa: E402
from mlx.utils import tree_flatten  # noqa: E402

from asr_core.engine import engine  # noqa: E402
from asr_core.errors import DecodingError, ModelError  # noqa: E402
from asr_core.models import ctranslate2, whisper_weights  # noqa: E402
from asr_core.models.whisper import Whisper  # noqa: E402
from asr_core.models.whisper_config import Dimensions, Wanted, alignment_heads  # noqa: E402
from asr_core.models.whisper_network import Network  # noqa: E402
from tests.whisper_files import ctranslate2_file, torch_layout, transformers_config, transformers_name  # noqa: E402

SMALL = Dimensions(80, 1500, 64, 1, 2, 300, 24, 64, 1, 2)


@pytest.fixture(scope="module")
def weights() -> dict[str, np.ndarray]:
    """Random weights in MLX's layout, rounded to 16 bits so that every file can hold them."""
    rng = np.random.default_rng(7)
    shapes = {name: x.shape for name, x in tree_flatten(Network(SMALL).parameters())}
    return {name: (0.1 * rng.standard_normal(shape)).astype(np.float16) for name, shape in shapes.items()}


@pytest.fixture(scope="module")
def model(weights, tmp_path_factory) -> Whisper:
    folder = tmp_path_factory.mktemp("mlx")
    write_mlx(folder, weights)
    return load(folder)


def write_mlx(folder: Path, weights: dict[str, np.ndarray], name: str = "weights.npz", **more: object) -> None:
    (folder / "config.json").write_text(json.dumps({**vars(SMALL), "model_type": "whisper", **more}))
    if name.endswith(".npz"):
        np.savez(folder / name, alignment_heads=np.array([[1, 0]]), **weights)
    else:
        mx.save_safetensors(str(folder / name), {key: mx.array(x) for key, x in weights.items()})


def load(folder: Path) -> Whisper:
    return whisper_weights.build(whisper_weights.load_checkpoint(folder), "float32")


def logits_of(model: Whisper) -> np.ndarray:
    mel = np.random.default_rng(1).standard_normal((1, 3000, 80)).astype(np.float32)
    return model.step(np.array([[5, 9, 2]]), model.begin(model.encode(mel)), wanted=Wanted((0, 1, 2)))[0]


def test_layouts_of_mlx_and_transformers_are_one_model(weights, model, tmp_path) -> None:
    expected = logits_of(model)
    assert np.isfinite(expected).all() and expected.std() > 0.01
    assert model.config.alignment_heads == ((1, 0),)
    write_mlx(tmp_path, weights, "model.safetensors")
    assert np.array_equal(logits_of(load(tmp_path)), expected)

    folder = tmp_path / "transformers"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(transformers_config(SMALL)))
    (folder / "generation_config.json").write_text(json.dumps({"alignment_heads": [[0, 0]]}))
    theirs = {transformers_name(name): torch_layout(name, x) for name, x in weights.items()}
    theirs["proj_out.weight"] = theirs["model.decoder.embed_tokens.weight"]
    theirs["model.encoder.embed_positions.weight"] = np.zeros((1500, 64), np.float16)
    mx.save_safetensors(str(folder / "model.safetensors"), {key: mx.array(x) for key, x in theirs.items()})
    assert whisper_weights.is_whisper(folder)
    made = load(folder)
    assert np.array_equal(logits_of(made), expected) and made.config.alignment_heads == ((0, 0),)


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "int8"])
def test_ctranslate2_is_the_same_model(weights, model, tmp_path, kind) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"alignment_heads": [[1, 0]]}))
    (tmp_path / "model.bin").write_bytes(ctranslate2_file(weights, SMALL, kind))
    assert whisper_weights.is_whisper(tmp_path)
    made = load(tmp_path)
    assert made.config == model.config
    apart = np.abs(logits_of(made) - logits_of(model)).max()
    assert apart <= {"float16": 0, "bfloat16": 0.05, "int8": 0.05}[kind]


def test_stored_weights_may_be_read_in_any_thread(weights, tmp_path) -> None:
    write_mlx(tmp_path, weights, "model.safetensors")
    stored = engine().run(whisper_weights.load_checkpoint, tmp_path).weights
    assert stored.keys() == weights.keys()
    assert all(np.array_equal(np.array(x), weights[name]) for name, x in stored.items())


def test_quantized_layers_stay_quantized(weights, model, tmp_path) -> None:
    network = Network(SMALL)
    network.load_weights([(name, mx.array(x)) for name, x in weights.items()])
    nn.quantize(network, group_size=64, bits=8)
    mx.eval(network.parameters())
    write_mlx(tmp_path, {}, "model.safetensors", quantization={"group_size": 64, "bits": 8})
    mx.save_safetensors(str(tmp_path / "model.safetensors"), dict(tree_flatten(network.parameters())))
    made = load(tmp_path)
    assert made.projection is None and isinstance(made.network.decoder.token_embedding, nn.QuantizedEmbedding)
    assert np.abs(logits_of(made) - logits_of(model)).max() < 0.1


def test_broken_ctranslate2_files_are_refused(weights, tmp_path) -> None:
    good, file = ctranslate2_file(weights, SMALL, "float16"), tmp_path / "model.bin"
    cases = {
        good[:-3]: "incomplete",
        good + b"x": "follows its end",
        good[:1000]: "incomplete",
        b"": "incomplete",
        struct.pack("<I", 5) + good[4:]: "version 5",
        good.replace(b"WhisperSpec", b"TransfoSpec", 1): "TransfoSpec",
        ctranslate2_file(weights, SMALL, "float16", key_bias=1.0): "bias for its keys",
    }
    for data, said in cases.items():
        file.write_bytes(data)
        with pytest.raises(ModelError, match=said):
            whisper_weights.load_checkpoint(tmp_path)


def test_what_does_not_fit_the_configuration_is_named(weights, tmp_path) -> None:
    write_mlx(tmp_path, {name: x for name, x in weights.items() if name != "decoder.ln.bias"})
    with pytest.raises(ModelError, match=r"lack 1 tensors.*decoder\.ln\.bias"):
        load(tmp_path)
    write_mlx(tmp_path, weights, n_text_layer=1)
    with pytest.raises(ModelError, match="head that a decoder of 1 layers"):
        load(tmp_path)
    write_mlx(tmp_path, weights, n_text_state=65)
    with pytest.raises(ModelError, match="shape"):
        load(tmp_path)
    (tmp_path / "weights.npz").write_bytes(b"PK\x03\x04 and no more")
    with pytest.raises(ModelError, match="broken"):
        load(tmp_path)


def test_alignment_heads_named_published_or_the_last_half() -> None:
    tiny = Dimensions(80, 1500, 384, 6, 4, 51_864, 448, 384, 6, 4)
    assert alignment_heads(tiny, None)[:2] == ((1, 0), (2, 0))
    assert alignment_heads(tiny, [[3, 1]]) == ((3, 1),)
    assert alignment_heads(SMALL, None) == ((1, 0),)
    for wrong in ([[4, 0]], [[0, 6]], [[1]], ["ab"]):
        with pytest.raises(ModelError, match="alignment_heads"):
            alignment_heads(tiny, wrong)


def test_a_step_of_several_tokens_goes_on_from_the_cache(model) -> None:
    encoded = model.encode(np.random.default_rng(2).standard_normal((1, 3000, 80)).astype(np.float32))
    tokens = np.array([[4, 8, 15, 16, 23]])
    whole, _, looks = model.step(tokens, model.begin(encoded), wanted=Wanted(range(5), ((0, 0), (1, 0))))
    first, cache, _ = model.step(tokens[:, :2], model.begin(encoded), wanted=Wanted((0, 1)))
    rest, cache, later = model.step(tokens[:, 2:], cache, wanted=Wanted((0, 1, 2), ((0, 0), (1, 0))))
    assert np.concatenate([first, rest], axis=1) == pytest.approx(whole, abs=1e-4)
    assert later == pytest.approx(looks[:, :, 2:], abs=1e-4) and looks.shape == (1, 2, 5, 1500)
    assert cache.length == 5
    with pytest.raises(DecodingError, match="room for 24 tokens"):
        model.step(np.zeros((1, 20), int), cache)


def test_rows_of_audios_and_beams_are_what_they_are_alone(model) -> None:
    encoded = model.encode(np.random.default_rng(3).standard_normal((2, 3000, 80)).astype(np.float32))
    _, cache, _ = model.step(np.array([[1, 2], [1, 3]]), model.begin(encoded))
    # Three sequences of each audio, then others in their places.
    _, cache, _ = model.step(np.array([[5], [6], [7], [5], [8], [9]]), cache, np.array([0, 0, 0, 1, 1, 1]))
    logits, _, _ = model.step(np.array([[11], [12], [13], [14], [15], [16]]), cache, np.array([2, 0, 0, 5, 3, 4]))
    first = [(0, (1, 2, 7, 11)), (0, (1, 2, 5, 12)), (0, (1, 2, 5, 13))]
    second = [(1, (1, 3, 9, 14)), (1, (1, 3, 5, 15)), (1, (1, 3, 8, 16))]
    for row, (audio, sequence) in enumerate([*first, *second]):
        alone, _, _ = model.step(np.array([sequence]), model.begin(encoded[audio : audio + 1]))
        assert logits[row] == pytest.approx(alone[0], abs=1e-4)


def test_an_alias_stands_for_its_variable(weights, tmp_path) -> None:
    (tmp_path / "model.bin").write_bytes(ctranslate2_file(weights, SMALL, "float16"))
    found = ctranslate2.read(tmp_path / "model.bin")
    assert found["decoder/projection/weight"] is found["decoder/embeddings/weight"]
    assert found["encoder/num_heads"].shape == () and int(found["encoder/num_heads"]) == 1
