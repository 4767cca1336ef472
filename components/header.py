"""The page's header: the name, what the model runs on, and the model picker, one for all tabs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import gradio as gr

import asr_core
from asr_core.whisper.languages import NAMES
from components import messages
from components.about import AboutParts, about_values
from components.decoder_settings import with_model
from components.messages import build_messages, message
from components.models import short_name
from components.part import part
from components.services import Services
from components.theme import head
from components.transcribe import TranscribeParts

MARK = """<div class="ts-brand"><svg viewBox="0 0 26 18" aria-hidden="true">
<rect x="0" y="5" width="5" height="8" rx="1.5" fill="var(--ts-conf-100)"/>
<rect x="7" y="1" width="5" height="16" rx="1.5" fill="var(--ts-accent)"/>
<rect x="14" y="4" width="5" height="10" rx="1.5" fill="var(--ts-conf-25)"/>
<rect x="21" y="6" width="5" height="6" rx="1.5" fill="var(--ts-conf-100)"/></svg>Tokenscope</div>"""


@dataclass(frozen=True)
class HeaderParts:
    """Named parts of the header."""

    model: gr.State
    picker: gr.Dropdown
    device: gr.HTML
    said: gr.HTML


def build_header(services: Services) -> HeaderParts:
    """Build the header; it also brings the page's script and styles."""
    model = gr.State(services.settings.model)
    with gr.Row(elem_id="ts-header"):
        gr.HTML(MARK, head=head(), padding=False, apply_default_css=False, elem_id="ts-brand")
        device = part("line", "", elem_id="ts-device")
        picker = gr.Dropdown(
            services.models.choices(),
            value=services.settings.model,
            label="Model",
            show_label=False,
            container=False,
            interactive=True,
            allow_custom_value=services.settings.mode == "local",
            elem_id="ts-model",
            elem_classes="ts-dropdown",
        )
    said = build_messages(services.jobs, elem_id="ts-model-messages")
    return HeaderParts(model, picker, device, said)


def choose_model(services: Services, wanted: Any, current: str) -> Iterator[tuple[Any, ...]]:
    """Load a model and show what it is. If it cannot be had, a message says why and the current one stays.

    Yields:
        values of: messages, picker, model state, device, decoder's settings, what it understands, about, card.
    """
    skip = (gr.skip(),) * 6
    source = wanted.strip() if isinstance(wanted, str) and wanted.strip() else services.settings.model
    job = services.jobs.load(source)
    job.wait(0.05)  # a model that is there already is not announced
    with closing(messages.followed(job)) as said:
        for now in said:
            yield (messages.value(progress=now), gr.skip(), *skip)
    state = job.state()
    if state.stage == "stopped":
        yield (messages.value(), current, *skip)
        return
    if state.stage == "failed":
        yield (messages.value(None, message("error", state.error)), current, *skip)
        return
    recognizer = services.models.get(source)
    info = recognizer.info
    yield (
        messages.value(),
        gr.update(value=source, choices=services.models.choices()),
        source,
        f"{info.device}, {info.dtype}",
        with_model(services.models, source),
        understands(info),
        *about_values(recognizer),
    )


def understands(info: asr_core.ModelInfo) -> str:
    """One line on what a person may expect of the model."""
    if info.source == "demo":
        return (
            "The built-in model knows about 1,500 everyday English words: numbers, dates, times, prices and commands. "
            "It does not understand free speech yet: pick another model above for that."
        )
    name = info.name or short_name(info.source)
    if not info.languages:
        return f"{name}: its card, in the tab About this model, says what it understands."
    if len(info.languages) > 3:
        return f"{name} understands free speech in {len(info.languages)} languages."
    return f"{name} understands free speech in {', '.join(NAMES.get(code, code) for code in info.languages)}."


def connect_header(
    blocks: gr.Blocks, services: Services, header: HeaderParts, transcribe: TranscribeParts, about: AboutParts
) -> None:
    """Connect the picker with the tabs, and load the first model when a page opens."""
    outputs = [
        *(header.said, header.picker, header.model, header.device),
        *(transcribe.decoder, transcribe.understands, about.facts, about.card),
    ]
    options: dict[str, Any] = {
        "outputs": outputs,
        "show_progress": "hidden",
        "api_visibility": "private",
        "concurrency_limit": 16,
    }

    def choose(wanted: str, current: str) -> Iterator[tuple[Any, ...]]:
        yield from choose_model(services, wanted, current)

    blocks.load(choose, [header.model, header.model], **options)
    header.picker.input(choose, [header.picker, header.model], **options)
