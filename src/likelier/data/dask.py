"""Dask arrays and frames as sources: a partition is a part, computed or kept where it is."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from likelier.array_types import Floats
from likelier.data import frames
from likelier.data.chunk import PART_BYTES, Chunk, Part
from likelier.data.labels import code, first_seen, label_counts
from likelier.data.matrix import Block, Dense, block
from likelier.data.row_numbers import UncountedPieces, firsts, found, rows_of
from likelier.data.table_columns import table_of
from likelier.data.transforms import AT_HAND, Partitions

# What a task makes of the partitions of Dask collections that it is brought: chunks.

SAID = {"X": "X", "y": "y", "w": "sample_weight"}


@dataclass(frozen=True)
class PartitionReader:
    """What is made of a partition's X, y and weights: all that travels."""

    columns: tuple[int, ...] | None = None  # by number; None: all of them
    categories: bool = False  # columns of text are such
    y: Literal["numbers", "labels", "codes", "count"] = (
        "numbers"  # "count": rows alone, none of their cells
    )
    levels: NDArray[Any] | None = None
    partly: bool = False  # labels may be missing
    brings: tuple[str, ...] = ()  # which of X, y and w a task is brought

    def chunks(self, number: int, first: int, length: int | None, state_bytes: int) -> Iterator[Chunk]:
        """The rows of partition `number`, the first of which has the number `first`."""
        held = dict(zip(self.brings, AT_HAND.get(), strict=True))
        n = self._length(held, number, length)
        if self.y == "count":
            yield rows_of(number, n)
        if n == 0 or self.y == "count":
            return
        w = None if "w" not in held else self._weights(held["w"], number)
        y: Any = None if "y" not in held else frames.values_of(held["y"])
        if self.y == "labels":
            labels, counts = self._labels(y, w, number)
            yield Chunk(Dense(np.empty((n, 0))), labels, counts, first)
            return
        X = self._block(held["X"], number) if self.columns != () else Dense(np.empty((n, 0)))
        y = None if y is None else self._numbers(y, number) if self.y == "numbers" else self._codes(y)
        whole = Chunk(X, y, w, first)
        rows = max(1, max(PART_BYTES, 4 * state_bytes) // max(1, X.row_bytes))
        for start in range(0, n, rows):
            yield whole if n <= rows else whole.take(slice(start, min(n, start + rows)))

    def _length(self, held: Mapping[str, Any], number: int, length: int | None) -> int:
        """How many rows there are: as many of one as of the others, and as was said."""
        first, *others = ((name, int(each.shape[0])) for name, each in held.items())
        for other in others:
            check_same(number, first, other)
        n = first[1]
        if length is not None and n != length:
            raise ValueError(
                f"partition {number} has {n} rows, but its collection reported {length}: call "
                "compute_chunk_sizes() on it first, or persist() what is not the same each time."
            )
        return n

    def _block(self, X: Any, number: int) -> Block:
        frame = None if isinstance(X, np.ndarray) or issparse(X) else frames.frame(X)
        try:
            if frame is not None:
                some = frame if self.columns is None else frame[:, list(self.columns)]
                return table_of(some)[1] if self.categories else frames.columns(some)
            if isinstance(X, np.ndarray) and X.dtype.kind in "OUT" and self.categories:
                found: Block = frames.of_objects(X)
            else:
                found = block(X if issparse(X) else _cells(X))
        except ValueError as wrong:
            raise ValueError(f"partition {number}: {wrong}") from None
        return found if self.columns is None else found.select(np.array(self.columns, dtype=np.intp))

    def _weights(self, w: Any, number: int) -> Floats:
        found = np.ascontiguousarray(frames.values_of(w), dtype=np.float64)
        _refuse(~(np.isfinite(found) & (found >= 0)), found, number, "sample_weight", _WEIGHT)
        return found

    def _labels(self, y: NDArray[Any], w: Floats | None, number: int) -> tuple[NDArray[Any], Floats]:
        """The labels, each once, and the weight and number of their rows: all that a survey needs."""
        gone = missing(y)
        if not self.partly:
            _refuse(gone, y, number, "y", "Input y contains NaN: every row to train on needs a label.")
        if y.dtype.kind == "f":
            with np.errstate(invalid="ignore"):
                _refuse(~gone & ~(np.floor(y) == y), y, number, "y", _CONTINUOUS)
                _refuse(np.isinf(y), y, number, "y", "Input y contains infinity.")
        elif y.dtype.kind == "c":
            _refuse(np.ones(len(y), dtype=np.bool_), y, number, "y", _CONTINUOUS)
        if gone.any():
            y, w = y[~gone], None if w is None else w[~gone]
        return label_counts(*first_seen(y), w)

    def _codes(self, y: NDArray[Any]) -> NDArray[np.int32]:
        assert self.levels is not None
        there = ~missing(y)
        if there.all():
            return code(y, self.levels)
        codes = np.full(len(y), -1, dtype=np.int32)
        codes[there] = code(y[there], self.levels)
        return codes

    def _numbers(self, y: NDArray[Any], number: int) -> NDArray[Any]:
        if y.dtype.kind not in "fiub":
            raise ValueError(
                f"partition {number}: y is of type {y.dtype}: a regression needs a numeric target."
            )
        bad = ~np.isfinite(y)
        _refuse(
            bad if y.ndim == 1 else bad.any(axis=1), y, number, "y", "Input y contains NaN or infinity."
        )
        return y


_WEIGHT = "Weights must be finite and not negative."
_CONTINUOUS = (
    "Unknown label type: continuous. Classes are whole numbers, strings or booleans; for a target of real "
    "numbers use a regression."
)


def missing(y: NDArray[Any]) -> NDArray[np.bool_]:
    """Which labels are none: None, NaN, NaT or pandas' NA."""
    kind = y.dtype.kind
    if kind in "fc":
        return np.asarray(np.isnan(y))
    if kind in "mM":
        return np.asarray(np.isnat(y))
    if kind not in "OT":
        return np.zeros(len(y), dtype=np.bool_)
    return np.fromiter((_none(label) for label in y), np.bool_, len(y))


def _none(label: Any) -> bool:
    if label is None:
        return True
    same = label == label
    return not (isinstance(same, bool | np.bool_) and same)


def _cells(X: Any) -> NDArray[Any]:
    """A block of an array as the kernels take it."""
    cells: NDArray[Any] = np.asarray(X)
    if cells.dtype.kind in "mM":
        raise ValueError("Input X contains dates or times: convert them to numbers.")
    return cells if cells.dtype.kind in "fiub" and cells.dtype.char != "g" else cells.astype(np.float64)


def _refuse(bad: NDArray[np.bool_], values: NDArray[Any], number: int, name: str, why: str) -> None:
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(f"row {row} of partition {number}: {name} is {values[row]}. {why}")


def check_same(number: int, one: tuple[str, int], other: tuple[str, int]) -> None:
    """Refuse a partition of which X, y and weights have not as many rows."""
    if one[1] != other[1]:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: in partition {number}, "
            f"{SAID[one[0]]} has {one[1]} rows, {SAID[other[0]]} has {other[1]}."
        )


