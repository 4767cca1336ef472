"""Many recordings at once: folders, archives, manifests, and the archive that goes out again."""

from __future__ import annotations

import io
import json
import os
import zipfile
from pathlib import Path

import av
import numpy as np
import praatio.textgrid
import pytest
import soundfile

import asr_core
from asr_core import audio_files, formats
from asr_core.annotation import Audio, Document, Store
from asr_core.annotation.exporting import LISTS, SUFFIXES, export_zip, safe_stem
from asr_core.annotation.gathering import Found, cut, gather, said
from asr_core.annotation.unpacking import ArchiveLimits, unpack
from asr_core.audio_pieces import Pieces
from asr_core.errors import AudioError, FormatError, StoreError

SRT = "1\n00:00:00,200 --> 00:00:00,900\nhello there\n"
RATE = 8000


def sound(path: Path, seconds: float = 1.0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(path, np.linspace(-0.5, 0.5, round(RATE * seconds), dtype=np.float32), RATE)
    return path


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "clips"
    sound(root / "b" / "two.wav")
    sound(root / "One.flac")
    (root / "one.srt").write_text(SRT)
    (root / "one.txt").write_text("another text")
    (root / "b" / "lonely.srt").write_text(SRT)
    (root / ".hidden.wav").write_bytes(b"no")
    (root / "__MACOSX").mkdir()
    sound(root / "__MACOSX" / "three.wav")
    return root


def test_a_folder_gives_its_recordings_with_the_texts_beside_them(folder):
    found = gather([folder])
    assert [one.name for one in found.recordings] == ["One.flac", "two.wav"]
    first = found.recordings[0]
    assert first.text == folder / "one.srt"
    document, text = said(first, Audio.of_file(first.audio))
    assert (document.tier("sentences").segments[0].text, text) == ("hello there", "")
    assert found.problems == ("'lonely.srt' has no recording of the same name beside it.",)


def test_a_text_without_times_stays_a_text(tmp_path):
    audio = sound(tmp_path / "a.wav")
    (tmp_path / "a.txt").write_text("just words")
    (found,) = gather([tmp_path]).recordings
    assert said(found, Audio.of_file(audio)) == (None, "just words")


def test_a_manifest_names_recordings_and_pieces_of_them(tmp_path):
    sound(tmp_path / "wavs" / "a.wav", 2.0)
    sound(tmp_path / "wavs" / "b.wav", 1.0)
    times = [{"word": "hi", "start": 0.1, "end": 0.4}]
    rows = [
        {"audio_filepath": "wavs/a.wav", "offset": 0.5, "duration": 0.75, "text": "hi", "timestamps_word": times},
        {"audio_filepath": "wavs/a.wav", "offset": 1.25, "duration": 0.5, "text": "you"},
        {"audio_filepath": "wavs/b.wav", "duration": 1.0},
        {"audio_filepath": "wavs/gone.wav", "duration": 1.0},
    ]
    manifest = tmp_path / "train.json"
    manifest.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = gather([manifest])
    assert [one.name for one in found.recordings] == ["a 0.5 s.wav", "a 1.25 s.wav", "b.wav"]
    assert found.problems == ("Line 4 of 'train.json' names 'wavs/gone.wav', which is not there.",)
    first, second, third = found.recordings
    piece = cut(first, tmp_path)
    whole, _ = soundfile.read(tmp_path / "wavs" / "a.wav", dtype="int16")
    heard, rate = soundfile.read(piece, dtype="int16")
    assert rate == RATE and len(heard) == 0.75 * RATE
    assert np.abs(heard.astype(int) - whole[RATE // 2 :][: len(heard)]).max() <= 1
    document, _ = said(first, Audio.of_file(piece))
    (word,) = document.tier("words").segments
    assert (word.text, word.start, word.end) == ("hi", 0.1, 0.4)
    assert document.audio.duration == pytest.approx(0.75)
    assert said(second, Audio.of_file(cut(second, tmp_path))) == (None, "you")
    assert said(third, Audio.of_file(third.audio)) == (None, "")
    assert cut(third, tmp_path) == third.audio


def test_the_folder_of_a_manifest_gives_each_recording_once(tmp_path):
    sound(tmp_path / "a.wav")
    (tmp_path / "metadata.jsonl").write_text('{"file_name": "a.wav", "transcription": "words"}\n')
    (found,) = gather([tmp_path]).recordings
    assert said(found, Audio.of_file(found.audio)) == (None, "words")


def test_a_piece_behind_the_end_is_refused(tmp_path):
    sound(tmp_path / "a.wav")
    (tmp_path / "m.jsonl").write_text('{"audio_filepath": "a.wav", "offset": 5, "duration": 1}\n')
    (found,) = gather([tmp_path]).recordings
    with pytest.raises(AudioError, match="over before 5 s"):
        cut(found, tmp_path)


@pytest.fixture
def bytes_read(monkeypatch):
    """How many bytes of recordings have been read, and how often one was opened."""
    count = {"bytes": 0, "opened": 0}

    class Counting(io.FileIO):
        def readinto(self, buffer):
            read = super().readinto(buffer)
            count["bytes"] += read or 0
            return read

    def opened(source):
        count["opened"] += 1
        return Path(source).name, io.BufferedReader(Counting(source), 4096)

    monkeypatch.setattr(audio_files, "_binary", opened)
    return count


@pytest.mark.parametrize(
    ("form", "jumps"), [("wav", True), ("flac", True), ("ogg", True), ("mp3", False), ("m4a", False)]
)
def test_pieces_of_a_long_recording_cost_no_more_than_one_reading(tmp_path, bytes_read, form, jumps):
    rng, rate = np.random.default_rng(0), 16_000
    seconds = 20 if form == "m4a" else 48
    noise = rng.normal(scale=0.1, size=seconds * rate).astype(np.float32)
    audio = tmp_path / f"long.{form}"
    if form == "m4a":
        encoded(audio, noise, rate)
    else:
        soundfile.write(audio, noise, rate)
    whole, size = asr_core.read_audio(audio, sample_rate=rate), audio.stat().st_size
    starts = [round(seconds * share, 3) for share in (0.01, 0.2, 0.2005, 0.4, 0.41, 0.9, 0.95)]
    bytes_read.update(bytes=0, opened=0)
    with Pieces() as pieces:
        for start in starts:
            found = Found(audio, audio.name, start=start, seconds=0.5)
            piece, _ = soundfile.read(cut(found, tmp_path, pieces), dtype="float32")
            wanted = whole[round(start * rate) :][: rate // 2]
            assert len(piece) == len(wanted) and np.abs(piece - wanted).max() < 1e-4
    assert bytes_read["opened"] == 1 and bytes_read["bytes"] < 1.2 * size + 200_000
    # One piece near the end alone: what lies before is jumped over, where the format allows it.
    bytes_read.update(bytes=0, opened=0)
    cut(Found(audio, audio.name, start=0.9 * seconds, seconds=0.5), tmp_path)
    tail = 1 << 17 if form == "ogg" else 0  # where it is looked whether the file is whole
    assert (bytes_read["bytes"] - tail < 0.5 * size) == jumps
    # A step back begins anew, and gives the same.
    with Pieces() as pieces:
        later = pieces.read(audio, 0.5 * seconds, 0.5)[0]
        assert np.array_equal(pieces.read(audio, 0.3 * seconds, 0.5)[0], pieces.read(audio, 0.3 * seconds, 0.5)[0])
        assert np.array_equal(later, pieces.read(audio, 0.5 * seconds, 0.5)[0])


def encoded(path: Path, samples: np.ndarray, rate: int) -> None:
    """AAC, which libsndfile does not know."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("aac", rate=rate, layout="mono")
        frame = av.AudioFrame.from_ndarray(samples[None], format="fltp", layout="mono")
        frame.sample_rate = rate
        for packet in (*stream.encode(frame), *stream.encode(None)):
            container.mux(packet)


def test_a_piece_is_no_longer_than_what_is_taken(tmp_path):
    audio = sound(tmp_path / "a.wav", 3.0)
    for seconds in (None, 2.5, 1e12):
        with pytest.raises(AudioError, match="longer than"):
            cut(Found(audio, "a", start=0.1, seconds=seconds), tmp_path, max_seconds=2.0)
    assert cut(Found(audio, "a", start=0.1, seconds=2.0), tmp_path, max_seconds=2.0).is_file()


@pytest.mark.parametrize("name", ["../secret.wav", "{outside}/secret.wav", "link.wav", "nul\0.wav"])
def test_nothing_outside_of_the_folder_is_read(tmp_path, name):
    outside = sound(tmp_path / "secret.wav")
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "link.wav").symlink_to(outside)
    row = {"audio_filepath": name.format(outside=tmp_path)}
    (inside / "m.jsonl").write_text(json.dumps(row) + "\n")
    found = gather([inside], within=inside)
    assert not found.recordings and len(found.problems) >= 1


def test_a_broken_manifest_names_the_line(tmp_path):
    (tmp_path / "m.jsonl").write_text('{"audio_filepath": "a.wav"}\n{"audio_filepath": 3}\n')
    with pytest.raises(FormatError, match=r"'m\.jsonl' cannot be read as NeMo manifest: line 2"):
        gather([tmp_path])


def packed(path: Path, files: dict[str, bytes], **how) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            info = zipfile.ZipInfo(name)
            info.external_attr = how.get("mode", 0o644) << 16
            archive.writestr(info, data)
    return path


def test_an_archive_is_unpacked_without_what_is_hidden(tmp_path):
    files = {"a/b.wav": b"1", "a/.c": b"2", "__MACOSX/a/b.wav": b"3"}
    archive = packed(tmp_path / "x.zip", files)
    assert unpack(archive, tmp_path / "out") == 1
    assert (tmp_path / "out/a/b.wav").read_bytes() == b"1"


@pytest.mark.parametrize("name", ["../x", "/x", "a/../../x", "..\\x", "C:/x"])
def test_an_archive_writes_only_into_its_folder(tmp_path, name):
    with pytest.raises(FormatError, match="leads out of the folder"):
        unpack(packed(tmp_path / "x.zip", {name: b"1"}), tmp_path / "out" / "deep")
    assert not list((tmp_path / "out").rglob("x"))


def test_an_archive_with_a_link_is_refused(tmp_path):
    with pytest.raises(FormatError, match="holds a link"):
        unpack(packed(tmp_path / "x.zip", {"link": b"/etc/passwd"}, mode=0o120777), tmp_path / "out")


def test_an_archive_that_grows_past_the_limit_is_refused(tmp_path):
    archive = packed(tmp_path / "x.zip", {"a": bytes(3 << 20), "b": bytes(3 << 20)})
    with pytest.raises(FormatError, match="more than 4 MB"):
        unpack(archive, tmp_path / "out", ArchiveLimits(total_bytes=4 << 20))
    assert sum(path.stat().st_size for path in (tmp_path / "out").iterdir()) <= 4 << 20
    with pytest.raises(FormatError, match="holds 2 files; at most 1"):
        unpack(archive, tmp_path / "other", ArchiveLimits(files=1))


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04 not really", os.urandom(999)])
def test_no_archive_at_all_is_refused(tmp_path, data):
    (tmp_path / "x.zip").write_bytes(data)
    with pytest.raises(FormatError, match="not a whole zip archive"):
        unpack(tmp_path / "x.zip", tmp_path / "out")


def test_a_damaged_archive_is_refused(tmp_path):
    data = bytearray(packed(tmp_path / "x.zip", {"a": os.urandom(5000)}).read_bytes())
    data[2000] ^= 0xFF
    (tmp_path / "x.zip").write_bytes(data)
    with pytest.raises(FormatError, match="not a whole zip archive"):
        unpack(tmp_path / "x.zip", tmp_path / "out")


def test_a_compression_that_nobody_here_knows_is_refused(tmp_path):
    data = bytearray(packed(tmp_path / "x.zip", {"a": b"x" * 100}).read_bytes())
    for header, place in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        data[data.index(header) + place] = 97
    (tmp_path / "x.zip").write_bytes(data)
    with pytest.raises(FormatError, match="not a whole zip archive"):
        unpack(tmp_path / "x.zip", tmp_path / "out")


@pytest.fixture
def store(tmp_path):
    made = Store(tmp_path / "store")
    yield made
    made.close()


def kept(store: Store, tmp_path: Path, name: str, text: str) -> str:
    audio = sound(tmp_path / name)
    document = formats.read(SRT.replace("hello there", text).encode(), format="srt", audio=audio)
    return store.add(document, name=name, audio=audio).id


def test_an_export_opens_elsewhere_and_comes_back(tmp_path, store):
    ids = [kept(store, tmp_path / "1", "talk.wav", "first one"), kept(store, tmp_path / "2", "talk.wav", "second <b>")]
    seen = []
    assert export_zip(store, ids, tmp_path / "done.zip", on_progress=seen.append) == 2
    assert [(one.done, one.total) for one in seen] == [(1, 2), (2, 2)]
    unpack(tmp_path / "done.zip", tmp_path / "out")
    grid = praatio.textgrid.openTextgrid(str(tmp_path / "out/textgrid/talk 2.TextGrid"), includeEmptyIntervals=False)
    assert grid.getTier("sentences").entries[0].label == "second <b>"
    found = gather([tmp_path / "out" / "manifest.jsonl"], within=tmp_path / "out")
    texts = [said(one, Audio.of_file(one.audio))[0].transcript().text for one in found.recordings]
    assert texts == ["first one", "second <b>"] and not found.problems
    rows = [json.loads(line) for line in (tmp_path / "out/audio/metadata.jsonl").read_text().splitlines()]
    assert [row["file_name"] for row in rows] == ["talk.wav", "talk 2.wav"]
    back = formats.read(tmp_path / "out/json/talk.json")
    assert back.tiers == store.load(ids[0])[0].tiers
    names = {path.parent.name for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert names >= set(SUFFIXES) and all((tmp_path / "out" / place).exists() for place in LISTS.values())


def test_an_export_without_sound_or_of_nothing(tmp_path, store):
    id = kept(store, tmp_path, "a.wav", "x")
    export_zip(store, [id], tmp_path / "x.zip", wanted=["srt"], audio=False)
    assert zipfile.ZipFile(tmp_path / "x.zip").namelist() == ["srt/a.srt"]
    with pytest.raises(FormatError, match="nothing to export"):
        export_zip(store, [], tmp_path / "y.zip")
    with pytest.raises(FormatError, match="'mp3' is none of them"):
        export_zip(store, [id], tmp_path / "y.zip", wanted=["mp3"])
    with pytest.raises(StoreError, match="no such document"):
        export_zip(store, ["gone"], tmp_path / "y.zip")
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("y") or path.suffix == ".part"]


def test_names_for_any_file_system():
    taken: set[str] = set()
    assert [safe_stem(name, taken) for name in ("a/b:c?.wav", "B:C.mp3", "b_c.x", "", "..")] == [
        "b_c_",
        "B_C",
        "b_c 2",
        "document",
        "document 2",
    ]


def test_a_document_without_a_recording_is_exported_too(tmp_path, store):
    id = store.add(Document.from_transcript(asr_core.Transcript("")), name="empty").id
    assert export_zip(store, [id], tmp_path / "x.zip") == 1
