"""Results of an evaluation or a cross-validation: metrics, tables, curves."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from likelier.array_types import Floats
from likelier.display import Part, Shown, Table
from likelier.evaluation.metrics import LabelSums, ValueSums, unranked
from likelier.streams.figures import GROUPS, Calibration, Figures

# What a cross-validation found.


@dataclass(frozen=True, eq=False)
class CrossValidation(Shown):
    """Figures of V points of a grid on F folds; prints as a table, the best point marked.

    Means over folds are unweighted and deviations are those of the folds (ddof 0), as in scikit-learn's
    GridSearchCV.
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
        return self.params[self.best_index_]

    @property
    def best_score_(self) -> float:
        return float(self.mean()[self.best_index_])

    def mean(self, metric: str | None = None) -> Floats:
        """Over folds, (V,)."""
        return np.asarray(self.scores[metric or self.metric].mean(axis=1))

    def std(self, metric: str | None = None) -> Floats:
        """Over folds, (V,)."""
        with np.errstate(invalid="ignore"):  # infinite losses have no deviation
            return np.asarray(self.scores[metric or self.metric].std(axis=1))

    def to_frame(self) -> Any:
        """A row per point: parameters, mean and deviation of each metric, and its value on each fold."""
        import pandas as pd

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
    """A point for each bin: the rows of at least this threshold, as shares of each class."""

    false_positive: Floats  # of the first class
    true_positive: Floats  # of the second
    threshold: Floats  # the probability of the second class, or its score


