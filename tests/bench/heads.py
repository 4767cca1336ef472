"""Random transducer heads of the size of Parakeet's, rigged so that there is about one label in three frames."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from asr_core.decoding import greedy
from asr_core.decoding.options import Greedy
from asr_core.models.config import TransducerConfig
from asr_core.models.transducer import Transducer

WIDTH, ENCODER_WIDTH, LAYERS, FRAMES, BATCH = 640, 1024, 2, 375, 16
DURATIONS = (0, 1, 2, 3, 4)
#: A random network takes no care to advance on a blank, and on a blank of duration 0 the peer stands still.
DURATION_BIAS = (-8.0, 2.0, 0.0, 0.0, 0.0)
SHARE = 1 / 3
#: Rounds in which the share of labels is set.
TRIES = 10


@dataclass(frozen=True)
class Heads:
    """A transducer, its weights in the MLX layout, and what its encoder is taken to have put out.

    Args:
        encoded: (BATCH, FRAMES, ENCODER_WIDTH) float32.
    """

    weights: dict[str, np.ndarray]
    config: TransducerConfig
    vocabulary_size: int
    transducer: Transducer
    encoded: np.ndarray


@cache
def random_heads(kind: str, vocabulary_size: int) -> Heads:
    """Heads of a "tdt" or "rnnt" model with so many tokens."""
    rng = np.random.default_rng(vocabulary_size)
    durations = DURATIONS if kind == "tdt" else ()
    config = TransducerConfig(WIDTH, LAYERS, WIDTH, durations, "relu", max_symbols=10)
    weights = _weights(rng, config, vocabulary_size)
    encoded = rng.standard_normal((BATCH, FRAMES, ENCODER_WIDTH), np.float32)
    bias = weights["joint.joint_net.2.bias"]
    bias[vocabulary_size + 1 :] = DURATION_BIAS[: len(durations)]
    # What a blank is favoured by, halved in; a random network may leap past the share, so the nearest round counts.
    low, high, tried = -20.0, 20.0, []
    for _ in range(TRIES):
        bias[vocabulary_size] = favour = (low + high) / 2
        head = Transducer.from_weights(weights, config, vocabulary_size)
        said = len(greedy.transducer(encoded[:1], np.array([FRAMES]), head, Greedy())[0].token_ids)
        tried.append((abs(said - SHARE * FRAMES), favour))
        low, high = (favour, high) if said > SHARE * FRAMES else (low, favour)
    bias[vocabulary_size] = min(tried)[1]
    head = Transducer.from_weights(weights, config, vocabulary_size)
    return Heads(weights, config, vocabulary_size, head, encoded)


def _weights(rng: np.random.Generator, config: TransducerConfig, vocabulary_size: int) -> dict[str, np.ndarray]:
    width, joint = config.prediction_width, config.joint_width

    def matrix(rows: int, columns: int) -> np.ndarray:
        return rng.standard_normal((rows, columns), np.float32) / np.float32(np.sqrt(columns))

    weights = {"decoder.prediction.embed.weight": rng.standard_normal((vocabulary_size + 1, width), np.float32)}
    weights["decoder.prediction.embed.weight"][-1] = 0
    for layer in range(config.prediction_layers):
        name = f"decoder.prediction.dec_rnn.lstm.{layer}"
        weights[f"{name}.Wx"], weights[f"{name}.Wh"] = matrix(4 * width, width), matrix(4 * width, width)
        weights[f"{name}.bias"] = np.zeros(4 * width, np.float32)
    sizes = {
        "enc": (joint, ENCODER_WIDTH),
        "pred": (joint, width),
        "joint_net.2": (vocabulary_size + 1 + len(config.durations), joint),
    }
    for name, (rows, columns) in sizes.items():
        weights[f"joint.{name}.weight"] = matrix(rows, columns)
        weights[f"joint.{name}.bias"] = np.zeros(rows, np.float32)
    return weights
