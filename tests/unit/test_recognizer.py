"""From audio to transcripts with real models: odd lengths, batches, threads, cancelling, settings."""

from __future__ import annotations

import math
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import asr_core
from asr_core import Chunking, Confidence, Greedy, Segmentation
from tests.conftest import SAMPLES

LENGTHS = (0, 1, 80, 160, 161, 319, 400, 1279, 1280, 1281)


def signals() -> dict[str, np.ndarray]:
    noise = np.random.default_rng(1).normal(size=32_000).astype(np.float32)
    return {
        "silence": np.zeros(32_000, np.float32),
        "constant": np.full(32_000, 0.5, np.float32),
        "clipped": np.clip(noise * 10, -1, 1),
        "very quiet": noise * 1e-5,
        **{f"{n} samples": noise[:n] * 0.1 for n in LENGTHS},
    }


def check_sane(transcript: asr_core.Transcript, duration: float) -> None:
    times = [t for token in transcript.tokens for t in (token.start, token.end)]
    assert all(math.isfinite(t) and 0 <= t <= duration for t in times)
    assert all(token.start <= token.end for token in transcript.tokens)
    starts = [token.start for token in transcript.tokens]
    assert starts == sorted(starts)
    assert all(0 <= token.confidence <= 1 and token.log_prob <= 0 for token in transcript.tokens)
    assert math.isfinite(transcript.score)
    assert transcript.duration == pytest.approx(duration)


@pytest.mark.parametrize("name", ["tdt", "rnnt", "ctc", "hybrid"])
def test_odd_audio_never_crashes(name, oracle):
    for case, samples in signals().items():
        transcript = oracle(name).transcribe(samples)
        check_sane(transcript, len(samples) / 16_000)
        if len(samples) < 160:
            assert transcript.tokens == (), case


def test_odd_audio_in_one_batch_equals_alone(demo):
    cases = list(signals().values())
    for samples, together in zip(cases, demo.transcribe_batch(cases), strict=True):
        assert same(together, demo.transcribe(samples))


def test_silence_says_nothing(demo):
    assert demo.transcribe(np.zeros(48_000, np.float32)).text == ""


def same(a: asr_core.Transcript, b: asr_core.Transcript) -> bool:
    """Equal up to the rounding of float32 sums."""
    assert [(t.id, t.text, t.start, t.end) for t in a.tokens] == [(t.id, t.text, t.start, t.end) for t in b.tokens]
    assert np.allclose([t.confidence for t in a.tokens], [t.confidence for t in b.tokens], atol=1e-3)
    return a.text == b.text and len(a.sentences) == len(b.sentences)


@pytest.mark.parametrize("head", ["tdt", "ctc"])
def test_batch_equals_single(head, demo, recordings):
    clips = [recordings[key] for key in ("u12", "u2", "u0p3", "u3")]
    for clip, together in zip(clips, demo.transcribe_batch(clips, decoding=Greedy(head=head)), strict=True):
        assert same(together, demo.transcribe(clip, decoding=Greedy(head=head)))


def test_known_sentence(demo):
    transcript = demo.transcribe(SAMPLES / "meeting-date.flac")
    assert transcript.text == (
        "The meeting is on Monday, the seventh of September, two thousand and nine, at a quarter past nine."
    )
    assert [sentence.text for sentence in transcript.sentences] == [transcript.text]
    assert " ".join(word.text for word in transcript.words) == transcript.text
    check_sane(transcript, transcript.duration)
    assert set(transcript.timings) == {"features", "encoder", "decoder", "total"}


def test_four_threads_give_what_one_gives():
    clips = sorted(SAMPLES.glob("*.flac"))[:4]
    with ThreadPoolExecutor(1) as loader:
        recognizer = loader.submit(asr_core.load_model).result()
    alone = [recognizer.transcribe(clip) for clip in clips]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(recognizer.transcribe, clips))
    assert together == alone


