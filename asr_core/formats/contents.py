"""What a reader finds in a file, and how it says what is wrong there."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import NamedTuple

from asr_core.errors import FormatError

_NUMBER = re.compile(r"[-+]?(?:[0-9]+(?:[.,][0-9]*)?|[.,][0-9]+)(?:[eE][-+]?[0-9]{1,4})?")
_KINDS = {
    "token": "tokens",
    "word": "words",
    "sentence": "sentences",
    "utterance": "sentences",
    "segment": "sentences",
    "speaker": "speakers",
    "mark": "marks",
    "reference": "reference",
}


class Malformed(FormatError):
    """A file that breaks its format.

    Args:
        where: the line, from 1 on, or the path of a value in JSON.
        cause: what is wrong there, and what is accepted.
    """

    def __init__(self, where: int | str, cause: str) -> None:
        self.place = f"line {where}" if isinstance(where, int) else where
        self.cause = cause
        super().__init__(f"{self.place}: {cause}")


class Row(NamedTuple):
    """A segment as it stands in a file; seconds."""

    line: int
    start: float
    end: float
    text: str
    confidence: float | None = None
    speaker: str | None = None
    token_id: int | None = None
    log_prob: float | None = None


@dataclass(frozen=True)
class Track:
    """Rows that belong together; they may overlap and stand in any order."""

    name: str
    kind: str
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Contents:
    """All of a file: its tracks, and what it says of the recording ("" and None: nothing).

    Without times (`timed`) the rows of each track are in order, and get equal time for equal length of text.
    """

    tracks: tuple[Track, ...]
    duration: float | None = None
    recording: str = ""
    language: str | None = None
    warnings: tuple[str, ...] = ()
    timed: bool = True


def lines_of(text: str) -> list[str]:
    """Lines that end with LF, CR or CRLF, and with nothing else that Unicode calls a line."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def shown(text: str) -> str:
    """A text of a file inside a message: quoted, and not longer than a line."""
    return repr(text if len(text) <= 60 else text[:59] + "…")


def number(text: str, line: int, what: str) -> float:
    """A finite number with a decimal point or comma."""
    if _NUMBER.fullmatch(text.strip()):
        value = float(text.strip().replace(",", "."))
        if math.isfinite(value):
            return value
    raise Malformed(line, f"{what} is a number such as 1.25, not {shown(text)}.")


def confidence(text: str, line: int) -> float | None:
    """A number from 0 to 1; "NA" and nothing are unknown."""
    if text.strip().lower() in ("", "na", "nan", "null", "none", "<na>"):
        return None
    value = number(text, line, "A confidence")
    if not 0 <= value <= 1:
        raise Malformed(line, f"a confidence lies from 0 to 1; {shown(text)} does not.")
    return value


def kind_of(name: str) -> str:
    """The kind of a tier that has only a name: "words" and "Word 2" are words; unknown names are free tiers."""
    plain = name.casefold().rstrip("0123456789 ").removesuffix("s")
    return _KINDS.get(plain, "free")


def stem(name: str) -> str:
    """A recording's name without folder and suffix, as CTM and RTTM use it."""
    path = PurePosixPath(name.replace("\\", "/"))
    return path.stem or path.name


def recording(names: Iterable[str], wanted: str | None) -> str:
    """Which of the recordings of a file is meant: the only one, or the one of the wanted name."""
    found = list(dict.fromkeys(names))
    if len(found) < 2:
        return found[0] if found else ""
    for same in (lambda name: name == wanted, lambda name: wanted is not None and stem(name) == stem(wanted)):
        if matching := [name for name in found if same(name)]:
            return matching[0]
    listed = ", ".join(shown(name) for name in found[:5]) + (", …" if len(found) > 5 else "")
    raise FormatError(f"it holds {len(found)} recordings ({listed}); say with audio= which one is meant.")
