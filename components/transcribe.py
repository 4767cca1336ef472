"""The tab "Transcribe": audio in, aligned and coloured tokens out.

Handlers are plain functions of the services and of what the page sends; each answers with a `Screen`, or yields several
while it works. `build_transcribe_tab` below builds the components and connects them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import gradio as gr

import asr_core
from components import choices, messages, wording
from components.align_view import build_align_view, value_of
from components.decoder_settings import DecoderChoice, build_decoder_settings, decoding_of
from components.documents import UnknownDocumentError
from components.downloads import build_downloads
from components.histogram import histogram
from components.jobs import Request
from components.messages import build_messages, message
from components.part import part
from components.samples import build_samples, sample_at
from components.screen import NO_AUDIO, Screen, failed, refuse, show, source_of
from components.services import Services
from components.settings import Settings
from components.uploads import uploaded_file

#: People who can be served at once; the engine shares its time between them piece by piece.
AT_ONCE = 16


@dataclass(frozen=True)
class Choice:
    """What the settings card says, as the components send it; `decoder` is what the decoder's controls send."""

    model: str
    decoder: Any
    channel: str | None
    sentences: str

    def request(self, services: Services, document: str, *, resume: bool = False) -> Request:
        return Request(
            document=document,
            model=self.model,
            decoding=decoding_of(DecoderChoice.from_page(self.decoder), services.language_models),
            segmentation=choices.segmentation_of(self.sentences),
            channel=choices.channel_of(self.channel),
            resume=resume,
        )


# What a person does.


def take_upload(services: Services, choice: Choice, data: Any) -> Iterator[Screen]:
    """A file has been chosen or dropped: {path, name} of what Gradio's upload route has stored."""
    path, name = getattr(data, "path", None), getattr(data, "name", None)
    file = uploaded_file(path)
    if file is None:
        yield refuse("The file did not arrive. Choose it again.")
        return
    given = name if isinstance(name, str) and name.strip() else file.name
    yield from take_file(services, choice, file, given[:200], move=True)


def take_recording(services: Services, choice: Choice, path: str | None) -> Iterator[Screen]:
    """The microphone has been stopped."""
    if not path:
        yield refuse("The microphone gave no sound. Allow it in the browser, and record again.")
        return
    yield from take_file(services, choice, Path(path), "recording.wav", move=True)


def take_sample(services: Services, choice: Choice, data: Any) -> Iterator[Screen]:
    """A sample has been picked: {index}."""
    sample = sample_at(getattr(data, "index", None))
    if sample is None:
        yield refuse("There is no such sample.")
        return
    yield from take_file(services, choice, sample.path, sample.path.name, move=False)


def take_file(services: Services, choice: Choice, file: Path, name: str, *, move: bool) -> Iterator[Screen]:
    """Take a file in and transcribe it."""
    yield Screen(messages=messages.value("working", progress={"text": "Reading the recording", "share": None}))
    try:
        document = services.documents.add(file, name, move=move)
    except asr_core.AsrError as error:
        yield refuse(str(error))
        return
    count = document.info.channels
    channel = choice.channel if count > 1 else choices.MIX
    yield Screen(
        document=document.id,
        source=source_of(services, document),
        align=None,
        channel=gr.update(choices=choices.channel_choices(count), value=channel),
        transcribe=gr.update(interactive=True),
        reason=name,
    )
    yield from transcribe(services, replace(choice, channel=channel), document.id)


def transcribe(services: Services, choice: Choice, document: str, *, resume: bool = False) -> Iterator[Screen]:
    """Transcribe a recording that is here already, and say how far it is; stops when the page goes away."""
    if not document:
        yield refuse(f"{NO_AUDIO}.")
        return
    try:
        request = choice.request(services, document, resume=resume)
    except asr_core.AsrError as error:
        yield failed(services, document, str(error))
        return
    job = services.jobs.transcribe(request)
    with closing(messages.followed(job)) as said:
        for now in said:
            yield Screen(messages=messages.value("working", progress=now))
    state = job.state()
    if state.stage == "failed":
        yield failed(services, document, state.error)
        return
    yield show(services, document, choice.sentences, stopped_at=state.done if state.stage == "stopped" else None)


