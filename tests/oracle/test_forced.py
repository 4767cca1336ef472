"""Forced alignment: CTC against the NeMo Forced Aligner, transducers against trying every path."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from asr_core import DecodingError, Greedy
from asr_core.decoding import forced
from tests.conftest import encoded, outputs


@pytest.mark.parametrize("model", ["ctc", "hybrid"])
def test_ctc_paths(model, oracle):
    checked = 0
    for key, expected in outputs(f"{model}/ctc_forced_align.json").items():
        if key == "batch" or not expected.get("feasible", True):
            continue
        states, lengths = encoded(model, key)
        log_probs = oracle(model).ctc_log_probs(states)[0][: lengths[0]]
        path, score = forced.ctc(log_probs, np.array(expected["token_ids"]))
        theirs = np.array(expected["y_with_blanks"])[expected["states"]]
        assert path.tolist() == theirs.tolist(), key
        assert score == pytest.approx(expected["path_logprob"], abs=1e-3)
        checked += 1
    assert checked >= 3


def best_by_enumeration(gains, advances, frames, count):
    """The best path by trying every sequence of moves."""
    best = -np.inf
    stack = [(0, 0, 0.0)]
    while stack:
        t, u, score = stack.pop()
        if t >= frames:
            best = max(best, score) if u == count else best
            continue
        for move, (is_label, advance) in enumerate(advances):
            if u + is_label <= count:
                stack.append((t + advance, u + is_label, score + gains[move, t, u]))
    return best


@pytest.mark.parametrize("model", ["tdt", "rnnt", "hybrid"])
def test_transducer_path_is_the_best_of_all(model, oracle):
    head = oracle(model)._model.transducer
    states, _ = encoded(model, "u0p3")
    projected = head.joint.project_encoder(states[0][:3])
    for labels in itertools.product([5, 51], repeat=2):
        labels = np.array(labels)
        path = forced.transducer(projected, labels, head)
        gains, advances = forced._lattice(projected, labels, head)
        assert path.score == pytest.approx(best_by_enumeration(gains, advances, 3, 2), abs=1e-4)
        assert path.labels[path.labels != head.blank].tolist() == labels.tolist()
        assert (np.diff(path.frames) >= 0).all()


@pytest.mark.parametrize("model", ["tdt", "rnnt", "hybrid"])
def test_transducer_path_of_its_own_text_is_no_worse_than_greedy(model, oracle):
    head = oracle(model)._model.transducer
    for key in ("u2", "u3"):
        states, lengths = encoded(model, key)
        greedy = oracle(model).decode(states, lengths, Greedy(max_symbols=50))[0][0]
        path = forced.transducer(head.joint.project_encoder(states[0][: lengths[0]]), np.array(greedy.token_ids), head)
        assert path.score >= greedy.score - 1e-3


def test_no_text_is_all_blank(oracle):
    states, lengths = encoded("hybrid", "u0p3")
    log_probs = oracle("hybrid").ctc_log_probs(states)[0][: lengths[0]]
    path, score = forced.ctc(log_probs, np.zeros(0, np.int64))
    assert (path == 96).all()
    assert score == pytest.approx(float(log_probs[:, -1].sum()), abs=1e-4)
    head = oracle("hybrid")._model.transducer
    assert (forced.transducer(head.joint.project_encoder(states[0]), np.zeros(0, np.int64), head).labels == 96).all()


def test_text_that_does_not_fit(oracle):
    states, lengths = encoded("hybrid", "u0p3")
    log_probs = oracle("hybrid").ctc_log_probs(states)[0][: lengths[0]]
    with pytest.raises(DecodingError, match="more than the 4 frames"):
        forced.ctc(log_probs, np.full(5, 3))
