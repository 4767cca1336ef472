"""The lines of the table, and how they are printed."""

from __future__ import annotations

import math
from dataclasses import dataclass

HEAD = ("what", "ours", "peer", "figure", "target", "", "note")


@dataclass(frozen=True)
class Line:
    """One measurement.

    Args:
        what: is measured.
        ours, peer: as read, with their units; empty where there is nothing to compare with.
        figure: what the target is about, and `unit` ("x", "%", "GB").
        target: least (or, with `at_most`, largest) figure that was promised; None = none was.
        note: what else a reader needs.
    """

    what: str
    ours: str = ""
    peer: str = ""
    figure: float = math.nan
    unit: str = "x"
    target: float | None = None
    at_most: bool = False
    note: str = ""

    @property
    def verdict(self) -> str:
        """Whether the target is met; nothing where there is none, or no figure."""
        if self.target is None or math.isnan(self.figure):
            return ""
        met = self.figure <= self.target if self.at_most else self.figure >= self.target
        return "ok" if met else "missed"

    def cells(self) -> tuple[str, ...]:
        """One text a column of HEAD."""
        figure = "" if math.isnan(self.figure) else f"{self.figure:.3g} {self.unit}"
        target = "" if self.target is None else f"{'<=' if self.at_most else '>='} {self.target:g} {self.unit}"
        return self.what, self.ours, self.peer, figure, target, self.verdict, self.note


def seconds(value: float) -> str:
    """A duration as a person reads it."""
    return f"{value:.2f} s" if value >= 1 else f"{1000 * value:.3g} ms"


class Table:
    """Prints lines as they come: a run takes minutes."""

    WIDTHS = (46, 10, 10, 10, 11, 7)

    def __init__(self) -> None:
        self._print(HEAD)
        self._print((*("-" * width for width in self.WIDTHS), "----"))

    def add(self, line: Line) -> None:
        """Print one more line."""
        self._print(line.cells())

    def _print(self, cells: tuple[str, ...]) -> None:
        padded = (cell.ljust(width) for cell, width in zip(cells, self.WIDTHS, strict=False))
        print("  ".join((*padded, cells[-1])).rstrip(), flush=True)
