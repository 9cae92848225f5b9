"""Cross-validation of one candidate model: metrics, held-out predictions, learning curves, times."""

import re
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import has_fit_parameter

from likelier.array_types import Floats, Indices, row_weights
from likelier.comparison.models import CandidateModel
from likelier.comparison.prepare import Prepared, SkippedModel
from likelier.comparison.result import Comparison, Result, standard_error
from likelier.comparison.rows import Rows
from likelier.data import BadCell, code
from likelier.display import some_of
from likelier.evaluation import (
    ClassPredictions,
    Evaluation,
    LabelEvaluation,
    LabelSums,
    ValueEvaluation,
    ValueSums,
)

# How many numbers a fit has found.


def parameters(model: Any) -> int | None:
    """The numbers that a fitted model answers by, those that were free; None: it does not say.

    Of densities their parameters and the priors; of linear models the weights and intercepts other than 0;
    of trees two for each question and the shares of each leaf.
    """
    own = getattr(vars(model).get("_model"), "free", None)
    if own is not None:
        return int(own)
    if hasattr(model, "tree_"):
        return _of_tree(model.tree_)
    if hasattr(model, "coef_"):
        return sum(_nonzero(getattr(model, name, 0.0)) for name in ("coef_", "intercept_"))
    return _together(model)


def _of_tree(tree: Any) -> int:
    """A question is a column and a threshold; a leaf has all but one share of its classes, or a value."""
    leaves = int(tree.n_leaves)
    answers = int(tree.n_outputs) * max(int(tree.max_n_classes) - 1, 1)
    return 2 * (int(tree.node_count) - leaves) + leaves * answers


def _together(model: Any) -> int | None:
    """Of a model that is made of models: a forest, or the last step of a pipeline."""
    if hasattr(model, "steps"):
        return parameters(model.steps[-1][1])
    parts = np.ravel(np.array(getattr(model, "estimators_", None), dtype=object))
    counts = [None if part is None else parameters(part) for part in parts]
    known = [count for count in counts if count is not None]
    return sum(known) if known and len(known) == len(counts) else None


def _nonzero(values: Any) -> int:
    return int(np.count_nonzero(values.toarray() if hasattr(values, "toarray") else np.asarray(values)))


# How well scores put the rows of a class before those of the others.


def auc(scores: Floats, positive: NDArray[np.bool_], w: Floats | None = None) -> float:
    """P(score of a row of the class > that of another), a tie being half (Mann and Whitney 1947).

    NaN: there are no rows of the class, or no others.
    """
    values, at = np.unique(scores, return_inverse=True)
    v = row_weights(w, len(scores))
    hits = np.bincount(at, np.where(positive, v, 0.0), len(values))
    misses = np.bincount(at, np.where(positive, 0.0, v), len(values))
    pairs = hits.sum() * misses.sum()
    if not pairs:
        return float("nan")
    return float(hits @ (np.cumsum(misses) - misses / 2) / pairs)


def roc_points(scores: NDArray[Any], hit: NDArray[np.bool_], w: Floats) -> tuple[Floats, Floats]:
    """False and true positive rates at each threshold, from (0, 0) to (1, 1)."""
    order = np.argsort(-scores, kind="stable")
    last = np.append(np.diff(scores[order]) != 0, True)  # rows of one score come together
    fall, rise = (np.cumsum(np.where(each, w, 0.0)[order])[last] for each in (~hit, hit))
    return np.append(0.0, fall / fall[-1]), np.append(0.0, rise / rise[-1])


def commonest(weight: Floats, most: int) -> NDArray[np.intp]:
    """The numbers of the classes of most weight, in order."""
    return np.sort(np.argsort(-weight, kind="stable")[:most])


