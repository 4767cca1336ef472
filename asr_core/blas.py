"""Binds a fast BLAS to MLX on Linux.

MLX's Linux wheel links the reference BLAS by the names of its functions. A library with the same names that is in the
process first, and globally, wins: OpenBLAS, loaded before `mlx.core`, makes float32 products about thirty times faster.
On a Mac, MLX uses Accelerate or Metal and nothing is to be done.
"""

from __future__ import annotations

import ctypes
import logging
import os
import sys
from dataclasses import dataclass

log = logging.getLogger(__name__)

LIBRARY = "libopenblas.so.0"
PACKAGE = "libopenblas0-pthread"


@dataclass(frozen=True)
class Blas:
    """Which BLAS multiplies MLX's matrices, and whether it is a fast one; `advice` says what to do when it is not."""

    name: str
    fast: bool
    advice: str = ""


_bound: Blas | None = None


def bind_blas() -> Blas:
    """Make MLX use OpenBLAS where that has to be arranged (Linux), and say which BLAS is in use.

    Must run before the first import of `mlx.core`; later calls return the first answer.
    """
    global _bound
    if _bound is None:
        _bound = _bind()
        (log.info if _bound.fast else log.warning)("BLAS: %s. %s", _bound.name, _bound.advice)
    return _bound


def _bind() -> Blas:
    if sys.platform == "darwin":
        return Blas("Accelerate", True)
    if "mlx.core" in sys.modules:
        return Blas(
            "as MLX loaded it",
            False,
            "mlx.core was imported before asr_core could bind OpenBLAS: import asr_core and load a model first.",
        )
    # One thread a core: more only fight each other. The variable is read while the library loads.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", str(len(os.sched_getaffinity(0))))
    try:
        ctypes.CDLL(LIBRARY, mode=ctypes.RTLD_GLOBAL)
    except OSError:
        return Blas(
            "reference BLAS",
            False,
            f"{LIBRARY} was not found, so products run about thirty times slower: install {PACKAGE}.",
        )
    return Blas("OpenBLAS", True)
