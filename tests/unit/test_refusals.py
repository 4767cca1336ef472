"""Whatever a caller gives, what leaves the core is a result or a refusal of its own: an `AsrError` with a sentence."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import asr_core
from asr_core import (
    Beam,
    Chunking,
    Greedy,
    Hypothesis,
    Maes,
    PhraseBoost,
    Segmentation,
    Token,
    Transcript,
    transcribing,
)
from asr_core.annotation.document import Document
from asr_core.annotation.segments import Segment, Tier
from tests import whisper_rigs as rigs
from tests.conftest import ORACLE, SAMPLES

NAN, INF = float("nan"), float("inf")
#: What is no setting of any kind, or hardly one.
ODD = (
    *(None, True, -1, 0, 1.5, 10**5000, NAN, INF, "x", "", b"x", [], [None], {}, ("a",), object()),
    *(np.zeros(2), np.zeros((2, 2, 2)), [[1, 2], [3]], np.array(["a"], object)),
)
SETTINGS = (
    *(asr_core.Greedy, asr_core.Beam, asr_core.Maes, asr_core.Fusion, asr_core.Confidence, asr_core.Whisper),
    *(asr_core.Segmentation, asr_core.Chunking, asr_core.StreamWindow),
)
FIELDS = [(kind, field.name) for kind in SETTINGS for field in dataclasses.fields(kind)]
SOUND = (0.1 * np.random.default_rng(0).standard_normal(3200)).astype(np.float32)


def refuses(call: Callable[[], Any]) -> bool:
    """Whether there is a refusal, in a sentence."""
    try:
        call()
    except asr_core.AsrError as error:
        return 10 < len(str(error)) < 420
    return False


def survives(call: Callable[[Any], Any]) -> bool:
    """Whether there is a result or a refusal, whatever it is given; another exception is the test's failure."""
    for odd in ODD:
        try:
            call(odd)
        except asr_core.AsrError as error:
            if not 10 < len(str(error)) < 420:
                return False
    return True


@pytest.fixture(scope="module")
def models(oracle, tmp_path_factory) -> Callable[[str], asr_core.Recognizer]:
    """A small Parakeet model with both heads, and a small Whisper model of random weights."""
    folder = tmp_path_factory.mktemp("random")
    whisper = asr_core.load_model(rigs.write_mlx(folder, rigs.dimensions(51_864)))
    return {"parakeet": oracle("hybrid"), "whisper": whisper}.__getitem__


@pytest.mark.parametrize(("kind", "name"), FIELDS, ids=lambda value: getattr(value, "__name__", value))
def test_settings_of_any_kind(kind, name):
    assert survives(lambda odd: kind(**{name: odd}))


@pytest.mark.parametrize(
    "make",
    [
        lambda: Chunking(length="30"),
        lambda: Chunking(length=None),
        lambda: Chunking(length=True),
        lambda: Chunking(overlap="x"),
        lambda: Chunking(overlap=NAN),
        lambda: Chunking(at_silence="no"),
        lambda: Segmentation(separators=None),
        lambda: Segmentation(separators=[1]),
        lambda: Segmentation(silence=True),
        lambda: PhraseBoost(None),
        lambda: PhraseBoost(5),
        lambda: PhraseBoost("a phrase"),
        lambda: PhraseBoost({"a": True}),
        lambda: PhraseBoost({"a": NAN}),
        lambda: PhraseBoost(["a"], context_score="x"),
        lambda: PhraseBoost(["a"], context_score=NAN),
        lambda: PhraseBoost(["a"], depth_scaling=None),
        lambda: PhraseBoost(["a"], any_case=2),
        lambda: Beam(size=10**12),
        lambda: Maes(expansion_beta=True),
        lambda: Maes(compat=np.zeros(2)),
        lambda: asr_core.Fusion(lm=asr_core.NgramLM),
        lambda: asr_core.Confidence(include_duration="yes"),
        lambda: asr_core.NgramLM.from_arpa("a\0b"),
        lambda: asr_core.NgramLM.from_arpa(5),
    ],
)
def test_settings_that_were_taken_once(make):
    assert refuses(make)


@pytest.mark.parametrize("channel", ["left", 0.5, True, NAN, 2, -3, 10**400, [0]])
def test_channels(channel):
    assert refuses(lambda: asr_core.read_audio((16_000, np.zeros((100, 2))), channel=channel))
    assert refuses(lambda: asr_core.read_audio(SAMPLES / "sandwich.flac", channel=channel or 9))


@pytest.mark.parametrize("samples", [[[1, 2], [3]], [None], ["a"], [True], [1j], np.array([1e300]), 5, None, object()])
def test_samples(samples):
    assert refuses(lambda: asr_core.read_audio((16_000, samples)))
    assert survives(lambda odd: asr_core.read_audio((16_000, SOUND), max_seconds=odd))


