"""Token decoders on small table models, against openai-whisper's own search and against trying every sequence."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest

from asr_core import DecodingError
from asr_core.decoding.autoregressive import BeamSearch, Candidate, GreedySearch, rank
from tests.conftest import DATA

CASES = json.loads((DATA / "whisper" / "fake_model_cases.json").read_text(encoding="utf-8"))
RULES = {"None": None, "0.0": 0.0, "0.6": 0.6, "1.0": 1.0}


def decoded(search, table: Callable[[tuple[int, ...]], list[float]], steps: int, audios: int = 1):
    """All candidates of a model whose logits depend on the tokens so far only."""
    state = search.start(audios)
    rows = getattr(search, "size", getattr(search, "group", 1)) * audios
    prefixes = [()] * rows
    for _ in range(steps):
        state, step, done = search.update(state, np.array([table(prefix) for prefix in prefixes]))
        assert len(step.tokens) == rows and step.tokens.dtype == np.int32
        prefixes = [(*prefixes[source], int(token)) for token, source in zip(step.tokens, step.sources, strict=True)]
        if done:
            break
    return search.finalize(state)


def table_of(case: dict) -> Callable[[tuple[int, ...]], list[float]]:
    # A row that is over, or that holds nothing, is asked for what no table has.
    nothing = [0.0] * case["vocab"]
    return lambda prefix: case["logits"].get(",".join(map(str, prefix)), nothing)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_greedy(case: dict) -> None:
    [[found]] = decoded(GreedySearch(case["eot"]), table_of(case), case["depth"] + 1)
    assert list(found.tokens) == case["greedy"]["tokens"]
    assert found.sum_log_prob == pytest.approx(case["greedy"]["sum_logprob"], abs=1e-4)
    [[one]] = decoded(BeamSearch(case["eot"], 1), table_of(case), case["depth"] + 1)
    assert one.tokens == found.tokens


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_beam(case: dict) -> None:
    for wanted in case["beam"]:
        search = BeamSearch(case["eot"], wanted["beam_size"], wanted["patience"])
        for audios in (1, 2):
            for found in decoded(search, table_of(case), wanted["max_steps"], audios):
                assert [list(c.tokens) for c in found] == [c["tokens"] for c in wanted["candidates"]]
                for ours, theirs in zip(found, wanted["candidates"], strict=True):
                    assert ours.sum_log_prob == pytest.approx(theirs["sum_logprob"], abs=1e-4)
                for name, penalty in RULES.items():
                    assert list(found[rank(found, penalty)].tokens) == wanted[f"best_lp_{name}"]


def probabilities(*values: float) -> list[float]:
    return list(np.log(np.maximum(values, 1e-300)))


def test_the_whole_score_counts() -> None:
    """A search that ranks by the last token alone takes [1, 2] here."""

    def table(prefix: tuple[int, ...]) -> list[float]:
        if not prefix:
            return probabilities(0, 0.70, 0.28, 0.02, 0)
        if prefix[0] == 1:
            return probabilities(0, 0.3, 0.3, 0, 0.4) if len(prefix) == 1 else probabilities(0, 0.3, 0.2, 0, 0.5)
        return probabilities(0, 0.96, 0.02, 0, 0.02) if len(prefix) < 4 else probabilities(0, 0, 0.04, 0, 0.96)

    [found] = decoded(BeamSearch(4, 2), table, 8)
    best = found[rank(found, 0.0)]
    assert best.tokens == (1,) and best.sum_log_prob == pytest.approx(-1.273, abs=1e-3)


def test_length_rules() -> None:
    candidates = [Candidate((), -0.968), Candidate((1,) * 5, -1.1280)]
    assert [rank(candidates, rule) for rule in RULES.values()] == [1, 0, 1, 1]


def test_what_is_suppressed_never_comes() -> None:
    [found] = decoded(BeamSearch(4, 3), lambda prefix: [0, -np.inf, -np.inf, -np.inf, -1.0], 3)
    assert {token for candidate in found for token in candidate.tokens} <= {0}
    # Fewer possible tokens than beams: the rows stay as many as they were (asserted in `decoded`).
    decoded(BeamSearch(1, 3), lambda prefix: [0, 1.0, -1.0], 3, audios=2)


@pytest.mark.parametrize("search", [GreedySearch(1), BeamSearch(1, 2), GreedySearch(1, temperature=1.0)])
def test_nothing_to_choose_is_an_error(search) -> None:
    for row in ([-np.inf] * 3, [np.nan, 0, 0]):
        with pytest.raises(DecodingError, match="nothing to choose"):
            decoded(search, lambda prefix, row=row: row, 1)


def test_the_lowest_id_wins_a_tie() -> None:
    table = lambda prefix: probabilities(0, 0.4, 0.4, 0, 0.2) if not prefix else probabilities(0, 0, 0, 0, 1)  # noqa: E731
    assert decoded(GreedySearch(4), table, 3)[0][0].tokens == (1,)
    assert decoded(BeamSearch(4, 1), table, 3)[0][0].tokens == (1,)


def test_a_draw_follows_the_distribution_and_its_own_seed() -> None:
    search = GreedySearch(2, temperature=1.0, group=2000)
    state, _, _ = search.update(search.start(1, seed=3), np.tile(probabilities(0.7, 0.2, 0.1), (2000, 1)))
    first = [sequence[0] if sequence else 2 for sequence in state.sequences]
    assert np.bincount(first, minlength=3) / 2000 == pytest.approx([0.7, 0.2, 0.1], abs=0.04)
    again, _, _ = search.update(search.start(1, seed=3), np.tile(probabilities(0.7, 0.2, 0.1), (2000, 1)))
    assert again.sequences == state.sequences
    for wrong in (-1.0, float("nan")):
        with pytest.raises(DecodingError, match="temperature"):
            GreedySearch(2, temperature=wrong)


def test_before_the_first_update_there_is_an_empty_candidate() -> None:
    for search in (GreedySearch(3), BeamSearch(3, 4)):
        assert search.finalize(search.start(2)) == [[Candidate((), 0.0)]] * 2


def test_patience_rounds_as_openai_whisper_does() -> None:
    assert [BeamSearch(0, 5, p).wanted for p in (1.0, 0.0, 0.5, 2.0)] == [5, 5, 2, 10]
    assert BeamSearch(0, 1, 0.4).wanted == 1
