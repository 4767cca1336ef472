"""Forced alignment: where a given label sequence was said, as the most probable path through a head's lattice."""

from __future__ import annotations

import numpy as np

from asr_core.decoding.hypotheses import Path
from asr_core.errors import DecodingError
from asr_core.models.host import log_softmax
from asr_core.models.transducer import Transducer

#: Frames of a lattice column that are scored together.
BLOCK = 2048
#: Bytes that the lattice of one piece may take.
LARGEST = 400_000_000


def ctc_frames_needed(labels: np.ndarray) -> int:
    """Frames that a CTC path of these labels has at least: equal neighbours need a blank between them."""
    return len(labels) + int((labels[1:] == labels[:-1]).sum())


def ctc(log_probs: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, float]:
    """The best CTC path of a label sequence (Viterbi; the NeMo Forced Aligner's).

    Args:
        log_probs: (frames, V + 1) natural log, blank last.
        labels: (n,) ids without blank.
    Returns:
        (frames,) label of each frame, and the path's log-prob.
    Raises:
        DecodingError: more labels than the frames can hold.
    """
    frames, blank = len(log_probs), log_probs.shape[1] - 1
    if ctc_frames_needed(labels) > frames:
        raise too_long(len(labels), frames)
    if frames == 0:
        return np.zeros(0, np.int64), 0.0
    if frames * (2 * len(labels) + 1) > LARGEST:
        raise too_large(len(labels), frames)
    states = np.full(2 * len(labels) + 1, blank)
    states[1::2] = labels
    can_skip = np.zeros(len(states), bool)
    can_skip[3::2] = labels[1:] != labels[:-1]
    best = np.full(len(states), -np.inf)
    best[:2] = log_probs[0, states[:2]]
    moves = np.zeros((frames, len(states)), np.int8)
    for frame in range(1, frames):
        options = np.full((3, len(states)), -np.inf)
        options[0] = best
        options[1, 1:] = best[:-1]
        options[2, 2:] = np.where(can_skip[2:], best[:-2], -np.inf)
        moves[frame] = options.argmax(0)
        best = options.max(0) + log_probs[frame, states]
    last = len(states) - 1
    at = last if last == 0 or best[last] >= best[last - 1] else last - 1
    score, path = float(best[at]), np.empty(frames, np.int64)
    for frame in range(frames - 1, -1, -1):
        path[frame] = states[at]
        at -= int(moves[frame, at])
    return path, score


def transducer(projected: np.ndarray, labels: np.ndarray, head: Transducer) -> Path:
    """The best path of a label sequence through an RNN-T or TDT lattice.

    Args:
        projected: (frames, joint width) of the encoder.
        labels: (n,) ids without blank.
    Returns:
        The path, scored by the log-probs of its labels, blanks and durations.
    Raises:
        DecodingError: more labels than the frames can hold at the model's limit a frame.
    """
    frames, count = len(projected), len(labels)
    if count and frames == 0:
        raise too_long(count, frames)
    if 8 * frames * (count + 1) * (1 + len(head.durations)) > LARGEST:
        raise too_large(count, frames)
    gains, advances = _lattice(projected, labels, head)
    # A path may run past the end by the duration of its last label.
    reach = frames + max(advance for _, advance in advances)
    best = np.full((reach, count + 1), -np.inf)
    best[0, 0] = 0
    came = np.full((reach, count + 1), -1, np.int8)
    # Every move leads to a later anti-diagonal t + u, so one of them is settled before the next.
    for diagonal in range(frames + count):
        u = np.arange(max(0, diagonal - frames + 1), min(count, diagonal) + 1)
        t = diagonal - u
        here = best[t, u]
        for move, (is_label, advance) in enumerate(advances):
            inside = u + is_label <= count
            scores = here[inside] + gains[move, t[inside], u[inside]]
            target = t[inside] + advance, u[inside] + is_label
            better = scores > best[target]
            best[target] = np.where(better, scores, best[target])
            came[target] = np.where(better, move, came[target])
    end = frames + int(best[frames:, count].argmax()) if frames else 0
    if not np.isfinite(best[end, count]):
        raise too_long(count, frames)
    t, u, steps = end, count, []
    while (t, u) != (0, 0):
        is_label, advance = advances[came[t, u]]
        t, u = t - advance, u - is_label
        steps.append((labels[u] if is_label else head.blank, t, advance))
    columns = np.array(steps[::-1], np.int64).reshape(-1, 3).T
    return Path(float(best[end, count]), *columns, length=count)


def too_long(count: int, frames: int) -> DecodingError:
    """What is said when a text does not fit into the audio."""
    return DecodingError(
        f"The text has {count} tokens, more than the {frames} frames of this audio can hold; "
        "shorten the text, or check that it belongs to this recording."
    )


def too_large(count: int, frames: int) -> DecodingError:
    """What is said when a long stretch of audio has nothing in common with its text, so that it could not be cut."""
    return DecodingError(
        f"{count} tokens of the text could not be matched to {frames} frames of audio, which is too much to align "
        "in one piece; check that the text belongs to this recording, or align it in parts."
    )


def _lattice(projected: np.ndarray, labels: np.ndarray, head: Transducer) -> tuple[np.ndarray, list[tuple[int, int]]]:
    """Log-probs of every move, (moves, frames, n + 1), and what a move is: (1 for a label else 0, frames advanced)."""
    if head.durations:
        advances = [(0, max(1, d)) for d in head.durations] + [(1, d) for d in head.durations]
    else:
        advances = [(0, 1), (1, 0)]
    gains = np.full((len(advances), len(projected), len(labels) + 1), -np.inf, np.float32)
    output, state = head.prediction.start(1)
    for u in range(len(labels) + 1):
        predicted = head.joint.project_prediction(output)
        for first in range(0, len(projected), BLOCK):
            logits = head.joint.logits(projected[first : first + BLOCK], predicted)
            rows = slice(first, first + len(logits))
            entries = log_softmax(logits[:, : head.blank + 1])
            durations = log_softmax(logits[:, head.blank + 1 :]).T if head.durations else np.zeros((1, len(logits)))
            half = len(durations)
            gains[:half, rows, u] = entries[:, head.blank] + durations
            if u < len(labels):
                gains[half:, rows, u] = entries[:, labels[u]] + durations
        if u < len(labels):
            output, state = head.prediction.step(labels[u : u + 1], state)
    return gains, advances
