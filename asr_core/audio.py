"""Audio in: any file, any rate, any channels, to float samples at one rate."""

from __future__ import annotations

import warnings
import wave
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import soxr

from asr_core.audio_files import AudioWarning, open_audio
from asr_core.checks import as_array, is_number, shown
from asr_core.errors import AudioError

#: Samples of one peak of the waveform.
PEAK_HOP = 256
#: Sample rates that are taken, in Hz; outside of them the resampler misbehaves.
RATES = (100, 1_000_000)

__all__ = ["AudioInfo", "AudioWarning", "as_samples", "peaks", "probe", "read_audio", "write_wav"]


@dataclass(frozen=True)
class AudioInfo:
    """What a file is: seconds (NaN where the file does not say), rate in Hz, channels, and its format's name."""

    duration: float
    sample_rate: int
    channels: int
    format: str


def read_audio(
    source: Any, *, sample_rate: int = 16_000, channel: int | None = None, max_seconds: float | None = None
) -> np.ndarray:
    """Samples of one recording at one rate.

    Args:
        source: a path, bytes, a binary file, or a pair (rate, array) as Gradio gives it: int16, int32, uint8 or float;
            (n,), (n, channels) or (channels, n), where the shorter axis is the channels.
        sample_rate: rate wanted, in Hz.
        channel: index of the channel; None = the mean of all.
        max_seconds: longest recording that is taken; decoding stops there, whatever a file says of its length.
    Returns:
        (samples,) float32, full scale is -1..1; for an array that is just that already, the array itself.
    Raises:
        AudioError: nothing there, no samples, too long, not audio, NaN or infinity, or no such channel. A file that
            ends early gives what decodes, with an AudioWarning.
    """
    sample_rate = _checked_rate(sample_rate)
    _check_channel(channel)
    _check_longest(max_seconds)
    if isinstance(source, tuple) and len(source) == 2:
        rate, array = source
        blocks, rate = iter([_channels_last(array)]), _checked_rate(rate)
        return _to_rate(_limited(blocks, rate, max_seconds, "The array"), rate, sample_rate, channel, "The array")
    with open_audio(source) as decoded:
        rate = _checked_rate(decoded.sample_rate)
        blocks = _limited(decoded.blocks, rate, max_seconds, decoded.name)
        samples = _to_rate(blocks, rate, sample_rate, channel, decoded.name)
    if len(samples) == 0:
        raise AudioError(f"{decoded.name} holds no audio samples; record or export it again, or choose another file.")
    if decoded.ended_early:
        seconds = len(samples) / sample_rate
        warnings.warn(f"The file ends early. The first {seconds:.1f} s could be read.", AudioWarning, stacklevel=2)
    return samples


def as_samples(audio: Any, sample_rate: int, wanted: int) -> np.ndarray:
    """(samples,) float32 at the rate `wanted` of what `transcribe` takes.

    Args:
        audio: a 1-D array or list of samples at `sample_rate`, of any length; or anything `read_audio` takes.
    """
    if isinstance(audio, list) or (hasattr(audio, "ndim") and hasattr(audio, "dtype")):
        array = _array(audio)
        if array.size == 0:
            return np.zeros(0, np.float32)
        return read_audio((sample_rate, array), sample_rate=wanted)
    return read_audio(audio, sample_rate=wanted)


def as_packet(packet: Any, sample_rate: Any) -> tuple[np.ndarray, int]:
    """(samples,) float32 of the mean of all channels, and the rate, of a piece of sound in memory.

    Args:
        packet: (n,), (n, channels) or (channels, n), float or integers of full scale; the shorter axis is channels.
    Raises:
        AudioError: it is no such thing, or holds NaN or infinite samples.
    """
    rate = _checked_rate(sample_rate)
    samples = _channels_last(packet)
    return (one_channel(samples, None, "The packet") if len(samples) else np.zeros(0, np.float32)), rate


def probe(source: Any) -> AudioInfo:
    """What a file says about itself, without decoding all of it. Raises AudioError as `read_audio` does."""
    with open_audio(source) as decoded:
        return AudioInfo(decoded.duration, decoded.sample_rate, decoded.channels, decoded.format)


