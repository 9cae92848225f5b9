"""Models side by side on one table, judged on the same folds."""

import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.model_selection import KFold, StratifiedKFold
from tqdm import tqdm

from likelier.comparing.catalogue import Entrant, Nature, classifiers, regressions
from likelier.comparing.judging import Folds, judged
from likelier.comparing.preparing import plain, table
from likelier.comparing.rows import MOST_ROWS, Rows, opened
from likelier.comparing.table import LABELS, VALUES, Comparison, Result
from likelier.data import levels_of

__all__ = ["Comparison", "Result", "compare"]

MOST_CLASSES = 20  # that whole numbers may be
MOST_CLASSES_COMPARED = 1000


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
) -> Comparison:
    """Cross-validate models on the same folds, beside the answer that knows y alone.

    X: an array, a frame, or a source from `scan`, which has y; of more than `most` rows, a sample. models:
    names of likelier's, {name: estimator} or a list of estimators, any with scikit-learn's interface; by
    default all of likelier's that suit. also: more of them. metric: what the best is best by, by default
    the log-loss, or the RMSE. Folds are stratified and shuffled. task: by default "regress" where y is of
    numbers that are not whole, or of more than 20 different ones. See docs/comparing.md.
    """
    begun = time.perf_counter()
    if cv < 2:
        raise ValueError(f"cv={cv}: at least 2 folds are needed")
    rows = opened(X, y, seed=seed, most=most)
    classes = _classes(rows, task)
    metric = _metric(metric, classes)
    folds = _folds(rows, classes, cv, seed)
    entrants = [_baseline(classes), *_entered(models, classes), *_others(also)]
    found = list(_progress(_judged(entrants, folds, classes, jobs), entrants, progress))
    results = tuple(sorted(found, key=lambda result: _order(result, metric, classes)))
    return Comparison(results, rows, classes, metric, cv, seed, name, time.perf_counter() - begun)


# ---- what is to be found -------------------------------------------------------------------------
def _classes(rows: Rows, task: str | None) -> NDArray[Any] | None:
    """The classes in y, sorted; None: it is numbers that are to be found."""
    if task not in (None, "classify", "regress"):
        raise ValueError(f"task={task!r}: it is one of classify, regress")
    texts = rows.y.dtype.kind not in "fiub"
    if task == "regress":
        if texts:
            raise ValueError("the target is not of numbers: it has classes to be found, and no values.")
        return None
    found = levels_of(rows.y)
    whole = texts or bool((rows.y == np.floor(rows.y)).all())
    if task is None and not texts and (not whole or len(found) > MOST_CLASSES):
        return None
    if len(found) < 2:
        raise ValueError(f"the target has one value only ({found[0].item()!r}): nothing to classify")
    if len(found) > MOST_CLASSES_COMPARED:
        raise ValueError(
            f"the target has {len(found):,} classes in {len(rows):,} rows, too many to compare on: is it an "
            "id, or a number (--task regress)? Or keep the rows of the commonest classes."
        )
    return found


def _metric(asked: str | None, classes: NDArray[Any] | None) -> str:
    known = [metric.name for metric in (VALUES if classes is None else LABELS)]
    if asked is None:
        return "rmse" if classes is None else "log_loss"
    if asked.replace("-", "_") not in known:
        raise ValueError(f"metric={asked!r}: it is one of {', '.join(known)}")
    return asked.replace("-", "_")


