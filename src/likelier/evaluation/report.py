"""Results of an evaluation or a cross-validation: metrics, tables, curves."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from likelier import optional
from likelier.array_types import Floats
from likelier.display import Displayable, Part, Table
from likelier.evaluation.metrics import LabelSums, ValueSums, unranked
from likelier.streams.figures import GROUPS, Calibration, Figures

# What a cross-validation found.


@dataclass(frozen=True, eq=False)
class CrossValidation(Displayable):
    """The result of `cross_validate`: metrics of V points of a parameter grid on F folds.

    Prints as a table with the best point marked. Means over folds are unweighted and standard deviations
    are those of the folds (ddof 0), as in scikit-learn's GridSearchCV.

    Attributes
    ----------
    params : tuple of dict
        The V points of the grid.
    rows : ndarray of shape (F,)
        The number of test rows with a positive weight in each fold.
    scores : dict of str to ndarray of shape (V, F)
        The metrics, by name.
    metric : str
        The metric that the best point is chosen by.
    best_index_ : int
        The index of the best point in `params`.
    best_estimator_ : estimator
        The best model, fitted to all rows.
    predictions : ndarray or None
        With `return_predictions=True`, the predictions of the best model for each row, made without the
        fold of that row.
    best_params_ : dict
        The best point of the grid.
    best_score_ : float
        The mean of the metric at the best point.

    Examples
    --------
    >>> import likelier as lk
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> found = lk.GaussianNB().cross_validate(X, y, cv=5)
    >>> found.mean("error").shape
    (1,)
    """

    params: tuple[dict[str, Any], ...]  # V
    rows: NDArray[np.int64]  # (F,) tested, of those that have a weight
    scores: Mapping[str, Floats]  # by metric, (V, F)
    metric: str
    best_index_: int
    best_estimator_: Any = field(repr=False)  # fitted to all rows
    predictions: Floats | None = field(default=None, repr=False)  # by the best, each row without its fold

    @property
    def best_params_(self) -> dict[str, Any]:
        """The best point of the grid."""
        return self.params[self.best_index_]

    @property
    def best_score_(self) -> float:
        """The mean of the metric at the best point."""
        return float(self.mean()[self.best_index_])

    def mean(self, metric: str | None = None) -> Floats:
        """The mean of a metric over the folds.

        Parameters
        ----------
        metric : str, default=None
            The name of a metric. None is the one that the best point is chosen by.

        Returns
        -------
        ndarray of shape (V,)
            One mean for each point of the grid.
        """
        return np.asarray(self.scores[metric or self.metric].mean(axis=1))

    def std(self, metric: str | None = None) -> Floats:
        """The standard deviation of a metric over the folds.

        Parameters
        ----------
        metric : str, default=None
            The name of a metric. None is the one that the best point is chosen by.

        Returns
        -------
        ndarray of shape (V,)
            One standard deviation for each point of the grid.
        """
        with np.errstate(invalid="ignore"):  # infinite losses have no deviation
            return np.asarray(self.scores[metric or self.metric].std(axis=1))

    def to_frame(self) -> Any:
        """The results as a pandas data frame, one row per point of the grid.

        Returns
        -------
        pandas.DataFrame
            The parameters, mean and standard deviation of each metric, and its value on each fold.
        """
        pd = optional.pandas()

        names = list(dict.fromkeys(name for point in self.params for name in point))
        columns: dict[str, Any] = {
            f"param_{name}": [point.get(name) for point in self.params] for name in names
        }
        for metric, values in self.scores.items():
            columns |= {f"mean_{metric}": self.mean(metric), f"std_{metric}": self.std(metric)}
            columns |= {f"split{fold}_{metric}": values[:, fold] for fold in range(values.shape[1])}
        return pd.DataFrame(columns)

    def _parts(self) -> list[Part]:
        names = list(dict.fromkeys(name for point in self.params for name in point))
        table = [["", *names, *self.scores]]
        for v, point in enumerate(self.params):
            mark = "*" if v == self.best_index_ else ""
            shown = [_short(point[name]) if name in point else "" for name in names]
            figures = [f"{self.mean(m)[v]:.6g} ± {self.std(m)[v]:.2g}" for m in self.scores]
            table.append([mark, *shown, *figures])
        head = f"{self.rows.sum()} rows in {len(self.rows)} folds; * best {self.metric}"
        return [head, "", Table(table, left=len(table[0]))]


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


# How good a model is on rows: figures, a table of them, curves.

MOST_LINES = 30  # of a table that is printed


class Roc(NamedTuple):
    """An ROC curve, one point per threshold.

    Attributes
    ----------
    false_positive : ndarray
        False positive rates.
    true_positive : ndarray
        True positive rates.
    threshold : ndarray
        Rows count as positive from this probability (or score) on.
    """

    false_positive: Floats  # of the first class
    true_positive: Floats  # of the second
    threshold: Floats  # the probability of the second class, or its score


@dataclass(frozen=True, eq=False)
class Evaluation(Displayable):
    """Metrics of a fitted model on rows whose y is known; prints as a table.

    Attributes
    ----------
    model : str
        The class name of the model.
    sums : object
        The sums over rows that all metrics are computed from.
    """

    model: str  # its class
    sums: Any = field(repr=False, kw_only=True)

    @property
    def rows(self) -> int:
        """The number of rows with a positive weight."""
        return int(self.sums.rows[0])

    @property
    def weight(self) -> float:
        """The total weight of the rows; a weight of 2 counts the row twice."""
        return float(self.sums.weight)

    @property
    @abstractmethod
    def figures(self) -> Mapping[str, float]:
        """All metrics that are defined for this model, by name."""

    @abstractmethod
    def _columns(self) -> dict[str, Any]:
        """The table: a row for each class, or target."""

    @abstractmethod
    def _alike(self, other: Self) -> bool: ...

    def merge(self, other: Self) -> Self:
        """Combine two evaluations of the same model on different rows.

        Parameters
        ----------
        other : LabelEvaluation or ValueEvaluation
            An evaluation with the same classes or targets.

        Returns
        -------
        LabelEvaluation or ValueEvaluation
            The evaluation of the rows of both.

        Raises
        ------
        ValueError
            If the classes or targets differ.
        """
        if type(other) is not type(self) or not self._alike(other):
            raise ValueError("evaluations of other classes or targets cannot be merged")
        return self._merged(other)

    @abstractmethod
    def _merged(self, other: Self) -> Self: ...

    def to_frame(self) -> Any:
        """The table as a pandas data frame: a row for each class, or for each target.

        Returns
        -------
        pandas.DataFrame
            For classes their weight, rate, precision, recall and F1; for targets RMSE, MAE and R².
        """
        pd = optional.pandas()

        return pd.DataFrame(self._columns())

    def _parts(self) -> list[Part]:
        n = self.rows
        weighted = "" if self.weight == n else f" of weight {self.weight:g}"
        head = f"{self.model} on {n} row{'' if n == 1 else 's'}{weighted}"
        figures = [
            (_LABELS.get(name, name.replace("_", " ")), f"{value:.6g}")
            for name, value in self.figures.items()
        ]
        summed = Table(figures, left=2, headed=False)
        return [head, "", summed, *self._remarks(), "", *_table(self._columns())]

    def _remarks(self) -> list[str]:
        return []


_LABELS = {"auc_error": "auc binning error"}  # as printed, where a name alone would mislead


@dataclass(frozen=True, eq=False)
class LabelEvaluation(Evaluation):
    """Metrics of a classifier on labelled rows, as returned by `evaluate`; prints as a table.

    A label that the model does not know counts as a mistake. It is left out of log-loss, Brier score, AUC
    and calibration, and of the metrics by class.

    Attributes
    ----------
    model : str
        The class name of the model.
    classes : ndarray of shape (K,)
        The class labels of the model.
    probable : bool
        Whether the model predicts probabilities.
    unknown_labels : tuple
        Labels in y that the model does not know.
    sums : LabelSums
        The sums over rows that all metrics are computed from.

    See Also
    --------
    evaluate : Makes an evaluation.
    likelier.plot.roc : Draws the ROC curve.
    likelier.plot.calibration : Draws the calibration curve.

    Examples
    --------
    >>> import likelier as lk
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> found = lk.evaluate(lk.GaussianNB().fit(X, y), X, y)
    >>> found.confusion.astype(int).tolist()
    [[50, 0, 0], [0, 47, 3], [0, 3, 47]]
    >>> found.recall.tolist()
    [1.0, 0.94, 0.94]
    """

    classes: NDArray[Any]  # (K,)
    probable: bool  # whether the model gives probabilities
    unknown_labels: tuple[Any, ...] = ()  # that the model does not know
    sums: LabelSums = field(repr=False, kw_only=True)

    @property
    def confusion(self) -> Floats:
        """The confusion matrix (K, K), in weights: rows are true classes, columns predicted ones."""
        return self.sums.confusion[:-1].copy()

    @property
    def unknown(self) -> float:
        """The weight of the rows whose label the model does not know."""
        return float(self.sums.confusion[-1].sum())

    @property
    def accuracy(self) -> float:
        """The share of rows whose class is predicted correctly."""
        return self.sums.accuracy

    @property
    def error(self) -> float:
        """The share of rows whose class is predicted wrongly: 1 - accuracy."""
        right = float(np.trace(self.confusion))
        return (self.weight - right) / self.weight if self.weight else float("nan")

    @property
    def log_loss(self) -> float:
        """The mean of -ln p_y, without clipping: infinite where p_y is 0, NaN without probabilities."""
        evaluated = self.sums.figures
        if not (self.probable and evaluated.weight):
            return float("nan")
        return evaluated.log_loss + float(self.sums.excess[0]) / evaluated.weight

    @property
    def brier(self) -> float:
        """The mean of Σ_k (p_k - [y = k])² (Brier 1950), halved for binary problems."""
        return self.sums.figures.brier if self.probable else float("nan")

    @property
    def auc(self) -> float:
        """The area under the ROC curve, accurate to `auc_error`.

        For more than two classes it is the mean of `aucs` over the classes that have rows.
        """
        return _mean(self.aucs) if self.sums.apart else self.sums.figures.auc

    @property
    def auc_error(self) -> float:
        """A bound on the error of `auc` through binning: half the share of pairs that fall into one bin.

        It is not a standard error, which depends on the number of rows.
        """
        if not self.sums.apart:
            return self.sums.figures.auc_error
        return _mean(np.array([each.auc_error for each in self.sums.apart]))

    @property
    def aucs(self) -> Floats:
        """The AUC (K,) of each class against all others; NaN if it has no rows, or there are no scores."""
        K = len(self.classes)
        return np.array([each.auc for each in self.sums.apart]) if self.sums.apart else np.full(K, self.auc)

    @property
    def calibration_error(self) -> float:
        """Expected calibration error: the mean over 15 groups of |rate - mean p| (Naeini et al. 2015)."""
        return self.sums.figures.calibration_error if self.probable else float("nan")

    @property
    def rates(self) -> Floats:
        """The relative frequency (K,) of each class in y."""
        return _shares(self.confusion.sum(axis=1), self.confusion.sum())

    @property
    def expected(self) -> Floats:
        """The mean predicted probability (K,) of each class."""
        K = len(self.classes)
        return self.sums.figures.expected[:K] if self.probable else np.full(K, np.nan)

    @property
    def precision(self) -> Floats:
        """The precision (K,) of each class: the share of its predictions that are correct; NaN if none."""
        return _shares(np.diagonal(self.confusion), self.sums.confusion.sum(axis=0))

    @property
    def recall(self) -> Floats:
        """The recall (K,) of each class: the share of its rows that are found; NaN if it has no rows."""
        return _shares(np.diagonal(self.confusion), self.confusion.sum(axis=1))

    @property
    def f1(self) -> Floats:
        """The F1 score (K,) of each class, 2 / (1/precision + 1/recall); NaN if it never occurs."""
        both = self.sums.confusion.sum(axis=0) + self.confusion.sum(axis=1)
        return _shares(2 * np.diagonal(self.confusion), both)

    @property
    def figures(self) -> Mapping[str, float]:
        """All metrics that are defined for this model, by name."""
        names = ["error", "accuracy"]
        names += ["log_loss", "brier"] if self.probable else []
        names += ["auc", "auc_error"] if not np.isnan(self.auc) else []
        names += ["calibration_error"] if self.probable else []
        return {name: getattr(self, name) for name in names}

    def calibration(self, groups: int = GROUPS) -> Calibration:
        """The calibration curve: groups of rows of about equal weight, by predicted probability.

        For binary problems the probability is that of the second class; for more classes that of the most
        likely class, and the rate is how often this class is correct.

        Parameters
        ----------
        groups : int, default=15
            The number of groups.

        Returns
        -------
        Calibration
            The mean probability `p`, the observed `rate` and the `weight` of each group.

        Raises
        ------
        ValueError
            If the model does not predict probabilities.
        """
        if not self.probable:
            raise ValueError(f"a {self.model} gives no probabilities: there is nothing to calibrate")
        return self.sums.figures.calibration(groups)

    def roc(self, positive: Any = None) -> Roc:
        """The ROC curve, from the highest threshold down.

        Parameters
        ----------
        positive : label, default=None
            The class that counts as positive, against all others. None is the second of two classes; it
            must be given for more.

        Returns
        -------
        Roc
            False and true positive rates, and thresholds.

        Raises
        ------
        ValueError
            If positive is not one of the classes, or y has rows of one class only.
        """
        figures, turned = self._figures_of(positive)
        if np.isnan(figures.auc):
            raise ValueError("a ROC curve needs scores, and rows of the class as well as others")
        bins = figures.bins[::-1]
        bins = bins[bins[:, :2].any(axis=1)]
        misses, hits, p = bins.T
        if turned:  # of the first of two classes: what speaks least for the second comes first
            misses, hits, p = hits[::-1], misses[::-1], (hits + misses - p)[::-1]
        level = p / (misses + hits)
        fall, rise = (np.append(0.0, np.cumsum(each) / each.sum()) for each in (misses, hits))
        return Roc(fall, rise, np.append(np.inf, level if self.probable else unranked(level)))

    def _figures_of(self, positive: Any) -> tuple[Figures, bool]:
        """The sums of a class against all others; whether they are those of the other of two."""
        labels = self.classes.tolist()
        if positive is not None and positive not in labels:
            raise ValueError(f"positive must be one of the classes {labels}; got {positive!r}.")
        if len(labels) == 2:
            return self.sums.figures, positive is not None and labels.index(positive) == 0
        if positive is None:
            raise ValueError(f"positive must be one of the classes {labels}: there are more than two.")
        if not self.sums.apart:
            raise ValueError("this evaluation kept no sums of each class: there is no ROC curve")
        return self.sums.apart[labels.index(positive)], False

    def _alike(self, other: Self) -> bool:
        return np.array_equal(self.classes, other.classes) and self.probable == other.probable

    def _merged(self, other: Self) -> Self:
        both = bool(self.sums.apart and other.sums.apart)
        sums = LabelSums.start(len(self.classes), apart=both)
        for one in (self, other):
            sums.merge(one.sums)
        unknown = tuple(dict.fromkeys((*self.unknown_labels, *other.unknown_labels)))
        return type(self)(self.model, self.classes, self.probable, unknown, sums=sums)

    def _columns(self) -> dict[str, Any]:
        found: dict[str, Any] = {"class": self.classes, "weight": self.confusion.sum(axis=1)}
        found |= {"rate": self.rates} | ({"expected": self.expected} if self.probable else {})
        found |= {"precision": self.precision, "recall": self.recall, "f1": self.f1}
        return found | ({"auc": self.aucs} if self.sums.apart else {})

    def _remarks(self) -> list[str]:
        if not self.unknown:
            return []
        some = ", ".join(repr(label) for label in self.unknown_labels[:5])
        more = ", ..." if len(self.unknown_labels) > 5 else ""
        which = f" ({some}{more})" if some else ""
        said = f"rows of weight {self.unknown:g} have labels that the model does not know{which}: errors"
        return ["", said]


@dataclass(frozen=True, eq=False)
class ValueEvaluation(Evaluation):
    """Metrics of a regression, as returned by `evaluate`; prints as a table.

    For several targets the metrics are means over the targets, as in scikit-learn.

    Attributes
    ----------
    model : str
        The class name of the model.
    targets : tuple of str
        The names of the targets.
    sums : ValueSums
        The sums over rows that all metrics are computed from.

    See Also
    --------
    evaluate : Makes an evaluation.

    Examples
    --------
    >>> import likelier as lk
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> found = lk.evaluate(lk.LinearRegression().fit(X, y), X, y)
    >>> round(found.r2, 3)
    0.518
    """

    targets: tuple[str, ...]  # (q,)
    sums: ValueSums = field(repr=False, kw_only=True)

    @property
    def rmse(self) -> float:
        """The root mean squared error: √ of the mean of (y - ŷ)²."""
        return float(self._roots.mean())

    @property
    def mae(self) -> float:
        """The mean absolute error: the mean of |y - ŷ|."""
        return float(self._means(self.sums.sizes).mean())

    @property
    def r2(self) -> float:
        """The coefficient of determination, 1 - Σ(y - ŷ)² / Σ(y - ȳ)², with the mean ȳ of these rows."""
        return float(self.sums.r2.mean())

    @property
    def figures(self) -> Mapping[str, float]:
        """All metrics, by name."""
        return {"rmse": self.rmse, "mae": self.mae, "r2": self.r2}

    @property
    def _roots(self) -> Floats:
        return np.sqrt(self._means(self.sums.squares))

    def _means(self, sums: Floats) -> Floats:
        return sums / self.weight if self.weight else np.full(len(sums), np.nan)

    def _alike(self, other: Self) -> bool:
        return self.targets == other.targets

    def _merged(self, other: Self) -> Self:
        sums = ValueSums.start(len(self.targets))
        for one in (self, other):
            sums.merge(one.sums)
        return type(self)(self.model, self.targets, sums=sums)

    def _columns(self) -> dict[str, Any]:
        errors = {"rmse": self._roots, "mae": self._means(self.sums.sizes), "r2": self.sums.r2}
        return {"target": list(self.targets), "mean": self.sums.spread.mean[0], **errors}


def _mean(values: Floats) -> float:
    """Of those that there are."""
    there = values[~np.isnan(values)]
    return float(there.mean()) if len(there) else float("nan")


def _shares(part: Floats, whole: Any) -> Floats:
    whole = np.broadcast_to(np.asarray(whole, dtype=np.float64), part.shape)
    return np.asarray(np.divide(part, whole, out=np.full(part.shape, np.nan), where=whole > 0))


def _table(columns: Mapping[str, Sequence[Any]]) -> list[Part]:
    """Its first lines, and how many more there are."""
    shown = [[name, *map(_shown, values[:MOST_LINES])] for name, values in columns.items()]
    n = len(next(iter(columns.values())))
    more = [f"and {n - MOST_LINES} more"] if n > MOST_LINES else []
    return [Table(list(zip(*shown, strict=True))), *more]


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return "-" if np.isnan(value) else f"{value:.6g}"
    return str(value)
