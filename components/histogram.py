"""How sure the model was, token by token, as a small chart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from components.theme import tokens

BINS = 20
HEIGHT = 128


def histogram(confidences: Sequence[float], threshold: float, *, dark: bool = False) -> go.Figure:
    """Counts of tokens by confidence.

    Args:
        threshold: bins that end at or below it are hatched, as everything below it is on the page.
        dark: for the dark theme.
    """
    css = tokens(dark)
    counts, edges = np.histogram(np.clip(confidences, 0, 1), bins=BINS, range=(0, 1))
    held = counts > 0
    counts, starts, ends = counts[held], edges[:-1][held], edges[1:][held]
    middles = (starts + ends) / 2
    # A bar too low to see would hide a token; every bin that holds one is at least this tall.
    least = max(1, counts.max(initial=0)) * 0.03
    figure = go.Figure(
        go.Bar(
            x=middles,
            y=np.maximum(counts, least),
            width=1 / BINS * 0.9,
            customdata=np.stack([counts, starts, ends], axis=1),
            hovertemplate="%{customdata[0]:d} tokens, %{customdata[1]:.2f} to %{customdata[2]:.2f}<extra></extra>",
            marker={
                "color": [confidence_colour(middle, dark) for middle in middles],
                "line": {"color": css["line-strong"], "width": 1},
                "pattern": {
                    "shape": ["/" if end <= threshold + 1e-9 else "" for end in ends],
                    "fgcolor": css["low"],
                    "fgopacity": 0.55,
                    "size": 5,
                    "solidity": 0.25,
                    "fillmode": "overlay",
                },
            },
        )
    )
    figure.add_vline(x=threshold, line={"color": css["ink"], "width": 2})
    figure.add_annotation(
        x=threshold,
        y=1,
        yref="paper",
        text=f"threshold {threshold:.2f}",
        showarrow=False,
        xanchor="right" if threshold > 0.45 else "left",
        xshift=-6 if threshold > 0.45 else 6,
        yanchor="top",
        font={"family": "IBM Plex Mono, monospace", "size": 11, "color": css["ink-2"]},
    )
    axis = {"showgrid": False, "zeroline": False, "fixedrange": True}
    figure.update_layout(
        height=HEIGHT,
        margin={"l": 6, "r": 6, "t": 4, "b": 22},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        bargap=0,
        dragmode=False,
        showlegend=False,
        hoverlabel={"bgcolor": css["surface"], "font": {"color": css["ink"], "size": 12}},
        xaxis={
            **axis,
            "range": [0, 1],
            "tickvals": [0, 0.5, 1],
            "ticktext": ["0", "0.5", "1"],
            "tickfont": {"family": "IBM Plex Mono, monospace", "size": 11, "color": css["ink-3"]},
            "linecolor": css["line-strong"],
            "showline": True,
        },
        yaxis={**axis, "visible": False, "range": [0, max(1, counts.max(initial=0)) * 1.12]},
    )
    return figure


def confidence_colour(confidence: float, dark: bool = False) -> str:
    """The page's colour of a confidence, joined between the five stops in OKLab, as assets/colour.js does."""
    css = tokens(dark)
    stops = [_to_oklab(css[f"conf-{stop}"]) for stop in (0, 25, 50, 75, 100)]
    place = min(3.9999, max(0.0, confidence * 4))
    low, share = int(place), place - int(place)
    red, green, blue = _from_oklab(stops[low] * (1 - share) + stops[low + 1] * share)
    return f"rgb({red},{green},{blue})"


_TO_LMS = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_TO_LAB = np.array(
    [
        [0.2104542553, 0.793617785, -0.0040720468],
        [1.9779984951, -2.428592205, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.808675766],
    ]
)


def _to_oklab(text: str) -> np.ndarray:
    values = np.array([int(text[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)
    return _TO_LAB @ np.cbrt(_TO_LMS @ linear)


def _from_oklab(lab: np.ndarray) -> list[int]:
    linear = np.clip(np.linalg.solve(_TO_LMS, np.linalg.solve(_TO_LAB, lab) ** 3), 0, 1)
    gamma = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    return [round(255 * value) for value in gamma]
