"""What was really said, as the person gives it, and how far each decoder is from it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import asr_core
from asr_core import formats
from asr_core.annotation.conversion import INTERPOLATED
from asr_core.formats.txt import UNTIMED
from components.documents import file_name
from components.trials import Reference, Trial
from components.uploads import uploaded_file

#: Characters of a text that was pasted; an hour of speech has some 60,000.
MOST_TEXT = 1_000_000


def reference_of(given: Any) -> Reference | None:
    """The reference that the page sends: {text}, or {path, name} of a file that was uploaded; None to remove it.

    Raises:
        FormatError: a text that is too long, or a file that cannot be read.
    """
    match given:
        case None:
            return None
        case {"text": str(text)}:
            return _pasted(text)
        case {"path": path, "name": name}:
            return _from_file(uploaded_file(path), name)
    raise asr_core.FormatError("The page sent a reference that is not known here. Load the page again.")


def _pasted(text: str) -> Reference | None:
    if len(text) > MOST_TEXT:
        raise asr_core.FormatError(f"The text has {len(text):,} characters; up to {MOST_TEXT:,} are taken. Shorten it.")
    nan = float("nan")
    words = tuple(asr_core.Word(word, 0.0, 0.0, nan, ()) for word in text.split())
    return Reference(asr_core.Transcript(text=text, words=words)) if words else None


def _from_file(file: Path | None, name: Any) -> Reference:
    if file is None:
        raise asr_core.FormatError("The file did not arrive. Choose it again.")
    called = file_name(name if isinstance(name, str) and name.strip() else file.name)
    # The core's messages name the file, so it gets the name that the person knows.
    named = file.rename(file.with_name(called))
    try:
        transcript = formats.read(named).transcript()
    finally:
        named.unlink(missing_ok=True)
    if not transcript.words:
        raise asr_core.FormatError(f"{called} holds no words. Choose a file with the text that was said.")
    timed = not {INTERPOLATED, UNTIMED} & set(transcript.warnings)
    return Reference(transcript, called, timed)


def normalization_of(case: Any, punctuation: Any) -> asr_core.Normalization:
    return asr_core.Normalization(ignore_case=case is True, ignore_punctuation=punctuation is True)


def measured(trial: Trial) -> dict[str, Any] | None:
    """How far each decoder is from the reference; None without one."""
    reference, how = trial.reference, trial.normalization
    if reference is None:
        return None
    return {
        "name": reference.name,
        "text": "" if reference.name else reference.transcript.text,
        "words": len(reference.transcript.words),
        "timed": reference.timed,
        "results": [_measured(reference, column.shown, how) for column in trial.columns],
    }


def _measured(reference: Reference, heard: asr_core.Transcript, how: asr_core.Normalization) -> dict[str, Any]:
    words = asr_core.word_error_rate(reference.words, heard, normalization=how)
    result: dict[str, Any] = {
        "wer": words.rate,
        "substitutions": words.substitutions,
        "insertions": words.insertions,
        "deletions": words.deletions,
        "cer": asr_core.character_error_rate(reference.words, heard.text, normalization=how),
        "boundaries": None,
    }
    if reference.timed:
        report = asr_core.boundary_errors(how.transcript(reference.transcript), how.transcript(heard))
        if report.pairs:
            result["boundaries"] = {
                "mean": report.mean,
                "median": report.median,
                "within": [report.within_20ms, report.within_50ms, report.within_80ms],
                "words": report.pairs,
            }
    return result
