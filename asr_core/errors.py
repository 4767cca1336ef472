"""What the core refuses, and how it says so.

Every refusal is an `AsrError` with one sentence that names what was given, what is accepted, and what to do.
"""

from __future__ import annotations

from typing import Any


class AsrError(Exception):
    """Base of everything `asr_core` raises for bad input."""


class AudioError(AsrError):
    """Audio that cannot be read or is not finite."""


class ModelError(AsrError):
    """A model that cannot be found, read or understood."""


class DamagedError(ModelError):
    """A file of a model that is damaged or cut off: fetching it again may help."""


class DecodingError(AsrError):
    """Decoder settings that do not fit the model, or a stream that is used after its end."""


class FormatError(AsrError):
    """A transcript that a file format cannot hold, or a file that does not follow its format."""


class StoreError(AsrError):
    """An annotation store that refuses a change."""


class Cancelled(AsrError):
    """The work was cancelled; `partial` holds the Transcript of what was done before.

    `state` is what a later call needs to go on from there.
    """

    def __init__(self, partial: Any = None, state: tuple[Any, ...] = ()) -> None:
        super().__init__("The work was cancelled.")
        self.partial = partial
        self.state = state
