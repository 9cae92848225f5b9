"""The rows of a comparison, in memory or in files: what of them models can use, and their folds."""

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold

from likelier.data import (
    CSR,
    Arrays,
    Assignment,
    Dense,
    Hashed,
    Listed,
    Source,
    Stored,
    Widening,
    columns_of,
    frames,
)
from likelier.engines import loaded
from likelier.estimators import door
from likelier.estimators.collections import gathered
from likelier.estimators.sources import stored, takes_categories
from likelier.evaluation import CrossValidation
from likelier.model import levels

MOST = 1 << 27  # cells of a file that are read into memory for models without `cross_validate`: 1 GB


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

    def in_memory(self, model: Any, /) -> "InMemory":
        """What of them a model takes, for fits to some of the rows."""


def opened(X: Any, y: Any) -> Table:
    """What a user hands in, checked, without the columns that are no numbers."""
    X, y, _ = gathered(X, y)
    if stored(X):
        return _in_files(X, y)
    if y is None:
        raise ValueError("y is None: beside an array or a frame, compare needs what is to be predicted.")
    whole, X, dropped = _usable(X)
    y = np.asarray(frames.values_of(y))
    if y.ndim != 1 or len(y) != whole.shape[0]:
        raise ValueError(
            f"y has shape {y.shape}: it is one label or number for each of {whole.shape[0]} rows."
        )
    _check_complete(y)
    return InMemory(whole, X, y, dropped)


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
    if isinstance(X, Widening):
        return _sparse(X)
    names = columns_of(X)
    others, texts = X.others(names), X.texts(names)
    numbers = [name for name in names if name not in others]
    usable = [name for name in names if name not in others or name in texts]
    if not usable:
        raise ValueError(f"no column holds numbers or categories: {_listed(list(others))}.")
    notes = _left_out([], [_shown(name, kind) for name, kind in others.items() if name not in texts])
    notes += _left_out([_shown(name, others[name]) for name in usable if name in others], [])
    return InFiles(X.taking(usable, y=True), X.taking(numbers, y=True) if numbers else None, notes)


def _sparse(X: Widening) -> "InMemory":
    """Sparse rows of files, read into memory: folds of them are fitted again and again."""
    found = loaded(X, MOST)
    if found.w is not None and (found.w != 1).any():
        raise ValueError("compare goes without weights, and these rows have weights other than 1.")
    assert isinstance(found.X, CSR)
    assert found.y is not None
    whole = csr_matrix((found.X.values, found.X.columns, found.X.starts), shape=found.X.shape)
    return InMemory(whole, whole, found.y)


def _shown(name: str, kind: str) -> str:
    """A column that begins with numbers was perhaps meant to be one: the cell that is none."""
    late = " on line " in kind and not kind.endswith(" on line 2")
    return f"{name} ({kind.removeprefix('string: ')})" if late else name


def _usable(X: Any) -> tuple[Any, Any, tuple[str, ...]]:
    """X without the columns of a frame that no model can use; its numbers alone, if any; what to know."""
    frame = None if isinstance(X, np.ndarray) else frames.frame(X)
    if frame is None:
        X = X.tocsr() if hasattr(X, "tocsr") else np.asarray(X)
        if X.ndim != 2:
            raise ValueError(f"X has shape {X.shape}: it is a table of rows and columns.")
        return X, X, ()
    kinds = [frames.read(series) for series in frame.iter_columns()]
    numbers = [j for j, kind in enumerate(kinds) if kind.values is not None]
    usable = [j for j, kind in enumerate(kinds) if kind.values is not None or kind.kind == "category"]
    if not usable:
        raise ValueError(f"no column holds numbers or categories: {_listed(frame.columns)}.")
    words = [frame.columns[j] for j in usable if j not in numbers]
    notes = _left_out(words, [name for j, name in enumerate(frame.columns) if j not in usable])
    whole = X if len(usable) == len(kinds) else frame[:, usable].to_native()
    if not words:
        return whole, whole, notes
    return whole, frame[:, numbers].to_native() if numbers else None, notes


def _listed(columns: Sequence[str]) -> str:
    return ", ".join(columns[:20]) + (f" and {len(columns) - 20} more" if len(columns) > 20 else "")


def _left_out(words: Sequence[str], others: Sequence[str]) -> tuple[str, ...]:
    """Notes on columns that only models of categories take, and on those that none does."""
    said = {"left out by models that take numbers only": words, "left out, being no numbers": others}
    return tuple(f"{why}: {_listed(columns)}" for why, columns in said.items() if columns)


