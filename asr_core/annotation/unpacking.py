"""Taking a zip archive of recordings apart: into a folder, and nowhere else."""

from __future__ import annotations

import os
import stat
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from asr_core.errors import FormatError

#: Bytes copied at once.
BLOCK = 1 << 20


@dataclass(frozen=True)
class ArchiveLimits:
    """What an archive may unpack to: files in it, and bytes of all of them together."""

    files: int = 20_000
    total_bytes: int = 20 << 30


def unpack(archive: str | os.PathLike[str], folder: str | os.PathLike[str], limits: ArchiveLimits | None = None) -> int:
    """Unpack a zip archive into a folder.

    Hidden files and what a Mac adds (`__MACOSX`) are left out. What an archive says of its sizes is not believed: bytes
    are counted as they come.

    Args:
        folder: made if it is not there.
    Returns:
        The number of files written.
    Raises:
        FormatError: no whole zip archive, an encrypted one, one with a name that leads out of the folder or with a
            link, or one that is larger than the limits; files written until then stay in the folder.
    """
    limits = limits or ArchiveLimits()
    target, name = Path(folder), Path(archive).name[:80]
    try:
        target.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(archive) as file:
            members = [info for info in file.infolist() if not info.is_dir() and not _is_hidden(info.filename)]
            if len(members) > limits.files:
                raise FormatError(f"{name!r} holds {len(members)} files; at most {limits.files} are taken at once.")
            for info in members:
                _check(info, name)
            left = limits.total_bytes
            for info in members:
                left -= _write(file, info, target / _inside(info.filename), left, name, limits)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise FormatError(f"{name!r} is not a whole zip archive ({error}); pack it again.") from error
    except (OSError, ValueError) as error:
        raise FormatError(f"{name!r} cannot be unpacked: {getattr(error, 'strerror', None) or error}.") from error
    return len(members)


def _write(
    file: zipfile.ZipFile, info: zipfile.ZipInfo, path: Path, left: int, name: str, limits: ArchiveLimits
) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    written = 0
    with file.open(info) as source, path.open("xb") as out:
        while block := source.read(BLOCK):
            written += len(block)
            if written > left:
                raise FormatError(f"{name!r} unpacks to more than {limits.total_bytes >> 20} MB; send it in parts.")
            out.write(block)
    return written


def _check(info: zipfile.ZipInfo, name: str) -> None:
    shown = info.filename[:80]
    if info.flag_bits & 1:
        raise FormatError(f"{name!r} is encrypted; pack it without a password.")
    if stat.S_ISLNK(info.external_attr >> 16):
        raise FormatError(f"{name!r} holds a link ({shown!r}); pack the files themselves.")
    if _inside(info.filename) is None:
        raise FormatError(f"{name!r} holds the name {shown!r}, which leads out of the folder.")


def _inside(name: str) -> Path | None:
    """The name as a path below a folder; None where it leads out of it."""
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or ":" in name or "\0" in name or not path.parts:
        return None
    return Path(*path.parts)


def _is_hidden(name: str) -> bool:
    parts = PurePosixPath(name.replace("\\", "/")).parts
    return any((part.startswith(".") and part != "..") or part == "__MACOSX" for part in parts)
