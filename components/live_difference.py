"""The live text beside what the whole recording gives: the same audio, with all of its context."""

from __future__ import annotations

import math
from typing import Any

import asr_core


def difference_of(live: asr_core.Transcript, whole: asr_core.Transcript) -> dict[str, Any]:
    """Both texts word by word.

    Returns:
        live, whole: rows of [text, kind], where kind is "same", "other" (the partner reads otherwise), "extra" (it has
        no partner) or "missing" (a slot where the partner has a word); words, differ: of the whole recording's, and how
        many of them or beside them are not the same; shift: mean seconds between the boundaries of words both have.
    """
    comparison = asr_core.compare([whole, live])
    columns: tuple[list[list[str]], list[list[str]]] = ([], [])
    for i, j in comparison.partners[0]:
        ours = None if i is None else whole.words[i].text
        theirs = None if j is None else live.words[j].text
        for column, text, partner in ((columns[0], theirs, ours), (columns[1], ours, theirs)):
            if text is None:
                column.append(["", "missing"])
            else:
                column.append([text, "extra" if partner is None else "same" if text == partner else "other"])
    summary = comparison.summaries[0]
    shift = summary.mean_shift
    return {
        "live": columns[0],
        "whole": columns[1],
        "words": summary.words,
        "differ": summary.words_differ,
        "shift": round(shift, 3) if math.isfinite(shift) else None,
    }
