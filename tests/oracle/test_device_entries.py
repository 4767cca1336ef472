"""The choice of tokens on the device (Metal), here on MLX's CPU backend, beside the one on the host."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import asr_core
from asr_core import Beam, DecodingError, Greedy, Whisper
from asr_core.decoding import entries
from asr_core.decoding.autoregressive import BeamSearch, GreedySearch
from asr_core.engine import engine
from asr_core.whisper.filters import Filters
from asr_core.whisper.tokenizer import SpecialTokens
from tests.conftest import whisper_clip
from tests.recalling import recalling

SPECIAL = SpecialTokens.of(51_864)
T0, SIZE = SPECIAL.first_timestamp, 51_864
FILTERS = (
    Filters(SPECIAL, timestamps=False),
    Filters(SPECIAL, suppressed=(0, 5, 7, 1000, SPECIAL.start), blank=(220, SPECIAL.end), timestamps=False),
    Filters(SPECIAL, suppressed=(1, 2, 50_000), blank=(220, SPECIAL.end)),
)
#: A beginning, text, a segment that was opened, is open, has been closed, and the next one.
SEQUENCES = [(), (314,), (T0,), (T0 + 3, 314), (T0, 314, T0 + 200), (T0, 314, T0 + 200, T0 + 200)]


def on_device(logits: np.ndarray, filters: Filters, count: int) -> tuple[np.ndarray, np.ndarray]:
    def choose() -> tuple[np.ndarray, np.ndarray]:
        import mlx.core as mx

        from asr_core.decoding import device_entries

        never = np.zeros(logits.shape[-1], bool)
        never[list(filters.suppressed)] = True
        spans = [filters.spans(sequence) for sequence in SEQUENCES]
        return device_entries.best_entries(mx.array(logits), count, mx.array(never), spans, filters.first_timestamp)

    return engine().run(choose)


def drawn(seed: int) -> np.ndarray:
    """Logits of every shape: flat or steep, with ties, gaps, and timestamps that matter or do not."""
    random = np.random.default_rng(seed)
    logits = random.normal(-8, [2, 4, 8][seed % 3], (len(SEQUENCES), SIZE)).astype(np.float32)
    logits[:, T0:] += random.choice([-5, 0, 8])
    if seed % 2:
        logits = np.round(logits)  # ties everywhere
    logits[random.random(logits.shape) < 0.1] = -np.inf
    logits[:, random.integers(0, SIZE, 3)] = 12.0
    return logits


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("count", [1, 6])
def test_it_finds_what_the_host_finds(seed: int, count: int) -> None:
    for filters in FILTERS:
        logits = drawn(seed)
        values, ids = on_device(logits, filters, count)
        filters.apply(logits, SEQUENCES)
        wanted, theirs = entries.best_entries(logits, count)
        possible = np.isfinite(wanted)
        assert np.array_equal(np.isfinite(values), possible)
        assert np.array_equal(ids[possible], theirs[possible])
        assert values[possible] == pytest.approx(wanted[possible], abs=2e-6, rel=1e-6)


def test_small_terms_beside_a_large_one_are_counted() -> None:
    logits = np.random.default_rng(0).normal(-8, 2, (len(SEQUENCES), SIZE)).astype(np.float32)
    logits[:, 314] = 12.0
    values, _ = on_device(logits, FILTERS[0], 1)
    total = np.log(np.exp(logits.astype(np.float64)).sum(-1))
    assert values[:, 0] == pytest.approx(12.0 - total, abs=2e-6)


def test_few_possible_tokens_and_none() -> None:
    logits = np.full((len(SEQUENCES), SIZE), -np.inf, np.float32)
    logits[:, 314], logits[:3, 400] = 1.0, 1.0
    values, ids = on_device(logits, FILTERS[0], 4)
    assert ids[0, :2].tolist() == [314, 400] and np.exp(values[0, :2]) == pytest.approx([0.5, 0.5])
    assert (values[:3, 2:] == -np.inf).all() and (values[3:, 1:] == -np.inf).all() and values[3, 0] == 0
    logits[1, 7] = np.nan
    logits[2] = -np.inf
    values, ids = on_device(logits, FILTERS[0], 4)
    assert np.isfinite(values[[0, 3, 4, 5], 0]).all() and not np.isfinite(values[1:3, 0]).any()
    for search in (GreedySearch(SPECIAL.end), BeamSearch(SPECIAL.end, 3)):
        for row in (1, 2):
            rows = slice(row, row + 3)
            state = search.start(3) if isinstance(search, GreedySearch) else search.start(1)
            with pytest.raises(DecodingError, match="nothing to choose"):
                search.update_from(state, values[rows], ids[rows])
    # What is suppressed may be NaN.
    values, _ = on_device(logits, Filters(SPECIAL, suppressed=(7,), timestamps=False), 4)
    assert np.isfinite(values[1, 0])


@pytest.mark.parametrize(
    "decoding", [Greedy(), Beam(size=3, whisper=Whisper(timestamps=False))], ids=["greedy", "beam"]
)
def test_a_real_clip_reads_the_same(whisper, encoded_clip, decoding: Greedy | Beam) -> None:
    model = whisper._model
    assert not model.chooses  # on a CPU the host is faster
    there = recalling(replace(whisper, _model=replace(model, chooses=True)))
    [ours], [theirs] = (one.decode(*encoded_clip, decoding) for one in (there, whisper))
    assert [one.token_ids for one in ours] == [one.token_ids for one in theirs]
    assert [one.score for one in ours] == pytest.approx([one.score for one in theirs], abs=1e-4)


@pytest.fixture(scope="module")
def encoded_clip(whisper: asr_core.Recognizer) -> tuple[np.ndarray, np.ndarray]:
    return whisper.encode(*whisper.features([whisper_clip("librivox_austen_0880")]))
