"""The quality report: what reviewing showed of one document, or of all that are in review or done."""

from __future__ import annotations

from typing import Any

import gradio as gr
import plotly.graph_objects as go

from asr_core.annotation import Entry
from asr_core.annotation.quality import Quality, Reviewed, report
from asr_core.calibration import Reliability
from components.annotate_desk import KNOWN
from components.compare_charts import lay_out
from components.compare_data import finite
from components.services import Services
from components.theme import tokens


def report_of(services: Services, key: Any, id: Any) -> dict[str, Any]:
    """The figures, as plain data; quality is None where nothing was reviewed."""
    entries = _entries(services, key, id)
    quality = _quality(services, entries)
    return {
        "id": id if isinstance(id, str) else None,
        "name": entries[0].name if isinstance(id, str) else "",
        "documents": len(entries),
        "quality": None if quality is None else _plain(quality),
    }


def curve_of(services: Services, data: Any, dark: bool) -> Any:
    """The reliability curve of the same documents: {key, id, dark} of the page."""
    try:
        quality = _quality(services, _entries(services, getattr(data, "key", None), getattr(data, "id", None)))
    except KNOWN:
        return gr.skip()
    return None if quality is None else curve(quality.calibration, quality.threshold, dark=dark)


def curve(found: Reliability, threshold: float | None, *, dark: bool = False) -> go.Figure:
    """Share of the words that people left as they were, by the machine's confidence."""
    css = tokens(dark)
    figure = go.Figure()
    line = {"color": css["line-strong"], "width": 1}
    figure.add_scatter(x=[0, 1], y=[0, 1], mode="lines", line=line, hoverinfo="skip", showlegend=False)
    figure.add_scatter(
        x=[one.confidence for one in found.bins],
        y=[one.accuracy for one in found.bins],
        customdata=[[one.count, f"{one.low:.1f}", f"{one.high:.1f}"] for one in found.bins],
        mode="lines+markers",
        line={"color": css["accent"], "width": 2},
        marker={"size": 7},
        hovertemplate=(
            "confidence %{customdata[1]} to %{customdata[2]}<br>%{customdata[0]} words, %{y:.0%} stayed<extra></extra>"
        ),
    )
    lay_out(figure, css, 240)
    if threshold is not None:
        figure.add_vline(x=threshold, line={"color": css["low"], "width": 1.5, "dash": "dash"})
    figure.update_xaxes(range=[0, 1.02], tickvals=[0, 0.5, 1], title_text="confidence of the machine")
    figure.update_yaxes(range=[0, 1.05], tickvals=[0, 0.5, 1], tickformat=".0%", title_text="words that stayed")
    return figure


def _entries(services: Services, key: Any, id: Any) -> list[Entry]:
    """The document of that id, or all of the workspace that somebody has begun to review."""
    if isinstance(id, str):
        return [services.annotations.entry(key, id)]
    entries = services.annotations.store.entries(services.annotations.workspace(key))
    return [entry for entry in entries if entry.state != "new"]


def _quality(services: Services, entries: list[Entry]) -> Quality | None:
    store = services.annotations.store
    if not any(entry.revision for entry in entries):
        return None
    reviewed = [Reviewed(store.version(one.id, 0), store.load(one.id)[0], store.log(one.id)) for one in entries]
    return report(reviewed)


def _plain(quality: Quality) -> dict[str, Any]:
    """JSON has no NaN."""
    return {
        "edits": quality.edits,
        "edits_per_minute": finite(quality.edits_per_minute),
        "words": quality.words,
        "words_changed": quality.words_changed,
        "word_error_rate": finite(quality.word_error_rate),
        "boundary_mean": finite(quality.boundaries.mean),
        "within_50ms": finite(quality.boundaries.within_50ms),
        "ece": finite(quality.calibration.ece),
        "threshold": quality.threshold,
        "share_below": quality.share_below,
    }
