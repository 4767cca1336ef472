"""Greedy search of a transducer against parakeet-mlx: one clip, and sixteen at once."""

from __future__ import annotations

from collections.abc import Iterator

import mlx.core as mx
import numpy as np

from asr_core.decoding import greedy
from asr_core.decoding.options import Greedy
from asr_core.models.transducer import Transducer
from tests.bench import peer, samples
from tests.bench.heads import BATCH, FRAMES, random_heads
from tests.bench.measuring import in_turn
from tests.bench.table import Line, seconds


def rows() -> Iterator[Line]:
    """Real-size heads with two vocabularies, and the embedded model on its samples."""
    for kind, vocabulary in (("tdt", 1024), ("tdt", 8192), ("rnnt", 1024), ("rnnt", 8192)):
        yield from _random(kind, vocabulary)
    yield _samples()


def _random(kind: str, vocabulary: int) -> Iterator[Line]:
    heads = random_heads(kind, vocabulary)
    head, model = heads.transducer, peer.with_heads(heads.weights, heads.config, vocabulary)
    clip, theirs = heads.encoded[:1], mx.array(heads.encoded[:1])
    found = _tokens(clip, head)
    note = f"{len(found[0])} tokens in {FRAMES} frames; {_agreement(found, peer.decode(model, theirs))}"
    took = in_turn(
        lambda: _tokens(clip, head), lambda: _tokens(heads.encoded, head), lambda: peer.decode(model, theirs)
    )
    one, many, peers = (took.median(job) for job in range(3))
    name = f"greedy {kind.upper()}, {vocabulary} tokens"
    yield Line(f"{name}, one clip", seconds(one), seconds(peers), took.ratio(2, 0), target=3, note=note)
    note = "a clip; the peer decodes one after the other and is timed on one"
    ratio = took.ratio(2, 1) * BATCH
    yield Line(f"{name}, {BATCH} clips", seconds(many / BATCH), seconds(peers), ratio, target=8, note=note)


def _samples() -> Line:
    head, clips = samples.recognizer()._model.transducer, samples.encoded()
    config = samples.recognizer().config.transducer
    model, theirs = peer.with_heads(samples.head_weights(), config, head.blank), [mx.array(clip) for clip in clips]

    def ours() -> list[list[int]]:
        return [_tokens(clip, head)[0] for clip in clips]

    def peers() -> list[list[int]]:
        return [peer.decode(model, clip)[0] for clip in theirs]

    note = f"{sum(map(len, ours()))} tokens, 1 LSTM layer of 144; {_agreement(ours(), peers())}"
    took = in_turn(ours, peers, times=5)
    return Line(
        "greedy TDT, embedded model, each sample",
        seconds(took.median(0)),
        seconds(took.median(1)),
        took.ratio(1, 0),
        target=3,
        note=note,
    )


def _tokens(encoded: np.ndarray, head: Transducer) -> list[list[int]]:
    lengths = np.full(len(encoded), encoded.shape[1])
    return [list(hypothesis.token_ids) for hypothesis in greedy.transducer(encoded, lengths, head, Greedy())]


def _agreement(ours: list[list[int]], peers: list[list[int]]) -> str:
    return "same tokens" if ours == peers else "TOKENS DIFFER"
