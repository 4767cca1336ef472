"""Where documents are kept: one SQLite file, and the recordings beside it.

An edit is one transaction, on disk before `edit` returns (write-ahead log, synchronous FULL). The log of edits is only
appended to; undo and redo are entries of their own. A snapshot now and then keeps opening fast.
"""

from __future__ import annotations

import io
import json
import secrets
import shutil
import sqlite3
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from asr_core import formats
from asr_core.annotation.changes import Change
from asr_core.annotation.database import open_database
from asr_core.annotation.document import Document
from asr_core.annotation.entries import ENTRIES, ConflictError, Entry, Limits, LogEntry, entry_of, summary_of
from asr_core.annotation.recordings import copy_in, hashed
from asr_core.errors import AsrError, StoreError

#: Revisions between two snapshots.
SNAPSHOT_EVERY = 100
#: Documents kept in memory.
CACHED = 8


class Store:
    """Documents of one or more workspaces. Every method may be called from any thread.

    Args:
        folder: of the database and the recordings; made if it is not there.
        clock: seconds since the epoch.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        limits: Limits = Limits(),  # noqa: B008 - a frozen value
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.folder = Path(folder)
        self.recordings = self.folder / "recordings"
        self._limits, self._clock = limits, clock
        self._lock = threading.RLock()
        self._cache: OrderedDict[str, tuple[int, Document]] = OrderedDict()
        try:
            self.recordings.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"The store in {self.folder} cannot be opened: {error}.") from error
        self._database = open_database(self.folder)

    def close(self) -> None:
        """Close the database; everything acknowledged is on disk already."""
        with self._lock:
            self._database.close()

    def check(self) -> None:
        """Raise StoreError where the database is damaged."""
        with self._lock:
            found = self._database.execute("PRAGMA integrity_check").fetchone()[0]
        if found != "ok":
            raise StoreError(f"The database is damaged ({found}); restore a backup.")

    # Documents.

    def add(self, document: Document, *, name: str, audio: str | Path | None = None, workspace: str = "") -> Entry:
        """Take a document in, and its recording, which is kept once however many documents have it.

        Raises StoreError where a limit is reached, or the file cannot be read.
        """
        digest = None if audio is None else self._keep(Path(audio))
        if digest is not None:
            document = replace(document, audio=replace(document.audio, name=Path(audio).name, sha256=digest))
        key, now = secrets.token_urlsafe(18), self._clock()
        with self._transaction() as database:
            self.check_room(workspace)
            database.execute(
                "INSERT INTO documents VALUES (?, ?, ?, ?, ?, 0, 0, ?, ?, ?)",
                (key, workspace, name, digest, document.state, summary_of(document), now, now),
            )
            database.execute("INSERT INTO snapshots VALUES (?, 0, ?)", (key, _written(document)))
        self._remember(key, 0, document)
        return self.entry(key)

    def check_room(self, workspace: str = "") -> None:
        """Raise StoreError where a workspace holds all documents that it may."""
        with self._lock:
            found = self._database.execute("SELECT count(*) FROM documents WHERE workspace = ?", (workspace,))
            count = found.fetchone()[0]
        if count >= self._limits.documents:
            raise StoreError(f"This workspace holds {count} documents, all it may; delete some first.")

    def entries(self, workspace: str = "") -> list[Entry]:
        """The documents of a workspace, the last changed first."""
        with self._lock:
            rows = self._database.execute(f"{ENTRIES} WHERE d.workspace = ? ORDER BY d.changed DESC", (workspace,))
            return [self._counted(entry_of(row)) for row in rows.fetchall()]

    def entry(self, id: str, workspace: str | None = None) -> Entry:
        """One document of the list. Raises StoreError; with a workspace also where it belongs to another."""
        with self._lock:
            row = self._database.execute(f"{ENTRIES} WHERE d.id = ?", (id,)).fetchone()
            owner = self._database.execute("SELECT workspace FROM documents WHERE id = ?", (id,)).fetchone()
        if row is None or (workspace is not None and owner[0] != workspace):
            raise StoreError("There is no such document; it may have been deleted.")
        return entry_of(row)

    def unchanged_since(self, when: float) -> list[str]:
        """Ids of the documents of all workspaces that were last changed before a time, in seconds since the epoch."""
        with self._lock:
            rows = self._database.execute("SELECT id FROM documents WHERE changed < ?", (when,))
            return [id for (id,) in rows]

    def load(self, id: str) -> tuple[Document, int]:
        """A document and its revision. Raises StoreError."""
        with self._lock:
            revision = self.entry(id).revision
            kept = self._cache.get(id)
            if kept is None or kept[0] != revision:
                self._remember(id, revision, self._at(id, revision))
            self._cache.move_to_end(id)
            return self._cache[id][1], revision

    def version(self, id: str, revision: int) -> Document:
        """A document as it was at a revision. Raises StoreError."""
        with self._lock:
            if not 0 <= revision <= self.entry(id).revision:
                raise StoreError(f"This document has the revisions 0 to {self.entry(id).revision}, not {revision!r}.")
            return self._at(id, revision)

    def log(self, id: str) -> list[LogEntry]:
        """All that was done to a document, in order."""
        with self._lock:
            rows = self._database.execute(
                "SELECT revision, kind, label, at, reviewer FROM log WHERE document = ? ORDER BY revision", (id,)
            )
            return [LogEntry(*row) for row in rows]

    def change(self, id: str, revision: int) -> Change:
        """What led from the revision before to this one. Raises StoreError."""
        with self._lock:
            row = self._database.execute(
                "SELECT change FROM log WHERE document = ? AND revision = ?", (id, revision)
            ).fetchone()
        if row is None:
            raise StoreError(f"This document has no revision {revision!r} that was made by an edit.")
        return Change.from_plain(json.loads(row[0]))

    # Edits.

    def edit(
        self,
        id: str,
        revision: int,
        edit: Callable[[Document], Document],
        label: str,
        *,
        reviewer: str = "",
        ticket: str = "",
    ) -> Entry:
        """Change a document; what was undone before can then no longer be redone.

        Args:
            revision: that the edit was made for.
            edit: from the document to the next one.
            label: what it does, for "Undo …".
            ticket: a name of this one edit, kept in the log: whoever got no answer can ask whether it was made.
        Raises:
            ConflictError: the document has another revision by now. DocumentError: the edit is refused.
        """
        with self._transaction() as database:
            before, done = self._current(id, revision)
            after = edit(before)
            change = Change.between(before, after, label)
            if not change:
                return self.entry(id)
            database.execute("DELETE FROM history WHERE document = ? AND place >= ?", (id, done))
            database.execute("INSERT INTO history VALUES (?, ?, ?)", (id, done, revision + 1))
            self._write(id, revision + 1, "edit", change, after, done + 1, reviewer, ticket)
        self._remember(id, revision + 1, after)
        return self.entry(id)

    def undo(self, id: str, revision: int, *, reviewer: str = "", ticket: str = "") -> Entry:
        """Take the last edit back. Raises ConflictError, or StoreError where there is none."""
        return self._step(id, revision, "undo", reviewer, ticket)

    def redo(self, id: str, revision: int, *, reviewer: str = "", ticket: str = "") -> Entry:
        """Do again what was undone last. Raises ConflictError, or StoreError where there is nothing."""
        return self._step(id, revision, "redo", reviewer, ticket)

    def restore(self, id: str, revision: int, version: int, *, reviewer: str = "", ticket: str = "") -> Entry:
        """Go back to what an earlier version says, as an edit that can be undone.

        Ids that were given out since are not given out again.
        """
        earlier, label = self.version(id, version), f"return to version {version}"
        return self.edit(id, revision, lambda now: _as_it_was(earlier, now), label, reviewer=reviewer, ticket=ticket)

    def was_made(self, id: str, revision: int, ticket: str) -> bool:
        """Whether the edit with this ticket is the one that led from a revision to the next; also after a restart."""
        with self._lock:
            row = self._database.execute(
                "SELECT ticket FROM log WHERE document = ? AND revision = ?", (id, revision + 1)
            ).fetchone()
        return bool(ticket) and row is not None and row[0] == ticket

    def rename(self, id: str, name: str) -> Entry:
        """Call a document something else."""
        with self._transaction() as database:
            self.entry(id)
            database.execute("UPDATE documents SET name = ? WHERE id = ?", (name, id))
        return self.entry(id)

    def delete(self, id: str) -> None:
        """Delete a document with its log; its recording goes with the last document that has it."""
        with self._transaction() as database:
            digest = self.entry(id).sha256
            database.execute("DELETE FROM documents WHERE id = ?", (id,))
            still = database.execute("SELECT 1 FROM documents WHERE sha256 = ?", (digest,)).fetchone()
            if digest is not None and still is None:
                database.execute("DELETE FROM recordings WHERE sha256 = ?", (digest,))
        self._cache.pop(id, None)
        if digest is not None and still is None:
            for path in self.recordings.glob(f"{digest}*"):
                path.unlink(missing_ok=True)

    def audio(self, id: str) -> Path | None:
        """The recording of a document; None where it has none. Raises StoreError where the file has gone."""
        digest = self.entry(id).sha256
        if digest is None:
            return None
        path = next(self.recordings.glob(f"{digest}*"), None)
        if path is None:
            raise StoreError("The recording of this document is no longer in the store's folder.")
        return path

    def backup(self, target: str | Path) -> Path:
        """Copy database and recordings into a new folder while the store is in use. Raises StoreError."""
        target = Path(target)
        try:
            target.mkdir(parents=True)
            with self._lock:
                copy = sqlite3.connect(target / "documents.sqlite")
                with copy:
                    self._database.backup(copy)
                copy.close()
            shutil.copytree(self.recordings, target / "recordings")
        except FileExistsError:
            raise StoreError(f"{target} is there already; name a folder that is not.") from None
        except (OSError, sqlite3.Error) as error:
            raise StoreError(f"The backup to {target} failed: {error}.") from error
        return target

    # Inside.

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            try:
                self._database.execute("BEGIN IMMEDIATE")
            except sqlite3.Error as error:
                raise StoreError(f"The store cannot be written: {error}.") from error
            try:
                yield self._database
                self._database.execute("COMMIT")
            except BaseException as error:
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")
                if isinstance(error, sqlite3.Error):
                    raise StoreError(f"The store cannot be written: {error}.") from error
                raise

    def _counted(self, entry: Entry) -> Entry:
        """The entry with all its counts, also where an older version has made it."""
        if entry.doubts is not None:
            return entry
        try:
            summary = summary_of(self._at(entry.id, entry.revision))
        except AsrError:  # it says so when it is opened; the list is there all the same
            return entry
        self._database.execute("UPDATE documents SET summary = ? WHERE id = ?", (summary, entry.id))
        return self.entry(entry.id)

    def _current(self, id: str, revision: int) -> tuple[Document, int]:
        """The document, where it has that revision, and how many edits of its history stand."""
        document, now = self.load(id)
        if now != revision:
            raise ConflictError(now)
        done = self._database.execute("SELECT done FROM documents WHERE id = ?", (id,)).fetchone()[0]
        return document, done

    def _step(self, id: str, revision: int, kind: str, reviewer: str, ticket: str) -> Entry:
        with self._transaction() as database:
            before, done = self._current(id, revision)
            place = done - 1 if kind == "undo" else done
            row = database.execute(
                "SELECT l.change FROM history h JOIN log l ON l.document = h.document AND l.revision = h.revision "
                "WHERE h.document = ? AND h.place = ?",
                (id, place),
            ).fetchone()
            if row is None:
                raise StoreError(f"There is nothing to {kind}.")
            change = Change.from_plain(json.loads(row[0]))
            change = change.inverse() if kind == "undo" else change
            after = change.apply(before)
            self._write(id, revision + 1, kind, change, after, done + (1 if kind == "redo" else -1), reviewer, ticket)
        self._remember(id, revision + 1, after)
        return self.entry(id)

    def _write(
        self,
        id: str,
        revision: int,
        kind: str,
        change: Change,
        after: Document,
        done: int,
        reviewer: str,
        ticket: str,
    ) -> None:
        now, text = self._clock(), json.dumps(change.to_plain(), ensure_ascii=False, allow_nan=False)
        self._database.execute(
            "INSERT INTO log (document, revision, kind, label, change, at, reviewer, ticket) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (id, revision, kind, change.label, text, now, reviewer, ticket),
        )
        self._database.execute(
            "UPDATE documents SET state = ?, revision = ?, done = ?, summary = ?, changed = ? WHERE id = ?",
            (after.state, revision, done, summary_of(after), now, id),
        )
        if revision % SNAPSHOT_EVERY == 0:
            self._database.execute("INSERT INTO snapshots VALUES (?, ?, ?)", (id, revision, _written(after)))

    def _at(self, id: str, revision: int) -> Document:
        start, body = self._database.execute(
            "SELECT revision, body FROM snapshots WHERE document = ? AND revision <= ? ORDER BY revision DESC LIMIT 1",
            (id, revision),
        ).fetchone()
        document = formats.read(body.encode(), format="json")
        rows = self._database.execute(
            "SELECT change FROM log WHERE document = ? AND revision > ? AND revision <= ? ORDER BY revision",
            (id, start, revision),
        )
        for (text,) in rows.fetchall():
            document = Change.from_plain(json.loads(text)).apply(document)
        return document

    def _remember(self, id: str, revision: int, document: Document) -> None:
        with self._lock:
            self._cache[id] = (revision, document)
            self._cache.move_to_end(id)
            while len(self._cache) > CACHED:
                self._cache.popitem(last=False)

    def _keep(self, path: Path) -> str:
        """Copy a recording in, under its hash. Raises StoreError."""
        digest, size = hashed(path)
        limits = self._limits
        if limits.recording_bytes is not None and size > limits.recording_bytes:
            raise StoreError(f"{path.name[:80]!r} has {size} bytes; at most {limits.recording_bytes} are taken here.")
        with self._transaction() as database:
            if database.execute("SELECT 1 FROM recordings WHERE sha256 = ?", (digest,)).fetchone() is None:
                held = database.execute("SELECT coalesce(sum(bytes), 0) FROM recordings").fetchone()[0]
                if limits.total_bytes is not None and held + size > limits.total_bytes:
                    raise StoreError(
                        f"The store is full ({held} of {limits.total_bytes} bytes); delete some documents."
                    )
                copy_in(path, self.recordings, digest)
                database.execute("INSERT INTO recordings VALUES (?, ?, ?, ?)", (digest, path.name, size, self._clock()))
        return digest


def _written(document: Document) -> str:
    out = io.StringIO()
    formats.write(document, out, format="json")
    return out.getvalue()


def _as_it_was(earlier: Document, now: Document) -> Document:
    """An earlier version of a document, in which new segments go on to get ids that none has had."""
    return replace(earlier, next_id=max(earlier.next_id, now.next_id))
