"""Audio in: real files of every format, arrays of every kind, and files that are cut off or no audio at all."""

from __future__ import annotations

import io
import warnings

import av
import numpy as np
import pytest
import soundfile
from hypothesis import given, settings
from hypothesis import strategies as st

from asr_core import AudioError, AudioWarning, peaks, probe, read_audio, write_wav
from asr_core.audio import as_samples

RATE = 44_100
SECONDS = 3.0
# A format's name, the ending, how it is written, and how far lossy coding may move the level of a tone.
SNDFILE = {
    "wav": ("WAV", "PCM_16"),
    "flac": ("FLAC", "PCM_16"),
    "ogg": ("OGG", "VORBIS"),
    "mp3": ("MP3", "MPEG_LAYER_III"),
}
FFMPEG = {"m4a": "aac", "mp4": "aac", "webm": "libopus", "opus": "libopus"}
LOSSLESS = ("wav", "flac")


def tone(seconds: float = SECONDS, rate: int = RATE, channels: int = 2) -> np.ndarray:
    """(samples, channels): 440 Hz in the first channel, 1000 Hz in the second, half of full scale."""
    time = np.arange(round(seconds * rate)) / rate
    return np.stack([0.5 * np.sin(2 * np.pi * hertz * time) for hertz in (440, 1000)[:channels]], 1).astype(np.float32)


def write_with_ffmpeg(path, samples: np.ndarray, rate: int, codec: str) -> None:
    with av.open(str(path), "w", format="ogg" if path.suffix == ".opus" else None) as out:
        stream = out.add_stream(codec, rate=rate, layout="stereo" if samples.shape[1] == 2 else "mono")
        frame = av.AudioFrame.from_ndarray(np.ascontiguousarray(samples.T), format="fltp", layout=stream.layout.name)
        frame.sample_rate = rate
        for packet in (*stream.encode(frame), *stream.encode(None)):
            out.mux(packet)


def written(folder, ending: str, seconds: float = SECONDS):
    path = folder / f"tone.{ending}"
    if ending in SNDFILE:
        kind, subtype = SNDFILE[ending]
        soundfile.write(path, tone(seconds), RATE, format=kind, subtype=subtype)
    else:
        rate = 48_000 if FFMPEG[ending] == "libopus" else RATE
        write_with_ffmpeg(path, tone(seconds, rate), rate, FFMPEG[ending])
    return path


