"""Transcripts and documents as files, one module a format.

Each module has its `NAME`, the `SUFFIXES` it goes by, the `TIERS` of a transcript that it can hold, and what it `KEEPS`
of them; `render(source, tier, name)`, which returns the whole file; `sniff(text)`, which says whether a text looks like
it; and `read(text, wanted)`, which returns what it found there.

`TABLE` says what each format keeps. For all of them: text is UTF-8 (UTF-16 is read as well), times are written in whole
milliseconds, and what is unknown is left out. Where a format cannot hold an item without length it gets one: a frame
(80 ms), or 1 ms where the next item follows; in tiers of words a mark without length is part of its word anyway. What
overlaps in a file is read as one tier for each item or speaker that sounds at once; overlaps up to 10 ms are roundings,
and the earlier item ends where the later one begins. Times past the end of the recording are cut there.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any, TextIO

from asr_core.alignment import Transcript
from asr_core.annotation.document import Audio, Document
from asr_core.annotation.segments import DocumentError
from asr_core.checks import shown
from asr_core.errors import FormatError
from asr_core.formats import audacity, csv, ctm, eaf, hf, json, nemo, rttm, srt, textgrid, txt, vtt
from asr_core.formats.importing import assembled
from asr_core.formats.source import bytes_of, replace_file, text_of

FORMATS = {
    "txt": txt,
    "srt": srt,
    "vtt": vtt,
    "json": json,
    "csv": csv,
    "textgrid": textgrid,
    "ctm": ctm,
    "eaf": eaf,
    "rttm": rttm,
    "audacity": audacity,
    "nemo": nemo,
    "hf": hf,
}
#: What comes back from each format.
TABLE = {name: module.KEEPS for name, module in FORMATS.items()}

OTHER_AUDIO = "The document was made of another recording: the content of the audio differs."


def read(source: Any, *, format: str | None = None, audio: Audio | str | os.PathLike[str] | None = None) -> Document:
    """Read a file of any format as a document. `TABLE` says what each format keeps.

    Args:
        source: a path, bytes, or an open file; for a Hugging Face dataset its folder.
        format: one of `FORMATS`; None = by the suffix of the name, else by the content.
        audio: the recording it belongs to, or the path of it; where a file holds several recordings, the name of the
            one that is meant. Its duration bounds the times.
    Raises:
        FormatError: a file that cannot be read, breaks its format (the line and the cause are named), or is too large.
        AudioError: a path that is no audio.
    """
    if format is not None and (not isinstance(format, str) or format.lower() not in FORMATS):
        raise FormatError(f"Formats are {', '.join(FORMATS)}; {shown(format)} is none of them.")
    known = _audio(audio)
    folder = hf.folder_of(source) if format is None or format.lower() == "hf" else None
    name, data = bytes_of(folder / hf.METADATA if folder else source)
    what = repr(name[:80]) if name else "The file"
    module, text = (FORMATS[format.lower()] if format else hf if folder else None), ""
    try:
        text = text_of(data)
        module = module or _module(name, text)
        found = module.read(text, (known.name or None) if known else None)
        if folder and (known is None or known.duration is None):
            known = hf.audio_beside(folder, found.recording) or known
        return _with_audio(found, known) if isinstance(found, Document) else assembled(found, known)
    except (FormatError, DocumentError) as error:
        form = f" as {module.NAME}" if module else ""
        hint = _hint(module, text) if module else ""
        raise FormatError(f"{what} cannot be read{form}: {error}{hint}") from error


def write(
    source: Transcript | Document,
    path: str | os.PathLike[str] | TextIO,
    *,
    format: str | None = None,
    tier: str | None = None,
    audio: str | os.PathLike[str] | None = None,
) -> None:
    """Write a transcript or a document.

    Args:
        path: where to (UTF-8; the file appears whole or not at all), or an open text file.
        format: one of `FORMATS`; None = by the suffix of `path`.
        tier: "tokens", "words" or "sentences", as far as the format holds it, or the name of a document's tier; None =
            what is usual for the format.
        audio: for "hf", whose `path` is a folder: the file that is copied into it.
    Raises:
        FormatError: an unknown format, a tier that it does not hold, or a file that cannot be written.
    """
    name = getattr(path, "name", None) if hasattr(path, "write") else path
    target = Path(name) if isinstance(name, str | os.PathLike) else None
    if format is not None and not isinstance(format, str):
        raise FormatError(f"Formats are {', '.join(FORMATS)}; {shown(format)} is none of them.")
    if target is None and not hasattr(path, "write"):
        raise FormatError(f"A transcript is written to a path or an open text file, not to {shown(path)}.")
    if not isinstance(source, Transcript | Document):
        raise FormatError(f"A Transcript or a Document is written, not {type(source).__name__}.")
    if tier is not None and not isinstance(tier, str):
        raise FormatError(f"tier is the name of a tier, or None, not {shown(tier)}.")
    if audio is not None and not isinstance(audio, str | os.PathLike):
        raise FormatError(f"audio is the path of a file, or None, not {shown(audio)}.")
    module = FORMATS.get(format.lower()) if format else _by_suffix(target.name if target else "")
    if module is None:
        given = repr(format) if format else f"the name {str(target)!r}" if target else "a file without a name"
        raise FormatError(f"Formats are {', '.join(FORMATS)}; {given} is none of them.")
    if module is hf and not hasattr(path, "write"):
        hf.add(target, source, tier, audio)
        return
    text = module.render(source, tier, target.stem if target else "audio")
    if hasattr(path, "write"):
        path.write(text)
    else:
        replace_file(target, text)


def _by_suffix(name: str) -> ModuleType | None:
    """The first format that goes by the suffix of a name, or by its own name as one."""
    suffix = Path(name).suffix[1:].lower()
    named = [module for module in FORMATS.values() if suffix in module.SUFFIXES]
    return named[0] if named else FORMATS.get(suffix)


def _module(name: str, text: str) -> ModuleType:
    """The format of a file: of those that go by its suffix the one its content looks like; of all without a suffix."""
    suffix = Path(name).suffix[1:].lower()
    named = [module for module in FORMATS.values() if suffix in module.SUFFIXES]
    return named[0] if len(named) == 1 else _looks_like(text, named or list(FORMATS.values()))


def _looks_like(text: str, modules: Sequence[ModuleType]) -> ModuleType:
    # Any text is text: that comes last.
    ordered = sorted(modules, key=lambda module: module is txt)
    return next((module for module in ordered if module.sniff(text)), ordered[0])


def _hint(module: ModuleType, text: str) -> str:
    other = _looks_like(text, list(FORMATS.values()))
    if other in (module, txt) or module.sniff(text):
        return ""
    return f" It looks like {other.NAME}."


def _audio(audio: Any) -> Audio | None:
    if audio is None or isinstance(audio, Audio):
        return audio
    if not isinstance(audio, str | os.PathLike):
        raise FormatError(f"audio is an Audio, a path or a name, not {type(audio).__name__}.")
    return Audio.of_file(audio) if os.path.isfile(audio) else Audio(os.fspath(audio))  # noqa: PTH113 - takes any text


def _with_audio(document: Document, audio: Audio | None) -> Document:
    if audio is None:
        return document
    own = document.audio
    if None not in (own.sha256, audio.sha256) and own.sha256 != audio.sha256:
        document = replace(document, warnings=(*document.warnings, OTHER_AUDIO))
    duration = own.duration if audio.duration is None else audio.duration
    return replace(document, audio=replace(audio, duration=duration))
