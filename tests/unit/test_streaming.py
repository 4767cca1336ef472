"""Live decoding: the same however the audio comes, nothing lost, and what is final stays."""

from __future__ import annotations

import threading
from itertools import pairwise

import numpy as np
import pytest
import soxr

import asr_core
from asr_core import Greedy, StreamWindow
from asr_core import features as front_end
from asr_core.alignment import concatenated, shifted
from asr_core.decoding import greedy
from asr_core.running_audio import RunningFeatures, RunningSamples
from tests.conftest import SAMPLES

RATE = 16_000
#: Samples the embedded model was made for.
SAME = ("friday-meeting", "meeting-date")
#: Small windows without drafts, where the result of the window does not matter.
QUICK = StreamWindow(left=3.0, chunk=2.0, right=1.0, draft_every=None)


@pytest.fixture(scope="module")
def minute() -> np.ndarray:
    """About a minute of the samples, one after the other."""
    clips = [asr_core.read_audio(path) for path in sorted(SAMPLES.glob("*.flac"))]
    audio = np.concatenate([np.concatenate([clip, np.zeros(4000, np.float32)]) for clip in clips * 4])
    return audio[: 60 * RATE]


def heard(recognizer, audio: np.ndarray, size: int | None = None, rate: int = RATE, seed: int = 0, **options):
    """The final transcript of audio that comes in packets of `size` samples; None = random sizes."""
    random = np.random.default_rng(seed)
    with recognizer.stream(**options) as stream:
        first = 0
        while first < len(audio):
            step = size or int(random.choice([1, 17, 160, 900, 5000, 40_000]))
            stream.feed(audio[first : first + step], rate)
            first += step
        return stream.finish()


def test_packets_of_any_size_give_the_same(demo, minute) -> None:
    whole = heard(demo, minute, len(minute), window=QUICK)
    assert len(whole.words) > 60
    for size in (160, 320, 528, 1600, 8000, 32_000, None):
        other = heard(demo, minute, size, window=QUICK)
        assert other.tokens == whole.tokens and other.text == whole.text and other.sentences == whole.sentences


