"""What the Transcribe tab shows: the new values of its components, made from the state of a recording."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import gradio as gr

from components import choices, messages, wording
from components.align_view import value_of
from components.decoder_settings import decoder_name
from components.documents import Document, UnknownDocumentError
from components.messages import message
from components.services import Services

NO_AUDIO = "Add audio first"
#: The component stays as it is.
KEEP = object()


@dataclass(frozen=True)
class Screen:
    """New values of the tab's components; what is not given stays as it is. The fields are the outputs, in order."""

    messages: Any = KEEP
    source: Any = KEEP
    align: Any = KEEP
    document: Any = KEEP
    channel: Any = KEEP
    split: Any = KEEP
    transcribe: Any = KEEP
    reason: Any = KEEP

    def values(self) -> tuple[Any, ...]:
        """The outputs of a Gradio handler."""
        return outputs_of(self)


def outputs_of(screen: Any) -> tuple[Any, ...]:
    """The fields of a screen as a Gradio handler returns them."""
    given = (getattr(screen, field.name) for field in fields(screen))
    return tuple(gr.skip() if value is KEEP else value for value in given)


def show(services: Services, document: str, sentences: str, *, stopped_at: float | None = None) -> Screen:
    """The result of a recording.

    Args:
        sentences: where its sentences end, as the settings name it.
        stopped_at: seconds up to which it was heard, if it was stopped.
    """
    try:
        found = services.documents.get(document)
    except UnknownDocumentError as error:
        return refuse(str(error))
    if found.transcript is None or found.audio is None:
        return Screen(messages=messages.value("empty", message("info", messages.stopped(0.0, 0.0))))
    return Screen(
        messages=messages.value("result", *messages.about_result(found, stopped_at)),
        source=source_of(services, found),
        align=value_of(found),
        document=found.id,
        channel=gr.update(choices=choices.channel_choices(found.info.channels)),
        split=sentences,
        transcribe=gr.update(interactive=True),
        reason=found.name,
    )


def refuse(text: str) -> Screen:
    """Something that was given does not work; the page is ready for another try."""
    return Screen(messages=messages.value("empty", message("error", text)))


def failed(services: Services, document: str, text: str) -> Screen:
    """The work has failed; the recording stays, and so does an earlier result."""
    try:
        found = services.documents.get(document)
    except UnknownDocumentError:
        return refuse(text)
    stage = "result" if found.transcript is not None else "empty"
    return Screen(messages=messages.value(stage, message("error", text)))


def source_of(services: Services, document: Document) -> dict[str, str]:
    """Value of the source row."""
    info, transcript = document.info, document.transcript
    duration = document.audio.duration if document.audio is not None else info.duration
    done, decoder = "", ""
    if transcript is not None:
        done = wording.speed(document.seconds, transcript.duration) if document.stopped is None else ""
        decoder = decoder_name(transcript.decoding, services.models.heads(transcript.model))
    facts = [wording.length(duration), wording.rate(info.sample_rate), wording.channels(info.channels)]
    return {"name": document.name, "facts": ", ".join(facts), "done": done, "decoder": decoder}
