"""Where training data lives, and the one form all of it has: shards of Opus clips with a manifest.

    $TOKENSCOPE_TRAINING/speech/kokoro-training-000/manifest.jsonl, 000000.ogg, 000001.ogg, ...

A row of a manifest has audio_filepath (relative to it), text, duration in seconds, voice, and sentences: text, start
and end of each in seconds, known exactly since clips are put together from sentences. Text is empty where nobody speaks
English. The folder is outside the checkout, so that it outlives it.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import soundfile

SAMPLE_RATE = 16_000
#: libsndfile turns a compression level into (1 - level) * 250 + 6 kbit/s for one channel: this is 24 kbit/s.
OPUS_LEVEL = 1 - 18 / 250


@dataclass(frozen=True)
class Sentence:
    """A sentence inside a clip; start and end in seconds."""

    text: str
    start: float
    end: float


@dataclass(frozen=True)
class Clip:
    """A recording: float32 samples in [-1, 1] at 16 kHz, what is said in it, and by which voice."""

    samples: np.ndarray
    voice: str
    sentences: list[Sentence] = field(default_factory=list)

    @property
    def text(self) -> str:
        """All sentences, one space apart."""
        return " ".join(sentence.text for sentence in self.sentences)

    @property
    def duration(self) -> float:
        """Seconds."""
        return len(self.samples) / SAMPLE_RATE


def data_root() -> Path:
    """The folder of everything the recipe makes: TOKENSCOPE_TRAINING, or ~/.cache/tokenscope-training."""
    return Path(os.environ.get("TOKENSCOPE_TRAINING") or "~/.cache/tokenscope-training").expanduser()


class Shard:
    """A folder of clips that grows one clip at a time and can be gone on with after an interruption.

    One process at a time writes to it; a second one is refused (BlockingIOError).
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = (folder / "lock").open("w")
        fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self.manifest = folder / "manifest.jsonl"
        rows = read_manifest(self.manifest)
        if self.manifest.exists():  # a row cut off by an interruption would spoil the next one
            raw = self.manifest.read_bytes()
            os.truncate(self.manifest, raw.rfind(b"\n") + 1)
        self.next_index = int(Path(rows[-1]["audio_filepath"]).stem) + 1 if rows else 0
        self.seconds = sum(row["duration"] for row in rows)

    def add(self, clip: Clip, index: int) -> None:
        """Write the audio, then the row that makes it count."""
        path = self.manifest.parent / f"{index:06d}.ogg"
        write_opus(path, clip.samples)
        sentences = [asdict(sentence) for sentence in clip.sentences]
        row = {"audio_filepath": path.name, "text": clip.text, "duration": round(clip.duration, 3), "voice": clip.voice,
               "sentences": sentences}  # fmt: skip
        with self.manifest.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
        self.next_index, self.seconds = index + 1, self.seconds + clip.duration


def write_opus(path: Path, samples: np.ndarray) -> None:
    """Store samples as Opus at 24 kbit/s."""
    soundfile.write(path, samples, SAMPLE_RATE, format="OGG", subtype="OPUS", compression_level=OPUS_LEVEL)


def read_manifest(manifest: Path) -> list[dict]:
    """The rows of a manifest; one that does not exist has none, and a row cut off by an interruption does not count."""
    if not manifest.exists():
        return []
    lines = manifest.read_text("utf-8").splitlines(keepends=True)
    return [json.loads(line) for line in lines if line.endswith("\n")]


def shards(split: str, root: Path | None = None) -> Iterator[Path]:
    """Every folder of clips of a split, in order of name."""
    yield from sorted(((root or data_root()) / "speech").glob(f"*-{split}-*"))
