"""What strangers send: refused in a sentence, or bounded. Each case was a fault once."""

from __future__ import annotations

import struct
import time

import numpy as np
import pytest

import asr_core
from asr_core import Beam, Fusion, Greedy, NgramLM
from components.documents import Documents
from components.downloads import export
from tests.conftest import SAMPLES


@pytest.mark.parametrize("rate", [0, 1, -5, 2**31, 2**63, 10**400, 1e15, float("nan"), True, "16000", None])
def test_sample_rates_that_would_break_the_resampler(rate, demo):
    for refused in (
        lambda: asr_core.read_audio((rate, np.zeros(100, np.float32))),
        lambda: asr_core.read_audio(SAMPLES / "sandwich.flac", sample_rate=rate),
        lambda: demo.transcribe(np.zeros(3200, np.float32), sample_rate=rate),
    ):
        with pytest.raises(asr_core.AudioError, match="sample rate"):
            refused()


def test_a_file_that_hides_its_length_is_cut_off_at_the_limit():
    with pytest.raises(asr_core.AudioError, match="longer than"):
        asr_core.read_audio(SAMPLES / "meeting-date.flac", max_seconds=2)
    assert len(asr_core.read_audio(SAMPLES / "meeting-date.flac", max_seconds=60)) > 16_000


def test_a_wav_of_millions_of_empty_chunks_is_given_up_soon():
    chunks = struct.pack("<4sI", b"junk", 0) * 300_000
    wav = b"RIFF" + struct.pack("<I", len(chunks) + 4) + b"WAVE" + chunks
    import io

    from asr_core.audio_files import _wav_is_cut_off

    started = time.process_time()
    _wav_is_cut_off(io.BytesIO(wav), len(wav))
    assert time.process_time() - started < 1


def test_empty_and_ragged_arrays(demo):
    for array in (np.zeros((0, 2)), np.zeros((5, 0)), np.zeros(0)):
        assert asr_core.read_audio((16_000, array)).shape == (0,)
    with pytest.raises(asr_core.AudioError, match="ragged"):
        demo.transcribe([[1, 2], [3]])


@pytest.mark.parametrize("source", [None, 5, b"demo", ["demo"], "a" * 5000, "~nobody-of-that-name/x", "a\0b", ""])
def test_names_that_are_no_models(source):
    with pytest.raises(asr_core.ModelError) as caught:
        asr_core.load_model(source)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    "make",
    [
        lambda: Beam(prune=None),
        lambda: Beam(label_bonus=10**400),
        lambda: Beam(confidence="min"),
        lambda: Greedy(fusion="lm"),
        lambda: Greedy(head=np.zeros(2)),
        lambda: Fusion(lm="lm.arpa"),
        lambda: Fusion(phrases=["a"]),
        lambda: asr_core.Confidence(alpha="0.3"),
        lambda: asr_core.Maes(expansion_gamma=None),
        lambda: NgramLM.from_arpa(None),
    ],
)
def test_settings_of_the_wrong_kind(make):
    with pytest.raises(asr_core.DecodingError):
        make()


@pytest.mark.parametrize("decoding", [None, "greedy", Greedy])
def test_decoding_of_the_wrong_kind(decoding, demo):
    with pytest.raises(asr_core.DecodingError, match="Greedy, Beam or Maes"):
        demo.transcribe(np.zeros(1600), decoding=decoding)


@pytest.mark.parametrize("value", ["nan", "inf", "1e999"])
def test_language_models_of_impossible_numbers(value, tmp_path):
    (tmp_path / "lm.arpa").write_text(f"\\data\\\nngram 1=1\n\n\\1-grams:\n{value}\td\n\n\\end\\\n")
    with pytest.raises(asr_core.DecodingError, match="Line 5"):
        NgramLM.from_arpa(tmp_path / "lm.arpa")


@pytest.mark.parametrize("name", ["x.html", "x.svg", "x.js", "a\ud800b.wav"])
def test_what_came_is_served_from_nowhere(name, tmp_path):
    documents = Documents(tmp_path, max_documents=5, retention_hours=1)
    document = documents.add(SAMPLES / "sandwich.flac", name, move=False)
    assert documents.folder not in document.source.parents
    assert documents.folder in document.folder.parents
    document.name.encode("utf-8")
    documents.remove(document.id)
    assert not document.source.exists()
    assert not document.folder.exists()


@pytest.mark.parametrize("format", [["srt"], {}, None, 5, "exe"])
def test_exports_of_unknown_formats(format, tmp_path):
    documents = Documents(tmp_path, max_documents=5, retention_hours=1)
    document = documents.add(SAMPLES / "sandwich.flac", "a.flac", move=False)
    with pytest.raises(asr_core.FormatError):
        export(document, format)


@pytest.mark.parametrize("path", ["a\0.srt", "\ud800.srt", "x" * 300 + ".srt", "", ".", "/", None, 5, b"a.srt"])
def test_paths_that_cannot_be_written(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(asr_core.FormatError):
        asr_core.formats.write(asr_core.Transcript(), path, format="srt")
    assert list(tmp_path.iterdir()) == []


def test_only_transcripts_are_written(tmp_path):
    with pytest.raises(asr_core.FormatError):
        asr_core.formats.write("text", tmp_path / "a.srt")
    with pytest.raises(asr_core.FormatError):
        asr_core.formats.write(asr_core.Transcript(), tmp_path / "a.srt", format=5)
