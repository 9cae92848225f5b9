"""Sources around other sources: the same rows with other codes, columns, units, weights or labels."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from likelier.array_types import Floats
from likelier.data.chunk import Arrays, Chunk, Part, Source
from likelier.data.labels import Factor, numbers_among
from likelier.data.matrix import CSR, Block, Columns, Dense

# A source around another: the same rows, read in some other way.

P = TypeVar("P")


class SourceSummary(NamedTuple):
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
        return vars(self) | {"source": SourceSummary(held.p, held.names, held.rows, held.y_shape)}

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


def innermost(source: Source) -> Source:
    """The source that holds the rows."""
    while isinstance(source, Wrapped):
        source = source.source
    return source


def is_session(cluster: Any) -> bool:
    """Whether it is a SparkSession. (Nobody who has none need import Spark for that.)"""
    kind = type(cluster)
    return kind.__name__ == "SparkSession" and kind.__module__.startswith("pyspark.sql.")


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


@dataclass(frozen=True)
class ByClass(Wrapped):
    """The same rows, each class's weights times a number."""

    factor: Floats  # (K,)

    def parts(self, state_bytes: int) -> Sequence[Part]:
        return [partial(self._read, part) for part in self.source.parts(state_bytes)]

    def _read(self, part: Part) -> Iterator[Chunk]:
        for chunk in part():
            yield chunk._replace(w=times(self.factor, chunk.y, chunk.w))


def times(factor: Floats, y: Any, w: Floats | None) -> Floats:
    """The weights of rows, times the number of their class."""
    each = np.where(y >= 0, factor[y], 0.0)
    return each if w is None else each * w


# Classes that were guessed: a pass by them continues for as long as they are all there are.


class UnknownLabel(ValueError):
    """A row has a label, or lacks one, that is not one of the classes."""


@dataclass(frozen=True)
class KnownLabelsOnly(Wrapped):
    """The same rows, coded; one whose label is no class ends the pass."""

    def parts(self, state_bytes: int) -> Sequence[Part]:
        return [partial(_known_only, part) for part in self.source.parts(state_bytes)]


def _known_only(part: Part) -> Iterator[Chunk]:
    for chunk in part():
        assert chunk.y is not None
        if len(chunk.y) and chunk.y.min() < 0:
            raise UnknownLabel("a label that is not one of the classes")
        yield chunk


# A source whose categories are coded alike throughout.


@dataclass(frozen=True)
class Recoded(Wrapped):
    """The same rows with some columns as categories, by levels known for all of them.

    Without levels, each chunk has its own: for the survey that finds them.
    """

    categories: frozenset[int]
    levels: Mapping[int, NDArray[Any]] | None = None

    def parts(self, state_bytes: int) -> Sequence[Part]:
        return [partial(self._read, part) for part in self.source.parts(state_bytes)]

    def _read(self, part: Part) -> Iterator[Chunk]:
        for chunk in part():
            yield chunk._replace(X=self._recoded(chunk.X))

    def _recoded(self, X: Block) -> Block:
        if not self.categories and not isinstance(X, Columns):
            return X
        arrays = X.arrays if isinstance(X, Columns) else tuple(X.to_array().T)
        return Columns(tuple(self._column(j, column) for j, column in enumerate(arrays)))

    def _column(self, j: int, column: Any) -> Any:
        if j not in self.categories:
            if self.levels is not None and isinstance(column, Factor):
                name = j if self.names is None else repr(str(self.names[j]))
                some = column.levels[0] if len(column.levels) else None
                raise ValueError(
                    f"Input X has categories in column {name}, such as {some!r}, which held numbers in fit."
                )
            return column
        if self.levels is not None and not isinstance(column, Factor) and len(self.levels[j]):
            found = numbers_among(column, self.levels[j])
            if found is not None:
                return found
        factor = column if isinstance(column, Factor) else factor_of(column)
        return factor if self.levels is None else factor.coded(self._alike(j, factor.levels))

    def _alike(self, j: int, held: NDArray[Any]) -> NDArray[Any]:
        """The levels of column j; text for numbers, or numbers for text, would be unknown throughout."""
        assert self.levels is not None
        levels = self.levels[j]
        if len(held) and len(levels) and isinstance(held[0], str) != isinstance(levels[0], str):
            name = j if self.names is None else repr(str(self.names[j]))
            raise ValueError(
                f"Input X has {held[0]!r} in column {name}, whose categories in fit were of another type, "
                f"such as {levels[0]!r}."
            )
        return levels


