"""Greedy search and token confidence against NeMo's dumps, fed NeMo's encoder output."""

from __future__ import annotations

from itertools import groupby

import numpy as np
import pytest

from asr_core import Confidence, Greedy
from tests.conftest import encoded, outputs

TRANSDUCERS = ("tdt", "rnnt", "hybrid")
#: "never" stands for more labels than any recording has frames; the project itself has no unlimited setting.
LIMITS = {"max10": 10, "max2": 2, "max1": 1, "maxNone": 100_000}


def decode(recognizer, model, key, decoding):
    states, lengths = encoded(model, key)
    return [found[0] for found in recognizer.decode(states, lengths, decoding)]


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("model", TRANSDUCERS)
def test_tokens_frames_and_durations(model, limit, oracle):
    cases = outputs(f"{model}/greedy.json")[f"greedy_batch_{limit}"]["out"]
    for key, expected in cases.items():
        found = decode(oracle(model), model, key, Greedy(max_symbols=LIMITS[limit]))
        for ours, theirs in zip(found, expected, strict=True):
            assert list(ours.token_ids) == theirs["tokens"], key
            assert list(ours.start_frames) == theirs["timestamp"], key
            if theirs["token_duration"]:
                assert [b - a for a, b in zip(ours.start_frames, ours.end_frames, strict=True)] == theirs[
                    "token_duration"
                ], key


@pytest.mark.parametrize("model", ["ctc", "hybrid"])
def test_ctc(model, oracle):
    cases = outputs(f"{model}/ctc_decode.json")["greedy_batch"]["out"]
    blank = oracle(model).vocabulary.blank
    for key, expected in cases.items():
        for ours, theirs in zip(decode(oracle(model), model, key, Greedy(head="ctc")), expected, strict=True):
            runs, at = [], 0
            for label, run in groupby(theirs["tokens"]):
                length = len(list(run))
                if label != blank:
                    runs.append((label, at, at + length))
                at += length
            assert list(zip(ours.token_ids, ours.start_frames, ours.end_frames, strict=True)) == runs, key
            assert ours.score == pytest.approx(theirs["score"], abs=1e-3)


def options(cfg: dict) -> Confidence:
    method = cfg["method_cfg"]
    return Confidence(
        method=method["name"] if method["name"] == "max_prob" else method["entropy_type"],
        norm=method.get("entropy_norm", "lin"),
        alpha=method["alpha"],
        aggregation=cfg["aggregation"],
        exclude_blank=cfg["exclude_blank"],
        include_duration=cfg.get("tdt_include_duration", False),
    )


def assert_close(ours, theirs):
    assert len(ours) == len(theirs)
    assert np.abs(np.array(ours) - np.array(theirs, float)).max(initial=0) < 1e-5


@pytest.mark.parametrize("model", TRANSDUCERS)
def test_transducer_confidence(model, oracle):
    checked = 0
    for tag, case in outputs(f"{model}/confidence.json").items():
        # NeMo's own failures, and its other strategy, whose frames without a label are other frames
        if "error" in case or case["cfg"]["strategy"] != "greedy_batch":
            continue
        for key, expected in case["out"].items():
            found = decode(oracle(model), model, key, Greedy(confidence=options(case["cfg"]["confidence_cfg"])))
            for ours, theirs in zip(found, expected, strict=True):
                assert_close(ours.confidences, theirs["token_confidence"])
                checked += 1
        assert checked, tag
    assert checked >= 28


@pytest.mark.parametrize("model", TRANSDUCERS)
def test_aggregation_with_and_without_blanks(model, oracle):
    checked = 0
    for tag, theirs in outputs("extras/confidence_greedy_batch.json").items():
        name, how, blanks, durations, _ = tag.split(".")
        if name != model or "error" in theirs:
            continue
        chosen = Confidence(aggregation=how, exclude_blank=blanks == "excl1", include_duration=durations == "dur1")
        (ours,) = decode(oracle(model), model, "u3", Greedy(confidence=chosen))
        assert_close(ours.confidences, theirs["token_confidence"])
        checked += 1
    assert checked >= 12


@pytest.mark.parametrize("model", ["ctc", "hybrid"])
def test_ctc_confidence(model, oracle):
    checked = 0
    for tag, case in outputs(f"{model}/ctc_decode.json").items():
        if not tag.startswith("conf_"):
            continue
        chosen = Greedy(head="ctc", confidence=options(case["cfg"]["confidence_cfg"]))
        for key, expected in case["out"].items():
            for ours, theirs in zip(decode(oracle(model), model, key, chosen), expected, strict=True):
                assert_close(ours.confidences, theirs["token_confidence"])
                checked += 1
    assert checked > 20
