"""The laws of cross-validation: equal to fitting anew, whoever runs it and however rows are cut."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_linnerud, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.metrics import mean_squared_error, r2_score
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    LeaveOneOut,
    ParameterGrid,
    PredefinedSplit,
    StratifiedKFold,
    cross_val_predict,
)
from sklearn.naive_bayes import GaussianNB

import likelier as lk
from laws.generators import SEEDS
from laws.parts import parts_of
from likelier.data import Chunk, Dense, HashedFolds, code
from likelier.scores import StackedScores, stacked

LDA, QDA = lk.LinearDiscriminantAnalysis, lk.QuadraticDiscriminantAnalysis
SHRINKAGES = {"shrinkage": [None, 0.0, 0.3, 1.0]}

# A new estimator joins here, with hyper-parameters to try.
CLASSIFIERS = [
    (lk.GaussianNB(), {"var_smoothing": [1e-9, 1e-3, 1.0]}),
    (lk.GaussianNB(priors=[0.2, 0.3, 0.5]), None),
    (LDA(), {"tol": [1e-4, 0.5], "priors": [None, [0.2, 0.3, 0.5]]}),
    (LDA(solver="lsqr"), SHRINKAGES),
    (LDA(solver="eigen"), SHRINKAGES),
    (LDA(), [{"solver": ["svd"]}, {"solver": ["lsqr", "eigen"], "shrinkage": [None, 0.5, "auto"]}]),
    (QDA(), {"reg_param": [0.0, 0.1, 1.0]}),
    (QDA(solver="eigen"), {"shrinkage": [None, 0.0, 0.3, "auto"]}),
    (lk.KernelDensityClassifier(), {"bandwidth": ["scott", "silverman", 0.5]}),
]
REGRESSORS = [
    (lk.LinearRegression(), {"fit_intercept": [True, False], "positive": [False, True]}),
    (lk.Ridge(), {"alpha": [0.0, 0.1, 10.0], "fit_intercept": [True, False]}),
]
every_classifier = pytest.mark.parametrize(("estimator", "grid"), CLASSIFIERS, ids=str)
every_regressor = pytest.mark.parametrize(("estimator", "grid"), REGRESSORS, ids=str)
every_estimator = pytest.mark.parametrize(("estimator", "grid"), [*CLASSIFIERS, *REGRESSORS], ids=str)
fewer = settings(max_examples=max(6, settings.default.max_examples // 10))


def rows_of(estimator: Any, seed: int = 0, n: int = 90, p: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Overlapping classes with names, or a target with noise."""
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.arange(n) % 3)
    X = rng.standard_normal((n, p)) @ (np.eye(p) + 0.3 * rng.standard_normal((p, p))) + codes[:, None] + 5
    if hasattr(estimator, "alpha") or hasattr(estimator, "positive"):
        return X, X @ rng.standard_normal(p) + rng.standard_normal(n)
    return X, np.array(["one", "three", "two"])[codes]


def figures_of(model: Any, X: Any, y: Any, w: Any = None) -> dict[str, float]:
    """What a fitted model reaches on rows, by way of its answers."""
    w = np.ones(len(y)) if w is None else w
    if hasattr(model, "classes_"):
        log_p = model.predict_log_proba(X)[np.arange(len(y)), np.searchsorted(model.classes_, y)]
        wrong = model.predict(X) != y
        return {"log_loss": -np.average(log_p, weights=w), "error": np.average(wrong, weights=w)}
    fitted = model.predict(X)
    return {
        "mse": mean_squared_error(y, fitted, sample_weight=w),
        "r2": r2_score(y, fitted, sample_weight=w),
    }


def assert_equals_refits(found: Any, estimator: Any, X: Any, y: Any, splits: Any, w: Any = None) -> None:
    for fold, (train, test) in enumerate(splits):
        for v, point in enumerate(found.params):
            model = clone(estimator).set_params(**point)
            model.fit(X[train], y[train], None if w is None else w[train])
            anew = figures_of(model, X[test], y[test], None if w is None else w[test])
            for metric, value in anew.items():
                np.testing.assert_allclose(
                    found.scores[metric][v, fold], value, rtol=1e-12, atol=1e-13, err_msg=metric
                )