def factor_of(values: NDArray[Any]) -> Factor:
    """Numbers as categories, missing where they are NaN."""
    levels, codes = np.unique(values, return_inverse=True)
    return Factor.of(codes, [None if level != level else level for level in levels.tolist()])


# A source with some of its columns.

Numbers = NDArray[np.intp]


@dataclass(frozen=True)
class Selected(Wrapped):
    """The same rows, these columns of them."""

    columns: Numbers

    @property
    def p(self) -> int:
        return len(self.columns)

    @property
    def names(self) -> NDArray[Any] | None:
        return None if self.source.names is None else self.source.names[self.columns]

    def parts(self, state_bytes: int) -> Sequence[Part]:
        return [partial(self._read, part) for part in self.source.parts(state_bytes)]

    def _read(self, part: Part) -> Iterator[Chunk]:
        for chunk in part():
            yield chunk._replace(X=chunk.X.select(self.columns))


def selected(source: Source, columns: Numbers) -> Source:
    """Some columns of a source; of rows in memory once and for all passes."""
    if isinstance(source, Arrays):
        names = None if source.names is None else source.names[columns]
        return replace(source, X=source.X.select(columns), names=names)
    return Selected(source, columns)


# A few rows of a source, to begin with.

RUN = 512  # rows side by side: enough to be worth a call


@dataclass(frozen=True)
class StridedRows(Wrapped):
    """Of every `apart` runs of rows the first."""

    apart: int

    def parts(self, state_bytes: int) -> Sequence[Part]:
        return [partial(self._read, part) for part in self.source.parts(state_bytes)]

    def _read(self, part: Part) -> Iterator[Chunk]:
        for chunk in part():
            for start in range(0, chunk.X.shape[0], RUN * self.apart):
                yield chunk.take(slice(start, start + RUN))


@dataclass(frozen=True)
class Head(Wrapped):
    """Of every part the first rows, so many of its first chunk at most."""

    most: int

    def parts(self, state_bytes: int) -> Sequence[Part]:
        return [partial(self._read, part) for part in self.source.parts(state_bytes)]

    def _read(self, part: Part) -> Iterator[Chunk]:
        for chunk in islice(part(), 1):
            yield chunk.take(slice(0, min(self.most, chunk.X.shape[0])))


