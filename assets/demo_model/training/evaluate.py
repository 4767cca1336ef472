"""How good a model is, measured with the app's own inference.

    python -m assets.demo_model.training.evaluate                              # the built-in model, all tables
    python -m assets.demo_model.training.evaluate --model ~/.cache/.../model --quick

Words are compared without case, punctuation and hyphens. Sets of clips are the folders of evaluation/ (voices and
sentences kept out of training, and a voice of training), and people where ../shared/speech is there.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np

import asr_core
from asr_core import Beam, Fusion, Greedy, Transcript
from asr_core.metrics import word_error_rate

from .language_model import domain_model
from .nonspeech import nonspeech
from .storage import SAMPLE_RATE
from .text import HERE, plain_words

PEOPLE = HERE.parents[3] / "shared/speech"
#: Clips of people whose words are in the domain (their texts are not in the training text).
PEOPLE_IN_DOMAIN = ("cards_", "ps_goforward", "alsa_", "librivox_austen_0880")
DEMO = HERE.parent


@dataclass(frozen=True)
class TestClip:
    """A clip, what is said in it, and when its sentences begin (seconds; empty where that is not known)."""

    __test__ = False

    path: Path
    text: str
    starts: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True)
class Heard:
    """A clip and what a model made of it."""

    clip: TestClip
    transcript: Transcript


@dataclass(frozen=True)
class Comparison:
    """Words of one clip: pairs of a reference word's place (None for an insertion) and the heard word's (or None)."""

    errors: int
    words: int
    equal: dict[int, int]


def clips_of(folder: Path) -> list[TestClip]:
    """The clips of a folder's manifest.json or manifest.jsonl."""
    manifest = next(folder.glob("manifest.json*"))
    raw = manifest.read_text("utf-8")
    rows = json.loads(raw) if manifest.suffix == ".json" else [json.loads(line) for line in raw.splitlines()]
    return [
        TestClip(
            folder / row["audio_filepath"],
            row["text"],
            tuple((sentence["text"], sentence["start"]) for sentence in row.get("sentences", ())),
        )
        for row in rows
    ]


def heard(recognizer: asr_core.Recognizer, clips: Sequence[TestClip], decoding: Greedy | Beam) -> list[Heard]:
    """Transcribe all clips."""
    transcripts = recognizer.transcribe_batch([clip.path for clip in clips], decoding=decoding)
    return [Heard(clip, transcript) for clip, transcript in zip(clips, transcripts, strict=True)]


def heard_words(transcript: Transcript) -> list[tuple[str, int]]:
    """Plain words with the place of the word of the transcript each comes from; "forty-five" gives two."""
    return [(plain, place) for place, word in enumerate(transcript.words) for plain in plain_words(word.text)]


def compared(one: Heard) -> Comparison:
    """Align the words of a clip with those heard."""
    words = heard_words(one.transcript)
    rate = word_error_rate(" ".join(plain_words(one.clip.text)), " ".join(word for word, _ in words))
    reference = hypothesis = 0
    equal = {}
    for pair in rate.alignment:
        if pair.operation == "equal":
            equal[reference] = hypothesis
        reference += pair.reference is not None
        hypothesis += pair.hypothesis is not None
    return Comparison(rate.substitutions + rate.insertions + rate.deletions, rate.words, equal)


def wer(results: Iterable[Heard]) -> float:
    """Word error rate of a set in per cent: all errors over all words."""
    comparisons = [compared(one) for one in results]
    return 100 * sum(one.errors for one in comparisons) / max(1, sum(one.words for one in comparisons))


def start_errors(results: Iterable[Heard]) -> list[float]:
    """Seconds between the known start of a sentence and the heard start of its first word, where that word is right."""
    errors = []
    for one in results:
        equal, words, place = compared(one).equal, heard_words(one.transcript), 0
        for text, start in one.clip.starts:
            if place in equal:
                errors.append(abs(one.transcript.words[words[equal[place]][1]].start - start))
            place += len(plain_words(text))
    return errors


def confidence_auc(results: Iterable[Heard]) -> float:
    """Area under the ROC curve of token confidence against whether the token's word is right."""
    right, wrong = [], []
    for one in results:
        words = heard_words(one.transcript)
        matched = set(compared(one).equal.values())
        places = {place for number, (_, place) in enumerate(words) if number not in matched}
        for place, word in enumerate(one.transcript.words):
            (wrong if place in places else right).extend(token.confidence for token in word.tokens)
    if not right or not wrong:
        return float("nan")
    order = np.array([*right, *wrong])
    ranks = (order[:, None] > order[None]).sum(1) + 0.5 * ((order[:, None] == order[None]).sum(1) + 1)
    return float((ranks[: len(right)].sum() - len(right) * (len(right) + 1) / 2) / (len(right) * len(wrong)))


