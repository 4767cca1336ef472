"""Small rigged inputs on which other decoders lose tokens, never end or return nonsense."""

from __future__ import annotations

import numpy as np
import pytest

import asr_core
from asr_core.alignment import Hypothesis
from asr_core.decoding import beam, greedy, maes
from asr_core.decoding.boosting import PhraseBoost
from asr_core.decoding.fusion import fuse
from asr_core.decoding.options import Beam, Decoding, Fusion, Greedy, Maes
from asr_core.models.transducer import Transducer
from tests.conftest import ORACLE, SAMPLES
from tests.rigs import lattice_sum, random_head, tabled

SIZES = [1, 2, 3, 4, 5, 8, 16]
DURATIONS = (0, 1, 2, 3, 4)


def search(states: np.ndarray, head: Transducer, options: Decoding, lengths=None) -> list[Hypothesis]:
    """The best hypothesis of each item."""
    lengths = np.full(len(states), states.shape[1]) if lengths is None else np.asarray(lengths)
    if isinstance(options, Greedy):
        return greedy.transducer(states, lengths, head, options)
    module = beam if isinstance(options, Beam) else maes
    return [found[0] for found in module.transducer(states, lengths, head, options, None)]


def pattern_a(labels: int = 40) -> tuple[np.ndarray, Transducer]:
    """40 frames, one certain token each; a TDT beam that returns what is unfinished loses six of them."""
    table = np.full((40, labels + 1 + 5), -9.0)
    table[np.arange(40), np.arange(40) % labels] = 0
    table[:, labels] = -3
    table[:, labels + 1 :] = [-9, 0, -9, -9, -2.5]
    return tabled(table, labels, DURATIONS)


def pattern_b() -> tuple[np.ndarray, Transducer]:
    """24 frames of one token each, the later ones less certain."""
    table = np.full((24, 4 + 5), -9.0)
    table[:6, 0] = 0
    table[6:, :4] = 0
    table[np.arange(6, 24), np.arange(6, 24) % 3] = 0.4
    table[:, 4:] = [-9, 0, -9, -9, -9]
    return tabled(table, 3, DURATIONS)


