"""The tab "Annotate": correct text and boundaries, with a queue, undo and a store that keeps every edit.

The page (assets/annotate_*.js) asks by server functions, which answer at once; what takes long goes on in a job.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gradio as gr

from components import annotate_desk as desk
from components.align_view import items, tile_of
from components.annotate_bulk import start_bulk, start_export
from components.annotate_desk import answered
from components.annotate_export import export
from components.annotate_jobs import Work
from components.annotate_report import curve_of, report_of
from components.annotate_work import decoders_of, start_import, start_second
from components.part import part
from components.services import Services

#: Tells the part that the tab has been opened, or that the page has another model.
ASK_AGAIN = "() => { window.dispatchEvent(new Event('tokenscope:annotate')); }"


def build_annotate_tab(services: Services, tab: gr.Tab, model: gr.State) -> None:
    """Build the tab's contents; call it inside the tab.

    Args:
        model: state that holds the source of the model in use.
    """
    page = part(
        "annotate",
        {"model": services.settings.model, "mode": services.settings.mode},
        events=("opened", "report"),
        server_functions=server_functions(services),
        elem_id="ts-annotate",
    )

    with gr.Column(elem_id="ts-annotate-report", elem_classes="ts-box"):
        part("annotate_report")
        plot = gr.Plot(show_label=False, elem_id="ts-annotate-curve", elem_classes="ts-plot-box")

    def on_opened(source: str) -> dict[str, Any]:
        return {"model": source, "mode": services.settings.mode}

    def on_report(event: gr.EventData) -> Any:
        return curve_of(services, event, getattr(event, "dark", False) is True)

    quick: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private", "queue": False}
    page.opened(on_opened, model, page, **quick)
    page.report(on_report, None, plot, trigger_mode="always_last", **quick)
    # The part asks in turn if it is there: an update before the tab was opened would make Gradio forget what it is.
    for happened in (tab.select, model.change):
        happened(None, None, None, js=ASK_AGAIN, api_visibility="private")


def server_functions(services: Services) -> list[Callable[[Any], Any]]:
    """What the page may call; each gets its arguments as one list, the workspace key first."""
    work = Work(services)

    def annotate_list(request: Any) -> dict[str, Any]:
        return answered(lambda: desk.list_documents(services, *items(request, 1)))

    def annotate_open(request: Any) -> dict[str, Any]:
        return answered(lambda: desk.open_document(services, *items(request, 3)))

    def annotate_look(request: Any) -> dict[str, Any]:
        return answered(lambda: desk.look(services, *items(request, 2)))

    def annotate_edit(request: Any) -> dict[str, Any]:
        return answered(lambda: desk.edit(services, *items(request, 5)))

    def annotate_propose(request: Any) -> dict[str, Any]:
        return answered(lambda: desk.propose(services, *items(request, 5)))

    def annotate_delete(request: Any) -> dict[str, Any]:
        return answered(lambda: desk.delete(services, *items(request, 2)))

    def annotate_rename(request: Any) -> dict[str, Any]:
        return answered(lambda: desk.rename(services, *items(request, 3)))

    def annotate_history(request: Any) -> dict[str, Any]:
        return answered(lambda: desk.history(services, *items(request, 2)))

    def annotate_take(request: Any) -> dict[str, Any]:
        return answered(lambda: desk.take(services, *items(request, 3)))

    def annotate_decoders(request: Any) -> dict[str, Any]:
        _, model = items(request, 2)
        source = model if isinstance(model, str) and model else services.settings.model
        return {"decoders": decoders_of(services.models.heads(source))}

    def annotate_import(request: Any) -> dict[str, Any]:
        return answered(lambda: start_import(services, work, *items(request, 2)))

    def annotate_bulk(request: Any) -> dict[str, Any]:
        return answered(lambda: start_bulk(services, work, *items(request, 2)))

    def annotate_export_done(request: Any) -> dict[str, Any]:
        return answered(lambda: start_export(services, work, *items(request, 1)))

    def annotate_second(request: Any) -> dict[str, Any]:
        return answered(lambda: start_second(services, work, *items(request, 4)))

    def annotate_going_on(request: Any) -> dict[str, Any]:
        return answered(lambda: work.going_on(services.annotations.workspace(*items(request, 1))))

    def annotate_told(request: Any) -> dict[str, Any]:
        key, job = items(request, 2)
        return answered(lambda: work.told(services.annotations.workspace(key), job))

    def annotate_work(request: Any) -> dict[str, Any]:
        _, job, cancel = items(request, 3)
        return answered(lambda: work.look(job, cancel))

    def annotate_export(request: Any) -> dict[str, Any]:
        return answered(lambda: export(services, *items(request, 3)))

    def annotate_report(request: Any) -> dict[str, Any]:
        return answered(lambda: report_of(services, *items(request, 2)))

    def spectrogram_tile(request: Any) -> dict[str, Any] | None:
        key, *frame = items(request, 6)
        try:
            return tile_of(services.annotations.sound(key if isinstance(key, str) else ""), *frame)
        except desk.KNOWN:
            return None

    return [
        annotate_list,
        annotate_open,
        annotate_look,
        annotate_edit,
        annotate_propose,
        annotate_delete,
        annotate_rename,
        annotate_history,
        annotate_take,
        annotate_decoders,
        annotate_import,
        annotate_bulk,
        annotate_export_done,
        annotate_second,
        annotate_going_on,
        annotate_told,
        annotate_work,
        annotate_export,
        annotate_report,
        spectrogram_tile,
    ]