def test_any_rate_and_shape_gives_the_same_text(demo):
    import soxr

    samples = asr_core.read_audio(SAMPLES / "platform-nineteen.flac")
    expected = demo.transcribe(samples).text
    up = soxr.resample(samples, 16_000, 44_100)
    stereo = (np.stack([up, up]) * 32_767).astype(np.int16)
    assert demo.transcribe(up, sample_rate=44_100).text == expected
    assert demo.transcribe((44_100, stereo)).text == expected
    assert demo.transcribe((44_100, stereo.T)).text == expected
    assert demo.transcribe(samples.astype(np.float64).tolist()).text == expected
    assert demo.transcribe((samples * 32_767).astype(np.int16)).text == expected


def test_progress_cancel_and_resume(demo):
    samples = np.tile(asr_core.read_audio(SAMPLES / "platform-nineteen.flac"), 8)
    chunking = Chunking(length=8)
    seen, read, stop = [], [], threading.Event()

    def watch(progress: asr_core.Progress) -> None:
        seen.append(progress)
        read.append(progress.partial())
        if progress.done > 9:
            stop.set()

    with pytest.raises(asr_core.Cancelled) as caught:
        demo.transcribe(samples, chunking=chunking, on_progress=watch, cancel=stop)
    partial = caught.value.partial
    assert seen[0].done == 0
    assert seen[-1].done < seen[-1].total
    # At each look the transcript of what was heard can be had; the last is what the cancel hands out.
    assert all(now.text.startswith(before.text.rsplit(" ", 1)[0]) for before, now in pairwise(read))
    assert read[0].text == "" and read[-1].text == partial.text and read[-1].tokens == partial.tokens
    assert seen[-1].total == pytest.approx(len(samples) / 16_000)
    assert partial.text.startswith("The train to New York")
    assert max(token.end for token in partial.tokens) <= seen[-1].done + chunking.length
    whole = demo.transcribe(samples, chunking=chunking)
    assert demo.transcribe(samples, chunking=chunking, resume=caught.value) == whole
    assert whole.text.startswith(partial.text.rsplit(" ", 1)[0])


def test_settings_that_do_not_fit_are_refused(oracle, demo):
    with pytest.raises(asr_core.DecodingError, match="no ctc head; it has tdt"):
        oracle("tdt").transcribe(np.zeros(16_000), decoding=Greedy(head="ctc"))
    with pytest.raises(asr_core.DecodingError, match="no tdt head; it has ctc"):
        oracle("ctc").transcribe(np.zeros(16_000), decoding=Greedy(head="tdt"))
    with pytest.raises(asr_core.DecodingError, match="temperature"):
        demo.transcribe(np.zeros(16_000), decoding=Greedy(temperature=0.5))
    for wrong in (
        lambda: Greedy(head="rnn"),
        lambda: Greedy(max_symbols=0),
        lambda: Confidence(alpha=0),
        lambda: Confidence(method="entropy"),
        lambda: Chunking(length=10, overlap=10),
        lambda: Chunking(length=0.1),
        lambda: Segmentation(silence=-1),
    ):
        with pytest.raises(asr_core.DecodingError):
            wrong()
    with pytest.raises(asr_core.AudioError):
        demo.transcribe(np.array([0.0, np.nan]))


def test_symbol_limit_comes_from_the_model_and_is_never_unlimited(oracle, recordings):
    model = oracle("rnnt")
    states = model.encode(*model.features([recordings["u3"]]))
    default = model.decode(*states, Greedy())
    assert default == model.decode(*states, Greedy(max_symbols=10))
    assert default != model.decode(*states, Greedy(max_symbols=1))


def test_stages_join_to_transcribe(demo):
    samples = asr_core.read_audio(SAMPLES / "sandwich.flac")
    found = demo.decode(*demo.encode(*demo.features([samples])), Greedy())
    transcript = demo.transcript(found[0], duration=len(samples) / 16_000)
    assert replace(demo.transcribe(samples), decoding=None) == transcript


def test_import_loads_neither_mlx_nor_gradio():
    code = "import sys, asr_core; print([m for m in ('mlx.core', 'gradio', 'plotly') if m in sys.modules])"
    root = Path(__file__).parents[2]
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root, check=True)
    assert run.stdout.strip() == "[]"
