"""How the page says lengths, times and places."""

from __future__ import annotations

import pytest

import asr_core
from components import messages, wording
from components.job import State


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0, "0.0 s"), (18.58, "18.6 s"), (59.96, "1 min"), (125, "2 min 5 s"), (3600, "1 h"), (3780, "1 h 3 min")],
)
def test_lengths(seconds: float, said: str) -> None:
    assert wording.length(seconds) == said


@pytest.mark.parametrize(("minutes", "said"), [(120, "2 hours"), (60, "1 hour"), (90, "90 minutes"), (1, "1 minute")])
def test_limits(minutes: float, said: str) -> None:
    assert wording.hours(minutes) == said


def test_speed() -> None:
    assert wording.speed(0.9, 18.6) == "Done in 0.9 s, 21 times faster than real time"


def test_progress_names_the_minute_and_the_time_left() -> None:
    state = State("listen", done=660, total=2880, begun=0, elapsed=12)

    class Work:
        id = "x"

    said = messages.progress(Work(), state)
    assert said["text"] == "Listening to minute 11 of 48"
    assert said["left"] == "about 40 s left"
    assert said["share"] == pytest.approx(660 / 2880)


def test_a_cancel_says_how_far_it_came() -> None:
    assert messages.stopped(700, 2880) == "Stopped at minute 12. What was heard up to there is below."
    assert messages.stopped(0, 2880) == "Stopped before anything was heard."


@pytest.mark.parametrize(
    ("language", "options", "said"),
    [
        ("de", {}, "German, detected"),
        ("de", {"language": "de"}, "German"),
        ("de", {"task": "translate"}, "German into English, detected"),
        ("de", {"language": "de", "task": "translate"}, "German into English"),
        (None, {}, ""),
    ],
)
def test_which_language_was_spoken(language: str | None, options: dict[str, str], said: str) -> None:
    decoding = asr_core.Greedy(whisper=asr_core.Whisper(**options))
    heard = asr_core.Transcript(language=language, decoding=decoding)
    assert wording.spoken(heard, ("en", "de")) == said
    assert wording.spoken(heard, ("en",)) == ""