def split_sentences(services: Services, document: str, choice: str) -> Screen:
    """Other sentences of the same words."""
    try:
        found = services.documents.get(document)
    except UnknownDocumentError as error:
        return refuse(str(error))
    if found.transcript is None:
        return Screen()
    transcript = asr_core.resegment(found.transcript, choices.segmentation_of(choice))
    return Screen(align=value_of(services.documents.update(document, transcript=transcript)))


def pick_reading(services: Services, data: Any) -> Screen:
    """Another reading of the N-best list: {doc, reading}; 0 is the best."""
    reading = getattr(data, "reading", None)
    try:
        found = services.documents.get(getattr(data, "doc", None))
    except UnknownDocumentError as error:
        return refuse(str(error))
    count = len(found.transcript.alternatives) + 1 if found.transcript is not None else 0
    if not isinstance(reading, int) or isinstance(reading, bool) or not 0 <= reading < count:
        return Screen()
    return Screen(align=value_of(services.documents.update(found.id, picked=reading)))


def reopen(services: Services, choice: Choice, data: Any) -> Screen:
    """The page's address names a recording: {doc}."""
    key = getattr(data, "doc", None)
    try:
        document = services.documents.get(key)
    except UnknownDocumentError:
        return Screen(messages=messages.value("empty", message("info", "This recording is no longer kept here.")))
    if document.transcript is None:
        return Screen(messages=messages.value("empty"))
    return show(services, document.id, choice.sentences)


def start_over() -> Screen:
    """Back to the drop zone."""
    return Screen(
        messages=messages.value("empty"),
        align=None,
        document="",
        channel=gr.update(choices=choices.channel_choices(2), value=choices.MIX),
        transcribe=gr.update(interactive=False),
        reason=NO_AUDIO,
    )


def draw_histogram(services: Services, data: Any) -> Any:
    """The chart for what the alignment view shows: {doc, threshold, dark}."""
    threshold, dark = getattr(data, "threshold", None), getattr(data, "dark", False)
    try:
        document = services.documents.get(getattr(data, "doc", None))
    except UnknownDocumentError:
        return gr.skip()
    if document.shown is None or not isinstance(threshold, int | float) or not 0 <= threshold <= 1:
        return gr.skip()
    confidences = [token.confidence for token in document.shown.tokens]
    return histogram(confidences, float(threshold), dark=dark is True)


def upload_hint(settings: Settings) -> str:
    """What the drop zone takes; strangers are also told how long it is kept."""
    hint = f"WAV, FLAC, MP3, OGG, M4A, MP4 or WebM, up to {wording.hours(settings.max_minutes)}"
    if settings.mode == "hosted":
        hint += f". Deleted {wording.hours(settings.retention_hours * 60)} after you last look at it"
    return hint


# The components.


@dataclass(frozen=True)
class TranscribeParts:
    """Named parts of the tab that others connect to."""

    decoder: gr.HTML
    understands: gr.HTML
    align: gr.HTML
    document: gr.State


