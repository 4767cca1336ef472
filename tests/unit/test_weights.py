"""NeMo's weights become MLX's by rules that the oracle's own conversion shares."""

from __future__ import annotations

import numpy as np
import pytest

import asr_core
from asr_core.engine import engine
from tests.conftest import ORACLE


@pytest.fixture(scope="module")
def to_mlx():
    """Conversion in the engine's thread, NumPy in and out."""
    asr_core.runtime()

    def convert(weights):
        import mlx.core as mx

        from asr_core.models.weights import to_mlx

        made = to_mlx({name: mx.array(x) for name, x in weights.items()})
        return {name: np.array(x) for name, x in made.items()}

    return lambda weights: engine().run(convert, weights)


def stored(path):
    def load():
        import mlx.core as mx

        return {name: np.array(x) for name, x in mx.load(str(ORACLE / path)).items()}

    return engine().run(load)


def test_conversion_equals_the_oracles_and_leaves_converted_weights_alone(to_mlx):
    expected = stored("tdt/model.safetensors")
    for source in ("tdt/nemo.safetensors", "tdt/model.safetensors"):
        made = to_mlx(stored(source))
        assert set(made) == set(expected)
        for name, weight in expected.items():
            np.testing.assert_array_equal(made[name], weight, err_msg=f"{source}: {name}")


@pytest.mark.parametrize("model", ["rnnt", "ctc", "hybrid"])
def test_nothing_of_training_or_of_the_front_end_is_left(to_mlx, model):
    names = set(to_mlx(stored(f"{model}/nemo.safetensors")))
    assert not [n for n in names if n.startswith("preprocessor") or "num_batches" in n or "_l0" in n]
    assert ("decoder.prediction.dec_rnn.lstm.0.Wx" in names) == (model != "ctc")
    assert ("ctc_decoder.decoder_layers.0.weight" in names) == (model == "hybrid")


@pytest.mark.parametrize("index", [1, 2])
def test_the_joints_last_layer_is_found_with_and_without_a_dropout_before_it(to_mlx, index):
    layers = {f"joint.joint_net.{index}.weight": np.ones((5, 3)), f"joint.joint_net.{index}.bias": np.zeros(5)}
    nemo = layers | {"encoder.layers.0.conv.batch_norm.num_batches_tracked": np.array(1)}
    for weights in (layers, nemo):
        assert sorted(to_mlx(weights)) == ["joint.joint_net.2.bias", "joint.joint_net.2.weight"]


def test_axes_gates_and_biases(to_mlx):
    lstm = "decoder.prediction.dec_rnn.lstm"
    made = to_mlx(
        {
            "encoder.pre_encode.conv.0.weight": np.arange(24.0).reshape(2, 1, 3, 4),
            "encoder.layers.0.conv.pointwise_conv1.weight": np.arange(6.0).reshape(2, 3, 1),
            "encoder.layers.0.linear.weight": np.arange(6.0).reshape(2, 3),
            f"{lstm}.weight_ih_l1": np.arange(8.0).reshape(4, 2),
            f"{lstm}.weight_hh_l1": np.arange(4.0).reshape(4, 1),
            f"{lstm}.bias_ih_l1": np.arange(4.0),
            f"{lstm}.bias_hh_l1": np.full(4, 10.0),
        }
    )
    assert made["encoder.pre_encode.conv.0.weight"].shape == (2, 3, 4, 1)
    assert made["encoder.layers.0.conv.pointwise_conv1.weight"].shape == (2, 1, 3)
    assert made["encoder.layers.0.linear.weight"].shape == (2, 3)
    assert made[f"{lstm}.1.Wx"].tolist() == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert made[f"{lstm}.1.Wh"].shape == (4, 1)
    assert made[f"{lstm}.1.bias"].tolist() == [10, 11, 12, 13]
    assert len(made) == 6
