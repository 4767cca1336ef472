"""The tab "Live": speak, and see the words come; then look at the recording.

The page records (assets/microphone.js), sends packets and shows the text (assets/live.js). What it sends goes to a
session of components/live_session.py by server functions, which answer at once.
"""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import gradio as gr

import asr_core
from components import downloads
from components.decoder_settings import DecoderChoice
from components.documents import UnknownDocumentError
from components.header import understands
from components.jobs import Request
from components.live_difference import difference_of
from components.live_session import LiveSession
from components.live_sessions import LiveSessions, share_sound
from components.part import part
from components.samples import sample_at, samples
from components.services import Services
from components.settings import Settings
from components.wording import hours

#: Seconds that a look at the transcription of the whole recording waits.
LOOK = 0.3
WHISPER_COST = (
    "Live, Whisper hears its last seconds again every 2 s, which takes about 1.5 s on two CPU cores: "
    "where this computer is slower, the text falls behind, and nothing is lost."
)
GONE = "This recording is no longer kept here. Start a new one."


def kept(settings: Settings) -> str:
    """What strangers are told before they speak."""
    if settings.mode != "hosted":
        return ""
    return f"A recording is deleted {hours(settings.retention_hours * 60)} after you last look at it."


def open_session(live: LiveSessions, model: str, decoder: Any, data: Any) -> dict[str, Any]:
    """The page wants to record: {rate, ticket}. The answer goes into the part's value.

    Args:
        decoder: what the decoder's controls in Transcribe send; language and task hold here, too.
    """
    ticket = getattr(data, "ticket", None)
    answer = {"ticket": ticket if isinstance(ticket, str) else ""}
    try:
        session = live.open(model, getattr(data, "rate", None), live_decoding(decoder))
    except asr_core.AsrError as error:
        return {**answer, "error": str(error)}
    return {**answer, "session": session.id, "name": session.name}


def live_decoding(decoder: Any) -> asr_core.Greedy:
    """How live sound is decoded: greedily, in the language and for the task that a Whisper model was told."""
    sent = decoder if isinstance(decoder, dict) else {}
    # What else is set there, and may be wrong, is no matter of this tab.
    chosen = DecoderChoice.from_page({name: sent[name] for name in ("head", "language", "task") if name in sent})
    if chosen.head != "whisper":
        return asr_core.Greedy()
    return asr_core.Greedy(whisper=asr_core.Whisper(language=chosen.language or None, task=chosen.task))


def push(live: LiveSessions, key: Any, packet: Any, known: Any) -> dict[str, Any]:
    """Take a packet in, and answer with what is new."""
    session = live.get(key)
    if session is None:
        return {"error": GONE}
    if not session.push(packet):
        return {"error": "The server does not understand what this page sends. Load the page again."}
    return session.view(known)


def look(live: LiveSessions, key: Any, known: Any) -> dict[str, Any]:
    """What is new in a session."""
    session = live.get(key)
    return {"error": GONE} if session is None else session.view(known)


def save(services: Services, session: LiveSession, format: Any) -> Path:
    """A file of a recording that has ended: its sound ("wav"), or the live text in one of the formats."""
    document = services.documents.get(session.document)
    if format == "wav":
        return share_sound(document)
    if not downloads.is_offered(format):
        raise asr_core.FormatError(f"Formats are wav, {downloads.OFFERED}.")
    return downloads.write(document, session.heard.final, format, f"{document.source.stem}.live")


def hear_again(services: Services, session: LiveSession) -> dict[str, Any]:
    """Transcribe the recording as a whole, with the model of the live text: the first call begins, others look.

    Returns:
        share: of the work, None before it is known; document: where the result is, once it is there; or error.
    """
    document = services.documents.get(session.document)
    if session.again is None:
        request = Request(document.id, session.model, session.decoding, asr_core.Segmentation())
        session.again = services.jobs.transcribe(request)
    state = session.again.wait(LOOK)
    if state.stage == "done":
        return {"document": document.id}
    if state.is_over:
        session.again = None
        return {"error": state.error or "It was stopped. Try again."}
    return {"share": state.done / state.total if state.total else None}


def compare(services: Services, key: Any) -> dict[str, Any] | None:
    """The live text of a document beside its transcript; None for what was not recorded live, or not heard again."""
    session = services.live.of_document(key)
    if session is None or session.again is None:
        return None
    try:
        document = services.documents.get(key)
    except UnknownDocumentError:
        return None
    if document.shown is None or not session.again.state().is_over:
        return None
    return difference_of(session.heard.final, document.shown)


def build_live_beside(services: Services) -> None:
    """For the tab Transcribe: what was heard live, beside the transcript of the same recording."""

    def live_beside(key: Any) -> dict[str, Any] | None:
        return compare(services, key)

    part("live_beside", server_functions=(live_beside,), elem_id="ts-live-beside")


def build_live_tab(services: Services, model: gr.State, decoder: gr.HTML, note_of_model: gr.HTML) -> None:
    """Build the tab's contents; call it inside the tab.

    Args:
        model: state that holds the source of the model in use.
        decoder: the decoder's controls in Transcribe.
        note_of_model: what it can be expected to understand, in Transcribe; the tab says the same.
    """
    live = services.live

    def live_push(request: Any) -> dict[str, Any]:
        return push(live, *_items(request, 3))

    def live_look(request: Any) -> dict[str, Any]:
        return look(live, *_items(request, 2))

    def live_drop(key: Any) -> bool:
        session = live.get(key)
        if session is not None:
            session.drop()
        return session is not None

    def live_save(request: Any) -> dict[str, str]:
        key, format = _items(request, 2)
        session = live.get(key)
        if session is None:
            return {"error": GONE}
        try:
            path = save(services, session, format)
        except (UnknownDocumentError, asr_core.AsrError) as error:
            return {"error": str(error)}
        return {"path": str(path), "name": path.name}

    def live_again(key: Any) -> dict[str, Any]:
        session = live.get(key)
        if session is None:
            return {"error": GONE}
        try:
            return hear_again(services, session)
        except UnknownDocumentError as error:
            return {"error": str(error)}

    def live_beside(key: Any) -> dict[str, Any] | None:
        return compare(services, key)

    def live_sample(index: Any) -> str:
        sample = sample_at(index)
        return "" if sample is None else base64.b64encode(sample.path.read_bytes()).decode("ascii")

    listed = {info.source: understands(info) for info in asr_core.list_models()}

    def note_for(text: str, source: str) -> str:
        cost = WHISPER_COST if services.models.heads(source) == ("whisper",) else ""
        return " ".join(filter(None, (text, cost, kept(services.settings))))

    first = services.settings.model
    note = part("note", note_for(listed.get(first, ""), first), elem_id="ts-live-understands")
    value = {
        "samples": [{"name": one.path.name, "seconds": one.seconds} for one in samples()],
        "formats": downloads.offered(),
        "limit": live.limit(),
        "max_mb": services.settings.max_upload_mb,
    }
    page = part(
        "live",
        value,
        events=("open",),
        server_functions=(live_push, live_look, live_drop, live_save, live_again, live_beside, live_sample),
        elem_id="ts-live",
    )

    def on_open(event: gr.EventData, source: str, decoder: Any) -> dict[str, Any]:
        return {**value, **open_session(live, source, decoder, event)}

    quick: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private", "queue": False}
    page.open(on_open, [model, decoder], page, **quick)
    note_of_model.change(note_for, [note_of_model, model], note, **quick)


def _items(request: Any, count: int) -> list[Any]:
    given = list(request) if isinstance(request, list | tuple) else [request]
    return (given + [None] * count)[:count]