def gathered(confusion: Floats, shown: NDArray[np.intp]) -> Floats:
    """A confusion matrix of some classes; all others share a last row and column."""
    K = len(confusion)
    if K == len(shown):
        return confusion
    place = np.full(K, len(shown))
    place[shown] = np.arange(len(shown))
    rows = np.zeros((len(shown) + 1, K))
    np.add.at(rows, place, confusion)
    out = np.zeros((len(shown) + 1, len(shown) + 1))
    np.add.at(out.T, place, rows.T)
    return out


def mean_auc(Z: Any, codes: NDArray[Any], w: Floats | None = None) -> float:
    """Of two classes that of the second, Z (n,) or (n, 2); of more the mean of each against the rest.

    Classes without rows are left out of the mean.
    """
    Z = np.asarray(Z, dtype=np.float64)
    if Z.ndim == 1 or Z.shape[1] == 2:
        return auc(Z if Z.ndim == 1 else Z[:, 1], codes == 1, w)
    each = np.array([auc(Z[:, k], codes == k, w) for k in range(Z.shape[1])])
    there = each[~np.isnan(each)]
    return float(there.mean()) if len(there) else float("nan")


# A model on the folds: its figures, what it says of every row, and how long it takes.

MOST_NAMES = 5  # of columns that a model leaves out
INNER_FOLDS = 5  # within a fold, to tune by


@dataclass(frozen=True)
class Folds:
    """The fold of every row, the same for all models."""

    rows: Rows
    number: NDArray[np.int32]  # (n,)
    count: int
    pairs: tuple[tuple[Indices, Indices], ...] | None = None  # None: a fold is learned from all others
    _prepared_folds: dict[Any, Prepared] = field(default_factory=dict)

    @classmethod
    def of(cls, rows: Rows, classes: NDArray[Any] | None, count: int, seed: int) -> Self:
        """Shuffled, and stratified by class; classes: None where numbers are to be found."""
        n = len(rows)
        splitter = (KFold if classes is None else StratifiedKFold)(count, shuffle=True, random_state=seed)
        codes = np.zeros(n) if classes is None else code(rows.y, classes)
        number = np.empty(n, dtype=np.int32)
        for fold, (_, test) in enumerate(splitter.split(codes, codes)):
            number[test] = fold
        return cls(rows, number, count)

    @classmethod
    def of_pairs(cls, rows: Rows, pairs: Sequence[tuple[Indices, Indices]]) -> Self:
        """Of rows to learn from and rows held out; some rows may be in no fold (-1)."""
        number = np.full(len(rows), -1, dtype=np.int32)
        for fold, (_, test) in enumerate(pairs):
            number[test] = fold
        return cls(rows, number, len(pairs), tuple(pairs))

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_prepared_folds": {}}  # functions stay where they are

    def split(self, fold: int) -> tuple[Indices, Indices]:
        """The rows to learn from, and those that are held out."""
        if self.pairs is not None:
            return self.pairs[fold]
        return np.flatnonzero(self.number != fold), np.flatnonzero(self.number == fold)

    def prepared_rows(self, candidate_model: CandidateModel, fold: int) -> Prepared:
        """What a model is given, made ready from the rows to learn from; once for all that eat alike."""
        key = candidate_model.preprocessor, fold
        if key not in self._prepared_folds:
            self._prepared_folds[key] = candidate_model.preprocessor(self.rows, self.split(fold)[0])
        return self._prepared_folds[key]


def evaluated(candidate_model: CandidateModel, folds: Folds, classes: NDArray[Any] | None) -> Result:
    """The figures of a model; one that cannot take these rows is skipped, with the reason.

    classes: sorted; None: it is numbers that are to be found.
    """
    found = _FoldTotals(folds, classes)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            _check(candidate_model.model, folds.rows, classes)
            for fold in range(folds.count):
                found.add(candidate_model, fold)
        except (
            Exception
        ) as problem:  # an estimator of any kind may fail in its own way: the others continue
            usual = isinstance(problem, ValueError | TypeError) and str(problem)
            where = "".join(f" ({note})" for note in getattr(problem, "__notes__", ()))
            why = ("" if usual else f"{type(problem).__name__}: ") + f"{problem}{where}"
            return Result(
                candidate_model.name,
                candidate_model.traits,
                skipped=why,
                online=candidate_model.online,
                candidate_model=candidate_model,
            )
    return found.result(
        candidate_model, [*found.warnings_of(candidate_model), *(str(each.message) for each in caught)]
    )


