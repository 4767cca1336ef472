"""What an edit changed: a small value that can be applied, undone, and written to a log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from asr_core.annotation.document import Document
from asr_core.annotation.segments import DocumentError, Segment, Tier

#: Fields of a document that an edit may change besides its segments.
FIELDS = ("state", "reviewer", "notes", "language", "next_id")

#: A segment and its place in its tier.
Placed = tuple[int, Segment]


@dataclass(frozen=True)
class TierChange:
    """What changed in one tier.

    Args:
        name, kind: of the tier.
        place: of the tier among all, which matters where it is made or removed as a whole.
        before: segments that are no longer there, with their places in the old tier.
        after: segments that are there now, with their places in the new tier.
        made, removed: whether the tier itself was.
    """

    name: str
    kind: str
    place: int
    before: tuple[Placed, ...]
    after: tuple[Placed, ...]
    made: bool = False
    removed: bool = False

    def inverse(self) -> TierChange:
        return replace(self, before=self.after, after=self.before, made=self.removed, removed=self.made)

    def apply(self, tier: Tier | None) -> Tier:
        """The tier as it is after the change. Raises DocumentError where it is not the one it was made for."""
        segments = list(tier.segments) if tier else []
        for place, segment in reversed(self.before):
            if place >= len(segments) or segments[place] != segment:
                raise DocumentError(f"{segment} has been changed in the meantime; load the document again.")
            del segments[place]
        for place, segment in self.after:
            segments.insert(place, segment)
        return Tier(self.name, self.kind, tuple(segments))


@dataclass(frozen=True)
class Change:
    """The difference of two versions of a document.

    Args:
        label: what a person did, for "Undo …".
        tiers: that changed.
        values: fields of the document that changed: name to (before, after). `next_id` only ever grows, also where a
            change is taken back: the history goes on to speak of segments by their ids.
        order: names of all tiers before and after, where they are others or stand otherwise.
    """

    label: str
    tiers: tuple[TierChange, ...] = ()
    values: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    order: tuple[tuple[str, ...], tuple[str, ...]] | None = None

    @classmethod
    def between(cls, before: Document, after: Document, label: str) -> Change:
        """What makes the one the other. Audio, provenance and warnings are not edited."""
        old, new = ({t.name: (i, t) for i, t in enumerate(document.tiers)} for document in (before, after))
        changed = []
        for name in dict.fromkeys((*old, *new)):
            (place, was), (now_place, now) = old.get(name, (0, None)), new.get(name, (0, None))
            if was is now:
                continue
            if was is not None and now is not None and was.kind != now.kind:  # another tier of the same name
                changed.append(TierChange(name, was.kind, place, _differences(was, None)[0], (), removed=True))
                was = None
            gone, come = _differences(was, now)
            if gone or come or was is None or now is None:
                kind, at = (was.kind, place) if now is None else (now.kind, now_place)
                changed.append(TierChange(name, kind, at, gone, come, made=was is None, removed=now is None))
        values = {
            name: (getattr(before, name), getattr(after, name))
            for name in FIELDS
            if getattr(before, name) != getattr(after, name)
        }
        names = tuple(old), tuple(new)
        return cls(label, tuple(changed), values, None if names[0] == names[1] else names)

    def __bool__(self) -> bool:
        """Whether anything changed."""
        return bool(self.tiers or self.values or self.order)

    def inverse(self) -> Change:
        """What takes it back."""
        tiers = tuple(change.inverse() for change in reversed(self.tiers))
        values = {name: (after, before) for name, (before, after) in self.values.items()}
        return Change(self.label, tiers, values, None if self.order is None else self.order[::-1])

    def apply(self, document: Document) -> Document:
        """The next version. Raises DocumentError where the document is not the one it was made for."""
        tiers = list(document.tiers)
        for change in self.tiers:
            at = next((i for i, tier in enumerate(tiers) if tier.name == change.name), None)
            if (at is None) != change.made:
                raise DocumentError(f"The tier {change.name!r} has been changed in the meantime; load it again.")
            made = change.apply(None if at is None else tiers[at])
            if at is None:
                tiers.insert(change.place, made)
            elif change.removed:
                del tiers[at]
            else:
                tiers[at] = made
        if self.order is not None:
            place = {name: i for i, name in enumerate(self.order[1])}
            tiers.sort(key=lambda tier: place.get(tier.name, len(place)))
        values = {name: after for name, (_, after) in self.values.items()}
        for name, (before, after) in self.values.items():
            if name == "next_id":
                values[name] = max(document.next_id, after)
            elif getattr(document, name) != before:
                raise DocumentError(f"The {name} of the document has been changed in the meantime; load it again.")
        return replace(document, tiers=tuple(tiers), **values)

    def to_plain(self) -> dict[str, Any]:
        """As JSON has it; what a segment does not know is left out."""
        tiers = [
            {
                "name": change.name,
                "kind": change.kind,
                "place": change.place,
                "before": [[place, _known(segment)] for place, segment in change.before],
                "after": [[place, _known(segment)] for place, segment in change.after],
                "made": change.made,
                "removed": change.removed,
            }
            for change in self.tiers
        ]
        values = {name: list(pair) for name, pair in self.values.items()}
        order = {} if self.order is None else {"order": [list(names) for names in self.order]}
        return {"label": self.label, "tiers": tiers, "values": values, **order}

    @classmethod
    def from_plain(cls, found: Mapping[str, Any]) -> Change:
        """Read what `to_plain` made."""

        def placed(pairs: list[Any]) -> tuple[Placed, ...]:
            return tuple((place, Segment(**segment)) for place, segment in pairs)

        tiers = tuple(
            TierChange(**{**tier, "before": placed(tier["before"]), "after": placed(tier["after"])})
            for tier in found["tiers"]
        )
        values = {name: tuple(pair) for name, pair in found["values"].items()}
        order = found.get("order")
        return cls(found["label"], tiers, values, None if order is None else (tuple(order[0]), tuple(order[1])))


_DEFAULTS = {one.name: one.default for one in fields(Segment)}


def _known(segment: Segment) -> dict[str, Any]:
    values = {name: getattr(segment, name) for name in _DEFAULTS}
    return {name: value for name, value in values.items() if value != _DEFAULTS[name]}


def _differences(was: Tier | None, now: Tier | None) -> tuple[tuple[Placed, ...], tuple[Placed, ...]]:
    """The segments of one version of a tier that the other lacks or has changed, each way, with their places."""
    old, new = (tier.segments if tier else () for tier in (was, now))
    # An edit changes a few neighbours: what stands before and behind them is the very same object.
    start = _same(old, new)
    end = _same(old[start:][::-1], new[start:][::-1])
    middle = old[start : len(old) - end], new[start : len(new) - end]
    return _only(*middle, start), _only(*reversed(middle), start)


def _same(old: Sequence[Segment], new: Sequence[Segment]) -> int:
    """How many segments both begin with."""
    return next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a is not b), min(len(old), len(new)))


def _only(segments: Sequence[Segment], other: Sequence[Segment], start: int) -> tuple[Placed, ...]:
    known = {segment.id: segment for segment in other}
    return tuple((i, s) for i, s in enumerate(segments, start) if (now := known.get(s.id)) is not s and now != s)
