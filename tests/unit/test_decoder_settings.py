"""What the decoder's controls send becomes the core's settings, or a sentence that names the control."""

from __future__ import annotations

from dataclasses import asdict, fields
from pathlib import Path

import pytest

import asr_core
from components.decoder_settings import (
    GROUPS,
    LANGUAGES,
    STRATEGY_NOTES,
    DecoderChoice,
    build_decoder_settings,
    decoder_name,
    decoding_of,
    with_model,
)
from components.language_models import LanguageModels
from components.models import Models
from tests import whisper_rigs as rigs

LM = Path(__file__).parents[1] / "data" / "oracle" / "lm"


@pytest.fixture
def models() -> LanguageModels:
    return LanguageModels(max_mb=10)


def decoding(models: LanguageModels, **chosen: object) -> object:
    return decoding_of(DecoderChoice.from_page(chosen), models)


def test_untouched_controls_are_the_cores_defaults(models: LanguageModels) -> None:
    assert decoding(models) == asr_core.Greedy()
    assert decoding(models, strategy="beam") == asr_core.Beam()
    assert decoding(models, strategy="maes") == asr_core.Maes()
    assert decoding_of(DecoderChoice.from_page(asdict(DecoderChoice())), models) == asr_core.Greedy()


def test_a_page_that_sends_nothing_is_greedy(models: LanguageModels) -> None:
    assert decoding_of(DecoderChoice.from_page(None), models) == asr_core.Greedy()


def test_every_beam_setting_arrives(models: LanguageModels) -> None:
    made = decoding(
        models,
        strategy="beam",
        head="tdt",
        size=5,
        n_best=3,
        max_symbols=7,
        length_penalty=0.6,
        label_bonus=0.25,
        duration_weight=0.5,
        method="gibbs",
        norm="lin",
        alpha=0.5,
        aggregation="mean",
        include_duration=True,
    )
    assert made == asr_core.Beam(
        size=5,
        head="tdt",
        n_best=3,
        max_symbols=7,
        length_penalty=0.6,
        label_bonus=0.25,
        duration_weight=0.5,
        confidence=asr_core.Confidence("gibbs", "lin", 0.5, "mean", include_duration=True),
    )


def test_every_maes_setting_arrives(models: LanguageModels) -> None:
    made = decoding(
        models, strategy="maes", size=8, n_best=2, num_steps=3, expansion_beta=0, expansion_gamma=4.0, max_symbols=9
    )
    assert made == asr_core.Maes(size=8, n_best=2, num_steps=3, expansion_beta=0, expansion_gamma=4.0)


def test_what_does_not_apply_stays_neutral(models: LanguageModels) -> None:
    """Values that were typed for another head or strategy are left where they are, also when they are wrong."""
    left = {"size": 9, "n_best": 2, "prune": -1, "duration_weight": 3, "length_penalty": 2, "num_steps": "x"}
    assert decoding(models, strategy="greedy", head="ctc", max_symbols=3, **left) == asr_core.Greedy(head="ctc")
    ctc = decoding(models, strategy="beam", head="ctc", size=2, prune=7, duration_weight=3, include_duration=True)
    assert ctc == asr_core.Beam(size=2, head="ctc", prune=7.0)
    rnnt = decoding(models, strategy="beam", head="rnnt", prune=7, duration_weight=3)
    assert rnnt == asr_core.Beam(head="rnnt")
    assert decoding(models, method="max_prob", norm="lin").confidence == asr_core.Confidence("max_prob")


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        ({"strategy": "beam", "size": 0}, "Beam size is a whole number from 1 to 16, not 0."),
        ({"strategy": "beam", "size": 17}, "Beam size is a whole number from 1 to 16, not 17."),
        ({"strategy": "beam", "size": None}, "Beam size is empty. Give a whole number from 1 to 16"),
        ({"strategy": "beam", "size": 2.5}, "not 2.5"),
        ({"strategy": "beam", "size": True}, "not True"),
        ({"strategy": "beam", "size": float("nan")}, "not nan"),
        ({"strategy": "beam", "size": "5"}, "not '5'"),
        ({"strategy": "beam", "n_best": 99}, "Readings listed"),
        ({"strategy": "beam", "head": "ctc", "prune": 0}, "Prune is a number from 0.5 to 1000"),
        ({"alpha": 1e300}, "Alpha"),
        ({"strategy": "viterbi"}, "Decoder cannot be 'viterbi'"),
        ({"strategy": None}, "Decoder cannot be None"),
        ({"strategy": ["beam"]}, "Decoder cannot be"),
        ({"head": ["tdt"]}, "Head cannot be"),
        ({"method": {"$ne": 1}}, "Measure cannot be"),
        ({"any_case": 1, "phrases": "x"}, "In any letter case cannot be 1"),
        ({"phrases": 5}, "One a line cannot be 5"),
        ({"lm": "abc"}, "ARPA file cannot be 'abc'"),
        ({"lm": {"id": 5}}, "This language model is no longer kept here"),
        ({"lm": {"id": "unknown", "name": "x.arpa"}}, "Choose its file again"),
        ({"phrases": "fine\nnote: this"}, "Line 2 of the phrases"),
    ],
)
def test_bad_values_are_named_as_the_page_names_them(
    models: LanguageModels, chosen: dict[str, object], said: str
) -> None:
    with pytest.raises(asr_core.DecodingError) as error:
        decoding(models, **chosen)
    assert said in str(error.value)


