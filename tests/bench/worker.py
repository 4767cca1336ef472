"""Another process that does a job whenever it is asked to, and says how long it took.

Both sides share this module. It needs only the standard library, since a peer may live in another environment.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any

ROOT = Path(__file__).parents[2]
#: What an answer begins with.
MARK = "answer: "


class Worker:
    """A process that runs `python -m module arguments` and answers one JSON line for each it is sent.

    Args:
        environment: variables that it gets besides ours.
    """

    def __init__(
        self,
        module: str,
        *arguments: str,
        python: str = sys.executable,
        environment: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._said = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed with the process
        self._process = subprocess.Popen(
            [python, "-m", module, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            text=True,
            cwd=ROOT,
            env={**os.environ, **environment, "PYTHONPATH": str(ROOT)},
        )

    def ask(self, question: Any = None) -> Any:
        """Send a question and wait for the answer. Raises RuntimeError where the process has died."""
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        for line in self._process.stdout:  # libraries print there, too
            if line.startswith(MARK):
                return json.loads(line.removeprefix(MARK))
        status = self._process.wait()
        self._said.seek(0)
        raise RuntimeError(f"{' '.join(self._process.args)} ended with {status}: {self._said.read()[-2000:].strip()}")

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._process.stdin.close()
        self._process.wait()
        self._said.close()


def peak_bytes() -> float:
    """Largest resident memory of this process so far.

    Linux's getrusage also counts what the parent had when it started this process; /proc does not.
    """
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return 1024.0 * int(line.split()[1])
    import resource  # not on every platform, and not where /proc is

    return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def serve(job: Callable[[Any], Any]) -> None:
    """Answer every question on the standard input until it ends."""
    for line in sys.stdin:
        print(MARK + json.dumps(job(json.loads(line))), flush=True)
