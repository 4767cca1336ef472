"""How the page says lengths, times and amounts: plain words, short."""

from __future__ import annotations

import math
from collections.abc import Sequence

from asr_core.alignment import Transcript
from asr_core.whisper.languages import NAMES


def length(seconds: float) -> str:
    """Such as "18.6 s", "12 min 5 s", "1 h 3 min"."""
    if not math.isfinite(seconds):
        return "unknown length"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    if seconds < 3599.5:
        minutes, rest = divmod(round(seconds), 60)
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def hours(minutes: float) -> str:
    """A limit in words: "2 hours", "90 minutes"."""
    if minutes >= 60 and minutes % 60 == 0:
        return _count(minutes / 60, "hour")
    return _count(minutes, "minute")


def rate(hertz: int) -> str:
    """Such as "16 kHz", "44.1 kHz"."""
    return f"{hertz / 1000:g} kHz"


def channels(count: int) -> str:
    return {1: "mono", 2: "stereo"}.get(count, f"{count} channels")


def time_left(seconds: float) -> str:
    """Such as "about 40 s left", in steps that do not flicker."""
    if seconds < 8:
        return "a few seconds left"
    if seconds < 90:
        return f"about {max(10, round(seconds / 10) * 10)} s left"
    return f"about {max(2, round(seconds / 60))} min left"


def place(seconds: float, total: float) -> str:
    """Where in a recording: "minute 12" of a long one, "second 41" of a short one."""
    if total < 120:
        return f"second {math.ceil(seconds)}"
    return f"minute {max(1, math.ceil(seconds / 60))}"


def whole(total: float) -> str:
    """The number that goes with `place`."""
    return f"{math.ceil(total)}" if total < 120 else f"{math.ceil(total / 60)}"


def speed(seconds: float, duration: float) -> str:
    """Such as "Done in 0.9 s, 20 times faster than real time"."""
    text = f"Done in {length(max(seconds, 0.05))}"
    factor = duration / max(seconds, 1e-3)
    if factor >= 1.95:
        return f"{text}, {factor:.0f} times faster than real time"
    return f"{text}, {factor:.1f} times real time" if duration else text


def megabytes(count: float) -> str:
    return f"{count / 1e6:.1f} MB" if count < 1e8 else f"{count / 1e6:.0f} MB"


def ending(text: str, most: int) -> str:
    """The last `most` characters of a text, from a word's start where there is one; all of one that is shorter."""
    if len(text) <= most:
        return text
    end = text[-most:]
    cut = 0 if text[-most - 1].isspace() else end.find(" ") + 1
    return f"… {end[cut:].lstrip()}"


def too_long(name: str, seconds: float, limit: float) -> str:
    """The refusal of a recording above the host's limit."""
    return f"{name} is {length(seconds)} long; recordings up to {hours(limit / 60)} are taken here. Cut it first."


def _count(number: float, unit: str) -> str:
    return f"{number:g} {unit}{'' if number == 1 else 's'}"


def spoken(transcript: Transcript, languages: Sequence[str]) -> str:
    """The language of a recording: "German", "German, detected", "German into English"; "" where only one is known.

    Args:
        languages: codes of those that the model knows.
    """
    if len(languages) < 2 or transcript.language is None:
        return ""
    name, options = NAMES.get(transcript.language, transcript.language), getattr(transcript.decoding, "whisper", None)
    detected = "" if options is not None and options.language else ", detected"
    translated = " into English" if options is not None and options.task == "translate" else ""
    return f"{name}{translated}{detected}"