def test_a_language_model_is_read_once_and_shared(models: LanguageModels, tmp_path: Path) -> None:
    file = tmp_path / "uploaded.arpa"
    source = next(LM.glob("*.arpa"))
    file.write_bytes(source.read_bytes())
    key = models.add(file, "mine.arpa")
    chosen = {"strategy": "beam", "head": "tdt", "lm": {"id": key, "name": "mine.arpa"}, "lm_weight": 0.4}
    first, second = decoding(models, **chosen, pruning="early"), decoding(models, **chosen)
    assert (first.fusion.lm_weight, first.fusion.pruning, second.fusion.pruning) == (0.4, "early", "late")
    assert first.fusion.lm is second.fusion.lm
    assert first.fusion.lm.source == "mine.arpa"
    assert first.fusion.lm.grams == asr_core.NgramLM.from_arpa(source).grams


def test_phrases_arrive_with_their_weights(models: LanguageModels) -> None:
    made = decoding(models, phrases="tokenscope: 2.5\nNew York", phrase_weight=2, any_case=False)
    assert made.fusion.lm is None
    assert made.fusion.phrase_weight == 2.0
    assert made.fusion.phrases == asr_core.PhraseBoost({"tokenscope": 2.5, "New York": 1.0}, any_case=False)


def test_names_in_words(models: LanguageModels) -> None:
    lm = asr_core.NgramLM.from_arpa(next(LM.glob("*.arpa")))
    fusion = asr_core.Fusion(lm=lm, lm_weight=0.3, phrases=asr_core.PhraseBoost(["a", "b"]))
    heads = ("tdt", "ctc")
    assert decoder_name(asr_core.Greedy(), heads) == "Greedy, TDT"
    assert decoder_name(asr_core.Greedy(head="ctc"), heads) == "Greedy, CTC"
    assert decoder_name(asr_core.Beam(size=5, fusion=asr_core.Fusion(lm=lm)), heads) == "Beam 5, TDT, LM 0.3"
    assert decoder_name(asr_core.Maes(size=8, fusion=fusion), ("rnnt",)) == "MAES 8, RNN-T, LM 0.3, 2 phrases"
    assert decoder_name(None, ()) == "Greedy"


def test_the_form_asks_for_every_setting_in_words(models: LanguageModels) -> None:
    part = build_decoder_settings(models, render=False)
    assert [one["name"] for one in part.props["form"]] == [one.name for one in fields(DecoderChoice)]
    assert {one["group"] for one in part.props["form"]} == {group for group, _ in GROUPS}
    names = [one["name"] for one in part.props["form"]]
    for one in part.props["form"]:
        assert set(one["when"]) <= set(names[: names.index(one["name"])]), "a condition on a setting that comes later"
    strategies = next(one for one in part.props["form"] if one["name"] == "strategy")["options"]
    assert [value for value, _ in strategies] == list(STRATEGY_NOTES)


def test_whisper_gets_what_applies_to_it(models: LanguageModels) -> None:
    sent = {"head": "whisper", "temperature": 0.4, "prune": 3.0, "max_symbols": 3, "phrases": "Okafor"}
    decoding = decoding_of(DecoderChoice.from_page(sent), models)
    assert decoding == asr_core.Greedy(temperature=0.4, whisper=asr_core.Whisper())
    beam = DecoderChoice.from_page({"strategy": "beam", "head": "whisper", "size": 5, "patience": 2, "label_bonus": 1})
    assert decoding_of(beam, models) == asr_core.Beam(size=5, patience=2.0, whisper=asr_core.Whisper())
    assert decoder_name(decoding, ("whisper",)) == "Greedy, Whisper"


def test_language_and_task_of_whisper(models: LanguageModels) -> None:
    sent = {"head": "whisper", "language": "de", "task": "translate"}
    decoding = decoding_of(DecoderChoice.from_page(sent), models)
    assert decoding == asr_core.Greedy(whisper=asr_core.Whisper(language="de", task="translate"))
    assert decoder_name(decoding, ("whisper",)) == "Greedy, Whisper, German into English"
    told = asr_core.Beam(size=5, whisper=asr_core.Whisper(language="yue"))
    assert decoder_name(told, ("whisper",)) == "Beam 5, Whisper, Cantonese"
    heard = asr_core.Greedy(whisper=asr_core.Whisper(task="translate"))
    assert decoder_name(heard, ("whisper",)) == "Greedy, Whisper, into English"
    # They mean nothing to other models, and nothing else is taken.
    assert decoding_of(DecoderChoice.from_page({**sent, "head": "tdt"}), models) == asr_core.Greedy(head="tdt")
    with pytest.raises(asr_core.DecodingError, match="Language spoken cannot be 'xx'"):
        DecoderChoice.from_page({**sent, "language": "xx"})
    assert len(LANGUAGES) == 101 and LANGUAGES[0][0] == "" and LANGUAGES[1] == ("af", "Afrikaans")


def test_controls_know_the_languages_of_the_model() -> None:
    known = Models()
    update = with_model(known, "mlx-community/whisper-large-v3-turbo")
    assert update["heads"] == ["whisper"] and len(update["languages"]) == 100
    assert with_model(known, "whisper-tiny.en")["languages"] == ["en"]
    assert with_model(known, "demo")["languages"] == with_model(known, "not/known")["languages"] == []


def test_they_know_them_also_when_the_model_has_made_room_for_another(tmp_path: Path) -> None:
    known = Models(kept=1)
    folders = [str(rigs.write_mlx(tmp_path / str(size), rigs.dimensions(size))) for size in (51_865, 51_864)]
    for folder in folders:
        assert with_model(known, folder)["heads"] == []
        known.get(folder)
    assert not known.is_loaded(folders[0]) and known.is_loaded(folders[1])
    assert [len(with_model(known, folder)["languages"]) for folder in folders] == [99, 1]