# Dask arrays and frames: partitions are parts, which Dask computes, or keeps, where they are.

Keys = list[Any]


def is_collection(X: Any) -> bool:
    """Whether X is Dask's: something that is to be computed."""
    return hasattr(type(X), "__dask_graph__")


# ---- where they are ------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class CollectedTasks:
    """The tasks of X, y and weights, whose partitions go together."""

    graph: dict[Any, Any] = field(compare=False)  # keys say what tasks are
    keys: dict[str, Keys]  # of X, y and w, each a key for each partition
    lengths: tuple[int, ...] | None  # rows of the partitions; None: not known
    collections: tuple[Any, ...] = field(compare=False)
    culled: dict[tuple[str, ...], Partitions] = field(default_factory=dict, compare=False)
    known: dict[int, int] = field(default_factory=dict, compare=False)  # rows of partitions, once counted

    @property
    def count(self) -> int:
        """How many partitions there are."""
        return len(next(iter(self.keys.values())))

    def bringing(self, names: tuple[str, ...]) -> Partitions:
        """What makes some of them, and no more."""
        if names not in self.culled:
            from dask.optimization import cull

            keys = list(zip(*(self.keys[name] for name in names), strict=True))
            graph, _ = cull(self.graph, [key for each in keys for key in each])
            self.culled[names] = Partitions(graph, keys)
        return self.culled[names]


