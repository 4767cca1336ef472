"""The tab "Compare": one recording through two to four decoders, and where they differ.

Handlers are plain functions of the services and of what the page sends; each answers with a `CompareScreen`, or yields
several while it works. What the person does in a result goes through the server functions of compare_view.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gradio as gr

import asr_core
from components import messages, presets, wording
from components.compare_charts import reliability_curve, timeline
from components.compare_columns import LEAST, MOST, Columns, names_of, request_of, with_language
from components.compare_view import build_compare_view, value_of
from components.comparing import Compared
from components.decoder_settings import build_decoder_settings, with_model
from components.documents import Document, UnknownDocumentError
from components.messages import build_messages, message
from components.part import part
from components.samples import build_samples, sample_at
from components.screen import KEEP, outputs_of
from components.services import Services
from components.transcribe import AT_ONCE, upload_hint
from components.trials import LETTERS, Column, UnknownTrialError
from components.uploads import uploaded_file

TITLE = "Pick two decoders and press Compare."
LEAD = "They hear one recording. Words that differ and boundaries that moved are marked, and you say which is right."
#: Heard by assets/compare.js.
ASK_AGAIN = "() => { window.dispatchEvent(new Event('tokenscope:compare')); }"


@dataclass(frozen=True)
class CompareScreen:
    """New values of the tab's components; what is not given stays as it is. The fields are the outputs, in order."""

    messages: Any = KEEP
    source: Any = KEEP
    view: Any = KEEP
    document: Any = KEEP


# What a person does.


def take_upload(services: Services, data: Any) -> CompareScreen:
    """A file has been chosen or dropped: {path, name} of what Gradio's upload route has stored."""
    file, name = uploaded_file(getattr(data, "path", None)), getattr(data, "name", None)
    if file is None:
        return refuse("The file did not arrive. Choose it again.")
    given = name if isinstance(name, str) and name.strip() else file.name
    return take_file(services, file, given[:200], move=True)


def take_sample(services: Services, data: Any) -> CompareScreen:
    """A sample has been picked: {index}."""
    sample = sample_at(getattr(data, "index", None))
    if sample is None:
        return refuse("There is no such sample.")
    return take_file(services, sample.path, sample.path.name, move=False)


def take_file(services: Services, file: Path, name: str, *, move: bool) -> CompareScreen:
    """Take a file in; it is compared when the person says so."""
    try:
        document = services.documents.add(file, name, move=move)
    except asr_core.AsrError as error:
        return refuse(str(error))
    return opened(document)


def take_transcribed(services: Services, document: str) -> CompareScreen:
    """The recording that is open in Transcribe."""
    try:
        return opened(services.documents.get(document))
    except UnknownDocumentError as error:
        return refuse(str(error))


def opened(document: Document) -> CompareScreen:
    """A recording is there, and waits for Compare."""
    return CompareScreen(messages.value("ready"), source_of(document), None, document.id)


def start_over() -> CompareScreen:
    """Back to the drop zone."""
    return CompareScreen(messages.value("empty"), {}, None, "")


def refuse(text: str) -> CompareScreen:
    return CompareScreen(messages=messages.value(None, message("error", text)))


def compare(services: Services, document: str, columns: Columns, data: Any) -> Iterator[CompareScreen]:
    """Compare is pressed: {count, preset}. Say how far it is; stops when the page goes away."""
    if not document:
        yield refuse("There is no recording yet. Add audio first.")
        return
    try:
        request = request_of(services, document, columns, getattr(data, "count", None), getattr(data, "preset", None))
    except asr_core.AsrError as error:
        yield refuse(str(error))
        return
    names = names_of(services, request)
    made: list[tuple[str, list[dict[str, Any]]]] = []

    def finish(found: Document, compared: Compared) -> None:
        columns = [
            Column(with_language(names[i], transcript, services.models.languages(request.columns[i][0])), transcript)
            for i, transcript in compared.transcripts.items()
        ]
        left_out = [name for i, name in enumerate(names) if i not in compared.transcripts]
        made.append((services.trials.add(found.id, columns).id, about_stop(compared, left_out)))

    job = services.jobs.compare(request, finish)
    with closing(messages.followed(job)) as said:
        for now in said:
            yield CompareScreen(messages=messages.value("working", progress=now))
    state = job.state()
    if state.stage == "failed":
        yield CompareScreen(messages=messages.value("ready", message("error", state.error)))
    elif made:
        [(key, about)] = made
        yield show(services, key, about)
    else:
        text = "Stopped before there were two decoders to compare. Compare goes on where one was done."
        yield CompareScreen(messages=messages.value("ready", message("info", text)))


