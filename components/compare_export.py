"""What a comparison can be taken home as: the table of differences, the reviewed transcript, a report."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import asr_core
from asr_core import formats, judging
from asr_core.formats.csv import guarded
from asr_core.formats.source import replace_file
from components.compare_data import pick_name, what_of
from components.compare_report import report_of
from components.documents import Document
from components.downloads import SUFFIXES
from components.trials import LETTERS, Trial


def save(trial: Trial, document: Document, what: Any) -> Path:
    """Make a file: "csv", "report", or a format of the reviewed transcript. Raises FormatError."""
    folder = document.folder / "exports"
    folder.mkdir(exist_ok=True)
    stem = document.source.stem
    made: dict[str, tuple[str, Callable[[], str]]] = {
        "csv": (f"{stem}.differences.csv", lambda: table_of(trial)),
        "report": (f"{stem}.report.html", lambda: report_of(trial, document)),
    }
    if isinstance(what, str) and what in made:
        name, render = made[what]
        path = folder / name
        replace_file(path, render())
        return path
    if isinstance(what, str) and what in SUFFIXES:
        path = folder / f"{stem}.reviewed.{SUFFIXES[what]}"
        formats.write(judging.reviewed(trial.comparison, trial.judged), path, format=what)
        return path
    raise asr_core.FormatError(f"A comparison can be saved as {', '.join([*made, *SUFFIXES])}; this is none of them.")


def table_of(trial: Trial) -> str:
    """The differences as CSV (RFC 4180), times in seconds, shifts in milliseconds."""
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\r\n")
    letters = LETTERS[: len(trial.columns)]
    head = ["at", "what", "edge", "start", "end", "shift_ms"]
    for letter, column in zip(letters, trial.columns, strict=True):
        head += [guarded(f"{letter}: {column.name}"), f"{letter} confidence", f"{letter} start", f"{letter} end"]
    rows.writerow([*head, "right"])
    for i, one in enumerate(trial.comparison.differences):
        shift = "" if one.shift is None else f"{1000 * one.shift:.0f}"
        row = [f"{one.at:.3f}", what_of(one), one.edge or "", f"{one.start:.3f}", f"{one.end:.3f}", shift]
        for column, place in zip(trial.comparison.transcripts, one.readings, strict=True):
            if place is None:
                row += ["", "", "", ""]
                continue
            word = column.words[place]
            row += [guarded(word.text), f"{word.confidence:.6f}", f"{word.start:.3f}", f"{word.end:.3f}"]
        rows.writerow([*row, pick_name(trial.judged.get(i))])
    return out.getvalue()