def _no_numbers() -> ValueError:
    return ValueError("it takes numbers only, and no column holds any")


@dataclass(frozen=True)
class InMemory:
    """An array or a frame, its numbers alone (None: it has none), and y."""

    whole: Any
    numbers: Any
    labels: NDArray[Any]
    notes: tuple[str, ...] = ()

    @property
    def p(self) -> int:
        return int(self.whole.shape[1])

    def _for(self, model: Any) -> Any:
        """What of the columns a model takes."""
        if takes_categories(model):
            return self.whole
        if self.numbers is None:
            raise _no_numbers()
        return self.numbers if hasattr(model, "cross_validate") else self.array

    def in_memory(self, model: Any) -> "InMemory":
        return self

    def some(self, model: Any, at: NDArray[np.intp]) -> Any:
        """These rows, of what a model takes."""
        X = self._for(model)
        frame = None if isinstance(X, np.ndarray) or hasattr(X, "tocsr") else frames.frame(X)
        return X[at] if frame is None else frame[at].to_native()

    @property
    def y(self) -> Arrays:
        return Arrays(Dense(np.empty((len(self.labels), 0))), self.labels)

    @property
    def texts(self) -> bool:
        return self.labels.dtype.kind not in "fiub"

    @cached_property
    def array(self) -> Any:
        """Numbers for estimators of any kind."""
        X = self.numbers
        if X is None:
            raise _no_numbers()
        frame = None if isinstance(X, np.ndarray) or hasattr(X, "tocsr") else frames.frame(X)
        return X if frame is None else frame.to_numpy()

    def folds(self, cv: int, seed: int, *, stratified: bool) -> Listed:
        splitter = (StratifiedKFold if stratified else KFold)(cv, shuffle=True, random_state=seed)
        numbers = np.empty(len(self.labels), dtype=np.int32)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # classes of too few rows: the survey names them
            for fold, (_, test) in enumerate(splitter.split(self.labels, self.labels)):
                numbers[test] = fold
        return Listed(numbers, cv)

    def fit(self, model: Any) -> float:
        X = self._for(model)
        start = time.perf_counter()
        clone(model).fit(X, self.labels)
        return time.perf_counter() - start

    def cross_validate(self, model: Any, folds: Listed) -> CrossValidation:
        at = [folds.numbers == fold for fold in range(folds.count)]
        found: CrossValidation = model.cross_validate(
            self._for(model), self.labels, cv=[(~test, test) for test in at]
        )
        return found


@dataclass(frozen=True)
class InFiles:
    """A source, and its numbers alone (None: it has none)."""

    whole: Stored
    numbers: Stored | None
    notes: tuple[str, ...] = ()

    @property
    def p(self) -> int:
        return self.whole.p

    @property
    def y(self) -> Source:
        return self.whole.taking([], y=True)

    @property
    def texts(self) -> bool:
        return bool(self.whole.others(self.whole.targets))

    def _for(self, model: Any) -> Stored:
        """What of the columns a model takes."""
        if takes_categories(model):
            return self.whole
        if self.numbers is None:
            raise _no_numbers()
        return self.numbers

    def folds(self, cv: int, seed: int, *, stratified: bool) -> Hashed:
        return Hashed(cv, seed)

    def fit(self, model: Any) -> float:
        X = self._for(model)
        start = time.perf_counter()
        clone(model).fit(X)
        return time.perf_counter() - start

    def cross_validate(self, model: Any, folds: Hashed) -> CrossValidation:
        found: CrossValidation = model.cross_validate(
            self._for(model), cv=folds.count, random_state=folds.seed
        )
        return found

    def in_memory(self, model: Any) -> InMemory:
        who = type(model).__name__
        source = self._for(model)
        if takes_categories(model) and source.others(columns_of(source)):
            raise ValueError(f"{who} has no cross_validate for files: read the table first.")
        classes = levels(source) if self.texts else None
        with door.naming(source):
            found = loaded(source if classes is None else source.coded(classes), MOST)
        if found.w is not None:
            raise ValueError(f"{who} has no cross_validate, and fits to folds go without weights.")
        assert found.y is not None
        y = found.y if classes is None else classes[found.y]
        return InMemory(found.X.to_array(), found.X.to_array(), y)
