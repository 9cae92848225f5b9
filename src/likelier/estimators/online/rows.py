"""Input of online models: rows of any kind, as what can be hashed a batch at a time."""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import starmap
from typing import Any, NamedTuple, Protocol

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from likelier import _core
from likelier.array_types import Floats
from likelier.data import CSR, Chunk, Source, Stored, columns_of, levels_of
from likelier.data.files.svmlight import KeyedRows, SparseScan
from likelier.data.frames import block_columns, frame_columns
from likelier.data.labels import first_seen
from likelier.engines import chunks
from likelier.estimators import validation
from likelier.estimators.predictions import Opening
from likelier.estimators.sources import brought, stored
from likelier.estimators.validation import warn_of_many
from likelier.model import surveyed
from likelier.warning_location import outside

ROWS = 1 << 12  # that are hashed at a time: few enough to stay near the processor
Batches = Iterator["_core.HashedRows"]
Reader = Callable[[int, int], "_core.HashedRows"]  # of the rows from one number to another


class RowLabels(NamedTuple):
    """Codes of labels, and weights, of rows to learn from; None: rows to predict, and weights of 1."""

    codes: NDArray[np.int32] | None = None
    weights: Floats | None = None

    def rows(self, start: int, stop: int) -> "RowLabels":
        """Those of some rows."""
        codes = None if self.codes is None else self.codes[start:stop]
        return RowLabels(codes, None if self.weights is None else self.weights[start:stop])


class HashableRows(Protocol):
    """Rows to hash."""

    @property
    def n(self) -> int | None:
        """How many; None: they are read from files, a batch at a time."""

    @property
    def shown(self) -> Mapping[str, Any]:
        """What a model fitted to them says of their columns."""

    def hashed(self, intake: "_core.Intake", marks: RowLabels) -> Batches: ...


def cuts(n: int, rows: int = ROWS) -> Iterator[tuple[int, int]]:
    """Where n rows are cut, so many to a piece."""
    return ((start, min(n, start + rows)) for start in range(0, n, rows))


@dataclass(frozen=True)
class DictRows:
    """Features by name, a dict for each row."""

    X: list[Any]

    @property
    def n(self) -> int:
        return len(self.X)

    @property
    def shown(self) -> Mapping[str, Any]:
        return {}

    def hashed(self, intake: "_core.Intake", marks: RowLabels) -> Batches:
        for start, stop in cuts(self.n):
            yield intake.dicts(self.X[start:stop], *marks.rows(start, stop), start)


@dataclass(frozen=True)
class TableRows:
    """Columns of one type each."""

    columns: list["_core.Column"]
    n: int
    shown: Mapping[str, Any]

    @property
    def cells(self) -> int:
        return self.n * len(self.columns)

    def reader(self, intake: "_core.Intake", marks: RowLabels) -> Reader:
        return lambda start, stop: intake.columns(self.columns, start, stop, *marks.rows(start, stop))

    def hashed(self, intake: "_core.Intake", marks: RowLabels) -> Batches:
        return starmap(self.reader(intake, marks), cuts(self.n))


@dataclass(frozen=True)
class SparseRows:
    """Compressed sparse rows; columns without names go by number."""

    X: CSR
    names: Sequence[str]
    shown: Mapping[str, Any]

    @property
    def n(self) -> int:
        return self.X.shape[0]

    @property
    def cells(self) -> int:
        return int(self.X.starts[-1] - self.X.starts[0])

    def reader(self, intake: "_core.Intake", marks: RowLabels) -> Reader:
        names, p = list(self.names), self.X.p
        # Keys of all columns, once, where each is met once on average; else of the cells, as they come.
        often = bool(names) or self.cells >= p
        keys = _core.column_keys(names, p) if often else np.empty(0, dtype=np.uint64)

        def read(start: int, stop: int) -> "_core.HashedRows":
            X = self.X.rows(start, stop)
            return intake.sparse(X.starts, X.columns, X.values, keys, names, p, *marks.rows(start, stop))

        return read

    def hashed(self, intake: "_core.Intake", marks: RowLabels) -> Batches:
        return starmap(self.reader(intake, marks), cuts(self.n))


