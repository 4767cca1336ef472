"""The comparison's Python side: it answers what assets/compare.js asks for, and takes what the person changes there."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import gradio as gr

import asr_core
from asr_core import judging
from components.align_view import items, tile_of
from components.compare_data import data_of, judged_of, moments_of
from components.compare_export import save
from components.compare_reference import normalization_of, reference_of
from components.documents import Document, Documents, UnknownDocumentError
from components.inside import Inside, Subject
from components.part import part
from components.trials import Trial, Trials, UnknownTrialError

#: Largest limit for a moved boundary, in seconds.
MOST_MOVED = 5.0

Known = (UnknownTrialError, UnknownDocumentError, asr_core.AsrError)


def build_compare_view(documents: Documents, trials: Trials, inside: Inside) -> gr.HTML:
    """The view; its value is `value_of(trial)`, or None for nothing. Event: "shown" {id, dark}."""

    def load_comparison(request: Any) -> dict[str, Any]:
        key, known = items(request, 2)
        return answered(lambda: data_of(trials.get(key), _document(documents, trials.get(key)), known))

    def change_comparison(request: Any) -> dict[str, Any]:
        key, change, known = items(request, 3)

        def work() -> dict[str, Any]:
            trial = trials.get(key)
            document = _document(documents, trial)
            changed = trials.update(trial.id, **changes_of(trial, change))
            return judged_of(changed) if changed.compares_as(trial) else data_of(changed, document, known)

        return answered(work)

    def spectrogram_tile(request: Any) -> dict[str, Any] | None:
        key, *frame = items(request, 6)
        try:
            document = documents.get(key)
        except UnknownDocumentError:
            return None
        return tile_of(document, *frame)

    def inside_tile(request: Any) -> dict[str, Any] | None:
        key, column, picked, number = items(request, 4)

        def work() -> dict[str, Any] | None:
            trial = trials.get(key)
            if not _is_position(column, len(trial.columns)) or trial.columns[column].picked != picked:
                return None
            one = trial.columns[column]
            document = _document(documents, trial)
            return inside.look(Subject((trial.id, column), picked, document, one.shown, one.transcript), number)

        return answered(work)

    def list_moments(request: Any) -> dict[str, Any]:
        (key,) = items(request, 1)

        def work() -> dict[str, Any]:
            trial = trials.get(key)
            return {"moments": moments_of(trial, _document(documents, trial))}

        return answered(work)

    def save_comparison(request: Any) -> dict[str, Any]:
        key, what = items(request, 2)

        def work() -> dict[str, Any]:
            trial = trials.get(key)
            path = save(trial, _document(documents, trial), what)
            return {"path": str(path), "name": path.name}

        return answered(work)

    return part(
        "compare_view",
        events=("shown",),
        server_functions=(
            load_comparison,
            change_comparison,
            spectrogram_tile,
            inside_tile,
            list_moments,
            save_comparison,
        ),
        elem_id="ts-compare-view",
    )


def answered(work: Callable[[], dict[str, Any] | None]) -> dict[str, Any] | None:
    """An answer to the page, or {error}: a server function that raises could not say why."""
    try:
        return work()
    except Known as error:
        return {"error": str(error)}


def value_of(trial: Trial) -> dict[str, Any]:
    """What the component's value says: bulk data never travels in it."""
    return {"id": trial.id, "revision": trial.revision}


def changes_of(trial: Trial, change: Any) -> dict[str, Any]:
    """The fields that a change replaces.

    Args:
        change: {moved}, {pick: [difference, choice]}, {reading: [column, index]}, {reference} as `reference_of` takes
            it, or {case, punctuation}.

    Raises:
        DecodingError: it makes no sense.
    """
    match change:
        case {"moved": moved}:
            return {"moved": _moved(moved)}
        case {"pick": [index, choice]}:
            return {"picks": _picks(trial, index, choice)}
        case {"reading": [column, reading]}:
            return {"columns": _columns(trial, column, reading)}
        case {"reference": given}:
            return {"reference": reference_of(given)}
        case {"case": case, "punctuation": punctuation}:
            return {"normalization": normalization_of(case, punctuation)}
    raise asr_core.DecodingError("The page sent a change that is not known here. Load the page again.")


def _moved(value: Any) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value) or not 0 <= value <= MOST_MOVED:
        raise asr_core.DecodingError(f"Boundaries are listed from 0 to {1000 * MOST_MOVED:.0f} ms on.")
    return float(value)


def _picks(trial: Trial, index: Any, choice: Any) -> dict[Any, int]:
    differences = trial.comparison.differences
    if not _is_position(index, len(differences)):
        raise asr_core.DecodingError("There is no such difference any more. Load the page again.")
    key = trial.key_of(differences[index])
    picks = dict(trial.picks)
    if choice is None:
        picks.pop(key, None)
    elif choice == judging.NEITHER or _is_position(choice, len(trial.columns)):
        picks[key] = choice
    else:
        raise asr_core.DecodingError(f"A pick is one of {len(trial.columns)} decoders, or neither.")
    return picks


def _columns(trial: Trial, column: Any, reading: Any) -> tuple[Any, ...]:
    if not _is_position(column, len(trial.columns)):
        raise asr_core.DecodingError("There is no such decoder here. Load the page again.")
    columns = list(trial.columns)
    if not _is_position(reading, len(columns[column].transcript.alternatives) + 1):
        raise asr_core.DecodingError("There is no such reading. Load the page again.")
    columns[column] = replace(columns[column], picked=reading)
    return tuple(columns)


def _is_position(value: Any, count: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < count


def _document(documents: Documents, trial: Trial) -> Document:
    document = documents.get(trial.document)
    if document.audio is None:
        raise UnknownDocumentError("This recording is being read again. Try again in a moment.")
    return document
