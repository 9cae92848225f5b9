"""Every fitted attribute and every answer equals scikit-learn's."""

import warnings
from contextlib import nullcontext
from functools import cache

import numpy as np
import pytest
from scipy import linalg, sparse
from scipy.special import log_expit
from sklearn import discriminant_analysis, naive_bayes
from sklearn.covariance import OAS
from sklearn.discriminant_analysis import _cov

import likelier as lk

EPS = np.finfo(float).eps
THEIRS = {
    lk.GaussianNB: naive_bayes.GaussianNB,
    lk.LinearDiscriminantAnalysis: discriminant_analysis.LinearDiscriminantAnalysis,
    lk.QuadraticDiscriminantAnalysis: discriminant_analysis.QuadraticDiscriminantAnalysis,
}
NB, LDA, QDA = THEIRS
SHORT = {NB: "NB", LDA: "LDA", QDA: "QDA"}


def like(model):
    """scikit-learn's model of the same class and parameters; `encode` is ours."""
    params = model.get_params()
    params.pop("encode", None)
    return THEIRS[type(model)](**params)


SMALL = ["iris", "wine", "breast_cancer", "banknote", "glass", "haberman", "heart_statlog", "pima", "vowel"]
LARGE = ["digits", "ionosphere", "spambase", "waveform5000", "letter", "higgs_train"]
# scikit-learn refuses the others: a covariance within a class (QDA), or within all, is singular.
RANK_BY_CLASS = ["iris", "wine", "banknote", "haberman", "heart_statlog", "pima", "vowel"]
RANK_BY_CLASS += ["waveform5000", "letter", "higgs_train"]
RANK = [name for name in SMALL + LARGE if name not in ("digits", "ionosphere")]
FEW = ["iris", "breast_cancer", "glass", "vowel"]

SKEWED = "skewed"  # stands for priors 1, 2, ... K, made to sum to 1


def cases(model, *specs, sets):
    return [
        pytest.param(model, name, spec, id=f"{SHORT[model]}-{name}-{named(spec)}")
        for spec in specs
        for name in sets
    ]


def named(spec):
    return (
        ",".join(f"{k}={type(v).__name__ if hasattr(v, 'fit') else v}" for k, v in spec.items()) or "plain"
    )


def either(**spec):
    return [{"solver": solver, **spec} for solver in ("lsqr", "eigen")]


BAYES = [
    *cases(NB, {}, sets=[*SMALL, *LARGE, "mnist_5k"]),
    *cases(NB, {"priors": SKEWED}, {"var_smoothing": 1e-3}, sets=FEW),
    *cases(NB, {"var_smoothing": 0.0}, sets=RANK_BY_CLASS),
]
LINEAR = [
    *cases(LDA, {}, sets=[*SMALL, *LARGE, "mnist_5k"]),
    *cases(LDA, {"priors": SKEWED, "store_covariance": True}, {"tol": 0.3}, sets=SMALL),
    *cases(LDA, {"n_components": 1, "store_covariance": True}, sets=FEW),
    *cases(LDA, {"solver": "lsqr"}, sets=SMALL + LARGE),
    *cases(LDA, {"solver": "eigen"}, sets=RANK),
    *cases(LDA, {"solver": "eigen", "n_components": 1}, sets=FEW),
    *cases(LDA, *either(shrinkage="auto"), sets=SMALL + LARGE),
    *cases(LDA, *either(shrinkage=0.3), sets=[*FEW, "digits", "ionosphere"]),
    *cases(LDA, *either(shrinkage=0.0), *either(shrinkage=1), sets=FEW),
    *cases(LDA, *either(priors=SKEWED), *either(priors=SKEWED, shrinkage="auto"), sets=FEW),
    *cases(LDA, *either(priors=SKEWED, shrinkage=0.3), sets=FEW),
    *cases(LDA, *either(covariance_estimator=OAS()), sets=SMALL),
    *cases(LDA, *either(covariance_estimator=OAS(), priors=SKEWED), sets=FEW),
]
QUADRATIC = [
    *cases(QDA, {}, {"solver": "eigen"}, sets=RANK_BY_CLASS),
    *cases(QDA, {"priors": SKEWED, "store_covariance": True}, sets=["iris", "banknote", "vowel"]),
    *cases(QDA, {"reg_param": 0.1}, {"solver": "eigen", "shrinkage": 0.3}, sets=SMALL + LARGE),
    *cases(QDA, {"reg_param": 1.0, "store_covariance": True}, {"reg_param": 0.01}, sets=FEW),
    *cases(QDA, {"solver": "eigen", "shrinkage": "auto", "store_covariance": True}, sets=RANK_BY_CLASS),
    *cases(QDA, {"solver": "eigen", "shrinkage": 1.0}, sets=FEW),
    *cases(QDA, {"solver": "eigen", "shrinkage": 0.5, "priors": SKEWED}, sets=FEW),
    *cases(QDA, {"solver": "eigen", "covariance_estimator": OAS()}, sets=["iris", "banknote", "vowel"]),
]
ALL = BAYES + LINEAR + QUADRATIC


