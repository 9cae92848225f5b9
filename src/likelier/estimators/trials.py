"""Penalties tried fold by fold: a path of solutions on the rows of each, judged on the rows held out."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from likelier.cores import cores
from likelier.data import CSR, Arrays, Block, Dense
from likelier.estimators import door
from likelier.estimators.weights import Weights
from likelier.objective import Objective
from likelier.paths import path
from likelier.penalties import Penalty, shares
from likelier.solving import Terms

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]
Judge = Callable[[Weights, Rows], float]  # a model, and the rows to try it on
Fits = dict[tuple[int, ...], Weights]  # by the number of the ratio and of C


class Grid(NamedTuple):
    """The penalties to choose from, as scikit-learn states them."""

    Cs: Floats  # (c,)
    ratios: Floats  # (r,)

    def penalty(self, objective: Objective, C: float, ratio: float) -> Penalty:
        n, setting = objective.n, objective.setting
        plain = Penalty.of(setting.q, setting.p, *shares(C, n, ratio))
        return plain.scaled(setting.unit)


class Results(NamedTuple):
    """What came of every fold, ratio and C."""

    paths: Floats  # (folds, r, c, q, p + 1): weights, and last the score at x = 0
    scores: Floats  # (folds, r, c)
    steps: NDArray[np.int32]  # (folds, r, c)
    ended: NDArray[np.bool_]  # (folds, r, c): whether the solver converged


@dataclass(frozen=True)
class Trial:
    """All that a fold needs to know."""

    objective: Objective  # of all rows, in memory
    grid: Grid
    solver: str
    terms: Terms
    judge: Judge

    def run(self, folds: Sequence[tuple[Rows, Rows]], jobs: int | None) -> Results:
        """Every fold, side by side where a pass does not take all cores by itself."""
        source = self.objective.source
        alone = len(source.parts(0)) > 1
        count = 1 if alone else min(len(folds), cores() if jobs is None or jobs < 1 else jobs)
        if count == 1:
            fits = [self._fits(train) for train, _ in folds]
        else:
            with ThreadPoolExecutor(count) as pool:
                fits = list(pool.map(self._fits, [train for train, _ in folds]))
        # A scorer may be anyone's: it is asked in order, by one thread.
        found = [self._judged(models, test) for models, (_, test) in zip(fits, folds, strict=True)]
        return Results(*(np.stack(each) for each in zip(*found, strict=True)))

    def _fits(self, train: Rows) -> "Fits":
        return dict(self._models(of_rows(self.objective, train)))

    def _judged(self, models: "Fits", test: Rows) -> Results:
        (c, r), setting = (len(each) for each in self.grid), self.objective.setting
        paths = np.empty((r, c, setting.q, setting.p + 1))
        scores, steps = np.empty((r, c)), np.empty((r, c), dtype=np.int32)
        ended = np.empty((r, c), dtype=np.bool_)
        for at in np.ndindex(r, c):
            weights = models[at]
            paths[at] = np.column_stack([weights.W, weights.intercept])
            scores[at] = self.judge(weights, test)
            steps[at], ended[at] = len(weights.course.trace) - 1, weights.course.converged
        return Results(paths, scores, steps, ended)

    def _models(self, objective: Objective) -> Iterator[tuple[tuple[int, int], Weights]]:
        """Along each path, the strongest penalty first."""
        order = np.argsort(self.grid.Cs, kind="stable").tolist()
        for i, ratio in enumerate(self.grid.ratios.tolist()):
            penalties = [self.grid.penalty(objective, float(self.grid.Cs[j]), ratio) for j in order]
            solutions = path(objective, penalties, self.solver, self.terms)
            for j, solution in zip(order, solutions, strict=True):
                yield (i, j), Weights.of(solution, objective.setting)


def of_rows(objective: Objective, rows: Rows) -> Objective:
    """The same of some rows."""
    source = objective.source
    assert isinstance(source, Arrays)
    y, w = source.y, source.w
    assert y is not None
    part = replace(source, X=source.X.take(rows), y=y[rows], w=None if w is None else w[rows])
    n = float(len(rows) if part.w is None else part.w.sum())
    door.weighty(n)
    return replace(objective, source=part, n=n, passes=0, _gauge=None)


def plain(X: Block) -> Any:
    """As those who know no blocks take it."""
    if isinstance(X, CSR):
        return csr_array((X.values, X.columns, X.starts), shape=X.shape)
    return X.array if isinstance(X, Dense) else X.to_array()


def legacy(found: dict[str, Any], classes: NDArray[Any], *, ratios: bool) -> dict[str, Any]:
    """The attributes in the shapes of scikit-learn 1.9: everything once for each class.

    ratios: whether there is an axis for the l1 ratios.
    """
    labels = classes[1:] if len(classes) == 2 else classes

    def turned(values: Any) -> Any:  # (folds, r, c, ...) to (folds, c, r, ...) or (folds, c, ...)
        values = np.swapaxes(values, 1, 2)
        return values if ratios else values[:, :, 0]

    paths = found["coefs_paths_"]
    return found | {
        "C_": np.full(len(labels), found["C_"]),
        "l1_ratio_": np.full(len(labels), found["l1_ratio_"] if ratios else None),
        "l1_ratios_": found["l1_ratios_"] if ratios else np.array([None]),
        "coefs_paths_": {label: turned(paths[:, :, :, k]) for k, label in enumerate(labels)},
        "scores_": {label: turned(found["scores_"]) for label in labels},
        "n_iter_": turned(found["n_iter_"])[None],
    }
