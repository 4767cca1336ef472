"""The store: nothing acknowledged is lost, everything can be taken back, nobody overwrites silently."""

from __future__ import annotations

import io
import os
import random
import signal
import sqlite3
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from asr_core import StoreError, formats
from asr_core.annotation import Audio, Document, Segment, Tier, edits
from asr_core.annotation.entries import ConflictError, Limits
from asr_core.annotation.store import Store
from tests.conftest import SAMPLES
from tests.unit.test_edits import document

CLIP = SAMPLES / "meeting-date.flac"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def written(made: Document) -> str:
    out = io.StringIO()
    formats.write(made, out, format="json")
    return out.getvalue()


def say(text: str):
    return lambda made: edits.set_text(made, 1, text)


def test_an_edit_is_there_after_a_restart_and_can_be_undone(store: Store) -> None:
    start = document()
    entry = store.add(start, name="a", audio=CLIP)
    for i, text in enumerate(("party", "feast", "dance")):
        entry = store.edit(entry.id, i, say(text), f"change to {text}")
    assert (entry.revision, entry.undo, entry.redo) == (3, "change to dance", None)
    store.close()
    again = Store(store.folder)
    made, revision = again.load(entry.id)
    assert revision == 3 and made.segment(1).text == "dance"
    for revision, text in ((3, "feast"), (4, "party"), (5, "meeting")):
        entry = again.undo(entry.id, revision)
        assert again.load(entry.id)[0].segment(1).text == text
    assert entry.undo is None and entry.redo == "change to party"
    assert again.load(entry.id)[0].tiers == start.tiers
    with pytest.raises(StoreError, match="nothing to undo"):
        again.undo(entry.id, 6)
    entry = again.redo(entry.id, 6)
    entry = again.edit(entry.id, 7, say("ball"), "change to ball")
    assert entry.redo is None
    with pytest.raises(StoreError, match="nothing to redo"):
        again.redo(entry.id, 8)
    assert [line.kind for line in again.log(entry.id)] == ["edit"] * 3 + ["undo"] * 3 + ["redo", "edit"]
    again.check()


def test_two_windows_cannot_overwrite_each_other(store: Store) -> None:
    entry = store.add(document(), name="a")
    store.edit(entry.id, 0, say("party"), "x")
    for step in (lambda: store.edit(entry.id, 0, say("feast"), "y"), lambda: store.undo(entry.id, 0)):
        with pytest.raises(ConflictError, match="another window") as caught:
            step()
        assert caught.value.revision == 1
    assert store.load(entry.id)[0].segment(1).text == "party"


def test_a_refused_edit_leaves_everything_as_it_was(store: Store) -> None:
    entry = store.add(document(), name="a")
    with pytest.raises(edits.DocumentError):
        store.edit(entry.id, 0, lambda made: edits.move_boundary(made, 0, "end", 99), "x")
    assert store.edit(entry.id, 0, lambda made: made, "nothing").revision == 0
    assert store.log(entry.id) == []


def test_any_version_comes_back_across_snapshots(store: Store) -> None:
    entry, versions = store.add(document(), name="a"), []
    for i in range(230):
        versions.append(written(store.load(entry.id)[0]))
        entry = store.edit(entry.id, i, say(f"word{i}"), "x")
    store._cache.clear()
    for i in (0, 1, 99, 100, 101, 229):
        assert written(store.version(entry.id, i)) == versions[i]
    entry = store.restore(entry.id, 230, 5)
    made, before = store.load(entry.id)[0], store.version(entry.id, 230)
    # The content of that version, with the ids that were given out since still given out.
    assert made.next_id == before.next_id > store.version(entry.id, 5).next_id
    assert written(replace(made, next_id=store.version(entry.id, 5).next_id)) == versions[5]
    assert entry.undo == "return to version 5"
    assert store.undo(entry.id, 231).revision == 232
    assert store.load(entry.id)[0].segment(1).text == "word229"
    with pytest.raises(StoreError, match="revisions 0 to"):
        store.version(entry.id, 999)


def test_a_recording_is_kept_once_and_goes_with_its_last_document(store: Store) -> None:
    a, b = (store.add(document(), name=name, audio=CLIP) for name in "ab")
    assert a.sha256 == b.sha256 and len(list(store.recordings.iterdir())) == 1
    assert store.audio(a.id).read_bytes() == CLIP.read_bytes()
    store.delete(a.id)
    assert store.audio(b.id).is_file()
    store.delete(b.id)
    assert list(store.recordings.iterdir()) == [] and store.entries() == []
    with pytest.raises(StoreError, match="no such document"):
        store.load(a.id)


def test_workspaces_and_limits(tmp_path: Path) -> None:
    store = Store(tmp_path, limits=Limits(documents=2, recording_bytes=10**6, total_bytes=100_000))
    mine = store.add(document(), name="a", workspace="mine")
    store.add(document(), name="b", workspace="yours")
    assert [entry.name for entry in store.entries("mine")] == ["a"] and store.entries() == []
    with pytest.raises(StoreError, match="no such document"):
        store.entry(mine.id, workspace="yours")
    store.add(document(), name="c", workspace="mine")
    with pytest.raises(StoreError, match="all it may"):
        store.add(document(), name="d", workspace="mine")
    large = tmp_path / "large.wav"
    large.write_bytes(bytes(2 * 10**6))
    with pytest.raises(StoreError, match="at most"):
        store.add(document(), name="e", audio=large)
    large.write_bytes(bytes(200_000))
    with pytest.raises(StoreError, match="full"):
        store.add(document(), name="e", audio=large)
    with pytest.raises(StoreError, match="cannot be read"):
        store.add(document(), name="e", audio=tmp_path / "nothing.wav")