@dataclass(frozen=True, repr=False, eq=False)
class DaskRows:
    """The rows of Dask collections, cut into parts as these are: a source that brings y and weights."""

    held: CollectedTasks
    kinds: tuple[tuple[str, str], ...]  # of the columns of X: what they are, and how they are described
    all_names: NDArray[Any] | None
    y_shape: tuple[int, ...]
    reading: PartitionReader

    def __repr__(self) -> str:
        rows = "" if self.rows is None else f"{self.rows} rows, "
        return f"<Dask collection: {rows}{self.p} features, {len(self.held.keys['X'])} partitions>"

    def __getstate__(self) -> dict[str, Any]:
        """Tasks do not travel: parts are brought their rows."""
        return vars(self) | {"held": replace(self.held, graph={}, collections=(), culled={})}

    @property
    def cluster(self) -> Any:
        """The client that is active, or else the scheduler that Dask has for such collections."""
        from dask.base import get_scheduler

        get = get_scheduler(collections=self.held.collections)
        return getattr(get, "__self__", get)

    @property
    def partitions(self) -> Partitions:
        return self.held.bringing(self.reading.brings)

    @property
    def _columns(self) -> Sequence[int]:
        return range(len(self.kinds)) if self.reading.columns is None else self.reading.columns

    @property
    def p(self) -> int:
        return len(self._columns)

    @property
    def names(self) -> Any:
        return None if self.all_names is None else self.all_names[list(self._columns)]

    @property
    def rows(self) -> int | None:
        return None if self.held.lengths is None else sum(self.held.lengths)

    @property
    def targets(self) -> tuple[str, ...]:
        if "y" not in self.reading.brings:
            return ()
        return ("(y)",) if not self.y_shape else tuple(f"(y, {j})" for j in range(self.y_shape[0]))

    def labels(self) -> Self:
        brings = tuple(name for name in self.reading.brings if name != "X")
        return replace(self, reading=replace(self.reading, y="labels", brings=brings))

    def partly(self) -> Self:
        return replace(self, reading=replace(self.reading, partly=True))

    def coded(self, levels: NDArray[Any]) -> Self:
        return replace(self, reading=replace(self.reading, y="codes", levels=levels))

    def without_target(self) -> Self:
        """The same rows and weights, without y."""
        brings = tuple(name for name in self.reading.brings if name != "y")
        return replace(self, reading=replace(self.reading, brings=brings))

    def taking(self, features: Sequence[Any], *, y: bool) -> Self:
        """By name, or, of columns that have none, by number."""
        known = list(range(len(self.kinds)) if self.all_names is None else self.all_names)
        unknown = [name for name in features if name not in known]
        if unknown:
            some = ", ".join(map(repr, known[:10]))
            raise ValueError(f"Input X has no column {unknown[0]!r}: it has {some}.")
        columns = tuple(known.index(name) for name in features)
        beside = tuple(name for name in self.reading.brings if name != "X") if y else ()
        brings = ("X", *beside) if columns or not beside else beside  # X tells how many rows there are
        return replace(self, reading=replace(self.reading, columns=columns, brings=brings))

    def _where(self, columns: Sequence[Any]) -> Iterator[tuple[Any, str, str]]:
        """What columns are; a target is checked as it is read."""
        known = range(len(self.kinds)) if self.all_names is None else self.all_names
        kinds = dict(zip(known, self.kinds, strict=True))
        return ((column, *kinds[column]) for column in columns if column in kinds)

    def others(self, columns: Sequence[Any]) -> Mapping[str, str]:
        found = self._where(columns)
        return {str(name): said for name, kind, said in found if kind not in ("number", "bool")}

    def texts(self, columns: Sequence[Any]) -> frozenset[str]:
        return frozenset(str(name) for name, kind, _ in self._where(columns) if kind == "category")

    def categorised(self, columns: Collection[str]) -> Self:
        return replace(self, reading=replace(self.reading, categories=True))

    def worded(self) -> Self:
        return self.categorised(())

    def parts(self, state_bytes: int) -> Sequence[Part]:
        lengths = self.held.lengths or [None] * self.held.count
        return [
            partial(self.reading.chunks, number, first, length, state_bytes)
            for number, (first, length) in enumerate(zip(firsts(lengths), lengths, strict=True))
        ]

    @property
    def provisional(self) -> bool:
        """Whether rows have no true numbers: nobody knows how many there are in other partitions."""
        return self.held.lengths is None and self.held.count > 1

    def uncounted(self) -> UncountedPieces | None:
        """What counts the rows of partitions, computing as little as can be; None: they are known."""
        if self.held.known:
            return None
        least = next(name for name in ("y", "w", "X") if name in self.held.keys)
        reading = PartitionReader(y="count", brings=(least,))
        parts = [partial(reading.chunks, number, 0, None, 0) for number in range(self.held.count)]
        return UncountedPieces(parts, self.cluster, self.held.bringing((least,)))

    def counted(self, rows: Mapping[int, int]) -> None:
        """Keep how many rows were found in each partition."""
        self.held.known.update({i: rows.get(i, 0) for i in range(self.held.count)})

    def numbered(self) -> Self:
        """The same rows with their true numbers, all partitions being counted."""
        return replace(self, held=replace(self.held, lengths=self._known()))

    def _known(self) -> tuple[int, ...]:
        return tuple(self.held.known[number] for number in range(self.held.count))

    def place(self, row: int) -> str:
        if self.held.lengths is not None:
            return f"row {row}"
        at, number = found(row, self._known() if self.held.known else [None] * self.held.count)
        return f"row {number} of partition {at}"