def mean_confidence(results: Iterable[Heard]) -> float:
    """Mean over all tokens; NaN where nothing was written."""
    values = [token.confidence for one in results for token in one.transcript.tokens]
    return statistics.fmean(values) if values else float("nan")


def false_tokens_per_minute(recognizer: asr_core.Recognizer, minutes: float = 10.0) -> float:
    """Tokens written for `minutes` of silence, noise, hum, clicks and music."""
    make, random = nonspeech(), Random("evaluation")
    sounds: list[np.ndarray] = []
    while sum(map(len, sounds)) < minutes * 60 * SAMPLE_RATE:
        sounds.append(make(random).samples)
    tokens = sum(len(transcript.tokens) for transcript in recognizer.transcribe_batch(sounds))
    return tokens / (sum(map(len, sounds)) / SAMPLE_RATE / 60)


def evaluation_sets() -> dict[str, list[TestClip]]:
    """Name to clips, of the folders beside this file that have a manifest, and of people."""
    sets = {folder.name: clips_of(folder) for folder in sorted((HERE / "evaluation").glob("*")) if folder.is_dir()}
    if PEOPLE.exists():
        people = clips_of(PEOPLE)
        sets["people, in the domain"] = [clip for clip in people if clip.path.name.startswith(PEOPLE_IN_DOMAIN)]
        sets["people, outside it"] = [clip for clip in people if not clip.path.name.startswith(PEOPLE_IN_DOMAIN)]
    return sets


def report(
    recognizer: asr_core.Recognizer, sets: dict[str, list[TestClip]], quick: bool = False, lm_weight: float = 0.2
) -> list[str]:
    """The lines of the report; `quick` leaves out the beam searches and the sounds that are not speech."""
    decodings: dict[str, Greedy | Beam] = {"TDT": Greedy(head="tdt"), "CTC": Greedy(head="ctc")}
    if not quick:
        model = domain_model(recognizer.tokenizer.encode, len(recognizer.vocabulary))
        decodings["beam 5"] = Beam(size=5, n_best=1)
        decodings["beam 5 + LM"] = Beam(size=5, n_best=1, fusion=Fusion(lm=model, lm_weight=lm_weight))
    spoken = {name: clips for name, clips in sets.items() if any(clip.text for clip in clips)}
    lines = [
        "| speech (words wrong, %) | words | " + " | ".join(decodings) + " |",
        "|---|---" + "|---" * len(decodings) + "|",
    ]
    greedy: dict[str, list[Heard]] = {}
    for name, clips in spoken.items():
        results = {label: heard(recognizer, clips, decoding) for label, decoding in decodings.items()}
        greedy[name] = results["TDT"]
        words = sum(len(plain_words(clip.text)) for clip in clips)
        lines.append(f"| {name} | {words} | " + " | ".join(f"{wer(result):.1f}" for result in results.values()) + " |")
    lines.append("")
    for name, results in greedy.items():
        if errors := start_errors(results):
            late = f"sentence starts {1000 * statistics.median(errors):.0f} ms off (median of {len(errors)})"
            sure = f"mean {mean_confidence(results):.2f}, area under its ROC curve {confidence_auc(results):.2f}"
            lines.append(f"{name}: {late}; confidence: {sure}")
    for name, clips in sets.items():
        if name not in spoken:
            results = heard(recognizer, clips, Greedy())
            tokens = sum(len(one.transcript.tokens) for one in results)
            lines.append(
                f"{name}: mean confidence {mean_confidence(results):.2f} of {tokens} tokens in {len(clips)} clips"
            )
    if not quick:
        lines.append(f"false tokens a minute of sounds that are not speech: {false_tokens_per_minute(recognizer):.2f}")
    return lines


def main() -> None:
    """Print the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default=str(DEMO), help="anything load_model takes")
    parser.add_argument("--clips", type=Path, nargs="*", help="folders of clips instead of evaluation/ and people")
    parser.add_argument("--quick", action="store_true", help="greedy decoding only")
    parser.add_argument("--lm-weight", type=float, default=0.2)
    arguments = parser.parse_args()
    sets = {folder.name: clips_of(folder) for folder in arguments.clips} if arguments.clips else evaluation_sets()
    recognizer = asr_core.load_model(arguments.model)
    print("\n".join(report(recognizer, sets, arguments.quick, arguments.lm_weight)))


if __name__ == "__main__":
    main()
