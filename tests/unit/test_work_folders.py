"""Folders that a server works in, and other servers on the same data."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from components.work_folders import WORK, WorkFolder, sweep

ROOT = Path(__file__).parents[2]
TOOLS = (
    "import os, sys, pathlib; from components.work_folders import WorkFolder, sweep; data = pathlib.Path(sys.argv[1]); "
)
SWEEP, KILLED, STOPPED = "sweep(data)", "folder = WorkFolder(data); os._exit(0)", "folder = WorkFolder(data)"


def in_another_process(program: str, data: Path) -> None:
    subprocess.run([sys.executable, "-c", TOOLS + program, str(data)], check=True, cwd=ROOT)


def test_a_server_removes_what_killed_ones_have_left_and_not_what_others_work_in(tmp_path: Path) -> None:
    sweep(tmp_path)
    mine = WorkFolder(tmp_path)
    (mine.path / "a.wav").write_bytes(b"half")
    in_another_process(KILLED, tmp_path)
    assert len(list((tmp_path / WORK).iterdir())) == 4
    in_another_process(SWEEP, tmp_path)
    assert sorted((tmp_path / WORK).iterdir()) == [mine.path, mine.path.with_suffix(".lock")]
    assert (mine.path / "a.wav").exists()
    mine.close()
    assert not list((tmp_path / WORK).iterdir())


def test_a_server_that_is_stopped_leaves_nothing(tmp_path: Path) -> None:
    in_another_process(STOPPED, tmp_path)
    assert not list((tmp_path / WORK).iterdir())
