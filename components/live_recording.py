"""The sound of one live recording: packets by number, put in order, on disk as they come."""

from __future__ import annotations

import struct
import threading
from pathlib import Path
from typing import BinaryIO

import numpy as np

from components.documents import WAV_HEADER

#: Packets that may wait for one that is missing; what lies further ahead is sent again by the page.
AHEAD = 16


class Recording:
    """A WAV file of 16-bit mono that grows. Any thread may call; it is whole after every packet.

    Args:
        path: of the file, which is made.
        rate: in Hz, of all packets.
        max_samples: what is beyond them is not taken.
    """

    def __init__(self, path: Path, rate: int, max_samples: int) -> None:
        self.path, self.rate, self.max_samples = path, rate, max_samples
        #: The packet that is waited for; all before it are on disk.
        self.next = 0
        self.samples = 0
        self._waiting: dict[int, tuple[np.ndarray, bool]] = {}
        self._ended = False
        self._grown = threading.Condition()
        self._file: BinaryIO | None = path.open("w+b", buffering=0)
        _write(self._file, _header(rate, 0))

    @property
    def ended(self) -> bool:
        """Whether no more packets are taken: the last has come, or somebody has closed it."""
        return self._ended

    @property
    def full(self) -> bool:
        return self.samples >= self.max_samples

    def put(self, number: int, samples: np.ndarray, last: bool) -> list[int]:
        """Take a packet in; one that has come before is ignored, and one that comes early waits.

        Args:
            number: of the packet, from 0.
            samples: (n,) int16.
            last: whether it ends the recording.
        Returns:
            Numbers of the packets that have been written now.
        Raises:
            OSError: the disk does not take it. The recording stays as it was; the same packet may come again.
        """
        written = []
        with self._grown:
            if self._ended or not self.next <= number < self.next + AHEAD:
                return []
            self._waiting.setdefault(number, (samples, last))
            while not self._ended and self.next in self._waiting:
                self._write(*self._waiting.pop(self.next))
                written.append(self.next)
                self.next += 1
            self._grown.notify_all()
        return written

    def end(self) -> None:
        """Take no more packets."""
        with self._grown:
            self._ended = True
            self._grown.notify_all()

    def wait(self, first: int, least: int, most: int, seconds: float) -> np.ndarray:
        """(n,) int16 from sample `first` on; never more than `most`, and empty where nothing has come.

        It returns as soon as `least` are there, when the recording has ended, or after `seconds`.
        """
        with self._grown:
            self._grown.wait_for(lambda: self._ended or self.samples - first >= least, seconds)
            return self._read(first, min(most, self.samples - first))

    def wait_for_end(self) -> None:
        """Wait until no more packets are taken."""
        with self._grown:
            self._grown.wait_for(lambda: self._ended)

    def close(self) -> None:
        """Close the file; it stays where it is."""
        with self._grown:
            self._ended = True
            if self._file is not None:
                self._file.close()
                self._file = None
            self._waiting.clear()
            self._grown.notify_all()

    def _write(self, samples: np.ndarray, last: bool) -> None:
        samples = samples[: self.max_samples - self.samples]
        self._file.seek(WAV_HEADER + 2 * self.samples)  # over what a full disk has left of an attempt
        _write(self._file, samples.astype("<i2").tobytes())
        self._file.seek(0)
        _write(self._file, _header(self.rate, self.samples + len(samples)))
        self.samples += len(samples)
        self._ended = last or self.full

    def _read(self, first: int, count: int) -> np.ndarray:
        if self._file is None or count <= 0:
            return np.zeros(0, np.int16)
        self._file.seek(WAV_HEADER + 2 * first)
        return np.frombuffer(self._file.read(2 * count), "<i2").astype(np.int16)


def _write(file: BinaryIO, data: bytes) -> None:
    """All of it: an unbuffered file takes what fits, and raises OSError only at the next attempt."""
    while data:
        data = data[file.write(data) :]


def _header(rate: int, samples: int) -> bytes:
    """44 bytes of a WAV file: 16-bit PCM, one channel."""
    size = 2 * samples
    format_ = struct.pack("<IHHIIHH", 16, 1, 1, rate, 2 * rate, 2, 16)
    return b"RIFF" + struct.pack("<I", 36 + size) + b"WAVEfmt " + format_ + b"data" + struct.pack("<I", size)
