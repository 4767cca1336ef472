"""The peer: parakeet-mlx, on the weights and the encoder output that ours gets."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
import numpy as np
from parakeet_mlx.parakeet import Beam, DecodingConfig, Greedy
from parakeet_mlx.utils import from_config

from asr_core.models.config import TransducerConfig

GREEDY, BEAM = DecodingConfig(decoding=Greedy()), DecodingConfig(decoding=Beam(beam_size=5))


def with_heads(weights: dict[str, np.ndarray], config: TransducerConfig, vocabulary_size: int) -> Any:
    """A parakeet-mlx model with these heads, and an encoder that nobody calls."""
    model = from_config(_config(config, vocabulary_size, weights["joint.enc.weight"].shape[1]))
    model.load_weights([(name, mx.array(x)) for name, x in weights.items()], strict=False)
    mx.eval(model.parameters())
    return model


def decode(model: Any, encoded: mx.array, decoding: DecodingConfig = GREEDY) -> list[list[int]]:
    """Token ids of each item of (batch, frames, width)."""
    tokens, _ = model.decode(encoded, config=decoding)
    return [[token.id for token in item] for item in tokens]


def _config(config: TransducerConfig, vocabulary_size: int, encoder_width: int) -> dict[str, Any]:
    vocabulary = [f"▁{i}" for i in range(vocabulary_size)]
    defaults = {"tdt_durations": list(config.durations)} if config.durations else {}
    return {
        "target": "nemo.collections.asr.models.rnnt_bpe_models.EncDecRNNTBPEModel",
        "model_defaults": defaults,
        "preprocessor": {
            "sample_rate": 16000,
            "normalize": "per_feature",
            "window_size": 0.025,
            "window_stride": 0.01,
            "window": "hann",
            "features": 80,
            "n_fft": 512,
            "dither": 0.0,
        },
        "encoder": {
            "feat_in": 80,
            "n_layers": 1,
            "d_model": 64,
            "n_heads": 4,
            "ff_expansion_factor": 1,
            "subsampling_factor": 8,
            "self_attention_model": "rel_pos",
            "subsampling": "dw_striding",
            "conv_kernel_size": 9,
            "subsampling_conv_channels": 32,
            "pos_emb_max_len": 5000,
        },
        "decoder": {
            "blank_as_pad": True,
            "vocab_size": vocabulary_size,
            "prednet": {"pred_hidden": config.prediction_width, "pred_rnn_layers": config.prediction_layers},
        },
        "joint": {
            "num_classes": vocabulary_size,
            "vocabulary": vocabulary,
            "num_extra_outputs": len(config.durations),
            "jointnet": {
                "joint_hidden": config.joint_width,
                "activation": config.activation,
                "encoder_hidden": encoder_width,
                "pred_hidden": config.prediction_width,
            },
        },
        "decoding": {
            "model_type": "tdt" if config.durations else "rnnt",
            "durations": list(config.durations),
            "greedy": {"max_symbols": config.max_symbols},
        },
    }