def about_stop(compared: Compared, left_out: Sequence[str]) -> list[dict[str, Any]]:
    """What is said of a comparison that was stopped; nothing of a whole one."""
    if compared.heard is not None:
        duration = next(iter(compared.transcripts.values())).duration
        said = messages.stopped(compared.heard, duration)
        return [message("info", f"{said} {_names(left_out)} had not begun." if left_out else said)]
    if not left_out:
        return []
    verb = "was" if len(left_out) == 1 else "were"
    return [message("info", f"Stopped before {_names(left_out)} {verb} done; Compare again goes on from here.")]


def _names(names: Sequence[str]) -> str:
    return " and ".join(f"“{name}”" for name in names)


def show(services: Services, key: str, about: Sequence[dict[str, Any]] = ()) -> CompareScreen:
    """A finished comparison, with messages about it."""
    trial = services.trials.get(key)
    document = services.documents.get(trial.document)
    warnings = dict.fromkeys(warning for column in trial.columns for warning in column.transcript.warnings)
    said = [message("warn", warning) for warning in warnings]
    return CompareScreen(messages.value("result", *about, *said), source_of(document), value_of(trial), document.id)


def draw_charts(services: Services, data: Any) -> tuple[Any, Any]:
    """The timeline, and the reliability curve where there is a reference: {id, dark}."""
    try:
        trial = services.trials.get(getattr(data, "id", None))
    except UnknownTrialError:
        return gr.skip(), gr.skip()
    dark = getattr(data, "dark", False) is True
    return timeline(trial, dark=dark), reliability_curve(trial, dark=dark)


def source_of(document: Document) -> dict[str, str]:
    """Value of the source row."""
    duration = document.audio.duration if document.audio is not None else document.info.duration
    return {"name": document.name, "facts": wording.length(duration)}


# The components.


def model_choices(services: Services) -> list[tuple[str, str]]:
    """(name, source) of what a decoder's own model can be; "" = the page's."""
    return [("The model above", ""), *services.models.choices()]


