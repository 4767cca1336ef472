"""Long recordings in bounded memory: twenty minutes stand for an hour, which has three times the windows."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

HEAR = """
import json, resource, sys
import numpy as np
import asr_core

def peak():
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6

recognizer = asr_core.load_model()
once = asr_core.read_audio("assets/samples/friday-meeting.flac")
recognizer.transcribe(once)
asr_core.write_wav(sys.argv[1], np.resize(once, 20 * 60 * 16_000), 16_000)
before = peak()
transcript = recognizer.transcribe(sys.argv[1])
print(json.dumps({
    "above": peak() - before, "cuts": transcript.cuts, "duration": transcript.duration,
    "fridays": transcript.text.count("Friday, the sixth of December"), "periods": 20 * 60 * 16_000 // len(once),
}))
"""


@pytest.mark.slow
def test_twenty_minutes(tmp_path):
    run = subprocess.run(
        [sys.executable, "-c", HEAR, str(tmp_path / "long.wav")], capture_output=True, text=True, cwd=ROOT, check=True
    )
    found = json.loads(run.stdout)
    assert found["duration"] == pytest.approx(1200)
    assert found["above"] < 500  # MB; an hour may take 1500
    assert len(found["cuts"]) >= 39
    assert all(b - a <= 30 for a, b in zip([0, *found["cuts"]], [*found["cuts"], 1200], strict=True))
    assert found["fridays"] >= 0.9 * found["periods"]
