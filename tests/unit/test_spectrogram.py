"""Spectrogram tiles: what is drawn stands at its time and pitch, in every size, and neighbours agree."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asr_core.spectrogram import reference, tile

RATE = 16_000


def tone(hertz: float, seconds: float, amplitude: float = 0.5) -> np.ndarray:
    return (amplitude * np.sin(2 * np.pi * hertz * np.arange(round(seconds * RATE)) / RATE)).astype(np.float32)


@pytest.mark.parametrize("hertz", [500, 2_000, 4_000, 7_500])
@pytest.mark.parametrize(("width", "height"), [(800, 240), (1600, 120), (100, 512)])
def test_a_tone_is_a_line_at_its_pitch(hertz, width, height):
    picture = tile(tone(hertz, 4), 1, 3, width, height)
    assert picture.shape == (height, width)
    assert picture.dtype == np.uint8
    row = height - 1 - picture.mean(1).argmax()
    assert (row + 0.5) / height * 8_000 == pytest.approx(hertz, abs=8_000 / height + RATE / 512)
    assert picture.max() > 235
    assert np.median(picture) == 0


@pytest.mark.parametrize("view", [(0.0, 4.0), (1.9, 2.3), (1.97, 2.03)])
def test_a_click_stands_at_its_time(view):
    samples = np.zeros(4 * RATE, np.float32)
    samples[2 * RATE] = 1
    start, end = view
    columns = np.flatnonzero(tile(samples, start, end, 1000, 64).any(0))
    times = start + (columns + 0.5) / 1000 * (end - start)
    assert times.mean() == pytest.approx(2, abs=0.002 + (end - start) / 1000)
    assert np.ptp(times) < 512 / RATE + 2 * (end - start) / 1000


def test_the_upper_edge_is_what_was_asked():
    picture = tile(tone(2_000, 2), 0.5, 1.5, 50, 200, top=4_000)
    assert 199 - picture.mean(1).argmax() == pytest.approx(100, abs=2)


def test_tiles_of_one_recording_agree_at_their_border():
    samples = np.concatenate([tone(440, 2, 0.01), tone(440, 2, 0.9)])
    level = reference(samples)
    whole = tile(samples, 0, 4, 400, 64, level=level)
    halves = [tile(samples, start, start + 2, 200, 64, level=level) for start in (0, 2)]
    np.testing.assert_array_equal(np.concatenate(halves, axis=1), whole)
    assert whole[:, :150].max() < whole[:, 250:].max() - 80


def test_silence_stays_empty_and_quiet_speech_is_seen():
    assert not tile(np.zeros(RATE, np.float32), 0, 1, 100, 50).any()
    assert tile(tone(1_000, 1, 0.002), 0.2, 0.8, 100, 50).max() > 150


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 3_000), st.floats(-1, 1), st.floats(0.001, 3), st.integers(1, 1_600), st.integers(1, 200))
def test_any_view_of_any_length_gives_a_picture(length, start, seconds, width, height):
    picture = tile(np.ones(length, np.float32), start, start + seconds, width, height)
    assert picture.shape == (height, width)
    columns = start + (np.arange(width) + 0.5) / width * seconds
    outside = (columns < -0.02) | (columns > length / RATE + 0.02)
    assert not picture[:, outside].any()
