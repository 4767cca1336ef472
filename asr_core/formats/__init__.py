"""Transcripts as files, one module a format.

Each module has `TIERS`, the tiers it can hold, and `render(transcript, tier, name)`, which returns the whole file.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import TextIO

from asr_core.alignment import Transcript
from asr_core.errors import FormatError
from asr_core.formats import csv, ctm, json, srt, textgrid, txt, vtt

FORMATS = {"txt": txt, "srt": srt, "vtt": vtt, "json": json, "csv": csv, "textgrid": textgrid, "ctm": ctm}


def write(
    transcript: Transcript, path: str | os.PathLike[str] | TextIO, *, format: str | None = None, tier: str | None = None
) -> None:
    """Write a transcript.

    Args:
        path: where to (UTF-8; the file appears whole or not at all), or an open text file.
        format: "txt", "srt", "vtt", "json", "csv", "textgrid" or "ctm"; None = by the suffix of `path`.
        tier: "tokens", "words" or "sentences", as far as the format holds it; None = what is usual for the format.
    Raises:
        FormatError: an unknown format, a tier that it does not hold, or a file that cannot be written.
    """
    name = getattr(path, "name", None) if hasattr(path, "write") else path
    target = Path(name) if isinstance(name, str | os.PathLike) else None
    if format is not None and not isinstance(format, str):
        raise FormatError(f"Formats are {', '.join(FORMATS)}; {format!r} is none of them.")
    if target is None and not hasattr(path, "write"):
        raise FormatError(f"A transcript is written to a path or an open text file, not to {path!r}.")
    if not isinstance(transcript, Transcript):
        raise FormatError(f"A Transcript is written, not {type(transcript).__name__}.")
    module = FORMATS.get((format or (target.suffix[1:] if target else "")).lower())
    if module is None:
        given = repr(format) if format else f"the name {str(target)!r}" if target else "a file without a name"
        raise FormatError(f"Formats are {', '.join(FORMATS)}; {given} is none of them.")
    text = module.render(transcript, tier, target.stem if target else "audio")
    if hasattr(path, "write"):
        path.write(text)
    else:
        _replace(target, text)


def _replace(path: Path, text: str) -> None:
    """Write beside the file and rename, so that no reader sees half of it."""
    beside = path.with_name(f".{secrets.token_hex(8)}.part") if path.name else path
    try:
        # A lone surrogate has no UTF-8; it is written as "?".
        beside.write_bytes(text.encode("utf-8", "replace"))
        beside.replace(path)
    except (OSError, ValueError) as error:  # a ValueError is a name with a NUL or a lone surrogate
        reason = getattr(error, "strerror", None) or error
        raise FormatError(f"{str(path)[:80]!r} cannot be written: {reason}.") from error
    finally:
        if beside != path:
            beside.unlink(missing_ok=True)
