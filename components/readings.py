"""The N-best list of a recording, as the page shows it (part "readings" of assets/readings.js)."""

from __future__ import annotations

from typing import Any, Protocol

import asr_core
from asr_core.metrics import WordPair

#: Equal words shown on each side of a difference.
CONTEXT = 2
GAP = ("gap", "…")


class HasReadings(Protocol):
    """A recording's document, or a column of a comparison."""

    transcript: asr_core.Transcript | None
    picked: int


def readings_of(document: HasReadings) -> dict[str, Any] | None:
    """The readings that a beam found, best first; None where the decoder makes no list.

    Returns:
        picked: index of the reading that is shown; exponent: a in the ranking score / (tokens + 1) ** a; per: what
        the score is divided by, in words; items: {score, rank, runs}, where runs are (kind, text) as `differences`
        makes them; note: why there is no list, or "".
    """
    best = document.transcript
    if best is None or not isinstance(best.decoding, asr_core.Beam | asr_core.Maes):
        return None
    exponent = getattr(best.decoding, "length_penalty", None)
    exponent = 1.0 if exponent is None else exponent
    items = [
        {
            "score": round(one.score, 3),
            "rank": round(one.score / _length(one, best.decoding), 4),
            "runs": differences(best, one),
        }
        for one in (best, *best.alternatives)
    ]
    per = _per(best.decoding, exponent)
    return {"picked": document.picked, "exponent": exponent, "per": per, "items": items, "note": _note(best)}


def differences(best: asr_core.Transcript, other: asr_core.Transcript) -> list[tuple[str, str]]:
    """Where a reading differs from the best one.

    Returns:
        Runs in order: "same" words around a difference, "other" words, words of the best that are "missing" here, and
        "gap" for equal words that are left out. Empty where all words are equal.
    """
    pairs = asr_core.word_error_rate(best, other).alignment
    changed = [i for i, pair in enumerate(pairs) if pair.operation != "equal"]
    near = sorted({j for i in changed for j in range(max(0, i - CONTEXT), min(len(pairs), i + CONTEXT + 1))})
    runs: list[tuple[str, str]] = []
    for before, i in zip([-1, *near], near, strict=False):
        if i > before + 1:
            runs.append(GAP)
        kind, text = _run(pairs[i])
        if runs and runs[-1][0] == kind:
            text = f"{runs.pop()[1]} {text}"
        runs.append((kind, text))
    if near and near[-1] < len(pairs) - 1:
        runs.append(GAP)
    return runs


def _length(one: asr_core.Transcript, decoding: Any) -> float:
    """What the score is divided by where readings are ranked; each family has a rule of its own."""
    tokens, exponent = len(one.tokens), getattr(decoding, "length_penalty", None)
    options = getattr(decoding, "whisper", None)
    if options is None:
        return (tokens + 1) ** (1.0 if exponent is None else exponent)
    tokens += 2 * options.timestamps  # which are not shown
    return max(1, tokens) if exponent is None else ((5 + tokens) / 6) ** exponent


def _per(decoding: Any, exponent: float) -> str:
    """The same in words."""
    power = "" if exponent == 1 else f" to the power of {exponent:g}"
    if getattr(decoding, "whisper", None) is None:
        return f"(tokens + 1){power}"
    return "tokens" if decoding.length_penalty is None else f"((5 + tokens) / 6){power}"


def _run(pair: WordPair) -> tuple[str, str]:
    if pair.operation == "equal":
        return "same", pair.hypothesis or ""
    return ("missing", pair.reference or "") if pair.hypothesis is None else ("other", pair.hypothesis)


def _note(best: asr_core.Transcript) -> str:
    if best.cuts:
        pieces = len(best.cuts) + 1
        return f"This recording was heard in {pieces} pieces; only the best reading of each is kept."
    return "" if best.alternatives else "The search kept no other reading."
