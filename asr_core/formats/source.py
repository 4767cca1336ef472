"""Bytes of a file and the text in them."""

from __future__ import annotations

import codecs
import os
import secrets
from pathlib import Path
from typing import Any

from asr_core.errors import FormatError
from asr_core.formats.contents import Malformed

#: Bytes of the largest file that is read; an hour of tokens as JSON has about two million.
MAX_BYTES = 48 << 20


def bytes_of(source: Any) -> tuple[str, bytes]:
    """The name of a path, an open file or bytes ("" = none), and what they hold. Raises FormatError."""
    if isinstance(source, bytes | bytearray | memoryview):
        return "", _limited("The file", bytes(source))
    if hasattr(source, "read"):
        name = getattr(source, "name", "")
        try:
            data = source.read(MAX_BYTES + 1)
        except (OSError, ValueError) as error:  # a ValueError is a closed file
            raise FormatError(f"The file cannot be read: {error}.") from error
        data = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
        return (Path(name).name if isinstance(name, str) else ""), _limited("The file", data)
    if not isinstance(source, str | os.PathLike):
        raise FormatError(f"A path, bytes or an open file is read, not {type(source).__name__}.")
    path = Path(source)
    try:
        with path.open("rb") as file:
            return path.name, _limited(f"{path.name[:80]!r}", file.read(MAX_BYTES + 1))
    except (OSError, ValueError) as error:  # a ValueError is a name with a NUL
        reason = getattr(error, "strerror", None) or error
        raise FormatError(f"{str(path)[:80]!r} cannot be read: {reason}.") from error


def text_of(data: bytes) -> str:
    """UTF-8 or UTF-16, with or without a byte order mark. Raises Malformed."""
    encoding = _encoding(data)
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        bad = data[error.start : error.start + 1].hex() or "nothing"
        raise Malformed(line, f"byte 0x{bad} is no {encoding.upper()[:6]}; save the file as UTF-8.") from None
    if "\0" in text:
        raise Malformed(text[: text.index("\0")].count("\n") + 1, "it holds a zero byte, so it is no text file.")
    return text.removeprefix("\ufeff")


def replace_file(path: Path, text: str) -> None:
    """Write beside the file and rename, so that no reader sees half of it. Raises FormatError."""
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


def _encoding(data: bytes) -> str:
    for mark, encoding in ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")):
        if data.startswith(mark):
            return encoding
    # Without a mark: every format here begins with an ASCII character, of which UTF-16 makes a byte and a zero.
    if len(data) >= 2 and len(data) % 2 == 0 and bool(data[0]) != bool(data[1]):
        return "utf-16-be" if data[1] else "utf-16-le"
    return "utf-8"


def _limited(name: str, data: bytes) -> bytes:
    if len(data) > MAX_BYTES:
        raise FormatError(f"{name} has more than {MAX_BYTES >> 20} MB, the most that is read; cut it into parts.")
    return data
