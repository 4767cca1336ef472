"""What a Parakeet model's configuration says, read once and checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from asr_core.errors import DecodingError, ModelError
from asr_core.features import FeatureConfig


@dataclass(frozen=True)
class EncoderConfig:
    """Shape of a FastConformer encoder (NeMo's `ConformerEncoder`).

    Args:
        mels: features a frame.
        width: d_model.
        layers, heads: of the Conformer.
        feed_forward: width of the feed-forward modules.
        kernel: taps of the depthwise convolution.
        subsampling: mel frames that become one encoder frame.
        channels: of the subsampling convolutions.
        bias: whether linear and convolution layers have biases.
        scaled_input: `xscaling`, multiply by sqrt(width) before the layers.
        untied_biases: whether every layer has its own positional biases.
        causal_subsampling, causal_convolution: whether these convolutions see nothing that follows.
        norm: of the convolution module, "batch_norm" or "layer_norm".
        contexts: encoder frames (left, right) that attention may see, one for each look-ahead that was trained, the
            first the default; empty = all.
        context_style: "regular" = that many around each frame; "chunked_limited" = its own chunk of right + 1 frames
            and left // (right + 1) chunks before it.
    """

    mels: int
    width: int
    layers: int
    heads: int
    feed_forward: int
    kernel: int
    subsampling: int
    channels: int
    bias: bool
    scaled_input: bool
    untied_biases: bool
    causal_subsampling: bool = False
    causal_convolution: bool = False
    norm: Literal["batch_norm", "layer_norm"] = "batch_norm"
    contexts: tuple[tuple[int, int], ...] = ()
    context_style: Literal["regular", "chunked_limited"] = "regular"

    @property
    def streaming(self) -> bool:
        """Whether the encoder can hear audio step by step with caches, as it was trained to."""
        chunked = self.context_style == "chunked_limited" and bool(self.contexts)
        return chunked and self.causal_subsampling and self.causal_convolution

    def context(self, lookahead: int | None = None) -> tuple[int, int] | None:
        """The context with that look-ahead in frames, None = the default; None where attention sees all.

        Raises DecodingError that names those that were trained.
        """
        if lookahead is None:
            return self.contexts[0] if self.contexts else None
        for left, right in self.contexts:
            if right == lookahead:
                return left, right
        trained = ", ".join(str(right) for _, right in self.contexts) or "none"
        raise DecodingError(f"lookahead is one that the model was trained with ({trained}), not {lookahead!r}.")

    @classmethod
    def from_nemo(cls, encoder: Mapping[str, Any]) -> EncoderConfig:
        """Read the `encoder` section. Raises ModelError for an architecture this project does not have."""
        get = encoder.get
        _accept("subsampling", get("subsampling", "striding"), ("dw_striding",))
        _accept("self_attention_model", get("self_attention_model", "rel_pos"), ("rel_pos",))
        _accept("conv_norm_type", get("conv_norm_type", "batch_norm"), ("batch_norm", "layer_norm"))
        _accept("conv_context_size", get("conv_context_size"), (None, "causal"))
        _accept("att_context_style", get("att_context_style", "regular"), ("regular", "chunked_limited"))
        _accept("reduction", get("reduction"), (None,))
        channels = get("subsampling_conv_channels", -1)
        return cls(
            mels=int(encoder["feat_in"]),
            width=int(encoder["d_model"]),
            layers=int(encoder["n_layers"]),
            heads=int(get("n_heads", 4)),
            feed_forward=int(encoder["d_model"]) * int(get("ff_expansion_factor", 4)),
            kernel=int(get("conv_kernel_size", 31)),
            subsampling=int(get("subsampling_factor", 4)),
            channels=int(channels if channels and channels > 0 else encoder["d_model"]),
            bias=bool(get("use_bias", True)),
            scaled_input=bool(get("xscaling", True)),
            untied_biases=bool(get("untie_biases", True)),
            causal_subsampling=bool(get("causal_downsampling", False)),
            causal_convolution=get("conv_context_size") == "causal",
            norm=get("conv_norm_type", "batch_norm"),
            contexts=_contexts(get("att_context_size"), get("att_context_style", "regular")),
            context_style=get("att_context_style", "regular"),
        )


@dataclass(frozen=True)
class TransducerConfig:
    """Shape of a prediction network and a joint; no durations means RNN-T.

    Args:
        prediction_width: of the embedding and the LSTM.
        prediction_layers: LSTM layers.
        joint_width: of the space in which encoder and prediction are added.
        durations: frames that a TDT model can advance by, in the order of its outputs.
        activation: between the sum and the last layer.
        max_symbols: labels that may be emitted on one frame, where the configuration says so.
    """

    prediction_width: int
    prediction_layers: int
    joint_width: int
    durations: tuple[int, ...]
    activation: str
    max_symbols: int | None


@dataclass(frozen=True)
class ParakeetConfig:
    """A whole model: front end, encoder, and the heads it has."""

    features: FeatureConfig
    encoder: EncoderConfig
    transducer: TransducerConfig | None
    ctc: bool

    @classmethod
    def from_nemo(cls, config: Mapping[str, Any]) -> ParakeetConfig:
        """Read a model's configuration. Raises ModelError that names the section or the value that does not fit."""
        for section in ("preprocessor", "encoder", "decoder"):
            if not isinstance(config.get(section), Mapping):
                raise ModelError(f"The configuration has no {section} section; a Parakeet model's has one.")
        try:
            encoder = EncoderConfig.from_nemo(config["encoder"])
            transducer = _transducer(config) if "prednet" in config["decoder"] else None
        except KeyError as error:
            raise ModelError(f"The configuration lacks {error}, which a Parakeet model's has.") from error
        except (TypeError, ValueError, AttributeError) as error:
            raise ModelError(f"The configuration has a value of the wrong kind: {error}.") from error
        features = FeatureConfig.from_nemo(config["preprocessor"])
        if features.mels * features.splicing != encoder.mels:
            raise ModelError(
                f"The preprocessor makes {features.mels * features.splicing} features a frame, the encoder takes "
                f"{encoder.mels}."
            )
        return cls(features, encoder, transducer, ctc=transducer is None or "aux_ctc" in config)

    @property
    def heads(self) -> tuple[str, ...]:
        """The heads that can decode, the transducer first."""
        transducer = () if self.transducer is None else ("tdt" if self.transducer.durations else "rnnt",)
        return transducer + (("ctc",) if self.ctc else ())

    @property
    def kind(self) -> str:
        """One of "tdt", "rnnt", "ctc", "tdt_ctc", "rnnt_ctc"."""
        return "_".join(self.heads)

    @property
    def frame_seconds(self) -> float:
        """Seconds from one encoder frame to the next."""
        return self.features.frame_seconds * self.encoder.subsampling


def _contexts(given: Any, style: str) -> tuple[tuple[int, int], ...]:
    """`att_context_size`: one pair, or a list of them; -1, -1 is all there is."""
    pairs = given or [-1, -1]
    pairs = [pairs] if isinstance(pairs[0], int) else pairs
    contexts = tuple((int(left), int(right)) for left, right in pairs)
    if all(pair == (-1, -1) for pair in contexts):
        return ()
    for left, right in contexts:
        if min(left, right) < 0:
            raise ModelError(
                f"The configuration asks for att_context_size = {given!r}; both sides are limited, or none."
            )
        if style == "chunked_limited" and left % (right + 1):
            raise ModelError(
                f"att_context_size = {[left, right]}: the left side is a multiple of chunks of {right + 1}."
            )
    return contexts


def _transducer(config: Mapping[str, Any]) -> TransducerConfig:
    joint, prednet, decoding = config["joint"], config["decoder"]["prednet"], config.get("decoding") or {}
    defaults, loss = config.get("model_defaults") or {}, config.get("loss") or {}
    # TDT and RNN-T share one class in NeMo: the outputs beyond the vocabulary and the durations tell them apart.
    extra = joint.get("num_extra_outputs") or 0
    durations = (
        decoding.get("durations")
        or defaults.get("tdt_durations")
        or (loss.get("tdt_kwargs") or {}).get("durations")
        or ()
    )
    durations = tuple(int(d) for d in durations) if extra or "num_extra_outputs" not in joint else ()
    if extra and len(durations) != extra:
        raise ModelError(
            f"The joint has {extra} outputs for durations, but the configuration lists {len(durations)} durations."
        )
    if durations and (min(durations) < 0 or max(durations) == 0):
        raise ModelError(f"Durations are frames to advance by, at least one above 0; this model has {durations}.")
    jointnet = joint["jointnet"]
    activation = str(jointnet.get("activation", "relu")).lower()
    _accept("joint.jointnet.activation", activation, ("relu", "tanh", "sigmoid"))
    return TransducerConfig(
        prediction_width=int(prednet["pred_hidden"]),
        prediction_layers=int(prednet["pred_rnn_layers"]),
        joint_width=int(jointnet["joint_hidden"]),
        durations=durations,
        activation=activation,
        max_symbols=(decoding.get("greedy") or {}).get("max_symbols"),
    )


def _accept(name: str, value: object, known: tuple[object, ...]) -> None:
    if value not in known:
        raise ModelError(
            f"The configuration asks for {name} = {value!r}, which this version does not run; "
            f"it runs {', '.join(map(repr, known))}."
        )
