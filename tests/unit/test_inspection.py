"""What the inside view is drawn from: scores of each frame along the path of the transcript shown."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import asr_core
from asr_core.decoding.options import Decoding
from asr_core.models.host import log_softmax
from asr_core.models.transducer import Transducer
from tests.conftest import SAMPLES

CASES = [
    ("tdt", asr_core.Greedy()),
    ("tdt", asr_core.Beam(size=4)),
    ("rnnt", asr_core.Greedy()),
    ("rnnt", asr_core.Maes()),
    ("ctc", asr_core.Greedy()),
    ("hybrid", asr_core.Greedy(head="ctc")),
    ("hybrid", asr_core.Beam(size=4, head="ctc")),
]


def walk(projected: np.ndarray, head: Transducer, limit: int) -> list[tuple[int, int, int, np.ndarray]]:
    """Greedy search of one item, step by step: frame, label, frames advanced by, log-probs."""
    output, state = head.prediction.start(1)
    steps, frame, on_frame = [], 0, 0
    while frame < len(projected):
        logits = head.joint.logits(projected[frame : frame + 1], head.joint.project_prediction(output))
        labels, durations = head.best(logits)
        label, duration = int(labels[0]), int(durations[0])
        steps.append((frame, label, duration, log_softmax(logits[0, : head.blank + 1])))
        if label != head.blank:
            output, state = head.prediction.step(labels, state)
        on_frame = 0 if duration else on_frame + 1
        frame += duration + (on_frame >= limit)
        on_frame %= limit
    return steps


@pytest.mark.parametrize("name", ["tdt", "rnnt"])
@pytest.mark.parametrize("clip", ["noise", "u3", "u12"])
def test_the_frames_of_a_greedy_search_are_shown_as_it_saw_them(oracle, recordings, name, clip) -> None:
    recognizer = oracle(name)
    audio = recordings[clip]
    transcript = recognizer.transcribe(audio)
    scores = recognizer.inspect(audio, transcript, 0, len(audio) / 16_000)
    encoded, lengths = recognizer.encode_audio([audio])
    head = recognizer._model.transducer
    steps = walk(head.joint.project_encoder(encoded[0, : lengths[0]]), head, head.max_symbols or 10)
    first = {}
    for frame, label, duration, log_probs in steps:
        first.setdefault(frame, (label, duration, log_probs))
    assert np.flatnonzero(scores.visited).tolist() == sorted(first)
    for frame, (label, _, log_probs) in first.items():
        assert scores.taken[frame] == label
        assert scores.blank[frame] == pytest.approx(np.exp(log_probs[-1]), abs=1e-5)
        assert scores.entropy[frame] == pytest.approx(-(np.exp(log_probs) * log_probs).sum(), abs=1e-4)
        assert scores.top_ids[frame, 0] == log_probs.argmax()


@pytest.mark.parametrize(("name", "decoding"), CASES)
def test_tokens_have_the_probability_they_were_chosen_with(oracle, recordings, name, decoding: Decoding) -> None:
    recognizer = oracle(name)
    audio = max(recordings.values(), key=len)
    transcript = recognizer.transcribe(audio, decoding=decoding)
    scores = recognizer.inspect(audio, transcript, 0, len(audio) / 16_000)
    path = transcript.hypothesis
    assert path is not None
    seen = set()
    for token, frame, end, log_prob in zip(
        path.token_ids, path.start_frames, path.end_frames, path.log_probs, strict=True
    ):
        column = scores.heard_probs[:, scores.heard.index(token)]
        if getattr(decoding, "head", None) == "ctc" or name == "ctc":
            assert column[frame:end].max() == pytest.approx(np.exp(log_prob), abs=1e-5)
        elif frame not in seen:
            assert scores.taken[frame] == token
            assert column[frame] == pytest.approx(np.exp(log_prob), abs=1e-5)
        seen.add(frame)


def test_frames_that_tdt_jumps_over_show_nothing(demo) -> None:
    clip = SAMPLES / "meeting-date.flac"
    transcript = demo.transcribe(clip)
    scores = demo.inspect(clip, transcript, 0, transcript.duration)
    jumped = ~scores.visited
    assert jumped.any() and scores.visited.any()
    assert np.isnan(scores.blank[jumped]).all() and np.isnan(scores.duration_probs[jumped]).all()
    assert (scores.top_ids[jumped] == -1).all() and (scores.duration[jumped] == -1).all()
    np.testing.assert_allclose(scores.duration_probs[scores.visited].sum(-1), 1, rtol=1e-5)
    # Every jump is as long as the duration chosen says.
    at = np.flatnonzero(scores.visited)
    steps = scores.duration[at][:-1]
    assert (np.diff(at)[steps > 0] == steps[steps > 0]).all()


def test_a_span_of_a_long_recording_shows_what_the_whole_does(demo) -> None:
    audio = np.concatenate([asr_core.read_audio(path) for path in sorted(SAMPLES.glob("*.flac"))] * 3)
    transcript = demo.transcribe(audio)
    assert transcript.cuts
    whole = demo.inspect(audio, transcript, 0, transcript.duration)
    cut = transcript.cuts[0]
    part = demo.inspect(audio, transcript, cut - 1, cut + 1)
    assert len(whole) == pytest.approx(transcript.duration / whole.frame_seconds, abs=1)
    rows = slice(part.first, part.first + len(part))
    np.testing.assert_allclose(part.blank, whole.blank[rows], atol=1e-5)
    assert (part.taken == whole.taken[rows]).all()
    tokens = {t.id for t in transcript.tokens}
    assert set(whole.heard) == tokens


def test_a_transcript_from_a_file_is_shown_by_its_times(demo) -> None:
    clip = SAMPLES / "meeting-date.flac"
    transcript = replace(demo.transcribe(clip), hypothesis=None)
    scores = demo.inspect(clip, transcript, 0.5, 1.5)
    assert scores.first == 6 and len(scores) == 13
    assert set(scores.taken[scores.visited]) & {token.id for token in transcript.tokens}


def test_a_long_transcript_without_cuts_is_looked_at_in_windows(demo) -> None:
    audio = np.tile(asr_core.read_audio(SAMPLES / "meeting-date.flac"), 20)
    transcript = replace(demo.transcribe(audio), cuts=(), hypothesis=None)
    scores = demo.inspect(audio, transcript, 50, 52)
    assert scores.first == 625 and len(scores) == 25


@pytest.mark.parametrize(("start", "end"), [(1, 1), (2, 1), (-1, 1), (float("nan"), 1), (0, float("inf")), (100, 101)])
def test_what_is_no_span_is_refused(demo, start: float, end: float) -> None:
    clip = SAMPLES / "meeting-date.flac"
    with pytest.raises(asr_core.DecodingError, match="span"):
        demo.inspect(clip, demo.transcribe(clip), start, end)
