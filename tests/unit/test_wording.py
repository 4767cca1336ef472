"""How the page says lengths, times and places."""

from __future__ import annotations

import time

import pytest

import asr_core
from components import messages, wording
from components.job import Job, State


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


@pytest.mark.parametrize(
    ("text", "most", "said"),
    [
        ("", 10, ""),
        ("Go left now.", 12, "Go left now."),
        ("Go left now.", 11, "… left now."),
        ("Go left now.", 9, "… left now."),
        ("Go left now.", 8, "… now."),
        ("Donaudampfschiff", 6, "… schiff"),
    ],
)
def test_the_end_of_a_text_begins_with_a_word(text: str, most: int, said: str) -> None:
    assert wording.ending(text, most) == said


def test_the_text_so_far_is_made_seldom() -> None:
    """So that a long recording is not held up: at each piece it would take as long as the whole of what came before."""
    made, done = [], []

    def partial() -> asr_core.Transcript:
        made.append(len(done))
        time.sleep(0.05)
        return asr_core.Transcript(text=f"{len(done)} pieces")

    def work(job: Job) -> None:
        for i in range(101):
            done.append(i)
            job.on_progress(asr_core.Progress(i, 100, "transcribe", partial))
            time.sleep(0.01)

    job = Job(work).start()
    while not job.wait(5.0).heard:
        assert job.state().stage != "failed"
    assert made[0] == 2 and len(made) == 1  # not of nothing, and then not for 2.5 s
    assert job.state().heard == "2 pieces"


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
