"""Logistic regression that chooses its penalty by cross-validation."""

import warnings
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metadata_routing import UNUSED

from likelier.abilities import chosen
from likelier.callers import outside
from likelier.data import Arrays
from likelier.engines import loaded
from likelier.estimators import deprecated, door
from likelier.estimators.answers import LinearProbabilities
from likelier.estimators.checkpoints import resumable
from likelier.estimators.collections import gathered
from likelier.estimators.deprecated import (
    CHANGING,
    NOT_GIVEN,
    legacy_of,
    only_ratio,
    ratios_of,
    scoring_of,
)
from likelier.estimators.discriminative import Discriminative
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
    totals: Floats | None = None  # (K,), of the classes by weight; None: a file of an earlier version

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

    Drop-in for scikit-learn's: a path of solutions for each fold, each from the one before. The defaults
    are those of scikit-learn 1.9, which warns that it will change them: `scoring` is the accuracy and will
    be "neg_log_loss", `l1_ratios` is None and will be (0.0,), and attributes are once for each class unless
    `use_legacy_attributes=False`, which has one shape, (folds, ratios, Cs) and so on. `refit=False` takes
    the mean of the folds' best weights.
    """

    # `groups` is for the splitter and the weights of `score` for the scorer, which ask by themselves.
    __metadata_request__score: ClassVar[dict[str, str]] = {"sample_weight": UNUSED}
    __metadata_request__fit: ClassVar[dict[str, str]] = {"checkpoint": UNUSED, "groups": UNUSED}
    assumes = "discriminative; linear in the log odds; linear boundary"

    def __init__(
        self,
        *,
        Cs: Any = 10,
        l1_ratios: Any = CHANGING,
        fit_intercept: bool = True,
        cv: Any = None,
        dual: bool = False,
        penalty: str = NOT_GIVEN,
        scoring: Any = CHANGING,
        solver: str = "auto",
        tol: float = 1e-4,
        max_iter: int = 100,
        class_weight: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        refit: bool = True,
        intercept_scaling: float = 1.0,
        random_state: Any = None,
        use_legacy_attributes: bool | str = CHANGING,
    ) -> None:
        self.Cs = Cs
        self.l1_ratios = l1_ratios
        self.fit_intercept = fit_intercept
        self.cv = cv
        self.dual = dual
        self.penalty = penalty
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
        **params: Any,
    ) -> Self:
        """Fit to rows X and their labels y, or to a source, whose rows are read into memory.

        groups: for splitters that keep rows together. checkpoint: a file for what is done so far: a fit
        that was cut off goes on from there; its folds, which are in memory, are fitted again. params: for
        the splitter and the scorer, where scikit-learn's metadata routing is enabled.
        """
        given = {"sample_weight": sample_weight, "groups": groups} | params
        for_split, for_score = self._routed("fit", given, own=("sample_weight", "groups"))
        deprecated.warn(deprecated.of_logistic_cv(self))
        grid = self._grid()
        X, y, sample_weight = gathered(X, y, sample_weight)
        source, target = self._rows(X, y, sample_weight)
        with door.naming(source):
            rows = loaded(source)
            judge = self._judge(target, rows, for_score)
            # A number of folds needs to know which labels are equal, not what they are.
            y = rows.y if self.cv is None or isinstance(self.cv, Integral) else target[rows.y]
            folds = self._folds(plain(rows.X) if stored(X) else X, y, for_split)
            objective = self._objective(rows, target)
            trial = Trial(objective, grid, self.solver, self._terms(), judge)
            for ratio in grid.ratios.tolist():  # refused before any work
                chosen(self.solver, replace(objective, penalty=grid.penalty(objective, 1.0, ratio)))
            objective.gradient(np.zeros(objective.size))  # a bad cell is named by its row among all
            results = trial.run(folds, self.n_jobs)
            self._warn_of_trials(results)
            model = self._best(grid, results, objective)
        return self._publish(model, None, target, source.names)

    def _training_shares(self) -> Floats:
        n = self._model.totals if isinstance(self._model, Tried) else None
        return super()._training_shares() if n is None else np.asarray(n / n.sum())

    # ---- what is asked for -------------------------------------------------------------------------
    def _grid(self) -> Grid:
        Cs, ratios = self.Cs, ratios_of(self)
        if ratios is None:
            ratios = [only_ratio(self)]
        if np.ndim(Cs) == 0:
            Cs = np.logspace(-4, 4, int(door.number("Cs", Cs, 1, whole=True)))
        for name, values in (("Cs", Cs), ("l1_ratios", ratios)):
            if np.ndim(values) != 1:
                raise ValueError(f"{name}={values!r}: it is a list of numbers")
        Cs = [door.allowance("Cs", C) for C in Cs]
        ratios = [door.number("l1_ratios", ratio, 0.0, 1.0) for ratio in ratios]
        if not Cs or not ratios:
            raise ValueError(f"{'l1_ratios' if Cs else 'Cs'} is empty: give at least one number")
        door.truth("refit", self.refit)
        legacy_of(self)
        return Grid(np.array(Cs, dtype=np.float64), np.array(ratios, dtype=np.float64))

    def _folds(self, X: Any, y: NDArray[Any], params: dict[str, Any]) -> list[tuple[Rows, Rows]]:
        from sklearn.model_selection import check_cv  # slow to load

        pairs = check_cv(self.cv, y, classifier=True).split(X, y, **params)
        return [(_numbers(train), _numbers(test)) for train, test in pairs]

    def _judge(self, target: NDArray[Any], source: Arrays, params: dict[str, Any] | None) -> Judge:
        """A scorer asks an estimator, about rows that are an array or a sparse matrix.

        params: what scikit-learn routes to the scorer; None: the weights of the rows, if they have any.
        """
        scorer = scorer_of(scoring_of(self), target)
        labels = target[source.y]
        if params is None:
            params = {} if source.w is None else {"sample_weight": source.w}

        def judge(weights: Weights, rows: Rows) -> float:
            model = LogisticRegression()._publish(weights, None, target, None)
            of_rows = {
                name: np.asarray(value)[rows] if np.ndim(value) and len(value) == len(labels) else value
                for name, value in params.items()
            }
            with np.errstate(invalid="ignore"):  # scikit-learn asks of floats whether int64 holds them
                return float(scorer(model, plain(source.X.take(rows)), labels[rows], **of_rows))

        return judge

    # ---- the choice --------------------------------------------------------------------------------
    def _best(self, grid: Grid, results: Results, objective: Objective) -> Tried:
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
        weights = Weights(T[:, :-1].copy(), T[:, -1].copy(), np.zeros(objective.setting.p), course)
        if self.refit:
            C, ratio = float(grid.Cs[c[0]]), float(grid.ratios[r[0]])
            problem = replace(objective, penalty=grid.penalty(objective, C, ratio))
            solution = self._solve(problem, weights)
            self._warn_of_end(solution)
            weights = Weights.of(solution, objective.setting)
        d = objective.setting.p + objective.intercept
        return Tried(
            **vars(weights),
            Cs=grid.Cs,
            ratios=grid.ratios,
            paths=results.paths[..., :d],
            trials=results.scores,
            totals=objective.totals,
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
                stacklevel=outside(),
            )

    def _shown(self, model: Any, statistics: Any | None, target: NDArray[Any]) -> dict[str, Any]:
        found = super()._shown(model, statistics, target)
        return legacy(found, target, ratios=ratios_of(self) is not None) if legacy_of(self) else found

    def score(self, X: Any, y: Any = None, sample_weight: Any = None, **score_params: Any) -> float:
        """The score of `scoring`, on rows X and their labels y; a source brings y and weights along.

        score_params: for the scorer, where scikit-learn's metadata routing is enabled.
        """
        given = {"sample_weight": sample_weight} | score_params
        _, routed = self._routed("score", given, own=("sample_weight",))
        door.fitted(self)
        X, y, sample_weight = gathered(X, y, sample_weight)
        y, sample_weight = self._known_labels(X, y, sample_weight)
        if routed is None:
            routed = {} if sample_weight is None else {"sample_weight": sample_weight}
        return float(scorer_of(scoring_of(self), self.classes_)(self, X, y, **routed))

    # ---- what is passed on -------------------------------------------------------------------------
    def _routed(
        self, method: str, given: dict[str, Any], own: tuple[str, ...]
    ) -> tuple[dict[str, Any], dict[str, Any] | None]:
        """What the splitter is told, and the scorer; None: nobody has said, it is told the weights."""
        from sklearn.utils.metadata_routing import process_routing

        told = {name: value for name, value in given.items() if value is not None}
        if get_config()["enable_metadata_routing"]:
            routed = process_routing(self, method, **told)
            return dict(routed.splitter.get("split", {})), dict(routed.scorer.score)
        if told.keys() - set(own):
            raise ValueError(
                f"Passing extra keyword arguments to {type(self).__name__}.{method} is only supported if "
                "enable_metadata_routing=True, which you can set using `sklearn.set_config`. Extra "
                f"parameters passed are: {told.keys() - set(own)}"
            )
        return {name: told[name] for name in ("groups",) if name in told}, None

    def get_metadata_routing(self) -> Any:
        """Who is told what, as scikit-learn asks it: the splitter by `fit`, the scorer by both."""
        from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping

        both = MethodMapping().add(caller="score", callee="score").add(caller="fit", callee="score")
        split = MethodMapping().add(caller="fit", callee="split")
        router = (
            MetadataRouter(owner=self).add_self_request(self).add(splitter=self.cv, method_mapping=split)
        )
        return router.add(scorer=self._get_scorer(), method_mapping=both)

    def _get_scorer(self) -> Any:
        return scorer_of(scoring_of(self))


def _numbers(rows: Any) -> Rows:
    """Row numbers, which may be given as a mask."""
    at = np.asarray(rows)
    return np.flatnonzero(at) if at.dtype == bool else at.astype(np.intp)