def test_bfloat16_samples(models):
    import mlx.core as mx

    given = mx.array(SOUND).astype(mx.bfloat16)
    expected = np.array(given.astype(mx.float32))
    np.testing.assert_array_equal(asr_core.read_audio((16_000, given)), expected)
    model = models("parakeet")
    assert model.transcribe(given) == model.transcribe(expected)
    with model.stream() as stream:
        assert stream.feed(given).seconds == pytest.approx(0.2)
    assert refuses(lambda: asr_core.read_audio((16_000, mx.array([NAN]).astype(mx.bfloat16))))


@pytest.mark.parametrize("name", ["dtype", "revision", "local_files_only", "on_progress"])
def test_loading(name):
    for odd in (-1, NAN, 10**5000, b"x", [None], object(), np.zeros(2)):
        with pytest.raises(asr_core.ModelError):
            asr_core.load_model(ORACLE / "ctc", **{name: odd})


@pytest.mark.parametrize("side", [None, ["a"], 5, b"a", NAN])
def test_metrics(side):
    for measure, other in (
        (asr_core.word_error_rate, "a"),
        (asr_core.character_error_rate, "a"),
        (asr_core.boundary_errors, Transcript()),
        (lambda a, b: asr_core.compare([a, b]), Transcript()),
    ):
        assert refuses(lambda measure=measure, other=other: measure(side, other))
        assert refuses(lambda measure=measure, other=other: measure(other, side))
    assert refuses(lambda: asr_core.boundary_errors("a", "b"))
    assert refuses(lambda: asr_core.word_error_rate("a", "b", normalization=side))
    assert refuses(lambda: asr_core.resegment(side, Segmentation()))
    assert refuses(lambda: asr_core.resegment(Transcript(), side))
    assert refuses(lambda: asr_core.compare([]))


def test_formats(tmp_path):
    formats, subtitles = asr_core.formats, b"1\n00:00:00,000 --> 00:00:01,000\nhi\n"
    assert survives(lambda odd: formats.read(odd))
    assert survives(lambda odd: formats.read(subtitles, format=odd))
    assert survives(lambda odd: formats.read(subtitles, format="srt", audio=odd))
    assert survives(lambda odd: formats.write(odd, tmp_path / "a.srt"))
    for name in ("format", "tier", "audio"):
        assert survives(lambda odd, name=name: formats.write(Transcript(), tmp_path / "a.srt", **{name: odd}))
    assert survives(lambda odd: formats.write(Transcript(), tmp_path / "hf", format="hf", audio=odd))


QUESTIONS = {
    "transcribe": ("audio", "sample_rate", "decoding", "segmentation", "chunking", "on_progress", "cancel", "resume"),
    "transcribe_batch": ("audios", "segmentation", "cancel"),
    "decode_all": ("decodings", "segmentation", "chunking", "on_progress", "cancel"),
    "align": ("text", "head", "whisper", "segmentation", "confidence", "on_progress", "cancel"),
    "inspect": ("audio", "transcript", "start", "end", "sample_rate"),
    "stream": ("decoding", "window", "lookahead", "segmentation", "pause"),
    "features": ("audios",),
    "encode": ("features", "lengths"),
    "decode": ("encoded", "lengths", "decoding"),
    "ctc_log_probs": ("encoded",),
    "transcript": ("hypotheses", "duration", "segmentation", "confidence"),
}
#: Arguments that are there in any case; no sound, so that what is accepted costs no time.
NEEDED = {
    "transcribe": {"audio": np.zeros(0)},
    "transcribe_batch": {"audios": []},
    "decode_all": {"audio": np.zeros(0), "decodings": []},
    "align": {"audio": np.zeros(0), "text": ""},
    "inspect": {"audio": np.zeros(0), "transcript": Transcript(), "start": 0, "end": 0.1},
    "features": {"audios": []},
    "encode": {"features": np.zeros((0, 3000, 80), np.float32), "lengths": []},
    "decode": {"encoded": np.zeros((0, 5, 64), np.float32), "lengths": [], "decoding": Greedy()},
    "transcript": {"hypotheses": [], "duration": 1},
}


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("kind", ["parakeet", "whisper"])
def test_questions_to_a_recogniser(models, kind, question):
    model = models(kind)
    for name in QUESTIONS[question]:
        assert survives(lambda odd, name=name: getattr(model, question)(**{**NEEDED.get(question, {}), name: odd}))


@pytest.mark.parametrize("kind", ["parakeet", "whisper"])
def test_questions_that_were_answered_once(models, kind):
    model, heard = models(kind), Transcript()
    for refused in (
        lambda: model.transcribe(SOUND, chunking=None),
        lambda: model.transcribe(SOUND, cancel=True),
        lambda: model.transcribe_batch(None),
        lambda: model.transcribe_batch("a.wav"),
        lambda: model.decode_all(SOUND, Greedy()),
        lambda: model.align(SOUND, None),
        lambda: model.align(SOUND, "a", head=False),
        lambda: model.inspect(SOUND, heard, "a", 1),
        lambda: model.inspect(SOUND, heard, 0, 10**400),
        lambda: model.inspect(SOUND, None, 0, 1),
        lambda: model.inspect(SOUND, Transcript(tokens=(Token(10**7, "a", 0, 0.1, 1, 0),)), 0, 0.1),
        lambda: model.inspect(SOUND, Transcript(tokens=(Token(1, "a", NAN, 0.1, 1, 0),)), 0, 0.1),
        lambda: model.inspect(SOUND, Transcript(cuts=("a",)), 0, 0.1),
        lambda: model.stream(window=None),
        lambda: model.stream(lookahead=True),
        lambda: model.transcript([], duration=NAN),
    ):
        assert refuses(refused)