# Columns that do not vary, in a class (NB) or in all (LDA), or directions that `tol` leaves out: of these
# scikit-learn says nothing, and likelier warns.
STILL = {NB: ["digits", "glass", "ionosphere", "mnist_5k"], LDA: ["digits", "ionosphere", "mnist_5k"]}
LEFT_OUT = ["breast_cancer", "banknote", "glass"]


def degenerate(model, name, spec):
    if model is LDA and spec.get("tol"):
        return name in LEFT_OUT
    return name in STILL.get(model, []) and not (spec.get("shrinkage") or spec.get("covariance_estimator"))


_fits = {}


@pytest.fixture
def fits(table):
    """(ours, theirs, X, y), each pair fitted once."""

    def fit(model, name, spec):
        key = (model, name, named(spec))
        if key not in _fits:
            X, y = table(name)
            given = dict(spec)
            if "priors" in given:
                K = len(np.unique(y))
                given["priors"] = np.arange(1, K + 1) / (K * (K + 1) / 2)
            warned = pytest.warns(lk.DegenerateWarning) if degenerate(model, name, spec) else nullcontext()
            with warned:
                ours = model(**given).fit(X, y)
            _fits[key] = ours, THEIRS[model](**given).fit(X, y), X, y
        return _fits[key]

    return fit


# ---- how near --------------------------------------------------------------------------------------
def close(ours, theirs, tol, unit=1.0):
    """Equal within tol times the largest entry, both measured in `unit`."""
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert ours.shape == theirs.shape
    if theirs.size:
        a, b = ours / unit, theirs / unit
        assert np.abs(a - b).max() <= tol * np.abs(b).max()


def spread(X, y):
    """Standard deviations of the columns within the classes, 1 for a constant one."""
    centred = np.concatenate([X[y == k] - X[y == k].mean(axis=0) for k in np.unique(y)])
    sd = centred.std(axis=0)
    return np.where(sd > 1e-9 * np.abs(X).max(axis=0), sd, 1.0)


def condition(cov):
    """Largest over smallest eigenvalue, of those that are not rounding errors."""
    values = np.linalg.eigvalsh(cov)
    return values[-1] / values[values > 100 * EPS * values[-1]].min()


def tolerance(theirs, X, y):
    """1e-10, or what the condition of the covariance leaves: only lstsq depends on the columns' scales."""
    if isinstance(theirs, naive_bayes.GaussianNB):
        return 1e-10
    if isinstance(theirs, discriminant_analysis.LinearDiscriminantAnalysis):
        if theirs.solver == "lsqr":
            return max(1e-10, 10 * EPS * condition(theirs.covariance_))
        sd = spread(X, y)
        centred = np.concatenate([X[y == k] - X[y == k].mean(axis=0) for k in np.unique(y)]) / sd
        return max(1e-10, 10 * EPS * condition(centred.T @ centred / len(X)))
    return max(1e-10, 10 * EPS * max(s.max() / s.min() for s in theirs.scalings_))


def signs(ours, theirs):
    """+1 or -1 for each column: that which brings ours onto theirs."""
    return np.where((ours * theirs).sum(axis=0) < 0, -1.0, 1.0)


# ---- attributes ------------------------------------------------------------------------------------
def fitted_attributes(model):
    names = {name for name in dir(model) if name.endswith("_") and not name.startswith("_")}
    return {name for name in names if hasattr(model, name)}


@pytest.mark.parametrize(("model", "name", "spec"), ALL)
def test_same_fitted_attributes_exist(fits, model, name, spec):
    ours, theirs, _, y = fits(model, name, spec)
    assert fitted_attributes(ours) == fitted_attributes(theirs)
    np.testing.assert_array_equal(ours.classes_, theirs.classes_)
    assert ours.classes_.dtype == y.dtype
    assert ours.n_features_in_ == theirs.n_features_in_


