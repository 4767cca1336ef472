"""Grey pictures as PNG files (ISO/IEC 15948), for pages that carry their pictures themselves."""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np


def data_address(pixels: np.ndarray) -> str:
    """A data: URL of (height, width) uint8, 255 = white."""
    return f"data:image/png;base64,{base64.b64encode(png(pixels)).decode('ascii')}"


def png(pixels: np.ndarray) -> bytes:
    """(height, width) uint8 as an 8-bit greyscale PNG."""
    height, width = pixels.shape
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = np.pad(pixels, ((0, 0), (1, 0)))  # each row begins with its filter: none
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(rows.tobytes(), 6)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*part) for part in parts)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
