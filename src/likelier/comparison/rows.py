"""The table of a comparison: read from arrays, frames, files and built-in data, held in memory."""

import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property, partial
from os import PathLike
from typing import Any, Literal, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from likelier.array_types import Floats, Indices, rows_that_count
from likelier.data import CSR, Chunk, Columns, Factor, Source, Widening, columns_of, frames
from likelier.data.documents import learned_words
from likelier.data.files.columns import Roles
from likelier.data.files.scan import Scan
from likelier.data.row_numbers import keys_of
from likelier.data.table_columns import DATE, TableColumn
from likelier.data.table_columns import Kind as TableKind
from likelier.display import counted, some_of
from likelier.engines import run
from likelier.engines.run import numbered
from likelier.estimators import validation
from likelier.estimators.sources import gathered, stored
from likelier.estimators.tables import feature_names
from likelier.estimators.validation import missing
from likelier.model import levels
from likelier.states import RowSample

# What a column is to a comparison: numbers, categories, text; and those that nobody should learn from.

Kind = Literal["number", "category", "text"]

FEW = 20  # rows, among which values that are all different say nothing yet
WORDS = 4  # from so many to a cell, on average, cells are sentences
DAY = np.timedelta64(1, "D")


class Column(NamedTuple):
    """A column that models learn from."""

    name: str
    kind: Kind
    values: Any  # float64, NaN where missing; or a Factor
    date: bool = False  # numbers that are days since 1970
    zone: str | None = None  # of dates


class ColumnReport(NamedTuple):
    """What became of a column; note: what a reader should know of that, None: nothing."""

    name: str
    column: Column | None
    note: str | None = None
    spare: Column | None = None  # left out, but better than nothing


def seen(name: str, values: NDArray[Any] | Factor) -> ColumnReport:
    """A column as models may use it."""
    return _factor(name, values) if isinstance(values, Factor) else _numbers(name, values)


def dates(name: str, values: NDArray[np.datetime64], zone: str | None = None) -> ColumnReport:
    """Times as days since 1970, NaN where missing."""
    return days(name, np.where(np.isnat(values), np.nan, (values - np.datetime64(0, "D")) / DAY), zone)


def days(name: str, values: Floats, zone: str | None = None) -> ColumnReport:
    """Days since 1970, NaN where missing; that each is there but once does not make them an id."""
    found = _numbers(name, values)
    if found.column is None and found.spare is None:
        return found
    column = found.column or found.spare
    assert column is not None
    return ColumnReport(name, column._replace(date=True, zone=zone), "is a date: used as a number of days")


def _numbers(name: str, values: NDArray[Any]) -> ColumnReport:
    x = np.asarray(values, dtype=np.float64)
    there = x[~np.isnan(x)]
    if np.isinf(there).any():
        raise ValueError(
            f"column {name!r} has an infinite value in row {int(np.argmax(np.isinf(x)))} of those compared "
            f"({int(np.isinf(x).sum())} in all): leave such rows out, or mark the cells as missing."
        )
    if not len(there) or there.min() == there.max():
        return ColumnReport(name, None, _constant(there))
    column = Column(name, "number", x)
    if len(there) == len(x) >= FEW and _counts_rows(x):
        return ColumnReport(name, None, "looks like an id (whole numbers, each once): left out", column)
    return ColumnReport(name, column)


def _counts_rows(x: Floats) -> bool:
    """Whether it numbers the rows: whole numbers that only grow, or all of a range."""
    if not (x == np.floor(x)).all():
        return False
    return bool((np.diff(x) > 0).all() or (np.diff(np.sort(x)) == 1).all())


def _factor(name: str, values: Factor) -> ColumnReport:
    used, n = values.used(), int((values.codes >= 0).sum())
    if len(used) == 0 or (len(used) == 1 and n == len(values)):
        return ColumnReport(name, None, _constant(used))
    texts = [str(level) for level in used]
    if all(DATE.fullmatch(text) for text in texts):
        return dates(name, _parsed(values))
    words = float(np.mean([text.count(" ") + 1 for text in texts]))
    if words >= WORDS and len(used) > n / 2:
        return ColumnReport(name, Column(name, "text", values))
    column = Column(name, "category", values)
    if n >= FEW and len(used) > 0.9 * n:
        return ColumnReport(name, None, "looks like an id (hardly a value comes twice): left out", column)
    return ColumnReport(name, column)


