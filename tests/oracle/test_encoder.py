"""Encoder and heads against NeMo's dumps, each fed NeMo's own input."""

import json

import numpy as np
import pytest

import asr_core
from tests.conftest import ORACLE, arrays, encoded

MODELS = ("tdt", "rnnt", "ctc", "hybrid")
FULL = ("u2", "u3", "u0p3", "u1", "len1279", "len1280", "len1281", "len2559", "len2560")


def worst(ours: np.ndarray, theirs: np.ndarray, length: int) -> float:
    return float(np.abs(ours[:length] - theirs[:length]).max(initial=0))


@pytest.mark.parametrize("model", MODELS)
def test_single(model, oracle):
    recognizer = oracle(model)
    expected = arrays(f"{model}/encoder_single.npz")
    features = arrays(f"features/mel{recognizer.config.features.mels}.npz")
    for key in FULL:
        ours, lengths = recognizer.encode(features[key][None], features[f"{key}.len"])
        assert lengths.tolist() == expected[f"{key}.enc_len"].tolist(), key
        assert worst(ours[0], expected[f"{key}.enc"], lengths[0]) < 1e-5, key


@pytest.mark.parametrize("model", MODELS)
def test_batch_of_unequal_lengths(model, oracle):
    recognizer = oracle(model)
    expected = arrays(f"{model}/layers_batch.npz")
    features = arrays(f"features/mel{recognizer.config.features.mels}.npz")
    ours, lengths = recognizer.encode(features["batch"], features["batch.len"])
    assert lengths.tolist() == expected["enc_len"].tolist()
    for row, theirs, length in zip(ours, expected["enc"], lengths, strict=True):
        assert worst(row, theirs, length) < 1e-5


@pytest.mark.parametrize("model", MODELS)
def test_from_audio(model, oracle, recordings):
    recognizer = oracle(model)
    expected = arrays(f"{model}/encoder_single.npz")
    for key in ("u2", "u3", "u12", "clip"):
        ours, lengths = recognizer.encode(*recognizer.features([recordings[key]]))
        assert worst(ours[0], expected[f"{key}.enc"], lengths[0]) < 2e-5, key


@pytest.mark.parametrize("model", ["ctc", "hybrid"])
def test_ctc_log_probs(model, oracle):
    recognizer, expected = oracle(model), arrays(f"{model}/ctc_logprobs.npz")
    for key in ("u2", "u3", "u12", "u0p3", "noise", "silence"):
        states, lengths = encoded(model, key)
        assert worst(recognizer.ctc_log_probs(states)[0], expected[key], lengths[0]) < 1e-5
    states, lengths = encoded(model, "batch")
    for row, theirs, length in zip(recognizer.ctc_log_probs(states), expected["batch"], lengths, strict=True):
        assert worst(row, theirs, length) < 1e-5


@pytest.mark.parametrize("model", ["tdt", "rnnt", "hybrid"])
def test_prediction_network_and_joint(model, oracle):
    head, expected = oracle(model)._model.transducer, arrays(f"{model}/transducer_tensors.npz")
    output, state = head.prediction.start(2)
    outputs = [output]
    for labels in expected["pred.tokens"].T:
        output, state = head.prediction.step(labels, state)
        outputs.append(output)
    assert np.abs(np.stack(outputs, 1) - expected["pred.out"]).max() < 1e-6
    states, _ = encoded(model, "u2")
    projected = head.joint.project_encoder(states[0][: expected["u2.enc_proj"].shape[1]])
    predicted = head.joint.project_prediction(expected["pred.out"][0])
    assert np.abs(projected - expected["u2.enc_proj"][0]).max() < 1e-5
    logits = head.joint.logits(projected[:, None], predicted[None]).astype(np.float64)
    # On the CPU NeMo's joint normalises over labels and durations together.
    log_probs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    assert np.abs(log_probs - expected["u2.joint_logits"][0]).max() < 1e-5


@pytest.mark.parametrize("model", MODELS)
def test_parameter_count(model, oracle):
    """NeMo counts both biases of an LSTM layer; the port keeps their sum."""
    config = oracle(model).config.transducer
    merged = 4 * config.prediction_width * config.prediction_layers if config else 0
    theirs = json.loads((ORACLE / model / "notes.json").read_text())["params"]
    assert oracle(model).info.parameters == theirs - merged


def test_shapes_of_stages_with_nothing_in_them(demo: asr_core.Recognizer):
    features, lengths = demo.features([np.zeros(0, np.float32), np.zeros(100, np.float32)])
    states, frames = demo.encode(features, lengths)
    assert states.shape == (2, 0, demo.config.encoder.width)
    assert frames.tolist() == [0, 0]
    assert all(not found[0].token_ids for found in demo.decode(states, frames, asr_core.Greedy()))
