"""What an argument may be. Each check raises, in one sentence: what it is, and what was given."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from asr_core.errors import DecodingError

#: Settings beyond this mean nothing, and would overflow.
LARGEST = 1e9


def is_number(value: object) -> bool:
    """Whether it is a number of Python or NumPy, which True is not."""
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def number(name: str, value: Any) -> None:
    """A finite number of a size that means something."""
    if not is_number(value) or not abs(value) < LARGEST:
        raise DecodingError(f"{name} is a number of a sensible size, not {shown(value)}.")


def from_zero(name: str, value: Any) -> None:
    number(name, value)
    if not value >= 0:
        raise DecodingError(f"{name} is a number from 0, not {shown(value)}.")


def positive(name: str, value: Any) -> None:
    number(name, value)
    if not value > 0:
        raise DecodingError(f"{name} is a number above 0, not {shown(value)}.")


def seconds(name: str, value: Any) -> None:
    """A length of time, or None."""
    if value is not None and not (is_number(value) and 0 < value < LARGEST):
        raise DecodingError(f"{name} is a number of seconds above 0, or None, not {shown(value)}.")


def whole(name: str, value: Any, *, least: int = 1, most: int | None = None, optional: bool = False) -> None:
    if optional and value is None:
        return
    top = int(LARGEST) if most is None else most
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or not least <= value <= top:
        # The usual top is beyond what means anything, so it is named only to who has gone there.
        is_over = isinstance(value, int | np.integer) and value > top
        to = f" to {top}" if most or is_over else ""
        kind = f"a whole number from {least}{to}{', or None' if optional else ''}"
        raise DecodingError(f"{name} is {kind}, not {shown(value)}.")


def flag(name: str, value: object) -> None:
    if not isinstance(value, bool | np.bool_):
        raise DecodingError(f"{name} is True or False, not {shown(value)}.")


def text(name: str, value: object) -> None:
    if not isinstance(value, str):
        raise DecodingError(f"{name} is a text, not {shown(value)}.")


def one_of(name: str, value: object, accepted: tuple[str, ...]) -> None:
    if not isinstance(value, str) or value not in accepted:
        raise DecodingError(f"{name} is one of {', '.join(map(repr, accepted))}, not {shown(value)}.")


def instance(name: str, value: object, kind: type, *, optional: bool = False) -> None:
    if not isinstance(value, kind) and not (optional and value is None):
        article = "an" if kind.__name__[0] in "AEIOU" else "a"
        raise DecodingError(f"{name} is {article} {kind.__name__}{' or None' * optional}, not {shown(value)}.")


def several(name: str, value: Any, kind: str) -> tuple[Any, ...]:
    """All of a list or another series; `kind` says of what."""
    is_one = isinstance(value, str | bytes | Mapping) or getattr(value, "ndim", 1) == 0
    if is_one or not isinstance(value, Iterable):
        raise DecodingError(f"{name} is a list of {kind}, not {shown(value)}.")
    return tuple(value)


def callback(name: str, value: object) -> None:
    if value is not None and not callable(value):
        raise DecodingError(f"{name} is a function or None, not {shown(value)}.")


def event(name: str, value: object) -> None:
    if value is not None and not callable(getattr(value, "is_set", None)):
        raise DecodingError(f"{name} is a threading.Event or None, not {shown(value)}.")


def frames(name: str, values: Any, lengths: Any, width: int) -> tuple[np.ndarray, np.ndarray]:
    """A batch of frames and how many of each item's are valid, as arrays.

    Args:
        values: (batch, frames, width) numbers; those behind an item's length may be anything.
        lengths: (batch,) whole numbers.
    """
    array, counts = batch(name, values, width), _array("lengths", lengths)
    if counts.shape != array.shape[:1] or (counts.dtype.kind not in "iu" and counts.size):
        raise DecodingError(f"lengths has a whole number for each of {len(array)} items, not {shown(lengths)}.")
    counts = counts.astype(np.int64, copy=False)
    if ((counts < 0) | (counts > array.shape[1])).any():
        raise DecodingError(f"lengths are from 0 to the {array.shape[1]} frames of {name}, not {shown(lengths)}.")
    if not all(np.isfinite(item[:count]).all() for item, count in zip(array, counts, strict=True)):
        raise DecodingError(f"{name} holds NaN or infinite numbers; dtype='float32' avoids overflow in a model.")
    return array, counts


def batch(name: str, values: Any, width: int) -> np.ndarray:
    """(batch, frames, width) numbers, as an array."""
    array = _array(name, values)
    if array.ndim != 3 or array.dtype.kind not in "fiu" or array.shape[2] != width:
        given = f"one of shape {array.shape} and type {array.dtype}"
        raise DecodingError(f"{name} is an array (batch, frames, {width}) of numbers, not {given}.")
    return array


def as_array(value: Any) -> np.ndarray:
    """As NumPy has it; MLX's bfloat16, which NumPy lacks, as float32. Raises TypeError and ValueError as NumPy does."""
    mlx = sys.modules.get("mlx.core")
    if mlx is not None and isinstance(value, mlx.array) and value.dtype == mlx.bfloat16:
        value = value.astype(mlx.float32)
    return np.asarray(value)


def shown(value: object) -> str:
    """What was given, where it is short enough for a sentence."""
    try:
        given = repr(value)
    except ValueError:  # a whole number of thousands of digits
        given = ""
    is_short = 0 < len(given) < 60 and "\n" not in given
    return given if is_short else f"a {type(value).__name__} that is too long to show"


def _array(name: str, value: Any) -> np.ndarray:
    try:
        return as_array(value)
    except (TypeError, ValueError) as error:
        raise DecodingError(f"{name} is an array of numbers, not {shown(value)}.") from error
