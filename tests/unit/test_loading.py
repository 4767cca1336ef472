"""Loading models from folders and archives, and what is said when that cannot work."""

from __future__ import annotations

import json
import shutil
import threading
from pathlib import Path

import numpy as np
import pytest

import asr_core
from asr_core.engine import engine
from asr_core.loading import runtime
from asr_core.models.registry import DEMO_FOLDER
from tests.conftest import ORACLE, SAMPLES


@pytest.fixture
def folder(tmp_path) -> Path:
    """A copy of the embedded model's folder, to break."""
    copy = tmp_path / "model"
    shutil.copytree(DEMO_FOLDER, copy, ignore=shutil.ignore_patterns("training"))
    return copy


def change(folder: Path, **sections: object) -> None:
    config = json.loads((folder / "config.json").read_text())
    for path, value in sections.items():
        *parents, last = path.split("__")
        section = config
        for parent in parents:
            section = section[parent]
        section[last] = value
    (folder / "config.json").write_text(json.dumps(config))


def rewrite(folder: Path, change_weights) -> None:
    """Write the folder's weights again, changed in the engine's thread."""
    import mlx.core as mx

    def job() -> None:
        weights = dict(mx.load(str(folder / "model.safetensors")))
        mx.eval(*weights.values())
        mx.save_safetensors(str(folder / "model.safetensors"), change_weights(weights))

    engine().run(job)


def test_info_of_the_embedded_model(demo):
    info = demo.info
    assert (info.kind, info.heads, info.vocabulary_size) == ("tdt_ctc", ("tdt", "ctc"), 1024)
    assert (info.sample_rate, info.frame_seconds, info.dtype) == (16_000, 0.08, "float32")
    assert info.parameters == pytest.approx(3.735e6, rel=0.01)
    assert demo.card is not None
    assert "## It cannot" in demo.card


def test_listed_models_start_with_the_embedded_one(demo):
    listed = asr_core.list_models()
    assert listed[0].source == "demo"
    assert (listed[0].kind, listed[0].heads) == (demo.info.kind, demo.info.heads)
    assert len({model.source for model in listed}) == len(listed)


def test_runtime_names_device_and_blas():
    where = runtime()
    assert where.device in ("CPU", "Metal")
    assert where.blas.fast or where.blas.advice
    assert where.mlx_version.count(".") >= 2


@pytest.mark.parametrize("name", ["tdt", "rnnt", "ctc", "hybrid"])
def test_kind_is_told_from_the_configuration(name, oracle):
    expected = {"hybrid": "tdt_ctc"}.get(name, name)
    assert oracle(name).info.kind == expected


def test_nemo_archive_gives_the_same_encoder_output(oracle, recordings):
    archive = asr_core.load_model(ORACLE / "extras" / "tdt.nemo")
    for key in ("u2", "u12"):
        ours = archive.encode(*archive.features([recordings[key]]))[0]
        assert np.array_equal(ours, oracle("tdt").encode(*oracle("tdt").features([recordings[key]]))[0])
    assert archive.vocabulary == oracle("tdt").vocabulary


def test_load_in_one_thread_use_in_another(folder):
    made = []
    loader = threading.Thread(target=lambda: made.append(asr_core.load_model(folder)))
    loader.start()
    loader.join()
    texts = []
    user = threading.Thread(target=lambda: texts.append(made[0].transcribe(SAMPLES / "platform-nineteen.flac").text))
    user.start()
    user.join()
    assert texts == [asr_core.load_model(folder).transcribe(SAMPLES / "platform-nineteen.flac").text]


def test_what_is_wrong_is_said_in_a_sentence(folder, tmp_path):
    def refused(what, match: str) -> None:
        with pytest.raises(asr_core.ModelError, match=match) as caught:
            asr_core.load_model(what)
        assert "\n" not in str(caught.value)

    refused("no such thing", "is not a model; a model is")
    refused(tmp_path / "nothing.nemo", "There is no file")
    (tmp_path / "text.nemo").write_text("hello")
    refused(tmp_path / "text.nemo", "not a whole .nemo archive")
    (tmp_path / "empty").mkdir()
    refused(tmp_path / "empty", "no config.json")
    with pytest.raises(asr_core.ModelError, match="dtype"):
        asr_core.load_model(dtype="int8")