def test_a_backup_opens(store: Store, tmp_path: Path) -> None:
    entry = store.add(document(), name="a", audio=CLIP)
    store.edit(entry.id, 0, say("party"), "x")
    copy = Store(store.backup(tmp_path / "copy"))
    assert copy.load(entry.id)[0].segment(1).text == "party" and copy.audio(entry.id).is_file()
    with pytest.raises(StoreError, match="there already"):
        store.backup(tmp_path / "copy")


def test_what_cannot_be_opened_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match="cannot be opened"):
        Store(tmp_path / "file")
    folder = tmp_path / "damaged"
    folder.mkdir()
    (folder / "documents.sqlite").write_bytes(b"this is no database" * 100)
    with pytest.raises(StoreError, match="cannot be opened"):
        Store(folder)
    newer = Store(tmp_path / "newer")
    newer.close()
    with sqlite3.connect(tmp_path / "newer" / "documents.sqlite") as database:
        database.execute("PRAGMA user_version = 99")
    with pytest.raises(StoreError, match="newer version"):
        Store(tmp_path / "newer")


def test_a_list_counts_what_is_below_any_threshold(store: Store) -> None:
    sure = (0.29, 0.3, 0.57, 0.58, 0.5999999, 0.6, 1.0, None)
    words = tuple(Segment(i, "x", i, i + 1, confidence) for i, confidence in enumerate(sure))
    doubted = Document(Audio(duration=9), (Tier("words", "words", words),))
    for kind in ("words", "sentences"):
        made = replace(doubted, tiers=(Tier(kind, kind, words),))
        doubts = store.add(made, name="a").doubts
        for hundredth in range(101):
            below = sum(one is not None and one < hundredth / 100 for one in sure)
            assert sum(count for at, count in doubts if at < hundredth) == below, hundredth
    entry = store.edit(store.add(doubted, name="b").id, 0, lambda made: edits.accept(made, [0, 3]), "x")
    assert entry.below == 3 and [at for at, _ in entry.doubts] == [30, 57, 59, 60, 100]


def test_a_store_of_the_first_version_is_brought_up_to_date(store: Store) -> None:
    entry = store.add(document(), name="a")
    store.edit(entry.id, 0, say("party"), "x")
    kept = store.entry(entry.id)
    store.close()
    with sqlite3.connect(store.folder / "documents.sqlite") as database:
        database.execute("ALTER TABLE log DROP COLUMN ticket")
        database.execute("UPDATE documents SET summary = json_remove(summary, '$.doubts')")
        database.execute("PRAGMA user_version = 1")
    database.close()
    again = Store(store.folder)
    assert again.entry(entry.id).doubts is None and again.entries() == [kept]
    again.undo(entry.id, 1, ticket="a-ticket")
    assert again.was_made(entry.id, 1, "a-ticket") and not again.was_made(entry.id, 0, "")


def test_many_threads_edit_one_document(store: Store) -> None:
    entry = store.add(document(), name="a")

    def work(text: str) -> None:
        for i in range(10):
            while True:
                try:
                    store.edit(entry.id, store.load(entry.id)[1], say(f"{text}{i}"), "x")
                    break
                except ConflictError:
                    continue

    threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.load(entry.id)[1] == 40
    assert written(store.version(entry.id, 40)) == written(store.load(entry.id)[0])


def edit_without_end(folder: Path, id: str, out: int) -> None:
    """Edits and undos; each is reported once it is acknowledged."""
    store = Store(folder)
    revision = store.load(id)[1]
    while True:
        if revision % 5 == 4:
            store.undo(id, revision)
        else:
            store.edit(id, revision, say(f"word{revision}"), "edit")
        revision += 1
        os.write(out, f"{revision} {store.load(id)[0].segment(1).text}\n".encode())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL")
def test_a_kill_at_any_moment_loses_nothing_acknowledged(store: Store) -> None:
    entry = store.add(document(), name="a")
    store.close()
    pick = random.Random(7)
    for run in range(200):
        here, there = os.pipe()
        child = os.fork()
        if child == 0:
            edit_without_end(store.folder, entry.id, there)
        os.close(there)
        with os.fdopen(here) as said:
            first = said.readline()
            time.sleep(pick.uniform(0, 0.03))
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            lines = (first + said.read()).splitlines()
        revision, text = lines[-1].split()
        again = Store(store.folder)
        made, now = again.load(entry.id)
        assert now in (int(revision), int(revision) + 1)
        acknowledged = made if now == int(revision) else again.version(entry.id, int(revision))
        assert acknowledged.segment(1).text == text
        if run % 20 == 0:
            again.check()
        again.close()
    again = Store(store.folder)
    again.check()
    assert [line.revision for line in again.log(entry.id)] == list(range(1, again.load(entry.id)[1] + 1))
