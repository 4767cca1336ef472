"""Language models and boosted phrases as automata, against NeMo's NGPU-LM and boosting tree."""

import numpy as np
import pytest

from asr_core.decoding.boosting import phrase_automaton
from asr_core.decoding.ngram_lm import NgramLM
from tests.conftest import ORACLE, arrays, outputs

BOOST = {"default": (1.0, 2.0), "depth1": (1.0, 1.0), "cs2": (2.0, 2.0)}


def walk(automaton, labels, state):
    total = []
    for label in labels:
        weights, targets = automaton.advance(np.array([state]))
        total.append(weights[0, label])
        state = targets[0, label]
    return np.array(total), state


@pytest.mark.parametrize("normalize", [0, 1])
@pytest.mark.parametrize("order", [2, 3, 4])
def test_ngram_model(order, normalize):
    model = NgramLM.from_arpa(ORACLE / "lm" / f"lm{order}.arpa")
    automaton = model.automaton(96, normalize_unknown=bool(normalize))
    file, name = arrays("units/ngpu_lm.npz"), f"lm{order}.norm{normalize}"
    # Their arrays have room for more arcs than there are.
    states = np.repeat(np.arange(len(automaton.finals)), np.diff(automaton.first))
    assert np.array_equal(states, file[f"{name}.from_states"][: len(states)])
    assert np.array_equal(automaton.labels, file[f"{name}.ilabels"][: len(states)])
    assert np.array_equal(automaton.targets, file[f"{name}.to_states"][: len(states)])
    assert np.array_equal(automaton.backoff_targets, file[f"{name}.backoff_to_states"])
    assert np.allclose(automaton.weights, file[f"{name}.arcs_weights"][: len(states)], atol=1e-5)
    assert np.allclose(automaton.backoff_weights, file[f"{name}.backoff_weights"], atol=1e-5)
    assert np.allclose(automaton.finals, file[f"{name}.final_weights"], atol=1e-5)
    contexts = outputs("units/ngpu_lm.json")[f"{name}.contexts"]
    for bos, start in ((0, 0), (1, automaton.initial)):
        states = [walk(automaton, context, start)[1] for context in contexts]
        assert states == file[f"{name}.bos{bos}.states"].tolist()
        weights, targets = automaton.advance(np.array(states))
        assert np.allclose(weights, file[f"{name}.bos{bos}.scores"], atol=1e-4)
        assert np.array_equal(targets, file[f"{name}.bos{bos}.next_states"])
        assert np.allclose(automaton.finals[states], file[f"{name}.bos{bos}.final"], atol=1e-4)
    lengths = file[f"{name}.sent.lengths"]
    for labels, length, scores, with_end in zip(
        file[f"{name}.sent.labels"], lengths, file[f"{name}.sent.scores"], file[f"{name}.sent.scores_eos"], strict=True
    ):
        found, state = walk(automaton, labels[:length], automaton.initial)
        assert np.allclose(found, scores[:length], atol=1e-4)
        assert automaton.finals[state] == pytest.approx(with_end[length], abs=1e-4)


def test_a_model_of_order_one():
    automaton = NgramLM.from_arpa(ORACLE / "lm" / "lm1.arpa").automaton(96)
    weights, targets = automaton.advance(np.array([automaton.initial]))
    assert np.isfinite(weights).all()
    assert np.exp(weights).sum() + np.exp(automaton.finals[0]) == pytest.approx(1, abs=0.01)
    assert (targets == 0).all()


@pytest.mark.parametrize("name", BOOST)
def test_boosted_phrases(name):
    facts, file = outputs("extras/boosting_tree.json"), arrays("extras/boosting_tree.npz")
    sequences = {tuple(labels): 1.0 for labels in facts["ids"].values()}
    automaton = phrase_automaton(sequences, 96, *BOOST[name])
    for number in range(6):
        context = facts[f"ctx{number}"]
        _, state = walk(automaton, context, automaton.initial)
        weights, _ = automaton.advance(np.array([state]))
        assert np.allclose(weights[0], file[f"{name}.bos1.ctx{number}.scores"], atol=1e-5), number
    assert sorted(automaton.backoff_weights) == pytest.approx(sorted(file[f"{name}.backoff_weights"]), abs=1e-5)
