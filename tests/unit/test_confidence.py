"""NeMo's confidence measures, against numbers that NeMo made."""

import itertools
from pathlib import Path

import numpy as np
import pytest

from asr_core.confidence import aggregate, measure
from asr_core.decoding.options import AGGREGATIONS, METHODS, NORMS, Confidence

NEMO = np.load(Path(__file__).parents[1] / "data/oracle/units/confidence.npz")
CASES = [key for key in NEMO.files if not key.endswith(".logp")]


def options_of(measure_name: str, alpha: str) -> Confidence:
    if measure_name == "max_prob":
        return Confidence(method="max_prob", alpha=float(alpha))
    _, method, norm = measure_name.split("_")
    return Confidence(method=method, norm=norm, alpha=float(alpha))


@pytest.mark.parametrize("key", CASES)
def test_equals_nemo(key):
    size, rest = key.split(".", 1)
    name, alpha = rest.split(".alpha")
    found = measure(NEMO[f"{size}.logp"], options_of(name, alpha))
    np.testing.assert_allclose(found, NEMO[key], atol=1e-5)


@pytest.mark.parametrize(("method", "norm", "alpha"), list(itertools.product(METHODS, NORMS, [0.2, 0.33, 1.0, 2.0])))
def test_certain_is_1_and_flat_is_0(method, norm, alpha):
    certain = np.full(97, -np.inf)
    certain[3] = 0.0
    rows = np.stack([certain, np.full(97, -np.log(97))])
    found = measure(rows, Confidence(method=method, norm=norm, alpha=alpha))
    np.testing.assert_allclose(found, [1, 0], atol=1e-5)


@pytest.mark.parametrize(("method", "norm"), list(itertools.product(METHODS, NORMS)))
def test_half_precision_gives_numbers(method, norm):
    logits = np.random.default_rng(5).normal(size=(2, 50, 1025)) * 30
    rows = (logits - np.log(np.exp(logits).sum(-1, keepdims=True))).astype(np.float16)
    rows[0, 0] = -np.inf
    rows[0, 0, 7] = 0
    found = measure(rows, Confidence(method=method, norm=norm))
    assert found.shape == (2, 50) and np.isfinite(found).all()


def test_a_duration_is_normalised_by_the_size_that_is_given():
    log_probs = np.log([0.7, 0.1, 0.1, 0.1])
    wide = np.concatenate([log_probs, np.full(93, -np.inf)])
    np.testing.assert_allclose(measure(log_probs, Confidence(), size=97), measure(wide, Confidence()), atol=1e-6)


def test_aggregation():
    found = {how: aggregate([0.5, 0.25], how) for how in AGGREGATIONS}
    assert found == {"mean": 0.375, "min": 0.25, "max": 0.5, "prod": 0.125}
    assert all(aggregate([], how) == 1 for how in AGGREGATIONS)