def _parsed(values: Factor) -> NDArray[np.datetime64]:
    known = [np.datetime64(str(level).rstrip("Z").replace(" ", "T"), "s") for level in values.levels]
    return np.array([*known, np.datetime64("NaT")], dtype="datetime64[s]")[values.codes]


def _constant(values: NDArray[Any]) -> str:
    return f"has one value ({values[0]}): left out" if len(values) else "is empty: left out"


# ---- what is said of them --------------------------------------------------------------------------
def kept(found: Sequence[ColumnReport]) -> tuple[tuple[Column, ...], tuple[str, ...]]:
    """The columns to learn from, and what a reader should know, one line for each thing that is said."""
    columns = tuple(each.column for each in found if each.column is not None)
    spares = tuple(each.spare for each in found if each.spare is not None)
    said: dict[str, list[str]] = {}
    for each in found:
        if each.note is not None:
            note = each.note if columns or each.spare is None else "looks like an id, and is all there is"
            said.setdefault(note, []).append(each.name)
    notes = tuple(f"{some_of(names)}: {note}" for note, names in said.items())
    if not columns and not spares:
        raise ValueError(f"no feature column is left: {'; '.join(notes) or 'there is none'}.")
    return columns or spares, notes


# The rows of a comparison, in memory: all of a table, or a sample of one that is larger.

_KINDS: dict[Kind, TableKind] = {"number": "number", "category": "category", "text": "category"}


MOST_ROWS = 50_000  # of a table that is larger, so many are compared on
MOST_CELLS = 1 << 26  # and no more than half a GB of numbers


@dataclass(frozen=True)
class Rows:
    """Columns that models learn from, or a sparse matrix; y, weights, and what a reader should know."""

    columns: tuple[Column, ...]
    y: NDArray[Any]
    w: Floats | None = None
    sparse: Any = None
    notes: tuple[str, ...] = ()
    target: str | None = None  # its name, if it has one
    places: tuple[str, ...] | None = None  # of all columns of a table without names; None: they have some
    index: Indices | None = None  # (n,) their places among the rows that were handed in, if in memory
    given: int = 0  # how many those were
    sampled: bool = False  # there are more rows than these

    def __len__(self) -> int:
        return len(self.y)

    @property
    def p(self) -> int:
        return len(self.columns) if self.sparse is None else int(self.sparse.shape[1])

    def of(self, *kinds: str) -> tuple[Column, ...]:
        """The columns of these kinds."""
        return tuple(column for column in self.columns if column.kind in kinds)

    def table(self, columns: Sequence[Column]) -> tuple[tuple[TableColumn, ...], Columns]:
        """Some columns as the table that a design matrix is made of."""
        kinds = [
            TableColumn(c.name, "date", c.zone) if c.date else TableColumn(c.name, _KINDS[c.kind])
            for c in columns
        ]
        return tuple(kinds), Columns(tuple(column.values for column in columns))

    @cached_property
    def numbers(self) -> Floats:
        """(n, p) of the columns of numbers, NaN where one is missing."""
        found = [column.values for column in self.of("number")]
        return np.column_stack(found) if found else np.empty((len(self), 0))

    @cached_property
    def words(self) -> dict[str, tuple[CSR, list[str]]]:
        """Of each column of text, how often each word stands in each row; and the words."""
        found = {}
        for column in self.of("text"):
            counts, words = learned_words([*map(str, column.values.levels), ""])
            found[column.name] = counts.take(column.values.codes % len(counts.starts[1:])), words
        return found

    @property
    def gaps(self) -> int:
        """Cells that are missing."""
        factors = sum(int((column.values.codes < 0).sum()) for column in self.of("category", "text"))
        held = self.numbers if self.sparse is None else self.sparse.data
        return factors + int(np.isnan(held).sum())

    def take(self, at: Indices, note: str) -> "Rows":
        """Some of the rows; columns stay what they are."""
        columns = tuple(column._replace(values=column.values[at]) for column in self.columns)
        return replace(
            self,
            columns=columns,
            y=self.y[at],
            w=None if self.w is None else self.w[at],
            sparse=None if self.sparse is None else self.sparse[at],
            index=None if self.index is None else self.index[at],
            notes=(*self.notes, note),
        )


