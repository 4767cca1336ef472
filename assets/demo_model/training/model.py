"""The hybrid TDT + CTC FastConformer in PyTorch, with the names of parameters that NeMo and its MLX conversions use.

`load` and `export.py` go between it and a folder of config.json + model.safetensors in the MLX layout. Shapes: B clips,
T frames of 10 ms, S frames of 80 ms after the subsampling, U tokens, V pieces (the blank is number V), D durations.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional

from .depthwise import depthwise


class Dropout(nn.Module):
    """Dropout by one random byte a value, drawn faster than by PyTorch on the CPU; its seed comes from there."""

    def __init__(self, share: float) -> None:
        super().__init__()
        self.dropped = round(256 * share)

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or not self.dropped:
            return x
        generator = np.random.Generator(np.random.SFC64(int(torch.randint(2**31, ()))))
        kept = torch.from_numpy(generator.integers(0, 256, x.shape, np.uint8)) >= self.dropped
        return x * kept * (256 / (256 - self.dropped))


class FeedForward(nn.Module):
    """Two linear layers with Swish between."""

    def __init__(self, width: int, factor: int, bias: bool) -> None:
        super().__init__()
        self.linear1 = nn.Linear(width, width * factor, bias=bias)
        self.linear2 = nn.Linear(width * factor, width, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.linear2(functional.silu(self.linear1(x)))


class RelativeAttention(nn.Module):
    """Multi-head attention with relative positions (Transformer-XL, https://arxiv.org/abs/1901.02860)."""

    def __init__(self, width: int, heads: int, bias: bool) -> None:
        super().__init__()
        self.heads = heads
        self.linear_q = nn.Linear(width, width, bias=bias)
        self.linear_k = nn.Linear(width, width, bias=bias)
        self.linear_v = nn.Linear(width, width, bias=bias)
        self.linear_out = nn.Linear(width, width, bias=bias)
        self.linear_pos = nn.Linear(width, width, bias=False)
        self.pos_bias_u = nn.Parameter(torch.zeros(heads, width // heads))
        self.pos_bias_v = nn.Parameter(torch.zeros(heads, width // heads))

    def forward(self, x: Tensor, positions: Tensor, mask: Tensor) -> Tensor:
        """x (B, S, width), positions (2S - 1, width) from far ahead to far back, mask (B, S) true for real frames."""
        B, S, width = x.shape
        size = width // self.heads
        q = self.linear_q(x).view(B, S, self.heads, size)
        k = self.linear_k(x).view(B, S, self.heads, size).permute(0, 2, 3, 1)
        v = self.linear_v(x).view(B, S, self.heads, size).transpose(1, 2)
        p = self.linear_pos(positions).view(-1, self.heads, size).permute(1, 2, 0)
        by_content = torch.matmul((q + self.pos_bias_u).transpose(1, 2), k)
        by_position = _shifted(torch.matmul((q + self.pos_bias_v).transpose(1, 2), p))
        scores = (by_content + by_position) * size**-0.5
        weights = scores.masked_fill(~mask[:, None, None], -1e4).softmax(-1).to(v.dtype)
        return self.linear_out(torch.matmul(weights, v).transpose(1, 2).reshape(B, S, width))


class Convolution(nn.Module):
    """Gated pointwise, depthwise and pointwise convolution with batch normalisation."""

    def __init__(self, width: int, kernel: int, bias: bool) -> None:
        super().__init__()
        self.pointwise_conv1 = nn.Linear(width, 2 * width, bias=bias)
        self.depthwise_conv = nn.Conv1d(width, width, kernel, groups=width, padding=kernel // 2, bias=bias)
        self.batch_norm = nn.BatchNorm1d(width)
        self.pointwise_conv2 = nn.Linear(width, width, bias=bias)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        x = functional.glu(self.pointwise_conv1(x), -1) * mask[..., None]
        x = functional.silu(self.batch_norm(self.depthwise_conv(x.transpose(1, 2))))
        return self.pointwise_conv2(x.transpose(1, 2))


class ConformerLayer(nn.Module):
    """Half a feed-forward, attention, convolution, half a feed-forward (https://arxiv.org/abs/2005.08100)."""

    def __init__(self, config: dict[str, Any], dropout: float) -> None:
        super().__init__()
        width, bias, factor = config["d_model"], config["use_bias"], config["ff_expansion_factor"]
        self.norm_feed_forward1 = nn.LayerNorm(width)
        self.feed_forward1 = FeedForward(width, factor, bias)
        self.norm_self_att = nn.LayerNorm(width)
        self.self_attn = RelativeAttention(width, config["n_heads"], bias)
        self.norm_conv = nn.LayerNorm(width)
        self.conv = Convolution(width, config["conv_kernel_size"], bias)
        self.norm_feed_forward2 = nn.LayerNorm(width)
        self.feed_forward2 = FeedForward(width, factor, bias)
        self.norm_out = nn.LayerNorm(width)
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor, positions: Tensor, mask: Tensor) -> Tensor:
        x = x + 0.5 * self.dropout(self.feed_forward1(self.norm_feed_forward1(x)))
        x = x + self.dropout(self.self_attn(self.norm_self_att(x), positions, mask))
        x = x + self.dropout(self.conv(self.norm_conv(x), mask))
        return self.norm_out(x + 0.5 * self.dropout(self.feed_forward2(self.norm_feed_forward2(x))))


class Subsampling(nn.Module):
    """Three convolutions of stride 2, the last two depthwise: eight frames become one.

    Their parameters have NeMo's names and shapes; they are computed with the channels last, which the CPU does faster.
    """

    def __init__(self, channels: int, mels: int, width: int) -> None:
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(1, channels, 3, 2, 1),
            nn.ReLU(),
            nn.Conv2d(channels, channels, 3, 2, 1, groups=channels),
            nn.Conv2d(channels, channels, 1),
            nn.ReLU(),
            nn.Conv2d(channels, channels, 3, 2, 1, groups=channels),
            nn.Conv2d(channels, channels, 1),
            nn.ReLU(),
        )
        self.out = nn.Linear(channels * mels // 8, width)

    def forward(self, x: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """x (B, T, mels) -> (B, S, width), and the lengths in frames of 80 ms."""
        for _ in range(3):
            lengths = (lengths - 1) // 2 + 1
        first, _, second, second_mix, _, third, third_mix, _ = self.conv
        x = functional.relu(_strided(x, first))
        x = functional.relu(_pointwise(depthwise(x, second.weight, second.bias), second_mix))
        x = functional.relu(_pointwise(depthwise(x, third.weight, third.bias), third_mix))
        return self.out(x.transpose(2, 3).flatten(2)), lengths


def _strided(x: Tensor, conv: nn.Conv2d) -> Tensor:
    """A 3 x 3 convolution of stride 2 and padding 1 of one channel: x (B, T, F) -> (B, T / 2, F / 2, C)."""
    T, F = (x.shape[1] + 1) // 2, (x.shape[2] + 1) // 2
    padded = functional.pad(x, (1, 1, 1, 1))
    taps = [padded[:, i : i + 2 * T - 1 : 2, j : j + 2 * F - 1 : 2] for i in range(3) for j in range(3)]
    return functional.linear(torch.stack(taps, -1), conv.weight.flatten(1), conv.bias)


def _pointwise(x: Tensor, conv: nn.Conv2d) -> Tensor:
    """A 1 x 1 convolution of x (..., C)."""
    return functional.linear(x, conv.weight.flatten(1), conv.bias)


class Encoder(nn.Module):
    """Subsampling and Conformer layers."""

    def __init__(self, config: dict[str, Any], dropout: float) -> None:
        super().__init__()
        self.width = config["d_model"]
        self.pre_encode = Subsampling(config["subsampling_conv_channels"], config["feat_in"], self.width)
        self.layers = nn.ModuleList(ConformerLayer(config, dropout) for _ in range(config["n_layers"]))
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """x (B, T, mels) -> (B, S, width), and the lengths in frames of 80 ms."""
        x, lengths = self.pre_encode(x, lengths)
        mask = torch.arange(x.shape[1]) < lengths[:, None]
        positions = _sinusoids(x.shape[1], self.width).to(x.dtype)
        x = self.dropout(x)
        for layer in self.layers:
            x = layer(x, positions, mask)
        return x, lengths


class Prediction(nn.Module):
    """The prediction network: an LSTM over the tokens so far, beginning with zeros."""

    def __init__(self, pieces: int, width: int, layers: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(pieces + 1, width, padding_idx=pieces)
        self.dec_rnn = nn.ModuleDict({"lstm": nn.LSTM(width, width, layers, batch_first=True)})

    def forward(self, tokens: Tensor, token_dropout: float = 0.0) -> Tensor:
        """tokens (B, U) -> (B, U + 1, width). Dropped tokens are unknown to the network: the joint has to listen."""
        x = functional.pad(self.embed(tokens), (0, 0, 1, 0))
        if token_dropout:
            x = x * (torch.rand(*x.shape[:2], 1) > token_dropout)
        return self.dec_rnn["lstm"](x)[0]


class Joint(nn.Module):
    """The joint network: logits of pieces, blank and durations for a frame and the tokens before."""

    def __init__(self, encoder: int, prediction: int, width: int, outputs: int) -> None:
        super().__init__()
        self.enc = nn.Linear(encoder, width)
        self.pred = nn.Linear(prediction, width)
        self.joint_net = nn.Sequential(nn.ReLU(), nn.Identity(), nn.Linear(width, outputs))

    def forward(self, sums: Tensor) -> Tensor:
        """Sums (..., joint width) of an encoded frame and a predicted state -> logits (..., V + 1 + D)."""
        return self.joint_net(sums)


class HybridModel(nn.Module):
    """Encoder, transducer and CTC head of one model; `config` is the content of config.json."""

    def __init__(self, config: dict[str, Any], dropout: float = 0.05) -> None:
        super().__init__()
        self.config = config
        self.durations: list[int] = config["model_defaults"]["tdt_durations"]
        self.blank: int = config["joint"]["num_classes"]
        width = config["encoder"]["d_model"]
        network, joint = config["decoder"]["prednet"], config["joint"]["jointnet"]
        prediction = Prediction(self.blank, network["pred_hidden"], network["pred_rnn_layers"])
        outputs = self.blank + 1 + len(self.durations)
        self.encoder = Encoder(config["encoder"], dropout)
        self.decoder = nn.ModuleDict({"prediction": prediction})
        self.joint = Joint(width, network["pred_hidden"], joint["joint_hidden"], outputs)
        self.ctc_decoder = nn.ModuleDict({"decoder_layers": nn.ModuleList([nn.Linear(width, self.blank + 1)])})
        self.dropout = Dropout(dropout)

    def forward(
        self, features: Tensor, lengths: Tensor, tokens: Tensor, token_dropout: float = 0.0
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """features (B, T, mels), tokens (B, U) -> what the joint network adds up, encoded (B, S, J) and predicted
        (B, U + 1, J), CTC logits (B, S, V + 1) and lengths in frames; in float32."""
        encoded, lengths = self.encoder(features, lengths)
        ctc = self.ctc_decoder["decoder_layers"][0](encoded)
        with torch.autocast("cpu", enabled=False):  # the CPU has no fast LSTM in bfloat16
            predicted = self.decoder["prediction"](tokens, token_dropout if self.training else 0.0)
        predicted = self.joint.pred(self.dropout(predicted))
        return self.joint.enc(encoded).float(), predicted.float(), ctc.float(), lengths


def load(folder: Path, dropout: float = 0.05) -> HybridModel:
    """The model of a folder with config.json and model.safetensors in the MLX layout."""
    model = HybridModel(json.loads((folder / "config.json").read_text("utf-8")), dropout)
    model.load_state_dict(from_mlx(load_file(folder / "model.safetensors")), strict=False)
    return model


def from_mlx(arrays: dict[str, Tensor]) -> dict[str, Tensor]:
    """Weights in the MLX layout as this model's state; the LSTM's one bias becomes the first of PyTorch's two."""
    state = {}
    for name, array in arrays.items():
        array = array.float()
        if "pre_encode.conv" in name and array.ndim == 4:
            array = array.permute(0, 3, 1, 2)
        elif "depthwise_conv" in name and array.ndim == 3:
            array = array.permute(0, 2, 1)
        elif ("pointwise_conv" in name or "ctc_decoder" in name) and array.ndim == 3:
            array = array[:, 0]
        if ".lstm." in name:
            stem, layer, kind = name.rsplit(".", 2)
            name = f"{stem}.{ {'Wx': 'weight_ih', 'Wh': 'weight_hh', 'bias': 'bias_ih'}[kind] }_l{layer}"
            if kind == "bias":
                state[f"{stem}.bias_hh_l{layer}"] = torch.zeros_like(array)
        state[name] = array.contiguous()
    return state


def to_mlx(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """The inverse of `from_mlx`; batch counters of the normalisation are left out."""
    arrays = {}
    for name, tensor in state.items():
        if name.endswith("num_batches_tracked") or ".lstm.bias_hh" in name:
            continue
        if ".lstm." in name:
            stem, kind, layer = *name.rsplit(".", 1)[0:1], *name.rsplit(".", 1)[1].rsplit("_l", 1)
            if kind == "bias_ih":
                tensor = tensor + state[f"{stem}.bias_hh_l{layer}"]
            name = f"{stem}.{layer}.{ {'weight_ih': 'Wx', 'weight_hh': 'Wh', 'bias_ih': 'bias'}[kind] }"
        elif "pre_encode.conv" in name and tensor.ndim == 4:
            tensor = tensor.permute(0, 2, 3, 1)
        elif "depthwise_conv" in name and tensor.ndim == 3:
            tensor = tensor.permute(0, 2, 1)
        elif ("pointwise_conv" in name or "ctc_decoder" in name) and tensor.ndim == 2:
            tensor = tensor[:, None]
        arrays[name] = tensor.contiguous()
    return arrays


def _shifted(scores: Tensor) -> Tensor:
    """(B, heads, S, 2S - 1) by relative position -> (B, heads, S, S) by key: each row moves one further to the left."""
    B, heads, S, places = scores.shape
    return functional.pad(scores, (1, 0)).view(B, heads, places + 1, S)[:, :, 1:].reshape(B, heads, S, places)[..., :S]


def _sinusoids(frames: int, width: int) -> Tensor:
    """(2 frames - 1, width): sines and cosines of the distances frames - 1, ..., -(frames - 1)."""
    distance = torch.arange(frames - 1, -frames, -1.0)[:, None]
    angle = distance * torch.exp(torch.arange(0, width, 2.0) * (-math.log(10_000.0) / width))
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(1)
