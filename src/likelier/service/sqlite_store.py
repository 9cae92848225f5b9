"""The log in an SQLite database, for one process: the embedded default."""

import hashlib
import os
import sqlite3
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from likelier.service.events import Event
from likelier.service.store import PAGE, SCHEMA, Draft, Known, StoreError, worth_keeping
from likelier.storage import write

APPLICATION = 0x6C6B6C72  # "lklr": the application id in the header of the file
TABLES = """
CREATE TABLE events (
  seq INTEGER PRIMARY KEY,
  at REAL NOT NULL,   -- event time, in seconds since 1970
  id TEXT,
  x TEXT,             -- the features of a row, JSON
  y TEXT,             -- a label, JSON: of this row, or of the earlier row with this id
  action TEXT         -- JSON: another model, another configuration
) STRICT;
CREATE UNIQUE INDEX of_id ON events (id, x IS NULL) WHERE id IS NOT NULL;
CREATE TABLE models (sha TEXT PRIMARY KEY, content BLOB NOT NULL) STRICT;
"""
STATEMENTS = (256, 32, 4, 1)  # rows that are inserted together
AT_ONCE = 500  # ids that are looked up together

if sys.platform == "win32":
    import msvcrt

    def _lock_alone(file: int) -> None:
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except OSError as held:
            raise BlockingIOError(*held.args) from None
else:
    import fcntl

    def _lock_alone(file: int) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


