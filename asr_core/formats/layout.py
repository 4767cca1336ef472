"""What writers share: the tier that is meant, whole milliseconds, text on one line."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from asr_core import checks
from asr_core.alignment import Transcript
from asr_core.annotation.document import Document
from asr_core.annotation.segments import DocumentError, Segment, Tier
from asr_core.annotation.timing import Timed, members
from asr_core.errors import FormatError

#: What is written.
Source = Transcript | Document
#: An item with its start and end in milliseconds.
Placed = tuple[int, int, Timed]

#: Milliseconds that an item without length is given where there is room: one encoder frame of a Parakeet model.
FRAME = 80


def one_line(text: str) -> str:
    """The text without line breaks, control characters and runs of white space."""
    return " ".join("".join(" " if unicodedata.category(c) == "Cc" else c for c in text).split())


def one_tier(accepted: Sequence[str], tier: str | None) -> str:
    """The tier that is meant: the first accepted one where none is named."""
    if tier is None:
        return accepted[0]
    if not isinstance(tier, str) or tier not in accepted:
        raise FormatError(f"This format holds one of the tiers {', '.join(accepted)}, not {checks.shown(tier)}.")
    return tier


def as_document(source: Source) -> Document:
    """A transcript as a document, whose words cover its tokens. Raises FormatError where times are missing."""
    try:
        return source if isinstance(source, Document) else Document.from_transcript(source)
    except DocumentError as error:
        raise FormatError(str(error)) from error


def items(source: Source, accepted: Sequence[str], tier: str | None) -> Sequence[Timed]:
    """What a format with one tier writes.

    Args:
        accepted: the grains of a transcript that the format holds, the usual one first.
        tier: one of them, or the name of a document's tier; None = the usual one, or the next that a document has.
    """
    if isinstance(source, Transcript):
        return getattr(source, one_tier(accepted, tier))
    if tier is None:
        return next((found for kind in accepted if (found := _grain(source, kind))), ())
    named = next((one for one in source.tiers if one.name == tier), None)
    if named is None and tier not in accepted:
        names = ", ".join(dict.fromkeys((*(one.name for one in source.tiers), *accepted)))
        raise FormatError(f"This document can be written with one of the tiers {names}, not {tier!r}.")
    return labelled(named) if named else getattr(source.transcript(), tier)


def _grain(source: Document, kind: str) -> Sequence[Timed]:
    """The document's tier of that kind, or what its transcript has in place of it."""
    own = source.first(kind)
    return own.segments if own else getattr(source.transcript(), kind)


def labelled(tier: Tier) -> Sequence[Segment]:
    """The segments of a tier as files show them: turns have the name of their speaker for a text."""
    if tier.kind != "speakers":
        return tier.segments
    return [replace(segment, text=segment.text or segment.speaker or "") for segment in tier.segments]


def milliseconds(item: Timed) -> tuple[int, int]:
    """Start and end of an item, each rounded once. Raises FormatError where it has none."""
    if not (math.isfinite(item.start) and math.isfinite(item.end)):
        raise FormatError(f"{item.text[:40]!r} has no times; this format needs a start and an end of everything.")
    return round(item.start * 1000), round(item.end * 1000)


def length(source: Source) -> float:
    """Seconds of the recording; of one that is unknown, as far as the tiers go."""
    duration = source.duration if isinstance(source, Transcript) else source.audio.duration
    if duration:
        return duration
    if isinstance(source, Transcript):
        return max((item.end for item in (*source.tokens, *source.words, *source.sentences)), default=0.0)
    return max((tier.segments[-1].end for tier in source.tiers if tier.segments), default=0.0)


def sure(item: Timed) -> float | None:
    """The confidence of an item, where it is known."""
    return known(getattr(item, "confidence", None))


def known(value: float | None) -> float | None:
    """A number; None where it is none."""
    return value if value is not None and math.isfinite(value) else None


def intervals(spans: Iterable[tuple[float, float]], duration: float) -> list[tuple[int, int]]:
    """Seconds to whole milliseconds: in order, without overlap, each at least 1 ms, inside the recording.

    Seconds are rounded once. An item without length is widened to one frame, or to the next item's start. Items that
    start together (labels of one frame) share their time evenly; beside them an item without length gets 1 ms. An item
    ends where the next one starts. Only where `duration` has fewer milliseconds than items does the last end after it.
    """
    starts, ends = [], []
    for start, end in spans:
        if not (math.isfinite(start) and math.isfinite(end)):
            raise FormatError(
                f"Item {len(starts) + 1} has no times; this format needs a start and an end of everything."
            )
        starts.append(max(round(start * 1000), starts[-1] if starts else 0))
        ends.append(max(round(end * 1000), starts[-1]))
    placed: list[tuple[int, int]] = []
    first = 0
    while first < len(starts):
        last = first
        while last < len(starts) and starts[last] == starts[first]:
            last += 1
        following = starts[last] if last < len(starts) else None
        placed += _share(max(starts[first], placed[-1][1] if placed else 0), ends[first:last], following)
        first = last
    return _inside(placed, round(duration * 1000))


def timed_tiers(
    document: Document, names: Sequence[str], accepted: Sequence[str], keep: Callable[[Timed], bool] = lambda item: True
) -> dict[str, list[Placed]]:
    """The tiers of a document in milliseconds, each as `intervals` has it, words still around their tokens.

    Args:
        names, accepted: as `items` takes them.
        keep: which items are written.
    """
    found: dict[str, list[Placed]] = {}
    for name in names:
        kept = [item for item in items(document, accepted, name) if keep(item)]
        times = intervals(((item.start, item.end) for item in kept), length(document))
        found[name] = [(*span, item) for item, span in zip(kept, times, strict=True)]
    tokens, words = document.first("tokens"), document.first("words")
    if tokens and words and tokens.name in found and words.name in found:
        found[words.name] = _covering(found[words.name], found[tokens.name])
    return found


def _covering(words: list[Placed], tokens: Sequence[Placed]) -> list[Placed]:
    """Where words touch, the mark at the end of the first got a millisecond of the second: the boundary follows it."""
    ends = {id(token): end for _, end, token in tokens}
    groups = members([word for *_, word in words], [token for *_, token in tokens])
    for i in range(len(words) - 1):
        (start, end, word), (following, until, after) = words[i : i + 2]
        last = max((ends[id(token)] for token in groups[i]), default=0)
        if end == following < last < until:
            words[i], words[i + 1] = (start, last, word), (last, until, after)
    return words


def _share(start: int, ends: Sequence[int], following: int | None) -> list[tuple[int, int]]:
    """Intervals from `start` for items that begin together."""
    lasting = [end > start for end in ends]
    stop = max(ends) if any(lasting) else start + FRAME
    if following is not None:
        stop = min(stop, following)
    stop = max(stop, start + len(ends))
    sharing = sum(lasting) or len(ends)
    room = stop - start - (len(ends) - sharing)
    placed, at, shared = [], start, 0
    for lasts in lasting:
        if lasts or not any(lasting):
            width = room * (shared + 1) // sharing - room * shared // sharing
            shared += 1
        else:
            width = 1
        placed.append((at, at + width))
        at += width
    return placed


def _inside(placed: Sequence[tuple[int, int]], limit: int) -> list[tuple[int, int]]:
    """Push back from the end what stands behind it."""
    limit = max(limit, len(placed))
    moved = []
    for start, end in reversed(placed):
        end = min(end, limit)
        limit = min(start, end - 1)
        moved.append((limit, end))
    return moved[::-1]
