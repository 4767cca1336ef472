"""Language models made from text."""

from __future__ import annotations

import json

import numpy as np
import pytest

import asr_core
from asr_core import Beam, DecodingError, Fusion, NgramLM
from asr_core.lm import main, write_arpa
from tests.conftest import ORACLE, SAMPLES

SENTENCES = [[0, 1, 2], [0, 1, 3], [2, 2, 2, 2], [4]]


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_probabilities_of_every_history_sum_to_one(order, tmp_path):
    write_arpa(tmp_path / "lm.arpa", SENTENCES, vocabulary=8, order=order)
    automaton = NgramLM.from_arpa(tmp_path / "lm.arpa").automaton(8)
    for history in ([], [0], [0, 1], [0, 1, 2], [2, 2, 2], [7], [4, 0]):
        state = automaton.initial
        for label in history:
            state = automaton.advance(np.array([state]))[1][0, label]
        weights = automaton.advance(np.array([state]))[0][0]
        assert np.exp(weights).sum() + np.exp(automaton.finals[state]) == pytest.approx(1, abs=1e-4), history


def test_what_was_seen_is_likelier(tmp_path):
    write_arpa(tmp_path / "lm.arpa", SENTENCES, vocabulary=8, order=3)
    automaton = NgramLM.from_arpa(tmp_path / "lm.arpa").automaton(8)
    first = automaton.advance(np.array([automaton.initial]))[0][0]
    assert first[0] > first[2] > first[5]
    assert first[5] == pytest.approx(first[7])


def test_command_and_use(tmp_path, demo, capsys):
    text = tmp_path / "text.txt"
    text.write_text("Why would you sell a sandwich?\nWhy would you buy a sandwich?\n\n", encoding="utf-8")
    assert main([str(text), "-o", str(tmp_path / "lm.arpa"), "--order", "3"]) == 0
    assert "2 sentences" in capsys.readouterr().out
    fusion = Fusion(lm=NgramLM.from_arpa(tmp_path / "lm.arpa"), lm_weight=0.3)
    transcript = demo.transcribe(SAMPLES / "sandwich.flac", decoding=Beam(fusion=fusion))
    assert transcript.text == "Why would you sell a sandwich?"


def test_what_is_wrong_is_said(tmp_path, capsys):
    (tmp_path / "empty.txt").write_text("\n \n")
    assert main([str(tmp_path / "empty.txt"), "-o", str(tmp_path / "lm.arpa")]) == 1
    assert "no text" in capsys.readouterr().err
    assert main([str(tmp_path / "nothing.txt"), "-o", str(tmp_path / "lm.arpa")]) == 1
    for content, match in (
        ("hello", "not a whole ARPA file"),
        ("\\data\\\nngram 1=1\n\n\\1-grams:\n-1\tabc\n\\end\\", "single characters"),
        ("\\data\\\nngram 1=2\n\n\\1-grams:\n-1\ta\n\\end\\", "declares"),
        ("\\data\\\nngram 1=x\n", "ngram N=count"),
    ):
        (tmp_path / "broken.arpa").write_text(content)
        with pytest.raises(DecodingError, match=match):
            NgramLM.from_arpa(tmp_path / "broken.arpa")
    with pytest.raises(DecodingError, match="cannot be read"):
        NgramLM.from_arpa(tmp_path / "nothing.arpa")


def test_a_transcript_names_its_language_model_and_does_not_hold_it(demo, tmp_path) -> None:
    lm = asr_core.NgramLM.from_arpa(next((ORACLE / "lm").glob("*.arpa")))
    decoding = asr_core.Greedy(fusion=asr_core.Fusion(lm=lm))
    asr_core.formats.write(asr_core.Transcript(decoding=decoding), tmp_path / "a.json")
    written = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))["decoding"]["fusion"]["lm"]
    assert written == {"type": "NgramLM", **lm.described()}
