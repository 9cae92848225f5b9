"""The log in a PostgreSQL database, which several processes share."""

import hashlib
import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg

from likelier.service.events import Event
from likelier.service.store import PAGE, SCHEMA, Draft, Known, StoreError, worth_keeping

# Names of advisory locks: of the process that learns, of a transaction that appends, of a process that
# starts, and of all that serve, who share it.
LEADER, APPEND, BEGIN, SERVING = 0x6C6B6C7201, 0x6C6B6C7202, 0x6C6B6C7203, 0x6C6B6C7204
LEAVING = 3.0  # seconds until the database has noticed that a process has ended
TABLES = """
CREATE TABLE IF NOT EXISTS likelier_events (
  seq BIGINT PRIMARY KEY,
  at DOUBLE PRECISION NOT NULL,
  id TEXT,
  x TEXT,
  y TEXT,
  action TEXT
);
CREATE UNIQUE INDEX IF NOT EXISTS likelier_row_of ON likelier_events (id)
  WHERE id IS NOT NULL AND x IS NOT NULL;
CREATE UNIQUE INDEX IF NOT EXISTS likelier_label_of ON likelier_events (id)
  WHERE id IS NOT NULL AND y IS NOT NULL;
CREATE TABLE IF NOT EXISTS likelier_models (sha TEXT PRIMARY KEY, content BYTEA NOT NULL);
CREATE TABLE IF NOT EXISTS likelier_snapshots (
  version BIGINT PRIMARY KEY, content BYTEA NOT NULL, made TIMESTAMPTZ NOT NULL DEFAULT now()
);
CREATE TABLE IF NOT EXISTS likelier_schema (version INTEGER PRIMARY KEY);
INSERT INTO likelier_schema SELECT {schema} WHERE NOT EXISTS (SELECT 1 FROM likelier_schema);
"""


class Conflict(StoreError):
    """What was decided no longer holds: another process has written to the log meanwhile."""