# ---- fitting anew --------------------------------------------------------------------------------
SPLITTERS = {
    "KFold": lambda seed, n: KFold(4),
    "shuffled": lambda seed, n: KFold(3, shuffle=True, random_state=seed % 1000),
    "stratified": lambda seed, n: StratifiedKFold(5, shuffle=True, random_state=seed % 1000),
    "uneven": lambda seed, n: PredefinedSplit(
        np.append([0, 1, 2], np.random.default_rng(seed).choice(3, n - 3, p=[0.1, 0.2, 0.7]))
    ),
}
WEIGHTS = {
    "none": lambda rng, n: None,
    "fractional": lambda rng, n: rng.exponential(size=n),
    "some 0": lambda rng, n: rng.exponential(size=n) * (rng.random(n) < 0.8),
}


@every_estimator
@given(seed=SEEDS, splitter=st.sampled_from(list(SPLITTERS)), weights=st.sampled_from(list(WEIGHTS)))
@fewer
@pytest.mark.filterwarnings("ignore::likelier.DegenerateWarning")
def test_it_equals_fitting_anew(estimator, grid, seed, splitter, weights):
    X, y = rows_of(estimator, seed, n=240)  # no training part is so small that a class is near singular
    if splitter == "stratified" and y.dtype.kind == "f":
        splitter = "shuffled"
    cv, w = SPLITTERS[splitter](seed, len(y)), WEIGHTS[weights](np.random.default_rng(seed), len(y))
    with parts_of(1000):
        found = estimator.cross_validate(X, y, cv=cv, param_grid=grid, sample_weight=w)
    assert_equals_refits(found, estimator, X, y, cv.split(X, y), w)


@every_estimator
@pytest.mark.filterwarnings("ignore::likelier.DegenerateWarning")
def test_leaving_out_one_row_at_a_time(estimator, grid):
    X, y = rows_of(estimator, n=40)
    if y.dtype.kind == "f":  # scikit-learn warns that one row has no R²
        found = estimator.cross_validate(X, y, cv=len(y), param_grid=grid)
        assert np.isnan(found.scores["r2"]).all()
        for row, point in [(0, 0), (17, 1), (39, -1)]:
            model = clone(estimator).set_params(**found.params[point])
            left = np.arange(40) != row
            error = (model.fit(X[left], y[left]).predict(X[[row]]) - y[row]) ** 2
            np.testing.assert_allclose(found.scores["mse"][point, row], error[0], rtol=1e-11, atol=1e-14)
        return
    found = estimator.cross_validate(X, y, cv=LeaveOneOut(), param_grid=grid)
    assert found.rows.tolist() == [1] * 40
    assert_equals_refits(found, estimator, X, y, LeaveOneOut().split(X))


@pytest.mark.parametrize("estimator", [lk.LinearRegression(), lk.Ridge(alpha=3.0)], ids=str)
def test_targets_side_by_side(estimator):
    X, Y = load_linnerud(return_X_y=True)
    found = estimator.cross_validate(X, Y, cv=4, return_predictions=True)
    assert_equals_refits(found, estimator, X, Y, KFold(4).split(X))
    np.testing.assert_allclose(found.predictions, cross_val_predict(estimator, X, Y, cv=4), rtol=1e-12)


def test_a_column_of_y_that_does_not_vary_has_the_r2_of_scikit_learn():
    X, y = rows_of(lk.Ridge(), n=20)
    y[:5] = 1.0
    found = lk.Ridge().cross_validate(X, y, cv=4)
    assert_equals_refits(found, lk.Ridge(), X, y, KFold(4).split(X))
    exact = lk.LinearRegression().cross_validate(X, np.ones(20), cv=4)
    assert exact.scores["r2"].tolist() == [[1.0] * 4]


# ---- scikit-learn --------------------------------------------------------------------------------
DATA = {f.__name__: f for f in (load_iris, load_wine, load_breast_cancer)}
TWINS = [
    (lk.GaussianNB(), GaussianNB(), {"var_smoothing": [1e-9, 1e-5, 1e-2]}),
    (LDA(solver="lsqr"), LinearDiscriminantAnalysis(solver="lsqr"), {"shrinkage": [0.0, 0.2, "auto"]}),
    (LDA(), LinearDiscriminantAnalysis(), None),
    (QDA(), QuadraticDiscriminantAnalysis(), {"reg_param": [0.01, 0.1, 0.5]}),
]


