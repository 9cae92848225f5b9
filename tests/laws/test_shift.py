"""Priors of rows without labels: those under which they are likeliest."""

import numpy as np
import pytest
from hypothesis import given
from sklearn.datasets import load_iris, load_wine

import likelier as lk
from laws.generators import SEEDS
from likelier.data import DegenerateWarning
from likelier.estimators import validation
from likelier.estimators.priors import adapted

MODELS = [
    lk.GaussianNB(),
    lk.LinearDiscriminantAnalysis(),
    lk.QuadraticDiscriminantAnalysis(reg_param=0.1),
]
every_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)


def plain(model, X, w=None, tol=1e-13):
    """EM step by step, all rows held."""
    prior = np.exp(model._model.log_prior)
    with np.errstate(divide="ignore", invalid="ignore"):
        L = np.where(prior > 0, model.predict_joint_log_proba(X) - np.log(prior), -np.inf)
    f = np.exp(L - L.max(axis=1, keepdims=True))
    w = np.ones(len(X)) if w is None else w
    for _ in range(200_000):
        P = f * prior
        new = (w / w.sum()) @ (P / P.sum(axis=1, keepdims=True))
        with np.errstate(invalid="ignore"):
            done = np.nanmax(new / prior) - 1 < tol
        prior = new
        if done:
            return prior
    raise AssertionError("no end")


@every_model
@pytest.mark.parametrize("load", [load_iris, load_wine], ids=["iris", "wine"])
def test_the_end_is_that_of_plain_em_and_the_way_goes_up(model, load):
    X, y = load(return_X_y=True)
    model = model.fit(X, y)
    some = X[(y == 0) | (np.arange(len(y)) % 4 == 0)]
    np.testing.assert_allclose(model.adapt_priors(some), plain(model, some), atol=1e-9)
    trace = adapted(model._model, validation.known_rows(model, some), 1e-10, 1000).trace
    assert len(trace) > 1
    assert (np.diff(trace) >= -1e-12 * np.abs(trace[0])).all()


@given(seed=SEEDS)
def test_no_priors_are_likelier(seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, 120)
    X = rng.standard_normal((120, 2)) + y[:, None]
    model = lk.GaussianNB().fit(X, y)
    rows = rng.standard_normal((40, 2)) + rng.choice(3, 40, p=[0.8, 0.2, 0.0])[:, None]
    found = model.adapt_priors(rows)
    L = model.predict_joint_log_proba(rows) - np.log(model.class_prior_)

    def likelihood(prior):
        return np.logaddexp.reduce(L + np.log(prior), axis=1).mean()

    with np.errstate(divide="ignore"):
        best = likelihood(found)
        for other in rng.dirichlet(np.ones(3), 20):
            assert likelihood(other) <= best + 1e-10
            assert likelihood(0.999 * found + 0.001 * other) <= best + 1e-10
    assert found.sum() == pytest.approx(1, abs=1e-12)


@every_model
def test_a_shift_of_labels_is_found(model):
    """Within 5 standard errors of the shares that the rows really have."""
    rng = np.random.default_rng(0)

    def rows(n, shares):
        y = rng.choice(3, n, p=shares)
        return rng.standard_normal((n, 3)) + 2.5 * np.eye(3)[y], y

    model = model.fit(*rows(4000, [0.4, 0.3, 0.3]))
    X, y = rows(20_000, [0.05, 0.15, 0.8])
    priors = model.adapt_priors(X)
    true = np.bincount(y) / len(y)
    assert np.abs(priors - true).max() < 0.015
    P = model.predict_proba(X, priors=priors)
    np.testing.assert_allclose(P.mean(axis=0), priors, atol=1e-9)
    better, plainly = ((p.argmax(axis=1) == y).mean() for p in (P, model.predict_proba(X)))
    assert better > plainly


def test_weights_are_repetitions_and_missing_cells_do_no_harm():
    X, y = load_iris(return_X_y=True)
    model = lk.QuadraticDiscriminantAnalysis().fit(X, y)
    w = np.random.default_rng(0).integers(0, 3, 150)
    weighted = model.adapt_priors(X, sample_weight=w)
    np.testing.assert_allclose(weighted, model.adapt_priors(np.repeat(X, w, axis=0)), atol=1e-9)
    gone = X.copy()
    gone[::2, 2], gone[5] = np.nan, np.nan
    np.testing.assert_allclose(model.adapt_priors(gone), plain(model, gone), atol=1e-9)


