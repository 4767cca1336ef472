"""A Parakeet model: a FastConformer encoder in MLX, and the heads it has on the host.

Everything here that touches MLX runs in the engine's thread; what comes back is NumPy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import mlx.core as mx
import mlx.nn as nn
import numpy as np
from mlx.utils import tree_flatten

from asr_core.decoding.device import DeviceGreedy
from asr_core.errors import ModelError
from asr_core.models.config import ParakeetConfig
from asr_core.models.conformer import ConformerEncoder, StreamCache
from asr_core.models.ctc import CtcHead
from asr_core.models.transducer import Transducer

#: Statistics and quantization constants, which are not parameters.
NO_PARAMETERS = (".scales", ".biases", ".running_mean", ".running_var")
DTYPES = {"float32": mx.float32, "float16": mx.float16, "bfloat16": mx.bfloat16}


@dataclass(frozen=True)
class Parakeet:
    """The parts of a loaded model; a head that the model lacks is None.

    `device_greedy` is there where a search is faster on the device than on the host: on Metal.
    """

    config: ParakeetConfig
    encoder: ConformerEncoder
    transducer: Transducer | None
    ctc: CtcHead | None
    dtype: str
    parameters: int
    device_greedy: DeviceGreedy | None = None

    def encode(self, features: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Run the encoder.

        Args:
            features: (batch, frames, mels) float32 normalised log-mel.
            lengths: (batch,) valid frames.
        Returns:
            (batch, encoder frames, width) float32, and (batch,) valid encoder frames.
        """
        lengths = np.asarray(lengths)
        longest = int(lengths.max(initial=0))
        if longest == 0:
            return np.zeros((len(lengths), 0, self.config.encoder.width), np.float32), np.zeros_like(lengths)
        # Exactly the valid frames: a padding frame that every item shares need not be masked.
        x = mx.array(features[:, :longest]).astype(DTYPES[self.dtype])
        encoded, lengths = self.encoder(x, lengths)
        return np.array(encoded.astype(mx.float32)), lengths

    def begin_stream(self, lookahead: int | None) -> StreamCache:
        """The cache of a stream that begins."""
        left, _ = self.config.encoder.context(lookahead)
        cache = self.encoder.begin(left)
        mx.eval(cache)
        return cache

    def step(self, features: np.ndarray, drop: int, cache: StreamCache) -> tuple[np.ndarray, StreamCache]:
        """Encode one step of a stream.

        Args:
            features: (frames, mels) float32, after the first step with history in front.
            drop: encoder frames of that history.
        Returns:
            (encoder frames, width) float32, and the cache for the next step.
        """
        encoded, cache = self.encoder.step(mx.array(features[None]).astype(DTYPES[self.dtype]), drop, cache)
        mx.eval(encoded, cache)
        return np.array(encoded[0].astype(mx.float32)), cache


def build(
    config: ParakeetConfig,
    weights: Mapping[str, mx.array],
    vocabulary_size: int,
    *,
    dtype: str,
    quantization: Mapping[str, int] | None = None,
) -> Parakeet:
    """Put a checkpoint's weights in their places, and evaluate all of them in this thread.

    Args:
        weights: names and layout of the Hub's MLX conversions.
        quantization: `group_size` and `bits` where linear layers are MLX-quantized.
    Raises:
        ModelError: a tensor is missing, left over or of the wrong shape, or a head does not fit the vocabulary.
    """
    host = _host_weights(weights, quantization)
    transducer = Transducer.from_weights(host, config.transducer, vocabulary_size) if config.transducer else None
    ctc = None
    if config.ctc:
        ctc = CtcHead.from_weights(host, "decoder" if transducer is None else "ctc_decoder", vocabulary_size)
    encoder = _encoder(config, weights, DTYPES[dtype], quantization)
    parameters = sum(_size(name, x, weights, quantization) for name, x in weights.items())
    on_device = transducer is not None and mx.default_device().type == mx.DeviceType.gpu
    search = DeviceGreedy(transducer) if on_device else None
    return Parakeet(config, encoder, transducer, ctc, dtype, parameters, search)


