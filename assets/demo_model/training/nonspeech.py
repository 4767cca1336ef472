"""Sounds with empty text: noise, hum, clicks, music, silence, and people who speak another language.

Each kind is a factory of a clip maker, a function from a random generator to a clip, as in generate.py.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy as np

from .storage import SAMPLE_RATE, Clip

SHORTEST, LONGEST = 0.6, 12.0


def noise(size: int, generator: np.random.Generator) -> np.ndarray:
    """Noise with a power that falls with frequency like f^-a, a from 0 (white) to 2 (brown), slowly swelling."""
    spectrum = np.fft.rfft(generator.normal(size=size))
    spectrum *= np.maximum(1, np.arange(len(spectrum))) ** -generator.uniform(0, 1)
    time = np.arange(size) / SAMPLE_RATE
    swell = 1 + generator.uniform(0, 0.9) * np.sin(2 * np.pi * generator.uniform(0.05, 3) * time)
    return np.fft.irfft(spectrum, size) * swell


def hum(size: int, generator: np.random.Generator) -> np.ndarray:
    """Mains or a motor: harmonics of a low tone, over a little noise."""
    time = np.arange(size) / SAMPLE_RATE
    tone = generator.choice([50.0, 60.0, generator.uniform(40, 200)])
    harmonics = sum(
        generator.uniform(0, 1) / n * np.sin(2 * np.pi * tone * n * time + generator.uniform(0, 6.28))
        for n in range(1, 12)
    )
    return harmonics + 0.1 * generator.normal(size=size)


def clicks(size: int, generator: np.random.Generator) -> np.ndarray:
    """Knocks, keys and bangs: short bursts of noise that die away."""
    sound = 0.002 * generator.normal(size=size)
    for start in generator.integers(0, size, generator.integers(1, 3 + size // 4000)):
        length = min(size - start, int(generator.uniform(0.003, 0.2) * SAMPLE_RATE))
        decay = np.exp(-np.arange(length) / max(1.0, length / 4))
        sound[start : start + length] += generator.uniform(0.1, 1) * generator.normal(size=length) * decay
    return sound


def music(size: int, generator: np.random.Generator) -> np.ndarray:
    """Plucked notes of a scale, in one to three voices."""
    sound = np.zeros(size)
    scale = 220 * 2 ** (np.array([0, 2, 4, 5, 7, 9, 11, 12]) / 12) * 2 ** generator.uniform(-1, 1)
    for _ in range(generator.integers(1, 4)):
        start = 0
        while start < size:
            length = int(generator.uniform(0.1, 0.8) * SAMPLE_RATE)
            time = np.arange(min(length, size - start)) / SAMPLE_RATE
            tone = generator.choice(scale) * generator.choice([0.5, 1, 2])
            note = sum(np.sin(2 * np.pi * tone * n * time) / n for n in range(1, 6))
            sound[start : start + len(time)] += note * np.exp(-time * generator.uniform(1, 8))
            start += length
    return sound


def silence(size: int, generator: np.random.Generator) -> np.ndarray:
    """A quiet room, or digital zero."""
    return generator.normal(size=size) * generator.choice([0.0, 1.0])


KINDS = {"noise": noise, "hum": hum, "clicks": clicks, "music": music, "silence": silence}


def nonspeech() -> Callable[[Random], Clip]:
    """A maker of clips of one kind of sound each, at any level."""

    def make(random: Random) -> Clip:
        generator = np.random.default_rng(random.getrandbits(64))
        kind = random.choice(list(KINDS))
        samples = KINDS[kind](int(random.uniform(SHORTEST, LONGEST) * SAMPLE_RATE), generator)
        level = 0.001 if kind == "silence" else 10 ** random.uniform(-2.5, -0.1)
        return Clip((samples * level / max(np.abs(samples).max(), 1e-9)).astype(np.float32), f"nonspeech-{kind}")

    return make


def foreign() -> Callable[[Random], Clip]:
    """A maker of clips of a few words of another language: the English model shall stay silent, or at least unsure."""
    from .speech import Espeak

    words = _foreign_words()
    engines = {language: Espeak(languages=(language,)) for language in words}

    def make(random: Random) -> Clip:
        language = random.choice(list(words))
        speaker = engines[language].speaker(random)
        return Clip(
            speaker.say(" ".join(random.choices(words[language], k=random.randint(2, 12)))), f"foreign-{speaker.name}"
        )

    return make


NONSPEECH: dict[str, Callable[[], Callable[[Random], Clip]]] = {"nonspeech": nonspeech, "foreign": foreign}


def _foreign_words() -> dict[str, list[str]]:
    """Language code of espeak-ng to some of its words."""
    lines = (Path(__file__).parent / "foreign_words.txt").read_text("utf-8").splitlines()
    return {code: words.split() for code, _, words in (line.partition(": ") for line in lines if ": " in line)}