@pytest.mark.parametrize(("model", "name", "spec"), BAYES)
def test_gaussian_nb_attributes(fits, model, name, spec):
    ours, theirs, X, y = fits(model, name, spec)
    np.testing.assert_array_equal(ours.class_count_, theirs.class_count_)
    np.testing.assert_allclose(ours.class_prior_, theirs.class_prior_, rtol=1e-14)
    np.testing.assert_allclose(ours.epsilon_, theirs.epsilon_, rtol=1e-12)
    np.testing.assert_allclose(ours.var_, theirs.var_, rtol=1e-11)
    close(ours.theta_, theirs.theta_, 1e-12, spread(X, y))


@pytest.mark.parametrize(("model", "name", "spec"), LINEAR)
def test_lda_attributes(fits, model, name, spec):
    ours, theirs, X, y = fits(model, name, spec)
    tol, sd = tolerance(theirs, X, y), spread(X, y)
    np.testing.assert_allclose(ours.priors_, theirs.priors_, rtol=1e-14)
    close(ours.means_, theirs.means_, 1e-12, sd)
    close(ours.coef_, theirs.coef_, tol, 1 / sd)
    close(ours.intercept_, theirs.intercept_, tol)
    if hasattr(theirs, "xbar_"):
        close(ours.xbar_, theirs.xbar_, 1e-12, sd)
    if hasattr(theirs, "covariance_"):
        close(ours.covariance_, theirs.covariance_, 1e-12, np.outer(sd, sd))


def between_over_within(theirs, X):
    """The eigenvalues that solver="eigen" sorts its axes by, falling, as scikit-learn has them."""
    total = _cov(X, theirs.shrinkage, theirs.covariance_estimator)
    return linalg.eigh(total - theirs.covariance_, theirs.covariance_, eigvals_only=True)[::-1]


WITH_AXES = [case for case in LINEAR if case.values[2].get("solver") != "lsqr"]


@pytest.mark.parametrize(("model", "name", "spec"), WITH_AXES)
def test_lda_axes(fits, model, name, spec):
    ours, theirs, X, y = fits(model, name, spec)
    tol, sd = tolerance(theirs, X, y), spread(X, y)
    a, b = ours.scalings_, theirs.scalings_
    assert a.shape == b.shape
    close(a @ a.T, b @ b.T, tol, 1 / np.outer(sd, sd))
    T, U = ours.transform(X), theirs.transform(X)
    assert T.shape == U.shape
    # Axes of equal strength may turn among themselves: those that stand alone are compared one by one.
    strength = (
        between_over_within(theirs, X) if theirs.solver == "eigen" else theirs.explained_variance_ratio_
    )
    gaps = np.abs(np.diff(strength, prepend=np.inf, append=0.0))
    alone = np.minimum(gaps[:-1], gaps[1:])[: U.shape[1]] > 1e-3 * np.abs(strength).max()
    a, b, T, U = a[:, : len(alone)][:, alone], b[:, : len(alone)][:, alone], T[:, alone], U[:, alone]
    close(a * signs(a, b), b, 100 * tol, 1 / sd[:, None])
    close(T * signs(T, U), U, 100 * tol)


@pytest.mark.parametrize(("model", "name", "spec"), WITH_AXES)
def test_lda_explained_variance_ratio(fits, model, name, spec):
    """Where the variance between the classes, as solver="eigen" estimates it, is positive in all."""
    ours, theirs, X, y = fits(model, name, spec)
    if theirs.solver == "svd" or between_over_within(theirs, X).sum() > 0:
        close(ours.explained_variance_ratio_, theirs.explained_variance_ratio_, tolerance(theirs, X, y))


@pytest.mark.parametrize("priors", [None, [0.3, 0.7]])
@pytest.mark.parametrize("shrinkage", [None, "auto"])
@pytest.mark.parametrize("name", ["haberman", "ionosphere", "pima"])
def test_lda_explained_variance_ratio_where_the_total_is_negative(table, name, shrinkage, priors):
    """Other priors, or shrinkage, can make it so; scikit-learn then sorts the ratios, not the axes."""
    X, y = table(name)
    X = X[:, X.std(axis=0) > 0]
    given = {"solver": "eigen", "shrinkage": shrinkage, "priors": priors}
    theirs = THEIRS[LDA](**given).fit(X, y)
    ratio = LDA(**given).fit(X, y).explained_variance_ratio_
    close(ratio, theirs.explained_variance_ratio_, tolerance(theirs, X, y))