def test_it_is_what_the_same_windows_give(demo, minute) -> None:
    """Replayed window by window, with the search carried from one to the next; drafts change nothing."""
    audio = minute[: 14 * RATE]
    config, head, options = demo.config.features, demo._model.transducer, Greedy()
    raw = front_end.raw_log_mel(audio, config)
    total, found = -(-len(raw) // 8), None
    carry = greedy.begin(1, head)
    for start in range(0, total, 25):
        end = min(start + 25, total)
        left, seen = max(0, start - 125), min(end + 25, total)
        mel = front_end.from_raw(raw[left * 8 : seen * 8], config)[None]
        encoded, lengths = demo.encode(mel, np.array([mel.shape[1]]))
        assert lengths[0] == seen - left
        projected = head.joint.project_encoder(encoded[:, start - left : end - left])
        scores = greedy.StepScores(head, options.confidence)
        carry = greedy.search(projected, np.array([end - start]), head, options, None, carry, scores)
        piece = shifted(scores.hypotheses(1)[0], start)
        found = piece if found is None else concatenated(found, piece)
    streamed = heard(demo, audio, 1600)
    assert streamed.hypothesis.token_ids == found.token_ids
    assert streamed.hypothesis.start_frames == found.start_frames
    assert streamed.score == pytest.approx(found.score, abs=1e-2)
    expected = demo.transcript([found], duration=len(audio) / RATE)
    assert (streamed.text, streamed.sentences, streamed.tokens) == (expected.text, expected.sentences, expected.tokens)


@pytest.mark.parametrize(("name", "head"), [("tdt", None), ("rnnt", None), ("ctc", None), ("hybrid", "ctc")])
@pytest.mark.parametrize(
    "window", [StreamWindow(2.0, 0.4, 0.4), StreamWindow(0, 0.08, 0, None), StreamWindow(60, 60, 60)]
)
def test_all_heads(oracle, recordings, name: str, head: str | None, window: StreamWindow) -> None:
    recognizer, audio = oracle(name), recordings["u3"]
    options = {"decoding": Greedy(head=head), "window": window}
    whole = heard(recognizer, audio, len(audio), **options)
    assert heard(recognizer, audio, None, **options).tokens == whole.tokens
    if window.left == 60:
        offline = recognizer.transcribe(audio, decoding=Greedy(head=head))
        assert [(t.id, t.start, t.end) for t in whole.tokens] == [(t.id, t.start, t.end) for t in offline.tokens]
        assert whole.sentences == offline.sentences and whole.text == offline.text
        assert whole.score == pytest.approx(offline.score, abs=1e-3)


def test_a_ctc_token_across_a_seam_is_one_token(demo) -> None:
    audio = asr_core.read_audio(SAMPLES / "friday-meeting.flac")
    offline = demo.transcribe(audio, decoding=Greedy(head="ctc"))
    streamed = heard(demo, audio, 1600, decoding=Greedy(head="ctc"), window=StreamWindow(60, 0.48, 2.0, None))
    assert abs(len(streamed.tokens) - len(offline.tokens)) <= 0.15 * len(offline.tokens)


def test_48_khz_stereo_gives_the_text_of_16_khz_mono(demo) -> None:
    audio = asr_core.read_audio(SAMPLES / "friday-meeting.flac")
    high = soxr.resample(audio, RATE, 48_000, "VHQ")
    stereo = np.rint(np.stack([high, high], axis=1) * 32_767).clip(-32_768, 32_767).astype(np.int16)
    expected = heard(demo, audio, 1600, window=QUICK)
    assert heard(demo, stereo, 4801, 48_000, window=QUICK).text == expected.text
    whole = heard(demo, stereo, len(stereo), 48_000, window=QUICK)
    assert heard(demo, stereo, 160, 48_000, window=QUICK).tokens == whole.tokens


def test_the_rate_may_change_on_the_way(demo) -> None:
    audio = asr_core.read_audio(SAMPLES / "friday-meeting.flac")
    half = len(audio) // 2
    high = soxr.resample(audio[half:], RATE, 44_100, "VHQ")
    with demo.stream(window=QUICK) as stream:
        stream.feed(audio[:half], RATE)
        update = stream.feed(high, 44_100)
        assert update.seconds == pytest.approx(len(audio) / RATE, abs=0.01)
        done = stream.finish()
    assert done.duration == pytest.approx(len(audio) / RATE, abs=0.01)
    same = asr_core.word_error_rate(heard(demo, audio, 1600, window=QUICK), done)
    assert same.rate < 0.2


@pytest.mark.parametrize("window", [QUICK, StreamWindow(draft_every=None)], ids=["quick", "as in Live"])
def test_nothing_is_lost_at_the_end(demo, window: StreamWindow) -> None:
    """A clip cut right behind its last sound keeps its last word."""
    for path in sorted(SAMPLES.glob("*.flac")):
        # Of this clip's last 2, 4.5 or 5 s alone the model does not hear the cut last word offline either.
        if window is QUICK and path.stem == "friday-meeting":
            continue
        audio = asr_core.read_audio(path)
        loud = np.flatnonzero(np.abs(audio) > 0.05 * np.abs(audio).max())
        audio = audio[: loud[-1] + 1]
        offline, live = demo.transcribe(audio), heard(demo, audio, 1600, window=window)
        assert live.words[-1].end > offline.words[-1].start, path.name
        if path.stem in SAME:
            assert live.words[-1].text == offline.words[-1].text, path.name


@pytest.mark.parametrize("length", [0, 1, 100, 159, 160, 161, 255, 256, 400, 1279, 1280, 1281, 5000])
def test_any_length_ends(demo, length: int) -> None:
    audio = 0.1 * np.random.default_rng(0).standard_normal(length).astype(np.float32)
    done = heard(demo, audio, 160, window=QUICK)
    assert done.duration == length / RATE
    assert all(0 <= t.start <= t.end <= done.duration for t in done.tokens)


def test_what_is_final_stays_and_the_draft_follows(demo, minute) -> None:
    before, drafts, lags = "", 0, []
    with demo.stream() as stream:
        sentences: tuple = ()
        for first in range(0, 15 * RATE, 1600):
            update = stream.feed(minute[first : first + 1600])
            assert update.final.text.startswith(before)
            before = update.final.text
            # All sentences but the last two stand as they are.
            kept = max(0, len(sentences) - 2)
            assert update.final.sentences[:kept] == sentences[:kept]
            sentences = update.final.sentences
            drafts += bool(update.draft.text)
            end = max((t.end for t in (*update.final.tokens, *update.draft.tokens)), default=0)
            lags.append(update.seconds - end)
            if update.final.tokens and update.draft.tokens:
                assert update.draft.tokens[0].start >= update.final.tokens[-1].start
        assert stream.finish().text.startswith(before)
    assert drafts > 20
    assert np.median(lags) < 1.5


def test_features_do_not_depend_on_packets_and_equal_the_offline_ones(demo) -> None:
    audio = np.random.default_rng(3).standard_normal(40_123).astype(np.float32)
    config, random = demo.config.features, np.random.default_rng(4)
    expected = front_end.raw_log_mel(audio, config)
    made = []
    for sizes in ([len(audio)], random.integers(1, 700, 1000)):
        running, first = RunningFeatures(config), 0
        for size in sizes:
            running.feed(audio[first : first + size])
            first += size
        running.finish()
        assert running.count == len(expected)
        made.append(running.frames(0, running.count))
    assert (made[0] == made[1]).all()
    np.testing.assert_allclose(made[0], expected, atol=1e-9)


def test_resampling_does_not_depend_on_packets() -> None:
    audio = np.random.default_rng(3).standard_normal(44_100).astype(np.float32)
    found = []
    for size in (len(audio), 441, 128):
        running = RunningSamples(RATE)
        parts = [running.feed(audio[i : i + size], 44_100) for i in range(0, len(audio), size)]
        found.append(np.concatenate([*parts, running.finish()]))
    assert len(found[0]) == RATE
    assert (found[0] == found[1]).all() and (found[0] == found[2]).all()


def test_a_pause_ends_an_utterance(demo) -> None:
    clip = asr_core.read_audio(SAMPLES / "friday-meeting.flac")
    audio = np.concatenate([clip[: 3 * RATE], np.zeros(3 * RATE, np.float32), clip[: 3 * RATE]])
    with demo.stream(window=QUICK, pause=1.5, segmentation=asr_core.Segmentation(separators=("§",))) as stream:
        for first in range(0, len(audio), 1600):
            update = stream.feed(audio[first : first + 1600])
        done = stream.finish()
    assert update.utterances >= 1
    gaps = [b.start - a.end for a, b in pairwise(done.sentences)]
    assert len(done.sentences) >= 2 and max(gaps) >= 1.5
    assert not any(b.start - a.end >= 1.5 for s in done.sentences for a, b in pairwise(s.words))


def test_eight_streams_at_once_hear_what_one_hears_alone(demo, minute) -> None:
    pieces = [minute[i * 5 * RATE : (i * 5 + 8) * RATE] for i in range(8)]
    alone = [heard(demo, piece, 1600, window=QUICK).tokens for piece in pieces]
    together: list = [None] * 8

    def run(i: int) -> None:
        together[i] = heard(demo, pieces[i], 1600, window=QUICK).tokens

    threads = [threading.Thread(target=run, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert together == alone


def test_what_a_stream_refuses(demo, oracle) -> None:
    for options in (
        {"decoding": asr_core.Beam()},
        {"decoding": Greedy(head="rnnt")},
        {"lookahead": 3},
        {"pause": 0},
        {"pause": float("nan")},
    ):
        with pytest.raises(asr_core.DecodingError):
            demo.stream(**options)
    for name, value in (("chunk", 0), ("left", -1), ("right", float("inf")), ("draft_every", 0), ("chunk", "2")):
        with pytest.raises(asr_core.DecodingError, match=name):
            StreamWindow(**{name: value})
    stream = demo.stream()
    for packet, rate in ((np.full(10, np.nan), RATE), ("text", RATE), (np.zeros(10), 0), (np.zeros((2, 2, 2)), RATE)):
        with pytest.raises(asr_core.AudioError):
            stream.feed(packet, rate)
    stream.feed(np.zeros(1000))
    stream.finish()
    for call in (stream.finish, lambda: stream.feed(np.zeros(10))):
        with pytest.raises(asr_core.DecodingError, match="ended"):
            call()
    stream.close()