def _check(model: Any, rows: Rows, classes: NDArray[Any] | None) -> None:
    if classes is not None and is_regressor(model):
        raise SkippedModel("is a regression, but the target has classes")
    if classes is None and is_classifier(model):
        raise SkippedModel("is a classifier, but the target is numeric")
    if rows.w is not None and not has_fit_parameter(model, "sample_weight"):
        raise SkippedModel("its fit takes no sample weights, but these rows have some")


class _FoldTotals:
    """What the folds add up to."""

    def __init__(self, folds: Folds, classes: NDArray[Any] | None) -> None:
        self.folds, self.classes = folds, classes
        self.evaluations: list[Evaluation] = []
        self.aucs: list[float] = []
        self.P: NDArray[np.float32] | None = None  # (n, K)
        self.predicted: NDArray[Any] = np.zeros(
            len(folds.rows), dtype=np.float64 if classes is None else np.int32
        )
        self.fit: list[float] = []
        self.predict: list[float] = []
        self.parameters: int | None = None
        self.learned = 0  # rows, at most, in a fold
        self.tuned: list[str] = []  # what was chosen in each fold

    def add(self, candidate_model: CandidateModel, fold: int) -> None:
        """Fit to all other folds, and judge on this one."""
        folds, rows = self.folds, self.folds.rows
        train, test = folds.split(fold)
        prepared_rows = folds.prepared_rows(candidate_model, fold)
        train = mixed_order(candidate_model, few_rows(candidate_model, train, rows, prepared_rows.p), fold)
        w = None if rows.w is None else rows.w[train]
        with _among(train):
            X = prepared_rows(train)
            fitted, seconds = timed(lambda: fit_candidate(candidate_model, X, rows.y[train], w))
        self.fit.append(seconds)
        if candidate_model.grid is not None:
            self.tuned.append(tuned_to(candidate_model, fitted))
        with _among(test):
            (self._values if self.classes is None else self._labels)(fitted, prepared_rows(test), test)
        self.learned = max(self.learned, len(train))
        self.parameters = parameters(fitted) if fold == 0 else self.parameters

    def _values(self, fitted: Any, X: Any, test: Indices) -> None:
        rows, sums = self.folds.rows, ValueSums.start(1)
        said, seconds = timed(lambda: np.asarray(fitted.predict(X), dtype=np.float64))
        self.predicted[test] = said
        self.predict.append(seconds)
        sums.add(said, rows.y[test], None if rows.w is None else rows.w[test])
        name = "y" if rows.target is None else rows.target
        self.evaluations.append(ValueEvaluation(type(fitted).__name__, (name,), sums=sums))

    def _labels(self, fitted: Any, X: Any, test: Indices) -> None:
        rows, classes = self.folds.rows, self.classes
        assert classes is not None
        (said, scores), seconds = timed(lambda: _answers(fitted, X, classes))
        self.predict.append(seconds)
        w, codes = None if rows.w is None else rows.w[test], code(rows.y[test], classes)
        sums = LabelSums.start(len(classes))
        sums.add(said, codes, w)
        probable = said.P is not None
        self.evaluations.append(LabelEvaluation(type(fitted).__name__, classes, probable, sums=sums))
        self.aucs.append(float("nan") if scores is None else mean_auc(scores, codes, w))
        self.predicted[test] = said.best
        if said.P is not None:
            if self.P is None:
                self.P = np.zeros((len(rows), len(classes)), dtype=np.float32)
            self.P[test] = said.P

    def warnings_of(self, candidate_model: CandidateModel) -> Iterator[str]:
        """What the model has not seen of these rows."""
        leaves = self.folds.prepared_rows(candidate_model, 0).leaves
        for kind, what in (("category", "categories"), ("text", "text"), ("number", "numbers")):
            names = [column.name for column in leaves if column.kind == kind]
            if names:
                yield f"leaves out {what}: {some_of(names, MOST_NAMES)}"
        if self.tuned:
            counts = Counter(self.tuned)
            chosen = "; ".join(f"{each} in {n} of {len(self.tuned)}" for each, n in counts.most_common())
            yield f"tuned in each fold by folds within it: {chosen}"
        whole = len(self.folds.split(0)[0])
        if self.learned < whole - 1:
            yield f"learns from a sample of {self.learned:,} of {whole:,} rows"

    def result(self, candidate_model: CandidateModel, notes: list[str]) -> Result:
        return Result(
            candidate_model.name,
            candidate_model.traits,
            tuple(self.evaluations),
            aucs=np.array(self.aucs),
            P=self.P,
            predicted=self.predicted,
            fit=np.array(self.fit),
            predict=np.array(self.predict),
            parameters=self.parameters,
            notes=_distinct(
                note.removeprefix(f"{type(candidate_model.model).__name__}: ") for note in notes
            ),
            online=candidate_model.online,
            baseline=candidate_model.baseline,
            candidate_model=candidate_model,
        )


