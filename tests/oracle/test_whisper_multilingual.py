"""Languages and tasks of multilingual Whisper models against openai-whisper, on small models with random weights."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import asr_core
from asr_core import Beam, DecodingError, Greedy, Whisper
from asr_core.annotation import Document
from asr_core.annotation.document import Provenance
from asr_core.annotation.realignment import propose
from asr_core.decoding.entries import log_softmax
from asr_core.models.whisper_config import Wanted
from asr_core.whisper import detection, hearing, search
from asr_core.whisper.languages import LANGUAGES
from asr_core.whisper.settings import options_of
from asr_core.whisper.tokenizer import SpecialTokens, load_tokenizer
from tests import whisper_rigs as rigs
from tests.conftest import DATA

EXPECTED = json.loads((DATA / "whisper" / "random_models.json").read_text(encoding="utf-8"))
VOCABULARIES = (51_864, 51_865, 51_866)
MODES: Mapping[str, tuple[type, dict[str, Any], Whisper]] = {
    "greedy": (Greedy, {}, Whisper(timestamps=False)),
    "de": (Greedy, {}, Whisper(language="de", timestamps=False)),
    "yue": (Greedy, {}, Whisper(language="yue", timestamps=False)),
    "detected": (Greedy, {}, Whisper(timestamps=False)),
    "translate": (Greedy, {}, Whisper(language="de", task="translate", timestamps=False)),
    "timestamps": (Greedy, {}, Whisper(language="zh")),
    "beam3": (Beam, {"size": 3}, Whisper(language="de", timestamps=False)),
}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], asr_core.Recognizer]:
    folder = tmp_path_factory.mktemp("random")

    @cache
    def load(vocabulary: int) -> asr_core.Recognizer:
        mels = EXPECTED[str(vocabulary)]["mels"]
        return asr_core.load_model(rigs.write_mlx(folder / str(vocabulary), rigs.dimensions(vocabulary, mels)))

    return load


@pytest.fixture(scope="module")
def encoded(models) -> Callable[[int], np.ndarray]:
    @cache
    def of(vocabulary: int) -> np.ndarray:
        return models(vocabulary).encode(*models(vocabulary).features([rigs.sound()]))[0]

    return of


@pytest.mark.parametrize("vocabulary", VOCABULARIES)
def test_ids_of_special_tokens(vocabulary: int) -> None:
    wanted, special = rigs.tokens()["vocabularies"][str(vocabulary)], SpecialTokens.of(vocabulary)
    assert {name: getattr(special, name) for name in wanted["special"]} == wanted["special"]
    assert special.first_timestamp + 1500 == wanted["last_timestamp"] == vocabulary - 1
    languages = wanted.get("languages", {})
    assert {code: special.language(code) for code in languages} == languages
    assert len(languages) in (0, len(special.languages)) and list(languages) == list(LANGUAGES[: len(languages)])


@pytest.mark.parametrize("vocabulary", VOCABULARIES)
def test_what_a_text_begins_with_and_may_not_have(vocabulary: int, tmp_path: Path) -> None:
    wanted = rigs.tokens()["vocabularies"][str(vocabulary)]
    (tmp_path / "tokenizer.json").write_text(rigs.tokenizer_json(vocabulary), encoding="utf-8")
    tokenizer = load_tokenizer(tmp_path / "tokenizer.json", vocabulary)
    assert list(tokenizer.suppressed) == wanted["suppressed"]
    assert list(tokenizer.blank) == wanted["blank"]
    for asked, tokens in wanted["start_tokens"].items():
        language, task = asked.split() or (None, "transcribe")
        assert tokenizer.start_tokens(language, task) == tokens
    for text, tokens in rigs.tokens()["tokenizers"][wanted["tokenizer"]]["texts"].items():
        assert tokenizer.encode_exactly(text) == tokens
        assert tokenizer.vocabulary.decode(tokens) == text.strip()


@pytest.mark.parametrize("vocabulary", VOCABULARIES)
def test_the_encoder(encoded, vocabulary: int) -> None:
    found, wanted = encoded(vocabulary), EXPECTED[str(vocabulary)]
    assert found[0, :2, :4].ravel() == pytest.approx(wanted["enc_head"], abs=1e-4)
    assert found.std(ddof=1) == pytest.approx(wanted["enc_std"], abs=1e-4)


@pytest.mark.parametrize("vocabulary", VOCABULARIES[1:])
def test_the_language_is_heard(models, encoded, vocabulary: int) -> None:
    model, wanted = models(vocabulary), EXPECTED[str(vocabulary)]
    cache = model.decoder.begin(encoded(vocabulary))
    found = detection.language_probabilities(model.decoder, cache, model.vocabulary.special)
    assert found == pytest.approx(wanted["language_probabilities"], abs=1e-4)
    assert detection.most_probable(found) == wanted["detected"]
    heard = model.decode_all(rigs.sound(), [Greedy(whisper=quick()), Greedy(whisper=quick(language="de"))])
    assert [one.language for one in heard] == [wanted["detected"], "de"]
    assert model.align(rigs.sound(), "Wo ist er?").language == wanted["detected"]


CASES = [(int(vocabulary), mode) for vocabulary, one in EXPECTED.items() for mode in one["modes"]]


@pytest.mark.parametrize(("vocabulary", "mode"), CASES)
def test_texts(models, encoded, vocabulary: int, mode: str) -> None:
    model, wanted = models(vocabulary), EXPECTED[str(vocabulary)]["modes"][mode]
    kind, settings, options = MODES[mode]
    if vocabulary == 51_864:
        options = Whisper(timestamps=options.timestamps)
    cache = model.decoder.begin(encoded(vocabulary))
    language = detection.language_of(model.decoder, cache, model.vocabulary.special, options)
    assert language == (wanted["language"] if vocabulary > 51_864 else None)
    prompt = search.prompt_of(model.tokenizer, options, language, [], model.decoder.room)
    assert list(prompt.tokens) == wanted["sot_sequence"]
    found = search.read(
        model.decoder,
        cache,
        [prompt],
        search.search_of(kind(**settings), 0.0, None, model.vocabulary.special.end),
        search.filters_of(model.tokenizer, options),
        model.tokenizer,
    )[0]
    assert list(found.best.tokens) == wanted["tokens"]
    assert found.mean_log_prob == pytest.approx(wanted["avg_logprob"], abs=5e-5)
    assert found.no_speech == pytest.approx(wanted["no_speech_prob"], abs=1e-4)


def test_the_decoder_of_the_public_contract_says_the_same(models, encoded) -> None:
    for mode in ("detected", "translate"):
        heard = models(51_865).decode(encoded(51_865), np.array([200]), Greedy(whisper=MODES[mode][2]))[0][0]
        assert list(heard.token_ids) == EXPECTED["51865"]["modes"][mode]["tokens"]


def test_a_look_inside_reads_a_translation_as_one(models) -> None:
    model, audio = models(51_865), rigs.sound()
    made = model.transcribe(audio, decoding=Greedy(whisper=quick(language="de", task="translate")))
    spoken = replace(made, decoding=Greedy(whisper=quick(language="de")))
    first, again, other = (model.inspect(audio, one, 0, 4).weights[0] for one in (made, made, spoken))
    assert np.array_equal(first, again) and np.abs(first - other).max() > 1e-4
    # From a file, a transcript may name its language in any way.
    assert model.inspect(audio, replace(made, language="de-CH"), 0, 4).token_ids


def test_a_text_is_aligned_behind_its_language_and_task(models, encoded) -> None:
    model, text, told = models(51_865), "Where is the old house?", Whisper(language="de", task="translate")
    aligned = model.align(rigs.sound(), text, whisper=told)
    special, tokens = model.vocabulary.special, model.tokenizer.encode(text)
    before = [special.start, special.language("de"), special.translate, special.no_timestamps]
    rows = range(len(before) - 1, len(before) + len(tokens) - 1)
    cache = model.decoder.begin(encoded(51_865))
    logits, _, _ = model.decoder.step(np.array([[*before, *tokens]]), cache, wanted=Wanted(rows))
    expected = log_softmax(logits[0, :, : special.end])[np.arange(len(tokens)), tokens]
    assert [token.log_prob for token in aligned.tokens] == pytest.approx(expected, abs=1e-4)
    assert aligned.score == pytest.approx(expected.sum(), abs=1e-3)
    # It says of itself what it is, so that it is looked into, kept and aligned again as a translation.
    assert aligned.language == "de" and aligned.decoding.whisper == told
    kept = Document.from_transcript(aligned)
    assert kept.language == "en"
    assert options_of(kept.provenance.decoding) == told
    spoken = model.align(rigs.sound(), text, whisper=Whisper(language="de"))
    assert abs(spoken.score - aligned.score) > 1e-3


def test_changed_words_are_aligned_in_the_language_and_task_of_their_document(models) -> None:
    model, audio, text = models(51_865), rigs.sound(), "Where is the old house?"
    for task in ("translate", "transcribe"):
        aligned = model.align(audio, text, whisper=Whisper(language="de", task=task))
        document = Document.from_transcript(aligned)
        changed = [document.first("words").segments[2].id]
        other = replace(document, language="en", provenance=Provenance())
        # All words and all of the sound are within reach of the one in the middle: they stay where they are.
        found = [propose(model, audio, one, changed).largest for one in (document, other)]
        assert found[0] == 0 and found[1] > 0.01


@pytest.mark.parametrize(
    ("decoding", "expected"),
    [
        (None, Whisper()),
        (asr_core.Maes(), Whisper()),
        (Beam(whisper=Whisper(task="translate", seed=3)), Whisper(task="translate", seed=3)),
        ({"whisper": {"language": "de", "task": "translate", "seed": -1}}, Whisper(language="de", task="translate")),
        ({"whisper": {"language": 3, "task": "sing"}}, Whisper()),
        ({"whisper": "translate"}, Whisper()),
    ],
)
def test_what_a_text_was_written_with(decoding: Any, expected: Whisper) -> None:
    assert options_of(decoding) == expected


class Counting:
    """The model behind a recognizer; counts how often the keys and values of audio are computed."""

    def __init__(self, model: Any) -> None:
        self._model, self.begun = model, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def begin(self, encoded: np.ndarray) -> Any:
        self.begun += 1
        return self._model.begin(encoded)


def test_the_decoder_meets_a_window_once_also_where_its_language_is_heard(models, encoded) -> None:
    counting = Counting(models(51_865)._model)
    model, audio = replace(models(51_865), _model=counting), rigs.sound()
    model.transcribe(audio, decoding=Greedy(whisper=quick()))
    assert counting.begun == 1
    model.align(audio, "Wo ist er?")
    assert counting.begun == 2
    with model.stream(window=asr_core.StreamWindow(chunk=4.0)) as stream:
        stream.feed(audio)
    assert counting.begun == 3
    # Two languages in a batch, each heard in its own window, whose texts and times are those it has alone.
    other = model.encode(*model.features([rigs.sound(seed=1)]))[0]
    both, frames = np.concatenate([encoded(51_865), other]), np.array([200, 200])
    made = model.decode(both, frames, Greedy(whisper=quick()))
    assert counting.begun == 4
    for i, [one] in enumerate(made):
        [[alone]] = model.decode(both[i : i + 1], frames[i : i + 1], Greedy(whisper=quick()))
        assert (one.token_ids, one.start_frames) == (alone.token_ids, alone.start_frames)
        assert one.confidences == pytest.approx(alone.confidences, abs=1e-4)


@pytest.mark.parametrize(("language", "kept"), [(None, "de"), ("sv", "sv")])
def test_no_language_is_kept_from_a_window_without_speech(models, monkeypatch, language, kept) -> None:
    silent, detected = iter([True, False]), iter(["fi", "de"])
    monkeypatch.setattr(hearing, "is_silence", lambda reading: next(silent))
    monkeypatch.setattr(detection, "most_probable", lambda found: next(detected))
    heard = models(51_865).transcribe(rigs.sound(seconds=31), decoding=Greedy(whisper=quick(language=language)))
    assert heard.language == kept and next(silent, None) is None


def test_what_a_model_does_not_know_is_said(models) -> None:
    audio = rigs.sound(seconds=1)
    for vocabulary, options, said in (
        (51_865, Whisper(language="yue"), "does not know the language 'yue'; it knows codes such as en, de and zh"),
        (51_864, Whisper(language="de"), "does not know the language 'de'; it knows en"),
        (51_864, Whisper(task="translate"), "knows English only, so it cannot translate"),
    ):
        with pytest.raises(DecodingError, match=said):
            models(vocabulary).transcribe(audio, decoding=Greedy(whisper=options))
        with pytest.raises(DecodingError, match=said):
            models(vocabulary).align(audio, "Where?", whisper=options)
    assert len(models(51_865).info.languages) == 99 and len(models(51_866).info.languages) == 100
    assert models(51_864).info.languages == ("en",)


def quick(**options: Any) -> Whisper:
    """Random weights are improbable at every temperature; the first is enough."""
    return Whisper(temperatures=(0.0,), timestamps=False, **options)


def test_a_stream_hears_the_language_until_something_is_final(models) -> None:
    model, loudness = models(51_865), np.repeat([0.1, 1.0], 16_000)
    noise = (np.random.default_rng(1).standard_normal(32_000) * loudness).astype(np.float32)
    alone = [language_of(model, noise[: 16_000 * seconds]) for seconds in (1, 2)]
    assert alone[0] != alone[1]
    with model.stream(window=asr_core.StreamWindow(left=10.0, chunk=1.0, right=1.0)) as stream:
        assert not stream.feed(noise[:16_000]).final.tokens
        stream.feed(noise[16_000:])
        assert stream.finish().language == alone[1]
    with model.stream(decoding=Greedy(whisper=Whisper(language="ko"))) as stream:
        stream.feed(noise)
        assert stream.finish().language == "ko"


def language_of(model: asr_core.Recognizer, audio: np.ndarray) -> str:
    cache = model.decoder.begin(model.encode(*model.features([audio]))[0])
    return detection.language_of(model.decoder, cache, model.vocabulary.special, Whisper())
