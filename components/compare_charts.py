"""The comparison's charts: sentences over time, and whether confidence can be believed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

import asr_core
from asr_core.calibration import reliability, words_correct
from components.histogram import confidence_colour
from components.theme import tokens
from components.trials import LETTERS, Column, Trial

#: Bars in all; Plotly takes a second for a thousand. Where there are more sentences, neighbours share a bar.
MOST_BARS = 300
DASHES = ("solid", "dash", "dot", "longdash")


@dataclass(frozen=True)
class Stretch:
    """Sentences that follow each other, as one bar.

    Args:
        pause: seconds of silence before it.
    """

    first: int
    last: int
    start: float
    end: float
    confidence: float
    words: int
    pause: float

    @property
    def rate(self) -> float:
        """Words per second."""
        return self.words / (self.end - self.start) if self.end > self.start else 0.0

    @property
    def name(self) -> str:
        several = self.last > self.first
        return f"Sentences {self.first + 1}–{self.last + 1}" if several else f"Sentence {self.first + 1}"

    @property
    def shown(self) -> list[str | int | float]:
        """What is said of it, and from where to where it goes."""
        figures = [f"{self.rate:.1f}", f"{self.pause:.2f}", f"{self.confidence:.2f}"]
        return [self.name, self.words, *figures, self.start, self.end]


def stretches(sentences: Sequence[asr_core.Sentence], most: int) -> list[Stretch]:
    """At most `most` bars of about equally many sentences each."""
    each = max(1, -(-len(sentences) // most))
    found, before = [], 0.0
    for first in range(0, len(sentences), each):
        group = sentences[first : first + each]
        start, end = group[0].start, max(one.end for one in group)
        confidence = min(one.confidence for one in group)
        words = sum(len(one.words) for one in group)
        found.append(Stretch(first, first + len(group) - 1, start, end, confidence, words, max(0.0, start - before)))
        before = end
    return found


def timeline(trial: Trial, *, dark: bool = False) -> go.Figure:
    """Sentences of each decoder as bars over time, coloured by confidence."""
    css = tokens(dark)
    figure = go.Figure()
    most = MOST_BARS // len(trial.columns)
    for letter, column in zip(LETTERS, trial.columns, strict=False):
        bars = stretches(column.shown.sentences, most)
        figure.add_bar(
            orientation="h",
            y=[letter] * len(bars),
            base=[bar.start for bar in bars],
            x=[bar.end - bar.start for bar in bars],
            width=0.62,
            customdata=[bar.shown for bar in bars],
            hovertemplate=(
                f"{letter} · %{{customdata[0]}}<br>%{{customdata[1]}} words, %{{customdata[2]}} a second<br>"
                "%{customdata[3]} s pause before<br>confidence %{customdata[4]}<extra></extra>"
            ),
            marker={
                "color": [confidence_colour(bar.confidence, dark) for bar in bars],
                "line": {"color": css["line-strong"], "width": 1},
            },
        )
    duration = max(column.shown.duration for column in trial.columns) or 1.0
    lay_out(figure, css, 46 + 30 * len(trial.columns))
    figure.update_xaxes(range=[0, duration], ticksuffix=" s")
    figure.update_yaxes(autorange="reversed", type="category", showgrid=False)
    figure.update_layout(barmode="overlay")
    return figure


def reliability_curve(trial: Trial, *, dark: bool = False) -> go.Figure | None:
    """Share of right words by confidence, for each decoder; None without a reference."""
    if trial.reference is None:
        return None
    css = tokens(dark)
    figure = go.Figure()
    figure.add_scatter(
        x=[0, 1], y=[0, 1], mode="lines", line={"color": css["line-strong"], "width": 1}, hoverinfo="skip", name=""
    )
    for i, column in enumerate(trial.columns):
        found = calibration_of(trial, column)
        figure.add_scatter(
            x=[one.confidence for one in found.bins],
            y=[one.accuracy for one in found.bins],
            customdata=[[one.count, f"{one.low:.1f}", f"{one.high:.1f}"] for one in found.bins],
            name=f"{LETTERS[i]}, ECE {found.ece:.3f}",
            mode="lines+markers",
            line={"color": css[f"id-{LETTERS[i].lower()}"], "dash": DASHES[i], "width": 2},
            marker={"size": 7},
            hovertemplate=(
                f"{LETTERS[i]} · confidence %{{customdata[1]}} to %{{customdata[2]}}<br>"
                "%{customdata[0]} words, %{y:.0%} right, mean confidence %{x:.2f}<extra></extra>"
            ),
        )
    lay_out(figure, css, 240)
    figure.update_xaxes(range=[0, 1.02], tickvals=[0, 0.5, 1], title_text="confidence")
    figure.update_yaxes(range=[0, 1.05], tickvals=[0, 0.5, 1], tickformat=".0%", title_text="right", showgrid=False)
    # Above the curves: between them there is room in some charts only.
    place = {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "bgcolor": "rgba(0,0,0,0)"}
    legend = {**place, "font": {"size": 11, "color": css["ink-2"]}}
    figure.update_layout(showlegend=True, legend=legend, margin_t=44)
    figure.data[0].showlegend = False
    return figure


def calibration_of(trial: Trial, column: Column) -> asr_core.Reliability:
    """Confidence beside correctness of a column's words."""
    return reliability(*words_correct(column.shown, trial.reference.words, trial.normalization))


def lay_out(figure: go.Figure, css: dict[str, str], height: int) -> None:
    """Transparent, quiet, in the page's fonts."""
    small = {"family": "IBM Plex Mono, monospace", "size": 11, "color": css["ink-3"]}
    axis = {
        "gridcolor": css["line"],
        "zeroline": False,
        "fixedrange": True,
        "tickfont": small,
        "linecolor": css["line-strong"],
        "title": {"font": {**small, "family": "IBM Plex Sans, sans-serif"}, "standoff": 4},
    }
    figure.update_layout(
        height=height,
        margin={"l": 40, "r": 10, "t": 6, "b": 36},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        dragmode=False,
        showlegend=False,
        hoverlabel={"bgcolor": css["surface"], "font": {"color": css["ink"], "size": 12}},
        xaxis=axis,
        yaxis=axis,
    )
