"""What tests of Annotate share: a document that came over from Transcribe, edits of it, and the end of a job."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import asr_core
from asr_core.annotation import Document
from components import annotate_desk as desk
from components.annotate_jobs import Work
from components.services import Services

SAMPLES = Path(__file__).parents[1] / "assets" / "samples"
NAME = "sandwich.flac"
SAID = "Why would you sell a sandwich?"


def transcribed(services: Services, heard: asr_core.Transcript) -> str:
    recording = services.documents.add(SAMPLES / NAME, NAME, move=False)
    return services.documents.update(recording.id, transcript=heard).id


def load(services: Services, id: str) -> Document:
    return services.annotations.store.load(id)[0]


def edit(services: Services, id: str, op: dict[str, Any], ticket: Any = None, revision: Any = None) -> dict[str, Any]:
    now = services.annotations.store.load(id)[1] if revision is None else revision
    return desk.edit(services, "", id, now, op, ticket)


def words(services: Services, id: str) -> list[Any]:
    return list(load(services, id).first("words").segments)


def finished(work: Work, started: dict[str, Any]) -> dict[str, Any]:
    """The end of a job."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        answer = work.look(started["job"], False)
        if "progress" not in answer:
            return answer
    raise AssertionError("the job did not end")
