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
from likelier.estimators.discriminative.base import SolverTrace, Weights, labelled
from likelier.estimators.discriminative.logistic import LogisticModel, LogisticRegression
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
    """A scorer by name, or the callable itself; None: accuracy. It is given the labels of all classes."""
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
    report: dict[str, Any] = {"labels": classes}
    if len(classes) == 2 and "pos_label" in asks:
        report["pos_label"] = classes[-1]
    return make_scorer(  # type: ignore[no-any-return]
        score,
        response_method=scorer._response_method,
        greater_is_better=scorer._sign == 1,
        **{**report, **scorer._kwargs},
    )


# Penalties tried fold by fold: a path of solutions on the rows of each, evaluated on the rows held out.

Rows = NDArray[np.intp]
Score = Callable[[Weights, Rows], float]  # a model, and the rows to try it on
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
    """What is needed to fit and score one fold."""

    objective: Objective  # of all rows, in memory
    grid: Grid
    solver: str
    terms: Terms
    score_of: Score

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
        found = [self._scored(models, test) for models, (_, test) in zip(fits, folds, strict=True)]
        return Results(*(np.stack(each) for each in zip(*found, strict=True)))

    def _fits(self, train: Rows) -> "Fits":
        return dict(self._models(of_rows(self.objective, train)))

    def _scored(self, models: "Fits", test: Rows) -> Results:
        (c, r), setting = (len(each) for each in self.grid), self.objective.setting
        paths = np.empty((r, c, setting.q, setting.p + 1))
        scores, steps = np.empty((r, c)), np.empty((r, c), dtype=np.int32)
        ended = np.empty((r, c), dtype=np.bool_)
        for at in np.ndindex(r, c):
            weights = models[at]
            paths[at] = np.column_stack([weights.W, weights.intercept])
            scores[at] = self.score_of(weights, test)
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
    """A block as an array or a SciPy sparse matrix."""
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
class CrossValidatedWeights(Weights):
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
    """Logistic regression whose penalty is chosen by cross-validation over `Cs` and `l1_ratios`.

    For each fold a path of solutions is computed, each starting from the one before. Drop-in for
    scikit-learn's class. The defaults are those of scikit-learn 1.9, which warns that some of them will
    change; parameters that are given explicitly do not warn.

    Parameters
    ----------
    Cs : int or array-like of float, default=10
        Values of C to try. An integer: that many values, evenly spaced on a logarithmic scale from 1e-4 to
        1e4.
    l1_ratios : array-like of float or None, default="warn"
        Shares of the l1 penalty to try, each from 0 (l2 alone) to 1 (l1 alone). The default and None mean
        0, without an axis for it in the attributes; scikit-learn will change the default to (0.0,).
    fit_intercept : bool, default=True
        Whether to add an intercept to the scores.
    cv : int, splitter or iterable of (train, test), default=None
        The folds. None means 5 stratified folds, an integer that many.
    dual : bool, default=False
        Accepted for compatibility and has no effect.
    penalty : {"l1", "l2", "elasticnet"}, default="deprecated"
        Deprecated, as in scikit-learn: use `l1_ratios`. A value other than the default warns.
    scoring : str, callable or None, default="warn"
        What the penalty is chosen by: the name of a scikit-learn scorer, or scorer(model, X, y). The
        default and None mean the accuracy; scikit-learn will change the default to "neg_log_loss".
    solver : str, default="auto"
        The algorithm, as in `LogisticRegression`.
    tol : float, default=1e-4
        Tolerance of the solver, as in `LogisticRegression`.
    max_iter : int, default=100
        Maximum number of iterations for each fit.
    class_weight : dict or "balanced", default=None
        Weights of the classes, {label: weight}; "balanced" weights each class inversely to its frequency.
    n_jobs : int, default=None
        Number of folds that are fitted at the same time; None or a negative number: as many as there are
        cores. Tables so large that a single fit uses all cores are fitted one fold at a time.
    verbose : int, default=0
        If not 0, show a progress bar for the final fit.
    refit : bool, default=True
        Whether to fit all rows with the penalty of the best mean score. If False, the coefficients, C and
        l1_ratio are means over the folds, each at its own best.
    intercept_scaling : float, default=1.0
        Accepted for compatibility and has no effect: the intercept is not penalised.
    random_state : int, RandomState instance or None, default=None
        Seed of the order in which solvers that visit single rows take them. None is one fixed seed.
    use_legacy_attributes : bool, default="warn"
        The shapes of the attributes. True, and the default: those of scikit-learn 1.9, everything once for
        each class. False: one array each, as below.
    encode : bool, default=True
        Whether a data frame or a source with categories, dates or missing values becomes a matrix of
        numbers, as by `DesignMatrix`. False: such a table is refused.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The class labels, sorted.
    coef_ : ndarray of shape (1, p) or (K, p)
        Coefficients of the features; for binary problems one row, for `classes_[1]`.
    intercept_ : ndarray of shape (1,) or (K,)
        Intercepts; 0 if `fit_intercept=False`.
    C_ : float, or ndarray of shape (1,) or (K,)
        The chosen C. Legacy: repeated for each class.
    l1_ratio_ : float, or ndarray of shape (1,) or (K,)
        The chosen l1_ratio. Legacy: repeated for each class; None if there was no axis of ratios.
    Cs_ : ndarray of shape (c,)
        The values of C that were tried.
    l1_ratios_ : ndarray of shape (r,)
        The ratios that were tried.
    coefs_paths_ : ndarray of shape (folds, r, c, K or 1, p + 1), or dict
        The coefficients of all fits, the intercept last (without intercept: p of them). Legacy: a dict by
        class of arrays (folds, c, r, p + 1), without the axis r if `l1_ratios` was not given.
    scores_ : ndarray of shape (folds, r, c), or dict
        The scores of all fits on the held-out rows. Legacy: a dict by class of arrays (folds, c, r) or
        (folds, c).
    n_iter_ : ndarray of shape (folds, r, c), or (1, folds, c, r) or (1, folds, c)
        The numbers of iterations of all fits; the latter two are the legacy shapes.
    trace_ : ndarray of shape (iterations + 1, 3)
        Objective, gradient norm and step length in the final fit; empty if `refit=False`.
    converged_ : bool
        Whether the final fit met `tol`; if `refit=False`, whether all fits did.
    stop_reason_ : str
        Why the solver of the final fit stopped.
    solver_ : str
        The solver of the final fit.
    solver_reason_ : str
        Why it was chosen.
    n_features_in_ : int
        Number of columns seen in `fit`.
    design_ : DesignMatrix
        The design matrix that the table of `fit` became, whose `get_feature_names_out` names its columns;
        only if that table was not of numbers alone. `feature_names_in_` are then the table's columns.
    feature_names_in_ : ndarray of shape (p,)
        Names of the columns, if X had names.

    See Also
    --------
    LogisticRegression : With a given penalty.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from likelier import LogisticRegressionCV
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LogisticRegressionCV(
    ...     Cs=[0.01, 1.0, 100.0], l1_ratios=(0.0,), scoring="neg_log_loss", use_legacy_attributes=False
    ... )
    >>> model.fit(X, y).C_
    100.0
    >>> model.scores_.shape
    (5, 1, 3)
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
        encode: bool = True,
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
        self.encode = encode

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
        """Choose the penalty by cross-validation, and fit the model with it.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or source of shape (n, p)
            Training rows. Those of a source are read into memory.
        y : array-like of shape (n,), default=None
            Class labels. A source has its own.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows. A source has its own.
        groups : array-like of shape (n,), default=None
            Groups of rows, for splitters that keep them together.
        checkpoint : str or path-like, default=None
            A file in which finished passes are stored. A fit that was interrupted resumes from it; its
            folds, which are in memory, are fitted again.
        **params : dict
            Passed to the splitter and the scorer, if scikit-learn's metadata routing is enabled.

        Returns
        -------
        self : LogisticRegressionCV
            The fitted estimator.
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
            score_of = self._score_function(target, rows, for_score)
            # A number of folds needs to know which labels are equal, not what they are.
            y = rows.y if self.cv is None or isinstance(self.cv, Integral) else target[rows.y]
            folds = self._folds(plain(rows.X) if stored(X) else X, y, for_split)
            objective = self._objective(found._replace(source=rows))
            trial = Trial(objective, grid, self.solver, self._terms(), score_of)
            for ratio in grid.ratios.tolist():  # refused before any work
                chosen(self.solver, replace(objective, penalty=grid.penalty(objective, 1.0, ratio)))
            objective.gradient(np.zeros(objective.size))  # a bad cell is named by its row among all
            results = trial.run(folds, self.n_jobs)
            self._warn_of_trials(results)
            model = self._best(grid, results, objective)
        return self._publish(model, None, target, found.source.names)

    def _training_shares(self) -> Floats:
        n = self._model.totals if isinstance(self._model, CrossValidatedWeights) else None
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
        validation.boolean("refit", self.refit)
        legacy_of(self)
        return Grid(np.array(Cs, dtype=np.float64), np.array(ratios, dtype=np.float64))

    def _folds(self, X: Any, y: NDArray[Any], params: dict[str, Any]) -> list[tuple[Rows, Rows]]:
        from sklearn.model_selection import check_cv  # slow to load

        pairs = check_cv(self.cv, y, classifier=True).split(X, y, **params)
        return [(_numbers(train), _numbers(test)) for train, test in pairs]

    def _score_function(self, target: NDArray[Any], source: Arrays, params: dict[str, Any] | None) -> Score:
        """A function that scores weights on given rows, by way of an estimator and the scorer.

        params: those that scikit-learn routes to the scorer; None: the sample weights, if there are any.
        """
        scorer = scorer_of(scoring_of(self), target)
        labels = target[source.y]
        if params is None:
            params = {} if source.w is None else {"sample_weight": source.w}

        def score_of(weights: Weights, rows: Rows) -> float:
            model = LogisticRegression()._publish(weights, None, target, None)
            of_rows = {
                name: np.asarray(value)[rows] if np.ndim(value) and len(value) == len(labels) else value
                for name, value in params.items()
            }
            with np.errstate(invalid="ignore"):  # scikit-learn asks of floats whether int64 holds them
                return float(scorer(model, plain(source.X.take(rows)), labels[rows], **of_rows))

        return score_of

    # ---- the choice --------------------------------------------------------------------------------
    def _best(self, grid: Grid, results: Results, objective: Objective) -> CrossValidatedWeights:
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
        course = SolverTrace(np.empty((0, 3)), bool(results.ended.all()), MEAN, self.solver, MEAN)
        weights = Weights(T[:, :-1].copy(), T[:, -1].copy(), np.zeros(objective.setting.p), course)
        if self.refit:
            C, ratio = float(grid.Cs[c[0]]), float(grid.ratios[r[0]])
            problem = replace(objective, penalty=grid.penalty(objective, C, ratio))
            solution = self._solve(problem, weights)
            self._warn_of_end(solution)
            weights = Weights.of(solution, objective.setting)
        d = objective.setting.p + objective.intercept
        return CrossValidatedWeights(
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
        """The score of the fitted model, by `scoring`.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or source of shape (n, p)
            Rows with the columns of the fit.
        y : array-like of shape (n,), default=None
            Their true labels. A source has its own.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows. A source has its own.
        **score_params : dict
            Passed to the scorer, if scikit-learn's metadata routing is enabled.

        Returns
        -------
        float
            The score.
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
        """The parameters of the splitter and the scorer; None: not routed, pass the sample weights."""
        from sklearn.utils.metadata_routing import process_routing

        report = {name: value for name, value in given.items() if value is not None}
        if get_config()["enable_metadata_routing"]:
            routed = process_routing(self, method, **report)
            return dict(routed.splitter.get("split", {})), dict(routed.scorer.score)
        if report.keys() - set(own):
            raise ValueError(
                f"Passing extra keyword arguments to {type(self).__name__}.{method} is only supported if "
                "enable_metadata_routing=True, which you can set using `sklearn.set_config`. Extra "
                f"parameters passed are: {report.keys() - set(own)}"
            )
        return {name: report[name] for name in ("groups",) if name in report}, None

    def get_metadata_routing(self) -> Any:
        """Which parameters `fit` and `score` pass to the splitter and the scorer (metadata routing).

        Returns
        -------
        MetadataRouter
            The routing.
        """
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
