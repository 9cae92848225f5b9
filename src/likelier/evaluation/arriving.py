"""Streams of whatever make as rows, or as batches of rows."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, Self

import numpy as np

from likelier.data.frames import frame


class One(NamedTuple):
    """A row: features by name. y None: its label never comes."""

    x: Any
    y: Any
    weight: float = 1.0

    def rows(self) -> Iterator[Self]:
        yield self


class Many(NamedTuple):
    """Some rows: an array, a CSR matrix or a frame."""

    X: Any
    y: Any
    weights: Any = None

    def rows(self) -> Iterator[One]:
        """One after another; columns without names are called by their numbers."""
        weights = (
            np.ones(len(self.y)) if self.weights is None else np.asarray(self.weights, dtype=np.float64)
        )
        yield from map(One, _dicts(self.X), self.labels(), weights.tolist())

    def checked(self) -> Self:
        """Itself, if there is a label, and a weight, for every row."""
        n = self.X.shape[0]
        if len(self.y) != n:
            raise ValueError(f"X has {n} rows and y {len(self.y)} labels")
        if self.weights is not None and len(self.weights) != n:
            raise ValueError(f"X has {n} rows and {len(self.weights)} weights")
        return self

    def labels(self) -> list[Any]:
        return list(np.asarray(self.y).tolist())


def arriving(stream: Any, target: Any, weight: Any, batch: int) -> Iterator[One | Many]:
    """The rows of a stream in its order: tables as batches, all else as it comes.

    stream: a frame, or an iterable of dicts, of which `target` (and `weight`) is a column; a pair of
    arrays (X, y), or an iterable of (x, y) or (x, y, weight), in which x is a dict, a row or a batch.
    """
    table = frame(stream)
    if table is not None or _is_pair(stream):
        yield from _cut(_whole(stream, table, target, weight), batch)
        return
    if not isinstance(stream, Iterable):
        raise TypeError(
            f"a {type(stream).__name__} is no stream: give a frame, (X, y), or an iterable of rows"
        )
    for t, item in enumerate(stream):
        yield _item(t, item, target, weight)


def labels_of(stream: Any, target: Any, weight: Any) -> Any:
    """All labels, sorted, where the whole stream is there; otherwise None."""
    table = frame(stream)
    if table is None and not _is_pair(stream):
        return None
    y = np.asarray(_whole(stream, table, target, weight).y)
    return np.unique(y)


def _is_pair(stream: Any) -> bool:
    """(X, y) or (X, y, w): three tables, not three rows."""
    return (
        isinstance(stream, tuple)
        and len(stream) in (2, 3)
        and (getattr(stream[0], "ndim", 0) == 2 or frame(stream[0]) is not None)
    )


def _whole(stream: Any, table: Any, target: Any, weight: Any) -> Many:
    if table is None:
        X, *others = stream
        return Many(X, *map(np.asarray, others)).checked()
    names = [name for name in (target, weight) if name is not None]
    missing = [name for name in names if name not in table.columns]
    if target is None or missing:
        what = f"no column {missing[0]!r}" if missing else "a target that is not named"
        raise ValueError(f"the frame has {what}: target= and weight= name columns of {table.columns}")
    w = None if weight is None else table[weight].to_numpy()
    return Many(table.drop(names).to_native(), table[target].to_numpy(), w)


def _cut(whole: Many, batch: int) -> Iterator[Many]:
    if batch < 1:
        raise ValueError(f"batch={batch}: a batch has one row at least")
    table = frame(whole.X)
    for first in range(0, len(whole.y), batch):
        some = slice(first, first + batch)
        X = whole.X[some] if table is None else table[some].to_native()
        yield Many(X, whole.y[some], None if whole.weights is None else whole.weights[some])


def _item(t: int, item: Any, target: Any, weight: Any) -> One | Many:
    if isinstance(item, Mapping):
        if target is None:
            raise ValueError(f"row {t} is a dict: target= names the feature that is the label")
        x = dict(item)
        missing = [name for name in (target, weight) if name is not None and name not in x]
        if missing:
            raise ValueError(f"row {t} has no {missing[0]!r}, as target= or weight= has it: {list(x)[:10]}")
        return One(x, x.pop(target), 1.0 if weight is None else float(x.pop(weight)))
    if not isinstance(item, tuple | list) or len(item) not in (2, 3):
        raise ValueError(f"row {t} is {item!r:.80}: give (x, y), (x, y, weight), or a dict and target=")
    x = item[0]
    if isinstance(x, Mapping):
        return One(*item)
    if getattr(x, "ndim", 1) == 2 or frame(x) is not None:
        return Many(*item).checked()
    return One({str(j): value for j, value in enumerate(np.asarray(x).tolist())}, *item[1:])


def _dicts(X: Any) -> Iterator[dict[Any, Any]]:
    table = frame(X)
    if table is not None:
        # By way of Arrow, where what is missing is None, whoever made the frame.
        yield from table.to_arrow().select(table.columns).to_pylist()
    elif hasattr(X, "tocsr"):
        rows = X.tocsr()
        for i in range(rows.shape[0]):
            some = slice(rows.indptr[i], rows.indptr[i + 1])
            yield dict(zip(map(str, rows.indices[some].tolist()), rows.data[some].tolist(), strict=True))
    else:
        names = [str(j) for j in range(X.shape[1])]
        for row in np.asarray(X).tolist():
            yield dict(zip(names, row, strict=True))