class PostgresStore:
    """Tables of a database. Appends of all processes are serialised: numbers follow the order of commits.

    A connection that is lost is opened again; with it the leader's lock is lost, which the leader hears of.
    """

    shared = True

    def __init__(self, url: str, *, read_only: bool = False) -> None:
        self._url = url
        self._connection: psycopg.Connection[Any] | None = None
        self._leads = self._serving = False
        self.latest = 0.0  # event time of the newest event that was seen
        with self._failing():
            connection = self._connected()
            if not read_only:
                with connection.transaction():
                    connection.execute("SELECT pg_advisory_xact_lock(%s)", (APPEND,))
                    connection.execute(TABLES.format(schema=SCHEMA))
            version = connection.execute("SELECT max(version) FROM likelier_schema").fetchone()
        if version is not None and version[0] > SCHEMA:
            self.close()
            raise StoreError(
                f"the database was written by a newer likelier (schema {version[0]}; this one reads up to "
                f"{SCHEMA}): upgrade likelier"
            )

    def _connected(self) -> "psycopg.Connection[Any]":
        if self._connection is None or self._connection.closed:
            self._leads = False
            self._connection = psycopg.connect(
                self._url,
                autocommit=True,
                connect_timeout=5,
                keepalives_idle=5,
                options="-c synchronous_commit=on -c statement_timeout=60000",
            )
            if self._serving:
                self._connection.execute("SELECT pg_advisory_lock_shared(%s)", (SERVING,))
        return self._connection

    @contextmanager
    def _failing(self) -> Iterator[None]:
        """Turn errors of the database into a `StoreError`."""
        try:
            yield
        except psycopg.errors.UniqueViolation as problem:
            raise Conflict(f"another process has written the same id: {problem}") from problem
        except psycopg.Error as problem:
            if self._connection is not None and self._connection.broken:
                self._connection.close()
            raise StoreError(f"PostgreSQL: {str(problem).strip().splitlines()[0]}") from problem

    def _all(self, query: str, parameters: Sequence[Any] = ()) -> list[Any]:
        with self._failing():
            return self._connected().execute(query, parameters).fetchall()

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """While this lasts no other process begins to use the log."""
        with self._failing():
            self._connected().execute("SELECT pg_advisory_lock(%s)", (BEGIN,))
        try:
            yield
        finally:
            with self._failing():
                self._connected().execute("SELECT pg_advisory_unlock(%s)", (BEGIN,))

    def alone(self) -> bool:
        end = time.monotonic() + LEAVING
        while not (free := self._is_alone()) and time.monotonic() < end:
            time.sleep(0.1)
        return free

    def _is_alone(self) -> bool:
        with self._failing():
            connection = self._connected()
            found = connection.execute("SELECT pg_try_advisory_lock(%s)", (SERVING,)).fetchone()
            free = bool(found and found[0])
            if free:
                connection.execute("SELECT pg_advisory_unlock(%s)", (SERVING,))
            return free

    def serve(self) -> None:
        with self._failing():
            self._connected().execute("SELECT pg_advisory_lock_shared(%s)", (SERVING,))
            self._serving = True

    # ---- leading -------------------------------------------------------------------------------------
    def lead(self) -> bool:
        """Try to become the leader, the process that learns, for as long as the connection lasts."""
        with self._failing():
            connection = self._connected()
            if not self._leads:
                found = connection.execute("SELECT pg_try_advisory_lock(%s)", (LEADER,)).fetchone()
                self._leads = bool(found and found[0])
            return self._leads

    @property
    def leads(self) -> bool:
        """Whether this process became the leader and its connection has lasted since."""
        return self._leads and self._connection is not None and not self._connection.closed

    # ---- events --------------------------------------------------------------------------------------
    def last(self) -> tuple[int, float]:
        found = self._all("SELECT seq, at FROM likelier_events ORDER BY seq DESC LIMIT 1")
        return (int(found[0][0]), float(found[0][1])) if found else (0, 0.0)

    def append(self, drafts: Sequence[Draft], at: float, until: float = math.inf) -> list[Event]:
        """Append drafts as events; raises a `Conflict` if the time of the log is later than `until`."""
        if not drafts:
            return []
        with self._failing():
            connection = self._connected()
            with connection.transaction(), connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_xact_lock(%s)", (APPEND,))
                cursor.execute("SELECT seq, at FROM likelier_events ORDER BY seq DESC LIMIT 1")
                seq, latest = cursor.fetchone() or (0, 0.0)
                self.latest = at = max(at, latest)
                if at > until:
                    raise Conflict("by the clocks of other processes a label is too late")
                events = [Event(seq + 1 + i, at, *draft) for i, draft in enumerate(drafts)]
                cursor.executemany(
                    "INSERT INTO likelier_events VALUES (%s, %s, %s, %s, %s, %s)",
                    [(e.seq, e.at, e.id, _text(e.x), _text(e.y), _text(e.action)) for e in events],
                )
        return events

    def after(self, seq: int) -> Iterator[Event]:
        query = "SELECT seq, at, id, x, y, action FROM likelier_events WHERE seq > %s ORDER BY seq LIMIT %s"
        while True:
            rows = self._all(query, (seq, PAGE))
            for seq, at, id, x, y, action in rows:
                yield Event(seq, at, id, _bytes(x), _bytes(y), _bytes(action))
            if len(rows) < PAGE:
                return

    def known(self, ids: Sequence[str]) -> dict[str, Known]:
        names = list(ids)
        rows = self._all(
            "SELECT id, x, at FROM likelier_events WHERE id = ANY(%s) AND x IS NOT NULL", (names,)
        )
        labels = self._all(
            "SELECT id, y FROM likelier_events WHERE id = ANY(%s) AND y IS NOT NULL", (names,)
        )
        found = {id: Known(_bytes(x), at, None) for id, x, at in rows}
        for id, y in labels:
            found[id] = found.get(id, Known(None, None, None))._replace(y=_bytes(y))
        return found

    def raws(self, ids: Sequence[str]) -> dict[str, bytes]:
        numbered = {int(id[1:]): id for id in ids if id.startswith("\0")}
        rows = self._all("SELECT seq, x FROM likelier_events WHERE seq = ANY(%s)", (list(numbered),))
        found = {numbered[seq]: x.encode() for seq, x in rows}
        named = [id for id in ids if not id.startswith("\0")]
        return found | {id: known.x for id, known in self.known(named).items() if known.x is not None}

    # ---- models and snapshots ------------------------------------------------------------------------
    def put_model(self, sha: str, content: bytes) -> None:
        with self._failing():
            self._connected().execute(
                "INSERT INTO likelier_models VALUES (%s, %s) ON CONFLICT DO NOTHING", (sha, content)
            )

    def model(self, sha: str) -> bytes:
        found = self._all("SELECT content FROM likelier_models WHERE sha = %s", (sha,))
        if not found or hashlib.sha256(found[0][0]).hexdigest() != sha:
            raise StoreError(f"model {sha[:12]} is missing or damaged")
        return bytes(found[0][0])

    def put_snapshot(self, version: int, content: bytes) -> None:
        # On a connection of its own: it is another thread that calls, and the log is not held up.
        with self._failing(), psycopg.connect(self._url, connect_timeout=5) as connection:
            connection.execute(
                "INSERT INTO likelier_snapshots VALUES (%s, %s) ON CONFLICT DO NOTHING", (version, content)
            )
            there = [v for (v,) in connection.execute("SELECT version FROM likelier_snapshots")]
            old = list(set(there) - worth_keeping(there))
            connection.execute("DELETE FROM likelier_snapshots WHERE version = ANY(%s)", (old,))

    def snapshots(self) -> list[int]:
        return [
            version
            for (version,) in self._all("SELECT version FROM likelier_snapshots ORDER BY version DESC")
        ]

    def snapshot(self, version: int) -> bytes:
        found = self._all("SELECT content FROM likelier_snapshots WHERE version = %s", (version,))
        if not found:
            raise StoreError(f"there is no snapshot {version} any more")
        return bytes(found[0][0])

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode()


def _bytes(value: str | None) -> bytes | None:
    return None if value is None else value.encode()
