"""Beam search of a transducer with five hypotheses against parakeet-mlx's.

The two searches differ (the peer ranks unfinished hypotheses and weighs durations), so the tokens may, too.
"""

from __future__ import annotations

from collections.abc import Iterator

import mlx.core as mx
import numpy as np

from asr_core.decoding import beam
from asr_core.decoding.options import Beam
from asr_core.models.transducer import Transducer
from tests.bench import peer, samples
from tests.bench.heads import random_heads
from tests.bench.measuring import in_turn
from tests.bench.table import Line, seconds

FRAMES = 96


def rows() -> Iterator[Line]:
    """Real-size heads with two vocabularies, and the embedded model on its samples."""
    for kind, vocabulary in (("tdt", 1024), ("tdt", 8192), ("rnnt", 1024), ("rnnt", 8192)):
        heads = random_heads(kind, vocabulary)
        model = peer.with_heads(heads.weights, heads.config, vocabulary)
        clip = heads.encoded[:1, :FRAMES]
        yield _line(f"beam 5 {kind.upper()}, {vocabulary} tokens", [clip], heads.transducer, model)
    head = samples.recognizer()._model.transducer
    model = peer.with_heads(samples.head_weights(), samples.recognizer().config.transducer, head.blank)
    yield _line("beam 5 TDT, embedded model, each sample", list(samples.encoded()), head, model)


def _line(what: str, clips: list[np.ndarray], head: Transducer, model: object) -> Line:
    theirs = [mx.array(clip) for clip in clips]

    def ours() -> None:
        for clip in clips:
            beam.transducer(clip, np.array([clip.shape[1]]), head, Beam(size=5), None)

    def peers() -> None:
        for clip in theirs:
            peer.decode(model, clip, peer.BEAM)

    took = in_turn(ours, peers)
    note = f"{sum(clip.shape[1] for clip in clips)} frames; the searches differ"
    return Line(what, seconds(took.median(0)), seconds(took.median(1)), took.ratio(1, 0), target=8, note=note)
