"""Comma-separated values, RFC 4180: a token (or word, or sentence) a row, times in seconds as they are."""

from __future__ import annotations

import csv
import io
import math

from asr_core.alignment import Transcript
from asr_core.formats.layout import one_tier

TIERS = ("tokens", "words", "sentences")


def render(transcript: Transcript, tier: str | None, name: str) -> str:
    """The file, with a head row. Text keeps the space at a token's front; an unknown log-prob is empty."""
    tier = one_tier(TIERS, tier)
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\r\n")
    rows.writerow(["start", "end", "text", "confidence", *(["id", "log_prob"] if tier == "tokens" else [])])
    for item in getattr(transcript, tier):
        row = [f"{item.start:.3f}", f"{item.end:.3f}", item.text, f"{item.confidence:.6f}"]
        if tier == "tokens":
            row += [item.id, f"{item.log_prob:.6f}" if math.isfinite(item.log_prob) else ""]
        rows.writerow(row)
    return out.getvalue()
