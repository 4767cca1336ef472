"""What the page wants to do to a document, as an edit of the core with the words for "Undo …".

An operation is a mapping with "op" and its fields, all of them checked here: any client can send anything.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from asr_core.annotation import Document, DocumentError, edits, marking
from asr_core.annotation.snapping import nearest_frame, nearest_zero_crossing

#: Segments that one operation may name.
MOST = 100_000
LONGEST_TEXT = 20_000

Snap = Callable[[str, float], float]


@dataclass(frozen=True)
class Planned:
    """An edit, and what it is called after "Undo"."""

    edit: Callable[[Document], Document]
    label: str


def planned(document: Document, op: Any, snap: Snap | None = None) -> Planned:
    """The edit that an operation asks for; its first one makes a new document one that is in review.

    Args:
        snap: ("zero" or "frame", seconds) to the seconds that a boundary goes to.
    Raises:
        DocumentError: it makes no sense.
    """
    name = op.get("op") if isinstance(op, Mapping) else None
    make = OPERATIONS.get(name) if isinstance(name, str) else None
    if make is None:
        raise DocumentError("The page sent an edit that is not known here. Load the page again.")
    asked = make(document, Fields(op, snap))
    if name == "state":
        return asked

    def edit(before: Document) -> Document:
        after = asked.edit(before)
        return edits.set_state(after, "in review") if after is not before and after.state == "new" else after

    return Planned(edit, asked.label)


@dataclass(frozen=True)
class Fields:
    """The fields of an operation, each checked when it is asked for."""

    op: Mapping[str, Any]
    snap: Snap | None = None

    def whole(self, name: str) -> int:
        value = self.op.get(name)
        if not isinstance(value, int) or isinstance(value, bool):
            raise DocumentError(f"An edit's {name} is a whole number. Load the page again.")
        return value

    def seconds(self, name: str) -> float:
        value = self.op.get(name)
        if not is_number(value):
            raise DocumentError(f"An edit's {name} is a number of seconds. Load the page again.")
        return float(value)

    def text(self, name: str, longest: int = LONGEST_TEXT) -> str:
        value = self.op.get(name)
        if not isinstance(value, str) or len(value) > longest:
            raise DocumentError(f"An edit's {name} is a text of up to {longest:,} letters.")
        # What no file could hold: control characters, and halves of a pair of surrogates.
        value = value.encode("utf-8", "replace").decode("utf-8")
        return "".join(c for c in value if c in "\n\t" or c >= " ")

    def choice(self, name: str, options: tuple[str, ...]) -> str:
        value = self.op.get(name)
        if value not in options:
            raise DocumentError(f"An edit's {name} is {' or '.join(options)}. Load the page again.")
        return value

    def ids(self, name: str) -> list[int]:
        value = self.op.get(name)
        listed = isinstance(value, list) and len(value) <= MOST
        if not listed or not all(isinstance(id, int) and not isinstance(id, bool) for id in value):
            raise DocumentError(f"An edit's {name} are whole numbers. Load the page again.")
        return value

    def rows(self, name: str, kinds: tuple[type, ...]) -> list[tuple[Any, ...]]:
        """Lists of the same length whose values have these types."""
        value = self.op.get(name)
        fits = isinstance(value, list) and len(value) <= MOST and all(_fits(row, kinds) for row in value)
        if not fits:
            raise DocumentError(f"An edit's {name} are not as they should be. Load the page again.")
        return [tuple(row) for row in value]


def is_number(value: Any) -> bool:
    """Whether it is a finite number of a size that seconds may have."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e9


def _fits(row: Any, kinds: tuple[type, ...]) -> bool:
    if not isinstance(row, list) or len(row) != len(kinds):
        return False
    return all(
        is_number(value) if kind is float else isinstance(value, kind) and not isinstance(value, bool)
        for value, kind in zip(row, kinds, strict=True)
    )


def quoted(text: str) -> str:
    """A text as a label shows it."""
    text = text.strip()
    return f"“{text if len(text) <= 24 else text[:23].rstrip() + '…'}”"


def _said(document: Document, id: int) -> str:
    segment = document.segment(id)
    return quoted(segment.text or segment.speaker or "")