def peaks(samples: np.ndarray, hop: int = PEAK_HOP) -> np.ndarray:
    """(n, 2) int8: the lowest and highest sample of each `hop`, full scale is -128..127; the last may be shorter."""
    count = -(-len(samples) // hop)
    out = np.zeros((count, 2), np.int8)
    block = 4096
    for first in range(0, count, block):
        piece = samples[first * hop : (first + block) * hop]
        piece = np.pad(piece, (0, -len(piece) % hop), mode="edge").reshape(-1, hop)
        scaled = np.stack([np.floor(piece.min(1) * 128), np.ceil(piece.max(1) * 127)], axis=1)
        out[first : first + block] = np.clip(scaled, -128, 127)
    return out


def write_wav(target: str | Path | BinaryIO, samples: np.ndarray, sample_rate: int) -> None:
    """Write 16-bit PCM with a header of 44 bytes, so that sample i stands at byte 44 + 2 i.

    A path is written beside itself and renamed: nobody sees half a file.
    """
    if not isinstance(target, str | Path):
        _write_pcm(target, samples, sample_rate)
        return
    path = Path(target)
    partial = path.with_name(path.name + ".part")
    try:
        with partial.open("wb") as file:
            _write_pcm(file, samples, sample_rate)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def _write_pcm(file: BinaryIO, samples: np.ndarray, sample_rate: int) -> None:
    with wave.open(file, "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(sample_rate)
        out.setnframes(len(samples))
        for first in range(0, len(samples), 1 << 20):
            scaled = np.rint(np.asarray(samples[first : first + (1 << 20)], np.float64) * 32_767)
            out.writeframesraw(np.clip(scaled, -32_768, 32_767).astype("<i2").tobytes())


def _to_rate(blocks: Iterable[np.ndarray], rate: int, wanted: int, channel: int | None, name: str) -> np.ndarray:
    """Mix or pick channels and resample block by block, so that long stereo files are never held whole."""
    mono = (one_channel(block, channel, name) for block in blocks)
    pieces = list(mono if rate == wanted else _resampled(mono, rate, wanted))
    if len(pieces) == 1:
        return pieces[0]
    return np.concatenate(pieces) if pieces else np.zeros(0, np.float32)


def one_channel(block: np.ndarray, channel: int | None, name: str) -> np.ndarray:
    """(n,) of a block of (n, channels): one channel, or (None) the mean of all. Raises AudioError."""
    if not _is_finite(block):
        raise AudioError(f"{name} holds NaN or infinite samples; export it again with plain numbers.")
    count = block.shape[1]
    if channel is None:
        return block[:, 0] if count == 1 else block.mean(1, dtype=np.float32)
    if not -count <= channel < count:
        raise AudioError(
            f"{name} has {count} channel{'s' * (count > 1)}, so there is no channel {shown(channel)}; count from 0."
        )
    return np.ascontiguousarray(block[:, channel])


def _is_finite(block: np.ndarray) -> bool:
    """Whether there is no NaN or infinity in it; looked at bit by bit, since hours of sound are one block."""
    return all(np.isfinite(block[first : first + (1 << 20)]).all() for first in range(0, len(block), 1 << 20))


def _resampled(blocks: Iterator[np.ndarray], rate: int, wanted: int) -> Iterator[np.ndarray]:
    stream = soxr.ResampleStream(rate, wanted, 1, dtype="float32", quality="VHQ")
    for block in blocks:
        yield stream.resample_chunk(block)
    yield stream.resample_chunk(np.zeros(0, np.float32), last=True)


def _channels_last(array: Any) -> np.ndarray:
    """An array of any accepted kind as (n, channels) float32 of full scale -1..1."""
    array = _array(array)
    if array.ndim not in (1, 2) or array.dtype.kind not in "fiu":
        raise AudioError(
            f"Samples are a one- or two-dimensional array of numbers, not {array.ndim}-dimensional {array.dtype}."
        )
    if array.ndim == 2 and 0 in array.shape:
        array = array.reshape(0, 1)
    if array.ndim == 1:
        array = array[:, None]
    elif array.size and array.shape[0] < array.shape[1]:
        array = array.T
    if array.dtype.kind == "f":
        with np.errstate(over="ignore"):  # what is too large becomes infinite, and is refused as that
            return array.astype(np.float32, copy=False)
    half = 2.0 ** (8 * array.dtype.itemsize - 1)
    centre = half if array.dtype.kind == "u" else 0.0
    return ((array.astype(np.float64) - centre) / half).astype(np.float32)


def _array(samples: Any) -> np.ndarray:
    """Samples as an array of any kind. Raises AudioError."""
    try:
        return as_array(samples)
    except (TypeError, ValueError) as error:
        raise AudioError("The samples are ragged or no numbers; give numbers in one row for each channel.") from error


def _limited(blocks: Iterable[np.ndarray], rate: int, max_seconds: float | None, name: str) -> Iterator[np.ndarray]:
    """The same blocks, until they are longer than allowed: then AudioError."""
    read = 0
    for block in blocks:
        read += len(block)
        if max_seconds is not None and read > max_seconds * rate:
            raise AudioError(too_long(name, max_seconds))
        yield block


def too_long(name: str, max_seconds: float) -> str:
    """A sentence for a person."""
    return f"{name} is longer than {max_seconds / 60:g} minutes, the most that is taken here; cut it into parts."


def _checked_rate(rate: Any) -> int:
    if not is_number(rate) or not RATES[0] <= rate <= RATES[1]:
        raise AudioError(f"The sample rate is a number of Hz from {RATES[0]} to {RATES[1]}, not {shown(rate)}.")
    return int(rate)


def _check_channel(channel: Any) -> None:
    if channel is not None and (not isinstance(channel, int | np.integer) or isinstance(channel, bool)):
        raise AudioError(
            f"channel is a whole number counted from 0, or None for the mean of all, not {shown(channel)}."
        )


def _check_longest(seconds: Any) -> None:
    if seconds is not None and not (is_number(seconds) and seconds > 0):
        raise AudioError(f"max_seconds is a number above 0, or None, not {shown(seconds)}.")
