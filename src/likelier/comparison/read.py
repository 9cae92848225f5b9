"""Rows for a comparison: from files and collections of any size, and the built-in tables."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from likelier.array_types import Floats
from likelier.comparison.rows import (
    MOST_ROWS,
    Rows,
    Seen,
    at_most,
    in_memory,
    labelled,
    of_columns,
    plain_labels,
    rows_of,
    sampled,
)
from likelier.data import CSR, Chunk, Columns, Factor, Source, Widening, columns_of
from likelier.data.files.columns import Roles
from likelier.data.files.scan import Scan
from likelier.display import some_of
from likelier.engines import run
from likelier.engines.row_numbers import numbered
from likelier.estimators import validation
from likelier.estimators.sources import gathered, stored
from likelier.model import levels
from likelier.states import Sample

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
            "X is a source, and brings y and weights along: name their columns, as in scan(path, "
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
    X = X.told(dict.fromkeys(dated, "date")) if dated else X
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
    return rows_of(found, plain_labels(y[at]), _weights(w, at), notes, target)


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
    return rows_of([*left, *of_columns(names, chunk.X)], y, _weights(chunk.w), notes, None)


def _sparse(X: Widening, seed: int, most: int) -> Rows:
    """Lines of svmlight's and VW's format."""
    chunk, y, notes = _with_labels(X, seed, at_most(most, 1), labels=False)
    assert isinstance(chunk.X, CSR)
    held = chunk.X
    whole = csr_matrix((held.values, held.columns, held.starts), shape=held.shape)
    return Rows((), y, _weights(chunk.w), whole, notes, X.targets[0])


def _usable(X: Any) -> tuple[list[str], list[Seen]]:
    """The columns that can be read, and what is said of the others."""
    names = list(columns_of(X))
    others, texts = X.others(names), X.texts(names)
    usable = [name for name in names if name not in others or name in texts]
    if not usable:
        raise ValueError(f"no column holds numbers, categories or text: {some_of(list(others))}.")
    lost = [(name, others[name]) for name in names if name not in usable]
    return usable, [Seen(name, None, f"holds no numbers ({kind}): left out") for name, kind in lost]


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
        found = run(numbered(rows), partial(_Drawing, Sample(most, seed=seed)))
    drawn = found.sample.rows()
    if drawn is None:
        raise ValueError("the table has no rows: there is nothing to compare.")
    return drawn, found.rows


class _Drawing:
    """A sample, and how many rows there were."""

    def __init__(self, sample: Sample) -> None:
        self.sample, self.rows = replace(sample, pieces=[]), 0

    @property
    def nbytes(self) -> int:
        return 0

    def update(self, chunk: Chunk) -> None:
        self.rows += chunk.X.shape[0]
        self.sample.update(chunk)

    def merge(self, other: "_Drawing") -> None:
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