def _size(name: str, x: mx.array, weights: Mapping[str, mx.array], quantization: Mapping[str, int] | None) -> int:
    """Parameters of one tensor; a quantized one packs several in a word."""
    if name.endswith(NO_PARAMETERS):
        return 0
    packed = quantization and f"{name.removesuffix('.weight')}.scales" in weights
    return x.size * 32 // quantization["bits"] if packed else x.size


def _encoder(
    config: ParakeetConfig, weights: Mapping[str, mx.array], dtype: mx.Dtype, quantization: Mapping[str, int] | None
) -> ConformerEncoder:
    encoder = ConformerEncoder(config.encoder)
    given = {
        name.removeprefix("encoder."): _as_linear(name, x) for name, x in weights.items() if name.startswith("encoder.")
    }
    if not config.encoder.untied_biases:
        _share_biases(given, config.encoder.layers)
    if quantization:
        nn.quantize(
            encoder,
            group_size=quantization["group_size"],
            bits=quantization["bits"],
            class_predicate=lambda path, module: f"{path}.scales" in given,
        )
    _check(dict(tree_flatten(encoder.parameters())), given)
    encoder.load_weights([(name, _cast(x, dtype)) for name, x in given.items()])
    encoder.eval()
    mx.eval(encoder.parameters())
    return encoder


def _check(expected: Mapping[str, mx.array], given: Mapping[str, mx.array]) -> None:
    missing, left = sorted(expected.keys() - given.keys()), sorted(given.keys() - expected.keys())
    if missing:
        raise ModelError(f"The weights lack {len(missing)} tensors of the encoder, the first of them {missing[0]}.")
    if left:
        raise ModelError(
            f"The weights hold {len(left)} tensors that the configured encoder has no place for, the first of them "
            f"{left[0]}."
        )
    for name, x in expected.items():
        if x.shape != given[name].shape:
            raise ModelError(
                f"The tensor encoder.{name} has the shape {given[name].shape}; the configuration makes it {x.shape}."
            )


def _as_linear(name: str, x: mx.array) -> mx.array:
    """A convolution of one tap is a linear layer: (out, 1, in) or (out, 1, 1, in) as (out, in)."""
    if name.endswith("weight") and x.ndim >= 3 and all(n == 1 for n in x.shape[1:-1]):
        return x.reshape(x.shape[0], x.shape[-1])
    return x


def _share_biases(given: dict[str, mx.array], layers: int) -> None:
    for name in ("pos_bias_u", "pos_bias_v"):
        shared = given.pop(name, None)
        for layer in range(layers):
            if shared is not None:
                given.setdefault(f"layers.{layer}.self_attn.{name}", shared)


def _host_weights(weights: Mapping[str, mx.array], quantization: Mapping[str, int] | None) -> dict[str, np.ndarray]:
    """The heads' weights as NumPy float32, dequantized, convolutions of one tap as matrices."""
    host = {}
    for name, x in weights.items():
        if name.startswith("encoder.") or name.endswith((".scales", ".biases")):
            continue
        stem = name.removesuffix(".weight")
        if quantization and f"{stem}.scales" in weights:
            x = mx.dequantize(x, weights[f"{stem}.scales"], weights[f"{stem}.biases"], **_group(quantization))
        host[name] = np.array(_as_linear(name, x).astype(mx.float32))
    return host


def _group(quantization: Mapping[str, int]) -> dict[str, int]:
    return {"group_size": quantization["group_size"], "bits": quantization["bits"]}


def _cast(x: mx.array, dtype: mx.Dtype) -> mx.array:
    return x.astype(dtype) if mx.issubdtype(x.dtype, mx.floating) else x
