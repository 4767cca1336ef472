"""Beam search, fusion and boosting against NeMo's dumps, fed NeMo's encoder output."""

from __future__ import annotations

from functools import cache

import pytest

from asr_core import Beam, Fusion, Greedy, NgramLM, PhraseBoost
from tests.conftest import ORACLE, encoded, outputs

TRANSDUCERS = ("tdt", "rnnt", "hybrid")


@cache
def language_model(path: str) -> NgramLM:
    return NgramLM.from_arpa(ORACLE / path)


def fusion(cfg: dict) -> Fusion | None:
    lm, tree = cfg.get("ngram_lm_model"), cfg.get("boosting_tree")
    if not lm and not tree:
        return None
    return Fusion(
        lm=language_model(lm) if lm else None,
        lm_weight=cfg.get("ngram_lm_alpha", 0.0),
        pruning=cfg.get("pruning_mode", "late"),
        blank_lm_score=cfg.get("blank_lm_score_mode", "lm_weighted_full"),
        phrases=PhraseBoost(tree["key_phrases_list"]) if tree else None,
        phrase_weight=cfg.get("boosting_tree_alpha", 0.0),
    )


def cases(model: str, file: str, strategy: str):
    for tag, case in outputs(f"{model}/{file}.json").items():
        if "error" not in case and case["cfg"]["strategy"] == strategy and not tag.endswith("_ts"):
            cfg = case["cfg"].get("beam") or case["cfg"]["greedy"]
            yield from ((f"{tag} {key}", cfg, key, items) for key, items in case["out"].items())


def check(label, ours, theirs, *, scores=True):
    assert len(ours) == len(theirs), label
    for found, expected in zip(ours, theirs, strict=True):
        assert list(found.token_ids) == expected["tokens"], label
        assert list(found.start_frames) == expected["timestamp"], label
        if scores:
            assert found.score == pytest.approx(expected["score"], abs=1e-3), label


@pytest.mark.parametrize("file", ["beam", "fusion"])
@pytest.mark.parametrize("model", TRANSDUCERS)
def test_malsd(model, file, oracle):
    checked = 0
    for label, cfg, key, items in cases(model, file, "malsd_batch"):
        decoding = Beam(
            size=cfg["beam_size"],
            max_symbols=cfg.get("max_symbols"),
            length_penalty=1.0 if cfg.get("score_norm", True) else 0.0,
            fusion=fusion(cfg),
        )
        for ours, theirs in zip(oracle(model).decode(*encoded(model, key), decoding), items, strict=True):
            check(f"{model} {label}", ours, theirs)
            checked += 1
    assert checked >= 40


@pytest.mark.parametrize("model", TRANSDUCERS)
def test_greedy_with_fusion(model, oracle):
    checked = 0
    for label, cfg, key, items in cases(model, "fusion", "greedy_batch"):
        decoding = Greedy(max_symbols=cfg.get("max_symbols"), fusion=fusion(cfg))
        for ours, theirs in zip(oracle(model).decode(*encoded(model, key), decoding), items, strict=True):
            check(f"{model} {label}", ours, [theirs], scores=False)
            checked += 1
    assert checked >= 20


@pytest.mark.parametrize("model", ["ctc", "hybrid"])
def test_ctc_beam(model, oracle):
    """Only the longest item of NeMo's batch: to the shorter ones it adds the frames behind their end."""
    checked = 0
    for label, cfg, key, items in cases(model, "ctc_decode", "beam_batch"):
        decoding = Beam(
            size=cfg["beam_size"],
            head="ctc",
            length_penalty=0.0,
            label_bonus=cfg.get("beam_beta", 0.0),
            prune=cfg.get("beam_threshold", 20.0),
            n_best=1 if cfg["return_best_hypothesis"] else None,
            fusion=fusion(cfg),
        )
        found = oracle(model).decode(*encoded(model, key), decoding)
        for ours, theirs in list(zip(found, items, strict=True))[:1]:
            theirs = [theirs] if isinstance(theirs, dict) else theirs
            assert len(ours) == len(theirs), label
            for hypothesis, expected in zip(ours, theirs, strict=True):
                assert list(hypothesis.token_ids) == expected["tokens"], label
                assert hypothesis.score == pytest.approx(expected["score"], abs=1e-3), label
            checked += 1
    assert checked >= 20


@pytest.mark.parametrize(
    ("model", "head"), [("tdt", None), ("rnnt", None), ("hybrid", None), ("hybrid", "ctc"), ("ctc", None)]
)
def test_beam_of_one_is_greedy(model, head, oracle):
    for key in ("u2", "u3", "u0p3", "batch"):
        greedy = oracle(model).decode(*encoded(model, key), Greedy(head=head, max_symbols=50))
        beam = oracle(model).decode(*encoded(model, key), Beam(size=1, head=head, max_symbols=50))
        for a, b in zip(greedy, beam, strict=True):
            assert a[0].token_ids == b[0].token_ids
            assert a[0].start_frames == b[0].start_frames
            assert a[0].confidences == pytest.approx(b[0].confidences, abs=1e-5)
            if head is None and model != "ctc":
                assert a[0].score == pytest.approx(b[0].score, abs=1e-3)


@pytest.mark.parametrize("model", TRANSDUCERS)
def test_weight_zero_changes_nothing(model, oracle):
    plain = oracle(model).decode(*encoded(model, "u3"), Beam())
    nothing = Fusion(lm=language_model("lm/lm3.arpa"), lm_weight=0.0, phrases=PhraseBoost(["seven"]), phrase_weight=0.0)
    assert oracle(model).decode(*encoded(model, "u3"), Beam(fusion=nothing)) == plain
    greedy = oracle(model).decode(*encoded(model, "u3"), Greedy())
    assert oracle(model).decode(*encoded(model, "u3"), Greedy(fusion=nothing)) == greedy


@pytest.mark.parametrize(("model", "head"), [("tdt", None), ("rnnt", None), ("hybrid", "ctc")])
def test_alone_equals_in_a_batch(model, head, oracle):
    states, lengths = encoded(model, "batch")
    decoding = Beam(size=4, head=head)
    for item, together in enumerate(oracle(model).decode(states, lengths, decoding)):
        (alone,) = oracle(model).decode(states[item : item + 1, : lengths[item]], lengths[item : item + 1], decoding)
        assert [h.token_ids for h in alone] == [h.token_ids for h in together]
        assert [h.score for h in alone] == pytest.approx([h.score for h in together], abs=1e-3)
