"""Comparisons that people ask for most, as settings of two decoders; only those that a model can do are offered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import asr_core
from components.decoder_settings import HEADS, DecoderChoice

#: The preset that needs a language model, which a person has to bring.
WITH_LM = "lm"


@dataclass(frozen=True)
class Preset:
    """Two decoders side by side.

    Args:
        models: source of the model of each; "" = the page's.
    """

    key: str
    name: str
    columns: tuple[DecoderChoice, DecoderChoice]
    models: tuple[str, str] = ("", "")

    @property
    def values(self) -> list[dict[str, Any]]:
        """What the decoders' controls take."""
        return [asdict(column) for column in self.columns]


def presets_of(heads: Sequence[str]) -> tuple[Preset, ...]:
    """The presets for a model with these heads, its own choice first."""
    head = heads[0] if heads else None
    greedy = DecoderChoice(head=head)
    beam = replace(greedy, strategy="beam", size=5)
    found = [Preset("beam", "Greedy vs beam 5", (greedy, beam))]
    if len(heads) > 1:
        names = " vs ".join(HEADS[one] for one in heads[:2])
        found.append(Preset("heads", names, (greedy, replace(greedy, head=heads[1]))))
    if head != "whisper":
        found.append(Preset(WITH_LM, "Beam vs beam + LM", (beam, beam)))
    if "rnnt" in heads:
        malsd = replace(greedy, strategy="beam", head="rnnt", size=4)
        found.append(Preset("maes", "MAES vs MALSD", (replace(malsd, strategy="maes"), malsd)))
    # The page's model beside one of the other family.
    models = ("demo", "") if head == "whisper" else ("", "whisper-tiny.en")
    parakeet = DecoderChoice(head="tdt" if head in (None, "whisper") else head)
    found.append(Preset("whisper", "Parakeet against Whisper", (parakeet, DecoderChoice(head="whisper")), models))
    return tuple(found)


def offered(heads: Sequence[str]) -> list[list[str]]:
    """Key and name of each, for the page."""
    return [[one.key, one.name] for one in presets_of(heads)]


def preset_of(key: Any, heads: Sequence[str]) -> Preset | None:
    """The preset with this key, if the model can do it."""
    return next((one for one in presets_of(heads) if one.key == key), None)


def check(preset: Any, columns: Sequence[DecoderChoice]) -> None:
    """Raise DecodingError where a preset was chosen whose language model is still missing."""
    if preset == WITH_LM and not any(column.lm for column in columns):
        raise asr_core.DecodingError(
            "Beam + LM needs a language model. Choose its ARPA file in the settings of B, below “Language model”."
        )
