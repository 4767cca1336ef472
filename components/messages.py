"""What the page says about the work: progress with time left, and messages (part "messages" of assets/start.js)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import gradio as gr

import asr_core
from components import wording
from components.documents import Document
from components.job import Job, State
from components.jobs import Jobs
from components.part import part

#: Characters of the text so far that are shown: its end.
MOST_TEXT = 3000

#: Seconds between two looks at the work.
LOOK = 0.2

Kind = Literal["info", "warn", "error"]
Stage = Literal["empty", "ready", "working", "result"]


def build_messages(jobs: Jobs, *, stages: str = "stage", **options: Any) -> gr.HTML:
    """A place for progress and messages; its Cancel needs no event. Event: "go_on" {}.

    Args:
        stages: whose stages it sets: the body's data attribute of that name.
    """

    def cancel_job(key: Any) -> bool:
        return jobs.cancel(key)

    return part("messages", {}, events=("go_on",), server_functions=(cancel_job,), stages=stages, **options)


def value(
    stage: Stage | None = None, *messages: dict[str, Any], progress: dict[str, Any] | None = None
) -> dict[str, Any]:
    """The part's value; a stage of None leaves the page's stage as it is."""
    return {"stage": stage, "progress": progress, "messages": list(messages)}


def message(kind: Kind, text: str, *, action: str | None = None) -> dict[str, Any]:
    """One message; an error's first sentence, which says what was given, is set in bold."""
    strong = ""
    if kind == "error" and (end := text.find(". ")) > 0:
        strong, text = text[: end + 1], text[end + 2 :]
    return {"kind": kind, "strong": strong, "text": text, "action": action}


def progress(job: Job, state: State) -> dict[str, Any]:
    """What to say while a job runs; a share of None is a bar without an end."""
    said: dict[str, Any] = {"text": "", "left": "", "share": None, "job": job.id, "heard": ""}
    match state.stage:
        case "download":
            of = f" of {wording.megabytes(state.total)}" if state.total else ""
            said["text"] = f"Fetching the model, {wording.megabytes(state.done)}{of}"
            said["share"] = state.done / state.total if state.total else None
            said["left"] = _left(state)
        case "load" | "waiting":
            said["text"] = "Loading the model"
        case "fuse":
            said["text"] = "Preparing the language model"
        case "read":
            said["text"] = "Reading the recording"
        case _:
            share = state.done / state.total if state.total else 0.0
            here = wording.place(max(state.done, 1.0), state.total)
            said["text"] = f"Listening to {here} of {wording.whole(state.total)}"
            said["share"] = share
            said["left"] = _left(state)
            said["heard"] = wording.ending(state.heard, MOST_TEXT)
    return said


def followed(job: Job) -> Iterator[dict[str, Any]]:
    """What to say while a job runs, each time that changes; the job is cancelled when nobody listens any more."""
    state, said = job.state(), None
    try:
        while not state.is_over:
            now = progress(job, state)
            if now != said:
                said = now
                yield now
            state = job.wait(LOOK)
    finally:
        job.cancel()


def _left(state: State) -> str:
    """Time left at the pace so far; nothing before there is a pace."""
    done = state.done - state.begun
    if done <= 0 or state.elapsed < 0.5:
        return ""
    return wording.time_left(state.elapsed / done * (state.total - state.done))


def about_result(document: Document, stopped_at: float | None = None) -> Sequence[dict[str, Any]]:
    """Messages that stand above a result: that it was stopped, what could not be read, where it was cut.

    Args:
        stopped_at: seconds up to which it was heard, if it was stopped before its end.
    """
    transcript = document.transcript
    said = []
    if stopped_at is not None:
        said.append(message("info", stopped(stopped_at, transcript.duration), action="Go on"))
    said += [message("warn", warning) for warning in transcript.warnings]
    if stopped_at is None and not transcript.tokens:
        said.append(message("info", "The model heard no words in this recording."))
    if transcript.cuts and stopped_at is None:
        said.append(message("info", _pieces(transcript)))
    return said


def _pieces(transcript: asr_core.Transcript) -> str:
    """How a recording was cut."""
    pieces = len(transcript.cuts) + 1
    if getattr(transcript.decoding, "whisper", None) is not None:
        return f"Whisper heard this recording in {pieces} windows, each from where the text before it ended."
    return f"This recording is long, so it was cut at quiet places and heard in {pieces} pieces."


def stopped(seconds: float, total: float) -> str:
    """What is said after a cancel."""
    if seconds <= 0:
        return "Stopped before anything was heard."
    return f"Stopped at {wording.place(seconds, total)}. What was heard up to there is below."
