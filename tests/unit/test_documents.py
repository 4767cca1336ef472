"""The store of recordings: bounded, private by unguessable ids, and its files go with it."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import numpy as np
import pytest

import asr_core
from components.documents import WAV_HEADER, Documents, UnknownDocumentError, file_name, read_sound

SAMPLE = Path(__file__).parents[2] / "assets" / "samples" / "sandwich.flac"


class Clock:
    """A time that stands until it is moved."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def documents(tmp_path: Path, clock: Clock) -> Documents:
    return Documents(tmp_path, max_documents=3, retention_hours=1, clock=clock)


def test_audio_is_served_as_plain_pcm(documents: Documents) -> None:
    document = documents.add(SAMPLE, "sandwich.flac", move=False)
    sound = read_sound(document, sample_rate=16_000, channel=None)
    audio = documents.prepare(document.id, sound).audio
    data = audio.path.read_bytes()
    assert len(data) == WAV_HEADER + 2 * audio.samples
    assert np.array_equal(np.frombuffer(data[WAV_HEADER:], "<i2"), audio.open())
    assert np.abs(audio.open() / 32_767 - sound.samples).max() < 1e-4
    assert len(audio.peaks) == 2 * -(-audio.samples // audio.hop)


def test_the_one_unused_for_longest_goes_first(documents: Documents, clock: Clock) -> None:
    kept = []
    for i in range(3):
        clock.now += 1
        kept.append(documents.add(SAMPLE, f"{i}.flac", move=False))
    clock.now += 1
    documents.get(kept[0].id)
    documents.add(SAMPLE, "3.flac", move=False)
    assert documents.get(kept[0].id).name == "0.flac"
    with pytest.raises(UnknownDocumentError):
        documents.get(kept[1].id)
    assert not kept[1].folder.exists()
    assert len(documents) == 3


def test_old_ones_are_deleted(documents: Documents, clock: Clock) -> None:
    document = documents.add(SAMPLE, "a.flac", move=False)
    clock.now += 3601
    documents.sweep()
    with pytest.raises(UnknownDocumentError, match="no longer kept"):
        documents.get(document.id)
    assert not document.folder.exists()


def test_leftovers_of_an_earlier_run_are_deleted_when_old(tmp_path: Path, clock: Clock) -> None:
    for name, age in (("old", 4000), ("new", 10)):
        (tmp_path / "recordings" / name).mkdir(parents=True)
        os.utime(tmp_path / "recordings" / name, (clock.now - age, clock.now - age))
    Documents(tmp_path, max_documents=3, retention_hours=1, clock=clock)
    assert [folder.name for folder in (tmp_path / "recordings").iterdir()] == ["new"]


def test_what_is_no_audio_leaves_nothing_behind(documents: Documents, tmp_path: Path) -> None:
    file = tmp_path / "upload"
    file.write_text("not audio")
    with pytest.raises(asr_core.AudioError, match=r"my notes\.wav is text"):
        documents.add(file, "my notes.wav", move=True)
    assert list(documents.folder.iterdir()) == []
    assert not file.exists()


@pytest.mark.parametrize("key", [None, 3, "", "../..", "nothing", ["a"]])
def test_ids_that_nobody_gave_out(documents: Documents, key: object) -> None:
    with pytest.raises(UnknownDocumentError):
        documents.get(key)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("a.wav", "a.wav"),
        ("../../etc/passwd", "_.._etc_passwd"),
        ("a\x00b\n.wav", "a_b_.wav"),
        ("", "recording"),
        ("...", "recording"),
        ("x" * 500 + ".flac", "x" * 160 + ".flac"),
        ("<img src=x>.wav", "<img src=x>.wav"),
        ("שלום.mp3", "שלום.mp3"),
    ],
)
def test_file_names_stay_in_their_folder(given: str, kept: str) -> None:
    assert file_name(given) == kept


def test_many_threads_at_once(documents: Documents) -> None:
    errors: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(5):
                document = documents.add(SAMPLE, "a.flac", move=False)
                try:
                    documents.update(document.id, seconds=1.0)
                except UnknownDocumentError:
                    continue  # another thread's recordings have pushed it out
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(documents) <= 3
