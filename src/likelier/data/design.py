"""Tables of numbers, categories and dates as the columns of a design matrix, once it is known how."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import groupby, islice, pairwise
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from likelier import _core
from likelier.array_types import Codes, Floats, Indices
from likelier.data.chunk import Chunk, Part, Stored
from likelier.data.documents import WordsTerm, beside
from likelier.data.errors import BadCell, NonFinite
from likelier.data.labels import Factor, numbers_among
from likelier.data.matrix import CSR, Block, Columns, Dense
from likelier.data.table_columns import TableColumn, all_missing, of_kind, of_strings, warn_of_unseen
from likelier.data.transforms import Wrapped
from likelier.threads import cores

# How each derived column is encoded.


@dataclass(frozen=True)
class NumberTerm:
    """(x - shift) / scale, `fill` where x is missing; `gaps`: the name of a second column that says so."""

    name: str
    shift: float
    scale: float
    fill: float
    gaps: str = ""

    @property
    def names(self) -> list[str]:
        return [self.name, self.gaps] if self.gaps else [self.name]


def gap_name(name: str) -> str:
    """The name of the indicator of missing cells of a column."""
    return f"{name} is missing"


@dataclass(frozen=True)
class CategoryTerm:
    """Indicators of categories: of each level the place of its column, -1 where it has none."""

    name: str
    levels: NDArray[Any]  # (L,), sorted objects
    places: Codes  # (L,)
    rare: int  # the place of levels that are pooled, and of unseen ones; -1: none
    missing: int  # the place of missing cells; -1: none
    labels: tuple[str, ...]  # of the columns, after the name

    @property
    def names(self) -> list[str]:
        return [f"{self.name}{label}" for label in self.labels]

    def coded(self, factor: Factor) -> tuple[Factor, Any]:
        """The column by these levels, and a level that is none of them, or None."""
        found = factor.coded(self.levels)
        if factor.levels is self.levels or np.array_equal(factor.levels, self.levels):
            return found, None
        unseen = found.codes == len(self.levels)
        if not unseen.any():
            return found, None
        return found, factor.levels[factor.codes[int(np.argmax(unseen))]]


@dataclass(frozen=True)
class LeftOut:
    """A column without any value: nothing is made of it."""

    name: str

    @property
    def names(self) -> list[str]:
        return []


@dataclass(frozen=True)
class BinTerm:
    """Between which of the rising `cuts` a number is, from 0 on; NaN where it is missing."""

    name: str
    cuts: Floats
    label: str = ""

    @property
    def names(self) -> list[str]:
        return [f"{self.name}{self.label}"]

    def binned(self, values: Any) -> Floats:
        numbers = np.asarray(values, dtype=np.float64)
        return np.where(np.isnan(numbers), np.nan, np.searchsorted(self.cuts, numbers))


@dataclass(frozen=True)
class CodeTerm:
    """Categories as the places of their levels; NaN where one is missing, or is none of them."""

    name: str
    levels: NDArray[Any]  # (L,), sorted objects

    @property
    def names(self) -> list[str]:
        return [self.name]

    def coded(self, factor: Factor) -> Floats:
        codes = factor.coded(self.levels).codes
        return np.where((codes >= 0) & (codes < len(self.levels)), codes, np.nan)


@dataclass(frozen=True)
class AsIs:
    """A column as it is, for models that take numbers and categories by themselves."""

    name: str

    @property
    def names(self) -> list[str]:
        return [self.name]


Term = NumberTerm | CategoryTerm | BinTerm | CodeTerm | WordsTerm | AsIs | LeftOut


class Plan(NamedTuple):
    """What the kernel needs: see `core/kernels/design.hpp`."""

    to: Codes
    missing: Codes
    shift: Floats
    scale: Floats
    fill: Floats
    at: NDArray[np.int64]
    table: Codes
    P: int


def _plan(terms: Sequence[Term]) -> Plan:
    p = len(terms)
    to, missing = np.full(p, -1, dtype=np.int32), np.full(p, -1, dtype=np.int32)
    shift, scale, fill = np.zeros(p), np.ones(p), np.zeros(p)
    tables: list[Codes] = []
    column = 0
    for j, term in enumerate(terms):
        table = np.empty(0, dtype=np.int32)
        if isinstance(term, NumberTerm):
            to[j], missing[j] = column, column + 1 if term.gaps else -1
            shift[j], scale[j], fill[j] = term.shift, term.scale, term.fill
        elif isinstance(term, BinTerm | CodeTerm):
            to[j], fill[j] = column, np.nan
        elif isinstance(term, CategoryTerm):
            table = np.concatenate([[term.missing], term.places, [term.rare]]).astype(np.int32)
            table[table >= 0] += column
        tables.append(table)
        column += len(term.names)
    at = np.cumsum([0, *map(len, tables)]).astype(np.int64)
    return Plan(to, missing, shift, scale, fill, at, np.concatenate(tables), column)


@dataclass(frozen=True)
class Design:
    """How a table becomes numbers: its columns, what is computed of each, and how that is encoded."""

    table: tuple[TableColumn, ...]
    terms: tuple[Term, ...]  # of the derived columns
    sparse: bool
    named: bool = True  # whether the table's columns have names of their own
    _said: set[str] = field(default_factory=set, init=False, repr=False, compare=False)

    @cached_property
    def plan(self) -> Plan:
        """How single cells are encoded, where there is no text."""
        return _plan(self.terms)

    @cached_property
    def _runs(self) -> list[tuple[slice, Plan | None]]:
        """Runs of terms for single cells, and how they are encoded; or (None) of those for words."""
        found, start = [], 0
        for words, run in groupby(self.terms, lambda term: isinstance(term, WordsTerm)):
            terms = list(run)
            found.append((slice(start, start + len(terms)), None if words else _plan(terms)))
            start += len(terms)
        return found

    @cached_property
    def p(self) -> int:
        """The number of columns of the design matrix."""
        return sum(len(term.names) for term in self.terms)

    @cached_property
    def names(self) -> "DesignNames":
        """The names of its columns, each once."""
        found, seen = [], set()
        for name in (name for term in self.terms for name in term.names):
            unique, i = name, 2
            while unique in seen:
                unique, i = f"{name} ({i})", i + 1
            seen.add(unique)
            found.append(unique)
        return DesignNames.of(found, self)

    @property
    def names_in(self) -> list[str]:
        """The names of the columns of the table."""
        return [column.name for column in self.table]

    @cached_property
    def by_column(self) -> list[tuple[Term, ...]]:
        """Of each column of the table, how what is computed of it is encoded."""
        terms = iter(self.terms)
        return [tuple(islice(terms, len(column.derived_names))) for column in self.table]

    @property
    def owners(self) -> Indices:
        """Of each column of the design matrix, which column of the table it comes from."""
        counts = [sum(len(term.names) for term in terms) for terms in self.by_column]
        return np.repeat(np.arange(len(self.table)), counts)

    @property
    def by_name(self) -> dict[str, list[int]]:
        """The columns of the design matrix that encode each column of the table."""
        found: dict[str, list[int]] = {name: [] for name in self.names_in}
        for j, owner in enumerate(self.owners):
            found[self.names_in[owner]].append(j)
        return found

    def unlike(self, other: "Design") -> str | None:
        """Which column of two designs is encoded differently, and how; None: they are the same."""
        return difference(self, other) if type(other) is type(self) else other.unlike(self)

    @property
    def passes(self) -> bool:
        """Whether the columns of the table stay as they are."""
        return any(isinstance(term, AsIs) for term in self.terms)

    @property
    def same_columns(self) -> bool:
        """Whether its columns are those of the table, one by one, as they are."""
        return not any(column.parts for column in self.table) and all(map(_unchanged, self.terms))

    def renamed(self, names: Sequence[str]) -> "Design":
        """The same design of a table whose columns have other names."""
        table = tuple(replace(c, name=name) for c, name in zip(self.table, names, strict=True))
        derived = iter(name for column in table for name in column.derived_names)
        terms = [
            _renamed(term, next(derived), column.name)
            for column, own in zip(table, self.by_column, strict=True)
            for term in own
        ]
        return replace(self, table=table, terms=tuple(terms))

    # ---- rows --------------------------------------------------------------------------------------
    def derived(self, X: Columns, *, quiet: bool = False) -> Columns:
        """The columns that are encoded, categories by the levels of the design.

        quiet: nothing is said of unseen levels.
        """
        found: list[Any] = []
        unseen: list[tuple[str, Any]] = []
        for column, terms, values in zip(self.table, self.by_column, X.arrays, strict=True):
            if isinstance(terms[0], LeftOut):  # whatever it holds by now
                found += [np.zeros(len(values), dtype=np.int32) for _ in terms]
                continue
            for term, each in zip(terms, column.derived(of_kind(column, values)), strict=True):
                if isinstance(term, CategoryTerm):
                    factor, level = term.coded(as_factor(term, each))
                    found.append(factor)
                    unseen += [(term.name, level)] if level is not None else []
                elif isinstance(term, CodeTerm):
                    found.append(term.coded(as_factor(term, each)))
                elif isinstance(term, BinTerm):
                    found.append(term.binned(_as_numbers(term, each)))
                elif isinstance(term, WordsTerm):
                    found.append(_as_text(term, each))
                elif isinstance(term, AsIs):
                    found.append(each)
                else:
                    found.append(_as_numbers(term, each))
        if not quiet:
            self._say(unseen)
        return Columns(tuple(found))

    def _say(self, unseen: list[tuple[str, Any]]) -> None:
        """Warn of each column's unseen levels once."""
        new = [(name, level) for name, level in unseen if name not in self._said]
        self._said.update(name for name, _ in new)
        if new:
            rare = {term.name for term in self.terms if isinstance(term, CategoryTerm) and term.rare >= 0}
            as_zeros = [pair for pair in new if pair[0] not in rare]
            as_rare = [pair for pair in new if pair[0] in rare]
            warn_of_unseen(as_zeros, "all of their indicators are 0")
            warn_of_unseen(as_rare, "counted as rare")

    def rows(
        self, X: Columns, *, sparse: bool | None = None, threads: int = 1, quiet: bool = False
    ) -> Block:
        """The table as a design matrix."""
        derived = self.derived(X, quiet=quiet)
        if self.passes:
            keep = [j for j, term in enumerate(self.terms) if not isinstance(term, LeftOut)]
            return derived.select(np.array(keep, dtype=np.intp))
        sparse = self.sparse if sparse is None else sparse
        if any(plan is None for _, plan in self._runs):
            found = self._with_words(derived, threads)
            return found if sparse else Dense(found.to_array())
        if sparse:
            return self._cells(derived, threads, self.plan)
        out = np.zeros((derived.shape[0], self.p))

        def write(start: int, stop: int) -> Any:
            return _core.design_rows(derived.rows(start, stop).native(), *self.plan, out[start:stop])

        self._each_piece(derived, threads, write)
        return Dense(out)

    def _with_words(self, X: Columns, threads: int) -> CSR:
        """Cells, and beside them words."""
        blocks: list[CSR] = []
        for run, plan in self._runs:
            if plan is not None:
                blocks.append(self._cells(Columns(X.arrays[run]), threads, plan))
                continue
            for term, texts in zip(self.terms[run], X.arrays[run], strict=True):
                assert isinstance(term, WordsTerm)
                blocks.append(term.rows(texts))
        return beside(blocks)

    def _cells(self, X: Columns, threads: int, plan: Plan) -> CSR:
        n = X.shape[0]
        ends = np.zeros(n + 1, dtype=np.int64)

        def count(start: int, stop: int) -> Any:
            counts = ends[1 + start : 1 + stop]
            return _core.design_counts(X.rows(start, stop).native(), *plan, counts)

        self._each_piece(X, threads, count)
        np.cumsum(ends, out=ends)
        kind: Any = np.int32 if max(ends[-1], self.p) < 2**31 else np.int64
        starts = ends.astype(kind)
        values, columns = np.empty(int(ends[-1])), np.empty(int(ends[-1]), dtype=kind)
        p = plan.P

        def write(start: int, stop: int) -> Any:
            piece = X.rows(start, stop).native()
            return _core.design_cells(piece, *plan, starts[start : stop + 1], values, columns)

        self._each_piece(X, threads, write)
        return CSR(values, columns, starts, p)

    def _each_piece(self, X: Columns, threads: int, work: Callable[[int, int], Any]) -> None:
        """Work on runs of rows, by several threads if there are many; an infinite cell is refused."""
        n = X.shape[0]
        pieces = max(1, min(4 * threads, n // 10_000)) if threads > 1 else 1
        ends = list(pairwise(n * i // pieces for i in range(pieces + 1)))
        if pieces == 1:
            found = [work(0, n)]
        else:
            with ThreadPoolExecutor(threads) as pool:
                found = list(pool.map(work, *zip(*ends, strict=True)))
        for (start, _), where in zip(ends, found, strict=True):
            if where is not None:
                row, at = start + where[0], where[1]
                column = int(np.repeat(np.arange(len(self.table)), [*map(len, self.by_column)])[at])
                raise NonFinite(row, column, X.cell(row, at), self.table[column].name)


def _unchanged(term: Term) -> bool:
    if isinstance(term, NumberTerm):
        return (term.shift, term.scale, term.gaps) == (0.0, 1.0, "") and term.fill != term.fill
    return isinstance(term, AsIs)


def _renamed(term: Term, name: str, of_column: str) -> Term:
    if isinstance(term, NumberTerm) and term.gaps:
        return replace(term, name=name, gaps=gap_name(of_column))
    return replace(term, name=name)


def _as_numbers(term: Term, values: Any) -> Any:
    if isinstance(values, Factor):
        return all_missing(term.name, values, "held numbers")
    return values


def _as_text(term: WordsTerm, values: Any) -> Factor:
    """A column of texts."""
    return of_strings(
        values,
        lambda x: f"Input X has numbers in column {term.name!r}, such as {x:g}, which held texts in fit.",
    )


def as_factor(term: CategoryTerm | CodeTerm, values: Any) -> Factor:
    """A column as categories of the type that they had in fit."""
    some = term.levels[0] if len(term.levels) else None
    if isinstance(values, Factor):
        used = values.levels
        if some is None or not len(used) or isinstance(used[0], str) == isinstance(some, str):
            return values
        used = values.used()
        if not len(used):
            return values
        raise ValueError(
            f"Input X has {used[0]!r} in column {term.name!r}, whose categories in fit were of another "
            f"type, such as {some!r}."
        )
    numbers = np.asarray(values)
    gone = np.isnan(numbers) if numbers.dtype.kind == "f" else np.zeros(len(numbers), dtype=np.bool_)
    if gone.all():
        return Factor(np.full(len(numbers), -1, dtype=np.int32), term.levels)
    found = None if isinstance(some, str) else numbers_among(numbers, term.levels)
    if found is None:
        number = numbers[~gone][0]
        raise ValueError(
            f"Input X has numbers in column {term.name!r}, such as {number:g}, whose categories in fit "
            f"were of another type, such as {some!r}."
        )
    return found


# Names that know the design that made their columns.


class DesignNames(np.ndarray[Any, Any]):
    """The names of the columns of a design matrix, and the design: what becomes of a table is kept with
    the names of the columns that a model is fitted to. Some of the names are plain names."""

    design: Design | None = None

    @classmethod
    def of(cls, names: Sequence[str], design: Design) -> Self:
        found = np.array(names, dtype=object).view(cls)
        found.design = design
        return found

    def __getitem__(self, at: Any) -> Any:
        return np.asarray(self)[at]

    def __reduce__(self) -> Any:
        return type(self).of, (self.tolist(), self.design)


def design_of(names: Any) -> Design | None:
    """The design that made the columns of these names; None: they are those of the table itself."""
    return names.design if isinstance(names, DesignNames) else None


def difference(ours: Design, theirs: Design) -> str | None:
    """Which column of two designs is encoded differently, and how; None: they are the same."""
    pairs = zip(ours.table, theirs.table, ours.by_column, theirs.by_column, strict=False)
    for one, other, terms, others in pairs:
        if one.name != other.name:
            return f"one has a column {one.name!r} where the other has {other.name!r}"
        if one != other:
            return f"column {one.name!r} is not of the same kind"
        if not all(map(_same_term, terms, others)):
            what = "means or missing values" if isinstance(terms[0], NumberTerm) else "levels"
            return f"column {one.name!r} had other {what}"
    if len(ours.table) != len(theirs.table):
        return f"one has {len(ours.table)} columns, the other {len(theirs.table)}"
    return None if ours.sparse == theirs.sparse else "one is sparse, the other dense"


def _same_term(one: Term, other: Term) -> bool:
    if type(one) is not type(other):
        return False
    if isinstance(one, NumberTerm) and isinstance(other, NumberTerm):
        fills = one.fill == other.fill or (one.fill != one.fill and other.fill != other.fill)
        return fills and replace(one, fill=0.0) == replace(other, fill=0.0)
    if isinstance(one, BinTerm) and isinstance(other, BinTerm):
        return np.array_equal(one.cuts, other.cuts)
    if isinstance(one, WordsTerm) and isinstance(other, WordsTerm):
        same = np.array_equal(one.words, other.words)
        if one.idf is None or other.idf is None:
            return same and one.idf is other.idf
        return same and np.array_equal(one.idf, other.idf)
    if isinstance(one, CodeTerm) and isinstance(other, CodeTerm):
        return np.array_equal(one.levels, other.levels)
    if isinstance(one, CategoryTerm) and isinstance(other, CategoryTerm):
        alike = one.labels == other.labels and (one.rare, one.missing) == (other.rare, other.missing)
        same = np.array_equal(one.levels, other.levels) and np.array_equal(one.places, other.places)
        return alike and same
    return one == other


# A source whose rows are encoded as they are read.


@dataclass(frozen=True)
class Designed(Wrapped):
    """The rows of a table as those of a design matrix.

    absent: columns of the table that are not there; all that is made of them is missing.
    """

    design: Design
    absent: frozenset[int] = frozenset()

    @property
    def p(self) -> int:
        return self.design.p

    @property
    def names(self) -> NDArray[Any] | None:
        return self.design.names

    def parts(self, state_bytes: int) -> Sequence[Part]:
        return [partial(self._read, part) for part in self.source.parts(state_bytes)]

    def _read(self, part: Part) -> Iterator[Chunk]:
        for chunk in part():
            try:
                yield chunk._replace(X=self.encoded(as_columns(chunk.X)))
            except BadCell as bad:
                raise bad.below(chunk.first) from None

    def encoded(self, X: Columns) -> Block:
        """Rows of the table as those of the design matrix."""
        found = self.design.rows(X)
        if not self.absent:
            return found
        Z = found.to_array()
        Z[:, np.isin(self.design.owners, list(self.absent))] = np.nan
        return Dense(Z)

    # What a source that users pass has beside its rows: y and weights are those of the table.
    @property
    def targets(self) -> tuple[str, ...]:
        return self._table.targets

    def taking(self, features: Sequence[str], /, *, y: bool) -> Any:
        return self._table.taking(features, y=y)

    def partly(self) -> Self:
        return replace(self, source=self._table.partly())

    def others(self, columns: Sequence[str], /) -> Mapping[str, str]:
        return self._table.others(columns)

    def texts(self, columns: Sequence[str], /) -> frozenset[str]:
        return self._table.texts(columns)

    def categorised(self, columns: Collection[str], /) -> Self:
        return replace(self, source=self._table.categorised(columns))

    def worded(self) -> Self:
        return replace(self, source=self._table.worded())

    @property
    def _table(self) -> Stored:
        assert isinstance(self.source, Stored)
        return self.source


def as_columns(X: Block) -> Columns:
    """A block as columns of their own."""
    return X if isinstance(X, Columns) else Columns(tuple(X.to_array().T))


def encoding_threads(n: int) -> int:
    """How many threads are worth it for n rows in memory."""
    return cores() if n >= 50_000 else 1
