"""Clips of the shards as batches of about the same number of seconds, clips of like length together.

Opus is decoded once: every shard has a file of 16-bit samples in the cache, which grows with the shard.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np
import soundfile
import torch
from sentencepiece import SentencePieceProcessor
from torch import Tensor

from .augment import varied
from .storage import SAMPLE_RATE, data_root, read_manifest, shards
from .text import ForbiddenTexts

#: Samples of a frame of the encoder, 80 ms.
FRAME = 1280


@dataclass(frozen=True)
class Example:
    """A clip as training sees it: int16 samples (views of the cache), the pieces of what is said, and for each of
    them the number of the sample its sentence begins with."""

    parts: tuple[np.ndarray, ...]
    pieces: list[int]
    onsets: list[int]

    @property
    def length(self) -> int:
        """Samples in all."""
        return sum(map(len, self.parts))

    @property
    def seconds(self) -> float:
        """Duration."""
        return self.length / SAMPLE_RATE

    def then(self, other: Example) -> Example:
        """This clip and another behind it."""
        onsets = [self.length + onset for onset in other.onsets]
        return Example(self.parts + other.parts, self.pieces + other.pieces, self.onsets + onsets)


@dataclass(frozen=True)
class Batch:
    """samples (B, N) float32, lengths (B,) in samples, tokens (B, U) padded with 0, counts (B,) of tokens, earliest
    (B, U) the frame of 80 ms nearest to where each token's sentence begins."""

    samples: Tensor
    lengths: Tensor
    tokens: Tensor
    counts: Tensor
    earliest: Tensor

    @property
    def seconds(self) -> float:
        """Audio in it, without padding."""
        return float(self.lengths.sum()) / SAMPLE_RATE


def read_examples(
    split: str, tokenizer: SentencePieceProcessor, repeat: dict[str, int] | None = None, decode: bool = True
) -> list[Example]:
    """All clips of a split. No text of a test clip is among those of training: it would be an error of the generator.

    Args:
        repeat: source to how often its clips count ("kokoro" three times); others count once.
        decode: whether to bring the cache up to date first; one process does it for all.
    """
    forbidden = ForbiddenTexts.of_folders() if split == "training" else ForbiddenTexts([])
    examples = []
    for folder in shards(split):
        times = (repeat or {}).get(folder.name.split("-")[0], 1)
        for row, samples in _cached(folder, decode):
            if row["text"] in forbidden:
                continue
            pieces = [tokenizer.encode(sentence["text"]) for sentence in row["sentences"]]
            begun = [round(SAMPLE_RATE * sentence["start"]) for sentence in row["sentences"]]
            onsets = [onset for onset, said in zip(begun, pieces, strict=True) for _ in said]
            examples += [Example((samples,), [piece for said in pieces for piece in said], onsets)] * times
    return examples


def mixed(examples: Sequence[Example], random: Random, share: float, longest: float = 20.0) -> Iterator[Example]:
    """All examples in random order, a `share` of them with the next one behind, mostly of another voice.

    None becomes longer than `longest` seconds by that.
    """
    order = iter(random.sample(examples, len(examples)))
    for example in order:
        while random.random() < share and (other := next(order, None)):
            if example.seconds + other.seconds <= longest:
                example = example.then(other)
            else:
                yield example
                example = other
        yield example


def buckets(
    examples: Sequence[Example], seconds: float, random: Random, share: float = 0.0, chunk: int = 800
) -> Iterator[list[Example]]:
    """One pass over the examples in random order, in groups whose padded audio is at most `seconds`.

    Clips are sorted by length within chunks only, so that the groups differ from pass to pass. `share` is that of
    `mixed`.
    """
    order = list(mixed(examples, random, share))
    groups: list[list[Example]] = []
    for first in range(0, len(order), chunk):
        group: list[Example] = []
        for example in sorted(order[first : first + chunk], key=lambda example: example.seconds):
            if group and (len(group) + 1) * example.seconds > seconds:
                groups.append(group)
                group = []
            group.append(example)
        groups.append(group)
    random.shuffle(groups)
    yield from groups


def make_batch(group: Sequence[Example], random: Random | None = None, strength: float = 0.0) -> Batch:
    """Pad a group of examples; with a random generator their audio is varied."""
    audio = [_joined(example.parts, random) for example in group]
    onsets = [np.array(example.onsets, float) for example in group]
    if random is not None:
        both = [varied(*one, random, strength) for one in zip(audio, onsets, strict=True)]
        audio, onsets = [one[0] for one in both], [one[1] for one in both]
    lengths = torch.tensor([len(samples) for samples in audio])
    counts = torch.tensor([len(example.pieces) for example in group])
    samples = torch.zeros(len(group), int(lengths.max()))
    tokens = torch.zeros(len(group), max(1, int(counts.max())), dtype=torch.long)
    earliest = torch.zeros_like(tokens)
    for row, (sound, example, onset) in enumerate(zip(audio, group, onsets, strict=True)):
        samples[row, : len(sound)] = torch.from_numpy(sound)
        tokens[row, : len(example.pieces)] = torch.tensor(example.pieces, dtype=torch.long)
        earliest[row, : len(onset)] = torch.from_numpy(onset / FRAME).round().long()
    return Batch(samples, lengths, tokens, counts, earliest)


def _joined(parts: Sequence[np.ndarray], random: Random | None) -> np.ndarray:
    """One after the other as float32; with a random generator, all behind the first up to 12 dB softer."""
    softer = [1.0, *(10 ** (-0.6 * random.random()) if random else 1.0 for _ in parts[1:])]
    scaled = zip(parts, softer, strict=True)
    return np.concatenate([part.astype(np.float32) * np.float32(gain / 32768) for part, gain in scaled])


def _cached(folder: Path, decode: bool) -> list[tuple[dict, np.ndarray]]:
    """Rows of a shard's manifest with their samples. The index holds the end of every row decoded so far."""
    cache = data_root() / "cache"
    cache.mkdir(parents=True, exist_ok=True)
    sound, index = cache / f"{folder.name}.int16", cache / f"{folder.name}.json"
    rows = read_manifest(folder / "manifest.jsonl")
    ends: list[int] = json.loads(index.read_text()) if index.exists() else []
    if decode and len(ends) < len(rows):
        with sound.open("r+b" if ends else "wb") as file:
            file.seek(2 * (ends[-1] if ends else 0))
            for row in rows[len(ends) :]:
                samples, _ = soundfile.read(folder / row["audio_filepath"], dtype="int16")
                file.write(samples.tobytes())
                ends.append((ends[-1] if ends else 0) + len(samples))
        index.write_text(json.dumps(ends))
    if not ends:
        return []
    samples = np.memmap(sound, np.int16, mode="r", shape=(ends[-1],))
    starts = [0, *ends[:-1]]
    return [(row, samples[a:b]) for row, a, b in zip(rows, starts, ends, strict=False)]
