"""The tab "About this model": what it can, what it is, and what it runs on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gradio as gr

import asr_core
from components import wording
from components.model_card import read_card, without_pictures
from components.models import Models
from components.part import part

HEAD_NAMES = {"tdt": "TDT", "rnnt": "RNN-T", "ctc": "CTC"}


@dataclass(frozen=True)
class AboutParts:
    """Components whose values `about_values` gives, in the same order."""

    facts: gr.HTML
    card: gr.Markdown


def build_about_tab(models: Models) -> AboutParts:
    """Build the tab's contents; call it inside the tab."""

    def vocabulary(model: Any) -> list[str]:
        # Of a loaded model only: a click here must never start a download.
        return list(models.get(model).vocabulary.pieces) if isinstance(model, str) and models.is_loaded(model) else []

    facts = part("about", server_functions=(vocabulary,))
    card = gr.Markdown(visible=False, elem_id="ts-card-text", elem_classes="ts-box")
    return AboutParts(facts, card)


def about_values(recognizer: asr_core.Recognizer) -> tuple[dict[str, Any], Any]:
    """Values of `AboutParts` for a model."""
    info, runtime = recognizer.info, asr_core.runtime()
    card = read_card(recognizer.card or "")
    table = card.errors
    facts = {
        "model": info.source,
        "title": info.name,
        "subtitle": card.summary if card.is_structured else info.source,
        "can": card.can,
        "cannot": card.cannot,
        "table": table and {"title": table.title, "head": table.head, "rows": table.rows, "note": table.note},
        "facts": model_facts(recognizer),
        "computer": computer_facts(info, runtime),
        "advice": runtime.blas.advice,
        "network": "Works without a network." if info.source == "demo" else "The weights are on this computer.",
        "licence": f"Code: Apache-2.0. Weights: {info.license or 'see where they come from'}.",
    }
    unstructured = recognizer.card is not None and not card.is_structured
    return facts, gr.update(visible=unstructured, value=without_pictures(recognizer.card) if unstructured else "")


def model_facts(recognizer: asr_core.Recognizer) -> list[dict[str, Any]]:
    """Name and value of what the configuration says."""
    info, config = recognizer.info, recognizer.config
    encoder = config.encoder
    heads = " and ".join(HEAD_NAMES[head] for head in info.heads)
    rows = [
        _fact("Kind", "Whisper, encoder and decoder" if info.kind == "whisper" else f"FastConformer, {heads}"),
        _fact("Parameters", amount(info.parameters or 0), mono=True),
        _fact("Encoder", f"{encoder.layers} layers, width {encoder.width}"),
    ]
    if config.transducer is not None and config.transducer.durations:
        rows.append(_fact("Durations", " ".join(map(str, config.transducer.durations)), mono=True))
    rows += [
        _fact("Frame", f"{info.frame_seconds * 1000:g} ms", mono=True),
        _fact("Audio", f"{wording.rate(info.sample_rate)}, {encoder.mels} mels", mono=True),
        _fact("Vocabulary", f"{info.vocabulary_size} tokens", mono=True),
        _fact("Weights", wording.megabytes(recognizer.size_bytes), mono=True),
    ]
    if info.languages:
        rows.append(_fact("Languages", " ".join(info.languages), mono=True))
    rows.append(_fact("Source", f"{info.source}@{info.revision}" if info.revision else info.source, mono=True))
    return rows


def computer_facts(info: asr_core.ModelInfo, runtime: asr_core.Runtime) -> list[dict[str, Any]]:
    """What the model runs on."""
    fast = {"kind": "ok", "text": "fast"} if runtime.blas.fast else {"kind": "warn", "text": "slow"}
    return [
        _fact("Device", info.device or runtime.device),
        _fact("Computes in", info.dtype or "", mono=True),
        _fact("BLAS", runtime.blas.name, tag=fast),
        _fact("MLX", runtime.mlx_version, mono=True),
    ]


def amount(count: int) -> str:
    """A number of parameters: "3.40 M"."""
    return f"{count / 1e9:.2f} G" if count >= 1e9 else f"{count / 1e6:.2f} M"


def _fact(name: str, value: str, *, mono: bool = False, tag: dict[str, str] | None = None) -> dict[str, Any]:
    return {"name": name, "value": value, "mono": mono, "tag": tag}
