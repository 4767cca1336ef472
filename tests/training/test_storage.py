"""Shards of clips: what is written is read, an interruption costs nothing, one writer at a time."""

from random import Random

import numpy as np
import pytest

from assets.demo_model.training.nonspeech import KINDS, nonspeech
from assets.demo_model.training.storage import SAMPLE_RATE, Clip, Sentence, Shard, read_manifest, write_opus


def test_a_shard_goes_on_after_an_interruption(tmp_path):
    clip = Clip(
        np.zeros(SAMPLE_RATE, np.float32), "somebody", [Sentence("Go left.", 0.1, 0.6), Sentence("Stop.", 0.7, 0.9)]
    )
    shard = Shard(tmp_path / "shard")
    shard.add(clip, 0)
    shard.add(clip, 3)
    with shard.manifest.open("a") as file:
        file.write('{"audio_filepath": "0000')  # cut off while writing
    del shard
    again = Shard(tmp_path / "shard")
    assert (again.next_index, again.seconds) == (4, 2.0)
    again.add(clip, 4)
    rows = read_manifest(again.manifest)
    assert [row["audio_filepath"] for row in rows] == ["000000.ogg", "000003.ogg", "000004.ogg"]
    assert rows[2]["text"] == "Go left. Stop." and rows[2]["sentences"][1]["start"] == 0.7


def test_a_second_writer_is_refused(tmp_path):
    first = Shard(tmp_path)
    with pytest.raises(BlockingIOError):
        Shard(tmp_path)
    del first
    Shard(tmp_path)


def test_opus_takes_about_three_kilobytes_a_second(tmp_path):
    noise = np.random.default_rng(0).normal(size=10 * SAMPLE_RATE).astype(np.float32) * 0.1
    write_opus(tmp_path / "noise.ogg", noise)
    assert 25_000 < (tmp_path / "noise.ogg").stat().st_size < 40_000


def test_sounds_that_are_not_speech_come_in_every_kind_and_have_no_text():
    make, random = nonspeech(), Random(0)
    clips = [make(random) for _ in range(40)]
    assert {clip.voice for clip in clips} == {f"nonspeech-{kind}" for kind in KINDS}
    assert all(clip.text == "" and np.abs(clip.samples).max() <= 1 and 0.5 < clip.duration < 13 for clip in clips)
