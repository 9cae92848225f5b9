"""The rows of a comparison, in memory: all of a table, or a sample of one that is larger."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from likelier.comparing.columns import Column, Seen, dates, gathered_notes, seen
from likelier.data import CSR, Chunk, Columns, Factor, Source, Stored, Widening, columns_of, frames
from likelier.engines import run
from likelier.estimators import door
from likelier.estimators.collections import gathered
from likelier.estimators.sources import stored
from likelier.model import levels
from likelier.states import Sample

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

MOST_ROWS = 50_000  # of a table that is larger, so many are compared on
MOST_CELLS = 1 << 27  # 1 GB


@dataclass(frozen=True)
class Rows:
    """Columns that models learn from, or a sparse matrix; y, weights, and what a reader should know."""

    columns: tuple[Column, ...]
    y: NDArray[Any]
    w: Floats | None = None
    sparse: Any = None
    notes: tuple[str, ...] = ()
    target: str | None = None  # its name, if it has one

    def __len__(self) -> int:
        return len(self.y)

    @property
    def p(self) -> int:
        return len(self.columns) if self.sparse is None else int(self.sparse.shape[1])

    def of(self, *kinds: str) -> tuple[Column, ...]:
        """The columns of these kinds."""
        return tuple(column for column in self.columns if column.kind in kinds)

    @cached_property
    def numbers(self) -> Floats:
        """(n, p) of the columns of numbers, NaN where one is missing."""
        found = [column.values for column in self.of("number")]
        return np.column_stack(found) if found else np.empty((len(self), 0))

    @property
    def gaps(self) -> int:
        """Cells that are missing."""
        factors = sum(int((column.values.codes < 0).sum()) for column in self.of("category", "text"))
        held = self.numbers if self.sparse is None else self.sparse.data
        return factors + int(np.isnan(held).sum())


def opened(X: Any, y: Any = None, *, seed: int = 0, most: int = MOST_ROWS) -> Rows:
    """What a user hands in, checked; of more rows than `most`, a sample."""
    X, y, _ = gathered(X, y)
    if stored(X):
        return _in_files(X, y, seed, most)
    if y is None:
        raise ValueError("y is None: beside an array or a frame, compare needs what is to be predicted.")
    frame = None if isinstance(X, np.ndarray) else frames.frame(X)
    if frame is None and not hasattr(X, "tocsr"):
        X = np.asarray(X)
    if frame is None and X.ndim != 2:
        raise ValueError(f"X has shape {X.shape}: it is a table of rows and columns.")
    n = X.shape[0] if frame is None else len(frame)
    name = getattr(y, "name", None)
    y = np.asarray(frames.values_of(y))
    if y.ndim != 1 or len(y) != n:
        raise ValueError(f"y has shape {y.shape}: it is one label or number for each of {n} rows.")
    _check_complete(y)
    sampled: tuple[str, ...] = ()
    if n > most:
        at = np.sort(np.random.default_rng(seed).choice(n, most, replace=False))
        y, X = y[at], X[at] if frame is None else X
        frame = None if frame is None else frame[at]
        sampled = (_sampled(most, n),)
    target = None if name is None else str(name)
    if frame is None and hasattr(X, "tocsr"):
        return Rows((), y, sparse=csr_matrix(X), notes=sampled, target=target)
    held = _of_array(X) if frame is None else _of_frame(frame)
    return _rows(list(held), y, None, sampled, target)


def _sampled(most: int, n: int | None) -> str:
    return f"compared on a sample of {most:,} rows" + (f" out of {n:,}" if n else ", of more")


def _of_array(X: NDArray[Any]) -> Iterator[tuple[str, Seen]]:
    if X.dtype.kind not in "fiub":
        yield from _of_columns([f"x{j}" for j in range(X.shape[1])], frames.of_objects(X))
        return
    for j, column in enumerate(X.T):
        yield f"x{j}", seen(f"x{j}", column)


def _of_frame(frame: frames.Frame) -> Iterator[tuple[str, Seen]]:
    for series in frame.iter_columns():
        kind, values = frames.read(series)
        if values is not None:
            yield series.name, seen(series.name, values)
        elif kind == "category":
            yield series.name, seen(series.name, frames.factor(series))
        elif kind == "time":
            yield series.name, dates(series.name, series.to_numpy().astype("datetime64[s]"))
        else:
            yield series.name, Seen(None, f"holds {kind} values: left out")


def _of_columns(names: Sequence[str], X: Any) -> Iterator[tuple[str, Seen]]:
    arrays = X.arrays if isinstance(X, Columns) else X.to_array().T
    for name, values in zip(names, arrays, strict=True):
        yield name, seen(name, values)


def _rows(
    held: list[tuple[str, Seen]],
    y: NDArray[Any],
    w: Floats | None,
    notes: tuple[str, ...],
    target: str | None,
) -> Rows:
    columns = tuple(each.column for _, each in held if each.column is not None)
    said = [(name, each.note) for name, each in held if each.note is not None]
    notes += gathered_notes(said, _listed)
    if not columns:
        raise ValueError(f"no column is left to learn from: {'; '.join(notes) or 'there is none'}.")
    return Rows(columns, y, w, notes=notes, target=target)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else "")


def _check_complete(y: NDArray[Any]) -> None:
    if y.dtype.kind != "f":
        door.labels_of(None, y)
    elif not np.isfinite(y).all():
        row = int(np.argmin(np.isfinite(y)))
        raise ValueError(f"Input y contains NaN or infinity: row {row} is {y[row]}. Leave such rows out.")


# ---- files ---------------------------------------------------------------------------------------
def _in_files(X: Stored, y: Any, seed: int, most: int) -> Rows:
    if y is not None:
        raise ValueError(
            "X is a source, and brings y along: name its column, as in scan(path, target='y')."
        )
    if len(X.targets) != 1:
        raise ValueError("compare needs a source with one target, as in scan(path, target='y').")
    if isinstance(X, Widening):
        return _sparse(X, seed, most)
    names = list(columns_of(X))
    others, texts = X.others(names), X.texts(names)
    usable = [name for name in names if name not in others or name in texts]
    if not usable:
        raise ValueError(f"no column holds numbers or categories: {_listed(list(others))}.")
    source = X.taking(usable, y=True)
    source = source.categorised(texts) if texts else source
    chunk, labels, note = _drawn(source, seed, most)
    held = [(n, Seen(None, f"holds no numbers ({others[n]}): left out")) for n in others if n not in texts]
    held += _of_columns(usable, chunk.X)
    return _rows(held, labels, _weights(chunk), note, X.targets[0])


def _sparse(X: Widening, seed: int, most: int) -> Rows:
    chunk, labels, note = _drawn(X, seed, most)
    assert isinstance(chunk.X, CSR)
    held = chunk.X
    whole = csr_matrix((held.values, held.columns, held.starts), shape=held.shape)
    return Rows((), labels, _weights(chunk), whole, note, X.targets[0])


def _drawn(source: Any, seed: int, most: int) -> tuple[Chunk, NDArray[Any], tuple[str, ...]]:
    """At most so many rows, their y, and what is to be said if there are more."""
    texts = bool(source.others(source.targets))
    classes = levels(source) if texts else None
    rows: Source = source if classes is None else source.coded(classes)
    with door.naming(rows):
        drawn, counted = run(rows, partial(_Drawing, Sample(most, seed=seed))).found()
    if drawn is None:
        raise ValueError("the table has no rows: there is nothing to compare.")
    assert drawn.y is not None
    y = drawn.y if classes is None else classes[drawn.y]
    _check_complete(y)
    return drawn, y, (_sampled(most, counted),) if counted > most else ()


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

    def found(self) -> tuple[Chunk | None, int]:
        return self.sample.rows(), self.rows


def _weights(chunk: Chunk) -> Floats | None:
    return None if chunk.w is None or (chunk.w == 1).all() else chunk.w
