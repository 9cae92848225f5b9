"""Where a service keeps its log, its models and its snapshots."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from likelier.service.events import Event

SCHEMA = 1  # of the tables
KEPT = 4  # snapshots, of the newest
PAGE = 4096  # events that are read at a time


class Draft(NamedTuple):
    """An event that has no number yet."""

    id: str | None
    x: bytes | None = None
    y: bytes | None = None
    action: bytes | None = None


class Known(NamedTuple):
    """The row and the label that the log has for an id."""

    x: bytes | None  # the row
    at: float | None  # when it came
    y: bytes | None  # the label


class StoreError(OSError):
    """The store cannot be used, or cannot be written to now."""


class Store(Protocol):
    """An append-only log of events, and what belongs to it."""

    shared: bool  # whether several processes may write

    def alone(self) -> bool:
        """Whether no other process serves this log."""

    def serve(self) -> None:
        """Register this process as one that serves the log, until the store is closed."""

    def exclusive(self) -> AbstractContextManager[None]:
        """While this lasts no other process begins to use the log."""

    def last(self) -> tuple[int, float]:
        """The number and the event time of the last event; (0, 0.0) without any."""

    def append(self, drafts: Sequence[Draft], at: float) -> list[Event]:
        """Append drafts as events. Once this returns all of them are durable; if it fails, none is."""

    def after(self, seq: int) -> Iterator[Event]:
        """The events that follow a number, in their order."""

    def known(self, ids: Sequence[str]) -> dict[str, Known]:
        """What the log has of these ids."""

    def raws(self, ids: Sequence[str]) -> dict[str, bytes]:
        """The rows of these ids; an id of NUL and a number is the row of that event."""

    def put_model(self, sha: str, content: bytes) -> None:
        """Keep the file of a model."""

    def model(self, sha: str) -> bytes:
        """The file of a model."""

    def put_snapshot(self, version: int, content: bytes) -> None:
        """Keep a snapshot, and of the older ones the last few."""

    def snapshots(self) -> list[int]:
        """The versions of which there are snapshots, newest first."""

    def snapshot(self, version: int) -> bytes:
        """The content of a snapshot."""

    def close(self) -> None:
        """Close the store and release its locks."""


def worth_keeping(versions: Sequence[int]) -> set[int]:
    """The newest few snapshots, and of the older ones some of every age, for rollbacks.

    Of those that are 2^k to 2^(k+1) events behind the newest the oldest is kept: their number grows as the
    logarithm of the number of events.
    """
    newest = max(versions, default=0)
    oldest: dict[int, int] = {}
    for version in sorted(versions, reverse=True):
        oldest[(newest - version).bit_length()] = version
    return set(oldest.values()) | set(sorted(versions)[-KEPT:])


def is_url(store: str) -> bool:
    """Whether it names a PostgreSQL database."""
    return store.startswith(("postgresql://", "postgres://"))
