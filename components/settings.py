"""What a host can set, read from the environment once at the start."""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

Mode = Literal["local", "hosted"]


class SettingsError(ValueError):
    """A setting with a value that is not accepted; the text is one sentence for the person who set it."""


@dataclass(frozen=True)
class Settings:
    """Settings of one server. The comment behind each is its environment variable.

    Args:
        model: model that is there when the page opens: "demo", a folder, a .nemo file, or a Hub id.
        data: folder that holds recordings while they are worked on.
        mode: "local" is one person's machine; "hosted" serves strangers, who pick from the listed models only.
        max_minutes: longest recording that is taken.
        max_upload_mb: largest file that is taken.
        max_lm_mb: largest language model that is taken; in memory one takes about 40 times its file.
        retention_hours: hours after its last use at which a recording is deleted.
        max_documents: recordings kept at once; the one unused for longest goes first.
        documents: folder of the documents of Annotate; None = a folder in `data`.
        keep_days: days after its last change at which a document is deleted; None = never.
        max_kept, max_kept_mb: documents that one person may keep in Annotate, and recordings of all of them together.
        sync_repository: dataset repository on the Hub that finished documents go to; "" = none. The token that may
            write there is huggingface_hub's own (HF_TOKEN).
        sync_minutes: minutes between two uploads.
        max_live, max_live_minutes: live recordings that may go on at once, and the longest that is taken.
        host, port: address of the server; port None = the first free one from 7860.
    """

    model: str = "demo"  # TOKENSCOPE_MODEL
    data: Path = field(default_factory=lambda: Path("~/.cache/tokenscope").expanduser())  # TOKENSCOPE_DATA
    mode: Mode = "local"  # TOKENSCOPE_MODE
    max_minutes: float = 120.0  # TOKENSCOPE_MAX_MINUTES
    max_upload_mb: int = 1024  # TOKENSCOPE_MAX_UPLOAD_MB
    max_lm_mb: int = 100  # TOKENSCOPE_MAX_LM_MB
    retention_hours: float = 24.0  # TOKENSCOPE_RETENTION_HOURS
    max_documents: int = 50  # TOKENSCOPE_MAX_DOCUMENTS
    documents: Path | None = None  # TOKENSCOPE_DOCUMENTS
    keep_days: float | None = None  # TOKENSCOPE_KEEP_DAYS
    max_kept: int = 100_000  # TOKENSCOPE_MAX_KEPT
    max_kept_mb: int | None = None  # TOKENSCOPE_MAX_KEPT_MB
    sync_repository: str = ""  # TOKENSCOPE_SYNC_REPOSITORY
    sync_minutes: float = 5.0  # TOKENSCOPE_SYNC_MINUTES
    max_live: int = 8  # TOKENSCOPE_MAX_LIVE
    max_live_minutes: float = 120.0  # TOKENSCOPE_MAX_LIVE_MINUTES
    host: str = "127.0.0.1"  # GRADIO_SERVER_NAME
    port: int | None = None  # GRADIO_SERVER_PORT

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Settings:
        """Read the settings.

        Args:
            environment: None = the process's own.
        Raises:
            SettingsError: names the variable, what it holds, and what it may hold.
        """
        get = _Reader(os.environ if environment is None else environment)
        on_space = get.text("SPACE_ID", "") != ""
        mode = get.one_of("TOKENSCOPE_MODE", ("local", "hosted"), "hosted" if on_space else "local")
        return cls(
            model=get.text("TOKENSCOPE_MODEL", cls.model),
            data=get.folder("TOKENSCOPE_DATA", _default_data(get, on_space)),
            mode=mode,
            max_minutes=get.number("TOKENSCOPE_MAX_MINUTES", cls.max_minutes),
            max_upload_mb=get.whole("TOKENSCOPE_MAX_UPLOAD_MB", 1, 1 << 20, 256 if mode == "hosted" else 1024),
            max_lm_mb=get.whole("TOKENSCOPE_MAX_LM_MB", 1, 100_000, 10 if mode == "hosted" else cls.max_lm_mb),
            retention_hours=get.number("TOKENSCOPE_RETENTION_HOURS", 2.0 if mode == "hosted" else cls.retention_hours),
            max_documents=get.whole("TOKENSCOPE_MAX_DOCUMENTS", 1, 100_000, cls.max_documents),
            documents=get.folder("TOKENSCOPE_DOCUMENTS", _default_documents(get, on_space)),
            keep_days=get.number_or_none("TOKENSCOPE_KEEP_DAYS", 7.0 if mode == "hosted" else None),
            max_kept=get.whole("TOKENSCOPE_MAX_KEPT", 1, 1_000_000, 50 if mode == "hosted" else cls.max_kept),
            max_kept_mb=get.whole("TOKENSCOPE_MAX_KEPT_MB", 1, 1 << 30, 5000 if mode == "hosted" else None),
            sync_repository=get.text("TOKENSCOPE_SYNC_REPOSITORY", ""),
            sync_minutes=get.number("TOKENSCOPE_SYNC_MINUTES", cls.sync_minutes),
            max_live=get.whole("TOKENSCOPE_MAX_LIVE", 1, 1000, 4 if mode == "hosted" else cls.max_live),
            max_live_minutes=get.number("TOKENSCOPE_MAX_LIVE_MINUTES", 15 if mode == "hosted" else 120),
            host=get.text("GRADIO_SERVER_NAME", "0.0.0.0" if on_space else cls.host),
            port=get.whole("GRADIO_SERVER_PORT", 1, 65_535, 7860 if on_space else None),
        )


