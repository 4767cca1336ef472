"""Opening audio files: libsndfile first, FFmpeg's libraries (PyAV) for what it cannot open."""

from __future__ import annotations

import io
import os
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import av
import numpy as np
import soundfile

from asr_core.errors import AudioError

ACCEPTED = "WAV, FLAC, MP3, OGG, Opus, M4A, MP4 or WebM"
#: Frames read at once.
BLOCK = 1 << 18
READ = 1 << 11
#: Chunks of a WAV that are looked through for its samples; a file made to be slow may hold millions.
MAX_CHUNKS = 1000
#: What is decoded with a memory of what came before: after a jump the first sound is not what it would be.
REMEMBERING = ("MPEG_LAYER_III", "MPEG_LAYER_II", "MPEG_LAYER_I", "OPUS")
#: Seconds by which a file may be shorter than it says before it counts as cut off.
SHORT = 0.2
#: Containers that FFmpeg may open: none that can name other files (playlists, image sequences, concatenations).
CONTAINERS = "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,mp3,aac,ogg,wav,flac,aiff,caf,asf,avi,amr,ac3,mpegts,mpeg"


class AudioWarning(UserWarning):
    """Audio that could be read only in part; the text is a sentence for a person."""


@dataclass
class Decoded:
    """An open file.

    Args:
        blocks: yields (n, channels) float32.
        ended_early: right once all blocks are read.
        seek: lets the next block begin at a frame; None where the format can only be read from its start.
    """

    name: str
    sample_rate: int
    channels: int
    duration: float
    format: str
    blocks: Iterator[np.ndarray]
    ended_early: bool = False
    seek: Callable[[int], None] | None = None


class _Sequential(soundfile.SoundFile):
    """A file read from front to back.

    Where a file can seek, soundfile seeks after every read to where it already stands. In MP3 and Opus that is not
    exact: the decoder starts anew, and each block begins with damaged or displaced sound.
    """

    def seekable(self) -> bool:
        return False


@contextmanager
def open_audio(source: Any) -> Iterator[Decoded]:
    """Open a path, bytes or a binary file. Raises AudioError where there is no audio to read."""
    name, file = _binary(source)
    with file:
        start = file.read(1024)
        file.seek(0)
        if not start:
            raise AudioError(f"{name} is empty; choose a {ACCEPTED} file with sound in it.")
        try:
            sound = _Sequential(file)
            sound.seek(0)  # only this makes libsndfile leave out the lead-in of Opus (6.5 ms)
        except (soundfile.SoundFileError, RuntimeError):
            file.seek(0)
            with _open_with_ffmpeg(name, file, start) as decoded:
                yield decoded
            return
        with sound:
            yield _with_sndfile(name, file, sound)


def _binary(source: Any) -> tuple[str, BinaryIO]:
    """A name for messages, and a seekable binary file of its own to read from."""
    if isinstance(source, bytes | bytearray | memoryview):
        return "The audio", io.BytesIO(source)
    if hasattr(source, "read"):
        data = source.read()
        if not isinstance(data, bytes):
            raise AudioError("The file was opened as text; open audio in binary mode ('rb').")
        return Path(str(getattr(source, "name", "The audio"))).name, io.BytesIO(data)
    if not isinstance(source, str | os.PathLike):
        raise AudioError(f"Audio is a path, bytes, a binary file or a pair (rate, array), not {type(source).__name__}.")
    path = Path(source)
    try:
        return path.name, path.open("rb")
    except FileNotFoundError:
        raise AudioError(f"There is no file {path.name}; check the path.") from None
    except IsADirectoryError:
        raise AudioError(f"{path.name} is a folder, not a file; choose a {ACCEPTED} file.") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise AudioError(f"{path.name} cannot be opened: {reason}.") from None


def _with_sndfile(name: str, file: BinaryIO, sound: soundfile.SoundFile) -> Decoded:
    declared = sound.frames if 0 < sound.frames < 1 << 48 else 0
    decoded = Decoded(
        name,
        sound.samplerate,
        sound.channels,
        declared / sound.samplerate if declared else float("nan"),
        sound.format,
        iter(()),
        ended_early=_is_cut_off(file, sound.format),
    )

    at = 0  # frame that the next block begins with

    def blocks() -> Iterator[np.ndarray]:
        nonlocal at
        while len(block := _read_block(sound, decoded)):
            at += len(block)
            yield block
        if at == 0 and decoded.ended_early:
            raise AudioError(f"{name} cannot be decoded; convert it, or choose another file.")
        decoded.ended_early |= declared - at > SHORT * sound.samplerate

    def seek(frame: int) -> None:
        nonlocal at
        at = sound.seek(min(frame, declared))

    decoded.blocks = blocks()
    if declared and sound.subtype not in REMEMBERING:
        decoded.seek = seek
    return decoded


