"""Files that a browser has sent through Gradio's upload route."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gradio.utils import get_upload_folder


def uploaded_file(path: Any) -> Path | None:
    """A file that came through the upload route; None for any other path that a client may send."""
    if not isinstance(path, str):
        return None
    try:
        file, folder = Path(path).resolve(), Path(get_upload_folder()).resolve()
        return file if file.is_relative_to(folder) and file.is_file() else None
    except (OSError, ValueError):  # a name too long, or with a null character
        return None
