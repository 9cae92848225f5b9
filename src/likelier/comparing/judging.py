"""A model on the folds: its figures, what it says of every row, and how long it takes."""

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.utils.validation import has_fit_parameter

from likelier.comparing.catalogue import Entrant
from likelier.comparing.parameters import parameters
from likelier.comparing.preparing import Serve, SitsOut
from likelier.comparing.rows import Floats, Indices, Rows
from likelier.comparing.table import Result
from likelier.data import BadCell
from likelier.estimators.evaluating import evaluate
from likelier.evaluation import Evaluation


@dataclass(frozen=True)
class Folds:
    """The fold of every row, the same for all models."""

    rows: Rows
    number: NDArray[np.int32]  # (n,)
    count: int
    _served: dict[Any, Serve] = field(default_factory=dict)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_served": {}}  # functions stay where they are

    def split(self, fold: int) -> tuple[Indices, Indices]:
        """The rows to learn from, and those that are held out."""
        return np.flatnonzero(self.number != fold), np.flatnonzero(self.number == fold)

    def serve(self, entrant: Entrant, fold: int) -> Serve:
        """What a model is given, made ready from the rows to learn from; once for all that eat alike."""
        key = entrant.diet, fold
        if key not in self._served:
            self._served[key] = entrant.diet(self.rows, self.split(fold)[0])
        return self._served[key]


def judged(entrant: Entrant, folds: Folds, classes: NDArray[Any] | None) -> Result:
    """The figures of a model; one that cannot take these rows sits out and says why. classes: None for
    numbers.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            _check(entrant.model, classes)
            found = _Found(len(folds.number), classes)
            for fold in range(folds.count):
                _fold(entrant, folds, fold, found)
        except (ValueError, TypeError, MemoryError) as problem:
            where = "".join(f" ({note})" for note in getattr(problem, "__notes__", ()))
            why = f"{problem}{where}"
            return Result(entrant.name, entrant.nature, sits_out=why, online=entrant.online, entrant=entrant)
    own = f"{type(entrant.model).__name__}: "
    notes = tuple(dict.fromkeys(str(warning.message).removeprefix(own) for warning in caught))
    return Result(
        entrant.name,
        entrant.nature,
        tuple(found.evaluations),
        P=found.P,
        said=found.said,
        fit=np.array(found.fit),
        predict=np.array(found.predict),
        parameters=found.parameters,
        notes=notes,
        online=entrant.online,
        entrant=entrant,
    )


class _Found:
    """What the folds add up to."""

    def __init__(self, n: int, classes: NDArray[Any] | None) -> None:
        self.classes = classes
        self.evaluations: list[Evaluation] = []
        self.P: NDArray[np.float32] | None = None  # (n, K)
        self.said = np.zeros(n, dtype=np.int32 if classes is not None else np.float64)
        self.fit: list[float] = []
        self.predict: list[float] = []
        self.parameters: int | None = None


def _check(model: Any, classes: NDArray[Any] | None) -> None:
    if classes is not None and is_regressor(model):
        raise SitsOut("it finds numbers, and here are classes to be found")
    if classes is None and is_classifier(model):
        raise SitsOut("it finds classes, and here are numbers to be found")


def _fold(entrant: Entrant, folds: Folds, fold: int, found: _Found) -> None:
    rows, (train, test) = folds.rows, folds.split(fold)
    serve = folds.serve(entrant, fold)
    model = clone(entrant.model)
    with _among(train):
        fitted, seconds = timed(lambda: _fitted(model, serve(train), rows, train))
    found.fit.append(seconds)
    with _among(test):
        X = serve(test)
        evaluation = evaluate(fitted, X, rows.y[test], None if rows.w is None else rows.w[test])
        P, seconds = timed(lambda: _answers(fitted, X))
    found.predict.append(seconds)
    found.evaluations.append(evaluation)
    if fold == 0:
        found.parameters = parameters(fitted)
    if found.classes is None:
        found.said[test] = P
        return
    place = {label: k for k, label in enumerate(found.classes.tolist())}
    known = np.array([place[label] for label in np.asarray(fitted.classes_).tolist()])
    if P.ndim == 2:
        if found.P is None:
            found.P = np.zeros((len(rows), len(found.classes)), dtype=np.float32)
        found.P[np.ix_(test, known)] = P
        found.said[test] = known[P.argmax(axis=1)]
    else:
        found.said[test] = [place[label] for label in P.tolist()]


def _answers(fitted: Any, X: Any) -> NDArray[Any]:
    """Probabilities, or else what is decided for."""
    return np.asarray(fitted.predict_proba(X) if hasattr(fitted, "predict_proba") else fitted.predict(X))


def _fitted(model: Any, X: Any, rows: Rows, at: Indices) -> Any:
    if rows.w is None:
        return model.fit(X, rows.y[at])
    if not has_fit_parameter(model, "sample_weight"):
        raise SitsOut("its fit takes no weights, and these rows have some")
    return model.fit(X, rows.y[at], sample_weight=rows.w[at])


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """What it returns, and the seconds that it takes."""
    start = time.perf_counter()
    found = work()
    return found, time.perf_counter() - start


class _among:
    """Errors about a cell count its row among all, not among those of a fold."""

    def __init__(self, rows: Indices) -> None:
        self.rows = rows

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, problem: BaseException | None, trace: Any) -> None:
        if isinstance(problem, BadCell):
            raise problem.named(problem.name, f"row {self.rows[problem.row]}") from None