@pytest.mark.parametrize(("model", "name", "spec"), QUADRATIC)
def test_qda_attributes(fits, model, name, spec):
    ours, theirs, X, y = fits(model, name, spec)
    np.testing.assert_allclose(ours.priors_, theirs.priors_, rtol=1e-14)
    close(ours.means_, theirs.means_, 1e-12, spread(X, y))
    for listed in ("scalings_", "rotations_"):
        assert isinstance(getattr(ours, listed), list)
    for s, t, a, b in zip(
        ours.scalings_, theirs.scalings_, ours.rotations_, theirs.rotations_, strict=True
    ):
        np.testing.assert_allclose(s, t, rtol=tolerance(theirs, X, y))
        close(a.T @ a, np.eye(len(a)), 1e-13)
        close((a * s) @ a.T, (b * t) @ b.T, 1e-11)
        gaps = -np.diff(t, prepend=np.inf, append=-np.inf)
        alone = np.minimum(gaps[:-1], gaps[1:]) > 1e-3 * t[0]  # the others may turn among themselves
        np.testing.assert_allclose(np.abs((a * b).sum(axis=0))[alone], 1.0, rtol=1e-10)
    if "store_covariance" in spec:
        assert isinstance(ours.covariance_, list)
        for a, b in zip(ours.covariance_, theirs.covariance_, strict=True):
            close(a, b, 1e-11)


# ---- answers ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(("model", "name", "spec"), ALL)
def test_predictions(fits, model, name, spec):
    ours, theirs, X, y = fits(model, name, spec)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    assert ours.score(X, y) == theirs.score(X, y)
    largest = 1.0 if model is NB else np.abs(theirs.decision_function(X)).max()
    np.testing.assert_allclose(
        ours.predict_proba(X), theirs.predict_proba(X), rtol=0, atol=tolerance(theirs, X, y) * largest
    )


@pytest.mark.parametrize(("model", "name", "spec"), BAYES)
def test_gaussian_nb_log_probabilities(fits, model, name, spec):
    ours, theirs, X, _ = fits(model, name, spec)
    close(ours.predict_joint_log_proba(X), theirs.predict_joint_log_proba(X), 1e-11)
    close(ours.predict_log_proba(X), theirs.predict_log_proba(X), 1e-11)


@pytest.mark.parametrize(("model", "name", "spec"), LINEAR + QUADRATIC)
def test_decision_function(fits, model, name, spec):
    ours, theirs, X, y = fits(model, name, spec)
    close(ours.decision_function(X), theirs.decision_function(X), tolerance(theirs, X, y))


@pytest.mark.parametrize(("model", "name", "spec"), LINEAR)
def test_lda_log_probabilities(fits, model, name, spec):
    """Against scikit-learn's scores: its own logarithms of probabilities are cut off where p is 0 or 1."""
    ours, theirs, X, y = fits(model, name, spec)
    Z = theirs.decision_function(X)
    expected = (
        np.stack([log_expit(-Z), log_expit(Z)], axis=1)
        if Z.ndim == 1
        else Z - np.logaddexp.reduce(Z, axis=1, keepdims=True)
    )
    atol = tolerance(theirs, X, y) * np.abs(Z).max()
    np.testing.assert_allclose(ours.predict_log_proba(X), expected, rtol=0, atol=atol)


@pytest.mark.parametrize(("model", "name", "spec"), QUADRATIC)
def test_qda_log_probabilities(fits, model, name, spec):
    ours, theirs, X, y = fits(model, name, spec)
    close(ours.predict_log_proba(X), theirs.predict_log_proba(X), tolerance(theirs, X, y))