@dataclass(frozen=True)
class StridedParts(Wrapped):
    """Of every `apart` parts one, from the middle of them: the others are not read."""

    apart: int

    @property
    def rows(self) -> int | None:
        return None

    def parts(self, state_bytes: int) -> Sequence[Part]:
        return self.kept(self.source.parts(state_bytes))

    def kept(self, parts: Sequence[P]) -> Sequence[P]:
        return parts[min(self.apart // 2, len(parts) - 1) :: self.apart]


# Rows whose margins are looked at closely about 1.


@dataclass(frozen=True)
class MarginOffset(Wrapped):
    """The same rows with an offset: at θ / width the margin is 1 + (m - 1) / width, m that at θ.

    t z / width + 1 - 1 / width = t (z / width + t (1 - 1 / width)), as t² = 1.
    """

    width: float
    positive: int  # the code of t = 1

    def parts(self, state_bytes: int) -> Sequence[Part]:
        return [partial(self._read, part) for part in self.source.parts(state_bytes)]

    def _read(self, part: Part) -> Iterator[Chunk]:
        for chunk in part():
            far = 1 - 1 / self.width
            offset = np.where(chunk.y == self.positive, far, -far)  # (n,)
            if chunk.offset is not None:
                offset += chunk.offset / self.width
            yield chunk._replace(offset=offset)


# Columns in units of powers of two: whatever their magnitude, squares neither overflow nor vanish.

Units = NDArray[np.int64]  # (p,): x is counted in 2^u

FAR = 200  # powers of two from 1 up to which a column stays as it is: fourth powers of it are numbers
MOST = 1e300  # stands for what is too large to be counted


def in_units(x: NDArray[Any], units: Any) -> Floats:
    """x / 2^u, to the last bit; what is finite stays so."""
    x = np.asarray(x, dtype=np.float64)
    with np.errstate(over="ignore"):
        found = np.ldexp(x, np.negative(units))
    return np.asarray(np.where(np.isinf(found) & np.isfinite(x), np.copysign(MOST, x), found))


def block_in_units(X: Block, units: Units) -> Block:
    """The same rows, counted in these units. (Categories have none.)"""
    if isinstance(X, CSR):
        return replace(X, values=in_units(X.values, units[X.columns]))
    if isinstance(X, Columns):
        pairs = zip(X.arrays, units.tolist(), strict=True)
        return Columns(tuple(x if isinstance(x, Factor) or u == 0 else in_units(x, u) for x, u in pairs))
    return Dense(in_units(X.array, units))


def magnitudes(X: Block) -> Floats:
    """The largest |x| of each column, (p,); 0 if it has none. (Categories have none.)"""
    if isinstance(X, CSR):
        found, at = np.zeros(X.p), slice(X.starts[0], X.starts[-1])
        np.fmax.at(found, X.columns[at], np.abs(X.values[at].astype(np.float64, copy=False)))
        return found
    if isinstance(X, Columns):
        each = (np.zeros(1) if isinstance(x, Factor) else np.abs(x.astype(np.float64)) for x in X.arrays)
        return np.array([np.fmax.reduce(x, initial=0.0) for x in each])
    return np.asarray(np.fmax.reduce(np.abs(X.to_array()), axis=0, initial=0.0))


def log_units(X: Block, units: Units) -> Floats:
    """ln of the units of the cells that are there, (n,): by how much densities in them are larger."""
    logs = np.log(2.0) * units
    if isinstance(X, CSR) and not X.gappy().any():
        return np.full(X.shape[0], logs.sum())
    return np.asarray(~np.isnan(X.to_array()) @ logs)


@dataclass(frozen=True)
class InUnits(Wrapped):
    """The same rows, counted in these units."""

    units: Units

    def parts(self, state_bytes: int) -> Sequence[Part]:
        return [partial(self._read, part) for part in self.source.parts(state_bytes)]

    def _read(self, part: Part) -> Iterator[Chunk]:
        for chunk in part():
            yield chunk._replace(X=block_in_units(chunk.X, self.units))


def source_in_units(source: Source, units: Units) -> Source:
    """A source in these units; of rows in memory once and for all passes."""
    if isinstance(source, Arrays):
        return replace(source, X=block_in_units(source.X, units))
    return InUnits(source, units)


def needed(most: Floats, *, together: bool) -> Units | None:
    """The units of columns with these largest magnitudes (p,), if any is so far from 1 that it needs one.

    together: one unit for all columns, for models that compare variances of different columns.
    """
    exponents = np.where(np.isfinite(most) & (most > 0), np.frexp(np.where(most > 0, most, 1.0))[1], 0)
    if together and len(exponents):
        known = exponents[most > 0]
        exponents = np.full(len(exponents), known.max() if len(known) else 0)
    units = np.where(np.abs(exponents) > FAR, np.minimum(exponents, 1023), 0).astype(np.int64)
    return units if units.any() else None


def largest(X: Block) -> Floats:
    """The largest |x| of each column, (p,)."""
    if not isinstance(X, CSR):
        rows = X.to_array()
        return np.asarray(np.fmax(rows.max(axis=0, initial=0.0), -rows.min(axis=0, initial=0.0)))
    at = slice(X.starts[0], X.starts[-1])
    found = np.zeros(X.p)
    np.fmax.at(found, X.columns[at], np.abs(X.values[at], dtype=np.float64))
    return found
