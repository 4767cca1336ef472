"""A comparison that is stopped: what can be compared is shown, and what is done is not done again."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import asr_core
from components import compare as tab
from components import presets
from components.compare_columns import Columns
from components.screen import KEEP
from components.services import Services
from components.settings import Settings
from tests.conftest import SAMPLES

ROOT = Path(__file__).parents[2]


@pytest.fixture
def services(tmp_path: Path) -> Services:
    return Services.start(Settings(data=tmp_path, max_minutes=1))


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The embedded model in another folder: another model."""
    folder = tmp_path_factory.mktemp("models") / "copied"
    shutil.copytree(ROOT / "assets" / "demo_model", folder)
    return str(folder)


@pytest.fixture
def stop_at(services: Services, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], list[int]]:
    """Cancels what runs when the encoder is asked for the n-th time; gives the list of calls."""
    encode = asr_core.Recognizer.encode_audio

    def arrange(number: int) -> list[int]:
        calls: list[int] = []

        def counted(self: asr_core.Recognizer, *arguments: Any) -> Any:
            calls.append(len(calls) + 1)
            if len(calls) == number:
                [job] = services.jobs.running()
                services.jobs.cancel(job.id)
            return encode(self, *arguments)

        monkeypatch.setattr(asr_core.Recognizer, "encode_audio", counted)
        return calls

    return arrange


def pressed(services: Services, document: str, *models: str) -> dict[str, Any]:
    """Compare is pressed for TDT and CTC in turn, with these models."""
    values = presets.preset_of("heads", ("tdt", "ctc")).values
    columns = Columns("demo", [*models, ""], [values[0], values[1], values[0], values[1]])
    shown: dict[str, Any] = {}
    for screen in tab.compare(services, document, columns, SimpleNamespace(count=len(models), preset="heads")):
        shown |= {name: value for name, value in vars(screen).items() if value is not KEEP}
    return shown


def opened(services: Services, name: str = "meeting-date.flac") -> str:
    return tab.take_file(services, SAMPLES / name, name, move=False).document


def test_decoders_of_one_model_are_compared_up_to_the_same_place(
    services: Services, stop_at: Callable[[int], list[int]], tmp_path: Path
) -> None:
    one = asr_core.read_audio(SAMPLES / "friday-meeting.flac")
    file = tmp_path / "long.wav"
    asr_core.write_wav(file, np.tile(one, 2), 16_000)
    document = tab.take_file(services, file, file.name, move=False).document
    stop_at(2)
    shown = pressed(services, document, "", "")
    assert shown["messages"]["stage"] == "result"
    [said] = shown["messages"]["messages"]
    assert said["text"].startswith("Stopped at second ") and "is below" in said["text"]
    columns = services.trials.get(shown["view"]["id"]).columns
    ends = [column.shown.words[-1].end for column in columns]
    assert all(10 < end < 30 for end in ends) and abs(ends[0] - ends[1]) < 1
    assert columns[0].shown.cuts == columns[1].shown.cuts != ()


def test_columns_that_are_done_are_shown_and_not_heard_again(
    services: Services, stop_at: Callable[[int], list[int]], copied: str
) -> None:
    document = opened(services)
    stop_at(2)
    shown = pressed(services, document, "", "", copied)
    assert len(services.trials.get(shown["view"]["id"]).columns) == 2
    [said] = shown["messages"]["messages"]
    assert said["text"].startswith("Stopped before “Greedy, TDT, copied” was done")
    calls = stop_at(0)
    shown = pressed(services, document, "", "", copied)
    assert len(services.trials.get(shown["view"]["id"]).columns) == 3 and shown["messages"]["messages"] == []
    assert calls == [1], "only the other model hears it"


def test_one_column_alone_is_kept_for_the_next_time(
    services: Services, stop_at: Callable[[int], list[int]], copied: str
) -> None:
    document = opened(services)
    stop_at(2)
    shown = pressed(services, document, "", copied)
    assert shown["messages"]["stage"] == "ready" and "view" not in shown
    assert "goes on where one was done" in shown["messages"]["messages"][0]["text"]
    calls = stop_at(0)
    shown = pressed(services, document, "", copied)
    assert shown["messages"]["stage"] == "result" and calls == [1]


def test_a_stopped_comparison_is_not_taken_for_another_setting(
    services: Services, stop_at: Callable[[int], list[int]], copied: str
) -> None:
    document = opened(services)
    stop_at(2)
    pressed(services, document, "", copied)
    calls = stop_at(0)
    pressed(services, document, copied, "")
    assert calls == [1, 2]
