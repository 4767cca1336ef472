"""Encoders with limited context, and the cache-aware stream of one, against NeMo's dumps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import asr_core
from asr_core.engine import engine
from asr_core.models import parakeet, weights
from asr_core.models.config import ParakeetConfig
from tests.conftest import ORACLE, arrays, outputs

FOLDER = ORACLE / "extras" / "stream_ctc"


@pytest.fixture(scope="module")
def streaming() -> asr_core.Recognizer:
    return asr_core.load_model(FOLDER)


def test_it_says_that_it_streams(streaming, demo) -> None:
    assert streaming.info.streaming and not demo.info.streaming


def test_offline_with_chunked_context(streaming) -> None:
    dump = arrays("extras/cache_aware_stream.npz")
    mel = dump["mel"][None]
    encoded, lengths = streaming.encode(mel, np.array([mel.shape[1]]))
    assert lengths[0] == 33
    np.testing.assert_allclose(encoded[0], dump["offline.enc"], atol=1e-5)
    np.testing.assert_allclose(streaming.ctc_log_probs(encoded)[0], dump["offline.logprobs"], atol=1e-5)


def test_every_step_gives_what_nemos_does(streaming) -> None:
    dump, steps = arrays("extras/cache_aware_stream.npz"), outputs("extras/cache_aware_stream.json")
    model, found = streaming._model, []

    def run() -> None:
        cache = model.begin_stream(None)
        for index, step in enumerate(steps["steps"]):
            features = dump["mel"][step["mel_from"] : step["mel_to"]]
            encoded, cache = model.step(features, steps["drop_extra_pre_encoded"] if index else 0, cache)
            assert (len(encoded), cache.frames) == (step["out_frames"], step["cache_len"])
            found.append(encoded)
            if index < 2:
                keys = np.stack([np.array(keys[0]) for keys, _ in cache.layers])
                taps = np.stack([np.array(taps[0]) for _, taps in cache.layers])
                np.testing.assert_allclose(keys, dump[f"step{index}.cache_last_channel"][:, 0], atol=1e-5)
                np.testing.assert_allclose(taps, dump[f"step{index}.cache_last_time"][:, 0].swapaxes(1, 2), atol=1e-5)

    engine().run(run)
    np.testing.assert_allclose(np.concatenate(found), dump["stream.enc"], atol=1e-5)


@pytest.mark.parametrize("size", [160, 1111, 8000, 10**6])
def test_the_stream_is_the_offline_result(streaming, recordings, size: int) -> None:
    audio = recordings["u12"]
    offline = streaming.transcribe(audio)
    with streaming.stream() as stream:
        for first in range(0, len(audio), size):
            update = stream.feed(audio[first : first + size])
            assert update.draft.text == ""
        live = stream.finish()
    assert live.text == offline.text
    assert [(t.id, t.start, t.end) for t in live.tokens] == [(t.id, t.start, t.end) for t in offline.tokens]
    assert live.sentences == offline.sentences or live.score == pytest.approx(offline.score, abs=1e-2)


@pytest.mark.parametrize("lookahead", [0, 1, 3])
def test_each_lookahead_that_was_trained(lookahead: int, recordings) -> None:
    """Stream and offline agree at every look-ahead; offline takes the first of the list."""

    def load() -> parakeet.Parakeet:
        checkpoint = weights.load_folder(FOLDER)
        config = ParakeetConfig.from_nemo(checkpoint.config)
        contexts = ((8, lookahead), *(pair for pair in ((8, 0), (8, 1), (8, 3)) if pair[1] != lookahead))
        config = replace(config, encoder=replace(config.encoder, contexts=contexts))
        return parakeet.build(config, checkpoint.weights, len(checkpoint.vocabulary), dtype="float32")

    loaded, model = asr_core.load_model(FOLDER), engine().run(load)
    recognizer = replace(loaded, config=model.config, _model=model)
    audio = recordings["u3"]
    for asked in (None, lookahead):
        with recognizer.stream(lookahead=asked) as stream:
            stream.feed(audio)
            live = stream.finish()
        offline = recognizer.transcribe(audio)
        assert live.hypothesis.token_ids == offline.hypothesis.token_ids
        assert live.hypothesis.start_frames == offline.hypothesis.start_frames
    with pytest.raises(asr_core.DecodingError, match="0, 1, 3" if lookahead == 0 else "trained"):
        recognizer.stream(lookahead=7)


@pytest.mark.parametrize(("style", "context"), [("regular", (6, 2)), ("chunked_limited", (8, 3))])
def test_limited_context_of_an_offline_model(style: str, context: tuple[int, int]) -> None:
    def load() -> parakeet.Parakeet:
        checkpoint = weights.load_folder(ORACLE / "ctc")
        encoder = {**checkpoint.config["encoder"], "att_context_size": list(context), "att_context_style": style}
        config = ParakeetConfig.from_nemo({**checkpoint.config, "encoder": encoder})
        return parakeet.build(config, checkpoint.weights, len(checkpoint.vocabulary), dtype="float32")

    model, mel = engine().run(load), arrays("features/mel80.npz")
    features = mel["u3"][: int(mel["u3.len"].item())][None]
    encoded, lengths = engine().run(model.encode, features, np.array([features.shape[1]]))
    expected = arrays("extras/limited_context_ctc.npz")[f"{style}.{context[0]}_{context[1]}.u3"]
    np.testing.assert_allclose(encoded[0, : lengths[0]], expected.reshape(encoded[0].shape), atol=1e-5)