def level(samples: np.ndarray, hertz: float, rate: int = 16_000) -> float:
    """Amplitude of one frequency in the middle of a signal."""
    middle = samples[len(samples) // 4 : 3 * len(samples) // 4].astype(np.float64)
    turn = np.exp(-2j * np.pi * hertz * np.arange(len(middle)) / rate) * np.hanning(len(middle)) * 2
    return 2 * abs((middle * turn).mean())


@pytest.mark.parametrize("ending", [*SNDFILE, *FFMPEG])
def test_every_format_is_read(tmp_path, ending):
    path = written(tmp_path, ending)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mean = read_audio(path)
        first, second = read_audio(path, channel=0), read_audio(str(path), channel=1)
        assert np.array_equal(read_audio(path.read_bytes()), mean)
        with path.open("rb") as file:
            assert np.array_equal(read_audio(file), mean)
    assert mean.dtype == np.float32
    assert mean.ndim == 1
    assert len(mean) / 16_000 == pytest.approx(SECONDS, abs=1 / 16_000 if ending in LOSSLESS else 0.1)
    close = 0.002 if ending in LOSSLESS else 0.03
    assert level(first, 440) == pytest.approx(0.5, abs=close)
    assert level(first, 1000) == pytest.approx(0, abs=close)
    assert level(second, 1000) == pytest.approx(0.5, abs=close)
    assert level(mean, 440) == pytest.approx(0.25, abs=close)
    info = probe(path)
    assert info.channels == 2
    assert info.duration == pytest.approx(SECONDS, abs=0.1)
    assert info.sample_rate == (48_000 if ending in ("webm", "opus") else RATE)


@pytest.mark.parametrize("subtype", ["PCM_U8", "PCM_16", "PCM_24", "PCM_32", "FLOAT", "DOUBLE", "ULAW"])
def test_every_bit_depth_of_wav(tmp_path, subtype):
    path = tmp_path / "tone.wav"
    soundfile.write(path, tone(1, 16_000, 1), 16_000, subtype=subtype)
    close = {"PCM_U8": 0.01, "ULAW": 0.03}.get(subtype, 1e-4)
    np.testing.assert_allclose(read_audio(path), tone(1, 16_000, 1)[:, 0], atol=close)


@pytest.mark.parametrize("rate", [8_000, 11_025, 16_000, 22_050, 44_100, 48_000, 96_000])
def test_any_rate_keeps_length_and_level(rate):
    samples = read_audio((rate, tone(2, rate, 1)))
    assert len(samples) == pytest.approx(32_000, abs=1)
    assert level(samples, 440) == pytest.approx(0.5, abs=1e-3)


def test_what_lies_above_the_new_rate_does_not_fold_back():
    high = np.sin(2 * np.pi * 12_000 * np.arange(96_000) / 48_000).astype(np.float32)
    assert np.abs(read_audio((48_000, high))[1000:-1000]).max() < 1e-4


@pytest.mark.parametrize("dtype", ["uint8", "int16", "int32", "float32", "float64"])
def test_arrays_of_every_kind_and_both_ways_round(dtype):
    stereo = tone(0.5, 16_000)
    if dtype == "uint8":
        given_array = np.rint(stereo * 128 + 128).astype(dtype)
    elif dtype.startswith("int"):
        given_array = np.rint(stereo * np.iinfo(dtype).max).astype(dtype)
    else:
        given_array = stereo.astype(dtype)
    close = {"uint8": 5e-3, "int16": 1e-4}.get(dtype, 1e-6)
    for array in (given_array, given_array.T, np.asfortranarray(given_array)):
        np.testing.assert_allclose(read_audio((16_000, array)), stereo.mean(1), atol=close)
        np.testing.assert_allclose(read_audio((16_000, array), channel=1), stereo[:, 1], atol=close)
    np.testing.assert_allclose(read_audio((16_000, given_array[:, 0])), stereo[:, 0], atol=close)


def test_what_transcribe_takes():
    assert len(as_samples([], 16_000, 16_000)) == 0
    assert len(as_samples(np.zeros(0), 8_000, 16_000)) == 0
    assert as_samples([0.0, 0.5, -0.5], 16_000, 16_000).tolist() == [0.0, 0.5, -0.5]
    assert len(as_samples(np.zeros(8_000), 8_000, 16_000)) == 16_000


@pytest.mark.parametrize("ending", [*SNDFILE, "opus"])
def test_reading_in_blocks_gives_what_reading_at_once_gives(tmp_path, ending):
    path = written(tmp_path, ending, seconds=8)
    whole, rate = soundfile.read(path, dtype="float32")
    np.testing.assert_allclose(read_audio(path, sample_rate=rate), whole.mean(1), atol=1e-6)


def test_a_channel_that_is_not_there_is_refused_by_count(tmp_path):
    with pytest.raises(AudioError, match="has 2 channels"):
        read_audio(written(tmp_path, "wav"), channel=2)
    with pytest.raises(AudioError, match="1 channel,"):
        read_audio((16_000, np.zeros(100)), channel=5)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_samples_that_are_no_numbers_are_refused(tmp_path, bad):
    samples = tone(1, 16_000, 1)
    samples[500] = bad
    path = tmp_path / "bad.wav"
    soundfile.write(path, samples, 16_000, subtype="FLOAT")
    for source in (path, (16_000, samples)):
        with pytest.raises(AudioError, match="NaN or infinite"):
            read_audio(source)


def video_without_sound(path):
    with av.open(str(path), "w") as out:
        stream = out.add_stream("mpeg4", rate=10)
        stream.width = stream.height = 64
        frame = av.VideoFrame.from_ndarray(np.zeros((64, 64, 3), np.uint8))
        for packet in (*stream.encode(frame), *stream.encode(None)):
            out.mux(packet)


def test_what_is_no_audio_is_refused_in_one_sentence(tmp_path):
    (tmp_path / "text.wav").write_text("This is not audio.\n" * 20)
    (tmp_path / "empty.wav").write_bytes(b"")
    (tmp_path / "noise.mp3").write_bytes(np.random.default_rng(0).bytes(20_000))
    (tmp_path / "list.m3u8").write_text("#EXTM3U\n#EXTINF:10,\n/etc/passwd\n#EXT-X-ENDLIST\n")
    soundfile.write(tmp_path / "none.wav", np.zeros((0, 1)), 16_000)
    soundfile.write(tmp_path / "none.flac", np.zeros((0, 1)), 16_000)
    video_without_sound(tmp_path / "silent.mp4")
    said = {
        "text.wav": "is text, not audio",
        "empty.wav": "is empty",
        "noise.mp3": "noise.mp3",
        "list.m3u8": "is text, not audio",
        "none.wav": "no audio samples",
        "none.flac": "none.flac",
        "silent.mp4": "no sound",
        "missing.wav": "no file missing.wav",
        ".": "folder",
    }
    for name, expected in said.items():
        with pytest.raises(AudioError, match=expected) as caught:
            read_audio(tmp_path / name)
        assert "\n" not in str(caught.value)
        assert str(tmp_path) not in str(caught.value) or name == "."


@pytest.mark.parametrize("source", [None, 5, {"path": "x"}, (16_000, "text"), (16_000, np.zeros((2, 2, 2)))])
def test_what_is_no_source_is_refused(source):
    with pytest.raises(AudioError):
        read_audio(source)


@pytest.mark.parametrize("rate", [0, -1, float("nan"), "fast", None])
def test_a_rate_that_is_none_is_refused(rate):
    with pytest.raises(AudioError, match="rate"):
        read_audio((rate, np.zeros(100)))


@pytest.mark.parametrize("ending", [*SNDFILE, *FFMPEG])
def test_a_cut_off_file_gives_what_decodes_and_says_so(tmp_path, ending):
    data = written(tmp_path, ending, seconds=10).read_bytes()
    part = tmp_path / f"part.{ending}"
    part.write_bytes(data[: int(len(data) * 0.6)])
    if ending in ("m4a", "mp4"):
        # The index stands at the end of these files: nothing can be found without it.
        with pytest.raises(AudioError, match="part"):
            read_audio(part)
        return
    with pytest.warns(AudioWarning, match=r"^The file ends early\. The first \d+\.\d s could be read\.$") as caught:
        samples = read_audio(part, channel=0)
    assert 3 < len(samples) / 16_000 < 7
    assert level(samples, 440) == pytest.approx(0.5, abs=0.03)
    assert f"{len(samples) / 16_000:.1f} s" in str(caught[0].message)


def test_a_wav_of_unknown_length_is_whole(tmp_path):
    data = bytearray(written(tmp_path, "wav").read_bytes())
    data[40:44] = data[4:8] = b"\xff\xff\xff\xff"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(read_audio(bytes(data))) == pytest.approx(SECONDS * 16_000, abs=1)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 3_000), st.integers(1, 700), st.integers(0, 10))