@dataclass(frozen=True)
class ScannedRows:
    """Rows of files, with the labels and weights that are in them; a cell that is missing is NaN."""

    source: Stored
    found: NDArray[Any] | None = None  # the sorted labels, of rows to learn from
    codes: NDArray[np.int32] | None = None  # of these

    n = None

    @property
    def shown(self) -> Mapping[str, Any]:
        if isinstance(self.source, SparseScan):
            return {}  # a feature goes by what is written, and any may come
        shown = {} if self.source.names is None else {"feature_names_in_": np.array(self.source.names)}
        return {"n_features_in_": self.source.p} | shown

    @property
    def batching(self) -> "BatchReader":
        return BatchReader(columns_of(self.source), self.codes)

    @property
    def coded(self) -> Source:
        """The rows, with their labels as codes, if they are to be learned from."""
        if self.found is None:
            return self.source.taking(columns_of(self.source), y=False).worded()
        return self.source.coded(self.found)

    def hashed(self, intake: "_core.Intake", marks: RowLabels) -> Batches:
        batching = self.batching
        for chunk in chunks(self.coded):
            yield from batching.hashed(chunk, intake)


@dataclass(frozen=True)
class BatchReader:
    """How chunks of a source are hashed: all that has to travel with its parts."""

    columns: Sequence[Any]
    codes: NDArray[np.int32] | None  # of the sorted labels

    def hashed(self, chunk: Chunk, intake: "_core.Intake") -> Batches:
        return self.rows(chunk).hashed(intake, self.marks(chunk))

    def rows(self, chunk: Chunk) -> "TableRows | SparseRows | TextRows":
        return of_block(self.columns, chunk.X)

    def marks(self, chunk: Chunk) -> RowLabels:
        if self.codes is None or chunk.y is None:
            return RowLabels()
        return RowLabels(np.append(self.codes, np.int32(-1))[chunk.y], chunk.w)


@dataclass(frozen=True)
class TextRows:
    """Rows of text of which the features have their keys already."""

    X: KeyedRows

    @property
    def n(self) -> int:
        return self.X.shape[0]

    @property
    def shown(self) -> Mapping[str, Any]:
        return {}  # a feature goes by what is written, and any may come

    def hashed(self, intake: "_core.Intake", marks: RowLabels) -> Batches:
        intake.skipped += self.X.skipped
        yield self.X.hashed(*marks)


def of_block(columns: Sequence[Any], X: Any) -> "TableRows | SparseRows | TextRows":
    """The rows of a chunk: columns by their names or numbers, or features by their keys."""
    if isinstance(X, KeyedRows):
        return TextRows(X)
    if isinstance(X, CSR):
        return SparseRows(X, [], {})
    return TableRows(block_columns(X, [str(column) for column in columns], gaps=True), X.shape[0], {})


# ---- X -----------------------------------------------------------------------------------------------
def rows_of(estimator: Any, X: Any, *, known: bool) -> HashableRows:
    """X, whatever it is. known: arrays are to have the columns that they had before."""
    if isinstance(X, TableRows | SparseRows | TextRows):  # of a chunk: it has been here before
        return X
    if isinstance(X, KeyedRows):
        return TextRows(X)
    if stored(X):
        if known and X.names is None and not isinstance(X, SparseScan):
            _array_names(estimator, X.p)
        return ScannedRows(worded(estimator, X))
    if isinstance(X, Mapping) and not issparse(X):
        raise TypeError("X is one dict: many rows are a list of dicts; for one, learn_one and predict_one.")
    if isinstance(X, list) and X and isinstance(X[0], Mapping):
        return DictRows(X)
    frame = validation.opened(X)
    if isinstance(frame, nw.DataFrame):
        return _frame(estimator, frame)
    if isinstance(frame, np.ndarray) and frame.dtype.kind in "OU" and frame.ndim == 2 and frame.size:
        n, p = frame.shape
        names = _array_names(estimator, p) if known else []
        return TableRows(_objects(estimator, frame, names), n, _unnamed(names, p))
    block = validation.rows_of(estimator, frame)
    n, p = block.shape
    names = _array_names(estimator, p) if known else []
    if isinstance(block, CSR):
        return SparseRows(block, names, _unnamed(names, p))
    return TableRows(block_columns(block, names or None, gaps=False), n, _unnamed(names, p))


def _objects(estimator: Any, X: NDArray[Any], names: list[str]) -> list["_core.Column"]:
    """The columns of an array of objects: each cell is read as a dict's values are."""
    strict = estimator.non_finite == "raise"
    named = names or [str(j) for j in range(X.shape[1])]
    return [_core.Column.objects(name, X[:, j].tolist(), strict) for j, name in enumerate(named)]


def _unnamed(names: list[str], p: int) -> Mapping[str, Any]:
    return {} if names else {"n_features_in_": p}


