"""Folders that a server works in, and other servers on the same data."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from components.work_folders import WorkFolder

ROOT = Path(__file__).parents[2]
TOOLS = "import sys, pathlib; from components.work_folders import WorkFolder, sweep; "
SWEEP = TOOLS + "sweep(pathlib.Path(sys.argv[1]), 'work-')"
LEAVE = TOOLS + "WorkFolder(pathlib.Path(sys.argv[1]), 'work-')"


def in_another_process(program: str, data: Path) -> None:
    subprocess.run([sys.executable, "-c", program, str(data)], check=True, cwd=ROOT)


def test_a_server_removes_what_others_have_left_and_not_what_they_work_in(tmp_path: Path) -> None:
    mine = WorkFolder(tmp_path, "work-")
    (mine.path / "a.wav").write_bytes(b"half")
    in_another_process(LEAVE, tmp_path)
    assert len(list(tmp_path.iterdir())) == 2
    in_another_process(SWEEP, tmp_path)
    assert [path.name for path in tmp_path.glob("*/*")] == ["a.wav"]
    assert list(tmp_path.iterdir()) == [mine.path]
    mine.close()
    assert not list(tmp_path.iterdir())
