"""Pieces of long recordings: what lies between is left out where the format allows it, and nothing is decoded twice."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import numpy as np

from asr_core.audio import one_channel, too_long
from asr_core.audio_files import Decoded, open_audio
from asr_core.errors import AudioError


class Pieces:
    """Reads pieces of recordings; a context manager, since it keeps the last file open.

    Pieces that are asked for in the order of their time cost at most one decoding of their file, however many they are;
    a step back begins anew.
    """

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._path: Path | None = None
        self._decoded: Decoded | None = None
        self._rate = 0
        self._at = 0  # frame of the file that `_held` begins with
        self._held = np.zeros(0, np.float32)

    def __enter__(self) -> Pieces:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._stack.close()
        self._path = self._decoded = None
        self._held = np.zeros(0, np.float32)

    def read(
        self, path: Path, start: float, seconds: float | None, *, max_seconds: float | None = None
    ) -> tuple[np.ndarray, int]:
        """(samples,) float32, the mean of all channels, at the file's own rate, and that rate in Hz.

        Args:
            start: seconds at which the piece begins.
            seconds: its length; None = to the end of the file.
            max_seconds: longest piece that is taken.
        Returns:
            What there is of the piece; nothing where the file is over before it begins.
        Raises:
            AudioError: as `read_audio`.
        """
        if self._path != path or round(start * self._rate) < self._at:
            self._open(path)
        rate = self._rate
        first = round(start * rate)
        last = None if seconds is None else round((start + seconds) * rate)
        self._go_to(first)
        self._hold_until(last, None if max_seconds is None else first + max_seconds * rate, max_seconds)
        return self._held[: None if last is None else max(0, last - self._at)], rate

    def _open(self, path: Path) -> None:
        self.close()
        self._decoded = self._stack.enter_context(open_audio(path))
        self._path, self._at, self._rate = path, 0, self._decoded.sample_rate

    def _go_to(self, frame: int) -> None:
        """Let `_held` begin at a frame; it is empty where the file is over before."""
        seek = self._decoded.seek
        if seek is not None and frame > self._at + len(self._held):
            seek(frame)
            self._at, self._held = frame, np.zeros(0, np.float32)
        while frame > self._at + len(self._held):
            self._at, self._held = self._at + len(self._held), self._read_on()
            if not len(self._held):
                break
        passed = min(frame - self._at, len(self._held))
        self._at, self._held = self._at + passed, self._held[passed:]

    def _hold_until(self, last: int | None, most: float | None, max_seconds: float | None) -> None:
        """Read on until `_held` reaches a frame, or to the end. Raises AudioError where it goes beyond `most`."""
        parts, end = [self._held], self._at + len(self._held)
        while last is None or end < last:
            part = self._read_on()
            if not len(part):
                break
            parts.append(part)
            end += len(part)
            if most is not None and min(end, last or end) > most:
                raise AudioError(too_long(self._path.name, max_seconds))
        if len(parts) > 1:
            self._held = np.concatenate(parts)

    def _read_on(self) -> np.ndarray:
        """The next block; empty at the end of the file."""
        block = next(self._decoded.blocks, None)
        return np.zeros(0, np.float32) if block is None else one_channel(block, None, self._path.name)
