"""What the page asks of a document that is annotated: look, edit, undo, propose times. Plain functions of the services.

Each gets the page's workspace key first, and answers with plain data; what is refused raises an error of `KNOWN`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import asr_core
from asr_core import judging
from asr_core.annotation import Change, ConflictError, Document, DocumentError, realignment
from asr_core.errors import DecodingError, StoreError
from components import wording
from components.align_view import columns_of_audio
from components.annotate_data import delta_of, head_of, listed, tiers_of, words_changed
from components.annotate_edits import Fields, planned, snapped
from components.annotations import LONGEST_NAME, document_of, shown_name
from components.documents import UnknownDocumentError
from components.services import Services
from components.trials import UnknownTrialError

KNOWN = (asr_core.AsrError, UnknownDocumentError, UnknownTrialError)
#: Stretches of new words that are aligned at once; words that lie closer together belong to one.
STRETCHES, NEAR = 40, 3


def answered(work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """An answer to the page: a server function that raises could not say why."""
    try:
        return work()
    except ConflictError as error:
        return {"error": str(error), "conflict": error.revision}
    except KNOWN as error:
        return {"error": str(error)}


def list_documents(services: Services, key: Any) -> dict[str, Any]:
    """The documents of the workspace, how long they are kept, and where they are uploaded to."""
    annotations = services.annotations
    workspace = annotations.workspace(key)
    days = services.settings.keep_days
    kept = "" if days is None else f"Deleted {_days(days)} after the last change. Export what you want to keep."
    kept = " ".join(filter(None, (kept, annotations.sync_state())))
    return {"documents": [listed(entry) for entry in annotations.store.entries(workspace)], "kept": kept}


def _days(days: float) -> str:
    return f"{days:g} day{'' if days == 1 else 's'}" if days >= 1 else wording.hours(max(1, round(days * 1440)))


def open_document(services: Services, key: Any, id: Any, known: Any = None) -> dict[str, Any]:
    """All of a document. Peaks are left out where `known` names its sound, which the page has."""
    entry = services.annotations.entry(key, id)
    sound = services.annotations.sound(entry.id)
    document, _ = services.annotations.store.load(entry.id)
    return {
        "head": head_of(services.annotations.store.entry(entry.id), document),
        "tiers": tiers_of(document),
        "sound": {**columns_of_audio(sound, known), "doc": entry.id},
    }


def look(services: Services, key: Any, id: Any) -> dict[str, Any]:
    """Where a document stands; cheap, because every page asks it again and again."""
    return {"revision": services.annotations.entry(key, id).revision}


def edit(services: Services, key: Any, id: Any, revision: Any, op: Any, ticket: Any) -> dict[str, Any]:
    """Make an edit, or "undo", "redo" or "restore"; it is on disk when this answers.

    Args:
        revision: of the document that the page shows.
        ticket: the page's own name for this edit; where it was made before, {again: revision} is the answer.
    """
    entry, store = services.annotations.entry(key, id), services.annotations.store
    if not isinstance(revision, int) or isinstance(revision, bool):
        raise StoreError("The page sent no revision. Load it again.")
    name = ticket if isinstance(ticket, str) and 8 <= len(ticket) <= 64 else ""
    try:
        return _made(services, entry.id, revision, op, name)
    except ConflictError:
        # The connection, or the server, broke off after the edit was made and before the page got the answer.
        if store.was_made(entry.id, revision, name):
            return {"again": revision + 1}
        raise


def _made(services: Services, id: str, revision: int, op: Any, ticket: str) -> dict[str, Any]:
    store = services.annotations.store
    before, now = store.load(id)
    if now != revision:
        raise ConflictError(now)
    step, how = op.get("op") if isinstance(op, dict) else None, {"reviewer": before.reviewer, "ticket": ticket}
    if step in ("undo", "redo"):
        entry = getattr(store, step)(id, revision, **how)
    elif step == "restore":
        entry = store.restore(id, revision, Fields(op).whole("version"), **how)
    else:
        asked = planned(before, op, lambda to, time: _snap(services, id, to, time))
        entry = store.edit(id, revision, asked.edit, asked.label, **how)
    after, _ = store.load(id)
    if after.state == "done":
        services.annotations.finish(id)
    change = store.change(id, entry.revision) if entry.revision != revision else Change("")
    changed = words_changed(change, after.first("words")) if step in ("text", "texts", "take", "split") else []
    return {"head": head_of(entry, after), "delta": delta_of(change), "changed": changed}


def propose(services: Services, key: Any, id: Any, revision: Any, ids: Any, model: Any) -> dict[str, Any]:
    """New times for words whose text was changed, as a forced alignment finds them."""
    entry = services.annotations.entry(key, id)
    document, now = services.annotations.store.load(entry.id)
    if now != revision:
        raise ConflictError(now)
    if not isinstance(ids, list):
        raise DocumentError("The page named no words. Load it again.")
    recognizer = services.models.get(allowed_model(services, model))
    sound = services.annotations.sound(entry.id).audio
    samples = sound.open().astype(np.float32) / 32_768
    times, before = [], []
    for stretch in stretches(document, ids):
        found = realignment.propose(recognizer, samples, document, stretch, sample_rate=sound.sample_rate)
        for new, old in zip(found.times, found.before, strict=True):
            if new != old:
                times.append(new)
                before.append(old)
    return {"revision": revision, "times": times, "before": before}


def stretches(document: Document, ids: Sequence[Any]) -> list[list[int]]:
    """Ids of words in groups of neighbours, in order of time. Raises DocumentError where there are too many."""
    tier, wanted = document.first("words"), {id for id in ids if isinstance(id, int)}
    found: list[list[int]] = []
    last = -NEAR - 1
    for i, word in enumerate(tier.segments if tier else ()):
        if word.id not in wanted:
            continue
        if i - last <= NEAR:
            found[-1].append(word.id)
        else:
            found.append([word.id])
        last = i
    if len(found) > STRETCHES:
        raise DocumentError(f"{len(found)} places are new, and {STRETCHES} are aligned at once. They keep their times.")
    return found


def allowed_model(services: Services, source: Any) -> str:
    """The model that a page wants. Raises DecodingError where strangers may not have it loaded."""
    models, wanted = services.models, source if isinstance(source, str) and source else services.settings.model
    listed_ones = {one for _, one in models.choices()}
    if services.settings.mode == "hosted" and wanted not in listed_ones and not models.is_loaded(wanted):
        raise DecodingError("This model is not offered here. Pick one in the list at the top.")
    return wanted


def delete(services: Services, key: Any, id: Any) -> dict[str, Any]:
    """Delete a document for good."""
    services.annotations.delete(services.annotations.entry(key, id).id)
    return list_documents(services, key)


def rename(services: Services, key: Any, id: Any, name: Any) -> dict[str, Any]:
    """Call a document something else."""
    entry = services.annotations.entry(key, id)
    text = shown_name(name)
    if not text:
        raise StoreError(f"A recording has a name of 1 to {LONGEST_NAME} letters that can be seen.")
    services.annotations.store.rename(entry.id, text)
    return list_documents(services, key)


def history(services: Services, key: Any, id: Any) -> dict[str, Any]:
    """What was done to a document, the last first."""
    entry = services.annotations.entry(key, id)
    lines = [
        {"revision": one.revision, "kind": one.kind, "label": one.label, "at": one.at, "reviewer": one.reviewer}
        for one in reversed(services.annotations.store.log(entry.id))
    ]
    return {"lines": lines[:500], "count": len(lines)}


def take(services: Services, key: Any, kind: Any, source: Any) -> dict[str, Any]:
    """Make a document of what another tab shows.

    Args:
        kind: "transcribe" or "live" with the id of a recording, or "compare" with that of a comparison.
    """
    if kind == "compare":
        trial = services.trials.get(source)
        recording = services.documents.get(trial.document)
        transcript = judging.reviewed(trial.comparison, trial.judged)
        made_of: tuple[Any, ...] = (kind, trial.id, trial.revision)
    elif kind in ("transcribe", "live"):
        recording = services.documents.get(source)
        transcript = recording.shown
        made_of = (kind, recording.id, recording.revision)
    else:
        raise StoreError("The page sent nothing that could be annotated. Load it again.")
    if transcript is None:
        raise StoreError("This recording has no transcript yet. Transcribe it first.")
    model = transcript.model
    revision = services.models.get(model).info.revision if model and services.models.is_loaded(model) else None
    document = document_of(recording, transcript, revision)
    entry = services.annotations.add(key, document, recording.name, recording.source, made_of)
    return {"id": entry.id}


def _snap(services: Services, id: str, to: str, time: float) -> float:
    document, _ = services.annotations.store.load(id)
    sound = services.annotations.sound(id).audio
    return snapped(sound.open(), sound.sample_rate, frame_of(services, document.provenance.model))(to, time)


def frame_of(services: Services, model: str | None) -> float:
    """Seconds of one frame of the model that made a document, as far as it is known; else 80 ms."""
    source = model or services.settings.model
    if services.models.is_loaded(source):
        return services.models.get(source).info.frame_seconds
    known = next((info for info in asr_core.list_models() if info.source == source), None)
    return known.frame_seconds if known is not None and known.frame_seconds else 0.08
