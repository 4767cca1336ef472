"""The greedy search that runs on the device (Metal), here on MLX's CPU backend, beside the one on the host."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import asr_core
from asr_core.decoding import greedy
from asr_core.decoding.device import DeviceGreedy
from asr_core.decoding.options import Greedy
from asr_core.engine import engine
from tests.conftest import encoded
from tests.rigs import random_head, tabled


def on_device(recognizer: asr_core.Recognizer) -> asr_core.Recognizer:
    """The same model, decoding as it would on Metal."""
    model = recognizer._model
    search = engine().run(DeviceGreedy, model.transducer)
    return replace(recognizer, _model=replace(model, device_greedy=search))


@pytest.mark.parametrize("name", ["tdt", "rnnt", "hybrid"])
@pytest.mark.parametrize("key", ["u3", "u12", "noise", "silence", "len1281", "batch"])
@pytest.mark.parametrize("limit", [None, 1, 2])
def test_it_finds_what_the_host_finds(oracle, name: str, key: str, limit: int | None) -> None:
    recognizer = oracle(name)
    states, lengths = encoded(name, key)
    options = Greedy(max_symbols=limit)
    ours = on_device(recognizer).decode(states, lengths, options)
    for [found], [expected] in zip(ours, recognizer.decode(states, lengths, options), strict=True):
        assert found.token_ids == expected.token_ids
        assert found.start_frames == expected.start_frames and found.end_frames == expected.end_frames
        assert found.score == pytest.approx(expected.score, abs=1e-3)
        np.testing.assert_allclose(found.confidences, expected.confidences, atol=1e-5)
        np.testing.assert_allclose(found.log_probs, expected.log_probs, atol=1e-4)


def test_the_embedded_model_says_the_same(demo) -> None:
    noise = np.random.default_rng(0).standard_normal(20_000).astype(np.float32)
    audios = [0.1 * noise, np.zeros(0, np.float32), noise[:3000]]
    assert [t.tokens for t in on_device(demo).transcribe_batch(audios)] == [
        t.tokens for t in demo.transcribe_batch(audios)
    ]


@pytest.mark.parametrize("durations", [(), (0, 1, 2)])
@pytest.mark.parametrize("seed", range(5))
def test_random_heads(durations: tuple[int, ...], seed: int) -> None:
    head = random_head(seed, 6, durations)
    states = np.random.default_rng(seed).standard_normal((4, 30, 3)).astype(np.float32)
    lengths = np.array([30, 0, 7, 1])
    paths = engine().run(lambda: DeviceGreedy(head).paths(states, lengths, 3))
    for path, expected in zip(paths, greedy.transducer(states, lengths, head, Greedy(max_symbols=3)), strict=True):
        assert tuple(path.labels[path.labels != head.blank]) == expected.token_ids
        assert tuple(path.frames[path.labels != head.blank]) == expected.start_frames


def test_a_frame_that_never_turns_blank_ends() -> None:
    table = np.full((3, 4), -100.0)
    table[:, 1] = 0
    states, head = tabled(table, 3)
    [path] = engine().run(lambda: DeviceGreedy(head).paths(states, np.array([3]), 10))
    assert (path.labels == 1).sum() == 30
