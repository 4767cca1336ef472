"""The store's SQLite file: its tables, and how one of an older version is brought up to date."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from asr_core.errors import StoreError

VERSION = 2

TABLES = """
CREATE TABLE IF NOT EXISTS recordings (
    sha256 TEXT PRIMARY KEY, name TEXT NOT NULL, bytes INTEGER NOT NULL, added REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS documents (
    id TEXT PRIMARY KEY, workspace TEXT NOT NULL, name TEXT NOT NULL, sha256 TEXT REFERENCES recordings (sha256),
    state TEXT NOT NULL, revision INTEGER NOT NULL, done INTEGER NOT NULL, summary TEXT NOT NULL,
    created REAL NOT NULL, changed REAL NOT NULL
);
CREATE INDEX IF NOT EXISTS documents_of_a_workspace ON documents (workspace, changed);
CREATE TABLE IF NOT EXISTS log (
    document TEXT NOT NULL REFERENCES documents (id) ON DELETE CASCADE, revision INTEGER NOT NULL,
    kind TEXT NOT NULL, label TEXT NOT NULL, change TEXT NOT NULL, at REAL NOT NULL, reviewer TEXT NOT NULL,
    ticket TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (document, revision)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS history (
    document TEXT NOT NULL REFERENCES documents (id) ON DELETE CASCADE, place INTEGER NOT NULL,
    revision INTEGER NOT NULL, PRIMARY KEY (document, place)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS snapshots (
    document TEXT NOT NULL REFERENCES documents (id) ON DELETE CASCADE, revision INTEGER NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (document, revision)
) WITHOUT ROWID;
"""


def open_database(folder: Path) -> sqlite3.Connection:
    """The database of a store's folder, made if it is not there. Raises StoreError."""
    try:
        database = sqlite3.connect(
            folder / "documents.sqlite", isolation_level=None, check_same_thread=False, timeout=30
        )
        for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
            database.execute(f"PRAGMA {pragma}")
        version = database.execute("PRAGMA user_version").fetchone()[0]
        if version > VERSION:
            raise StoreError(f"The store in {folder} was made by a newer version; update, or choose another folder.")
        if version < VERSION:
            _bring_up_to_date(database)
    except sqlite3.Error as error:
        raise StoreError(f"The store in {folder} cannot be opened: {error}.") from error
    return database


def _bring_up_to_date(database: sqlite3.Connection) -> None:
    database.execute("BEGIN IMMEDIATE")
    # Another process may have been faster.
    for statement in TABLES.split(";\n"):
        database.execute(statement)
    if "ticket" not in {row[1] for row in database.execute("PRAGMA table_info (log)")}:
        database.execute("ALTER TABLE log ADD COLUMN ticket TEXT NOT NULL DEFAULT ''")
    database.execute(f"PRAGMA user_version = {VERSION}")
    database.execute("COMMIT")
