"""Greedy decoding: the best entry at each step (NeMo's `greedy_batch`)."""

from __future__ import annotations

import threading
from typing import NamedTuple

import numpy as np

from asr_core.alignment import Hypothesis
from asr_core.decoding.ctc_paths import fold
from asr_core.decoding.fusion import Fused, States
from asr_core.decoding.hypotheses import NOTHING
from asr_core.decoding.options import MAX_SYMBOLS, Greedy
from asr_core.decoding.steps import Steps, StepScores
from asr_core.models.transducer import PredictionState, Transducer
from asr_core.progress import go_on


def transducer(
    encoded: np.ndarray,
    lengths: np.ndarray,
    head: Transducer,
    options: Greedy,
    fused: Fused | None = None,
    cancel: threading.Event | None = None,
) -> list[Hypothesis]:
    """Label-looping greedy search of an RNN-T or TDT head (Xu et al. 2023; Bataev et al. 2024).

    The encoder is projected once, and the prediction network runs only after a label. A blank of duration 0 advances by
    one frame; so does the last of `max_symbols` labels on one frame.

    Args:
        encoded: (batch, frames, width) float32.
        lengths: (batch,) valid frames.
        fused: what has a say in which label it is, where the model wants a label.
        cancel: looked at before each step.
    Returns:
        One hypothesis an item, scored by the log-probs of its labels, blanks and durations.
    Raises:
        Cancelled: in the middle of it.
    """
    scores = StepScores(head, options.confidence)
    projected = head.joint.project_encoder(encoded)
    search(projected, lengths, head, options, fused, begin(len(encoded), head, fused), scores, cancel)
    return scores.hypotheses(len(encoded))


class Carry(NamedTuple):
    """Where a search stands: what the frames that follow need to go on from there.

    Args:
        frame: (batch,) frame that is next, counted from the first one that follows.
        on_frame: (batch,) labels emitted on it so far.
        predicted: (batch, joint width) projected output of the prediction network.
        state: of the prediction network.
        states: of the automata that are fused.
    """

    frame: np.ndarray
    on_frame: np.ndarray
    predicted: np.ndarray
    state: PredictionState
    states: States


def begin(batch: int, head: Transducer, fused: Fused | None = None) -> Carry:
    """The state before the first frame."""
    output, state = head.prediction.start(batch)
    nothing = np.zeros(batch, np.int64)
    states = fused.start((batch,)) if fused else ()
    return Carry(nothing, nothing, head.joint.project_prediction(output), state, states)


def search(
    projected: np.ndarray,
    lengths: np.ndarray,
    head: Transducer,
    options: Greedy,
    fused: Fused | None,
    carry: Carry,
    scores: StepScores,
    cancel: threading.Event | None = None,
) -> Carry:
    """Decode some frames from where a search stands.

    Args:
        projected: (batch, frames, joint width) of the encoder, and its valid `lengths` (batch,).
        carry: left as it is.
        scores: gets the steps, with frames counted from the first of `projected`.
    Returns:
        Where the search stands at the end of the frames. A TDT label may reach beyond it.
    """
    limit = options.max_symbols or head.max_symbols or MAX_SYMBOLS
    time, on_frame, predicted = carry.frame.copy(), carry.on_frame.copy(), carry.predicted.copy()
    state = PredictionState(carry.state.hidden.copy(), carry.state.cell.copy())
    states = carry.states
    active = np.flatnonzero(time < lengths)
    emitted = np.full(len(time), NOTHING)
    while active.size:
        go_on(cancel)
        # An item waits with its label until all have one, or are done: the prediction network runs for all at once.
        going = active[emitted[active] == NOTHING]
        if 2 * going.size <= active.size:
            _predict(emitted, predicted, state, head)
            going = active
        logits = head.joint.logits(projected[going, time[going]], predicted[going])
        labels, durations = head.best(logits)
        if fused and (wanted := np.flatnonzero(labels != head.blank)).size:
            labels[wanted], states = _choose(logits[wanted, : head.blank], going[wanted], fused, states)
        scores.add(Steps(going, time[going], labels, durations, logits))
        emitted[going] = np.where(labels != head.blank, labels, NOTHING)

        on_frame[going] = np.where(durations > 0, 0, on_frame[going] + 1)
        spent = on_frame[going] >= limit
        on_frame[going[spent]] = 0
        time[going] += durations + spent
        active = active[time[active] < lengths[active]]
    _predict(emitted, predicted, state, head)
    return Carry(time - lengths, on_frame, predicted, state, states)


def _predict(emitted: np.ndarray, predicted: np.ndarray, state: PredictionState, head: Transducer) -> None:
    """Run the prediction network for the items that have `emitted` a label; everything is changed in place."""
    items = np.flatnonzero(emitted != NOTHING)
    if items.size:
        output, after = head.prediction.step(emitted[items], state.rows(items))
        predicted[items] = head.joint.project_prediction(output)
        state.put(items, after)
        emitted[items] = NOTHING


def _choose(logits: np.ndarray, items: np.ndarray, fused: Fused, states: States) -> tuple[np.ndarray, States]:
    """The best label of each of some items with the automata's scores, and all states after it."""
    extra, targets = fused.advance(tuple(state[items] for state in states))
    labels = (logits + extra).argmax(-1)
    moved = []
    for state, target in zip(states, targets, strict=True):
        state = state.copy()
        state[items] = target[np.arange(len(items)), labels]
        moved.append(state)
    return labels, tuple(moved)


def ctc(
    log_probs: np.ndarray,
    lengths: np.ndarray,
    options: Greedy,
    fused: Fused | None = None,
    cancel: threading.Event | None = None,
) -> list[Hypothesis]:
    """Best path of a CTC head, repeats folded and blanks dropped.

    Args:
        log_probs: (batch, frames, V + 1) natural log.
        lengths: (batch,) valid frames.
        cancel: looked at before each item, and each frame where automata are fused.
    Returns:
        One hypothesis an item, scored by the log-prob of the frames that are not blank, as NeMo has it.
    Raises:
        Cancelled: in the middle of it.
    """
    found = []
    for item, length in zip(log_probs, lengths, strict=True):
        go_on(cancel)
        item = item[:length]
        path = item.argmax(-1) if fused is None else _fused_path(item, fused, cancel)
        kept = path != item.shape[-1] - 1
        score = float(item[kept, path[kept]].sum(dtype=np.float64))
        found.append(fold(path, item, options.confidence, score))
    return found


def _fused_path(log_probs: np.ndarray, fused: Fused, cancel: threading.Event | None) -> np.ndarray:
    """(frames,) labels where the automata choose among labels, and the model between label, repeat and blank."""
    blank, state, last = log_probs.shape[-1] - 1, fused.start((1, 1)), NOTHING
    path = log_probs.argmax(-1)
    for frame, label in enumerate(path):
        go_on(cancel)
        if label not in (blank, last):
            extra, targets = fused.advance(state)
            scores = log_probs[frame, :blank] + extra[0, 0]
            if 0 <= last < blank:
                scores[last] = -np.inf  # it is no repeat, says the model
            label = int(scores.argmax())
            state = tuple(target[..., label] for target in targets)
            path[frame] = label
        last = label
    return path