def searched(model: Any, grid: Any, X: Any, y: Any, cv: Any) -> Any:
    def score(model: Any, X: Any, y: Any) -> dict[str, float]:
        return figures_of(model, X, y)

    return GridSearchCV(model, grid or {}, cv=cv, scoring=score, refit=False).fit(X, y).cv_results_


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize(("ours", "theirs", "grid"), TWINS, ids=str)
def test_it_equals_scikit_learns_grid_search(data, ours, theirs, grid):
    X, y = DATA[data](return_X_y=True)
    order = np.random.default_rng(1).permutation(len(y))  # so that its stratified folds are not runs
    X, y = X[order] / X.std(axis=0), y[order]  # in other units scikit-learn's lsqr loses digits, to 4e-7
    found = ours.cross_validate(X, y, cv=5, param_grid=grid)
    results = searched(theirs, grid, X, y, 5)
    for metric in ("log_loss", "error"):
        np.testing.assert_allclose(found.mean(metric), results[f"mean_test_{metric}"], rtol=2e-9)
        np.testing.assert_allclose(found.std(metric), results[f"std_test_{metric}"], rtol=2e-8, atol=1e-12)
    assert list(found.params) == results["params"]
    assert found.best_index_ == np.argmin(results["mean_test_log_loss"])


@pytest.mark.parametrize(
    ("ours", "theirs", "grid"),
    [
        (lk.LinearRegression(), LinearRegression(), {"fit_intercept": [True, False]}),
        (lk.Ridge(), Ridge(), {"alpha": [0.01, 1.0, 100.0], "fit_intercept": [True, False]}),
    ],
    ids=str,
)
def test_regressions_equal_scikit_learns_grid_search(ours, theirs, grid):
    X, y = load_diabetes(return_X_y=True)
    found = ours.cross_validate(X, y, cv=7, param_grid=grid, scoring="r2")
    results = searched(theirs, grid, X, y, 7)
    for metric in ("mse", "r2"):
        np.testing.assert_allclose(found.mean(metric), results[f"mean_test_{metric}"], rtol=1e-9)
    assert found.best_index_ == np.argmax(results["mean_test_r2"])


# ---- weights -------------------------------------------------------------------------------------
@every_estimator
def test_a_weight_of_2_is_the_row_twice_and_0_the_row_absent(estimator, grid):
    X, y = rows_of(estimator)
    rng = np.random.default_rng(0)
    times, numbers = rng.integers(0, 3, len(y)), rng.integers(0, 3, len(y))
    weighted = estimator.cross_validate(
        X, y, cv=PredefinedSplit(numbers), param_grid=grid, sample_weight=times.astype(float)
    )
    many = np.repeat(np.arange(len(y)), times)
    repeated = estimator.cross_validate(
        X[many], y[many], cv=PredefinedSplit(numbers[many]), param_grid=grid
    )
    for metric, values in weighted.scores.items():
        np.testing.assert_allclose(values, repeated.scores[metric], rtol=1e-12, atol=1e-13)
    assert weighted.rows.tolist() == [((numbers == f) & (times > 0)).sum() for f in range(3)]


# ---- sources, engines ----------------------------------------------------------------------------
@dataclass(frozen=True)
class Odd:
    """Rows that come in parts and chunks of odd sizes, and whose number is not told beforehand."""

    X: np.ndarray
    y: np.ndarray
    step: int
    levels: Any = None
    names: Any = None
    rows: None = None

    @property
    def p(self) -> int:
        return self.X.shape[1]

    @property
    def y_shape(self) -> tuple[int, ...]:
        return self.y.shape[1:]

    def coded(self, levels: Any) -> "Odd":
        return replace(self, levels=levels)

    def labels(self) -> "Odd":
        return self

    def place(self, row: int) -> str:
        return f"row {row}"

    def parts(self, state_bytes: int) -> Sequence[Any]:
        ends = [0, *range(3, len(self.y), 5 * self.step), len(self.y)]
        return [partial(self._read, a, b) for a, b in pairwise(ends)]

    def _read(self, start: int, stop: int) -> Iterator[Chunk]:
        for a in range(start, stop, self.step):
            at = slice(a, min(a + self.step, stop))
            y = self.y[at] if self.levels is None else code(self.y[at], self.levels)
            yield Chunk(Dense(self.X[at]), y, None, a)


def read_oddly(estimator: Any, step: int) -> Any:
    """The same estimator, which takes its arrays for a source of another kind."""
    kind = type(estimator)
    new: Any = type(
        kind.__name__,
        (kind,),
        {
            "__init__": kind.__init__,
            "_source": lambda self, X, y, w, known: Odd(X, y, step),
        },
    )
    return new(**estimator.get_params())


