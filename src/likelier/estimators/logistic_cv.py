"""Logistic regression that chooses its penalty by cross-validation."""

import warnings
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from likelier.abilities import chosen
from likelier.data import Arrays
from likelier.engines import loaded
from likelier.estimators import door
from likelier.estimators.answers import LinearProbabilities
from likelier.estimators.checkpoints import resumable
from likelier.estimators.collections import gathered
from likelier.estimators.discriminative import Discriminative, single
from likelier.estimators.logistic import LogisticRegression
from likelier.estimators.scorers import scorer_of
from likelier.estimators.sources import stored
from likelier.estimators.trials import Grid, Judge, Results, Rows, Trial, legacy, plain
from likelier.estimators.weights import Course, Weights
from likelier.losses import Loss, logistic, softmaxed
from likelier.objective import Objective

Floats = NDArray[np.float64]
MEAN = "the mean of the best weights of each fold: refit=False"


@dataclass(frozen=True, kw_only=True)
class Tried(Weights):
    """Weights, and the trials by which their penalty was chosen."""

    Cs: Floats  # (c,)
    ratios: Floats  # (r,)
    paths: Floats  # (folds, r, c, q, d): weights, and the intercept last if there is one
    trials: Floats  # (folds, r, c): the scores
    steps: NDArray[np.int32]  # (folds, r, c)
    C: float
    ratio: float

    @property
    def shown(self) -> dict[str, Any]:
        return super().shown | {
            "C_": self.C,
            "l1_ratio_": self.ratio,
            "Cs_": self.Cs,
            "l1_ratios_": self.ratios,
            "coefs_paths_": self.paths,
            "scores_": self.trials,
            "n_iter_": self.steps,
        }


