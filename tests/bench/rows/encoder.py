"""The encoder, as a share of what the machine multiplies at best."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from statistics import median

import mlx.core as mx
import numpy as np
from mlx.utils import tree_flatten, tree_unflatten

from asr_core.models.config import EncoderConfig
from asr_core.models.conformer import ConformerEncoder
from asr_core.models.subsampling import strided_length
from tests.bench.measuring import in_turn, timed
from tests.bench.table import Line, seconds

#: That of NeMo's FastConformer "large", about 110 million parameters.
CONFIG = EncoderConfig(
    mels=80,
    width=512,
    layers=17,
    heads=8,
    feed_forward=2048,
    kernel=9,
    subsampling=8,
    channels=256,
    bias=True,
    scaled_input=False,
    untied_biases=True,
)
MEL_FRAMES = 3000
#: Square matrices whose product is taken for the peak, and how often.
SIDE, REPEATS = 2048, 4


def rows() -> Iterator[Line]:
    """Thirty seconds of audio through random weights."""
    rng = np.random.default_rng(0)
    encoder = _random(ConformerEncoder(CONFIG), rng)
    features = mx.array(rng.standard_normal((1, MEL_FRAMES, CONFIG.mels), np.float32))
    lengths = np.array([MEL_FRAMES])
    a, b = (mx.array(rng.standard_normal((SIDE, SIDE), np.float32)) for _ in range(2))
    mx.eval(features, a, b)

    def encode() -> None:
        mx.eval(encoder(features, lengths)[0])

    took = in_turn(encode, lambda: [mx.eval(a @ b) for _ in range(REPEATS)], times=5)
    peak, work = REPEATS * 2 * SIDE**3 / took.median(1), products(CONFIG, MEL_FRAMES)
    share = took.ratio(1, 0) * work / (REPEATS * 2 * SIDE**3)
    yield Line(
        f"encoder, {MEL_FRAMES / 100:.0f} s, {CONFIG.width} wide, {CONFIG.layers} layers",
        seconds(took.median(0)),
        figure=100 * share,
        unit="%",
        target=45,
        note=f"of {peak / 1e9:.0f} GFLOP/s, the peak of the same run; {work / 1e9:.0f} GFLOP of products",
    )
    parts = {name: median(timed(part) for _ in range(5)) for name, part in _parts(encoder, rng)}
    total = sum(parts.values())
    shares = ", ".join(f"{name} {100 * took / total:.0f} %" for name, took in parts.items())
    yield Line("encoder, where the time goes", seconds(total), note=shares)


def products(config: EncoderConfig, mel_frames: int) -> float:
    """Floating-point operations of all matrix products."""
    frames, bands, channels, width = mel_frames, config.mels, config.channels, config.width
    work = 0
    for stage in range(int(np.log2(config.subsampling))):
        frames, bands = strided_length(frames), strided_length(bands)
        work += frames * bands * channels * (9 if stage == 0 else channels)
    work += frames * channels * bands * width
    linear = 4 * width * config.feed_forward + 4 * width**2 + 3 * width**2
    attention = 4 * frames * width + (2 * frames - 1) * (width + width**2 / frames)
    return 2 * (work + config.layers * frames * (linear + attention))


def _random(encoder: ConformerEncoder, rng: np.random.Generator) -> ConformerEncoder:
    shapes = [(name, x.shape) for name, x in tree_flatten(encoder.parameters())]
    made = [
        (name, mx.array(rng.standard_normal(shape, np.float32) / np.float32(np.sqrt(np.prod(shape[1:]) or 1))))
        for name, shape in shapes
        if len(shape) > 1
    ]
    encoder.update(tree_unflatten(made))
    encoder.eval()
    mx.eval(encoder.parameters())
    return encoder


def _parts(encoder: ConformerEncoder, rng: np.random.Generator) -> Iterator[tuple[str, Callable[[], None]]]:
    """The work of all layers by kind, each on its own."""
    frames = MEL_FRAMES // CONFIG.subsampling
    x = mx.array(rng.standard_normal((1, frames, CONFIG.width), np.float32))
    features = mx.array(rng.standard_normal((1, MEL_FRAMES, CONFIG.mels), np.float32))
    positions = mx.array(rng.standard_normal((2 * frames - 1, CONFIG.width), np.float32))
    mx.eval(x, features, positions)

    def each(module: Callable, times: int = 1) -> Callable[[], None]:
        return lambda: [mx.eval(module(layer)) for layer in encoder.layers for _ in range(times)]

    yield "subsampling", lambda: mx.eval(encoder.pre_encode(features, np.array([MEL_FRAMES]))[0])
    yield "feed-forward", each(lambda layer: layer.feed_forward1(x), 2)
    yield "attention", each(lambda layer: layer.self_attn(x, positions, None))
    yield "convolution", each(lambda layer: layer.conv(x, None))
    yield "norms and sums", each(lambda layer: x + 0.5 * layer.norm_out(x), 4)