def _several(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _text(document: Document, given: Fields) -> Planned:
    id, text = given.whole("id"), given.text("text")
    return Planned(lambda d: edits.set_text(d, id, text), _changed(document.segment(id).text.split(), text.split()))


def _changed(before: list[str], after: list[str]) -> str:
    """What is new in a text, without the words at both ends that stay."""
    same = 0
    while same < min(len(before), len(after)) and before[same] == after[same]:
        same += 1
    before, after = before[same:], after[same:]
    while before and after and before[-1] == after[-1]:
        before, after = before[:-1], after[:-1]
    return f"new text {quoted(' '.join(after))}" if after else f"deletion of {quoted(' '.join(before))}"


def _texts(document: Document, given: Fields) -> Planned:
    pairs = dict(given.rows("texts", (int, str)))
    for id in pairs:
        document.find(id)
    label = f"replacing {quoted(given.text('what', 500))} in {_several(len(pairs), 'place')}"
    return Planned(lambda d: edits.set_texts(d, pairs), label)


def _boundary(document: Document, given: Fields) -> Planned:
    id, edge, time = given.whole("id"), given.choice("edge", ("start", "end")), given.seconds("time")
    how = "move"
    if given.op.get("snap") is not None and given.snap is not None:
        time, how = given.snap(given.choice("snap", ("zero", "frame")), time), "snap"
    return Planned(lambda d: edits.move_boundary(d, id, edge, time), f"{how} of {_said(document, id)}")


def _split(document: Document, given: Fields) -> Planned:
    id, time = given.whole("id"), given.seconds("time")
    texts = None if given.op.get("texts") is None else given.rows("texts", (str,) * 1)
    pair = None if texts is None or len(texts) != 2 else (texts[0][0].strip(), texts[1][0].strip())
    if pair is not None and not all(pair):
        raise DocumentError("Both parts have a text.")
    return Planned(lambda d: edits.split(d, id, time, pair), f"split of {_said(document, id)}")


def _merge(document: Document, given: Fields) -> Planned:
    id = given.whole("id")
    return Planned(lambda d: edits.merge(d, id), f"merge of {_said(document, id)}")


def _insert(document: Document, given: Fields) -> Planned:
    tier, text = given.text("tier", 200), given.text("text")
    start, end = given.seconds("start"), given.seconds("end")
    return Planned(lambda d: edits.insert(d, tier, start, end, text), f"insertion of {quoted(text)}")


def _delete(document: Document, given: Fields) -> Planned:
    id = given.whole("id")
    return Planned(lambda d: edits.delete(d, id), f"deletion of {_said(document, id)}")


def _copy(document: Document, given: Fields) -> Planned:
    id, tier, move = given.whole("id"), given.text("tier", 200).strip(), given.op.get("move") is True
    verb = "move" if move else "copy"
    return Planned(lambda d: edits.copy_to(d, id, tier, move=move), f"{verb} of {_said(document, id)}")


def _take(document: Document, given: Fields) -> Planned:
    id = given.whole("id")
    return Planned(lambda d: marking.take_text(d, id), f"taking of {_said(document, id)}")


def _accept(document: Document, given: Fields) -> Planned:
    ids, accepted = given.ids("ids"), given.op.get("accepted", True) is not False
    what = _said(document, ids[0]) if len(ids) == 1 else _several(len(ids), "word")
    return Planned(lambda d: edits.accept(d, ids, accepted), f"{'accepting' if accepted else 'doubting'} {what}")


def _state(document: Document, given: Fields) -> Planned:
    state = given.text("state", 20)
    return Planned(lambda d: edits.set_state(d, state), f"marking as {state}")


def _details(document: Document, given: Fields) -> Planned:
    named = [name for name in ("reviewer", "notes") if given.op.get(name) is not None]
    values = {name: given.text(name).strip() for name in named}
    return Planned(lambda d: marking.set_details(d, **values), f"new {' and '.join(named) or 'details'}")


def _retime(document: Document, given: Fields) -> Planned:
    times = given.rows("times", (int, float, float))
    return Planned(lambda d: edits.retime(d, times), f"new times of {_several(len(times), 'word')}")


def _mark(document: Document, given: Fields) -> Planned:
    start, end, text = given.seconds("start"), given.seconds("end"), given.text("text", 200)
    return Planned(lambda d: marking.mark(d, start, end, text), f"mark {quoted(text)}")


def _speaker(document: Document, given: Fields) -> Planned:
    start, end, name = given.seconds("start"), given.seconds("end"), given.text("name", 200)
    return Planned(lambda d: marking.set_speaker(d, start, end, name), f"turn of {quoted(name)}")


def _rename(document: Document, given: Fields) -> Planned:
    old, new = given.text("old", 200), given.text("new", 200)
    return Planned(lambda d: marking.rename_speaker(d, old, new), f"new name of {quoted(old)}")


def _remove_tier(document: Document, given: Fields) -> Planned:
    name = given.text("tier", 200)
    return Planned(lambda d: marking.remove_tier(d, name), f"removing the tier {quoted(name)}")


OPERATIONS: Mapping[str, Callable[[Document, Fields], Planned]] = {
    "text": _text,
    "texts": _texts,
    "boundary": _boundary,
    "split": _split,
    "merge": _merge,
    "insert": _insert,
    "delete": _delete,
    "copy": _copy,
    "take": _take,
    "accept": _accept,
    "state": _state,
    "details": _details,
    "retime": _retime,
    "mark": _mark,
    "speaker": _speaker,
    "rename": _rename,
    "remove_tier": _remove_tier,
}


def snapped(samples: Any, sample_rate: int, frame: float) -> Snap:
    """What `planned` takes: to the next zero crossing of the sound, or to the next border of the model's frames."""

    def snap(to: str, time: float) -> float:
        found = nearest_frame(time, frame) if to == "frame" else nearest_zero_crossing(samples, sample_rate, time)
        return found if math.isfinite(found) else time

    return snap