def _default_data(get: _Reader, on_space: bool) -> str:
    """On a Space a folder that goes with the machine; else the person's own cache folder."""
    if on_space:
        return str(Path(tempfile.gettempdir()) / "tokenscope")
    return str(Path(get.text("XDG_CACHE_HOME", "~/.cache")) / "tokenscope")


def _default_documents(get: _Reader, on_space: bool) -> str:
    """Beside the other data where that has a place of its own; else where a person's work is kept, not in a cache."""
    data = get.text("TOKENSCOPE_DATA", _default_data(get, on_space) if on_space else "")
    if data:
        return str(Path(data) / "documents")
    return str(Path(get.text("XDG_DATA_HOME", "~/.local/share")) / "tokenscope")


class _Reader:
    """Reads values of an environment; an empty value counts as not set."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment

    def text(self, name: str, default: str) -> str:
        return self._environment.get(name, "").strip() or default

    def one_of(self, name: str, accepted: tuple[str, ...], default: str) -> str:
        value = self.text(name, default)
        if value not in accepted:
            raise SettingsError(f"{name} is {' or '.join(accepted)}, not {value!r}.")
        return value

    def number(self, name: str, default: float) -> float:
        value = self.text(name, str(default))
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not (math.isfinite(number) and number > 0):
            raise SettingsError(f"{name} is a number above 0, not {value!r}.")
        return number

    def number_or_none(self, name: str, default: float | None) -> float | None:
        return self.number(name, 1.0 if default is None else default) if self.text(name, "") else default

    def whole(self, name: str, least: int, most: int, default: int | None) -> int | None:
        value = self.text(name, "")
        if not value:
            return default
        try:
            number = int(value)
        except ValueError:
            number = least - 1
        if not least <= number <= most:
            raise SettingsError(f"{name} is a whole number from {least} to {most}, not {value!r}.")
        return number

    def folder(self, name: str, default: str) -> Path:
        path = Path(self.text(name, default)).expanduser()
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SettingsError(f"{name}: the folder {path} cannot be made ({error.strerror or error}).") from error
        if not os.access(path, os.W_OK | os.X_OK):
            raise SettingsError(f"{name}: the folder {path} cannot be written to.")
        return path.resolve()