def in_memory(X: Any, y: Any, sample_weight: Any = None, *, seed: int, most: int) -> Rows:
    """Arrays, frames and sparse matrices."""
    if isinstance(X, str | PathLike):
        raise ValueError(f"X is a path: pass its contents, as in scan({str(X)!r}, target='y').")
    if y is None:
        raise ValueError("y is None: with an array or a frame, compare needs the target.")
    frame = None if isinstance(X, np.ndarray) else frames.frame(X)
    if isinstance(y, str):
        frame, y = _parted(frame, y)
    if frame is None and not hasattr(X, "tocsr"):
        X = np.asarray(X)
    if frame is None and len(X.shape) != 2:
        raise ValueError(
            f"Expected 2D array, got {len(X.shape)}D array instead: X must be a table of rows and columns; "
            f"got shape {X.shape}."
        )
    n, p = X.shape if frame is None else frame.shape
    name = getattr(y, "name", None)
    y = np.asarray(frames.values_of(nw.to_native(y, pass_through=True)))
    if y.ndim != 1 or len(y) != n:
        raise ValueError(f"y must have one label or number for each of the {n} rows; got shape {y.shape}.")
    w = validation.weights_of(sample_weight, n)
    at, notes = labelled(y, w)
    labels = len(at)
    if labels > (few := at_most(most, p if not hasattr(X, "tocsr") else 1)):
        notes = (sampled(few, len(at)), *notes)
        # By the hash that files are sampled by: a table is compared on the same rows, wherever it is.
        at = np.sort(at[np.argpartition(keys_of(at, seed), few - 1)[:few]])
    y, w = plain_labels(y[at]), None if w is None else w[at]
    if frame is None and hasattr(X, "tocsr"):
        held = csr_matrix(X)[at]
        of = None if name is None else str(name)
        return Rows((), y, w, _finite(held), notes, of, index=at, given=n, sampled=len(at) < labels)
    whole = len(at) == n
    found = _of_array(X if whole else X[at]) if frame is None else _of_frame(frame if whole else frame[at])
    rows = rows_of(list(found), y, w, notes, None if name is None else str(name))
    rows = replace(rows, index=at, given=n, sampled=len(at) < labels)
    if frame is not None and feature_names(frame) is not None:
        return rows
    return replace(
        rows, places=tuple(f"x{j}" for j in range(p)) if frame is None else tuple(map(str, frame.columns))
    )


def _parted(frame: frames.Frame | None, target: str) -> tuple[frames.Frame, Any]:
    """All other columns, and that of the target."""
    if frame is None:
        raise ValueError(f"y={target!r} names a column, but X is not a data frame: pass y itself.")
    if target not in frame.columns:
        near = get_close_matches(target, [str(name) for name in frame.columns], n=3)
        hint = f"did you mean {' or '.join(near)}?" if near else f"it has {some_of(frame.columns)}."
        raise ValueError(f"y={target!r}: X has no such column; {hint}")
    return frame.drop(target), frame[target]


def rows_of(
    found: Sequence[ColumnReport],
    y: NDArray[Any],
    w: Floats | None,
    notes: tuple[str, ...],
    target: str | None,
) -> Rows:
    """Of columns as they were seen."""
    if len(y) < 2:
        raise ValueError(f"a comparison needs at least 2 rows; got {len(y)}.")
    columns, said = kept(found)
    return Rows(columns, y, w, notes=(*notes, *said), target=target)


def labelled(y: NDArray[Any], w: Floats | None) -> tuple[Indices, tuple[str, ...]]:
    """The rows that have a label and a weight, and what is to be said if some have none."""
    if y.dtype.kind == "f" and np.isinf(y).any():
        row = int(np.argmax(np.isinf(y)))
        raise ValueError(f"the target is {y[row]} in row {row}: leave such rows out.")
    gone = missing(y)
    there = np.flatnonzero(rows_that_count(~gone, w))
    if not len(there):
        raise ValueError("no row has both a label and a positive weight: there is nothing to compare on.")
    return there, (f"{counted(int(gone.sum()), 'row')} without a label: left out",) if gone.any() else ()


def plain_labels(y: NDArray[Any]) -> NDArray[Any]:
    """Objects that are all text, or all numbers, as an array of these."""
    found = np.array(y.tolist()) if y.dtype.kind == "O" else y
    alike = len({type(label) for label in y.tolist()}) == 1 if found.dtype.kind == "U" else True
    return found if found.ndim == 1 and alike else y


