"""What a person can set about decoding. Plain values: checked here, read by the decoders."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

from asr_core.errors import DecodingError

Head = Literal["tdt", "rnnt", "ctc"]
HEADS = ("tdt", "rnnt", "ctc")
METHODS = ("max_prob", "gibbs", "tsallis", "renyi")
NORMS = ("lin", "exp")
AGGREGATIONS = ("mean", "min", "max", "prod")

#: Labels that a transducer may emit on one frame where neither the settings nor the model say; never unlimited.
MAX_SYMBOLS = 10


@dataclass(frozen=True)
class Confidence:
    """How sure a token is, from the distribution it was chosen from.

    The measures and their defaults are NeMo's (`ConfidenceMethodConfig`): an entropy of the token distribution over
    V + 1 entries, normalised to 0..1.

    Args:
        method: "max_prob", or the entropy "gibbs", "tsallis" or "renyi".
        norm: "lin" or "exp" normalisation of an entropy; "max_prob" has only one.
        alpha: exponent that sharpens (> 1) or flattens (< 1) the distribution first.
        aggregation: how tokens make a word and words a sentence: "mean", "min", "max" or "prod".
        exclude_blank: leave out the frames on which nothing was emitted; otherwise they count to the token before.
        include_duration: aggregate a TDT token with the confidence of its duration.
    """

    method: Literal["max_prob", "gibbs", "tsallis", "renyi"] = "tsallis"
    norm: Literal["lin", "exp"] = "exp"
    alpha: float = 0.33
    aggregation: Literal["mean", "min", "max", "prod"] = "min"
    exclude_blank: bool = True
    include_duration: bool = False

    def __post_init__(self) -> None:
        _one_of("Confidence.method", self.method, METHODS)
        _one_of("Confidence.norm", self.norm, NORMS)
        _one_of("Confidence.aggregation", self.aggregation, AGGREGATIONS)
        if not (math.isfinite(self.alpha) and self.alpha > 0):
            raise DecodingError(f"Confidence.alpha is a number above 0, not {self.alpha!r}.")


@dataclass(frozen=True)
class Greedy:
    """Take the best entry at each step (NeMo's `greedy_batch`).

    Args:
        head: "tdt", "rnnt" or "ctc"; None = the transducer where the model has one.
        max_symbols: labels that may be emitted on one frame; None = the model's value, else 10.
        temperature: neutral (0) for these models.
        confidence: how token confidence is measured.
        fusion, whisper: neutral (None) for these models.
    """

    head: Head | None = None
    max_symbols: int | None = None
    temperature: float = 0.0
    confidence: Confidence = field(default_factory=Confidence)
    fusion: None = None
    whisper: None = None

    def __post_init__(self) -> None:
        if self.head is not None:
            _one_of("Greedy.head", self.head, HEADS)
        if self.max_symbols is not None and not (isinstance(self.max_symbols, int) and self.max_symbols >= 1):
            raise DecodingError(f"Greedy.max_symbols is a whole number from 1, or None, not {self.max_symbols!r}.")


Decoding = Greedy


def _one_of(name: str, value: object, accepted: tuple[str, ...]) -> None:
    if value not in accepted:
        raise DecodingError(f"{name} is one of {', '.join(map(repr, accepted))}, not {value!r}.")
