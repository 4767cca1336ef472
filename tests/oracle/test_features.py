"""Log-mel against NeMo's dumps."""

from dataclasses import replace

import numpy as np
import pytest

from asr_core.features import FeatureConfig, batch, log_mel
from tests.conftest import arrays

#: Near silence NeMo's own float32 rounding is divided by 1e-5.
TOLERANCE = {"quiet": 5e-4, "len400": 1e-3}
BATCH = ("u12", "u2", "u0p3", "u3")


@pytest.mark.parametrize("mels", [80, 128])
def test_filterbank_and_window(mels):
    expected, config = arrays(f"features/mel{mels}.npz"), FeatureConfig(mels=mels)
    assert np.abs(expected["fb"].T - config.filterbank).max() < 1e-7
    assert np.abs(expected["window"] - config.window_values[56:456]).max() < 1e-6


@pytest.mark.parametrize("mels", [80, 128])
def test_single_recordings(mels, recordings):
    expected, config = arrays(f"features/mel{mels}.npz"), FeatureConfig(mels=mels)
    for key, samples in recordings.items():
        features = log_mel(samples, config)
        assert len(features) == int(expected[f"{key}.len"][0]), key
        if key in expected and key != "silence" and len(features):
            assert np.abs(features - expected[key][: len(features)]).max() < TOLERANCE.get(key, 1e-4), key


def test_silence_is_the_same_small_number_in_every_frame(recordings):
    features = log_mel(recordings["silence"], FeatureConfig())
    assert np.isfinite(features).all()
    assert (features == features[0]).all()
    assert np.abs(features).max() < 0.5


@pytest.mark.parametrize("mels", [80, 128])
def test_batch(mels, recordings):
    expected, config = arrays(f"features/mel{mels}.npz"), FeatureConfig(mels=mels)
    features, lengths = batch([log_mel(recordings[key], config) for key in BATCH], config)
    assert lengths.tolist() == expected["batch.len"].tolist()
    for row, theirs, length in zip(features, expected["batch"], lengths, strict=True):
        assert np.abs(row[:length] - theirs[:length]).max() < 1e-4
        assert not row[length:].any()


VARIANTS = {
    "pad16": {"pad_to": 16},
    "none": {"normalize": None},
    "all_features": {"normalize": "all_features"},
    "na": {"normalize": "NA"},
    "hamming": {"window": "hamming"},
    "mag1": {"power": 1.0},
    "nolog": {"log": False, "normalize": None},
    "preemph_none": {"preemphasis": None},
    "clamp": {"guard_type": "clamp", "guard": 1e-5},
    "guard_1e5": {"guard": 1e-5},
    "low60_high7600": {"low": 60.0, "high": 7600.0},
    "exact_pad": {"exact_pad": True},
    "w20ms": {"window_length": 320},
    "splice2": {"splicing": 2},
    "nfft1024": {"n_fft": 1024},
}


@pytest.mark.parametrize("name", VARIANTS)
def test_other_settings(name, recordings):
    expected = arrays("features/variants_u2.npz")
    features = log_mel(recordings["u2"], replace(FeatureConfig(), **VARIANTS[name]))
    assert len(features) == int(expected[f"{name}.len"][0])
    assert np.abs(features[:60] - expected[name]).max() < 1e-4


def test_config_reads_nemos_section():
    config = FeatureConfig.from_nemo(
        {"sample_rate": 16000, "window_size": 0.025, "window_stride": 0.01, "features": 80, "n_fft": 512, "pad_to": 0}
    )
    assert config == FeatureConfig()
    assert FeatureConfig.from_nemo({"log_zero_guard_value": "tiny"}).guard == np.finfo(np.float32).tiny
