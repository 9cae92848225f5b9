"""What is to be found, classes or numbers: which models suit, how they are judged, what knows y alone."""

from abc import ABC, abstractmethod
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier, is_regressor
from sklearn.metrics import log_loss

from likelier.comparing.baselines import ClassCounts, ValueMoments, Variety
from likelier.comparing.rows import Table
from likelier.comparing.table import ClassResult, Result, ValueResult
from likelier.data import Assignment
from likelier.engines import run
from likelier.estimators.linear_discriminant import LinearDiscriminantAnalysis
from likelier.estimators.logistic import LogisticRegression
from likelier.estimators.mixed_bayes import NaiveBayes
from likelier.estimators.naive_bayes import GaussianNB
from likelier.estimators.quadratic_discriminant import QuadraticDiscriminantAnalysis
from likelier.estimators.regression import LinearRegression, Ridge
from likelier.evaluation import CrossValidation
from likelier.model import levels


class Survey(NamedTuple):
    """What a pass over y finds."""

    baseline: Result
    rows: int
    target: str


class Task(ABC):
    """A kind of y."""

    stratified: ClassVar[bool]
    result: ClassVar[type[Result]]

    @abstractmethod
    def check(self, model: Any) -> None:
        """Refuse a model that finds something else."""

    @abstractmethod
    def suited(self) -> dict[str, Any]:
        """The models that a plain table of numbers is compared on."""

    @abstractmethod
    def survey(self, rows: Table, folds: Assignment) -> Survey:
        """y, refused where it leaves nothing to compare."""

    @abstractmethod
    def order(self, result: Any) -> tuple[float, ...]:
        """By which results are sorted: the best first."""

    @abstractmethod
    def figures(self, found: CrossValidation) -> dict[str, float]:
        """Means over folds."""

    @abstractmethod
    def judge(self, fitted: Any, X: Any, y: NDArray[Any]) -> dict[str, float]:
        """The figures of one fold."""


class Classify(Task):
    """Classes: the share of errors, and the mean of -ln p(C_y | x)."""

    stratified = True
    result = ClassResult

    def check(self, model: Any) -> None:
        if is_regressor(model):
            raise ValueError("it finds numbers, and here are classes to be found")

    def suited(self) -> dict[str, Any]:
        return {
            "NaiveBayes": NaiveBayes(),
            "GaussianNB": GaussianNB(),
            "LogisticRegression": LogisticRegression(),
            "LDA": LinearDiscriminantAnalysis(),
            "LDA, shrunk": LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
            "QDA": QuadraticDiscriminantAnalysis(),
            "QDA, shrunk": QuadraticDiscriminantAnalysis(solver="eigen", shrinkage="auto"),
        }

    def survey(self, rows: Table, folds: Assignment) -> Survey:
        classes = levels(rows.y)
        if len(classes) < 2:
            raise ValueError(f"the target has one value only ({classes[0].item()!r}): nothing to classify")
        counts = run(rows.y.coded(classes), partial(ClassCounts.start, folds, len(classes)))
        of_class = counts.rows.sum(axis=0)
        if of_class.min() < folds.count:
            rare = classes[of_class.argmin()].item()
            raise ValueError(
                f"class {rare!r} has {of_class.min()} rows, fewer than the {folds.count} folds: take fewer "
                "folds, or leave its rows out"
            )
        _check_folds(counts.rows.sum(axis=1))
        error, loss = counts.majority()
        assumes = "nothing: each class as often as in the sample"
        baseline = ClassResult(model="(majority class)", error=error, log_loss=loss, assumes=assumes)
        return Survey(baseline, int(of_class.sum()), f"{len(classes)} classes")

    def order(self, result: ClassResult) -> tuple[float, ...]:
        return (np.isnan(result.log_loss), np.isnan(result.error), result.log_loss, result.error)

    def figures(self, found: CrossValidation) -> dict[str, float]:
        return {name: float(found.mean(name)[0]) for name in ("error", "log_loss")}

    def judge(self, fitted: Any, X: Any, y: NDArray[Any]) -> dict[str, float]:
        loss = np.nan
        if hasattr(fitted, "predict_proba"):
            loss = float(log_loss(y, fitted.predict_proba(X), labels=fitted.classes_))
        return {"error": float(np.mean(fitted.predict(X) != y)), "log_loss": loss}


class Regress(Task):
    """Numbers: the root of the mean squared error, and the share of the variance that is found."""

    stratified = False
    result = ValueResult

    def check(self, model: Any) -> None:
        if is_classifier(model):
            raise ValueError("it finds classes, and here are numbers to be found")

    def suited(self) -> dict[str, Any]:
        return {"LinearRegression": LinearRegression(), "Ridge": Ridge()}

    def survey(self, rows: Table, folds: Assignment) -> Survey:
        if rows.texts:
            raise ValueError("the target is not of numbers: it has classes to be found, and no values.")
        found = run(rows.y, partial(ValueMoments.start, folds))
        _check_folds(found.rows)
        rmse, r2 = found.mean()
        baseline = ValueResult(model="(mean)", rmse=rmse, r2=r2, assumes="nothing: the mean of the sample")
        return Survey(baseline, int(found.rows.sum()), "a target of numbers")

    def order(self, result: ValueResult) -> tuple[float, ...]:
        return (np.isnan(result.rmse), result.rmse)

    def figures(self, found: CrossValidation) -> dict[str, float]:
        rmse = np.sqrt(found.scores["mse"][0]).mean()
        return {"rmse": float(rmse), "r2": float(found.mean("r2")[0])}

    def judge(self, fitted: Any, X: Any, y: NDArray[Any]) -> dict[str, float]:
        squares = (np.asarray(fitted.predict(X)).reshape(len(y)) - y) ** 2
        spread = ((y - y.mean()) ** 2).sum()
        r2 = 1 - squares.sum() / spread if spread > 0 else float(not squares.any())
        return {"rmse": float(np.sqrt(squares.mean())), "r2": r2 if len(y) > 1 else np.nan}


TASKS: dict[str, type[Task]] = {"classify": Classify, "regress": Regress}


def task_of(rows: Table, asked: str | None) -> Task:
    """What is asked for; by default numbers are classes if they are whole and few."""
    if asked is not None and asked not in TASKS:
        raise ValueError(f"task={asked!r}: it is one of {', '.join(TASKS)}")
    if asked is None:
        few = rows.texts or run(rows.y, lambda: Variety(np.empty(0))).levels is not None
        asked = "classify" if few else "regress"
    return TASKS[asked]()


def _check_folds(rows: NDArray[np.int64]) -> None:
    if not rows.all():
        raise ValueError(f"{rows.sum()} rows are too few for {len(rows)} folds: take fewer.")
