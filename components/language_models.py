"""Language models that people have uploaded: read once, kept here, and named by an id that only their owners know."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from pathlib import Path
from typing import Any

import asr_core
from components.documents import file_name

#: Kept at once; the one unused for longest goes.
KEPT = 4
MAKE_ONE = "python -m asr_core.lm makes one from text."


class LanguageModels:
    """The store. Every method may be called from any thread."""

    def __init__(self, max_mb: int, *, kept: int = KEPT) -> None:
        self.max_mb = max_mb
        self._kept = kept
        self._lock = threading.Lock()
        self._reading = threading.Lock()
        self._models: OrderedDict[str, asr_core.NgramLM] = OrderedDict()

    def add(self, file: Path, name: str) -> str:
        """Take an ARPA file in and return its id. The file is deleted, whether it can be read or not.

        Args:
            name: of the file, as the person knows it.
        Raises:
            DecodingError: it is too large, or no ARPA file over a model's tokens.
        """
        # The core's messages name the file, so it gets the name that the person knows.
        named = file.with_name(file_name(name))
        try:
            file.rename(named)
            return self._add(named)
        finally:
            named.unlink(missing_ok=True)

    def get(self, key: Any) -> asr_core.NgramLM:
        """The model with this id. Raises DecodingError."""
        with self._lock:
            found = self._models.get(key) if isinstance(key, str) else None
            if found is None:
                raise asr_core.DecodingError("This language model is no longer kept here. Choose its file again.")
            self._models.move_to_end(key)
            return found

    def __len__(self) -> int:
        return len(self._models)

    def _add(self, file: Path) -> str:
        size = file.stat().st_size
        if size > self.max_mb * 1_000_000:
            raise asr_core.DecodingError(
                f"{file.name} has {size / 1e6:.0f} MB; language models up to {self.max_mb} MB are taken here. "
                "Prune it, or lower its order."
            )
        # The name is part of it: a message that names the file must not tell one person what another calls it.
        key = hashlib.sha256(file.name.encode() + b"\0" + file.read_bytes()).hexdigest()
        with self._reading:  # one at a time, since reading takes many times the file's size
            with self._lock:
                if key in self._models:
                    self._models.move_to_end(key)
                    return key
            try:
                model = asr_core.NgramLM.from_arpa(file)
            except asr_core.DecodingError as error:
                raise asr_core.DecodingError(
                    f"{error} A language model is an ARPA file over the tokens of the speech model: {MAKE_ONE}"
                ) from error
            with self._lock:
                self._models[key] = model
                while len(self._models) > self._kept:
                    self._models.popitem(last=False)
        return key