BROKEN = {
    "no weights": (lambda f: (f / "model.safetensors").unlink(), "no model.safetensors"),
    "cut weights": (
        lambda f: (f / "model.safetensors").write_bytes((f / "model.safetensors").read_bytes()[:100_000]),
        "model.safetensors is broken or incomplete",
    ),
    "no json": (lambda f: (f / "config.json").write_text("{"), "config.json of model is not valid JSON"),
    "json list": (lambda f: (f / "config.json").write_text("[]"), "JSON object"),
    "no encoder": (lambda f: change(f, encoder=None), "no encoder section"),
    "short vocabulary": (
        lambda f: change(f, joint__vocabulary=["a"] * 200, aux_ctc__decoder__vocabulary=["a"] * 200, labels=None),
        "does not fit a vocabulary of 200",
    ),
    "two vocabularies": (lambda f: change(f, joint__vocabulary=["a"] * 256), "two different vocabularies"),
    "unknown architecture": (lambda f: change(f, encoder__subsampling="vggnet"), "subsampling = 'vggnet'"),
    "wrong width": (lambda f: change(f, encoder__d_model=96), "has the shape"),
    "more layers": (lambda f: change(f, encoder__n_layers=7), "lack .* tensors of the encoder"),
    "fewer layers": (lambda f: change(f, encoder__n_layers=5), "no place for"),
    "other durations": (lambda f: change(f, decoding__durations=[0, 1]), "lists 2 durations"),
    "wrong mels": (lambda f: change(f, preprocessor__features=128), "128 features a frame, the encoder takes 80"),
    "wrong kind of value": (lambda f: change(f, encoder__d_model="wide"), "wrong kind"),
    "no joint": (
        lambda f: rewrite(f, lambda w: {k: v for k, v in w.items() if k != "joint.enc.weight"}),
        "joint.enc.weight",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_broken_folders(case, folder):
    break_it, match = BROKEN[case]
    break_it(folder)
    with pytest.raises(asr_core.ModelError, match=match):
        asr_core.load_model(folder)


def test_shards(folder):
    import mlx.core as mx

    def split() -> None:
        weights = mx.load(str(folder / "model.safetensors"))
        names = sorted(weights)
        for number, part in enumerate((names[::2], names[1::2]), 1):
            target = folder / f"model-{number:05}-of-00002.safetensors"
            mx.save_safetensors(str(target), {name: weights[name] for name in part})

    engine().run(split)
    (folder / "model.safetensors").unlink()
    clip = SAMPLES / "sandwich.flac"
    assert asr_core.load_model(folder).transcribe(clip).text == asr_core.load_model().transcribe(clip).text
    (folder / "model-00002-of-00002.safetensors").unlink()
    with pytest.raises(asr_core.ModelError, match="1 of 2 files"):
        asr_core.load_model(folder)


def test_half_precision_says_the_same(folder):
    clip = SAMPLES / "meeting-date.flac"
    for dtype in ("float16", "bfloat16"):
        transcript = asr_core.load_model(folder, dtype=dtype).transcribe(clip)
        assert transcript.text == (
            "The meeting is on Monday, the seventh of September, two thousand and nine, at a quarter past nine."
        )
        assert all(0 <= token.confidence <= 1 for token in transcript.tokens)


def test_mlx_quantized_weights(tmp_path):
    """The oracle's RNN-T has widths that MLX can quantize."""
    import mlx.core as mx

    shutil.copytree(ORACLE / "rnnt", tmp_path / "model")
    folder = tmp_path / "model"
    change(folder, quantization={"group_size": 32, "bits": 8})

    def quantize() -> None:
        from asr_core.models.weights import to_mlx

        out = {}
        for name, x in to_mlx(mx.load(str(folder / "nemo.safetensors"))).items():
            linear = name.endswith("weight") and x.ndim == 2 and x.shape[1] % 32 == 0 and "embed" not in name
            if linear:
                out[name], out[name[:-6] + "scales"], out[name[:-6] + "biases"] = mx.quantize(x, 32, 8)
            else:
                out[name] = x
        mx.save_safetensors(str(folder / "model.safetensors"), out)

    engine().run(quantize)
    (folder / "nemo.safetensors").unlink()
    quantized, whole = asr_core.load_model(folder), asr_core.load_model(ORACLE / "rnnt")
    with np.load(ORACLE / "audio.npz") as audio:
        features = whole.features([audio["u2"]])
    error = np.abs(quantized.encode(*features)[0] - whole.encode(*features)[0]).max()
    assert 0 < error < 0.2
    assert quantized.info.parameters == whole.info.parameters


def test_parakeet_mlx_gives_the_same_encoder_output(demo, recordings):
    """A peer with the same weights and the same features, one recording at a time (it has no masks)."""
    peer = pytest.importorskip("parakeet_mlx")
    import mlx.core as mx
    from mlx.utils import tree_unflatten
    from parakeet_mlx.utils import from_config

    def run(features: np.ndarray) -> np.ndarray:
        model = from_config(json.loads((DEMO_FOLDER / "config.json").read_text()))
        weights = {k: v.astype(mx.float32) for k, v in mx.load(str(DEMO_FOLDER / "model.safetensors")).items()}
        model.update(tree_unflatten(list(weights.items())))
        model.eval()
        encoded, _ = model.encoder(mx.array(features))
        return np.array(encoded)

    assert peer
    for key in ("u2", "u12"):
        features, lengths = demo.features([recordings[key]])
        ours, _ = demo.encode(features, lengths)
        theirs = engine().run(run, features)
        assert theirs.shape == ours.shape
        assert np.abs(theirs - ours).max() < 1e-4 * np.abs(ours).max()