class LogisticRegressionCV(LinearProbabilities, Discriminative):
    """Logistic regression under each of `Cs` and `l1_ratios`; the best on rows held out is kept.

    Drop-in for scikit-learn's: a path of solutions for each fold, each from the one before. Defaults are
    those that scikit-learn announces: `scoring="neg_log_loss"` (None: the accuracy), `l1_ratios=(0.0,)`,
    and attributes of one shape, (folds, ratios, Cs) and so on; `use_legacy_attributes=True` for those of
    its version 1.9. `refit=False` takes the mean of the folds' best weights.
    """

    assumes = "discriminative; linear in the log odds; linear boundary"

    def __init__(
        self,
        *,
        Cs: Any = 10,
        l1_ratios: Any = (0.0,),
        fit_intercept: bool = True,
        cv: Any = None,
        dual: bool = False,
        scoring: Any = "neg_log_loss",
        solver: str = "auto",
        tol: float = 1e-4,
        max_iter: int = 100,
        class_weight: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        refit: bool = True,
        intercept_scaling: float = 1.0,
        random_state: Any = None,
        use_legacy_attributes: bool = False,
    ) -> None:
        self.Cs = Cs
        self.l1_ratios = l1_ratios
        self.fit_intercept = fit_intercept
        self.cv = cv
        self.dual = dual
        self.scoring = scoring
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.refit = refit
        self.intercept_scaling = intercept_scaling
        self.random_state = random_state
        self.use_legacy_attributes = use_legacy_attributes

    def _loss(self, K: int) -> Loss:
        return logistic if K == 2 else softmaxed

    def _allowance(self) -> float:
        return np.inf  # penalties are those of the grid

    @resumable
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
        *,
        checkpoint: Any = None,
    ) -> Self:
        """Fit to rows X and their labels y, or to a source, whose rows are read into memory.

        groups: for splitters that keep rows together. checkpoint: a file for what is done so far: a fit
        that was cut off goes on from there; its folds, which are in memory, are fitted again.
        """
        grid = self._grid()
        X, y, sample_weight = gathered(X, y, sample_weight)
        source, target = self._rows(X, y, sample_weight)
        with door.naming(source):
            rows = loaded(source)
            judge = self._judge(target, rows)
            # A number of folds needs to know which labels are equal, not what they are.
            y = rows.y if self.cv is None or isinstance(self.cv, Integral) else target[rows.y]
            folds = self._folds(plain(rows.X) if stored(X) else X, y, groups)
            objective = self._objective(rows, target)
            trial = Trial(objective, grid, self.solver, self._terms(), judge, single(rows))
            for ratio in grid.ratios.tolist():  # refused before any work
                chosen(self.solver, replace(objective, penalty=grid.penalty(objective, 1.0, ratio)))
            objective.gradient(np.zeros(objective.size))  # a bad cell is named by its row among all
            results = trial.run(folds, self.n_jobs)
            self._warn_of_trials(results)
            model = self._best(grid, results, objective, single=single(rows))
        return self._publish(model, None, target, source.names)

    # ---- what is asked for -------------------------------------------------------------------------
    def _grid(self) -> Grid:
        Cs, ratios = self.Cs, (0.0,) if self.l1_ratios is None else self.l1_ratios
        if np.ndim(Cs) == 0:
            Cs = np.logspace(-4, 4, int(door.number("Cs", Cs, 1, whole=True)))
        for name, values in (("Cs", Cs), ("l1_ratios", ratios)):
            if np.ndim(values) != 1:
                raise ValueError(f"{name}={values!r}: it is a list of numbers")
        Cs = [door.allowance("Cs", C) for C in Cs]
        ratios = [door.number("l1_ratios", ratio, 0.0, 1.0) for ratio in ratios]
        if not Cs or not ratios:
            raise ValueError(f"{'l1_ratios' if Cs else 'Cs'} is empty: give at least one number")
        for name in ("refit", "use_legacy_attributes"):
            door.truth(name, getattr(self, name))
        return Grid(np.array(Cs, dtype=np.float64), np.array(ratios, dtype=np.float64))

    def _folds(self, X: Any, y: NDArray[Any], groups: Any) -> list[tuple[Rows, Rows]]:
        from sklearn.model_selection import check_cv  # slow to load

        pairs = check_cv(self.cv, y, classifier=True).split(X, y, groups)
        return [(_numbers(train), _numbers(test)) for train, test in pairs]

    def _judge(self, target: NDArray[Any], source: Arrays) -> Judge:
        """A scorer asks an estimator, about rows that are an array or a sparse matrix."""
        scorer = scorer_of(self.scoring, target)
        labels, w = target[source.y], source.w

        def judge(weights: Weights, rows: Rows) -> float:
            model = LogisticRegression()._publish(weights, None, target, None)
            weighed = {} if w is None else {"sample_weight": w[rows]}
            with np.errstate(invalid="ignore"):  # scikit-learn asks of floats whether int64 holds them
                return float(scorer(model, plain(source.X.take(rows)), labels[rows], **weighed))

        return judge

    # ---- the choice --------------------------------------------------------------------------------
    def _best(self, grid: Grid, results: Results, objective: Objective, *, single: bool) -> Tried:
        """Refitted under the penalty whose scores are best in sum; else the mean of each fold's best."""
        each = np.swapaxes(results.scores, 1, 2)  # (folds, c, r): scikit-learn's order, which settles ties
        folds, shape = len(each), each.shape[1:]
        if self.refit:
            at = np.full(folds, np.argmax(each.sum(axis=0)))
        else:
            at = np.argmax(each.reshape(folds, -1), axis=1)
        c, r = np.unravel_index(at, shape)
        T = results.paths[np.arange(folds), r, c].mean(axis=0)  # (q, p + 1)
        C, ratio = float(grid.Cs[c].mean()), float(grid.ratios[r].mean())
        course = Course(np.empty((0, 3)), bool(results.ended.all()), MEAN, self.solver, MEAN)
        weights = Weights(T[:, :-1].copy(), T[:, -1].copy(), np.zeros(objective.setting.p), course, single)
        if self.refit:
            C, ratio = float(grid.Cs[c[0]]), float(grid.ratios[r[0]])
            problem = replace(objective, penalty=grid.penalty(objective, C, ratio))
            solution = self._solve(problem, weights)
            self._warn_of_end(solution)
            weights = Weights.of(solution, objective.setting, single=single)
        d = objective.setting.p + objective.intercept
        return Tried(
            **vars(weights),
            Cs=grid.Cs,
            ratios=grid.ratios,
            paths=results.paths[..., :d],
            trials=results.scores,
            steps=results.steps,
            C=C,
            ratio=ratio,
        )

    def _warn_of_trials(self, results: Results) -> None:
        failed = int((~results.ended).sum())
        if failed:
            warnings.warn(
                f"{type(self).__name__}: {failed} of {results.ended.size} fits on folds did not converge "
                f"(max_iter={self.max_iter}, tol={self.tol:g}). Raise max_iter, loosen tol, or leave out "
                "the largest Cs.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _shown(self, model: Any, statistics: Any | None, target: NDArray[Any]) -> dict[str, Any]:
        found = super()._shown(model, statistics, target)
        if not self.use_legacy_attributes:
            return found
        return legacy(found, target, ratios=self.l1_ratios is not None)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The score of `scoring`, on rows X and their labels y; a source brings y and weights along."""
        door.fitted(self)
        X, y, sample_weight = gathered(X, y, sample_weight)
        y, sample_weight = self._known_labels(X, y, sample_weight)
        weighed = {} if sample_weight is None else {"sample_weight": sample_weight}
        return float(scorer_of(self.scoring, self.classes_)(self, X, y, **weighed))


def _numbers(rows: Any) -> Rows:
    """Row numbers, which may be given as a mask."""
    at = np.asarray(rows)
    return np.flatnonzero(at) if at.dtype == bool else at.astype(np.intp)