def test_a_class_without_rows_keeps_its_prior_of_0():
    X, y = load_iris(return_X_y=True)
    model = lk.GaussianNB().partial_fit(X[y < 2], y[y < 2], classes=[0, 1, 2])
    found = model.adapt_priors(X)
    assert found[2] == 0
    assert found.sum() == pytest.approx(1)


def test_files_are_read_step_by_step(tmp_path):
    X, y = load_iris(return_X_y=True)
    path = tmp_path / "rows.csv"
    path.write_text("a,b,c,d\n" + "\n".join(",".join(map(str, row)) for row in X.tolist()))
    model = lk.GaussianNB().fit(X, y)
    with pytest.warns(UserWarning, match="without feature names"):
        found = model.adapt_priors(lk.scan(path))
    np.testing.assert_allclose(found, model.adapt_priors(X), atol=1e-12)
    with pytest.raises(ValueError, match="X is a source"), pytest.warns(UserWarning, match="feature names"):
        model.adapt_priors(lk.scan(path), sample_weight=np.ones(150))


def test_what_is_asked_is_checked():
    X, y = load_iris(return_X_y=True)
    model = lk.GaussianNB().fit(X, y)
    before = model.class_prior_.copy()
    with pytest.raises(ValueError, match=r"tol must be .*; got -1"):
        model.adapt_priors(X, tol=-1)
    with pytest.raises(ValueError, match=r"max_iter must be .*; got 0\.5"):
        model.adapt_priors(X, max_iter=0.5)
    with pytest.raises(ValueError, match="all zero"):
        model.adapt_priors(X, sample_weight=np.zeros(150))
    with pytest.warns(DegenerateWarning, match="not within tol"):
        model.adapt_priors(X[:60], max_iter=1)
    np.testing.assert_array_equal(model.class_prior_, before)


@pytest.mark.parametrize("model", [lk.GaussianNB(), lk.KernelDensityClassifier()])
def test_rows_that_no_class_can_have_say_nothing(model):
    X, y = load_iris(return_X_y=True)
    model.fit(X, y)
    far = np.full((2, 4), 1e200)  # so far that densities are 0
    np.testing.assert_array_equal(model.adapt_priors(np.vstack([X[:80], far])), model.adapt_priors(X[:80]))
    with pytest.raises(ValueError, match="every row has density 0 in every class"):
        model.adapt_priors(far)


POSTERIORS = [
    lk.LogisticRegression(),
    lk.LogisticRegressionCV(
        Cs=[1.0], l1_ratios=(0.0,), scoring="neg_log_loss", use_legacy_attributes=False
    ),
    lk.SGDClassifier(loss="log_loss", random_state=0),
    lk.SGDClassifier(loss="log_loss", class_weight="balanced", random_state=0),
    lk.OnlineClassifier(random_state=0),
    lk.OnlineClassifier(class_weight="balanced", random_state=0),
]


@pytest.mark.parametrize("model", POSTERIORS, ids=repr)
def test_whatever_knows_posteriors_finds_the_priors_of_other_rows(model, tmp_path):
    rng = np.random.default_rng(0)

    def drawn(n, shares):
        y = rng.choice(3, n, p=shares)
        return rng.standard_normal((n, 3)) + 2 * np.eye(3)[y], np.array(["x", "y", "z"])[y]

    rows, other = drawn(3000, [0.5, 0.3, 0.2]), drawn(4000, [0.1, 0.2, 0.7])[0]
    found = model.fit(*rows).adapt_priors(other)
    np.testing.assert_allclose(found, [0.1, 0.2, 0.7], atol=0.06)
    lk.save(model, tmp_path / "model.lk")
    np.testing.assert_allclose(lk.load(tmp_path / "model.lk").adapt_priors(other), found, rtol=1e-9)


def test_margins_have_no_priors_to_adapt():
    assert not hasattr(lk.SGDClassifier(loss="hinge"), "adapt_priors")
    assert hasattr(lk.SGDClassifier(loss="log_loss"), "adapt_priors")