def build_compare_tab(services: Services, tab: gr.Tab, model: gr.State, transcribed: gr.State) -> None:
    """Build the tab's contents; call it inside the tab.

    Args:
        model: state that holds the source of the model in use.
        transcribed: state that holds the id of the recording that is open in Transcribe.
    """
    limit = services.settings.max_upload_mb
    document = gr.State("")
    heads = services.models.heads(services.settings.model)
    first = presets.presets_of(heads)[0]
    source = part(
        "compare_source",
        {},
        events=("opened", "compare", "preset", "remove", "new_audio", "adopt"),
        presets=presets.offered(heads),
        preset=first.key,
        columns=[LEAST, MOST],
        adopt="",
        elem_id="ts-compare-source",
    )
    said = build_messages(services.jobs, stages="compare", elem_id="ts-compare-messages")
    with gr.Row(elem_id="ts-compare-start"):
        with gr.Column():
            value = {"hint": upload_hint(services.settings), "max_mb": limit, "title": TITLE, "lead": LEAD}
            files = part("files", value, events=("picked",))
        with gr.Column():
            samples = build_samples()
    models, decoders = [], []
    with gr.Row(elem_id="ts-compare-decoders"):
        for i, letter in enumerate(LETTERS):
            with gr.Column(elem_id=f"ts-compare-{letter}", elem_classes="ts-box ts-compare-decoder"):
                part("compare_letter", letter)
                models.append(
                    gr.Dropdown(
                        model_choices(services),
                        value="",
                        label="Model",
                        interactive=True,
                        filterable=services.settings.mode == "local",
                        allow_custom_value=services.settings.mode == "local",
                        elem_classes=["ts-field", "ts-dropdown"],
                    )
                )
                decoders.append(build_decoder_settings(services.language_models, first.columns[min(i, 1)]))
    with gr.Column(elem_id="ts-compare-result"):
        view = build_compare_view(services.documents, services.trials, services.inside)
        part("compare_texts", elem_id="ts-compare-texts")
        with gr.Row(elem_classes="ts-columns"):
            with gr.Column():
                part("compare_table", elem_id="ts-compare-table")
                part("compare_readings", elem_id="ts-compare-readings")
                with gr.Column(elem_classes="ts-box"):
                    with gr.Row(elem_classes="ts-box-head"):
                        part("line", "Sentences over time", elem_classes="ts-h2 ts-fill")
                        part("line", "Click one to hear it", elem_classes="ts-below ts-wide-only")
                    timeline_plot = gr.Plot(show_label=False, elem_id="ts-compare-timeline", elem_classes="ts-plot-box")
                part("compare_moments", elem_id="ts-compare-moments")
            with gr.Column():
                part("compare_glance", elem_id="ts-compare-glance")
                part("compare_picks", elem_id="ts-compare-picks")
                part("compare_reference", elem_id="ts-compare-reference")
                with gr.Column(elem_classes="ts-box", elem_id="ts-compare-calibration"):
                    with gr.Row(elem_classes="ts-box-head"):
                        part("line", "Can confidence be believed?", elem_classes="ts-h2 ts-fill")
                    curve_plot = gr.Plot(show_label=False, elem_id="ts-compare-curve", elem_classes="ts-plot-box")
                part("compare_report", elem_id="ts-compare-report")

    outputs = [said, source, view, document]
    settings = [model, *models, *decoders]
    quick: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private", "queue": False}
    work = {**quick, "queue": True, "concurrency_limit": AT_ONCE, "concurrency_id": "compare"}

    def on_compare(event: gr.EventData, document: str, *sent: Any) -> Iterator[tuple[Any, ...]]:
        for screen in compare(services, document, Columns.sent(*sent), event):
            yield outputs_of(screen)

    def on_upload(event: gr.EventData) -> tuple[Any, ...]:
        return outputs_of(take_upload(services, event))

    def on_sample(event: gr.EventData) -> tuple[Any, ...]:
        return outputs_of(take_sample(services, event))

    def on_adopt(transcribed: str) -> tuple[Any, ...]:
        return outputs_of(take_transcribed(services, transcribed))

    def on_open(document: str, transcribed: str, *sent: Any) -> tuple[Any, ...]:
        """The tab is opened: what Transcribe has is offered, or taken where there is nothing yet."""
        screen = CompareScreen()
        offer = ""
        if transcribed and transcribed != document:
            try:
                offer = services.documents.get(transcribed).name
            except UnknownDocumentError:
                transcribed = ""
        if offer and not document:
            screen, offer = take_transcribed(services, transcribed), ""
        values = list(outputs_of(screen))
        columns = Columns.sent(*sent)
        offered = presets.offered(services.models.heads(columns.source(0)))
        update: dict[str, Any] = {"adopt": offer, "presets": offered}
        if screen.source is not KEEP:
            update["value"] = screen.source
        values[1] = gr.update(**update)
        listed = [gr.update(choices=model_choices(services)) for _ in range(MOST)]
        return (*values, *listed, *(with_model(services.models, columns.source(i)) for i in range(MOST)))

    def on_model(*sent: Any) -> tuple[Any, ...]:
        columns = Columns.sent(*sent)
        offered = presets.offered(services.models.heads(columns.source(0)))
        chosen = (with_model(services.models, columns.source(i)) for i in range(MOST))
        return (gr.update(presets=offered, preset=""), *chosen)

    def on_remove(event: gr.EventData, *sent: Any) -> tuple[Any, ...]:
        column = getattr(event, "column", None)
        if column not in range(MOST):
            return (gr.skip(),) * (2 * MOST)
        left = Columns.sent(*sent).without(column)
        moved = (with_model(services.models, left.source(i), value=value) for i, value in enumerate(left.decoders))
        return (*left.models, *moved)

    def on_preset(event: gr.EventData, *sent: Any) -> tuple[Any, ...]:
        columns = Columns.sent(*sent)
        preset = presets.preset_of(getattr(event, "key", None), services.models.heads(columns.model))
        if preset is None:
            return (gr.skip(),) * 4
        pairs = zip(preset.models, preset.values, strict=True)
        chosen = (with_model(services.models, source or columns.model, value=value) for source, value in pairs)
        return (*preset.models, *chosen)

    def on_shown(event: gr.EventData) -> tuple[Any, Any]:
        return draw_charts(services, event)

    view.shown(on_shown, None, [timeline_plot, curve_plot], trigger_mode="always_last", **quick)
    source.compare(on_compare, [document, *settings], outputs, **work)
    files.picked(on_upload, None, outputs, **quick)
    samples.use(on_sample, None, outputs, **quick)
    source.new_audio(lambda: outputs_of(start_over()), None, outputs, **quick)
    source.adopt(on_adopt, transcribed, outputs, **quick)
    source.preset(on_preset, settings, [*models[:2], *decoders[:2]], trigger_mode="always_last", **quick)
    source.remove(on_remove, settings, [*models, *decoders], **quick)
    source.opened(on_open, [document, transcribed, *settings], [*outputs, *models, *decoders], **quick)
    # An update that comes before the tab has been opened would make Gradio forget what the parts were made with, so
    # these two only tell the page, whose parts ask in turn if they are there.
    for happened in (tab.select, model.change):
        happened(None, None, None, js=ASK_AGAIN, api_visibility="private")
    for one in models:
        one.input(on_model, settings, [source, *decoders], trigger_mode="always_last", **quick)
