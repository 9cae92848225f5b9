"""Models side by side on one table, judged on the same folds."""

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from likelier.comparison.cross_validate import Folds, judged
from likelier.comparison.models import Entrant, baseline, entered
from likelier.comparison.result import LABELS, VALUES, Comparison, Result
from likelier.comparison.rows import MOST_ROWS, Rows, opened
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
    cv: int = 5,
    *,
    also: Mapping[str, Any] | Sequence[Any] = (),
    metric: str | None = None,
    seed: int = 0,
    jobs: int = 1,
    progress: bool = False,
    task: Literal["classify", "regress"] | None = None,
    most: int = MOST_ROWS,
    name: str | None = None,
    sample_weight: Any = None,
) -> Comparison:
    """Cross-validate models on the same folds, beside the answer that knows y alone.

    X: an array, a frame, a sparse matrix, or a source from `scan`, which has y; of more than `most` rows, a
    sample. models: names of likelier's, {name: estimator} or a list of estimators, any with scikit-learn's
    interface; by default all of likelier's that suit. also: more of them. metric: what the best is best by,
    by default the log-loss, or the RMSE. Folds are shuffled, and stratified by class. task: by default
    "regress" where y is of numbers that are not whole, or of more than 20 different ones. jobs: processes.
    See docs/comparing.md.
    """
    begun = time.perf_counter()
    if cv < 2:
        raise ValueError(f"cv must be an integer >= 2; got {cv!r}.")
    if seed < 0:
        raise ValueError(f"seed must be an integer >= 0; got {seed!r}.")
    if jobs < 1:
        raise ValueError(f"jobs must be an integer >= 1 (a number of processes); got {jobs!r}.")
    rows = opened(X, y, sample_weight, seed=seed, most=most)
    classify = _classify(rows, task)
    metric = _metric(metric, classify=classify)
    entrants = [baseline(numbers=not classify), *entered(models, also, numbers=not classify)]
    rows, classes = _common(_whole(rows), cv) if classify else (rows, None)
    if len(rows) < 2 * cv:
        raise ValueError(
            f"{counted(len(rows), 'row')} for {cv} folds, of at least two rows each: take fewer folds."
        )
    folds = Folds.of(rows, classes, cv, seed)
    found = list(_progress(_judged(entrants, folds, classes, jobs), entrants, progress))
    results = tuple(sorted(found, key=lambda result: _order(result, metric, classify=classify)))
    return Comparison(results, rows, classes, metric, cv, seed, name, time.perf_counter() - begun)


# ---- what is to be found -------------------------------------------------------------------------
def _classify(rows: Rows, task: str | None) -> bool:
    """Whether y is of classes, rather than of numbers."""
    if task not in (None, "classify", "regress"):
        raise ValueError(f"task must be 'classify', 'regress' or None; got {task!r}.")
    texts, found = rows.y.dtype.kind not in "fiub", levels_of(rows.y)
    if task == "regress" and texts:
        raise ValueError("the target is not of numbers: it has classes to be found, and no values.")
    if len(found) < 2:
        one = found[0].item() if hasattr(found[0], "item") else found[0]
        raise ValueError(f"the target has one value only ({one!r}): there is nothing to find out.")
    whole = texts or bool((rows.y == np.floor(rows.y)).all())
    if task is None:
        return texts or (whole and len(found) <= FEW_CLASSES)
    if task == "classify" and not whole:
        raise ValueError(
            f"the target has numbers that are not whole, such as {rows.y[rows.y != np.floor(rows.y)][0]}: "
            "classes are whole numbers or words. Name them, or compare regressions (task regress)."
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
def _judged(
    entrants: Sequence[Entrant], folds: Folds, classes: NDArray[Any] | None, jobs: int
) -> Iterator[Result]:
    if jobs == 1:
        yield from (judged(entrant, folds, classes) for entrant in entrants)
        return
    from joblib import Parallel, delayed

    threads = max(1, cores() // jobs)
    work = (delayed(_apart)(entrant, folds, classes, threads) for entrant in entrants)
    yield from Parallel(n_jobs=jobs, return_as="generator")(work)


def _apart(entrant: Entrant, folds: Folds, classes: NDArray[Any] | None, threads: int) -> Result:
    """In a process of its own, which has its share of the cores."""
    os.environ["LIKELIER_THREADS"] = str(threads)
    return judged(entrant, folds, classes)


def _progress(results: Iterable[Result], entrants: Sequence[Entrant], progress: bool) -> Iterator[Result]:
    names = [*(entrant.name for entrant in entrants[1:]), ""]
    with tqdm(total=len(entrants), disable=None if progress else True, leave=False, unit="model") as bar:
        for result, following in zip(results, names, strict=True):
            bar.set_description(following)
            bar.update()
            yield result


def _order(result: Result, metric: str, *, classify: bool) -> tuple[Any, ...]:
    """The best first; then those that the metric says nothing of, by what they have."""
    rising = next(m.rising for m in (LABELS if classify else VALUES) if m.name == metric)
    value, error = result.mean(metric), result.mean("error" if classify else "rmse")
    value = -value if rising else value
    return (result.sits_out is not None, np.isnan(value), value if not np.isnan(value) else 0.0, error)
