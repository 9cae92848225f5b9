"""Which rows are held out together: splitters of scikit-learn, groups, and the order of time."""

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likelier.array_types import Indices
from likelier.comparison.rows import Rows
from likelier.data import frames
from likelier.display import some_of

Pairs = list[tuple[Indices, Indices]]  # the rows to learn from, and those that are held out


def pairs_of(rows: Rows, codes: NDArray[Any], cv: Any, groups: Any, time: Any, seed: int) -> Pairs | None:
    """The rows of each fold; None: shuffled folds without groups, of which `cv` is the number.

    codes: of the classes, or the numbers to predict; groups: of the rows that were passed; time: when
    each of the rows was.
    """
    if time is not None:
        if groups is not None:
            raise ValueError("groups and time: pass one of them.")
        return by_time(time, _number(cv, "time"))
    if groups is None and isinstance(cv, int | np.integer):
        return None
    kept = None if groups is None else _of_rows(groups, rows)
    if isinstance(cv, int | np.integer):
        return _by_group(rows, codes, kept, int(cv), seed)
    return _split(cv, rows, codes, kept)


def folds_in(cv: Any) -> int:
    """The number of folds, where it is known before rows are split."""
    if isinstance(cv, int | np.integer) and not isinstance(cv, bool):
        if cv < 2:
            raise ValueError(f"cv must be an integer >= 2; got {cv!r}.")
        return int(cv)
    if isinstance(cv, str) or not (hasattr(cv, "split") or isinstance(cv, Iterable)):
        raise ValueError(
            f"cv must be an integer >= 2, a splitter of scikit-learn or pairs of row numbers; got {cv!r}."
        )
    return 2


def by_time(time: NDArray[Any], count: int) -> Pairs:
    """Folds in order: each is predicted from all rows before it. Rows of one moment stay together."""
    order = np.argsort(time, kind="stable")
    ordered = time[order]
    ends = [len(order) * i // (count + 1) for i in range(1, count + 1)]
    starts = [int(np.searchsorted(ordered, ordered[end], side="left")) for end in ends]
    cuts = [*starts, len(order)]
    if cuts[0] == 0 or any(a == b for a, b in pairwise(cuts)):
        found = len(np.unique(time))
        raise ValueError(
            f"time: {found} different moments in {len(time)} rows do not make {count} folds in order: take "
            "fewer folds."
        )
    return [(np.sort(order[:a]), np.sort(order[a:b])) for a, b in pairwise(cuts)]


def times_of(time: Any, X: Any, rows: Rows) -> NDArray[Any] | None:
    """When each of the rows was: from the column of that name, as numbers."""
    if time is None:
        return None
    if not isinstance(time, str):
        raise ValueError(f"time must be the name of a column; got {time!r:.80}.")
    frame = frames.frame(X) if rows.index is not None and not isinstance(X, np.ndarray) else None
    values: Any
    if frame is not None and time in frame.columns:
        values = frame.get_column(time).to_numpy()[rows.index]
    else:
        known: dict[str, Any] = {column.name: column.values for column in rows.columns}
        values = known.get(time)
    if values is None:
        raise ValueError(f"time={time!r}: there is no such column; columns: {_names(rows, frame)}.")
    moments = np.asarray(values)
    if moments.dtype.kind == "M":
        moments = np.where(np.isnat(moments), np.nan, moments.astype("datetime64[us]").astype(np.float64))
    if moments.dtype.kind == "O":
        moments = np.array([str(value) for value in moments])  # dates as text are in order, as 2026-01-31
    if moments.dtype.kind not in "fiuU":
        raise ValueError(f"time={time!r} holds neither numbers nor dates.")
    if moments.dtype.kind == "f" and np.isnan(moments).any():
        raise ValueError(f"time={time!r} has missing values: drop such rows, for their place is unknown.")
    return moments


def _names(rows: Rows, frame: Any) -> str:
    return some_of([c.name for c in rows.columns] if frame is None else list(map(str, frame.columns)))


def _number(cv: Any, what: str) -> int:
    if not isinstance(cv, int | np.integer):
        raise ValueError(f"cv must be an integer (a number of folds) with {what}; got {cv!r}.")
    return int(cv)


def _of_rows(groups: Any, rows: Rows) -> NDArray[Any]:
    """The groups of the rows that are compared on."""
    if rows.index is None:
        raise ValueError("groups requires rows in memory, but X is a source: load its rows first.")
    found = np.asarray(frames.values_of(groups))
    if found.ndim != 1 or len(found) != rows.given:
        raise ValueError(f"groups must have shape ({rows.given},), one for each row; got {found.shape}.")
    return np.asarray(found[rows.index])


def _by_group(rows: Rows, codes: NDArray[Any], groups: Any, count: int, seed: int) -> Pairs:
    from sklearn.model_selection import GroupKFold, StratifiedGroupKFold

    if len(set(groups.tolist())) < count:
        raise ValueError(f"groups: {len(set(groups.tolist()))} groups for {count} folds: take fewer folds.")
    kind: Any = StratifiedGroupKFold if codes.dtype.kind in "iu" else GroupKFold
    return _split(kind(count, shuffle=True, random_state=seed), rows, codes, groups)


def _split(cv: Any, rows: Rows, codes: NDArray[Any], groups: Any) -> Pairs:
    n = len(rows)
    if hasattr(cv, "split"):
        found = list(cv.split(np.zeros((n, 1)), codes, groups))
    else:
        found = [_places(pair, rows) for pair in cv]
    pairs = [(np.asarray(train, dtype=np.intp), np.asarray(test, dtype=np.intp)) for train, test in found]
    if len(pairs) < 2:
        raise ValueError(f"cv: {len(pairs)} fold: a comparison needs at least 2.")
    if any(not len(train) or not len(test) for train, test in pairs):
        raise ValueError("cv: a fold has no rows to learn from, or none to predict.")
    held = np.bincount(np.concatenate([test for _, test in pairs]), minlength=n)
    if held.max() > 1:
        raise ValueError(
            f"cv: row {int(held.argmax())} is held out {held.max()} times: each row must be in one test "
            "set at most. Repeated splits can be compared one after another."
        )
    return pairs


def _places(pair: Any, rows: Rows) -> tuple[Indices, Indices]:
    """Numbers of rows that were passed, as those of rows that are compared on."""
    place = np.full(rows.given or len(rows), -1, dtype=np.intp)
    place[np.arange(len(rows)) if rows.index is None else rows.index] = np.arange(len(rows))
    train, test = (place[np.asarray(each, dtype=np.intp)] for each in pair)
    return train[train >= 0], test[test >= 0]