def _read_block(sound: soundfile.SoundFile, decoded: Decoded) -> np.ndarray:
    """The next BLOCK frames, in small reads: what libsndfile had decoded of a read that fails is lost."""
    parts = [np.zeros((0, sound.channels), np.float32)]
    try:
        for _ in range(BLOCK // READ):
            parts.append(sound.read(READ, dtype="float32", always_2d=True))
            if len(parts[-1]) < READ:
                break
    except (soundfile.SoundFileError, RuntimeError):
        decoded.ended_early = True
    return np.concatenate(parts)


def _is_cut_off(file: BinaryIO, format_name: str) -> bool:
    """Whether a WAV or OGG ends before its own structure does. libsndfile silently takes what is there."""
    here = file.tell()
    try:
        size = file.seek(0, io.SEEK_END)
        if format_name in ("WAV", "WAVEX"):
            return _wav_is_cut_off(file, size)
        if format_name == "OGG":
            return _ogg_is_cut_off(file, size)
        return False
    finally:
        file.seek(here)


def _wav_is_cut_off(file: BinaryIO, size: int) -> bool:
    at = 12
    for _ in range(MAX_CHUNKS):
        if at + 8 > size:
            break
        file.seek(at)
        kind, length = struct.unpack("<4sI", file.read(8))
        if kind == b"data":
            # Programs that write to a pipe leave 0 or the largest number as the length.
            return 0 < length < 0xFFFFFFFF - 1024 and at + 8 + length > size
        at += 8 + length + length % 2
    return False


def _ogg_is_cut_off(file: BinaryIO, size: int) -> bool:
    file.seek(max(0, size - (1 << 17)))
    tail = file.read()
    page = tail.rfind(b"OggS")
    if page < 0 or len(tail) < page + 27:
        return True
    segments = tail[page + 26]
    complete = page + 27 + segments + sum(tail[page + 27 : page + 27 + segments]) <= len(tail)
    return not (complete and tail[page + 5] & 4)  # the last page of a stream says that it is the last


@contextmanager
def _open_with_ffmpeg(name: str, file: BinaryIO, start: bytes) -> Iterator[Decoded]:
    try:
        container = av.open(file, options={"format_whitelist": CONTAINERS}, metadata_errors="replace")
    except (av.FFmpegError, ValueError, OSError):
        raise AudioError(_not_audio(name, start)) from None
    with container:
        if not container.streams.audio:
            raise AudioError(f"{name} has no sound in it; choose a {ACCEPTED} file with sound.")
        stream = container.streams.audio[0]
        if not stream.codec_context or not stream.codec_context.sample_rate:
            raise AudioError(f"The sound in {name} is of a kind that cannot be decoded; convert it to WAV.")
        seconds = container.duration / av.time_base if container.duration else float("nan")
        decoded = Decoded(
            name,
            stream.codec_context.sample_rate,
            stream.codec_context.channels,
            seconds,
            container.format.name.split(",")[0].upper(),
            iter(()),
        )
        decoded.blocks = _ffmpeg_blocks(container, stream, decoded)
        yield decoded


def _ffmpeg_blocks(container: Any, stream: Any, decoded: Decoded) -> Iterator[np.ndarray]:
    read = 0
    planar = av.AudioResampler(format="fltp")
    try:
        for frame in container.decode(stream):
            for converted in planar.resample(frame):
                if converted.sample_rate != decoded.sample_rate or len(converted.layout.channels) != decoded.channels:
                    raise AudioError(f"{decoded.name} changes its rate or channels in the middle; convert it to WAV.")
                read += converted.samples
                yield np.ascontiguousarray(converted.to_ndarray().T)
    except (av.FFmpegError, ValueError) as error:
        if read == 0:
            raise AudioError(f"{decoded.name} cannot be decoded; convert it, or choose another file.") from error
        decoded.ended_early = True
    if decoded.duration - read / decoded.sample_rate > SHORT:
        decoded.ended_early = True


def _not_audio(name: str, start: bytes) -> str:
    try:
        text = start.decode("utf-8", "strict" if len(start) < 1024 else "ignore")
        is_text = text.isprintable() or all(c.isprintable() or c in "\r\n\t" for c in text)
    except UnicodeDecodeError:
        is_text = False
    what = "is text, not audio" if is_text else "is not audio that can be read"
    return f"{name} {what}. Choose a {ACCEPTED} file."
