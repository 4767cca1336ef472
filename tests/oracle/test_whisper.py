"""Whisper tiny.en against openai-whisper on the same weights: front end, encoder, searches, silence, word times."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import pytest

import asr_core
from asr_core import Beam, Greedy, Whisper
from asr_core.decoding.autoregressive import Candidate, rank
from asr_core.whisper import search
from asr_core.whisper.fallback import is_silence
from tests.conftest import DATA, whisper_clip
from tests.recalling import recalling

CLIPS = ("librivox_austen_0880", "cards_005", "ps_goforward", "librispeech_mlx")
NOISE = "synthetic_noise_5s_seed0_std0.05"
#: What is decoded of each clip; more would say the same again.
MODES = {
    "librivox_austen_0880": ("greedy", "greedy_nots", "beam2_nots", "beam5"),
    "cards_005": ("beam5_nots",),
    "ps_goforward": ("greedy", "beam5_p2_nots"),
    "librispeech_mlx": ("beam5_nots",),
    NOISE: ("greedy", "beam5_nots"),
}


@cache
def expected(clip: str) -> Mapping[str, Any]:
    return json.loads((DATA / "whisper" / f"{clip}.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def whisper(whisper):
    """With a memory: what several tests ask of the network is computed once."""
    return recalling(whisper)


@pytest.fixture(scope="module")
def encoded(whisper):
    """Encoder output (1, 1500, width) and frames (1,) of a clip, computed once."""

    @cache
    def of(clip: str) -> tuple[np.ndarray, np.ndarray]:
        return whisper.encode(*whisper.features([whisper_clip(clip)]))

    return of


def decoding_of(mode: str) -> Greedy | Beam:
    options = Whisper(timestamps=not mode.endswith("nots"))
    if mode.startswith("greedy"):
        return Greedy(whisper=options)
    return Beam(size=int(mode[4]), patience=2.0 if "_p2" in mode else 1.0, whisper=options)


def reading(whisper, encoded: np.ndarray, decoding: Greedy | Beam, before: list[int] | None = None) -> search.Reading:
    options = decoding.whisper
    return search.read(
        whisper.decoder,
        whisper.decoder.begin(encoded),
        [search.prompt_of(whisper.tokenizer, options, None, before or [], whisper.decoder.room)],
        search.search_of(decoding, 0.0, None, whisper.vocabulary.special.end),
        search.filters_of(whisper.tokenizer, options),
        whisper.tokenizer,
    )[0]


@pytest.mark.parametrize("clip", CLIPS)
def test_log_mel_and_encoder(whisper, encoded, clip) -> None:
    wanted = expected(clip)
    mel, lengths = whisper.features([whisper_clip(clip)])
    assert lengths[0] == wanted["n_samples"] // 160
    assert mel.sum(dtype=float) == pytest.approx(wanted["mel_sum"], rel=1e-5)
    assert mel[0, :4, :3].T.ravel() == pytest.approx(np.ravel(wanted["mel_first"]), abs=1e-4)
    found, frames = encoded(clip)
    assert frames[0] == lengths[0] // 2
    assert found[0, :2, :4].ravel() == pytest.approx(np.ravel(wanted["enc_head"]), abs=1e-4)
    assert (found.mean(), found.std(ddof=1)) == pytest.approx((wanted["enc_mean"], wanted["enc_std"]), abs=1e-4)


@pytest.mark.parametrize("clip", MODES)
def test_searches(whisper, encoded, clip) -> None:
    for mode in MODES[clip]:
        wanted = expected(clip)["modes"][mode]
        found = reading(whisper, encoded(clip)[0], decoding_of(mode))
        assert list(found.best.tokens) == wanted["tokens"], mode
        assert found.no_speech == pytest.approx(wanted["no_speech_prob"], abs=1e-4)
        sums = {candidate.tokens: candidate.sum_log_prob for candidate in found.candidates}
        theirs = {tuple(one["tokens"]): one["sum_logprob"] for one in wanted["candidates"]}
        assert sums.keys() == theirs.keys(), mode
        assert all(sums[tokens] == pytest.approx(theirs[tokens], abs=1e-3) for tokens in theirs)
        assert not {t for tokens in sums for t in tokens} & set(whisper.tokenizer.suppressed)
        in_order = [Candidate(tokens, sums[tokens]) for tokens in theirs]
        for penalty, position in wanted.get("rank", {}).items():
            assert rank(in_order, None if penalty == "None" else float(penalty)) == position


@pytest.mark.parametrize("clip", ["librivox_austen_0880", "librispeech_mlx"])
def test_word_times(whisper, encoded, clip) -> None:
    heard = whisper.decode(*encoded(clip), decoding_of("greedy_nots"))[0][0]
    assert heard.token_ids == tuple(expected(clip)["modes"]["greedy_nots"]["tokens"])
    at = 0
    for word in expected(clip)["alignment"]:
        behind = at + len(word["tokens"])
        assert heard.token_ids[at:behind] == tuple(word["tokens"])
        times = heard.start_frames[at] * 0.02, heard.end_frames[behind - 1] * 0.02
        assert times == pytest.approx((word["start"], word["end"]), abs=0.02)
        assert np.exp(heard.log_probs[at:behind]).mean() == pytest.approx(word["probability"], abs=1e-3)
        at = behind
    assert at == len(heard.token_ids) and all(0 <= c <= 1 for c in heard.confidences)


def test_words_of_a_transcript(whisper) -> None:
    clip = "librivox_austen_0870"
    heard = whisper.transcribe(whisper_clip(clip), decoding=decoding_of("greedy_nots"))
    theirs = expected(clip)["segment_words"]
    assert heard.text == expected(clip)["modes"]["greedy_nots"]["text"]
    assert [word.text for word in heard.words] == [word["word"].strip() for word in theirs]
    for word, wanted in zip(heard.words, theirs, strict=True):
        assert (word.start, word.end) == pytest.approx((wanted["start"], wanted["end"]), abs=0.02)


def test_a_beam_of_one_is_greedy_and_a_batch_is_its_items(whisper, encoded) -> None:
    pair = [encoded(clip) for clip in ("cards_005", "ps_goforward")]
    both = np.concatenate([item[0] for item in pair]), np.concatenate([item[1] for item in pair])
    greedy = whisper.decode(*both, decoding_of("greedy_nots"))
    assert whisper.decode(*both, Beam(size=1, whisper=Whisper(timestamps=False))) == greedy
    beams = whisper.decode(*both, decoding_of("beam2_nots"))
    for item, one, several in zip(pair, greedy, beams, strict=True):
        same(one, whisper.decode(*item, decoding_of("greedy_nots"))[0])
        same(several, whisper.decode(*item, decoding_of("beam2_nots"))[0])
    # A beam without true scores loses this word.
    assert whisper.vocabulary.decode(beams[0][0].token_ids).startswith("Eight")


def same(found: list[asr_core.Hypothesis], wanted: list[asr_core.Hypothesis]) -> None:
    assert [(one.token_ids, one.start_frames) for one in found] == [(one.token_ids, one.start_frames) for one in wanted]
    assert [one.score for one in found] == pytest.approx([one.score for one in wanted], abs=1e-4)


def test_no_speech_is_read_where_the_text_starts(whisper, encoded) -> None:
    plain = reading(whisper, encoded("cards_005")[0], decoding_of("greedy"))
    # A prompt changes what is heard, but the probability stays that of the clip: it is not read at the prompt.
    prompted = reading(whisper, encoded("cards_005")[0], decoding_of("greedy"), whisper.tokenizer.encode("The cards."))
    assert prompted.no_speech == pytest.approx(plain.no_speech, abs=0.2)
    assert is_silence(reading(whisper, encoded(NOISE)[0], decoding_of("greedy_nots")))


def test_a_long_prompt_leaves_room(whisper) -> None:
    before = whisper.tokenizer.encode("card " * 500)
    prompt = search.prompt_of(whisper.tokenizer, Whisper(), None, before, 448)
    assert len(prompt.tokens) == 225 and prompt.start == 224


def test_suppressed_tokens_are_those_of_the_checkpoint(whisper) -> None:
    # The file's own list was made by CTranslate2's converter from openai-whisper.
    assert len(whisper.tokenizer.suppressed) == 90 and whisper.tokenizer.blank == (220, 50256)
    assert {1, 2, 7, 357, 366, 438, 49146, 50257, 50357, 50361} <= set(whisper.tokenizer.suppressed)
