"""The fast BLAS on Linux, and what is said without it."""

import ctypes
import subprocess
import sys
from pathlib import Path

import pytest

from asr_core import blas

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a BLAS to bind")
def test_mlx_imported_first_is_warned_about():
    code = "import logging; logging.basicConfig(); import mlx.core, asr_core; print(asr_core.runtime().blas.fast)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert run.stdout.strip() == "False"
    assert "imported before asr_core" in run.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a BLAS to bind")
def test_these_tests_run_on_the_fast_one():
    try:
        ctypes.CDLL(blas.LIBRARY)
    except OSError:
        pytest.skip(f"{blas.PACKAGE} is not installed")
    assert blas.bind_blas().fast, blas.bind_blas().advice
