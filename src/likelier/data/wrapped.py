"""A source around another: the same rows, read in some other way."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from likelier.data.chunk import Part, Source

W = TypeVar("W", bound="Wrapped")
P = TypeVar("P")


class LeftBehind(NamedTuple):
    """What a wrapper that travels with a part still knows of its source: all but the rows."""

    p: int
    names: NDArray[Any] | None
    rows: int | None
    y_shape: tuple[int, ...]


@dataclass(frozen=True)
class Wrapped:
    """All that a source is, as the one within it; `parts` is left to say."""

    source: Source

    def __getstate__(self) -> dict[str, Any]:
        """Parts are what is pickled, and each reads itself: a source of a thousand files stays here."""
        held = self.source
        return vars(self) | {"source": LeftBehind(held.p, held.names, held.rows, held.y_shape)}

    @property
    def p(self) -> int:
        return self.source.p

    @property
    def names(self) -> NDArray[Any] | None:
        return self.source.names

    @property
    def rows(self) -> int | None:
        return self.source.rows

    @property
    def y_shape(self) -> tuple[int, ...]:
        return self.source.y_shape

    def labels(self) -> Source:
        return self.source.labels()

    def place(self, row: int) -> str:
        return self.source.place(row)

    def coded(self, levels: NDArray[np.generic]) -> Self:
        return replace(self, source=self.source.coded(levels))

    def kept(self, parts: Sequence[P]) -> Sequence[P]:
        """Of something for each part within, what there is for the parts of this one."""
        return parts


@dataclass(frozen=True)
class Beside(Wrapped):
    """The same rows, of which every pass is to keep another state beside its own, and to hand it over."""

    start: Callable[[], Any]
    take: Callable[[Any], None]

    def parts(self, state_bytes: int) -> Sequence[Part]:
        return self.source.parts(state_bytes)


def innermost(source: Source) -> Source:
    """The source that holds the rows."""
    while isinstance(source, Wrapped):
        source = source.source
    return source


def cluster_of(source: Source) -> Any:
    """Where the rows are: a Dask client or scheduler; None: on this machine."""
    return getattr(innermost(source), "cluster", None)


class Partitions(NamedTuple):
    """Where the rows of each part come from, on Dask: tasks, and the keys of those that make a part's."""

    graph: dict[Any, Any]
    keys: Sequence[tuple[Any, ...]]


def partitions_of(source: Source) -> Partitions | None:
    """Of a source whose parts cannot read themselves: Dask brings their rows along."""
    if not isinstance(source, Wrapped):
        return getattr(source, "partitions", None)
    found = partitions_of(source.source)
    return None if found is None else found._replace(keys=source.kept(found.keys))


AT_HAND: ContextVar[tuple[Any, ...]] = ContextVar("AT_HAND")  # the rows of the partition in work


@contextmanager
def at_hand(rows: tuple[Any, ...]) -> Iterator[None]:
    """While a task runs, its part finds the rows that it was brought."""
    token = AT_HAND.set(rows)
    try:
        yield
    finally:
        AT_HAND.reset(token)


def within(source: Source, kind: type[W]) -> W | None:
    """The wrapper of this kind, this one or one within; None: there is none."""
    while isinstance(source, Wrapped):
        if isinstance(source, kind):
            return source
        source = source.source
    return None


def unwrapped(source: Source, kind: type[W]) -> W:
    """The wrapper of this kind, this one or one within."""
    found = within(source, kind)
    assert found is not None
    return found