def fit_candidate(candidate_model: CandidateModel, X: Any, y: NDArray[Any], w: Floats | None) -> Any:
    """A model fitted to these rows; one with a grid tries its points on folds of these rows first."""
    model: Any = clone(candidate_model.model)
    weights = {} if w is None else {"sample_weight": w}
    if candidate_model.grid is None:
        return model.fit(X, y, **weights)
    splitter = _inner(model, y)
    if hasattr(model, "cross_validate"):  # two passes for all points and folds
        return model.cross_validate(X, y, splitter, candidate_model.grid, **weights).best_estimator_
    from sklearn.model_selection import GridSearchCV

    scoring = "neg_mean_squared_error"
    if is_classifier(model):
        scoring = "neg_log_loss" if hasattr(model, "predict_proba") else "accuracy"
    search = GridSearchCV(model, candidate_model.grid, cv=splitter, scoring=scoring, error_score="raise")
    return search.fit(X, y, **weights).best_estimator_


def _inner(model: Any, y: NDArray[Any]) -> Any:
    """Folds within a fold; fewer, if a class has fewer rows."""
    if not is_classifier(model):
        return KFold(INNER_FOLDS, shuffle=True, random_state=0)
    least = int(np.unique(y, return_counts=True)[1].min())
    if least < 2:
        raise SkippedModel("a class has one row in a fold: there are no folds within it to tune by")
    return StratifiedKFold(min(INNER_FOLDS, least), shuffle=True, random_state=0)


def tuned_to(candidate_model: CandidateModel, fitted: Any) -> str:
    """The point of the grid that was chosen."""
    grids = candidate_model.grid if isinstance(candidate_model.grid, list) else [candidate_model.grid]
    names = sorted({name for grid in grids for name in grid})
    held = fitted.get_params()
    return ", ".join(f"{name}={held[name]!r}" for name in names)


