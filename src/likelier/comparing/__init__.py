"""Models side by side on one table, judged on the same folds."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from tqdm import tqdm

from likelier.comparing.entrants import judged
from likelier.comparing.rows import opened
from likelier.comparing.table import Comparison, Result
from likelier.comparing.tasks import task_of

__all__ = ["Comparison", "Result", "compare"]


def compare(
    X: Any,
    y: Any = None,
    models: Mapping[str, Any] | Sequence[Any] | None = None,
    cv: int = 5,
    seed: int = 0,
    progress: bool = False,
    task: Literal["classify", "regress"] | None = None,
) -> Comparison:
    """Cross-validate models on the same folds, beside the answer that knows y alone.

    X: an array, a frame, or a source from `scan`, which has y. Columns that are no numbers are left out,
    and named. models: {name: estimator} or a list of estimators, any with scikit-learn's interface; by
    default all of likelier's that suit. Those without `cross_validate` are fitted anew for each fold, for
    which files are read into memory (up to 1 GB). Folds are stratified and shuffled; those of a source are
    drawn by a hash of the row's number. task: by default "regress" where y is of numbers that are not
    whole, or of more than 20 different ones.
    """
    if cv < 2:
        raise ValueError(f"cv={cv}: at least 2 folds are needed")
    rows = opened(X, y)
    chosen = task_of(rows, task)
    folds = rows.folds(cv, seed, stratified=chosen.stratified)
    found = chosen.survey(rows, folds)
    entrants = chosen.suited() if models is None else _named(models)
    results = [found.baseline]
    with tqdm(entrants.items(), disable=None if progress else True, leave=False, unit="model") as bar:
        for name, model in bar:
            bar.set_description(name)
            results.append(judged(name, model, rows, chosen, folds))
    return Comparison(
        tuple(sorted(results, key=chosen.order)), found.rows, rows.p, found.target, cv, rows.notes
    )


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
