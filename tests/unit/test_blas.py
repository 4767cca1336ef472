"""The fast BLAS on Linux, and what is said without it."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a BLAS to bind")
def test_mlx_imported_first_is_warned_about():
    code = "import logging; logging.basicConfig(); import mlx.core, asr_core; print(asr_core.runtime().blas.fast)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert run.stdout.strip() == "False"
    assert "imported before asr_core" in run.stderr