def every_fourth() -> tuple[np.ndarray, Transducer]:
    """40 frames with a clear token every fourth, blank elsewhere, and a tempting long step."""
    table = np.full((40, 4 + 5), -9.0)
    table[:, 3] = 0
    at = np.arange(0, 40, 4)
    table[at, 3], table[at, at // 4 % 3] = -2, 0
    table[:, 4:] = [-9, 0, -9, -9, -1]
    return tabled(table, 3, DURATIONS)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("settings", [{}, {"length_penalty": 0.0}, {"duration_weight": 0.5, "length_penalty": 0.0}])
def test_forty_certain_tokens_come_back(size: int, settings: dict) -> None:
    states, head = pattern_a()
    assert search(states, head, Greedy())[0].token_ids == tuple(range(40))
    assert search(states, head, Beam(size=size, **settings))[0].token_ids == tuple(range(40))


@pytest.mark.parametrize("size", [4, 8])
def test_a_shorter_reading_wins_only_where_its_alignments_are_more_probable(size: int) -> None:
    """With three labels in turn, a jump over three tokens says the same wherever it is made: the sum of these wins."""
    states, head = pattern_a(labels=3)
    found = beam.transducer(states, np.array([40]), head, Beam(size=size, length_penalty=0.0), None)[0]
    for hypothesis in found[:3]:
        assert hypothesis.score <= lattice_sum(states[0], hypothesis.token_ids, head) + 1e-3
    assert found[0].score > search(states, head, Greedy())[0].score


@pytest.mark.parametrize("size", SIZES)
def test_ten_clear_tokens_between_blanks_come_back(size: int) -> None:
    states, head = every_fourth()
    expected = tuple(i % 3 for i in range(10))
    assert search(states, head, Greedy())[0].token_ids == expected
    assert search(states, head, Beam(size=size))[0].token_ids == expected


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("rig", [pattern_a, pattern_b, every_fourth])
def test_only_what_reached_the_end_is_returned_with_a_true_score(rig, size: int) -> None:
    states, head = rig()
    lengths = np.array([states.shape[1]])
    best = search(states, head, Greedy())[0].score
    found = beam.transducer(states, lengths, head, Beam(size=size), None)[0]
    assert max(h.score for h in found) >= best - 1e-4
    assert all(hypothesis.score <= 1e-6 for hypothesis in found)
    # What lacks its last frames would score above the sum of all that reach the end.
    for hypothesis in found[:3]:
        assert hypothesis.score <= lattice_sum(states[0], hypothesis.token_ids, head) + 1e-3
    # Nothing is missing at the end: every frame of these rigs but blanks carries a token.
    if rig is pattern_b:
        assert len(found[0].token_ids) == 24


@pytest.mark.parametrize("size", SIZES)
def test_an_rnnt_beam_reaches_the_end(size: int) -> None:
    table = np.zeros((24, 4))
    table[np.arange(0, 24, 3), np.arange(8) % 3] = 1.0
    table[np.arange(0, 24, 3), 3] = 0.0
    states, head = tabled(table, 3, max_symbols=3)
    best = search(states, head, Greedy())[0]
    found = beam.transducer(states, np.array([24]), head, Beam(size=size), None)[0]
    for hypothesis in found:
        assert hypothesis.score <= lattice_sum(states[0], hypothesis.token_ids, head) + 1e-3
    if size == 1:
        assert found[0].token_ids == best.token_ids


ALL = [Greedy(), Beam(size=1), Beam(size=4), Beam(size=16), Maes(size=1), Maes(size=4), Maes(compat="nemo")]


@pytest.mark.parametrize("options", ALL[:4], ids=repr)
def test_blank_of_duration_nought_ends(options: Decoding) -> None:
    table = np.full((50, 4 + 5), -100.0)
    table[:, 3] = table[:, 4] = 0
    states, head = tabled(table, 3, DURATIONS)
    assert search(states, head, options)[0].token_ids == ()


@pytest.mark.parametrize("options", ALL, ids=repr)
def test_a_frame_that_never_turns_blank_ends(options: Decoding) -> None:
    table = np.full((2, 4), -100.0)
    table[:, 1] = 0
    states, head = tabled(table, 3)
    limit = 2 * (options.num_steps if isinstance(options, Maes) else 10)
    tokens = search(states, head, options)[0].token_ids
    assert len(tokens) <= limit
    # A wide beam also holds other readings: the blank that ends a frame is as improbable as any other label.
    assert tokens.count(1) >= limit - 2
    if not isinstance(options, Maes):
        table = np.concatenate([table, np.repeat([[0.0, -100.0]], 2, axis=0)], axis=1)
        states, head = tabled(table, 3, (0, 1))
        assert len(search(states, head, options)[0].token_ids) <= limit


@pytest.mark.parametrize("options", ALL, ids=repr)
def test_a_row_of_no_frames_emits_nothing(options: Decoding) -> None:
    head = random_head(3, 5)
    states = np.random.default_rng(0).standard_normal((3, 6, 3)).astype(np.float32)
    first, empty, last = search(states, head, options, [6, 0, 4])
    assert empty == Hypothesis((), (), (), empty.score, (), ()) and abs(empty.score) < 1e-6
    alone = [search(states[row : row + 1, :n], head, options)[0] for row, n in ((0, 6), (2, 4))]
    for together, single in zip((first, last), alone, strict=True):
        assert together.token_ids == single.token_ids and together.start_frames == single.start_frames
        assert together.score == pytest.approx(single.score, abs=1e-4)


def test_no_row_at_all(oracle) -> None:
    recognizer = oracle("rnnt")
    nothing = np.zeros((0, 6, recognizer.config.encoder.width), np.float32)
    for options in ALL:
        assert recognizer.decode(nothing, np.zeros(0, int), options) == []


@pytest.mark.parametrize("kind", ["ctc", "rnnt", "tdt"])
@pytest.mark.parametrize("size", SIZES)
def test_weight_nought_changes_nothing(oracle, kind: str, size: int) -> None:
    recognizer = oracle(kind)
    vocabulary = len(recognizer.vocabulary)
    lm = asr_core.NgramLM.from_arpa(next((ORACLE / "lm").glob("*.arpa")))
    fusion = Fusion(lm=lm, lm_weight=0.0, phrases=PhraseBoost({"the": 3.0}), phrase_weight=0.0)
    states = np.random.default_rng(size).standard_normal((1, 12, recognizer.config.encoder.width)).astype(np.float32)
    assert fuse(fusion, vocabulary, recognizer.tokenizer.encode, ceiling=0.99) is None
    plain, fused = (recognizer.decode(states, np.array([12]), Beam(size=size, fusion=f)) for f in (None, fusion))
    assert plain == fused


@pytest.fixture(scope="module")
def clips(recordings) -> dict[str, np.ndarray]:
    found = {path.stem: asr_core.read_audio(path) for path in sorted(SAMPLES.glob("*.flac"))}
    return {**found, **{name: audio for name, audio in recordings.items() if len(audio) > 4000}}


#: Clips on which a beam of that size prunes greedy's path on the way.
PRUNED = {4: {"tdt meeting-date", "tdt u12"}, 8: {"tdt u3"}}


@pytest.mark.parametrize("size", [4, 8])
def test_a_beam_finds_what_is_at_least_as_probable_as_greedys(demo, oracle, clips, size: int) -> None:
    """On 95 of 100 clips at least; the others are named."""
    worse, count = [], 0
    for name, recognizer in {"demo": demo, "tdt": oracle("tdt"), "rnnt": oracle("rnnt")}.items():
        for clip, audio in clips.items():
            encoded = recognizer.encode_audio([audio])
            best = recognizer.decode(*encoded, Greedy())[0][0].score
            found = recognizer.decode(*encoded, Beam(size=size))[0]
            count += 1
            if max(h.score for h in found) < best - 1e-3:
                worse.append(f"{name} {clip}")
    assert set(worse) <= PRUNED[size]
    assert len(worse) <= 0.05 * count


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_gives_finite_scores(dtype: str) -> None:
    recognizer = asr_core.load_model(ORACLE / "hybrid", dtype=dtype)
    rnnt = asr_core.load_model(ORACLE / "rnnt", dtype=dtype)
    audio = np.random.default_rng(0).standard_normal(40_000).astype(np.float32)
    for loud in (0.0, 1e-6, 1.0, 1e4):
        encoded = recognizer.encode_audio([loud * audio])
        for options in (Greedy(), Beam(size=4), Beam(size=8, head="ctc")):
            found = recognizer.decode(*encoded, options)[0]
            assert found and all(np.isfinite(h.score) for h in found)
            assert all(np.isfinite(h.confidences).all() and np.isfinite(h.log_probs).all() for h in found)
        found = rnnt.decode(*rnnt.encode_audio([loud * audio]), Maes(size=4))[0]
        assert found and all(np.isfinite(h.score) for h in found)
    # States that came in half precision are good enough, too.
    half = encoded[0].astype(np.float16)
    assert np.isfinite(recognizer.decode(half, encoded[1], Beam(size=4))[0][0].score)


@pytest.mark.parametrize("size", [2, 5])
def test_an_item_in_a_batch_of_unequal_lengths_gets_what_it_gets_alone(size: int) -> None:
    random = np.random.default_rng(size)
    lengths = np.array([9, 3, 0, 12, 1])
    states = random.standard_normal((5, 12, 3)).astype(np.float32)
    for durations in ((), (0, 1, 2)):
        head = random_head(size, 4, durations)
        together = beam.transducer(states, lengths, head, Beam(size=size), None)
        for row, length in enumerate(lengths):
            alone = beam.transducer(states[row : row + 1, :length], np.array([length]), head, Beam(size=size), None)[0]
            assert [h.token_ids for h in alone] == [h.token_ids for h in together[row]]
            np.testing.assert_allclose([h.score for h in alone], [h.score for h in together[row]], atol=1e-4)
