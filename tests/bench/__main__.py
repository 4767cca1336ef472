"""`python -m tests.bench [row ...]`: all rows of the table, or those whose names are given."""

from __future__ import annotations

import argparse
import platform
import sys

from asr_core.blas import bind_blas

BLAS = bind_blas()  # before anything loads MLX

from tests.bench.rows import ROWS  # noqa: E402
from tests.bench.table import Table  # noqa: E402


def main() -> None:
    """Print the table."""
    names = {row.__module__.rpartition(".")[2]: row for row in ROWS}
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("row", nargs="*", choices=[*names, []], help=f"of {', '.join(names)}; all by default")
    wanted = parser.parse_args().row or list(names)
    print(f"Python {platform.python_version()}, {sys.platform}, {platform.machine()}, {BLAS.name}, float32.")
    print("Figures of neighbouring columns were taken in turn, in one run; each is a median.")
    table = Table()
    for name in wanted:
        for line in names[name]():
            table.add(line)


if __name__ == "__main__":
    main()
