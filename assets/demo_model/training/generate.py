"""Speak sentences of the domain and store the clips: one shard a call, gone on with where it stopped.

    python -m assets.demo_model.training.generate kokoro --hours 3
    python -m assets.demo_model.training.generate flite --hours 10 --shard 1        # other sentences, other speakers
    python -m assets.demo_model.training.generate nonspeech --hours 1
    python -m assets.demo_model.training.generate kokoro --split evaluation --words 2200   # what is kept out

Clip number n of a shard depends on nothing but the names and n, so shards can be made on several machines or cores.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from random import Random

import numpy as np

from .nonspeech import NONSPEECH
from .speech import ENGINES, Engine
from .storage import SAMPLE_RATE, Clip, Sentence, Shard, data_root, read_manifest
from .text import Grammar, plain_words

#: Clips outside this range of seconds are made anew from the next number.
SHORTEST, LONGEST = 0.3, 20.0

ClipMaker = Callable[[Random], Clip | None]


def spoken(engine: Engine, grammar: Grammar) -> ClipMaker:
    """A maker of clips in which one speaker says one to six sentences, with pauses between and silence around them."""

    def make(random: Random) -> Clip | None:
        speaker = engine.speaker(random)
        pieces, sentences = [silence(random.uniform(0.02, 0.35))], []
        for text in grammar.clip(random):
            said = trimmed(speaker.say(text))
            if said is None:
                return None
            if sentences:
                pieces.append(silence(random.uniform(0.12, 0.9)))
            start = sum(map(len, pieces)) / SAMPLE_RATE
            sentences.append(Sentence(text, round(start, 3), round(start + len(said) / SAMPLE_RATE, 3)))
            pieces.append(said)
        samples = np.concatenate([*pieces, silence(random.uniform(0.05, 0.4))])
        return Clip(samples * random.uniform(0.4, 0.9), speaker.name, sentences)

    return make


def trimmed(samples: np.ndarray, threshold: float = 0.01, margin: int = 160) -> np.ndarray | None:
    """Speech without the silence around it and with a peak of 1; None where there is none."""
    level = np.abs(samples)
    if not level.size or level.max() < 1e-3:
        return None
    loud = np.flatnonzero(level > threshold * level.max())
    return samples[max(0, loud[0] - margin) : loud[-1] + margin] / level.max()


def silence(seconds: float) -> np.ndarray:
    """Zeros; noise comes with the augmentation."""
    return np.zeros(round(seconds * SAMPLE_RATE), np.float32)


def clip_maker(source: str, split: str) -> ClipMaker:
    """The maker of a source by name: an engine of speech, or a kind of sound with empty text."""
    if source in NONSPEECH:
        return NONSPEECH[source]()
    return spoken(ENGINES[source](split == "evaluation"), Grammar(split))


def main() -> None:
    """Fill one shard up to the hours or words wanted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", choices=[*ENGINES, *NONSPEECH])
    parser.add_argument("--split", choices=["training", "evaluation"], default="training")
    parser.add_argument("--shard", type=int, default=0)
    parser.add_argument("--hours", type=float, default=1.0, help="audio the shard shall hold")
    parser.add_argument("--words", type=int, default=0, help="words the shard shall hold, instead of hours")
    arguments = parser.parse_args()
    name = f"{arguments.source}-{arguments.split}-{arguments.shard:03d}"
    shard = Shard(data_root() / "speech" / name)
    make = clip_maker(arguments.source, arguments.split)
    words = sum(len(plain_words(row["text"])) for row in read_manifest(shard.manifest))
    began, before, index = time.monotonic(), shard.seconds, shard.next_index

    while words < arguments.words if arguments.words else shard.seconds < arguments.hours * 3600:
        clip = make(Random(f"{name} {index}"))
        if clip and SHORTEST <= clip.duration <= LONGEST:
            shard.add(clip, index)
            words += len(plain_words(clip.text))
        index += 1
        if index % 100 == 0:
            speed = (shard.seconds - before) / (time.monotonic() - began)
            print(
                f"{name}: {index} clips, {shard.seconds / 3600:.2f} h, {words} words, {speed:.1f} x real time",
                flush=True,
            )


if __name__ == "__main__":
    main()