@pytest.mark.parametrize("kind", ["parakeet", "whisper"])
def test_stages_take_only_what_fits_them(models, kind):
    model = models(kind)
    features, lengths = model.features([SOUND])
    encoded, frames = model.encode(features, lengths)
    wrong = (features[..., :-1], features[0], features * NAN, features.astype(object), features.tolist()[0])
    for given in wrong:
        assert refuses(lambda given=given: model.encode(given, lengths))
    for given in (encoded[..., :-1], encoded[0], encoded * NAN, encoded > 0):
        assert refuses(lambda given=given: model.decode(given, frames, Greedy()))
    for given in (None, [], [-1], [10**6], [1.5], [True], [1, 1], [[1]], "1"):
        assert refuses(lambda given=given: model.encode(features, given))
        assert refuses(lambda given=given: model.decode(encoded, given, Greedy()))
    assert refuses(lambda: model.ctc_log_probs(encoded[..., :-1]))


@pytest.mark.parametrize("name", [field.name for field in dataclasses.fields(Hypothesis)])
def test_hypotheses(models, name):
    whole = Hypothesis((1,), (0,), (1,), 0.0, (1.0,), (0.0,))
    model = models("parakeet")
    assert survives(lambda odd: model.transcript([dataclasses.replace(whole, **{name: odd})], duration=1))
    assert survives(lambda odd: model.transcript([dataclasses.replace(whole, **{name: (odd,)})], duration=1))


@pytest.mark.parametrize("kind", ["parakeet", "whisper"])
def test_a_token_that_a_person_wrote_is_looked_at_all_the_same(models, kind):
    written = Transcript(tokens=(Token(-1, "a", 0.0, 0.1, 1.0, 0.0),), duration=0.2)
    assert models(kind).inspect(SOUND, written, 0, 0.1) is not None


class Stop(threading.Event):
    """Is set when it has been looked at a number of times."""

    def __init__(self, looks: int) -> None:
        super().__init__()
        self.left = looks

    def is_set(self) -> bool:
        self.left -= 1
        return self.left < 0


FUSED = asr_core.Fusion(phrases=PhraseBoost(["the train"]), phrase_weight=0.1)


@pytest.mark.parametrize(
    ("name", "decoding"),
    [
        ("tdt", Greedy()),
        ("tdt", Beam(size=2)),
        ("rnnt", Greedy(fusion=FUSED)),
        ("rnnt", Maes(size=2)),
        ("ctc", Greedy(fusion=FUSED)),
        ("ctc", Beam(size=2)),
    ],
)
def test_a_cancel_ends_a_decode_in_its_middle(oracle, monkeypatch, name, decoding):
    monkeypatch.setitem(transcribing.BATCH_SECONDS, "CPU", 4.0)
    model = oracle(name)
    sound = np.tile(SOUND, 40)
    one = Chunking(length=4, overlap=0, at_silence=False)
    counted = Stop(10**9)
    whole = model.transcribe(sound, decoding=decoding, chunking=one, cancel=counted)
    looks = 10**9 - counted.left
    assert looks > 20
    stop = Stop(looks - 5)  # in the second of two windows, each a batch
    with pytest.raises(asr_core.Cancelled) as caught:
        model.transcribe(sound, decoding=decoding, chunking=one, cancel=stop)
    assert stop.left == -1
    assert len(caught.value.state) == 1
    assert caught.value.partial.duration == whole.duration
    again = model.transcribe(sound, decoding=decoding, chunking=one, resume=caught.value)
    assert again == whole
    with pytest.raises(asr_core.Cancelled) as caught:
        model.decode_all(sound, [decoding, decoding], chunking=one, cancel=Stop(looks))
    assert len(caught.value.partial) == 2


def test_a_speaker_has_one_turn_at_a_time_in_rttm(tmp_path):
    def tier(name: str, first: int, start: float) -> Tier:
        return Tier(name, "speakers", (Segment(first, "", start, start + 2, speaker="Ada Lovelace"),))

    for start, is_refused in ((1.0, True), (1.98, True), (1.995, False), (2.0, False)):
        document = Document(tiers=(tier("a", 0, 0.0), tier("b", 1, start)))
        if is_refused:
            with pytest.raises(asr_core.FormatError, match=rf"0\.000 to 2\.000 s and {start:.3f} to {start + 2:.3f} s"):
                asr_core.formats.write(document, tmp_path / "a.rttm")
            assert not (tmp_path / "a.rttm").exists()
        else:
            asr_core.formats.write(document, tmp_path / "a.rttm")
            assert len(asr_core.formats.read(tmp_path / "a.rttm").tiers[0].segments) == 2
