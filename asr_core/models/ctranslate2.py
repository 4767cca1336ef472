"""CTranslate2's model.bin (binary version 6), as faster-whisper's folders have it.

All little endian: version, name and revision of the specification, the variables by name, and aliases for variables
that equal another one. Whole-number weights are stored with their scales.
"""

from __future__ import annotations

import math
import struct
from pathlib import Path

import numpy as np

from asr_core.errors import DamagedError, ModelError

VERSION = 6
SPECIFICATION = "WhisperSpec"
#: Variables in a file, at most; the largest Whisper has about 1700.
MOST = 20_000
_DTYPES = ("<f4", "i1", "<i2", "<i4", "<f2", "<u2")
_BFLOAT16 = 5


def read(path: Path) -> dict[str, np.ndarray]:
    """The variables by name, weights as float32 or float16; scalars have no dimensions.

    Raises ModelError where the file is of another kind or version, or not whole.
    """
    data = path.read_bytes()
    try:
        variables = _Reader(data).file()
    except (struct.error, UnicodeDecodeError, IndexError, ValueError) as error:
        raise DamagedError(f"{path.name} is broken or incomplete ({error}); fetch the model again.") from error
    return {
        name: _scaled(value, variables.get(f"{name}_scale"))
        for name, value in variables.items()
        if not name.endswith("_scale")
    }


class _Reader:
    """Reads one value after another."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def file(self) -> dict[str, np.ndarray]:
        version = self._number("<I")
        if version != VERSION:
            raise ModelError(f"model.bin has the binary version {version}; CTranslate2's version {VERSION} is read.")
        specification = self._text()
        if specification != SPECIFICATION:
            raise ModelError(f"model.bin holds a {specification[:60]}; a {SPECIFICATION} is expected.")
        self._number("<I")  # revision of the specification
        variables = dict(self._variable() for _ in range(self._count()))
        for _ in range(self._count()):
            alias, target = self._text(), self._text()
            if target not in variables:
                raise ValueError(f"{alias} stands for {target}, which is not there")
            variables[alias] = variables[target]
        if self._at != len(self._data):
            raise ValueError("something follows its end")
        return variables

    def _variable(self) -> tuple[str, np.ndarray]:
        name = self._text()
        shape = tuple(self._number("<I") for _ in range(self._number("<B")))
        kind, size = self._number("<B"), self._number("<I")
        dtype = np.dtype(_DTYPES[kind])
        if size != math.prod(shape) * dtype.itemsize:
            raise ValueError(f"{name} has {size} bytes")
        values = np.frombuffer(self._take(size), dtype).reshape(shape)
        if kind == _BFLOAT16:
            values = (values.astype(np.uint32) << 16).view(np.float32)
        return name, values

    def _count(self) -> int:
        count = self._number("<I")
        if count > MOST:
            raise ValueError(f"it declares {count} variables")
        return count

    def _text(self) -> str:
        return self._take(self._number("<H")).rstrip(b"\0").decode("utf-8")

    def _number(self, kind: str) -> int:
        return struct.unpack(kind, self._take(struct.calcsize(kind)))[0]

    def _take(self, size: int) -> bytes:
        taken = self._data[self._at : self._at + size]
        if len(taken) != size:
            raise ValueError("it ends early")
        self._at += size
        return taken


def _scaled(values: np.ndarray, scale: np.ndarray | None) -> np.ndarray:
    """Whole numbers as float32: divided by one scale of all, or of each row."""
    if scale is None:
        return values
    rows = scale.reshape(-1, *(1,) * (values.ndim - 1)) if scale.size > 1 else scale.reshape(())
    return values.astype(np.float32) / rows