@every_estimator
@pytest.mark.parametrize("seed", [None, 11])
def test_rows_not_in_memory_are_folded_by_their_numbers_however_they_are_cut(estimator, grid, seed):
    X, y = rows_of(estimator)
    how: dict[str, Any] = {"cv": 3, "random_state": seed, "param_grid": grid, "return_predictions": True}
    numbers = HashedFolds(3, seed or 0).of(0, len(y))
    expected = estimator.cross_validate(
        X, y, cv=PredefinedSplit(numbers), param_grid=grid, return_predictions=True
    )
    for step in (1, 7, 100):
        found = read_oddly(estimator, step).cross_validate(X, y, **how)
        for metric, values in found.scores.items():
            np.testing.assert_allclose(values, expected.scores[metric], rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(found.predictions, expected.predictions, rtol=1e-11, atol=1e-13)
        assert found.rows.tolist() == expected.rows.tolist()
        assert found.best_params_ == expected.best_params_


@every_estimator
def test_any_number_of_threads_gives_the_same_bits(estimator, grid, monkeypatch):
    X, y = rows_of(estimator, n=700)
    found = []
    for threads in (1, 2, 5):
        monkeypatch.setenv("LIKELIER_THREADS", str(threads))
        with parts_of(500):
            result = estimator.cross_validate(X, y, cv=3, param_grid=grid, return_predictions=True)
        found.append([*(v.tobytes() for v in result.scores.values()), result.predictions.tobytes()])
    assert found[0] == found[1] == found[2]


@every_estimator
def test_sparse_rows_and_frames_say_the_same(estimator, grid):
    X, y = rows_of(estimator)
    X[X < 5] = 0
    dense = estimator.cross_validate(X, y, cv=KFold(3, shuffle=True, random_state=0), param_grid=grid)
    for other in (sparse.csr_matrix(X), pd.DataFrame(X, columns=list("abcd"))):
        found = estimator.cross_validate(
            other, y, cv=KFold(3, shuffle=True, random_state=0), param_grid=grid
        )
        for metric, values in found.scores.items():
            np.testing.assert_allclose(values, dense.scores[metric], rtol=1e-11, atol=1e-13)


# ---- what is left --------------------------------------------------------------------------------
@every_estimator
def test_the_best_estimator_is_fitted_to_all_rows(estimator, grid):
    X, y = rows_of(estimator)
    found = estimator.cross_validate(pd.DataFrame(X, columns=list("abcd")), y, cv=4, param_grid=grid)
    best = found.best_estimator_
    assert best.get_params() == clone(estimator).set_params(**found.best_params_).get_params()
    alone = clone(best).fit(pd.DataFrame(X, columns=list("abcd")), y)
    assert vars(best).keys() == vars(alone).keys()
    assert best.feature_names_in_.tolist() == list("abcd")
    ask = "predict_log_proba" if hasattr(best, "predict_log_proba") else "predict"
    rows = pd.DataFrame(X, columns=list("abcd"))
    np.testing.assert_allclose(getattr(best, ask)(rows), getattr(alone, ask)(rows), rtol=1e-11, atol=1e-12)
    more = best.merge(alone)  # its statistics are kept
    np.testing.assert_allclose(np.sum(more._statistics.n), 2 * len(y))


@every_estimator
def test_predictions_are_those_of_models_that_did_not_see_the_row(estimator, grid):
    X, y = rows_of(estimator)
    cv = KFold(4, shuffle=True, random_state=3)
    found = estimator.cross_validate(X, y, cv=cv, param_grid=grid, return_predictions=True)
    best = clone(estimator).set_params(**found.best_params_)
    method = "predict_proba" if hasattr(estimator, "predict_proba") else "predict"
    expected = cross_val_predict(best, X, y, cv=cv, method=method)
    np.testing.assert_allclose(found.predictions, expected, rtol=1e-11, atol=1e-13)
    assert estimator.cross_validate(X, y, cv=cv).predictions is None


@every_estimator
def test_the_estimator_itself_stays_as_it_was(estimator, grid):
    X, y = rows_of(estimator)
    model = clone(estimator).fit(X, y)
    before = {name: id(value) for name, value in vars(model).items()}
    model.cross_validate(X, y, cv=3, param_grid=grid)
    assert {name: id(value) for name, value in vars(model).items()} == before


def test_no_grid_is_the_estimator_as_it_is_and_groups_stay_together():
    X, y = rows_of(None)
    groups = np.arange(90) // 10
    found = LDA().cross_validate(X, y, cv=GroupKFold(3), groups=groups)
    assert found.params == ({},)
    assert_equals_refits(found, LDA(), X, y, GroupKFold(3).split(X, y, groups))
    masks = [((groups % 3) != f, (groups % 3) == f) for f in range(3)]
    as_masks = LDA().cross_validate(X, y, cv=masks)
    as_numbers = LDA().cross_validate(X, y, cv=[tuple(np.flatnonzero(m) for m in pair) for pair in masks])
    assert as_masks.scores["log_loss"].tolist() == as_numbers.scores["log_loss"].tolist()


@pytest.mark.parametrize(
    ("estimator", "grid", "joined"),
    [
        (lk.GaussianNB(), {"var_smoothing": [1e-9, 1.0]}, True),
        (LDA(solver="lsqr"), {"shrinkage": [0.0, 0.5]}, True),
        (QDA(), {"reg_param": [0.0, 0.5]}, True),
        (lk.Ridge(), {"alpha": [1.0, 2.0]}, True),
        (LDA(), {"priors": [None, [0.5, 0.3, 0.2]]}, False),  # the centre moves with the priors
    ],
    ids=str,
)
def test_models_that_share_a_kernel_are_scored_in_one_call(estimator, grid, joined):
    X, y = rows_of(estimator)
    models = [clone(estimator).set_params(**point).fit(X, y) for point in ParameterGrid(grid)]
    both = stacked([model._scores(model._model) for model in models])
    assert isinstance(both.terms[0], StackedScores) is not joined
    Z = np.empty((len(y), both.K))
    both.plus(np.arange(both.K)).write(Chunk(Dense(X)), Z)
    K = both.K // 2
    for v, model in enumerate(models):
        alone = np.empty((len(y), K))
        model._scores(model._model).write(Chunk(Dense(X)), alone)
        expected = alone + np.arange(v * K, (v + 1) * K)
        np.testing.assert_allclose(Z[:, v * K : (v + 1) * K], expected, rtol=1e-13, atol=1e-13)


# ---- classes that a fold takes with it -----------------------------------------------------------
@pytest.mark.parametrize("estimator", [lk.GaussianNB(), LDA(), LDA(solver="lsqr"), QDA()], ids=str)
def test_a_class_that_is_in_one_fold_only_has_probability_0_there(estimator):
    X, y = rows_of(None, n=60)
    y[:] = np.where(y == "two", "one", y)
    y[:6] = "two"  # all in the first of five folds
    with pytest.warns(lk.DegenerateWarning, match="fold 0 is infinite"):
        found = estimator.cross_validate(X, y, cv=KFold(5), return_predictions=True)
    assert np.isinf(found.scores["log_loss"][0]).tolist() == [True, False, False, False, False]
    assert (found.predictions[:12, 2] == 0).all()
    train, test = slice(12, None), slice(0, 12)
    anew = clone(estimator).fit(X[train], y[train])  # which does not know the class
    np.testing.assert_allclose(found.predictions[test, :2], anew.predict_proba(X[test]), rtol=1e-10)
    assert found.scores["error"][0, 0] == np.mean(anew.predict(X[test]) != y[test])


# ---- the record ----------------------------------------------------------------------------------
def test_it_prints_as_a_table_and_turns_into_a_frame():
    X, y = load_iris(return_X_y=True)
    grid = [{"reg_param": [0.0, 0.5]}, {"solver": ["eigen"], "shrinkage": [0.1]}]
    found = QDA().cross_validate(X, y, cv=3, param_grid=grid, scoring="error")
    lines = str(found).splitlines()
    assert lines[0] == "150 rows in 3 folds; * best error"
    assert lines[2].split() == ["reg_param", "shrinkage", "solver", "log_loss", "error"]
    assert [line.startswith("*") for line in lines[3:]] == [v == found.best_index_ for v in range(3)]
    frame = found.to_frame()
    assert frame["param_reg_param"].tolist()[:2] == [0.0, 0.5]
    np.testing.assert_array_equal(frame["mean_error"], found.scores["error"].mean(axis=1))
    np.testing.assert_array_equal(frame["split2_log_loss"], found.scores["log_loss"][:, 2])
    assert found.best_score_ == found.mean()[found.best_index_] == found.scores["error"].mean(axis=1).min()
    with pytest.raises(AttributeError):
        found.metric = "log_loss"


def test_scikit_learns_names_of_scores_choose_the_same_point():
    X, y = load_iris(return_X_y=True)
    grid = {"var_smoothing": [1e-9, 1e-1, 10.0]}
    for ours, theirs in (("error", "accuracy"), ("log_loss", "neg_log_loss")):
        named = [lk.GaussianNB().cross_validate(X, y, param_grid=grid, scoring=s) for s in (ours, theirs)]
        assert named[0].metric == named[1].metric == ours
        assert named[0].best_params_ == named[1].best_params_
    alphas = {"alpha": [0.1, 10.0]}
    found = lk.Ridge().cross_validate(X, X[:, 0], param_grid=alphas, scoring="neg_mean_squared_error")
    assert found.metric == "mse"
