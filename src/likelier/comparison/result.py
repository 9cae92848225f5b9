"""The result of a comparison: significance of differences, the table, and its text for a terminal."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from textwrap import fill
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from likelier import optional
from likelier.array_types import Floats
from likelier.comparison.assumptions import Checks, check
from likelier.comparison.models import CandidateModel, ModelTraits
from likelier.comparison.rows import Rows
from likelier.display import Table, aligned, counted, html
from likelier.evaluation import Evaluation

# Whether two models differ by more than the luck of the folds (Nadeau and Bengio 2003).
#
# Training sets of k folds share most of their rows, so that figures of folds are not independent, and the
# variance of their mean is no 1/k of theirs: with n_test / n_train = 1 / (k - 1) it is taken as (1/k +
# 1/(k - 1)) s².

LEVEL = 0.05  # of the test, on both sides


def standard_error(figures: Floats) -> float:
    """Of the mean over folds, corrected for their overlap."""
    k = len(figures)
    if k < 2 or not np.isfinite(figures).all():
        return np.nan
    return float(np.sqrt((1 / k + 1 / (k - 1)) * figures.var(ddof=1)))


def p_value(one: Floats, other: Floats) -> float:
    """Of no difference between two models on the same folds: the corrected resampled t-test."""
    d = one - other
    if not np.isfinite(d).all():
        return np.nan
    error = standard_error(d)
    if error == 0:
        return 1.0 if d.mean() == 0 else 0.0
    return float(2 * stdtr(len(d) - 1, -abs(d.mean()) / error))


def indistinct(best: Floats, other: Floats) -> bool:
    """Whether the difference to the best could be luck."""
    return bool(p_value(best, other) >= LEVEL)


# A comparison in words: tables that fit a terminal, and what a reader should know.

WIDTH = 122
NATURE = ["model", "kind", "models", "independent", "boundary"]
NARROWEST = 40  # to which remarks are broken


def text(comparison: "Comparison", width: int = WIDTH) -> str:
    """Metrics, notes and assumptions, in lines of that width, as far as there is room for a table."""
    running = [result for result in comparison.results if not result.skipped]
    wrapped = max(width, NARROWEST)
    parts = [
        [fill(_head(comparison), wrapped)],
        next(
            (table for table in _tables(comparison, running) if _width(table) <= width),
            _least(comparison, running),
        ),
        [fill(note, wrapped, subsequent_indent="  ") for note in _remarks(comparison)],
        _model_traits(running, width),
    ]
    return "\n\n".join("\n".join(line.rstrip() for line in part) for part in parts if part)


def notebook(comparison: "Comparison") -> str:
    """The same as HTML, which has room for all figures."""
    running = [result for result in comparison.results if not result.skipped]
    metrics, known = comparison.metrics, _known(running)
    every = {metric.name for metric in metrics}
    figures = Table(_figures(comparison, running, metrics, every, " ± ", times=True), left=2)
    model_traits = [Table([NATURE, *known], left=len(NATURE))] if known else []
    return html([_head(comparison), figures, *_remarks(comparison), *model_traits])


def _head(comparison: "Comparison") -> str:
    rows, classes = comparison.rows, comparison.classes
    kind = "a target of numbers" if classes is None else counted(len(classes), "class")
    return (
        f"{counted(len(rows), 'row')}, {counted(rows.p, 'column')}, {kind}; {how_split(comparison)}; by "
        f"{comparison.metric.replace('_', '-')}, mean ± standard error"
    )


def how_split(comparison: "Comparison") -> str:
    """How rows were held out, in words."""
    if comparison.splits:
        return f"{comparison.cv} folds ({comparison.splits})"
    return f"{comparison.cv}-fold cross-validation, seed {comparison.seed}"


def next_code(table: str) -> str:
    """The code that gives the best model of a comparison."""
    lines = (
        "import likelier as lk",
        f"found = lk.compare({table})",
        'lk.save(found.best_estimator_, "best.lk")',
    )
    return "\n".join(f"  {line}" for line in lines)


# ---- figures -------------------------------------------------------------------------------------
def _tables(comparison: "Comparison", results: Sequence["Result"]) -> Iterator[list[str]]:
    """With all errors, close by if need be; with that of the metric alone; without times."""
    every, one = {metric.name for metric in comparison.metrics}, {comparison.metric}
    for errors, sign, times in (
        (every, " ± ", True),
        (every, "±", True),
        (one, " ± ", True),
        (one, "±", False),
    ):
        yield _aligned(_figures(comparison, results, comparison.metrics, errors, sign, times=times))


def _least(comparison: "Comparison", results: Sequence["Result"]) -> list[str]:
    """The metric alone."""
    chosen = [metric for metric in comparison.metrics if metric.name == comparison.metric]
    return _aligned(_figures(comparison, results, chosen, {comparison.metric}, "±", times=False))


def _figures(
    comparison: "Comparison",
    results: Sequence["Result"],
    metrics: Sequence["Metric"],
    errors: set[str],
    sign: str,
    *,
    times: bool,
) -> list[list[str]]:
    """The rows of the table, headings first."""
    headings = ["", "model", *(metric.heading for metric in metrics)]
    rows = [headings + (["fit", "predict", "params"] if times else [])]
    for result in results:
        mark = "*" if result is comparison.best else "=" if comparison.is_tied(result) else ""
        row = [mark, result.model, *(_figure(result, m, sign if m.name in errors else "") for m in metrics)]
        if times:
            params = "-" if result.parameters is None else f"{result.parameters:,}"
            row += [seconds(result.seconds("fit")), seconds(result.seconds("predict")), params]
        rows.append(row)
    return rows


def _figure(result: "Result", metric: "Metric", sign: str) -> str:
    """The mean, and behind the sign its error."""
    value, error = result.mean(metric.name), result.error_of(metric.name)
    if np.isnan(value):
        return "-"
    return metric.shown(value) + (f"{sign}{metric.shown(error)}" if sign and not np.isnan(error) else "")


def _model_traits(results: Sequence["Result"], width: int) -> list[str]:
    """What models assume, as a table, or as sentences where that is too wide."""
    known = _known(results)
    if not known:
        return []
    table = _aligned([NATURE, *known], left=len(NATURE))
    if _width(table) <= width:
        return table
    said = (f"{row[0]}: {'; '.join(cell for cell in row[1:3] if cell)}" for row in known)
    return [fill(line, max(width, NARROWEST), subsequent_indent="  ") for line in said]


def _known(results: Sequence["Result"]) -> list[list[str]]:
    """A row for each model whose traits are known."""
    rows = (
        [r.model, r.traits.kind, r.traits.models, r.traits.independent, r.traits.boundary] for r in results
    )
    return [row for row in rows if any(row[1:])]


def _aligned(table: Sequence[Sequence[str]], left: int = 2) -> list[str]:
    """As lines, one below the headings: the first columns to the left, the others to the right."""
    widths = [max(map(len, cells)) for cells in zip(*table, strict=True)]
    heads, *lines = aligned(Table(table, left))
    return [heads, "  ".join("-" * width for width in widths), *lines]


def _width(lines: Sequence[str]) -> int:
    return max(len(line) for line in lines)


# ---- remarks -------------------------------------------------------------------------------------
def _remarks(comparison: "Comparison") -> list[str]:
    """What a reader should know; what the models have to say, each remark once."""
    said = ["* best; = not significantly different from it (corrected t-test, 5 %)", *comparison.rows.notes]
    makers: dict[str, list[str]] = {}
    for result in comparison.results:
        for note in ((f"skipped: {result.skipped}",) if result.skipped else ()) + result.notes:
            makers.setdefault(first_sentence(note), []).append(result.model)
    return said + [f"{'; '.join(models)}: {note}" for note, models in makers.items()]


def first_sentence(note: str) -> str:
    """Of what a model says; all of it is in `notes`."""
    return re.split(r"(?<=[^.]\.)\s+(?=[A-Z])", " ".join(note.split()))[0].removesuffix(".")


def seconds(value: float) -> str:
    """A time, in words; of none, a dash."""
    if np.isnan(value):
        return "-"
    if value < 1:
        return f"{1e3 * value:.1f} ms" if value < 0.01 else f"{1e3 * value:.0f} ms"
    return f"{value:.1f} s"


# What a comparison found, and how it is shown.

__all__ = ["LABELS", "VALUES", "Comparison", "Metric", "Result", "seconds"]


class Metric(NamedTuple):
    """A metric by which models are compared; a column of the table."""

    name: str
    heading: str
    shown: Callable[[float], str]
    rising: bool = False  # whether more is better


def _percent(value: float) -> str:
    return f"{100 * value:.2f}"


def _four(value: float) -> str:
    return f"{value:.4f}" if value < 100 else f"{value:.4g}"


def _three(value: float) -> str:
    return f"{value:.3f}"


LABELS = (
    Metric("error", "error %", _percent),
    Metric("log_loss", "log-loss", _four),
    Metric("brier", "Brier", _three),
    Metric("calibration_error", "calibr.", _three),
    Metric("auc", "AUC", _three, rising=True),
)
VALUES = (
    Metric("rmse", "RMSE", "{:.5g}".format),
    Metric("mae", "MAE", "{:.5g}".format),
    Metric("r2", "R²", "{:.4f}".format, rising=True),
)


@dataclass(frozen=True)
class Result:
    """The metrics of one model on all folds, or the reason why the model was skipped.

    Attributes
    ----------
    model : str
        The name of the model.
    traits : ModelTraits
        The kind of model, the distribution and independence that it assumes, and its decision boundary.
    folds : tuple of LabelEvaluation or ValueEvaluation
        The evaluation of the held-out rows of each fold.
    aucs : ndarray of shape (F,)
        The AUC of each fold.
    P : ndarray of shape (n, K) or None
        The predicted probabilities of each row while it was held out.
    predicted : ndarray of shape (n,) or None
        The predictions of each row while it was held out: class numbers, or values.
    fit : ndarray of shape (F,)
        Seconds for the fit, by fold.
    predict : ndarray of shape (F,)
        Seconds for predicting the held-out rows, by fold.
    parameters : int or None
        The number of fitted parameters.
    notes : tuple of str
        Warnings that the fits issued.
    skipped : str or None
        The reason why the model was skipped; None if it was evaluated.
    online : bool
        Whether the model learns row by row.
    baseline : bool
        Whether this is the baseline, which ignores the features.
    candidate_model : CandidateModel or None
        The model before fitting, with its preprocessing.

    See Also
    --------
    compare : Returns a `Comparison` of such results.
    """

    model: str
    traits: ModelTraits = field(default_factory=ModelTraits)
    folds: tuple[Evaluation, ...] = field(default=(), repr=False)  # one each, of the rows held out
    aucs: Floats = field(default_factory=lambda: np.empty(0), repr=False)  # of each fold
    P: NDArray[np.float32] | None = field(default=None, repr=False)  # (n, K) of rows when held out
    predicted: NDArray[Any] | None = field(default=None, repr=False)  # (n,) class numbers, or values
    fit: Floats = field(default_factory=lambda: np.empty(0), repr=False)  # seconds, of each fold
    predict: Floats = field(default_factory=lambda: np.empty(0), repr=False)
    parameters: int | None = None
    notes: tuple[str, ...] = ()
    skipped: str | None = None
    online: bool = False
    baseline: bool = False
    candidate_model: CandidateModel | None = field(
        default=None, repr=False
    )  # what was evaluated, not fitted

    def figures(self, metric: str) -> Floats:
        """The metric on each fold.

        Parameters
        ----------
        metric : str
            The name of a metric, such as "log_loss" or "rmse".

        Returns
        -------
        ndarray of shape (F,)
            NaN where the metric is not defined.
        """
        if metric == "auc":
            return self.aucs
        return np.array([getattr(each, metric) for each in self.folds], dtype=np.float64)

    def mean(self, metric: str) -> float:
        """The mean of a metric over the folds.

        Parameters
        ----------
        metric : str
            The name of a metric.

        Returns
        -------
        float
            NaN if the model does not have the metric or was skipped.
        """
        return float(np.mean(self.figures(metric))) if self.folds else float("nan")

    def error_of(self, metric: str) -> float:
        """The standard error of the mean of a metric, corrected for the overlap of the training sets.

        Parameters
        ----------
        metric : str
            The name of a metric.

        Returns
        -------
        float
            NaN if the model does not have the metric or was skipped.
        """
        return standard_error(self.figures(metric)) if self.folds else float("nan")

    def seconds(self, what: Literal["fit", "predict"]) -> float:
        """The mean time over the folds.

        Parameters
        ----------
        what : {"fit", "predict"}
            The time for fitting, or for predicting the held-out rows of a fold.

        Returns
        -------
        float
            Seconds; NaN if the model was skipped.
        """
        found: Floats = getattr(self, what)
        return float(found.mean()) if len(found) else float("nan")

    @property
    def overall(self) -> Any:
        """One evaluation of all rows, each predicted while it was held out."""
        first, *others = self.folds
        for other in others:
            first = first.merge(other)
        return first


class WholeTable(NamedTuple):
    """The rows that were passed, where a sample of it was compared on."""

    X: Any
    y: Any
    sample_weight: Any


@dataclass(frozen=True, repr=False)
class Comparison:
    """The results of models on the same folds of one table, best first; prints as a table.

    Attributes
    ----------
    results : tuple of Result
        One result per model, sorted by the metric.
    rows : Rows
        The table that was compared on, with notes on what was left out.
    classes : ndarray or None
        The sorted class labels; None for a regression.
    metric : str
        The metric that ranks the models.
    cv : int
        The number of folds.
    seed : int
        The seed of the folds.
    name : str or None
        The name of the data.
    seconds : float
        The time that the comparison took.
    splits : str
        How rows were split, if not into shuffled folds.
    folds : Folds or None
        The rows of each fold.
    table : WholeTable or None
        The rows that were passed, where a sample of it was compared on.
    best : Result
        The best model by the metric.
    best_estimator_ : estimator
        The best model, fitted to all rows.
    metrics : tuple of Metric
        All metrics for this kind of target.

    See Also
    --------
    compare : Makes a comparison.

    Examples
    --------
    >>> import likelier as lk
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> found = lk.compare(X, y, ["GaussianNB", "QDA"], metric="error")
    >>> [result.model for result in found.results][-1]
    '(majority class)'
    >>> found.to_frame()["error"].idxmin() == found.best.model
    True
    """

    results: tuple[Result, ...]
    rows: Rows = field(repr=False)
    classes: NDArray[Any] | None  # None: numbers are to be found
    metric: str
    cv: int
    seed: int
    name: str | None = None  # of the data
    seconds: float = float("nan")
    splits: str = ""
    folds: Any = field(default=None, repr=False)
    table: WholeTable | None = field(default=None, repr=False)

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """All metrics for this kind of target."""
        return VALUES if self.classes is None else LABELS

    @cached_property
    def best(self) -> Result:
        """The best model by the metric."""
        return self.results[0]

    def is_tied(self, result: Result) -> bool:
        """Whether a model is not significantly different from the best (corrected t-test, 5 %).

        A model that is worse than the baseline is never tied, however much its metrics vary, unless the
        baseline itself is tied.

        Parameters
        ----------
        result : Result
            One of the results of this comparison.

        Returns
        -------
        bool
            True for the best model itself, too.
        """
        if result is self.best or not result.folds:
            return result is self.best
        base = next((each for each in self.results if each.baseline), None)
        if base is not None and self._apart(base) and self._worse(result, base):
            return False
        return not self._apart(result)

    def _apart(self, result: Result) -> bool:
        """Whether the best is better by more than luck."""
        return not indistinct(self.best.figures(self.metric), result.figures(self.metric))

    def _worse(self, one: Result, other: Result) -> bool:
        """By their means."""
        rising = next(metric.rising for metric in self.metrics if metric.name == self.metric)
        less, more = (other, one) if rising else (one, other)
        return less.mean(self.metric) > more.mean(self.metric)

    def result(self, model: str) -> Result:
        """The result of a model.

        Parameters
        ----------
        model : str
            The name of the model in the table.

        Returns
        -------
        Result
            The result with this name.

        Raises
        ------
        KeyError
            If no model has this name.
        """
        for result in self.results:
            if result.model == model:
                return result
        raise KeyError(f"{model}: compared were {', '.join(r.model for r in self.results)}")

    @cached_property
    def _fitted(self) -> dict[str, Any]:
        return {}

    @property
    def best_estimator_(self) -> Any:
        """The best model, fitted to all rows: it takes tables like the one that was compared on."""
        return self.estimator(self.best.model)

    def estimator(self, model: str) -> Any:
        """A model fitted to all rows, which takes tables like the one that was compared on.

        The columns that it uses, and how they are encoded, are kept in the model: `predict` takes the whole
        table, and `likelier.save` writes it to a file. A model that is not likelier's is the last step of a
        pipeline after a `DesignMatrix`.

        Parameters
        ----------
        model : str
            The name of the model in the table.

        Returns
        -------
        estimator
            The fitted model; the same one for each call.

        Raises
        ------
        KeyError
            If no model has this name.
        ValueError
            If the model was skipped, or was compared on the words of a text column.

        Examples
        --------
        >>> import likelier as lk
        >>> from sklearn.datasets import load_wine
        >>> X, y = load_wine(return_X_y=True, as_frame=True)
        >>> found = lk.compare(X, y, ["GaussianNB", "LDA"])
        >>> found.best_estimator_
        LinearDiscriminantAnalysis()
        >>> round(found.estimator("GaussianNB").score(X, y), 3)
        0.989
        """
        if model not in self._fitted:
            result = self.result(model)
            if result.skipped is not None or result.candidate_model is None:
                raise ValueError(f"{model} was skipped: {result.skipped}")
            from likelier.comparison.refit import fitted  # late: it loads what comparisons do not need

            self._fitted[model] = fitted(self, result.candidate_model)
        return self._fitted[model]

    def __repr__(self) -> str:
        return self.text()

    def text(self, width: int = WIDTH) -> str:
        """The table as text.

        Parameters
        ----------
        width : int, default=122
            The number of characters per line.

        Returns
        -------
        str
            The metrics, the assumptions of the models, and notes.
        """
        return text(self, width)

    def _repr_html_(self) -> str:
        return notebook(self)

    def checks(self) -> Checks:
        """Check whether the data support what each model assumes.

        Returns
        -------
        Checks
            A verdict for each model; prints as sentences. See docs/model-assumptions.md.
        """
        return self._checks

    @cached_property
    def _checks(self) -> Checks:
        return check(self.rows, self.classes, self.seed)

    def to_frame(self) -> Any:
        """The results as a pandas data frame, one row per model.

        Returns
        -------
        pandas.DataFrame
            Indexed by model: mean and standard error (`_se`) of each metric, seconds, and notes.
        """
        pd = optional.pandas()

        return pd.DataFrame([self._record(result) for result in self.results]).set_index("model")

    def _record(self, result: Result) -> dict[str, Any]:
        found: dict[str, Any] = {"model": result.model}
        for metric in self.metrics:
            found[metric.name] = result.mean(metric.name)
            found[f"{metric.name}_se"] = result.error_of(metric.name)
        found |= {"fit": result.seconds("fit"), "predict": result.seconds("predict")}
        found |= {
            "parameters": result.parameters,
            "best": result is self.best,
            "tied": self.is_tied(result),
        }
        return found | asdict(result.traits) | {"skipped": result.skipped, "notes": list(result.notes)}

    def to_dict(self) -> dict[str, Any]:
        """The results as plain values, for JSON.

        Returns
        -------
        dict
            Values that are not defined are None, infinite ones "inf".
        """
        rows = self.rows
        head: dict[str, Any] = {"name": self.name, "rows": len(rows), "columns": rows.p}
        head |= {"target": rows.target, "classes": None if self.classes is None else self.classes.tolist()}
        head |= {"metric": self.metric, "cv": self.cv, "seed": self.seed, "seconds": self.seconds}
        results = [_plain(self._record(result)) for result in self.results]
        return {**head, "notes": list(rows.notes), "results": results}

    def to_html(self, path: str | Path) -> Path:
        """Write a report with plots: one HTML file that opens without a network connection.

        Parameters
        ----------
        path : str or path-like
            The file to write.

        Returns
        -------
        Path
            The file that was written.
        """
        from likelier.report import written  # late: the report is built on comparisons

        return written(self, Path(path))


def _plain(record: dict[str, Any]) -> dict[str, Any]:
    """Without what JSON does not have."""
    return {
        name: (None if np.isnan(value) else str(value)) if _odd(value) else value
        for name, value in record.items()
    }


def _odd(value: Any) -> bool:
    return isinstance(value, float) and not np.isfinite(value)
