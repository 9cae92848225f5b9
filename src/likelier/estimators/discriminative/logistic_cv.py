"""LogisticRegressionCV: the penalty chosen by cross-validation along a path of solutions."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from inspect import signature
from numbers import Integral
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn import get_config
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metadata_routing import UNUSED

from likelier.array_types import Floats
from likelier.choose_solver import chosen
from likelier.data import CSR, Arrays, Block, Dense, Stored
from likelier.engines import loaded
from likelier.estimators import deprecated, validation
from likelier.estimators.base import resumable
from likelier.estimators.deprecated import (
    CHANGING,
    NOT_GIVEN,
    Strength,
    legacy_of,
    only_ratio,
    ratios_of,
    scoring_of,
)
from likelier.estimators.discriminative.base import labelled
from likelier.estimators.discriminative.logistic import LogisticModel, LogisticRegression
from likelier.estimators.discriminative.weights import Course, Weights
from likelier.estimators.sources import gathered, stored
from likelier.model import targets
from likelier.objective import Objective
from likelier.penalties import ElasticNet, Penalty, shares
from likelier.solve import Terms, path
from likelier.threads import cores
from likelier.warning_location import outside

# scikit-learn's scorers, for models that know more classes than the rows they are tried on.

Scorer = Callable[..., float]


def scorer_of(scoring: Any, classes: NDArray[Any] | None = None) -> Scorer:
    """The scorer of a name, or one that is at hand; None: accuracy. It is told all classes."""
    from sklearn.metrics import get_scorer, make_scorer  # slow to load

    if scoring is not None and not isinstance(scoring, str) and not callable(scoring):
        raise ValueError(
            f"scoring must be None, the name of a scorer or a callable scorer(model, X, y); got {scoring!r}"
        )
    scorer: Any = get_scorer("accuracy" if scoring is None else scoring)
    score = getattr(scorer, "_score_func", None)
    asks = {} if score is None else signature(score).parameters
    if classes is None or "labels" not in asks:
        return scorer  # type: ignore[no-any-return]
    told: dict[str, Any] = {"labels": classes}
    if len(classes) == 2 and "pos_label" in asks:
        told["pos_label"] = classes[-1]
    return make_scorer(  # type: ignore[no-any-return]
        score,
        response_method=scorer._response_method,
        greater_is_better=scorer._sign == 1,
        **{**told, **scorer._kwargs},
    )


# Penalties tried fold by fold: a path of solutions on the rows of each, judged on the rows held out.

Rows = NDArray[np.intp]
Judge = Callable[[Weights, Rows], float]  # a model, and the rows to try it on
Fits = dict[tuple[int, ...], Weights]  # by the number of the ratio and of C


class Grid(NamedTuple):
    """The penalties to choose from, as scikit-learn states them."""

    Cs: Floats  # (c,)
    ratios: Floats  # (r,)

    def penalty(self, objective: Objective, C: float, ratio: float) -> Penalty:
        n, setting = objective.n, objective.setting
        plain = ElasticNet.of(setting.q, setting.p, *shares(C, n, ratio))
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
        # A scorer may be anyone's, so it is called in order, by one thread.
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
    validation.weighty(n)
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


# Logistic regression that chooses its penalty by cross-validation.

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


class LogisticRegressionCV(LogisticModel):
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

    def _strength(self) -> Strength:
        return Strength(np.inf, 0.0)  # penalties are those of the grid

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
        found = self._rows(validation.training(self, X, y, sample_weight))
        target = found.classes
        with validation.naming(found.source):
            rows = loaded(found.source)
            judge = self._judge(target, rows, for_score)
            # A number of folds needs to know which labels are equal, not what they are.
            y = rows.y if self.cv is None or isinstance(self.cv, Integral) else target[rows.y]
            folds = self._folds(plain(rows.X) if stored(X) else X, y, for_split)
            objective = self._objective(found._replace(source=rows))
            trial = Trial(objective, grid, self.solver, self._terms(), judge)
            for ratio in grid.ratios.tolist():  # refused before any work
                chosen(self.solver, replace(objective, penalty=grid.penalty(objective, 1.0, ratio)))
            objective.gradient(np.zeros(objective.size))  # a bad cell is named by its row among all
            results = trial.run(folds, self.n_jobs)
            self._warn_of_trials(results)
            model = self._best(grid, results, objective)
        return self._publish(model, None, target, found.source.names)

    def _training_shares(self) -> Floats:
        n = self._model.totals if isinstance(self._model, Tried) else None
        return super()._training_shares() if n is None else np.asarray(n / n.sum())

    # ---- what is asked for -------------------------------------------------------------------------
    def _grid(self) -> Grid:
        Cs, ratios = self.Cs, ratios_of(self)
        if ratios is None:
            ratios = [only_ratio(self)]
        if np.ndim(Cs) == 0:
            Cs = np.logspace(-4, 4, int(validation.number("Cs", Cs, 1, whole=True)))
        for name, values in (("Cs", Cs), ("l1_ratios", ratios)):
            if np.ndim(values) != 1:
                raise ValueError(f"{name} must be a list of numbers; got {values!r}.")
        Cs = [validation.allowance("Cs", C) for C in Cs]
        ratios = [validation.number("l1_ratios", ratio, 0.0, 1.0) for ratio in ratios]
        if not Cs or not ratios:
            raise ValueError(f"{'l1_ratios' if Cs else 'Cs'} is empty: give at least one number")
        validation.truth("refit", self.refit)
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
        validation.fitted(self)
        X, y, sample_weight = gathered(X, y, sample_weight)
        if stored(X):
            validation.training(self, X, y, sample_weight, known=True)
            y, sample_weight = labels_of(X)
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


def labels_of(source: Stored) -> tuple[NDArray[Any], Floats]:
    """The label and the weight of each row."""
    rows = labelled(source.taking([], y=True))
    codes, weights = targets(rows.source)
    return rows.classes[codes], weights


def _numbers(rows: Any) -> Rows:
    """Row numbers, which may be given as a mask."""
    at = np.asarray(rows)
    return np.flatnonzero(at) if at.dtype == bool else at.astype(np.intp)