class SqliteStore:
    """A database in WAL mode with synchronous=FULL: an event is on disk before it is acknowledged.

    read_only: without the lock of the server, which may be running meanwhile.
    """

    shared = False

    def __init__(
        self, path: str | os.PathLike[str], *, read_only: bool = False, page_size: int = 4096
    ) -> None:
        self.path = Path(path)
        self.folder = self.path.with_name(f"{self.path.name}.snapshots")
        self._lock: int | None = None
        if read_only and not self.path.exists():
            raise FileNotFoundError(f"there is no store {self.path}")
        if not read_only:
            self._take_lock()
        try:
            self._connection = self._connect(read_only, page_size)
            self._open(read_only)
        except BaseException:
            self.close()
            raise
        self._last = self._read_last()

    def _take_lock(self) -> None:
        try:
            self._lock = os.open(f"{self.path}.lock", os.O_RDWR | os.O_CREAT, 0o644)
            _lock_alone(self._lock)
        except BlockingIOError:
            os.close(self._lock or -1)
            self._lock = None
            raise StoreError(
                f"{self.path} is in use by another likelier serve: one process serves an SQLite store. "
                f"Stop "
                "it, take another --store, or share a log by --store postgresql://..."
            ) from None

    def _connect(self, read_only: bool, page_size: int) -> sqlite3.Connection:
        mode = "ro" if read_only else "rwc"
        connection = sqlite3.connect(
            f"{self.path.absolute().as_uri()}?mode={mode}",
            uri=True,
            isolation_level=None,
            check_same_thread=False,
            timeout=10.0,
        )
        self._connection = connection
        if not read_only:
            connection.execute(f"PRAGMA page_size = {page_size}")
        return connection

    def _open(self, read_only: bool) -> None:
        with self._failing():
            (application,) = self._one("PRAGMA application_id")
            (version,) = self._one("PRAGMA user_version")
            empty = not self._one("SELECT count(*) FROM sqlite_master")[0]
            if not read_only:
                self._connection.execute("PRAGMA journal_mode = WAL")
                self._connection.execute("PRAGMA synchronous = FULL")
                self._connection.execute("PRAGMA wal_autocheckpoint = 4000")
        if empty and application == 0 and not read_only:
            self._create()
        elif application != APPLICATION:
            raise StoreError(f"{self.path} is a database of something else than likelier serve")
        elif version > SCHEMA:
            raise StoreError(
                f"{self.path} was written by a newer likelier (schema {version}; this one reads up to "
                f"{SCHEMA}): upgrade likelier"
            )

    def _create(self) -> None:
        with self._writing():
            for statement in TABLES.split(";"):
                self._connection.execute(statement)
            self._connection.execute(f"PRAGMA application_id = {APPLICATION}")
            self._connection.execute(f"PRAGMA user_version = {SCHEMA}")

    def _one(self, query: str, parameters: Sequence[Any] = ()) -> Any:
        return self._connection.execute(query, parameters).fetchone()

    def _read_last(self) -> tuple[int, float]:
        with self._failing():
            found = self._one("SELECT seq, at FROM events ORDER BY seq DESC LIMIT 1")
        return found or (0, 0.0)

    @contextmanager
    def _failing(self) -> Iterator[None]:
        """Turn errors of SQLite into a `StoreError`."""
        try:
            yield
        except sqlite3.DatabaseError as problem:
            raise StoreError(f"{self.path}: {problem}") from problem

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """A transaction: it is durable as a whole or has no effect."""
        with self._failing():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Nothing to do: the lock of the file excludes other processes."""
        yield

    def alone(self) -> bool:
        return True

    def serve(self) -> None:
        """Nothing to do: the lock of the file registers this process."""

    # ---- events --------------------------------------------------------------------------------------
    def last(self) -> tuple[int, float]:
        return self._last

    def append(self, drafts: Sequence[Draft], at: float) -> list[Event]:
        if not drafts:
            return []
        first = self._last[0] + 1
        events = [Event(first + i, at, *draft) for i, draft in enumerate(drafts)]
        rows = [
            (event.seq, event.at, event.id, _text(event.x), _text(event.y), _text(event.action))
            for event in events
        ]
        with self._writing():
            self._insert(rows)
        self._last = events[-1].seq, at
        return events

    def _insert(self, rows: Sequence[tuple[Any, ...]]) -> None:
        """Insert many rows per statement: each statement releases and takes the interpreter lock."""
        start = 0
        for size in STATEMENTS:
            while len(rows) - start >= size:
                values = ", ".join(["(?, ?, ?, ?, ?, ?)"] * size)
                cells = [cell for row in rows[start : start + size] for cell in row]
                self._connection.execute(f"INSERT INTO events VALUES {values}", cells)
                start += size

    def after(self, seq: int) -> Iterator[Event]:
        query = "SELECT seq, at, id, x, y, action FROM events WHERE seq > ? ORDER BY seq LIMIT ?"
        while True:
            with self._failing():
                rows = self._connection.execute(query, (seq, PAGE)).fetchall()
            for seq, at, id, x, y, action in rows:
                yield Event(seq, at, id, _bytes(x), _bytes(y), _bytes(action))
            if len(rows) < PAGE:
                return

    def known(self, ids: Sequence[str]) -> dict[str, Known]:
        found: dict[str, Known] = {}
        for start in range(0, len(ids), AT_ONCE):
            some = ids[start : start + AT_ONCE]
            marks = ", ".join("?" * len(some))
            with self._failing():
                rows = self._connection.execute(
                    f"SELECT id, x, at, y FROM events WHERE id IN ({marks})", some
                ).fetchall()
            for id, x, at, y in rows:
                before = found.get(id, Known(None, None, None))
                found[id] = Known(
                    before.x if x is None else _bytes(x),
                    before.at if x is None else at,
                    before.y if y is None else _bytes(y),
                )
        return found

    def raws(self, ids: Sequence[str]) -> dict[str, bytes]:
        numbered = {id: int(id[1:]) for id in ids if id.startswith("\0")}
        found: dict[str, bytes] = {}
        with self._failing():
            for id, seq in numbered.items():
                found[id] = self._one("SELECT x FROM events WHERE seq = ?", (seq,))[0].encode()
        named = [id for id in ids if id not in numbered]
        return found | {id: known.x for id, known in self.known(named).items() if known.x is not None}

    # ---- models and snapshots ------------------------------------------------------------------------
    def put_model(self, sha: str, content: bytes) -> None:
        with self._writing():
            self._connection.execute("INSERT OR IGNORE INTO models VALUES (?, ?)", (sha, content))

    def model(self, sha: str) -> bytes:
        with self._failing():
            found = self._one("SELECT content FROM models WHERE sha = ?", (sha,))
        if found is None or hashlib.sha256(found[0]).hexdigest() != sha:
            raise StoreError(f"{self.path}: model {sha[:12]} is missing or damaged")
        return bytes(found[0])

    def put_snapshot(self, version: int, content: bytes) -> None:
        self.folder.mkdir(exist_ok=True)
        write(self.folder / f"{version:016d}.lks", content)
        there = self.snapshots()
        for old in set(there) - worth_keeping(there):
            self._file(old).unlink(missing_ok=True)

    def snapshots(self) -> list[int]:
        if not self.folder.is_dir():
            return []
        names = [path.stem for path in self.folder.glob("*.lks") if path.stem.isdigit()]
        return sorted(map(int, names), reverse=True)

    def snapshot(self, version: int) -> bytes:
        return self._file(version).read_bytes()

    def _file(self, version: int) -> Path:
        return self.folder / f"{version:016d}.lks"

    def close(self) -> None:
        connection: Callable[[], None] | None = getattr(getattr(self, "_connection", None), "close", None)
        if connection is not None:
            connection()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode()


def _bytes(value: str | None) -> bytes | None:
    return None if value is None else value.encode()
