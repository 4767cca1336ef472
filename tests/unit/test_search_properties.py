"""Beams wide enough to hold everything, against trying every path of small random heads."""

from __future__ import annotations

from collections import defaultdict
from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from asr_core.decoding import beam
from asr_core.decoding.options import Beam
from asr_core.models.host import log_softmax
from asr_core.models.transducer import Transducer
from tests.rigs import lattice_sum, random_head

WIDE = 400
Labels = tuple[int, ...]


def scores_of(states: np.ndarray, head: Transducer) -> dict[tuple[Labels, int], tuple[np.ndarray, np.ndarray]]:
    """Log-probs of labels and durations behind every label sequence, by sequence and frame."""
    frames, found = len(states), {}
    projected = head.joint.project_encoder(states)
    for length in range(frames + 1):
        for labels in product(range(head.blank), repeat=length):
            output, state = head.prediction.start(1)
            for label in labels:
                output, state = head.prediction.step(np.array([label]), state)
            for frame in range(frames):
                logits = head.joint.logits(projected[frame : frame + 1], head.joint.project_prediction(output))[0]
                entries = log_softmax(logits[: head.blank + 1])
                durations = log_softmax(logits[head.blank + 1 :]) if head.durations else np.zeros(0)
                found[labels, frame] = entries, durations
    return found


def every_path(states: np.ndarray, head: Transducer) -> dict[Labels, list[float]]:
    """The log-prob of every path to the end with at most one label a frame, by the labels it says."""
    scores, found = scores_of(states, head), defaultdict(list)

    def go(frame: int, spent: bool, labels: Labels, score: float) -> None:
        if frame >= len(states):
            found[labels].append(score)
            return
        entries, durations = scores[labels, frame]
        if not head.durations:
            go(frame + 1, False, labels, score + entries[head.blank])
            if not spent:
                for label in range(head.blank):
                    go(frame, True, (*labels, label), score + entries[label])
            return
        # Where only a blank is left, NeMo takes its best duration.
        chosen = [int(durations.argmax())] if spent else range(len(head.durations))
        for index in chosen:
            advance, gain = head.durations[index], durations[index]
            go(frame + max(1, advance), False, labels, score + entries[head.blank] + gain)
            if not spent:
                for label in range(head.blank):
                    go(frame + advance, advance == 0, (*labels, label), score + entries[label] + gain)

    go(0, False, (), 0.0)
    return found


sizes = {"seed": st.integers(0, 10_000), "labels": st.integers(1, 3), "frames": st.integers(1, 4)}
OPTIONS = Beam(size=WIDE, max_symbols=1, length_penalty=0.0, prune=1e6)


def states_of(seed: int, frames: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((frames, 3)).astype(np.float32)


@given(**sizes)
@settings(max_examples=40, deadline=None)
def test_rnnt_finds_the_most_probable_label_sequence(seed: int, labels: int, frames: int) -> None:
    head, states = random_head(seed, labels), states_of(seed, frames)
    sums = {said: np.logaddexp.reduce(paths) for said, paths in every_path(states, head).items()}
    found = beam.transducer(states[None], np.array([frames]), head, OPTIONS, None)[0]
    assert abs(found[0].score - max(sums.values())) < 1e-4
    assert sums[found[0].token_ids] > max(sums.values()) - 1e-4
    for hypothesis in found:
        assert abs(hypothesis.score - sums[hypothesis.token_ids]) < 1e-4


@given(**sizes, durations=st.sampled_from([(0, 1), (0, 1, 2), (1, 2), (0, 1, 2, 3, 4)]))
@settings(max_examples=40, deadline=None)
def test_tdt_lies_between_the_best_path_and_all_paths(
    seed: int, labels: int, frames: int, durations: tuple[int, ...]
) -> None:
    head, states = random_head(seed, min(labels, 2), durations), states_of(seed, min(frames, 3))
    paths = every_path(states, head)
    found = beam.transducer(states[None], np.array([len(states)]), head, OPTIONS, None)[0]
    for hypothesis in found:
        assert hypothesis.score <= lattice_sum(states, hypothesis.token_ids, head) + 1e-4
    # Label sequences that end on different frames are hypotheses of their own.
    for said in {hypothesis.token_ids for hypothesis in found} & paths.keys():
        assert max(h.score for h in found if h.token_ids == said) >= max(paths[said]) - 1e-4
    assert found[0].score >= max(max(scores) for scores in paths.values()) - 1e-4


@given(**sizes)
@settings(max_examples=60, deadline=None)
def test_ctc_finds_the_best_path(seed: int, labels: int, frames: int) -> None:
    random = np.random.default_rng(seed)
    log_probs = log_softmax((3 * random.standard_normal((frames, labels + 1))).astype(np.float32))
    best: dict[Labels, float] = {}
    for path in product(range(labels + 1), repeat=frames):
        said = tuple(a for i, a in enumerate(path) if a != labels and (i == 0 or path[i - 1] != a))
        score = float(log_probs[np.arange(frames), path].sum())
        best[said] = max(score, best.get(said, -np.inf))
    found = beam.ctc(log_probs[None], np.array([frames]), OPTIONS, None)[0]
    assert abs(found[0].score - max(best.values())) < 1e-4
    assert abs(best[found[0].token_ids] - max(best.values())) < 1e-4
    for hypothesis in found:
        assert hypothesis.score <= best[hypothesis.token_ids] + 1e-4
