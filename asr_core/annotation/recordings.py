"""Files of a store's recordings: each is kept once, under its hash."""

from __future__ import annotations

import os
import secrets
import shutil
from hashlib import file_digest
from pathlib import Path

from asr_core.errors import StoreError


def hashed(path: Path) -> tuple[str, int]:
    """The SHA-256 of a file in hexadecimal, and its bytes. Raises StoreError where it cannot be read."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            return file_digest(file, "sha256").hexdigest(), size
    except OSError as error:
        raise StoreError(f"{path.name[:80]!r} cannot be read: {error.strerror}.") from error


def copy_in(path: Path, folder: Path, digest: str) -> None:
    """Copy a file into a folder under its hash; it is there whole, and on disk, or not at all. Raises StoreError."""
    part = folder / f".{secrets.token_hex(8)}.part"
    try:
        shutil.copyfile(path, part)
        with part.open("rb+") as file:
            os.fsync(file.fileno())
        part.replace(folder / f"{digest}{path.suffix.lower()[:8]}")
    except OSError as error:
        part.unlink(missing_ok=True)
        raise StoreError(f"{path.name[:80]!r} cannot be kept: {error.strerror}.") from error
