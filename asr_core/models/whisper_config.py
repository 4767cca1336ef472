"""What a Whisper model consists of: its dimensions, and which of its heads look where the voice is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from asr_core.errors import ModelError
from asr_core.features import FeatureConfig

#: Layer and head of each cross-attention head that follows the audio.
Heads = tuple[tuple[int, int], ...]

#: The published sizes (openai-whisper) and their alignment heads (its `_ALIGNMENT_HEADS`), by decoder layers, width,
#: multilinguality, encoder layers and mel bands.
_PUBLISHED: Mapping[tuple[int, int, bool, int, int], tuple[str, str]] = {
    (4, 384, False, 4, 80): ("tiny.en", "1.0 2.0 2.5 3.0 3.1 3.2 3.3 3.4"),
    (4, 384, True, 4, 80): ("tiny", "2.2 3.0 3.2 3.3 3.4 3.5"),
    (6, 512, False, 6, 80): ("base.en", "3.3 4.7 5.1 5.5 5.7"),
    (6, 512, True, 6, 80): ("base", "3.1 4.2 4.3 4.7 5.1 5.2 5.4 5.6"),
    (12, 768, False, 12, 80): (
        "small.en",
        "6.6 7.0 7.3 7.8 8.2 8.5 8.7 9.0 9.4 9.8 9.10 10.0 10.1 10.2 10.3 10.6 10.11 11.2 11.4",
    ),
    (12, 768, True, 12, 80): ("small", "5.3 5.9 8.0 8.4 8.7 8.8 9.0 9.7 9.9 10.5"),
    (24, 1024, False, 24, 80): (
        "medium.en",
        "11.4 14.1 14.12 14.14 15.4 16.0 16.4 16.9 17.12 17.14 18.7 18.10 18.15 20.0 20.3 20.9 20.14 21.12",
    ),
    (24, 1024, True, 24, 80): ("medium", "13.15 15.4 15.15 16.1 20.0 23.4"),
    # large-v1 has the same dimensions and other heads; its conversions name their own.
    (32, 1280, True, 32, 80): (
        "large-v2",
        "10.12 13.17 16.11 16.12 16.13 17.15 17.16 18.4 18.11 18.19 19.11 21.2 21.3 22.3 22.9 22.12 23.5 23.7 23.13 "
        "25.5 26.1 26.12 27.15",
    ),
    (32, 1280, True, 32, 128): ("large-v3", "7.0 10.17 12.18 13.12 16.1 17.14 19.11 21.4 24.1 25.6"),
    (4, 1280, True, 32, 128): ("large-v3-turbo", "2.4 2.11 3.3 3.6 3.11 3.14"),
}
#: Sizes that were never published have the tokenizer of those with as many tokens.
_BY_VOCABULARY = {51_864: "tiny.en", 51_865: "tiny", 51_866: "large-v3"}


@dataclass(frozen=True)
class Wanted:
    """What a step of the decoder is asked for.

    Args:
        positions: of the tokens that it reads, whose logits are wanted.
        heads: of the cross-attention, whose scores are wanted.
    """

    positions: Sequence[int] = (-1,)
    heads: Heads = ()


#: The logits of the next token.
NEXT = Wanted()


@dataclass(frozen=True)
class Dimensions:
    """The ten numbers of a Whisper model, under the names of its MLX and openai checkpoints.

    Contexts are lengths: `n_audio_ctx` encoder frames of 20 ms, `n_text_ctx` tokens.
    """

    n_mels: int
    n_audio_ctx: int
    n_audio_state: int
    n_audio_head: int
    n_audio_layer: int
    n_vocab: int
    n_text_ctx: int
    n_text_state: int
    n_text_head: int
    n_text_layer: int

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ModelError(f"The configuration has {field.name} = {value!r}; a whole number from 1 is expected.")
        if self.n_audio_state % self.n_audio_head or self.n_text_state % self.n_text_head:
            raise ModelError("The configuration's widths cannot be divided among its heads.")

    @property
    def multilingual(self) -> bool:
        """Whether the vocabulary is that of the multilingual models, which is one token longer or more."""
        return self.n_vocab >= 51_865

    @property
    def published(self) -> tuple[str, str] | None:
        """The name of a published size, and its alignment heads as written above; None for any other size."""
        d = self
        return _PUBLISHED.get((d.n_text_layer, d.n_text_state, d.multilingual, d.n_audio_layer, d.n_mels))


@dataclass(frozen=True)
class EncoderFacts:
    """What the encoder of a Whisper model has in common with others."""

    layers: int
    width: int
    mels: int
    subsampling: int = 2
    streaming: bool = False


@dataclass(frozen=True)
class WhisperConfig:
    """Architecture of a Whisper model.

    Args:
        alignment_heads: of the cross-attention; they say when each token was spoken.
    """

    dimensions: Dimensions
    alignment_heads: Heads

    @property
    def features(self) -> FeatureConfig:
        """Lengths and bands of the log-mel front end; its rules are in asr_core/whisper/features.py."""
        return FeatureConfig(n_fft=400, mels=self.dimensions.n_mels, preemphasis=None, normalize=None)

    @property
    def encoder(self) -> EncoderFacts:
        d = self.dimensions
        return EncoderFacts(d.n_audio_layer, d.n_audio_state, d.n_mels)

    @property
    def frame_seconds(self) -> float:
        """Seconds of an encoder frame."""
        return 0.02

    @property
    def transducer(self) -> None:
        """There is none: the text is written by a decoder that attends to the audio."""
        return None


def alignment_heads(dimensions: Dimensions, given: Sequence[Sequence[int]] | None) -> Heads:
    """The heads that a checkpoint names, else the published ones, else all heads of the last half of the layers.

    Raises ModelError for heads that the model does not have.
    """
    layers, heads = dimensions.n_text_layer, dimensions.n_text_head
    if given is not None and len(given):
        try:
            named = tuple((int(layer), int(head)) for layer, head in given)
        except (TypeError, ValueError):
            raise ModelError("alignment_heads of the configuration is not a list of pairs (layer, head).") from None
        if any(not (0 <= layer < layers and 0 <= head < heads) for layer, head in named):
            raise ModelError(f"alignment_heads names a head that a decoder of {layers} layers of {heads} lacks.")
        return named
    if dimensions.published is not None:
        pairs = (pair.split(".") for pair in dimensions.published[1].split())
        return tuple((int(layer), int(head)) for layer, head in pairs)
    return tuple((layer, head) for layer in range(layers // 2, layers) for head in range(heads))


def tokenizer_repository(dimensions: Dimensions) -> str | None:
    """The repository of the Hub whose tokenizer.json a model without one has; None for a vocabulary of no Whisper."""
    name = dimensions.published[0] if dimensions.published else _BY_VOCABULARY.get(dimensions.n_vocab)
    return f"openai/whisper-{name}" if name else None


def dimensions_of(config: Mapping[str, Any]) -> Dimensions | None:
    """The dimensions that a config.json states, in the names of MLX or of transformers; None where it is another model.

    Raises ModelError where only some are there.
    """
    if "n_audio_state" in config:
        names = {field.name: field.name for field in fields(Dimensions)}
    elif config.get("model_type") == "whisper" or "num_mel_bins" in config:
        names = {
            "n_mels": "num_mel_bins",
            "n_audio_ctx": "max_source_positions",
            "n_audio_state": "d_model",
            "n_audio_head": "encoder_attention_heads",
            "n_audio_layer": "encoder_layers",
            "n_vocab": "vocab_size",
            "n_text_ctx": "max_target_positions",
            "n_text_state": "d_model",
            "n_text_head": "decoder_attention_heads",
            "n_text_layer": "decoder_layers",
        }
    else:
        return None
    missing = [theirs for theirs in names.values() if theirs not in config]
    if missing:
        raise ModelError(f"config.json of a Whisper model lacks {missing[0]}.")
    return Dimensions(**{ours: config[theirs] for ours, theirs in names.items()})
