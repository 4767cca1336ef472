"""Phrases to prefer, as a person writes them: one a line, with a weight behind a colon or a tab where it is not 1."""

from __future__ import annotations

import math
import re

import asr_core

#: Longest text that is read, and the furthest a weight may be from 0.
LONGEST, LARGEST = 50_000, 100.0
#: The last colon or tab of a line; a colon between two digits belongs to the phrase: "at 10:30".
_WEIGHTED = re.compile(r"(?P<phrase>.*?)[ ]*(?:\t|(?<!\d):|:(?!\d))[ ]*(?P<weight>[^:\t]*)")


def parse_phrases(text: str) -> dict[str, float]:
    """Phrase to weight, in the order of the lines; empty lines are left out.

    Raises:
        DecodingError: names the line that is no phrase, or that says another weight for a phrase above it.
    """
    if len(text) > LONGEST:
        raise asr_core.DecodingError(f"The phrases have {len(text):,} characters; up to {LONGEST:,} are taken.")
    weights: dict[str, float] = {}
    lines: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        phrase, weight = _parse(line.strip(" "), number)
        if weights.setdefault(phrase, weight) != weight:
            raise asr_core.DecodingError(
                f"Line {number} of the phrases gives {phrase!r} the weight {weight:g}, but line {lines[phrase]} gives "
                f"it {weights[phrase]:g}. Keep one of them."
            )
        lines.setdefault(phrase, number)
    return weights


def _parse(line: str, number: int) -> tuple[str, float]:
    """One line, which is not empty."""
    found = _WEIGHTED.fullmatch(line)
    if found is None:
        return line.strip(), 1.0
    phrase, given = found["phrase"].strip(), found["weight"].strip()
    shown = line if len(line) <= 60 else f"{line[:59]}…"
    if not phrase:
        raise asr_core.DecodingError(f"Line {number} of the phrases, {shown!r}, has no phrase before its weight.")
    try:
        weight = float(given)
    except ValueError:
        weight = math.nan
    if not abs(weight) <= LARGEST:
        raise asr_core.DecodingError(
            f"Line {number} of the phrases, {shown!r}, has no weight behind its colon. Write the phrase alone, or with "
            f"a number from -{LARGEST:g} to {LARGEST:g}: tokenscope: 2.5."
        )
    return phrase, weight
