"""One model on the folds; what goes wrong with it, and what it warns of, become notes."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from likelier.comparing.rows import InMemory, Table
from likelier.comparing.table import Result
from likelier.comparing.tasks import Task
from likelier.data import Assignment, BadCell


def judged(name: str, model: Any, rows: Table, task: Task, folds: Assignment) -> Result:
    """The figures of a model; one that cannot take these rows sits out and says why."""
    assumes = getattr(model, "assumes", "")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            task.check(model)
            rows = rows if _merges(model) else rows.in_memory(model)
            figures, seconds = _figures(model, rows, task, folds), rows.fit(model)
        except ValueError as problem:
            where = "".join(f" ({note})" for note in getattr(problem, "__notes__", ()))
            return task.result(model=name, assumes=assumes, notes=(f"sits out: {problem}{where}",))
    own = f"{type(model).__name__}: "
    notes = tuple(dict.fromkeys(str(warning.message).removeprefix(own) for warning in caught))
    return task.result(model=name, assumes=assumes, fit=seconds, notes=notes, **figures)


def _merges(model: Any) -> bool:
    # With a covariance_estimator the method is there, but there are no statistics to merge.
    return hasattr(model, "cross_validate") and getattr(model, "covariance_estimator", None) is None


def _figures(model: Any, rows: Table, task: Task, folds: Assignment) -> dict[str, float]:
    # What rows settle, such as families, rows that are held out should have no part in.
    settling = isinstance(rows, InMemory) and bool(getattr(model, "_settled", ()))
    if _merges(model) and not settling:
        return task.figures(rows.cross_validate(model, folds))
    return _refitted(model, rows.in_memory(model), task, folds)


def _refitted(model: Any, rows: InMemory, task: Task, folds: Assignment) -> dict[str, float]:
    """A fit for each fold; means."""
    y, numbers = rows.labels, folds.of(0, len(rows.labels))
    found = []
    for fold in range(folds.count):
        train, test = np.flatnonzero(numbers != fold), np.flatnonzero(numbers == fold)
        with _among(train):
            fitted = clone(model).fit(rows.some(model, train), y[train])
        with _among(test):
            found.append(task.judge(fitted, rows.some(model, test), y[test]))
    return {name: float(np.mean([one[name] for one in found])) for name in found[0]}


@contextmanager
def _among(rows: NDArray[np.intp]) -> Iterator[None]:
    """Errors about a cell count its row among all, not among those of a fold."""
    try:
        yield
    except BadCell as bad:
        raise bad.named(bad.name, f"row {rows[bad.row]}") from None
