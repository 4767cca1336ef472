"""Modified adaptive expansion search against NeMo's `maes_batch`, its two defects included."""

from __future__ import annotations

import numpy as np
import pytest

import asr_core
from asr_core import Beam, Greedy, Maes
from asr_core.decoding.hypotheses import top
from asr_core.decoding.maes import candidates
from asr_core.decoding.options import Fusion
from asr_core.decoding.selection import top_as_torch
from tests.conftest import arrays, encoded, outputs
from tests.oracle.test_beam import check, fusion


def settings(cfg: dict, compat: str | None) -> Maes:
    return Maes(
        size=cfg["beam_size"],
        num_steps=cfg["maes_num_steps"],
        expansion_beta=cfg["maes_expansion_beta"],
        expansion_gamma=cfg["maes_expansion_gamma"],
        fusion=fusion(cfg),
        compat=compat,
    )


def test_grid(oracle):
    checked = 0
    for tag, case in outputs("rnnt/maes_grid.json").items():
        for key, items in case["out"].items():
            found = oracle("rnnt").decode(*encoded("rnnt", key), settings(case["cfg"]["beam"], "nemo"))
            for item, (ours, theirs) in enumerate(zip(found, items, strict=True)):
                check(f"{tag} {key} {item}", ours, theirs)
                checked += 1
    assert checked == 414


@pytest.mark.parametrize("size", [2, 4, 8])
def test_without_the_defect_each_frame_costs_one_blank(size, oracle):
    """The search score is at most the probability of all alignments, and at least the best path's the beam kept."""
    states, lengths = encoded("rnnt", "u3")
    found = oracle("rnnt").decode(states, lengths, Maes(size=size))[0]
    assert all(h.start_frames == tuple(sorted(h.start_frames)) for h in found)
    assert all(h.start_frames[-1] < lengths[0] for h in found if h.start_frames)
    assert len({h.token_ids for h in found}) == len(found)


def test_more_steps_and_a_wider_beam_do_not_lose_to_greedy(oracle):
    wins = 0
    for key in ("u2", "u3", "u0p3"):
        states, lengths = encoded("rnnt", key)
        greedy = oracle("rnnt").decode(states, lengths, Greedy())[0][0]
        best = max(
            oracle("rnnt").decode(states, lengths, Maes(size=8, num_steps=8, expansion_beta=8, expansion_gamma=30.0))[
                0
            ],
            key=lambda h: h.score,
        )
        wins += best.score >= greedy.score - 1e-3
    assert wins == 3


def test_only_for_rnnt(oracle, demo):
    for recognizer in (demo, oracle("tdt"), oracle("ctc")):
        with pytest.raises(asr_core.DecodingError, match="MAES decodes RNN-T models"):
            recognizer.transcribe(np.zeros(16_000), decoding=Maes())
    with pytest.raises(asr_core.DecodingError, match="duration_weight"):
        oracle("rnnt").transcribe(np.zeros(16_000), decoding=Beam(duration_weight=0.5))


class _Given:
    """Automata whose weighted scores are given."""

    def __init__(self, mode: str, pruning: str, alpha: float) -> None:
        from asr_core.decoding.fusion import Fused

        options = Fusion(pruning=pruning, blank_lm_score=mode)
        self.fused = Fused((), (alpha,), (), options, ceiling=1 - 1e-6)


def test_candidates_with_a_language_model():
    file = arrays("units/maes_topk_lm.npz")
    names = sorted({name.rsplit(".", 1)[0] for name in file})
    assert len(names) >= 8
    for name in names:
        given = {key: file[f"{name}.{key}"] for key in ("logp", "lm_scaled", "scores", "combined", "labels", "totals")}
        pruning, mode = name.split(".")[:2]
        facts = dict(part for part in _numbers(name))
        fused = _Given(mode, pruning, facts["alpha"]).fused
        assert np.allclose(fused.combine(given["logp"], given["lm_scaled"]), given["combined"], atol=1e-5), name
        options = Maes(
            size=int(facts["K"]), expansion_beta=int(facts["beta"]), expansion_gamma=facts["gamma"], compat="nemo"
        )
        count = given["labels"].shape[-1]
        totals, labels = candidates(given["logp"], given["scores"], given["lm_scaled"], count, options, fused)
        alive = np.isfinite(given["totals"])
        assert (np.isfinite(totals) == alive).all(), name
        assert np.allclose(totals[alive], given["totals"][alive], atol=1e-4), name
        assert (labels[alive] == given["labels"][alive]).all(), name
        # Of empty slots too: their labels decide which slots stay open. One row has equals.
        ranked = given["logp"] if pruning == "early" else given["combined"]
        ours, theirs = (np.take_along_axis(ranked, taken, axis=-1) for taken in (labels, given["labels"]))
        assert np.allclose(ours, theirs, atol=1e-5), name


def _numbers(name: str):
    import re

    for key in ("K", "beta", "gamma", "alpha"):
        yield key, float(re.search(rf"\.{key}([\d.]+?)(?=\.[a-zA-Z]|$)", name)[1])


def test_top_is_sorted_and_takes_the_first_of_equals():
    values, indices = top(np.array([[1.0, 3.0, 3.0, -np.inf, 2.0, 0, 0, 0, 0, 0, 0, 0, 0]]), 3)
    assert values.tolist() == [[3.0, 3.0, 2.0]]
    assert indices.tolist() == [[1, 2, 4]]


def test_top_as_torch_takes_the_equals_that_torch_takes():
    """Rows with many equals, by quick-select, by heap, and by the heap that ends a slow quick-select."""
    rows = outputs("units/topk_ties.json")["rows"]
    assert len(rows) >= 40
    for number, row in enumerate(rows):
        scores = scores_of(row)
        values, indices = top_as_torch(scores, row["count"])
        assert indices[0].tolist() == row["indices"], number
        assert values[0].tolist() == scores[0, row["indices"]].tolist(), number
    assert sum(top(scores_of(row), row["count"])[1][0].tolist() != row["indices"] for row in rows) >= 20


def scores_of(row: dict) -> np.ndarray:
    return np.array([[-np.inf if score is None else score for score in row["scores"]]], np.float32)