def few_rows(candidate_model: CandidateModel, train: Indices, rows: Rows, p: int) -> Indices:
    """The rows that a model can learn from in a reasonable time: all, or some of each value of y."""
    gappy, y = candidate_model.most_gappy is not None and bool(np.isnan(rows.numbers).any()), rows.y
    most, where = (
        (candidate_model.most_gappy, " with gaps") if gappy else (candidate_model.most_columns, "")
    )
    if most is not None and p > most:
        raise SkippedModel(f"it would take too long on {p:,} columns{where} (at most {most:,})")
    if candidate_model.most_cells is None or len(train) * p <= candidate_model.most_cells:
        return train
    mixed = np.random.default_rng(0).permutation(train)
    order = mixed[np.argsort(y[mixed], kind="stable")]
    first = np.unique(y[order], return_index=True)[1]  # of each class at least one
    even = np.linspace(0, len(order) - 1, candidate_model.most_cells // p).astype(np.intp)
    return np.sort(order[np.union1d(even, first)])


def mixed_order(candidate_model: CandidateModel, train: Indices, fold: int) -> Indices:
    """In a random order for models that learn row by row, unless they see to it: files come sorted."""
    model = candidate_model.model
    by_row = candidate_model.online or hasattr(model, "learn_one")
    if not by_row or model.get_params(deep=False).get("shuffle") is True:
        return train
    return np.random.default_rng(fold).permutation(train)


def _answers(fitted: Any, X: Any, classes: NDArray[Any]) -> tuple[ClassPredictions, Any]:
    """What is decided, and how sure, by the comparison's classes; and scores, if there are any."""
    best = code(np.asarray(fitted.predict(X)), classes)
    at = code(np.asarray(fitted.classes_), classes)
    if hasattr(fitted, "predict_proba"):
        P = np.zeros((len(best), len(classes)))
        P[:, at] = fitted.predict_proba(X)

        def logs(rows: Indices) -> Floats:
            L = np.full((len(rows), len(classes)), -np.inf)
            L[:, at] = fitted.predict_log_proba(_safe_indexing(X, rows))
            return L

        return ClassPredictions(best, P, logs=logs if hasattr(fitted, "predict_log_proba") else None), P
    if not hasattr(fitted, "decision_function"):
        return ClassPredictions(best), None
    Z = np.asarray(fitted.decision_function(X), dtype=np.float64)
    if Z.ndim == 1:
        Z = Z if at[1] == 1 else -Z
        return ClassPredictions(best, margin=Z), Z
    by_class = np.full((len(best), len(classes)), -np.inf)
    by_class[:, at] = Z
    return ClassPredictions(best), by_class


def _distinct(notes: Iterator[str]) -> tuple[str, ...]:
    """Each once, whatever numbers are in it: those of folds differ."""
    return tuple({re.sub(r"\d[\d.,e+-]*", "#", note): note for note in reversed(list(notes))}.values())[
        ::-1
    ]


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """What it returns, and the seconds that it takes."""
    start = time.perf_counter()
    found = work()
    return found, time.perf_counter() - start


@contextmanager
def _among(rows: Indices) -> Iterator[None]:
    """Errors about a cell count its row among all, not among those of a fold."""
    try:
        yield
    except BadCell as problem:
        raise problem.named(problem.name, f"row {rows[problem.row]}") from None


# How models become better with the number of rows that they learn from.

POINTS = 7  # of a curve, if nothing else is asked for
LEAST = 10  # rows that a model learns from
LEAST_OF_CLASS = 3  # rows of a class, on average


@dataclass(frozen=True)
class LearningCurve:
    """Metrics on held-out rows by the number of training rows, for several models and folds.

    Attributes
    ----------
    metric : str
        The name of the metric.
    models : tuple of str
        The names of the M models.
    sizes : ndarray of shape (S,)
        The numbers of training rows, ascending.
    figures : ndarray of shape (M, S, F)
        The metric by model, size and fold; NaN where it is not defined.
    baseline : float
        The metric of the baseline, which ignores the features.
    mean : ndarray of shape (M, S)
        The mean over folds.
    error : ndarray of shape (M, S)
        The standard error of the mean.

    See Also
    --------
    likelier.plot.learning_curve : Draws it.
    """

    metric: str
    models: tuple[str, ...]
    sizes: Indices  # (S,) rising
    figures: Floats  # (M, S, F); NaN: there is none
    baseline: float  # of what knows y alone

    @property
    def mean(self) -> Floats:
        """The mean over folds, of shape (M, S)."""
        return np.asarray(self.figures.mean(axis=2))

    @property
    def error(self) -> Floats:
        """The standard error of the mean, of shape (M, S), corrected as in a comparison."""
        return np.array([[standard_error(folds) for folds in of_model] for of_model in self.figures])


def grow_training_rows(
    comparison: Comparison,
    models: Sequence[str] | None = None,
    *,
    sizes: Sequence[int] | None = None,
    metric: str | None = None,
) -> LearningCurve:
    """Models of a comparison on the same folds, learning from fewer of the rows, and from all.

    models: by name, by default all but the baseline. sizes: numbers of rows, by default seven in even
    ratios up to all that folds leave. Smaller sets are parts of larger ones, with the classes in
    proportion.
    """
    metric = comparison.metric if metric is None else metric
    known = [each.name for each in comparison.metrics]
    if metric not in known:
        raise ValueError(f"metric must be one of {', '.join(map(repr, known))}; got {metric!r}.")
    names = [r.model for r in _running(comparison)] if models is None else list(models)
    results = [comparison.result(name) for name in names]
    folds = comparison.folds
    if folds is None:
        folds = Folds.of(comparison.rows, comparison.classes, comparison.cv, comparison.seed)
    whole = min(len(folds.split(fold)[0]) for fold in range(folds.count))  # all folds have as many
    at = _sizes(sizes, whole, 1 if comparison.classes is None else len(comparison.classes))
    order = _order(folds.rows.y, comparison.classes, comparison.seed)
    figures = np.full((len(results), len(at), folds.count), np.nan)
    for s, size in enumerate(at):
        fewer = ReducedFolds(
            folds.rows, folds.number, folds.count, folds.pairs, order=order, size=int(size)
        )
        for m, result in enumerate(results):
            candidate_model = None if size == whole else result.candidate_model  # of all rows it is known
            found = (
                result if candidate_model is None else evaluated(candidate_model, fewer, comparison.classes)
            )
            if found.folds:
                figures[m, s] = found.figures(metric)
    baseline = next((r.mean(metric) for r in comparison.results if r.baseline), float("nan"))
    return LearningCurve(metric, tuple(names), at, figures, baseline)


def _running(comparison: Comparison) -> list[Result]:
    return [r for r in comparison.results if r.folds and not r.baseline]


def _sizes(asked: Sequence[int] | None, whole: int, K: int) -> Indices:
    if asked is None:
        least = min(max(LEAST, LEAST_OF_CLASS * K), whole)
        return np.unique(np.geomspace(least, whole, POINTS).round().astype(np.intp))
    found = np.unique(np.asarray(asked))
    if not len(found) or found.dtype.kind not in "iu" or found[0] < 2:
        raise ValueError(f"sizes must be integers >= 2 (numbers of rows); got {asked!r}.")
    if found[-1] > whole:
        raise ValueError(
            f"sizes: {found[-1]} rows are more than the {whole} that the folds leave to learn from"
        )
    return found.astype(np.intp)


def _order(y: NDArray[Any], classes: NDArray[Any] | None, seed: int) -> Indices:
    """All rows, such that every beginning has the classes in proportion."""
    rng = np.random.default_rng(seed)
    place = rng.permutation(len(y)).astype(np.float64)
    if classes is not None:
        codes = code(y, classes)
        for k in range(len(classes)):
            own = np.flatnonzero(codes == k)
            place[own] = (place[own].argsort().argsort() + rng.random()) / len(own)
    return place.argsort(kind="stable")


@dataclass(frozen=True)
class ReducedFolds(Folds):
    """The same folds, of which less is learned from."""

    order: Indices = field(kw_only=True)  # in which rows are taken
    size: int = field(kw_only=True)

    def split(self, fold: int) -> tuple[Indices, Indices]:
        every, test = super().split(fold)
        learned = np.zeros(len(self.number), dtype=np.bool_)
        learned[every] = True
        return np.sort(self.order[learned[self.order]][: self.size]), test
