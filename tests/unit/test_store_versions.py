"""What a store promises of versions, whatever a person does: their content comes back, and no id is given out twice."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from asr_core import StoreError
from asr_core.annotation import Document, DocumentError, Tier, edits, marking
from asr_core.annotation.changes import Change
from asr_core.annotation.store import Store
from tests.unit.test_edits import document

#: What a person does: a name, two numbers from 0 to 1 that choose where, and one that chooses what.
STEPS = st.tuples(
    st.sampled_from(
        [
            *("text", "split", "merge", "insert", "delete", "copy", "move", "mark", "speaker"),
            *("remove tier", "undo", "undo", "redo", "restore", "restore"),
        ]
    ),
    st.floats(0, 1),
    st.floats(0, 1),
)
TEXTS = ("party", "two words", "ü 😀 שלום", "x")
NAMES = ("marks", "speakers", "other", "another")


def content(made: Document) -> Document:
    """All that a document says; which id comes next is left out."""
    return replace(made, next_id=0)


def pick(options, share: float):
    return options[min(int(share * len(options)), len(options) - 1)]


def edit_of(now: Document, name: str, a: float, b: float):
    """The edit of that name somewhere in a document, or None where nothing is left to be edited."""
    segments = [segment for tier in now.tiers for segment in tier.segments]
    start, end = 3.9 * min(a, b), 3.9 * max(a, b) + 0.05
    if name in ("mark", "speaker"):
        act = marking.mark if name == "mark" else marking.set_speaker
        return lambda before: act(before, start, end, pick(TEXTS, a))
    if name == "remove tier":
        return lambda before: marking.remove_tier(before, pick(before.tiers, a).name)
    if name == "insert":
        return lambda before: edits.insert(before, pick(before.tiers, a).name, start, end, "new")
    if not segments:
        return None
    segment = pick(segments, a)
    return {
        "text": lambda before: edits.set_text(before, segment.id, pick(TEXTS, b)),
        "split": lambda before: edits.split(before, segment.id, (segment.start + segment.end) / 2),
        "merge": lambda before: edits.merge(before, segment.id),
        "delete": lambda before: edits.delete(before, segment.id),
        "copy": lambda before: edits.copy_to(before, segment.id, pick(NAMES, b)),
        "move": lambda before: edits.copy_to(before, segment.id, pick(NAMES, b), move=True),
    }[name]


def act(store: Store, id: str, step: tuple[str, float, float]) -> None:
    """Do it; what is refused changes nothing."""
    name, a, b = step
    now, revision = store.load(id)
    try:
        if name in ("undo", "redo"):
            getattr(store, name)(id, revision)
        elif name == "restore":
            store.restore(id, revision, min(int(a * (revision + 1)), revision))
        elif (edit := edit_of(now, name, a, b)) is not None:
            store.edit(id, revision, edit, name)
    except (DocumentError, StoreError):
        assert store.load(id) == (now, revision)


@given(st.lists(STEPS, min_size=3, max_size=14))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_versions_come_back_and_ids_are_given_out_once(tmp_path_factory: pytest.TempPathFactory, steps) -> None:
    folder = tmp_path_factory.mktemp("store")
    store = Store(folder)
    id = store.add(document(), name="a").id
    versions, undone = [store.load(id)[0]], [content(store.load(id)[0])]
    for step in steps:
        before = len(versions) - 1
        act(store, id, step)
        now, revision = store.load(id)
        if revision == before:
            continue
        versions.append(now)
        name, a, _ = step
        assert now.next_id >= versions[-2].next_id, "the next id went back"
        if name == "restore":
            assert content(now) == content(versions[min(int(a * (before + 1)), before)])
        if name in ("undo", "redo", "restore"):
            assert content(now) in [content(one) for one in versions[:-1]]
        else:
            new = {s.id for t in now.tiers for s in t.segments} - {s.id for t in versions[-2].tiers for s in t.segments}
            assert all(id >= versions[-2].next_id for id in new), "an id was given out twice"
    # Until all is undone: the content of the beginning, and what was given out stays so.
    while store.entry(id).undo is not None:
        store.undo(id, store.load(id)[1])
    assert content(store.load(id)[0]) == undone[0]
    assert store.load(id)[0].next_id >= versions[-1].next_id
    last, revision = store.load(id)
    store.close()
    # What is read from the disk is what was in memory.
    again = Store(folder)
    assert again.load(id) == (last, revision)
    for number, version in enumerate(versions):
        assert again.version(id, number) == version
    again.close()


def test_an_id_that_was_undone_is_not_given_to_something_else(tmp_path: Path) -> None:
    store = Store(tmp_path)
    id = store.add(document(), name="a").id
    store.edit(id, 0, lambda made: edits.insert(made, "words", 3.2, 3.5, "first"), "x")
    first = store.load(id)[0].first("words").segments[-1].id
    store.undo(id, 1)
    store.edit(id, 2, lambda made: edits.insert(made, "words", 3.2, 3.5, "second"), "x")
    second = store.load(id)[0].first("words").segments[-1].id
    store.restore(id, 3, 0)
    store.edit(id, 4, lambda made: edits.insert(made, "words", 3.2, 3.5, "third"), "x")
    third = store.load(id)[0].first("words").segments[-1].id
    assert first < second < third


def test_tiers_come_back_in_their_order_and_kind() -> None:
    """Two tiers that go at once, and another one of a name that was there before."""
    start = document()
    both = marking.set_speaker(marking.mark(start, 0, 1, "noise"), 0, 1, "Ann")
    rich = both.with_tiers(Tier("other", "free"), Tier("late", "free"))
    turned = replace(rich, tiers=(*rich.tiers[:3], rich.tiers[6], Tier("marks", "free"), rich.tiers[4]))
    for a, b in ((start, rich), (rich, turned), (turned, start)):
        change = Change.between(a, b, "x")
        assert content(change.apply(a)) == content(b)
        assert content(change.inverse().apply(b)) == content(a)
        assert Change.from_plain(change.to_plain()) == change