def _folds(rows: Rows, classes: NDArray[Any] | None, cv: int, seed: int) -> Folds:
    n = len(rows)
    if n < 2 * cv:
        raise ValueError(f"{n} rows are too few for {cv} folds: take fewer.")
    if classes is not None:
        _check_rare(rows.y, classes, cv)
    splitter = (KFold if classes is None else StratifiedKFold)(cv, shuffle=True, random_state=seed)
    number = np.empty(n, dtype=np.int32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for fold, (_, test) in enumerate(splitter.split(rows.y, rows.y)):
            number[test] = fold
    return Folds(rows, number, cv)


def _check_rare(y: NDArray[Any], classes: NDArray[Any], cv: int) -> None:
    counts = np.bincount(np.searchsorted(classes, y), minlength=len(classes))
    if counts.min() < cv:
        rare = classes[counts.argmin()].item()
        raise ValueError(
            f"class {rare!r} has {counts.min()} rows, fewer than the {cv} folds: take fewer folds, or leave "
            "its rows out"
        )


# ---- who takes part ------------------------------------------------------------------------------
def _baseline(classes: NDArray[Any] | None) -> Entrant:
    if classes is None:
        return Entrant("(mean)", DummyRegressor(), plain, Nature(models="the mean of the sample"))
    nature = Nature(models="each class as often as in the sample")
    return Entrant("(majority class)", DummyClassifier(strategy="prior"), plain, nature)


def _entered(models: Any, classes: NDArray[Any] | None) -> list[Entrant]:
    known = regressions() if classes is None else classifiers()
    if models is None:
        return known
    if not isinstance(models, Mapping) and any(isinstance(model, str) for model in models):
        return _chosen(models, known)
    return _others(models)


def _chosen(names: Sequence[str], known: Sequence[Entrant]) -> list[Entrant]:
    by = {entrant.name.lower(): entrant for entrant in known}
    by |= {type(entrant.model).__name__.lower(): entrant for entrant in reversed(known)}
    for name in names:
        if name.lower() not in by:
            raise ValueError(f"models: {name!r} is none of {', '.join(entrant.name for entrant in known)}")
    return [by[name.lower()] for name in dict.fromkeys(names)]


def _others(models: Mapping[str, Any] | Sequence[Any]) -> list[Entrant]:
    """Estimators of any kind: likelier's as they are listed; others get numbers and indicators."""
    known = {(type(e.model)): e for e in reversed([*classifiers(), *regressions()])}
    found = []
    for name, model in _named(models).items():
        like = known.get(type(model))
        diet, nature = (plain, Nature()) if like is None else (like.diet, like.nature)
        found.append(Entrant(name, model, diet, nature, online=like is not None and like.online))
    return found


def _named(models: Mapping[str, Any] | Sequence[Any]) -> dict[str, Any]:
    """By name; of several of one class all but the first are numbered."""
    if isinstance(models, Mapping):
        return dict(models)
    found: dict[str, Any] = {}
    for model in models:
        name, number = type(model).__name__, 1
        while (key := name if number == 1 else f"{name} {number}") in found:
            number += 1
        found[key] = model
    return found


# ---- the work ------------------------------------------------------------------------------------
def _judged(
    entrants: Sequence[Entrant], folds: Folds, classes: NDArray[Any] | None, jobs: int
) -> Iterator[Result]:
    if jobs == 1:
        yield from (judged(entrant, folds, classes) for entrant in entrants)
        return
    from joblib import Parallel, delayed

    work = (delayed(judged)(entrant, folds, classes) for entrant in entrants)
    yield from Parallel(n_jobs=jobs, return_as="generator")(work)


def _progress(results: Iterable[Result], entrants: Sequence[Entrant], progress: bool) -> Iterator[Result]:
    names = [*(entrant.name for entrant in entrants[1:]), ""]
    with tqdm(total=len(entrants), disable=None if progress else True, leave=False, unit="model") as bar:
        for result, following in zip(results, names, strict=True):
            bar.set_description(following)
            bar.update()
            yield result


def _order(result: Result, metric: str, classes: NDArray[Any] | None) -> tuple[Any, ...]:
    """The best first; then those that the metric says nothing of, by what they have."""
    rising = next(m.rising for m in (VALUES if classes is None else LABELS) if m.name == metric)
    value, error = result.mean(metric), result.mean("error" if classes is not None else "rmse")
    value = -value if rising else value
    return (result.sits_out is not None, np.isnan(value), value if not np.isnan(value) else 0.0, error)
