"""The recordings that come with the project, to try the page with."""

from __future__ import annotations

import base64
import json
import mimetypes
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import gradio as gr

from components.part import part
from components.theme import ASSETS

FOLDER = ASSETS / "samples"


@dataclass(frozen=True)
class Sample:
    """A recording, what is said in it, and a remark such as "free speech, beyond the built-in model"."""

    path: Path
    text: str
    seconds: float
    note: str


@cache
def samples() -> tuple[Sample, ...]:
    """The samples that assets/samples/samples.json lists."""
    listed = json.loads((FOLDER / "samples.json").read_text(encoding="utf-8"))
    return tuple(Sample(FOLDER / one["file"], one["text"], one["seconds"], one.get("note", "")) for one in listed)


def sample_at(index: Any) -> Sample | None:
    """The sample with this index; None for anything else that a client may send."""
    if not isinstance(index, int) or isinstance(index, bool) or not 0 <= index < len(samples()):
        return None
    return samples()[index]


def build_samples() -> gr.HTML:
    """The list with "play" and "Use". Event: "use" {index}."""

    def sample_sound(index: Any) -> str:
        sample = sample_at(index)
        if sample is None:
            return ""
        kind = mimetypes.guess_type(sample.path.name)[0] or "audio/flac"
        return f"data:{kind};base64,{base64.b64encode(sample.path.read_bytes()).decode('ascii')}"

    value = [{"text": one.text, "seconds": one.seconds, "note": one.note} for one in samples()]
    return part("samples", value, events=("use",), server_functions=(sample_sound,))