def test_peaks_hold_every_sample(length, hop, seed):
    samples = np.random.default_rng(seed).uniform(-1, 1, length).astype(np.float32)
    made = peaks(samples, hop)
    assert made.shape == (-(-length // hop), 2)
    assert made.dtype == np.int8
    for (low, high), first in zip(made.tolist(), range(0, length, hop), strict=True):
        piece = samples[first : first + hop]
        assert low / 128 <= piece.min() <= (low + 1) / 128
        assert (high - 1) / 127 <= piece.max() <= high / 127


def test_peaks_of_what_is_too_loud_stay_in_range():
    assert peaks(np.array([-3.0, 3.0], np.float32)).tolist() == [[-128, 127]]


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 5_000), st.sampled_from([8_000, 16_000, 44_100]), st.integers(0, 10))
def test_wav_written_is_wav_read(length, rate, seed):
    samples = np.random.default_rng(seed).uniform(-1, 1, length).astype(np.float32)
    file = io.BytesIO()
    write_wav(file, samples, rate)
    data = file.getvalue()
    assert len(data) == 44 + 2 * length
    np.testing.assert_allclose(np.frombuffer(data, "<i2", offset=44) / 32_767, samples, atol=1 / 32_767)
    np.testing.assert_allclose(read_audio(data, sample_rate=rate), samples, atol=1e-4)


def test_wav_is_clamped_and_leaves_nothing_half_written(tmp_path):
    path = tmp_path / "loud.wav"
    write_wav(path, np.array([-2.0, 0.0, 2.0]), 16_000)
    assert soundfile.read(path, dtype="int16")[0].tolist() == [-32_768, 0, 32_767]
    with pytest.raises((TypeError, ValueError)):
        write_wav(path, ["no", "numbers"], 16_000)
    assert [p.name for p in tmp_path.iterdir()] == ["loud.wav"]
    assert soundfile.read(path, dtype="int16")[0].tolist() == [-32_768, 0, 32_767]


def test_a_long_stereo_file_is_never_held_whole(tmp_path):
    path = tmp_path / "long.flac"
    with soundfile.SoundFile(path, "w", RATE, 2, subtype="PCM_16") as out:
        for _ in range(600):
            out.write(np.zeros((RATE, 2), np.int16))
    import tracemalloc

    tracemalloc.start()
    samples = read_audio(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(samples) == 600 * 16_000
    # The result twice (its pieces, then joined) and a few blocks; the decoded file alone would be 5.5 times the result.
    assert peak < 2.2 * samples.nbytes + (16 << 20)