def build_transcribe_tab(services: Services, model: gr.State) -> TranscribeParts:
    """Build the tab's contents; call it inside the tab.

    Args:
        model: state that holds the source of the model in use.
    """
    limit = services.settings.max_upload_mb
    document = gr.State("")
    source = part("source", {}, events=("new_audio", "again"), elem_id="ts-source-row")
    said = build_messages(services.jobs, elem_id="ts-messages")
    with gr.Row(elem_id="ts-start"):
        with gr.Column(elem_id="ts-start-main"):
            files = part("files", {"hint": upload_hint(services.settings), "max_mb": limit}, events=("picked",))
            recorder = gr.Audio(
                sources=["microphone"],
                type="filepath",
                show_label=False,
                elem_id="ts-recorder",
                waveform_options=gr.WaveformOptions(show_recording_waveform=True),
            )
            samples = build_samples()
        with gr.Column(elem_id="ts-start-side"):
            with gr.Column(elem_id="ts-settings", elem_classes="ts-box"):
                part("line", "Settings", elem_classes="ts-h2 ts-settings-title ts-only-empty")
                decoder = build_decoder_settings(services.language_models, elem_id="ts-decoder")
                channel = _dropdown("Channel", choices.channel_choices(2), choices.MIX, elem_id="ts-channel")
                sentences = _dropdown(
                    "Sentences end at", list(choices.SEGMENTATIONS), "Punctuation", elem_classes="ts-only-empty"
                )
                button = gr.Button(
                    "Transcribe",
                    interactive=False,
                    variant="primary",
                    elem_id="ts-transcribe",
                    elem_classes="ts-button",
                )
                reason = part("line", NO_AUDIO, elem_id="ts-reason", elem_classes="ts-only-empty")
            understands = part("note", "", elem_id="ts-understands")
    with gr.Column(elem_id="ts-result"):
        align = build_align_view(services.documents, services.inside)
        with gr.Row(elem_id="ts-columns"):
            with gr.Column():
                part("text", elem_id="ts-text")
                readings = part("readings", events=("pick",), elem_id="ts-readings")
                with gr.Column(elem_classes="ts-box"):
                    with gr.Row(elem_classes="ts-box-head"):
                        part("line", "Sentences", elem_classes="ts-h2")
                        part("count", elem_classes="ts-fill")
                        split = _dropdown("Split at", list(choices.SEGMENTATIONS), "Punctuation", elem_id="ts-split")
                    part("sentences", elem_id="ts-sentences")
            with gr.Column():
                with gr.Column(elem_classes="ts-box"):
                    with gr.Row(elem_classes="ts-box-head"):
                        part("line", "How sure, token by token", elem_classes="ts-h2 ts-fill")
                        part("below", elem_classes="ts-below")
                    chart = gr.Plot(show_label=False, elem_id="ts-histogram")
                build_downloads(services.documents)

    outputs = [said, source, align, document, channel, split, button, reason]
    settings = [model, decoder, channel, sentences]
    work: dict[str, Any] = {
        "outputs": outputs,
        "show_progress": "hidden",
        "api_visibility": "private",
        "concurrency_limit": AT_ONCE,
        "concurrency_id": "transcribe",
    }
    quick: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private", "queue": False}

    def with_event(handler: Callable[..., Iterator[Screen]]) -> Callable[..., Iterator[tuple[Any, ...]]]:
        def run(event: gr.EventData, *chosen: Any) -> Iterator[tuple[Any, ...]]:
            for screen in handler(services, Choice(*chosen), event):
                yield screen.values()

        return run

    def on_recorded(path: str | None, *chosen: Any) -> Iterator[tuple[Any, ...]]:
        for screen in take_recording(services, Choice(*chosen), path):
            yield (*screen.values(), None)

    def on_again(document: str, *chosen: Any) -> Iterator[tuple[Any, ...]]:
        for screen in transcribe(services, Choice(*chosen), document):
            yield screen.values()

    def on_go_on(document: str, *chosen: Any) -> Iterator[tuple[Any, ...]]:
        for screen in transcribe(services, Choice(*chosen), document, resume=True):
            yield screen.values()

    def on_reopen(event: gr.EventData, *chosen: Any) -> tuple[Any, ...]:
        return reopen(services, Choice(*chosen), event).values()

    def on_split(document: str, choice: str) -> tuple[Any, ...]:
        return (*split_sentences(services, document, choice).values(), choice)

    def on_pick(event: gr.EventData) -> tuple[Any, ...]:
        return pick_reading(services, event).values()

    def on_shown(event: gr.EventData) -> Any:
        return draw_histogram(services, event)

    files.picked(with_event(take_upload), settings, **work)
    samples.use(with_event(take_sample), settings, **work)
    recorder.stop_recording(on_recorded, [recorder, *settings], **{**work, "outputs": [*outputs, recorder]})
    for again in (button.click, source.again):
        again(on_again, [document, *settings], **work)
    said.go_on(on_go_on, [document, *settings], **work)
    source.new_audio(lambda: start_over().values(), None, outputs, **quick)
    readings.pick(on_pick, None, outputs, trigger_mode="always_last", **quick)
    align.reopen(on_reopen, settings, outputs, **quick)
    align.shown(on_shown, None, chart, trigger_mode="always_last", **quick)
    split.input(on_split, [document, split], [*outputs, sentences], trigger_mode="always_last", **quick)
    return TranscribeParts(decoder, understands, align, document)


def _dropdown(label: str, options: list[Any], value: Any, **kwargs: Any) -> gr.Dropdown:
    extra = kwargs.pop("elem_classes", "")
    return gr.Dropdown(
        options,
        value=value,
        label=label,
        interactive=True,
        filterable=False,
        elem_classes=f"ts-field ts-dropdown {extra}".split(),
        **kwargs,
    )
