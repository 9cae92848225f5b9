"""Models side by side on one table, evaluated on the same folds."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from likelier.comparison.cross_validate import Folds, evaluated
from likelier.comparison.models import CandidateModel, baseline, entered, tuned
from likelier.comparison.result import LABELS, VALUES, Comparison, Result, WholeTable
from likelier.comparison.rows import MOST_ROWS, Rows, opened
from likelier.comparison.splits import folds_in, pairs_of, times_of
from likelier.data import code, levels_of
from likelier.display import counted, some_of
from likelier.threads import cores

__all__ = ["Comparison", "Result", "compare"]

FEW_CLASSES = 20  # that whole numbers may be
MOST_WHOLE = 2**53  # from there on, not every whole number is a float64
MOST_CLASSES = 200  # of which each model keeps a probability for every row


def compare(
    X: Any,
    y: Any = None,
    models: Mapping[str, Any] | Sequence[Any] | None = None,
    cv: Any = 5,
    *,
    groups: Any = None,
    time: str | None = None,
    param_grid: Mapping[str, Any] | None = None,
    also: Mapping[str, Any] | Sequence[Any] = (),
    metric: str | None = None,
    random_state: int = 0,
    n_jobs: int = 1,
    progress: bool = False,
    task: Literal["classify", "regress"] | None = None,
    max_rows: int = MOST_ROWS,
    name: str | None = None,
    sample_weight: Any = None,
) -> Comparison:
    """Cross-validate models on the same folds, next to a baseline that ignores the features.

    Every model that suits the table is fitted to the same shuffled (for classes, stratified) folds, with
    the preprocessing that it needs. The result is a table, best model first, which marks the models that
    are not significantly different from the best.

    Parameters
    ----------
    X : array, data frame, sparse matrix, Dask collection or scan
        The features. A scan (`lk.scan`) contains y as well.
    y : array or str, default=None
        The labels or numbers to predict; for a data frame, the name of its target column.
    models : list of str, list of estimators or dict of str to estimator, default=None
        The models to compare: names of likelier's models, or any estimators with scikit-learn's interface.
        None takes all of likelier's models that suit the target.
    cv : int, splitter or iterable of (train, test), default=5
        The number of folds, at least 2; or a splitter of scikit-learn, or pairs of arrays of row numbers,
        in which each row is held out once at most.
    groups : array-like of shape (n,), default=None
        The group of each row: rows of one group are held out together. X must be in memory.
    time : str, default=None
        The column that says when a row was: folds are then in that order, and each is predicted from the
        rows before it.
    param_grid : dict, default=None
        {model: {parameter: values}}, by the names of the table. The values of these models are chosen in
        each fold, by folds of its training rows alone, so that the figures are honest (nested
        cross-validation); in two passes where the model is one-pass.
    also : list of str, list of estimators or dict of str to estimator, default=()
        Further models, in addition to `models`.
    metric : str, default=None
        The metric that ranks the models. For classes "error", "log_loss", "brier", "calibration_error" or
        "auc"; for numbers "rmse", "mae" or "r2". None is "log_loss" or "rmse".
    random_state : int, default=0
        The seed for shuffling the folds and for drawing a sample of a large table.
    n_jobs : int, default=1
        The number of processes.
    progress : bool, default=False
        Whether to show a progress bar on a terminal.
    task : {"classify", "regress"}, default=None
        Whether y consists of classes or of numbers. None is "regress" if y has numbers that are not
        integers, or more than 20 different numbers.
    max_rows : int, default=50_000
        Tables with more rows are compared on a random sample of this size.
    name : str, default=None
        A name for the data, shown in the report.
    sample_weight : array of shape (n,), default=None
        Weights of the rows.

    Returns
    -------
    Comparison
        The results of all models, best first; prints as a table.

    Raises
    ------
    ValueError
        If the target has a single value, too many classes, or too few rows for the number of folds.

    See Also
    --------
    evaluate : Metrics of one fitted model on given rows.
    likelier.plot.learning_curve : Metrics against the number of training rows.

    Examples
    --------
    >>> import likelier as lk
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> found = lk.compare(X, y, ["GaussianNB", "LDA"])
    >>> found.best.model
    'LDA'
    """
    begun = perf_counter()
    least = folds_in(cv)
    if random_state < 0:
        raise ValueError(f"random_state must be an integer >= 0; got {random_state!r}.")
    if n_jobs < 1:
        raise ValueError(f"n_jobs must be an integer >= 1 (a number of processes); got {n_jobs!r}.")
    rows, classes = rows_and_classes(
        opened(X, y, sample_weight, seed=random_state, most=max_rows), task, least
    )
    classify = classes is not None
    metric = _metric(metric, classify=classify)
    candidate_models = [baseline(numbers=not classify), *entered(models, also, numbers=not classify)]
    candidate_models = tuned(candidate_models, param_grid)
    if len(rows) < 2 * least:
        raise ValueError(
            f"{counted(len(rows), 'row')} for {least} folds, of at least two rows each: take fewer folds."
        )
    codes = rows.y if classes is None else code(rows.y, classes)
    pairs = pairs_of(rows, codes, cv, groups, times_of(time, X, rows), random_state)
    folds = Folds.of(rows, classes, least, random_state) if pairs is None else Folds.of_pairs(rows, pairs)
    found = list(
        _progress(_evaluated(candidate_models, folds, classes, n_jobs), candidate_models, progress)
    )
    results = tuple(sorted(found, key=lambda result: _order(result, metric, classify=classify)))
    how = "" if pairs is None else _splits(cv, groups, time)
    table = None if not rows.sampled or isinstance(X, Rows) else WholeTable(X, y, sample_weight)
    shown, results = _held_out(folds, results)
    seconds = perf_counter() - begun
    return Comparison(
        results, shown, classes, metric, folds.count, random_state, name, seconds, how, folds, table
    )


def _splits(cv: Any, groups: Any, time: str | None) -> str:
    """How the rows were split, in words."""
    if time is not None:
        return f"each fold predicted from the rows before it, by {time!r}"
    if isinstance(cv, int | np.integer):
        return "groups of rows held out together"
    return f"split by {cv!r:.60}" if hasattr(cv, "split") else "splits that were given"


def _held_out(folds: Folds, results: tuple[Result, ...]) -> tuple[Rows, tuple[Result, ...]]:
    """The rows that were held out once, and the predictions for them; where there are others."""
    at = np.flatnonzero(folds.number >= 0)
    if len(at) == len(folds.number):
        return folds.rows, results
    never = len(folds.number) - len(at)
    rows = folds.rows.take(at, f"{counted(never, 'row')} in no test set: learned from alone")
    shown = (
        replace(
            each,
            P=None if each.P is None else each.P[at],
            predicted=None if each.predicted is None else each.predicted[at],
        )
        for each in results
    )
    return rows, tuple(shown)


def rows_and_classes(rows: Rows, task: str | None, least: int) -> tuple[Rows, NDArray[Any] | None]:
    """The rows of classes that have so many of them at least, and these classes; None: numbers."""
    return _common(_whole(rows), least) if _classify(rows, task) else (rows, None)


# ---- what is to be found -------------------------------------------------------------------------
def _classify(rows: Rows, task: str | None) -> bool:
    """Whether y is of classes, rather than of numbers."""
    if task not in (None, "classify", "regress"):
        raise ValueError(f"task must be 'classify', 'regress' or None; got {task!r}.")
    texts, found = rows.y.dtype.kind not in "fiub", levels_of(rows.y)
    if task == "regress" and texts:
        raise ValueError("the target is not numeric: it cannot be used for a regression (task regress).")
    if len(found) < 2:
        one = found[0].item() if hasattr(found[0], "item") else found[0]
        raise ValueError(f"the target has only one value ({one!r}): there is nothing to predict.")
    whole = texts or bool((rows.y == np.floor(rows.y)).all())
    if task is None:
        return texts or (whole and len(found) <= FEW_CLASSES)
    if task == "classify" and not whole:
        raise ValueError(
            f"the target has numbers that are not whole, such as {rows.y[rows.y != np.floor(rows.y)][0]}: "
            "class labels must be integers, booleans or strings. Compare regressions instead "
            "(task regress)."
        )
    return task == "classify"


def _metric(asked: str | None, *, classify: bool) -> str:
    known = [metric.name for metric in (LABELS if classify else VALUES)]
    if asked is None:
        return "log_loss" if classify else "rmse"
    if asked.replace("-", "_") not in known:
        kind = "classes" if classify else "numbers"
        named = ", ".join(map(repr, known))
        raise ValueError(f"metric must be one of {named} for {kind}; got {asked!r}.")
    return asked.replace("-", "_")


def _whole(rows: Rows) -> Rows:
    """Classes that are numbers as the whole ones that they are: files and gaps make them 0.0 and 1.0."""
    whole = rows.y.dtype.kind == "f" and bool((np.abs(rows.y) < MOST_WHOLE).all())
    return replace(rows, y=rows.y.astype(np.int64)) if whole else rows


def _common(rows: Rows, cv: int) -> tuple[Rows, NDArray[Any]]:
    """The classes, sorted, of which every fold has a row; the rows of the others are left out."""
    found = levels_of(rows.y)
    codes = code(rows.y, found)
    counts = np.bincount(codes, minlength=len(found))
    common = counts >= cv
    if common.sum() < 2 or len(found) > MOST_CLASSES:
        few = f"{int((~common).sum()):,} of them with fewer rows than the {cv} folds"
        raise ValueError(
            f"the target has {len(found):,} classes in {len(rows):,} rows, {few}: a comparison takes 2 to "
            f"{MOST_CLASSES} classes, of at least {cv} rows each. Is it an id, or a number (task regress)? "
            "Take fewer folds, keep the rows of the commonest classes, or join the rare ones."
        )
    if common.all():
        return rows, found
    rare, lost = [str(label) for label in found[~common]], int(counts[~common].sum())
    note = f"classes with fewer rows than folds: left out, {counted(lost, 'row')} in all ({some_of(rare)})"
    return rows.take(np.flatnonzero(common[codes]), note), found[common]


# ---- the work ------------------------------------------------------------------------------------
def _evaluated(
    candidate_models: Sequence[CandidateModel], folds: Folds, classes: NDArray[Any] | None, jobs: int
) -> Iterator[Result]:
    if jobs == 1:
        yield from (evaluated(candidate_model, folds, classes) for candidate_model in candidate_models)
        return
    from joblib import Parallel, delayed

    threads = max(1, cores() // jobs)
    work = (
        delayed(_apart)(candidate_model, folds, classes, threads) for candidate_model in candidate_models
    )
    yield from Parallel(n_jobs=jobs, return_as="generator")(work)


def _apart(
    candidate_model: CandidateModel, folds: Folds, classes: NDArray[Any] | None, threads: int
) -> Result:
    """In a process of its own, which has its share of the cores."""
    os.environ["LIKELIER_THREADS"] = str(threads)
    return evaluated(candidate_model, folds, classes)


def _progress(
    results: Iterable[Result], candidate_models: Sequence[CandidateModel], progress: bool
) -> Iterator[Result]:
    names = [*(candidate_model.name for candidate_model in candidate_models[1:]), ""]
    with tqdm(
        total=len(candidate_models), disable=None if progress else True, leave=False, unit="model"
    ) as bar:
        for result, following in zip(results, names, strict=True):
            bar.set_description(following)
            bar.update()
            yield result


def _order(result: Result, metric: str, *, classify: bool) -> tuple[Any, ...]:
    """The best first; then those that the metric says nothing of, by what they have."""
    rising = next(m.rising for m in (LABELS if classify else VALUES) if m.name == metric)
    value, error = result.mean(metric), result.mean("error" if classify else "rmse")
    value = -value if rising else value
    return (result.skipped is not None, np.isnan(value), value if not np.isnan(value) else 0.0, error)
