"""The batched hypotheses against traces of NeMo's `BatchedBeamHyps`, operation by operation."""

import numpy as np
import pytest

from asr_core.decoding.hypotheses import Hypotheses
from tests.conftest import arrays, outputs

STATE = {
    "scores": "scores",
    "last_label": "last_labels",
    "transcript_hash": "hashes",
    "transcript_prefix_hash": "prefix_hashes",
    "current_lengths_nb": "lengths",
    "last_timestamp_lasts": "on_frame",
    "next_timestamp": "frames",
}


def apply(hypotheses: Hypotheses, name: str, given: dict[str, np.ndarray]):
    if name == "recombine_prefixes":
        return hypotheses.recombine_prefixes(given["logp"], given["active"])
    if name == "remove_duplicates":
        return hypotheses.drop_duplicates(given["labels"], given["totals"])
    if name == "add_results_":
        durations = given.get("next_label_durations")
        return hypotheses.add(given["next_indices"], given["next_labels"], given["next_scores"], durations)
    if name == "recombine_hyps_":
        return hypotheses.recombine()
    return None


def check_state(hypotheses: Hypotheses, expected: dict[str, np.ndarray]) -> None:
    alive = np.isfinite(expected["scores"])
    assert (np.isfinite(hypotheses.scores) == alive).all()
    for theirs, ours in STATE.items():
        if theirs not in expected:
            continue
        a, b = getattr(hypotheses, ours)[alive], expected[theirs][alive]
        if theirs == "scores":
            assert np.abs(a - b).max(initial=0) < 1e-5
        elif theirs == "next_timestamp" and hypotheses.kind == "ctc":
            continue  # NeMo counts no frames for CTC here
        else:
            assert (a == b).all(), theirs


@pytest.mark.parametrize("case", list("012345"))
def test_traces(case):
    facts, file = outputs("units/beam_hyps.json")[case], arrays("units/beam_hyps.npz")
    hypotheses = Hypotheses(facts["batch"], facts["beam"], facts["blank"], facts["model_type"])
    for number, name in enumerate(facts["ops"]):
        prefix = f"{case}.{number}."
        mine = {key.removeprefix(prefix): value for key, value in file.items() if key.startswith(prefix)}
        given = {key.removeprefix("in."): value for key, value in mine.items() if key.startswith("in.")}
        if name.startswith("flatten"):
            break
        returned = apply(hypotheses, name, given)
        if "ret" in mine:
            assert np.allclose(returned, mine["ret"])
        check_state(hypotheses, mine)
    for how, penalty in (("nbest_norm", 1.0), ("nbest_raw", 0.0)):
        for ours, theirs in zip(hypotheses.best(facts["beam"], penalty), facts[how], strict=True):
            assert len(ours) == len(theirs)
            for path, expected in zip(ours, theirs, strict=True):
                assert path.score == pytest.approx(expected["score"], abs=1e-5)
                if facts["model_type"] != "ctc":
                    kept = path.labels != facts["blank"]
                    assert path.labels[kept].tolist() == expected["y"]
                    assert path.frames[kept].tolist() == expected["t"]
