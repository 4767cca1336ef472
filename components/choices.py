"""The choices of the settings card, and what they mean to the core."""

from __future__ import annotations

import asr_core
from asr_core.decoding.options import Decoding
from components.documents import Document

DECODERS = [("Greedy", "greedy")]
HEADS = {"tdt": "TDT", "rnnt": "RNN-T", "ctc": "CTC"}
MIX = "mix"
#: Where sentences end: name, and what that means.
SEGMENTATIONS = {
    "Punctuation": asr_core.Segmentation(),
    "Silence": asr_core.Segmentation(separators=(), silence=0.5),
    "Length": asr_core.Segmentation(separators=(), max_seconds=5.0),
}


def decoding_of(decoder: str, head: str | None) -> Decoding:
    """The decoder's settings; a head of None is the model's own choice."""
    if decoder != "greedy":
        raise asr_core.DecodingError(f"The decoder is greedy, not {decoder!r}.")
    return asr_core.Greedy(head=head or None)


def segmentation_of(name: str) -> asr_core.Segmentation:
    return SEGMENTATIONS.get(name, SEGMENTATIONS["Punctuation"])


def channel_of(choice: str | None) -> int | None:
    """The index of the channel, or None for the mean of all."""
    return int(choice) if choice and choice.isdecimal() else None


def channel_choices(count: int) -> list[tuple[str, str]]:
    """(name, choice) for a recording with that many channels."""
    return [("Mix of all", MIX), *((str(i + 1), str(i)) for i in range(count if count > 1 else 0))]


def head_choices(heads: tuple[str, ...]) -> list[tuple[str, str]]:
    return [(HEADS[head], head) for head in heads]


def head_note(heads: tuple[str, ...]) -> str:
    """What the card says below the head."""
    if len(heads) < 2:
        return "The only head of this model."
    return f"This model also has {' and '.join(HEADS[head] for head in heads[1:])}."


def decoder_name(document: Document, heads: tuple[str, ...]) -> str:
    """What made a transcript, in two words: "Greedy, TDT"."""
    decoding = getattr(document.transcript, "decoding", None)
    head = getattr(decoding, "head", None) or (heads[0] if heads else "")
    return f"Greedy, {HEADS[head]}" if head in HEADS else "Greedy"
