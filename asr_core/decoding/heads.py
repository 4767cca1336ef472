"""Which head of a model decodes, and which settings mean something to it."""

from __future__ import annotations

from asr_core.decoding.options import Beam, Decoding, Greedy, Maes
from asr_core.errors import DecodingError
from asr_core.models.registry import ModelInfo


def head_of(decoding: Decoding, info: ModelInfo) -> str:
    """The head that `decoding` asks for. Raises DecodingError, in one sentence, for what does not fit the model."""
    if not isinstance(decoding, Greedy | Beam | Maes):
        raise DecodingError(f"decoding is a Greedy, Beam or Maes value, not {type(decoding).__name__}.")
    head = decoding.head or info.heads[0]
    if head not in info.heads:
        raise no_head(info, head)
    if isinstance(decoding, Maes) and "rnnt" not in info.heads:
        has = " and ".join(info.heads)
        raise DecodingError(f"MAES decodes RNN-T models; {info.name} has {has}. Use Beam.")
    neutral = {"temperature": 0.0, "patience": 1.0, "whisper": None}
    if head != "tdt":
        neutral["duration_weight"] = 1.0
    if head != "ctc":
        neutral["prune"] = 20.0
    for name, value in neutral.items():
        if getattr(decoding, name, value) != value:
            given = f"{name} = {getattr(decoding, name)!r}"
            raise DecodingError(f"{given} does not apply to {head} decoding; leave it at {value!r}.")
    return head


def no_head(info: ModelInfo, head: str) -> DecodingError:
    """What to say of a head that a model lacks."""
    has = " and ".join(info.heads)
    return DecodingError(f"{info.name} has no {head} head; it has {has}.")