# ---- who is right ----------------------------------------------------------------------------------
@cache
def _exact_log_posterior(X_bytes, y_bytes, shape, shrinkage):
    """ln p(C_k | x) of LDA in extended precision: Σ = LLᵀ, forward substitution."""
    X = np.frombuffer(X_bytes).reshape(shape).astype(np.longdouble)
    y = np.frombuffer(y_bytes, dtype=np.int64)
    K, (n, p) = y.max() + 1, shape
    mean = np.stack([X[y == k].mean(axis=0) for k in range(K)])
    S = (X - mean[y]).T @ (X - mean[y]) / n
    S = (1 - shrinkage) * S + shrinkage * np.trace(S) / p * np.eye(p)
    L, rows = np.zeros_like(S), np.concatenate([X, mean]).T - mean.mean(axis=0)[:, None]
    for j in range(p):
        v = S[j:, j] - L[j:, :j] @ L[j, :j]
        L[j:, j] = v / np.sqrt(v[0])
        rows[j] = (rows[j] - L[j, :j] @ rows[:j]) / L[j, j]
    x, m = rows[:, :n], rows[:, n:]
    Z = x.T @ m - (m**2).sum(axis=0) / 2 + np.log(np.bincount(y) / np.longdouble(n))
    return Z - np.logaddexp.reduce(Z, axis=1, keepdims=True), S


@pytest.mark.parametrize(
    ("solver", "shrinkage"), [("svd", None), *((s, a) for s in ("lsqr", "eigen") for a in (None, 0.01))]
)
@pytest.mark.parametrize("name", ["breast_cancer", "glass", "spambase", "pima", "wine"])
def test_lda_is_as_near_to_the_truth_as_its_condition_allows(table, name, solver, shrinkage):
    X, labels = table(name)
    y = np.unique(labels, return_inverse=True)[1].astype(np.int64)
    exact, S = _exact_log_posterior(X.tobytes(), y.tobytes(), X.shape, np.longdouble(shrinkage or 0))
    S = S.astype(float)
    sd = np.sqrt(np.diagonal(S))  # the scales of the columns cost nothing
    answer = LDA(solver=solver, shrinkage=shrinkage).fit(X, y).predict_log_proba(X)
    error = float(np.abs(answer - exact).max() / np.abs(exact).max())
    assert error <= 1e-13 + 10 * EPS * condition(S / np.outer(sd, sd))


@pytest.mark.parametrize("solver", ["svd", "lsqr", "eigen"])
@pytest.mark.parametrize("offset", [1e4, 1e6])
def test_lda_far_from_zero_loses_no_more_digits_than_the_means_do(table, solver, offset):
    """Measured at 1e6: an error of 3e-8 here, of 7e-3 (lsqr) and 5e-3 (eigen) in scikit-learn."""
    X, y = table("iris")
    moved = X + offset
    near = moved - offset  # exactly
    exact, _ = _exact_log_posterior(near.tobytes(), y.astype(np.int64).tobytes(), X.shape, np.longdouble(0))
    answer = LDA(solver=solver).fit(moved, y).predict_log_proba(moved)
    assert np.abs(answer - exact).max() <= 1e3 * EPS * offset


# ---- other inputs ----------------------------------------------------------------------------------
MODELS = [
    NB(),
    LDA(),
    LDA(solver="lsqr", shrinkage="auto"),
    LDA(solver="eigen", shrinkage=0.2),
    QDA(reg_param=0.1),
    QDA(solver="eigen", shrinkage="auto"),
]


def answers(model, X):
    return np.hstack([model.predict_log_proba(X), model.predict_joint_log_proba(X)])


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("name", ["iris", "digits", "banknote"])
@pytest.mark.parametrize("kind", ["float32", "CSR", "CSR float32"])
def test_other_kinds_of_matrix_give_the_answers_of_a_dense_double_one(table, model, name, kind):
    X, y = table(name)
    if kind != "CSR":
        X = X.astype(np.float32).astype(np.float64)
    other = X.astype(np.float32) if "float32" in kind else X
    other = sparse.csr_array(other) if "CSR" in kind else other
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lk.DegenerateWarning)  # digits have columns that do not vary
        whole, same = model.fit(X, y), None
        expected, predicted = answers(whole, X), whole.predict(X)
        same = model.fit(other, y)
    if "float32" in kind:  # rounded where scikit-learn's are of single precision: the same arithmetic
        close(answers(same, other), expected, 1e-6)
    close(answers(same, other.astype(np.float64)), expected, 1e-11)
    np.testing.assert_array_equal(same.predict(other), predicted)


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("offset", [0.0, 1e3, 1e5])
def test_csr_far_from_zero_gives_the_answers_of_dense(table, model, offset):
    X, y = table("iris")
    moved = X + offset
    expected = model.fit(moved, y).predict_log_proba(moved)
    rows = sparse.csr_array(moved)
    atol = 1e-11 + 1e3 * EPS * offset
    np.testing.assert_allclose(model.predict_log_proba(rows), expected, rtol=0, atol=atol)
    np.testing.assert_allclose(model.fit(rows, y).predict_log_proba(moved), expected, rtol=0, atol=atol)


