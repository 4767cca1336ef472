"""Whether the confidence of a model's words can be believed: how far right and wrong ones lie apart, by measure.

Usage: python -m tests.bench.confidence MANIFEST [MODEL], where MANIFEST is a JSON list of {"audio_filepath", "text"},
the files beside it, and MODEL as for `load_model` (whisper-tiny.en). How a word is written counts for nothing.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import asr_core
from asr_core import Confidence, Greedy, Normalization, Transcript
from asr_core.calibration import reliability
from asr_core.metrics import align_words

#: Below this the page asks a person to check a word.
THRESHOLD = 0.6
MEASURES = (
    Confidence(),
    Confidence(aggregation="mean"),
    Confidence(method="renyi"),
    Confidence(method="gibbs", alpha=1.0),
    Confidence(method="max_prob", alpha=1.0),
)
PLAIN = Normalization(ignore_case=True, ignore_punctuation=True)
_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_FORMS = {"mr": "mister", "cannot": "can not", "i'm": "i am", "that's": "that is", "voicemail": "voice mail"}
SPOKEN = _FORMS | {str(number): word for number, word in enumerate(_NUMBERS)}


def spoken(word: str) -> Iterator[str]:
    """What is said for a written word: "VoiceMail" is two words, "10" one."""
    for part in re.split(r"[\s-]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", word)):
        plain = PLAIN.word(part)
        yield from SPOKEN.get(plain, plain).split()


def right(transcript: Transcript, text: str) -> list[bool]:
    """Of each word that says something, whether all of it stands in the text there."""
    heard = [(place, part) for place, word in enumerate(transcript.words) for part in spoken(word.text)]
    wanted = [part for word in text.split() for part in spoken(word)]
    pairs = align_words(wanted, [part for _, part in heard])
    found = {j for i, j in pairs if i is not None and j is not None and wanted[i] == heard[j][1]}
    wrong = {place for j, (place, _) in enumerate(heard) if j not in found}
    return [place not in wrong for place in sorted({place for place, _ in heard})]


def main() -> None:
    """Print a line a measure."""
    manifest, model = Path(sys.argv[1]), (sys.argv[2:] or ["whisper-tiny.en"])[0]
    recognizer = asr_core.load_model(model)
    sure: list[list[float]] = [[] for _ in MEASURES]
    correct: list[bool] = []
    for row in json.loads(manifest.read_text("utf-8")):
        made = recognizer.decode_all(manifest.parent / row["audio_filepath"], [Greedy(confidence=c) for c in MEASURES])
        correct += right(made[0], row["text"])
        for values, transcript in zip(sure, made, strict=True):
            values += [word.confidence for word in transcript.words if any(spoken(word.text))]
    truth = np.array(correct)
    print(
        f"{model}: {truth.size} words, {(~truth).sum()} of them wrong. AUC: of the ROC curve; ECE: calibration error."
    )
    print(f"{'measure':44} {'AUC':>6} {'ECE':>6}  right and wrong words below {THRESHOLD}")
    for options, values in zip(MEASURES, sure, strict=True):
        found, below = reliability(values, correct), np.array(values) < THRESHOLD
        name = f"{options.method}, {options.norm}, alpha {options.alpha:g}, {options.aggregation}"
        print(f"{name:44} {found.auc:6.3f} {found.ece:6.3f}  {below[truth].mean():.1%}, {below[~truth].mean():.1%}")


if __name__ == "__main__":
    main()