# ---- the way in ----------------------------------------------------------------------------------
def collected(X: Any, y: Any = None, w: Any = None) -> DaskRows:
    """Dask collections of the same partitions as one source. Nothing is computed."""
    beside = {name: _column(name, each) for name, each in (("y", y), ("w", w)) if each is not None}
    given = {"X": _table(X)} | beside
    lengths = _lengths(given)
    graph: dict[Any, Any] = {}
    keys: dict[str, Keys] = {}
    for name, each in _optimised(given).items():
        keys[name] = [key[0] if isinstance(key, list) else key for key in each.__dask_keys__()]
        graph |= dict(each.__dask_graph__())
        # What is persisted on a cluster is its futures, which optimising leaves out.
        graph |= {key: node for key, node in dict(given[name].__dask_graph__()).items() if is_future(node)}
    held = CollectedTasks(graph, keys, lengths, tuple(given.values()))
    shape = (int(y.shape[1]),) if y is not None and y.ndim == 2 else ()
    return DaskRows(held, *_kinds(given["X"]), shape, PartitionReader(brings=tuple(keys)))


def _optimised(given: Mapping[str, Any]) -> dict[str, Any]:
    """Without what nobody asks for, such as columns; what X and y are both made of stays one task."""
    import dask

    arrays = {name: each for name, each in given.items() if _is_array(each)}
    found = dict(zip(arrays, dask.optimize(*arrays.values()), strict=True))
    # No more than simplified: to tune joins the partitions of Parquet where few columns are read.
    return {name: found[name] if name in found else each.simplify() for name, each in given.items()}


def is_future(node: Any) -> bool:
    """Whether a node of a graph stands for what a cluster holds."""
    return hasattr(node, "client") and hasattr(node, "key")


def whole_rows(X: Any) -> Any:
    """Dask's X, or y, with each row in one partition."""
    return X.rechunk({1: -1}) if X.ndim == 2 and _is_array(X) and len(X.chunks[1]) > 1 else X


def _dimensions(X: Any) -> int:
    ndim = getattr(X, "ndim", 0)
    return ndim if isinstance(ndim, int) else 0  # what is delayed has any attribute


def _is_array(X: Any) -> bool:
    return hasattr(X, "chunks")


def _table(X: Any) -> Any:
    if _dimensions(X) != 2:
        raise TypeError(
            f"Input X is a Dask {type(X).__name__}: it must be a Dask DataFrame or a two-dimensional "
            "Dask array."
        )
    if _is_array(X) and X.shape[1] != X.shape[1]:
        raise ValueError("Input X has an unknown number of columns: call compute_chunk_sizes() first.")
    return whole_rows(X)


def _column(name: str, y: Any) -> Any:
    """y or weights, of partitions as X has them."""
    if not is_collection(y):
        raise TypeError(
            f"X is a Dask collection, and {SAID[name]} is not ({type(y).__name__}): give it as one of the "
            "same partitions, as in dask.array.from_array(y, chunks=X.chunks[0]), or compute X first."
        )
    if _dimensions(y) not in ((1, 2) if name == "y" else (1,)):
        raise ValueError(
            f"{SAID[name]} must be a Dask Series or an array of shape (n,); got a Dask "
            f"{type(y).__name__} of {_dimensions(y)} dimensions."
        )
    return whole_rows(y)


def _lengths(given: Mapping[str, Any]) -> tuple[int, ...] | None:
    """The rows of each partition, where anything says how many; those of y and weights are the same."""
    counts = {
        name: len(each.chunks[0]) if _is_array(each) else each.npartitions for name, each in given.items()
    }
    for name, count in counts.items():
        if count != counts["X"]:
            raise ValueError(
                f"X has {counts['X']} partitions, {SAID[name]} has {count}: both need the same ones. "
                "Rechunk or repartition one of them."
            )
    known = {name: tuple(each.chunks[0]) for name, each in given.items() if _is_array(each)}
    known = {name: sizes for name, sizes in known.items() if all(size == size for size in sizes)}
    first = next(iter(known), None)
    for name, sizes in known.items():
        for number, (one, other) in enumerate(zip(known[str(first)], sizes, strict=True)):
            check_same(number, (str(first), one), (name, other))
    return None if first is None else tuple(int(size) for size in known[first])


def _kinds(X: Any) -> tuple[tuple[tuple[str, str], ...], NDArray[Any] | None]:
    """What the columns are, and their names, if they are strings."""
    if _is_array(X):
        kind = X.dtype.kind
        what = "category" if kind in "OUST" else "time" if kind in "mM" else "number"
        return ((what, str(X.dtype)),) * int(X.shape[1]), None
    frame = frames.frame(X._meta_nonempty)
    assert frame is not None
    kinds = [frames.read(series).kind for series in frame.iter_columns()]
    names = list(X.columns)
    named = all(isinstance(name, str) for name in names)
    shown = tuple(zip(kinds, map(str, X.dtypes), strict=True))
    return shown, np.array(names, dtype=object) if named else None