@pytest.mark.parametrize(
    "model", [NB(), LDA(), LDA(solver="eigen", shrinkage="auto"), QDA(), QDA(solver="eigen")], ids=str
)
def test_many_rows_are_read_in_parts_to_the_same_numbers(model):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, size=300_000)
    X = rng.normal(size=(300_000, 4)) @ rng.normal(size=(4, 4)) + 1.5 * rng.normal(size=(4, 4))[y] + 100
    theirs = like(model).fit(X, y)
    model.fit(X, y)
    rows = X[::1000]
    np.testing.assert_allclose(model.predict_proba(rows), theirs.predict_proba(rows), rtol=0, atol=1e-10)
    np.testing.assert_array_equal(model.predict(X), theirs.predict(X))


@pytest.mark.parametrize("name", ["iris", "banknote", "vowel"])
def test_weighted_gaussian_nb_is_scikit_learns_but_for_the_smoothing(table, name):
    X, y = table(name)
    w = np.random.default_rng(0).exponential(size=len(y))
    ours, theirs = NB().fit(X, y, w), naive_bayes.GaussianNB().fit(X, y, w)
    np.testing.assert_allclose(ours.class_count_, theirs.class_count_, rtol=1e-13)
    np.testing.assert_allclose(ours.class_prior_, theirs.class_prior_, rtol=1e-13)
    close(ours.theta_, theirs.theta_, 1e-13)
    np.testing.assert_allclose(ours.var_ - ours.epsilon_, theirs.var_ - theirs.epsilon_, rtol=1e-12)


@pytest.mark.parametrize(
    ("model", "name"),
    [(QDA(), "glass"), (QDA(solver="eigen"), "digits"), (QDA(), "ionosphere")],
)
def test_a_class_without_full_rank_is_lifted_where_scikit_learn_refuses(table, model, name):
    X, y = table(name)
    with pytest.raises(np.linalg.LinAlgError):
        like(model).fit(X, y)
    with pytest.warns(lk.DegenerateWarning, match="not full rank"):
        model.fit(X, y)
    assert np.isfinite(model.predict_joint_log_proba(X)).all()
    cov = model._model.params.cov
    sd = np.sqrt(np.diagonal(cov, axis1=1, axis2=2).mean(axis=0))
    lifted = [np.linalg.eigvalsh(cov[k] / np.outer(sd, sd)).min() for k in model._model.params.deficient]
    assert min(lifted) > 0.5 * model.tol  # in units of the columns


@pytest.mark.parametrize("name", ["breast_cancer", "banknote"])
def test_small_units_are_no_lack_of_rank_where_scikit_learn_refuses_them(table, name):
    """Its tol is a variance, whatever the columns are counted in: ours is not asked where rows decide."""
    X, y = table(name)
    small = X / 1000
    with pytest.raises(np.linalg.LinAlgError):
        THEIRS[QDA]().fit(small, y)
    ours = QDA().fit(small, y)  # without a warning
    sd = X.std(axis=0)
    theirs = THEIRS[QDA](tol=1e-12).fit(X / sd, y)
    close(ours.predict_proba(small), theirs.predict_proba(X / sd), 1e-7)


@pytest.mark.parametrize("name", ["digits", "ionosphere"])
def test_eigen_without_full_rank_is_svd_where_scikit_learn_refuses(table, name):
    X, y = table(name)
    with pytest.raises(np.linalg.LinAlgError):
        THEIRS[LDA](solver="eigen").fit(X, y)
    with pytest.warns(lk.DegenerateWarning, match="directions only"):
        ours = LDA(solver="eigen").fit(X, y)
    with pytest.warns(lk.DegenerateWarning, match="directions only"):
        close(ours.predict_log_proba(X), LDA().fit(X, y).predict_log_proba(X), 1e-9)


@pytest.mark.parametrize("model", [NB(), LDA()], ids=str)
def test_one_class_is_allowed_where_scikit_learn_allows_it(table, model):
    X, _ = table("iris")
    y = np.zeros(len(X), dtype=int)
    with pytest.warns(lk.DegenerateWarning, match="all rows are of class 0"):
        model.fit(X, y)
    theirs = THEIRS[type(model)]().fit(X, y)
    np.testing.assert_array_equal(model.predict(X), theirs.predict(X))
    assert fitted_attributes(model) == fitted_attributes(theirs)