def at_most(most: int, p: int) -> int:
    """So many rows, and no more cells than memory should hold."""
    if most < 1:
        raise ValueError(f"max_rows must be an integer >= 1; got {most!r}.")
    return most if most == sys.maxsize else max(1, min(most, MOST_CELLS // max(p, 1)))


def sampled(few: int, n: int) -> str:
    """What is said of a sample."""
    return f"compared on a sample of {few:,} rows out of {n:,}"


def _finite(X: Any) -> Any:
    if not np.isfinite(X.data).all():
        at = int(np.argmin(np.isfinite(X.data)))
        row = int(np.searchsorted(X.indptr, at, side="right")) - 1
        raise ValueError(
            f"X has {X.data[at]} in row {row}, column {X.indices[at]} of those compared: a sparse matrix "
            "has finite numbers alone."
        )
    return X


def _of_array(X: NDArray[Any]) -> Iterator[ColumnReport]:
    if X.dtype.kind not in "fiub":
        yield from of_columns([f"x{j}" for j in range(X.shape[1])], frames.of_objects(X))
        return
    for j, column in enumerate(X.T):
        yield seen(f"x{j}", column)


def _of_frame(frame: frames.Frame) -> Iterator[ColumnReport]:
    for series in frame.iter_columns():
        name = str(series.name)
        kind, values = frames.read(series)
        if values is not None:
            yield seen(name, values)
        elif kind == "category":
            yield seen(name, frames.series_factor(series))
        elif kind == "time":
            zone = getattr(series.dtype, "time_zone", None)
            yield dates(name, series.to_numpy().astype("datetime64[s]"), zone)
        else:
            yield ColumnReport(name, None, f"holds {kind} values: left out")


def of_columns(names: Sequence[Any], X: Any, dated: Collection[str] = ()) -> Iterator[ColumnReport]:
    """Of the columns of a block, of which some are days since 1970."""
    arrays: Sequence[NDArray[Any] | Factor] = X.arrays if isinstance(X, Columns) else X.to_array().T
    for name, values in zip(names, arrays, strict=True):
        if name in dated and not isinstance(values, Factor):
            yield days(str(name), values)
        else:
            yield seen(str(name), values)


# The rows of a comparison from files and collections of any size: all of them, or a sample.


def opened(
    X: Any, y: Any = None, sample_weight: Any = None, *, seed: int = 0, most: int = MOST_ROWS
) -> Rows:
    """What a user hands in, checked; of more rows than `most`, a sample. What was read is done."""
    if isinstance(X, Rows):
        return X
    X, y, sample_weight = gathered(X, y, sample_weight)
    if not stored(X):
        return in_memory(X, y, sample_weight, seed=seed, most=most)
    if y is not None or sample_weight is not None:
        raise ValueError(
            "X is a source, which includes y and weights: name their columns, as in scan(path, "
            "target='y', weight='w')."
        )
    if len(X.targets) != 1:
        raise ValueError("compare needs a source with one target, as in scan(path, target='y').")
    if isinstance(X, Widening):
        return _sparse(X, seed, most)
    return _scanned(X, seed, most) if isinstance(X, Scan) else _collected(X, seed, most)


def _scanned(X: Scan, seed: int, most: int) -> Rows:
    """Files, read once: target and weights are columns among others, whose cells may be missing."""
    (target,), weight = X.targets, X.roles.weight
    dated = X.dates(columns_of(X))
    X = X.with_types(dict.fromkeys(dated, "date")) if dated else X
    names, left = _usable(X)
    if X.others([target]) and target not in X.texts([target]):
        raise ValueError(
            f"the target {target!r} holds no labels or numbers ({X.others([target])[target]})."
        )
    roles = (target, *(() if weight is None else (weight,)))
    source = replace(X, roles=Roles((*names, *roles))).categorised(X.texts([*names, target]))
    chunk, n = _drawn(source, seed, at_most(most, len(names)))
    assert isinstance(chunk.X, Columns)
    arrays = chunk.X.arrays
    y = _labels(arrays[len(names)])
    w = None if weight is None else validation.weights_of(arrays[-1], len(y))
    at, notes = labelled(y, w)
    if n > len(y):
        notes = (sampled(len(y), n), *notes)
    X_held = Columns(arrays[: len(names)]).take(at)
    found = [*left, *of_columns(names, X_held, dated)]
    return replace(rows_of(found, plain_labels(y[at]), _weights(w, at), notes, target), sampled=n > len(y))


def _labels(column: NDArray[Any] | Factor) -> NDArray[Any]:
    """Numbers, or text, None where it is missing."""
    if not isinstance(column, Factor):
        return column
    return np.asarray(np.array([*column.levels.tolist(), None], dtype=object)[column.codes])


def _collected(X: Any, seed: int, most: int) -> Rows:
    """Collections of Dask: y comes beside X."""
    names, left = _usable(X)
    source, texts = X.taking(names, y=True), X.texts(names)
    kind = getattr(X.held.collections[1], "dtype", None)
    labels = not (isinstance(kind, np.dtype) and kind.kind in "fiub")
    source = source.categorised(texts) if texts else source
    chunk, y, notes = _with_labels(source, seed, at_most(most, len(names)), labels=labels)
    rows = rows_of([*left, *of_columns(names, chunk.X)], y, _weights(chunk.w), notes, None)
    return replace(rows, sampled=bool(notes))


def _sparse(X: Widening, seed: int, most: int) -> Rows:
    """Lines of svmlight's and VW's format."""
    chunk, y, notes = _with_labels(X, seed, at_most(most, 1), labels=False)
    assert isinstance(chunk.X, CSR)
    held = chunk.X
    whole = csr_matrix((held.values, held.columns, held.starts), shape=held.shape)
    return Rows((), y, _weights(chunk.w), whole, notes, X.targets[0], sampled=bool(notes))


def _usable(X: Any) -> tuple[list[str], list[ColumnReport]]:
    """The columns that can be read, and what is said of the others."""
    names = list(columns_of(X))
    others, texts = X.others(names), X.texts(names)
    usable = [name for name in names if name not in others or name in texts]
    if not usable:
        raise ValueError(f"no column holds numbers, categories or text: {some_of(list(others))}.")
    lost = [(name, others[name]) for name in names if name not in usable]
    return usable, [ColumnReport(name, None, f"holds no numbers ({kind}): left out") for name, kind in lost]


# ---- samples -------------------------------------------------------------------------------------
def _with_labels(
    source: Any, seed: int, most: int, *, labels: bool
) -> tuple[Chunk, NDArray[Any], tuple[str, ...]]:
    """At most so many rows, their y, and what is to be said if there are more; labels: y is no numbers."""
    classes = levels(source) if labels else None
    chunk, n = _drawn(source if classes is None else source.coded(classes), seed, most)
    assert chunk.y is not None
    y = chunk.y if classes is None else classes[chunk.y]
    return chunk, y, (sampled(len(y), n),) if n > len(y) else ()


def _drawn(rows: Source, seed: int, most: int) -> tuple[Chunk, int]:
    """At most so many rows, and how many there are."""
    with validation.naming(rows):
        found = run(numbered(rows), partial(_DrawnRows, RowSample(most, seed=seed)))
    drawn = found.sample.rows()
    if drawn is None:
        raise ValueError("the table has no rows: there is nothing to compare.")
    return drawn, found.rows


class _DrawnRows:
    """A sample, and how many rows there were."""

    def __init__(self, sample: RowSample) -> None:
        self.sample, self.rows = replace(sample, pieces=[]), 0

    @property
    def nbytes(self) -> int:
        return 0

    def update(self, chunk: Chunk) -> None:
        self.rows += chunk.X.shape[0]
        self.sample.update(chunk)

    def merge(self, other: "_DrawnRows") -> None:
        self.rows += other.rows
        self.sample.merge(other.sample)


def _weights(w: Floats | None, at: Any = slice(None)) -> Floats | None:
    return None if w is None or (w[at] == 1).all() else w[at]


# Fifteen people, their height in metres and their weight in kilograms.
#
# The table of Chrupała's lecture on linear models (2012): a line in height³ fits better than in height.

HEIGHT = (1.47, 1.50, 1.52, 1.55, 1.57, 1.60, 1.63, 1.65, 1.68, 1.70, 1.73, 1.75, 1.78, 1.80, 1.83)
WEIGHT = (52.2, 53.1, 54.4, 55.8, 57.2, 58.5, 59.9, 61.2, 63.0, 64.4, 66.2, 68.0, 69.9, 72.1, 74.4)


# Small tables that are always at hand: scikit-learn's, and the heights and weights of fifteen people.


def built_in(name: str) -> tuple[Any, str]:
    """wine, iris, breast-cancer, digits or heights, as a table of Arrow's; and its target."""
    import pyarrow as pa

    if name == "heights":
        return pa.table({"height": HEIGHT, "weight": WEIGHT}), "weight"
    from sklearn import datasets

    found = getattr(datasets, f"load_{name.replace('-', '_')}")()
    columns = dict(zip(map(str, found.feature_names), found.data.T.copy(), strict=True))
    return pa.table(columns | {"class": found.target_names[found.target]}), "class"