def worded(estimator: Any, X: Stored) -> Stored:
    """A source for an online model: numbers, strings and booleans; other columns raise an error."""
    if isinstance(X, SparseScan):
        settings = estimator._settings()
        return X.keyed(settings.interactions, finite=settings.non_finite == "raise")
    source = X.worded()
    columns = columns_of(source)
    usable = source.texts(columns)
    others = {name: kind for name, kind in source.others(columns).items() if name not in usable}
    if others:
        some = ", ".join(f"{name!r} ({kind})" for name, kind in others.items())
        raise ValueError(
            f"{type(estimator).__name__} takes numbers, strings and booleans, and these columns hold "
            f"others: {some}. Leave them out, as in scan(path, features=[...])."
        )
    return source


def _frame(estimator: Any, frame: Any) -> TableRows:
    if frame.shape[0] == 0:
        raise ValueError(f"Found array with 0 sample(s) (shape={frame.shape}): a minimum of 1 is required.")
    nameless = hasattr(estimator, "n_features_in_") and not hasattr(estimator, "feature_names_in_")
    if nameless and not _numbered(frame.columns):
        name = type(estimator).__name__
        warnings.warn(
            f"X has feature names, but {name} was fitted without feature names", stacklevel=outside()
        )
    columns = frame_columns(frame, strict=estimator.non_finite == "raise")
    names = np.asarray([str(name) for name in frame.columns], dtype=object)
    return TableRows(columns, frame.shape[0], {"n_features_in_": len(names), "feature_names_in_": names})


def _numbered(names: Sequence[Any]) -> bool:
    return all(str(name).isdigit() for name in names)


def _array_names(estimator: Any, p: int) -> list[str]:
    """The names of an array's columns: those of the frame that was fitted, or none."""
    names, kind = getattr(estimator, "feature_names_in_", None), type(estimator).__name__
    known = getattr(estimator, "n_features_in_", None) if names is None else len(names)
    if known is not None and known != p:
        raise ValueError(f"X has {p} features, but {kind} is expecting {known} features as input.")
    if names is None:
        return []
    said = f"X does not have valid feature names, but {kind} was fitted with feature names"
    warnings.warn(said, stacklevel=outside())
    return [str(name) for name in names]


# ---- y -----------------------------------------------------------------------------------------------
def labels_in(
    estimator: Any, rows: HashableRows, y: Any, sample_weight: Any, *, all_rows: bool = False
) -> tuple[NDArray[Any], Any, Any]:
    """The labels of rows with a positive weight, sorted; y and the weights, validated.

    all_rows: no further rows will follow, so that a class for most of them is warned of.
    """
    if isinstance(rows, ScannedRows):
        if y is not None or sample_weight is not None:
            raise ValueError("X is a source, which includes y and weights: pass neither of them.")
        if len(rows.source.targets) != 1:
            raise ValueError("the source needs one target: name its column, as in scan(path, target='y').")
        found, n = surveyed(rows.source)
        _check_kind(found)
        validation.weighty(len(found))
        warn_of_many(len(found), n if all_rows else 0)
        return found, None, None
    assert rows.n is not None
    y = validation.labels_of(estimator, y)
    _check_kind(y)
    if len(y) != rows.n:
        raise ValueError(
            "Found input variables with inconsistent numbers of samples: "
            f"X has {rows.n} rows, y has {len(y)}."
        )
    w = validation.weights_of(sample_weight, len(y))
    found = levels_of(y if w is None else y[w > 0])
    warn_of_many(len(found), len(y) if all_rows else 0)
    return found, y, w


def _check_kind(labels: NDArray[Any]) -> None:
    """Refuse moments, of which Python makes dates or, from nanoseconds, plain numbers."""
    if labels.dtype.kind in "mM":
        raise TypeError(
            f"y must hold strings, numbers or booleans; got values of type {labels.dtype}. If these "
            "are classes, convert them to strings, as by astype(str)."
        )


def marked(
    rows: HashableRows, found: NDArray[Any], y: Any, w: Any, codes: Mapping[Any, int]
) -> tuple[HashableRows, RowLabels]:
    """Rows with their labels coded; rows with other labels have weight 0 and are not learned from."""
    if isinstance(rows, ScannedRows):
        table = np.array([codes.get(label, -1) for label in found.tolist()], dtype=np.int32)
        return ScannedRows(rows.source, found, table), RowLabels()
    places, seen = first_seen(y)
    table = np.array([codes.get(label, -1) for label in seen.tolist()], dtype=np.int32)
    return rows, RowLabels(table[places], w)


def hashable(model: Any, X: Stored, y: Any, sample_weight: Any) -> tuple[Source, Opening]:
    """A source on which to evaluate an online model."""
    source = worded(model, brought(model, X, y, sample_weight, known=False))
    return source, partial(of_block, [str(name) for name in columns_of(source)])
