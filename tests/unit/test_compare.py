"""The Compare tab without a browser: its handlers, what it sends to the page, and what the page may change."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import jiwer
import pytest
from gradio.utils import get_upload_folder

import asr_core
from asr_core import formats, judging
from components import compare as tab
from components import presets
from components.compare_charts import MOST_BARS, calibration_of, reliability_curve, stretches, timeline
from components.compare_columns import Columns, with_language
from components.compare_data import data_of, moments_of
from components.compare_reference import measured
from components.compare_view import changes_of
from components.documents import Sound
from components.screen import KEEP
from components.services import Services
from components.settings import Settings
from components.trials import Column, Trial, Trials, UnknownTrialError

SAMPLES = Path(__file__).parents[2] / "assets" / "samples"
NAME = "friday-meeting.flac"
#: What its file says: the sentences of the samples it was made of.
TEXT = "The meeting is on Friday, the 6th of December, at two ten in the morning. Add a table to my list."


@pytest.fixture
def services(tmp_path: Path) -> Services:
    return Services.start(Settings(data=tmp_path, max_minutes=1))


@pytest.fixture(scope="module")
def heard(demo: asr_core.Recognizer) -> list[asr_core.Transcript]:
    """The sample through both heads and a beam."""
    decodings = [asr_core.Greedy(head="tdt"), asr_core.Greedy(head="ctc"), asr_core.Beam(size=5)]
    return demo.decode_all(asr_core.read_audio(SAMPLES / NAME), decodings)


@pytest.fixture
def trial(heard: list[asr_core.Transcript]) -> Trial:
    return Trials().add("a recording", [Column(name, one) for name, one in zip(("a", "b", "c"), heard, strict=True)])


def said(*texts: str) -> Trial:
    """Transcripts of these words, each word in a second of its own."""

    def transcript(text: str) -> asr_core.Transcript:
        words = [asr_core.Word(word, float(i), i + 1.0, 0.5, ()) for i, word in enumerate(text.split())]
        return asr_core.Transcript(text=text, words=tuple(words), duration=10.0)

    return Trials().add("x", [Column(text, transcript(text)) for text in texts])


def last(screens: Iterator[tab.CompareScreen]) -> dict[str, object]:
    """What the tab shows in the end, as far as the handler has said."""
    shown: dict[str, object] = {}
    for screen in screens:
        shown |= {name: value for name, value in vars(screen).items() if value is not KEEP}
    return shown


def pressed(services: Services, preset: str = "heads", count: object = 2) -> dict[str, object]:
    """The sample is picked, a preset chosen, and Compare pressed."""
    document = tab.take_file(services, SAMPLES / NAME, NAME, move=False).document
    values = presets.preset_of(preset, ("tdt", "ctc")).values
    columns = Columns("demo", [""] * 4, values + values)
    return last(tab.compare(services, document, columns, SimpleNamespace(count=count, preset=preset)))


def test_a_preset_becomes_a_comparison(services: Services, heard: list[asr_core.Transcript]) -> None:
    shown = pressed(services)
    assert shown["messages"]["stage"] == "result"
    trial = services.trials.get(shown["view"]["id"])
    assert [column.name for column in trial.columns] == ["Greedy, TDT", "Greedy, CTC"]
    assert [column.transcript.tokens for column in trial.columns] == [heard[0].tokens, heard[1].tokens]
    assert all(column.seconds > 0 for column in trial.columns)


def test_a_model_hears_the_recording_once_for_all_its_columns(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder, calls = asr_core.Recognizer.encode_audio, []

    def counted(self: asr_core.Recognizer, audios: list, *rest: object) -> object:
        calls.append(len(audios))
        return encoder(self, audios, *rest)

    monkeypatch.setattr(asr_core.Recognizer, "encode_audio", counted)
    shown = pressed(services, count=4)
    assert len(services.trials.get(shown["view"]["id"]).columns) == 4
    assert calls == [1]


def test_the_data_is_json_and_says_where_empty_slots_are(services: Services) -> None:
    trial = services.trials.get(pressed(services)["view"]["id"])
    document = services.documents.get(trial.document)
    sent = json.loads(json.dumps(data_of(trial, document), allow_nan=False))
    assert len(sent["columns"]) == 2 and sent["audio"].startswith(document.id)
    assert data_of(trial, document, sent["audio"])["peaks"] is None
    assert [one["kind"] for one in sent["differences"]] == [one.kind for one in trial.comparison.differences]
    assert moments_of(trial, document)


@pytest.mark.parametrize(
    ("texts", "slots"),
    [
        (("a b c", "a c"), [[None, 1]]),
        (("a c", "a b c"), [[1, None]]),
        (("b c", "a b c"), [[0, None]]),
        (("a b", "a b c"), [[2, None]]),
        (("a b c", "c"), [[None, 0], [None, 0]]),
        (("a c", "a b c", "a c"), [[1, None, 1]]),
        (("a b c", "a c", "a x c"), [[None, 1, None]]),
        (("", "a"), [[0, None]]),
    ],
)
def test_empty_slots(texts: tuple[str, ...], slots: list[list[int | None]], services: Services) -> None:
    trial = said(*texts)
    document = tab.take_file(services, SAMPLES / NAME, NAME, move=False).document
    sound = Sound(asr_core.read_audio(SAMPLES / NAME), 16_000, None)
    ready = services.documents.prepare(document, sound)
    rows = data_of(trial, ready)["differences"]
    assert [one["slots"] for one in rows if one["kind"] != "boundary"] == slots


@pytest.mark.parametrize(
    ("heads", "names"),
    [
        (("tdt", "ctc"), ["Greedy vs beam 5", "TDT vs CTC", "Beam vs beam + LM"]),
        (("ctc",), ["Greedy vs beam 5", "Beam vs beam + LM"]),
        (("rnnt",), ["Greedy vs beam 5", "Beam vs beam + LM", "MAES vs MALSD"]),
        ((), ["Greedy vs beam 5", "Beam vs beam + LM"]),
        (("whisper",), ["Greedy vs beam 5"]),
    ],
)
def test_presets_are_those_that_the_model_can_do(heads: tuple[str, ...], names: list[str]) -> None:
    assert [name for _, name in presets.offered(heads)] == [*names, "Parakeet against Whisper"]


def test_the_other_family_comes_beside_the_pages_model() -> None:
    assert presets.preset_of("whisper", ("tdt", "ctc")).models == ("", "whisper-tiny.en")
    found = presets.preset_of("whisper", ("whisper",))
    assert found.models == ("demo", "") and [column.head for column in found.columns] == ["tdt", "whisper"]


def test_beam_with_a_language_model_asks_for_it(services: Services) -> None:
    shown = pressed(services, "lm")
    error = shown["messages"]["messages"][0]
    assert error["kind"] == "error" and "ARPA" in error["text"]
    assert "view" not in shown


@pytest.mark.parametrize("count", [None, 1, 5, "2", 2.5])
def test_other_numbers_of_decoders_are_refused(services: Services, count: object) -> None:
    assert pressed(services, count=count)["messages"]["messages"][0]["kind"] == "error"


def test_without_audio_nothing_runs(services: Services) -> None:
    columns = Columns("demo", [""] * 4, [{}] * 4)
    shown = last(tab.compare(services, "", columns, SimpleNamespace(count=2, preset="")))
    assert "Add audio first" in shown["messages"]["messages"][0]["text"]
    shown = last(tab.compare(services, "gone", columns, SimpleNamespace(count=2, preset="")))
    assert "no longer kept" in str(shown["messages"]["messages"][0])


def test_the_recording_of_transcribe_can_be_taken(services: Services) -> None:
    document = services.documents.add(SAMPLES / NAME, "mine.flac", move=False)
    screen = tab.take_transcribed(services, document.id)
    assert screen.document == document.id and screen.source["name"] == "mine.flac"
    assert tab.take_transcribed(services, "gone").messages["messages"][0]["kind"] == "error"


def test_a_picked_reading_changes_the_tier(trial: Trial) -> None:
    assert trial.columns[2].transcript.alternatives
    other = replace(trial, **changes_of(trial, {"reading": [2, 1]}))
    assert other.columns[2].shown.text == trial.columns[2].transcript.alternatives[0].text
    assert other.comparison.transcripts[2].text != trial.comparison.transcripts[2].text


def test_picks_are_counted_taken_back_and_make_a_text() -> None:
    trial = said("a b c d", "a x c")
    words = [i for i, one in enumerate(trial.comparison.differences) if one.kind != "boundary"]
    trial = replace(trial, **changes_of(trial, {"pick": [words[0], 1]}))
    trial = replace(trial, **changes_of(trial, {"pick": [words[1], judging.NEITHER]}))
    assert trial.judged == {words[0]: 1, words[1]: judging.NEITHER}
    assert judging.reviewed(trial.comparison, trial.judged).text.split()[:3] == ["a", "x", "c"]
    trial = replace(trial, **changes_of(trial, {"pick": [words[0], None]}))
    assert trial.judged == {words[1]: judging.NEITHER}


def test_picks_stay_with_their_difference_when_the_list_changes() -> None:
    def column(name: str, *words: tuple[str, float]) -> Column:
        made = tuple(asr_core.Word(text, start, start + 0.5, 0.5, ()) for text, start in words)
        return Column(name, asr_core.Transcript(" ".join(text for text, _ in words), words=made, duration=5.0))

    here, there = column("a", ("one", 0.0), ("two", 1.0)), column("b", ("one", 0.3), ("too", 1.0))
    trial = Trials().add("x", [here, there])
    index = next(i for i, one in enumerate(trial.comparison.differences) if one.kind != "boundary")
    word = trial.comparison.differences[index]
    trial = replace(trial, **changes_of(trial, {"pick": [index, 1]}))
    wide = replace(trial, **changes_of(trial, {"moved": 5}))
    assert len(wide.comparison.differences) < len(trial.comparison.differences)
    assert [wide.comparison.differences[i] for i in wide.judged] == [word]


@pytest.mark.parametrize(
    "change",
    [
        None,
        {},
        {"moved": "1"},
        {"moved": float("nan")},
        {"moved": -1},
        {"moved": True},
        {"pick": [0]},
        {"pick": [999, 0]},
        {"pick": [0, 3]},
        {"pick": [0, True]},
        {"pick": [-1, 0]},
        {"reading": [0, 99]},
        {"reading": [9, 0]},
        {"reference": 5},
        {"reference": {"path": "/etc/passwd", "name": "x.txt"}},
        {"reference": {"text": "a" * 1_000_001}},
    ],
)
def test_changes_that_make_no_sense_are_refused(trial: Trial, change: object) -> None:
    with pytest.raises(asr_core.AsrError):
        changes_of(trial, change)


@pytest.mark.parametrize("text", [TEXT, "One word", "the Meeting is on friday  the\nsixth"])
def test_a_reference_gives_the_rates_of_jiwer(trial: Trial, text: str) -> None:
    trial = replace(trial, **changes_of(trial, {"reference": {"text": text}}))
    plain = " ".join(text.split())
    for column, result in zip(trial.columns, measured(trial)["results"], strict=True):
        assert result["wer"] == pytest.approx(jiwer.wer(plain, column.shown.text))
        assert result["cer"] == pytest.approx(jiwer.cer(plain, column.shown.text))
        assert result["boundaries"] is None


def test_case_and_punctuation_can_be_ignored(trial: Trial) -> None:
    loud = trial.columns[0].shown.text.upper().replace(",", "").replace(".", "")
    trial = replace(trial, **changes_of(trial, {"reference": {"text": loud}}))
    assert measured(trial)["results"][0]["wer"] > 0.5
    trial = replace(trial, **changes_of(trial, {"case": True, "punctuation": True}))
    assert measured(trial)["results"][0]["wer"] == 0


@pytest.mark.parametrize("format", ["textgrid", "ctm", "json"])
def test_a_file_with_times_gives_boundary_errors(
    trial: Trial, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: str
) -> None:
    folder = tmp_path / "uploads"
    folder.mkdir()
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(folder))
    assert get_upload_folder() == str(folder)
    file = folder / f"right.{format}"
    formats.write(trial.columns[0].shown, file, format=format)
    trial = replace(trial, **changes_of(trial, {"reference": {"path": str(file), "name": file.name}}))
    found = measured(trial)
    assert not file.exists()
    assert found["timed"] and found["results"][0]["wer"] == 0
    assert found["results"][0]["boundaries"]["mean"] < 0.011
    assert found["results"][1]["boundaries"]["mean"] > 0.02


def test_a_text_file_has_no_times(trial: Trial, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path))
    file = tmp_path / "right.txt"
    file.write_text(trial.columns[0].shown.text, encoding="utf-8")
    trial = replace(trial, **changes_of(trial, {"reference": {"path": str(file), "name": file.name}}))
    found = measured(trial)
    assert not found["timed"]
    assert (found["results"][0]["wer"], found["results"][0]["boundaries"]) == (0, None)


def test_the_timeline_has_a_bar_for_each_sentence(trial: Trial) -> None:
    figure = timeline(trial)
    assert [len(bars.x) for bars in figure.data] == [len(column.shown.sentences) for column in trial.columns]
    assert figure.data[0].base[0] == trial.columns[0].shown.sentences[0].start


def test_many_sentences_share_bars(trial: Trial) -> None:
    sentences = trial.columns[0].shown.sentences * 500
    bars = stretches(sentences, MOST_BARS)
    assert len(bars) <= MOST_BARS
    assert sum(bar.last - bar.first + 1 for bar in bars) == len(sentences)


def test_the_reliability_curve_needs_a_reference(trial: Trial) -> None:
    assert reliability_curve(trial) is None
    trial = replace(trial, **changes_of(trial, {"reference": {"text": trial.columns[0].shown.text}}))
    figure = reliability_curve(trial, dark=True)
    found = calibration_of(trial, trial.columns[1])
    assert list(figure.data[2].y) == [one.accuracy for one in found.bins]
    assert f"{found.ece:.3f}" in figure.data[2].name


def test_comparisons_are_bounded_and_forgotten(trial: Trial) -> None:
    trials = Trials(kept=2)
    kept = [trials.add("x", trial.columns) for _ in range(3)]
    assert trials.get(kept[2].id) is kept[2]
    for key in (kept[0].id, "gone", None, 5):
        with pytest.raises(UnknownTrialError, match="Press Compare again"):
            trials.get(key)


def test_a_column_says_which_language_was_detected() -> None:
    heard = asr_core.Transcript(language="de", decoding=asr_core.Greedy(whisper=asr_core.Whisper()))
    assert with_language("Greedy, Whisper", heard, ("en", "de")) == "Greedy, Whisper, German detected"
    told = replace(heard, decoding=asr_core.Greedy(whisper=asr_core.Whisper(language="de")))
    for one, languages in ((told, ("en", "de")), (heard, ("de",)), (asr_core.Transcript(), ())):
        assert with_language("Greedy, Whisper", one, languages) == "Greedy, Whisper"