@dataclass(frozen=True, eq=False)
class Evaluation(Shown):
    """Figures of a fitted model on rows whose y is known; prints as a table."""

    model: str  # its class
    sums: Any = field(repr=False, kw_only=True)

    @property
    def rows(self) -> int:
        """How many rows were judged: those that have a weight."""
        return int(self.sums.rows[0])

    @property
    def weight(self) -> float:
        """Of all rows; weight 2 is the row twice."""
        return float(self.sums.weight)

    @property
    @abstractmethod
    def figures(self) -> Mapping[str, float]:
        """The figures of all rows together; those that there are not are left out."""

    @abstractmethod
    def _columns(self) -> dict[str, Any]:
        """The table: a row for each class, or target."""

    @abstractmethod
    def _alike(self, other: Self) -> bool: ...

    def merge(self, other: Self) -> Self:
        """Of the rows of both."""
        if type(other) is not type(self) or not self._alike(other):
            raise ValueError("evaluations of other classes or targets cannot be merged")
        return self._merged(other)

    @abstractmethod
    def _merged(self, other: Self) -> Self: ...

    def to_frame(self) -> Any:
        """The table as a pandas frame."""
        import pandas as pd

        return pd.DataFrame(self._columns())

    def _parts(self) -> list[Part]:
        n = self.rows
        weighed = "" if self.weight == n else f" of weight {self.weight:g}"
        head = f"{self.model} on {n} row{'' if n == 1 else 's'}{weighed}"
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
    """Of a classifier.

    A label that the model does not know is a mistake, and counts neither in log-loss, Brier's score, AUC
    and calibration, nor among the classes.
    """

    classes: NDArray[Any]  # (K,)
    probable: bool  # whether the model gives probabilities
    unknown_labels: tuple[Any, ...] = ()  # that the model does not know
    sums: LabelSums = field(repr=False, kw_only=True)

    @property
    def confusion(self) -> Floats:
        """(K, K) weight of rows by class and by the class that was decided for."""
        return self.sums.confusion[:-1].copy()

    @property
    def unknown(self) -> float:
        """Weight of rows whose label the model does not know."""
        return float(self.sums.confusion[-1].sum())

    @property
    def accuracy(self) -> float:
        """The share of rows whose class is found."""
        return self.sums.accuracy

    @property
    def error(self) -> float:
        """The share of mistakes."""
        right = float(np.trace(self.confusion))
        return (self.weight - right) / self.weight if self.weight else float("nan")

    @property
    def log_loss(self) -> float:
        """Mean of -ln p_y, nothing cut off: infinite where p_y is 0."""
        judged = self.sums.figures
        if not (self.probable and judged.weight):
            return float("nan")
        return judged.log_loss + float(self.sums.excess[0]) / judged.weight

    @property
    def brier(self) -> float:
        """Mean of Σ_k (p_k - [y = k])² (Brier 1950), halved for two classes."""
        return self.sums.figures.brier if self.probable else float("nan")

    @property
    def auc(self) -> float:
        """How often a row of the second of two classes had the larger score, to within `auc_error`.

        For more classes, the mean of `aucs`, of those classes that have rows.
        """
        return _mean(self.aucs) if self.sums.apart else self.sums.figures.auc

    @property
    def auc_error(self) -> float:
        """How far `auc` may be from that without bins: half the share of pairs that fall into one bin.

        It is no standard error: that depends on how many rows there are.
        """
        if not self.sums.apart:
            return self.sums.figures.auc_error
        return _mean(np.array([each.auc_error for each in self.sums.apart]))

    @property
    def aucs(self) -> Floats:
        """(K,) of each class against all others; NaN: it has no rows, or there are no scores."""
        K = len(self.classes)
        return np.array([each.auc for each in self.sums.apart]) if self.sums.apart else np.full(K, self.auc)

    @property
    def calibration_error(self) -> float:
        """Mean over 15 groups of |rate - mean p| (Naeini et al. 2015)."""
        return self.sums.figures.calibration_error if self.probable else float("nan")

    @property
    def rates(self) -> Floats:
        """(K,) how often each class came."""
        return _shares(self.confusion.sum(axis=1), self.confusion.sum())

    @property
    def expected(self) -> Floats:
        """(K,) how often each class was expected: its mean probability."""
        K = len(self.classes)
        return self.sums.figures.expected[:K] if self.probable else np.full(K, np.nan)

    @property
    def precision(self) -> Floats:
        """(K,) of the rows that were taken for a class, the share that were of it; NaN: there were none."""
        return _shares(np.diagonal(self.confusion), self.sums.confusion.sum(axis=0))

    @property
    def recall(self) -> Floats:
        """(K,) of the rows of a class, the share that were taken for it; NaN: there were none."""
        return _shares(np.diagonal(self.confusion), self.confusion.sum(axis=1))

    @property
    def f1(self) -> Floats:
        """(K,) 2 / (1/precision + 1/recall); NaN: the class neither came nor was decided for."""
        both = self.sums.confusion.sum(axis=0) + self.confusion.sum(axis=1)
        return _shares(2 * np.diagonal(self.confusion), both)

    @property
    def figures(self) -> Mapping[str, float]:
        names = ["error", "accuracy"]
        names += ["log_loss", "brier"] if self.probable else []
        names += ["auc", "auc_error"] if not np.isnan(self.auc) else []
        names += ["calibration_error"] if self.probable else []
        return {name: getattr(self, name) for name in names}

    def calibration(self, groups: int = GROUPS) -> Calibration:
        """Groups of rows of about equal weight: mean probability, and how often it came to pass.

        Of two classes, the second; of more, whether the likeliest class is right.
        """
        if not self.probable:
            raise ValueError(f"a {self.model} gives no probabilities: there is nothing to calibrate")
        return self.sums.figures.calibration(groups)

    def roc(self, positive: Any = None) -> Roc:
        """The ROC curve, from the likeliest rows down: a point for each bin that has rows.

        positive: the class that is to be found among all others; by default the second of two.
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
    """Of a regression; figures of several targets are means over them, as in scikit-learn."""

    targets: tuple[str, ...]  # (q,)
    sums: ValueSums = field(repr=False, kw_only=True)

    @property
    def rmse(self) -> float:
        """√ of the mean of (y - ŷ)²."""
        return float(self._roots.mean())

    @property
    def mae(self) -> float:
        """Mean of |y - ŷ|."""
        return float(self._means(self.sums.sizes).mean())

    @property
    def r2(self) -> float:
        """1 - Σ(y - ŷ)² / Σ(y - ȳ)², ȳ of these rows."""
        return float(self.sums.r2.mean())

    @property
    def figures(self) -> Mapping[str, float]:
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
