"""The rows of a comparison, in memory or in files: what of them models can use, and their folds."""

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold

from likelier.data import Arrays, Assignment, Dense, Hashed, Listed, Source, Stored, frames
from likelier.estimators import door
from likelier.estimators.sources import stored
from likelier.evaluation import CrossValidation


class Table(Protocol):
    """Rows and their y."""

    @property
    def p(self) -> int: ...

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the results should know."""

    @property
    def y(self) -> Source:
        """y and weights without X."""

    @property
    def texts(self) -> bool:
        """Whether y is something else than numbers."""

    def folds(self, cv: int, seed: int, /, *, stratified: bool) -> Assignment: ...

    def fit(self, model: Any, /) -> float:
        """The seconds of a fit to all rows."""

    def cross_validate(self, model: Any, folds: Any, /) -> CrossValidation: ...


def opened(X: Any, y: Any) -> Table:
    """What a user hands in, checked, without the columns that are no numbers."""
    if stored(X):
        return _in_files(X, y)
    if y is None:
        raise ValueError("y is None: beside an array or a frame, compare needs what is to be predicted.")
    X, dropped = _numbers(X)
    y = np.asarray(frames.values_of(y))
    if y.ndim != 1 or len(y) != X.shape[0]:
        raise ValueError(f"y has shape {y.shape}: it is one label or number for each of {X.shape[0]} rows.")
    _check_complete(y)
    return InMemory(X, y, _left_out(dropped))


def _check_complete(y: NDArray[Any]) -> None:
    if y.dtype.kind != "f":
        door.labels_of(None, y)
    elif not np.isfinite(y).all():
        row = int(np.argmin(np.isfinite(y)))
        raise ValueError(f"Input y contains NaN or infinity: row {row} is {y[row]}. Leave such rows out.")


def _in_files(X: Stored, y: Any) -> Table:
    if y is not None:
        raise ValueError(
            "X is a source, and brings y along: name its column, as in scan(path, target='y')."
        )
    if len(X.targets) != 1:
        raise ValueError("compare needs a source with one target, as in scan(path, target='y').")
    others = X.others(list(X.names))
    left = [name for name in X.names if name not in others]
    if not left:
        raise ValueError(f"no column holds numbers: {_listed(list(others))}.")
    return InFiles(X.taking(left, y=True), _left_out([_shown(*pair) for pair in others.items()]))


def _shown(name: str, kind: str) -> str:
    """A column that begins with numbers was perhaps meant to be one: the cell that is none."""
    late = " on line " in kind and not kind.endswith(" on line 2")
    return f"{name} ({kind.removeprefix('string: ')})" if late else name


def _numbers(X: Any) -> tuple[Any, list[str]]:
    """X without the columns of a frame that are no numbers, and these."""
    frame = None if isinstance(X, np.ndarray) else frames.frame(X)
    if frame is None:
        X = X.tocsr() if hasattr(X, "tocsr") else np.asarray(X)
        if X.ndim != 2:
            raise ValueError(f"X has shape {X.shape}: it is a table of rows and columns.")
        return X, []
    kinds = [frames.read(series) for series in frame.iter_columns()]
    left = [j for j, kind in enumerate(kinds) if kind.values is not None]
    if not left:
        raise ValueError(f"no column holds numbers: {_listed(frame.columns)}.")
    others = [frame.columns[j] for j, kind in enumerate(kinds) if kind.values is None]
    return frame[:, left].to_native() if others else X, others


def _listed(columns: Sequence[str]) -> str:
    return ", ".join(columns[:20]) + (f" and {len(columns) - 20} more" if len(columns) > 20 else "")


def _left_out(columns: Sequence[str]) -> tuple[str, ...]:
    return (f"left out, being no numbers: {_listed(columns)}",) if columns else ()


@dataclass(frozen=True)
class InMemory:
    """An array or a frame, and y."""

    X: Any
    labels: NDArray[Any]
    notes: tuple[str, ...] = ()

    @property
    def p(self) -> int:
        return int(self.X.shape[1])

    @property
    def y(self) -> Arrays:
        return Arrays(Dense(np.empty((len(self.labels), 0))), self.labels)

    @property
    def texts(self) -> bool:
        return self.labels.dtype.kind not in "fiub"

    @cached_property
    def array(self) -> Any:
        """X for estimators of any kind."""
        frame = None if isinstance(self.X, np.ndarray) or hasattr(self.X, "tocsr") else frames.frame(self.X)
        return self.X if frame is None else frame.to_numpy()

    def folds(self, cv: int, seed: int, *, stratified: bool) -> Listed:
        splitter = (StratifiedKFold if stratified else KFold)(cv, shuffle=True, random_state=seed)
        numbers = np.empty(len(self.labels), dtype=np.int32)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # classes of too few rows: the survey names them
            for fold, (_, test) in enumerate(splitter.split(self.labels, self.labels)):
                numbers[test] = fold
        return Listed(numbers, cv)

    def fit(self, model: Any) -> float:
        X = self.X if hasattr(model, "cross_validate") else self.array
        start = time.perf_counter()
        clone(model).fit(X, self.labels)
        return time.perf_counter() - start

    def cross_validate(self, model: Any, folds: Listed) -> CrossValidation:
        at = [folds.numbers == fold for fold in range(folds.count)]
        found: CrossValidation = model.cross_validate(
            self.X, self.labels, cv=[(~test, test) for test in at]
        )
        return found


@dataclass(frozen=True)
class InFiles:
    """A source."""

    source: Stored
    notes: tuple[str, ...] = ()

    @property
    def p(self) -> int:
        return self.source.p

    @property
    def y(self) -> Source:
        return self.source.taking([], y=True)

    @property
    def texts(self) -> bool:
        return bool(self.source.others(self.source.targets))

    def folds(self, cv: int, seed: int, *, stratified: bool) -> Hashed:
        return Hashed(cv, seed)

    def fit(self, model: Any) -> float:
        start = time.perf_counter()
        clone(model).fit(self.source)
        return time.perf_counter() - start

    def cross_validate(self, model: Any, folds: Hashed) -> CrossValidation:
        found: CrossValidation = model.cross_validate(self.source, cv=folds.count, random_state=folds.seed)
        return found
