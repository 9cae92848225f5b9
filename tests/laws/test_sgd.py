"""The laws of stochastic steps: what goes beyond scikit-learn, and one result however it is come by."""

import io
import warnings
from contextlib import redirect_stderr

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

import likelier as lk
from laws.generators import SEEDS
from laws.test_estimators import PROBLEMS, fewer, problem

SGD = lk.SGDClassifier
EVERY = [SGD(), SGD("softmax", learning_rate="adagrad", eta0=0.1, average=True)]
every = pytest.mark.parametrize("estimator", EVERY, ids=["hinge", "softmax"])
BRIEF = {"max_iter": 5, "tol": None, "random_state": 0}


# Neither are scikit-learn's: a weight scales a step, and shuffles depend on the number of rows.
UNEQUAL = dict.fromkeys(
    [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")],
    "a row of weight 2 is one step, and not two",
)


@parametrize_with_checks(EVERY, expected_failed_checks=lambda estimator: UNEQUAL)
def test_scikit_learns_own_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        check(estimator)


def scaled(data):
    return (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)


def assert_same_bits(a, b):
    for name in ("coef_", "intercept_", "n_iter_", "t_", "trace_", "mistakes_"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))


# ---- softmax and adagrad -------------------------------------------------------------------------
@given(SEEDS, st.integers(3, 6), st.floats(0.01, 1.0))
def test_a_step_of_softmax_goes_by_one_less_the_probability(seed, K, eta):
    """The row's class: + η (1 - P) x; the others: - η P x (METHODS: logistic steps)."""
    rng = np.random.default_rng(seed)
    W, b, x = rng.standard_normal((K, 4)), rng.standard_normal(K), rng.standard_normal(4)
    model = SGD("softmax", penalty=None, learning_rate="constant", eta0=eta, **BRIEF)
    start = np.vstack([x, np.zeros((K, 4))])  # all classes must be there: rows of 0 move intercepts alone
    y = np.append(1, np.arange(K))
    model.set_params(max_iter=1, shuffle=False).fit(start, y, W, b)
    Z = W @ x + b
    P = np.exp(Z - np.logaddexp.reduce(Z))
    np.testing.assert_allclose(model.coef_, W + eta * np.outer((np.arange(K) == 1) - P, x), atol=1e-12)


def test_softmax_of_two_classes_is_the_logistic_loss():
    data = problem(K=2)
    a, b = (SGD(loss, **BRIEF).fit(scaled(data), data.y) for loss in ("softmax", "log_loss"))
    assert_same_bits(a, b)
    np.testing.assert_array_equal(a.predict_proba(scaled(data)), b.predict_proba(scaled(data)))


def test_softmax_comes_to_the_optimum_of_logistic_regression():
    data = problem(K=3, rows=200)
    X = scaled(data)
    n = len(data.y)
    best = lk.LogisticRegression(C=1 / (0.01 * n), tol=1e-8).fit(X, data.y)
    for how in ({"learning_rate": "optimal"}, {"learning_rate": "adagrad", "eta0": 0.1}):
        model = SGD("softmax", alpha=0.01, average=5 * n, max_iter=60, tol=None, random_state=0, **how)
        P = model.fit(X, data.y).predict_proba(X)
        np.testing.assert_allclose(P, best.predict_proba(X), atol=0.03)


def test_adagrad_does_not_mind_what_losses_weigh():
    data = problem(K=3)
    for loss in ("log_loss", "softmax", "hinge", "huber"):
        how = {"penalty": None, "learning_rate": "adagrad", "eta0": 0.1, **BRIEF}
        a, b = (SGD(loss, **how).fit(scaled(data), data.y, sample_weight=w) for w in (1.0, 1024.0))
        np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-9)


def test_a_lasso_leaves_weights_of_0_also_with_adagrad():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 30))
    y = (X[:, 0] - X[:, 1] > 0).astype(int)
    for kind in (np.asarray, sparse.csr_matrix):
        for rate in ("adagrad", "optimal"):
            model = SGD("log_loss", penalty="l1", alpha=0.02, learning_rate=rate, eta0=0.1, **BRIEF)
            W = model.fit(kind(X), y).coef_[0]
            assert (W == 0).sum() > 10
            assert np.argsort(-np.abs(W))[:2].tolist() in ([0, 1], [1, 0])


# ---- one result ------------------------------------------------------------------------------------
@every
@fewer
@given(data=PROBLEMS)
def test_threads_layouts_and_names_change_nothing(estimator, data):
    X = scaled(data)
    model = clone(estimator).set_params(**BRIEF).fit(X, data.y)
    for same in (
        clone(estimator).set_params(**BRIEF, n_jobs=1).fit(X, data.y),
        clone(estimator).set_params(**BRIEF, n_jobs=3).fit(np.asfortranarray(X), data.y),
        clone(estimator).set_params(**BRIEF).fit(pd.DataFrame(X).rename(columns=str), data.y),
    ):
        assert_same_bits(same, model)
    codes = np.searchsorted(model.classes_, data.y)
    assert_same_bits(clone(estimator).set_params(**BRIEF).fit(X, codes), model)


@every
def test_saved_models_answer_and_learn_on_the_same(estimator, tmp_path):
    data = problem(K=3)
    X = scaled(data)
    for model in (
        clone(estimator).set_params(**BRIEF).fit(X, data.y),
        clone(estimator).set_params(random_state=1).partial_fit(X, data.y, classes=data.classes),
    ):
        lk.save(model, tmp_path / "model.lk")
        again = lk.load(tmp_path / "model.lk")
        assert_same_bits(again, model)
        for one in (model, again):
            one.partial_fit(X[::2], data.y[::2])
        assert_same_bits(again, model)
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
    lk.save(model, tmp_path / "lean.lk", statistics=False)
    lean = lk.load(tmp_path / "lean.lk")
    np.testing.assert_array_equal(lean.decision_function(X), model.decision_function(X))
    with pytest.raises(ValueError, match="cannot continue training"):
        lean.partial_fit(X, data.y)


@pytest.mark.parametrize("average", [False, True])
def test_one_batch_after_another_is_one_pass_over_all(average):
    data = problem(K=3)
    X = scaled(data)
    for loss in ("log_loss", "softmax"):
        how = {"shuffle": False, "average": average, "learning_rate": "invscaling"}
        whole = SGD(loss, **{**BRIEF, "max_iter": 1}, **how).fit(X, data.y)
        parts = SGD(loss, random_state=0, **how)
        for at in range(0, len(X), 30):
            parts.partial_fit(X[at : at + 30], data.y[at : at + 30], classes=data.classes)
        np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-9)
        np.testing.assert_allclose(parts.intercept_, whole.intercept_, rtol=1e-9)
        assert parts.t_ == whole.t_ == len(X) + 1
        assert parts.mistakes_ == whole.mistakes_


@pytest.mark.parametrize("loss", ["log_loss", "softmax"])
def test_files_are_read_part_by_part(tmp_path, loss):
    data = problem(K=3, rows=100)
    X = scaled(data)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=data.y)
    frame.to_parquet(tmp_path / "rows.parquet")
    source = lk.scan(tmp_path / "rows.parquet", target="y")
    one = SGD(loss, shuffle=False, learning_rate="invscaling", **{**BRIEF, "max_iter": 2})
    from_file, whole = clone(one).fit(source), clone(one).fit(X, data.y)
    np.testing.assert_allclose(from_file.coef_, whole.coef_, rtol=1e-9)
    np.testing.assert_allclose(from_file.trace_, whole.trace_, rtol=1e-9)
    assert from_file.feature_names_in_.tolist() == list("abcd")
    learned = SGD(loss, random_state=0).partial_fit(source, classes=data.classes)
    assert learned.t_ == len(X) + 1
    patient = SGD(loss, learning_rate="adaptive", eta0=0.1, random_state=0, tol=1e-2).fit(source)
    assert patient.converged_
    assert patient.score(source) > 0.6
    with pytest.raises(ValueError, match="early_stopping holds rows out"):
        SGD(loss, early_stopping=True).fit(source)


@pytest.mark.parametrize("early_stopping", [False, True])
@pytest.mark.parametrize("loss", ["hinge", "softmax"])
def test_a_class_whose_rows_all_weigh_nothing_is_absent(loss, early_stopping):
    """And so are its rows: from losses and mistakes, from the rule for stopping, from turns."""
    data = problem(K=3)
    X, there = scaled(data), data.y != data.classes[2]
    one = SGD(loss, random_state=0, early_stopping=early_stopping)
    model = clone(one).fit(X, data.y, sample_weight=there.astype(float))
    assert_same_bits(model, clone(one).fit(X[there], data.y[there], sample_weight=np.ones(there.sum())))
    assert model.classes_.tolist() == data.classes[:2].tolist()


def test_a_file_where_a_class_weighs_nothing(tmp_path):
    data = problem(K=3, rows=100)
    X, there = scaled(data), data.y != data.classes[2]
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=data.y, w=there.astype(float))
    for i, rows in enumerate((there, ~there)):  # the second file has no row of a class
        frame[rows].to_csv(tmp_path / f"{i}.csv", index=False)
    model = SGD(shuffle=False, **BRIEF).fit(lk.scan(tmp_path / "*.csv", target="y", weight="w"))
    whole = SGD(shuffle=False, **BRIEF).fit(X[there], data.y[there])
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-9)
    np.testing.assert_allclose(model.trace_, whole.trace_, rtol=1e-9)
    assert (model.mistakes_, model.t_) == (whole.mistakes_, whole.t_)


def test_balanced_batches_go_by_the_classes_so_far():
    data = problem(K=2)
    X = scaled(data)
    how = {"learning_rate": "constant", "shuffle": False, "random_state": 0}
    model = SGD("log_loss", class_weight="balanced", **how)
    first, rest = slice(0, 60), slice(60, None)
    model.partial_fit(X[first], data.y[first], classes=data.classes).partial_fit(X[rest], data.y[rest])
    by_hand = SGD("log_loss", **how)
    for part, seen in ((first, data.y[first]), (rest, data.y)):
        share = {label: len(seen) / (2 * (seen == label).sum()) for label in data.classes}
        by_hand.set_params(class_weight=share).partial_fit(X[part], data.y[part], classes=data.classes)
    np.testing.assert_allclose(model.coef_, by_hand.coef_, rtol=1e-12)


# ---- what is shown ---------------------------------------------------------------------------------
def test_trace_and_mistakes_are_those_before_each_step():
    data = problem(K=2)
    X, t = scaled(data), np.where(data.y == data.classes[1], 1.0, -1.0)
    model = SGD("hinge", shuffle=False, learning_rate="constant", penalty=None, **{**BRIEF, "max_iter": 1})
    model.fit(X, data.y)
    w, b, losses = np.zeros(4), 0.0, []
    for x, sign in zip(X, t, strict=True):
        m = sign * (w @ x + b)
        losses.append((m, max(0.0, 1 - m)))
        if m <= 1:
            w, b = w + 0.01 * sign * x, b + 0.01 * sign
    np.testing.assert_allclose(model.trace_[1:, 0], [np.mean([loss for _, loss in losses])])
    assert model.mistakes_ == sum(m <= 0 for m, _ in losses)


def test_progress_is_shown_if_wanted():
    data = problem(K=3)
    said = io.StringIO()
    with redirect_stderr(said):
        quiet = SGD(**BRIEF).fit(scaled(data), data.y)
    assert said.getvalue() == ""
    with redirect_stderr(said):
        loud = SGD(**BRIEF, verbose=1).fit(scaled(data), data.y)
    assert "epoch" in said.getvalue()
    assert_same_bits(loud, quiet)


def test_sparsify_and_densify_change_no_answer():
    data = problem(K=3)
    model = SGD(penalty="l1", **BRIEF).fit(scaled(data), data.y)
    W, Z = model.coef_.copy(), model.decision_function(scaled(data))
    assert sparse.issparse(model.sparsify().coef_)
    np.testing.assert_array_equal(model.decision_function(scaled(data)), Z)
    np.testing.assert_array_equal(model.densify().coef_, W)
    np.testing.assert_allclose(model.to_linear().decision_function(scaled(data)), Z, rtol=1e-12)


# ---- wrong input -----------------------------------------------------------------------------------
@every
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_a_cell_that_is_no_number_is_named_and_nothing_is_fitted(estimator, kind):
    data = problem(K=3)
    X = scaled(data)
    model = clone(estimator).set_params(**BRIEF)
    X[31, 2] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        model.fit(kind(X), data.y)
    with pytest.raises(NotFittedError):
        model.predict(kind(X[:2]))
    X[31, 2] = 0.0
    model.fit(kind(X), data.y)
    before = model.coef_.copy()
    X[5, 1] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        model.partial_fit(kind(X), data.y)
    np.testing.assert_array_equal(model.coef_, before)


def test_steps_that_grow_out_of_bounds_are_refused_with_advice():
    data = problem(K=2)
    model = SGD("squared_error", learning_rate="constant", eta0=1e3, penalty=None, **BRIEF)
    with pytest.raises(ValueError, match=r"overflow.*smaller eta0"):
        model.fit(1e160 * scaled(data), data.y)
    assert not hasattr(model, "coef_")


def test_steps_that_diverge_are_cut_and_reported():
    data = problem(K=2)
    model = SGD("squared_error", learning_rate="constant", eta0=10.0, penalty=None, **BRIEF)
    with pytest.warns(ConvergenceWarning, match="the updates diverge"):
        model.fit(1e3 * scaled(data), data.y)
    with pytest.warns(ConvergenceWarning, match="the updates diverge"):
        model.partial_fit(1e3 * scaled(data), data.y)


@pytest.mark.parametrize(
    ("how", "match"),
    [
        ({"loss": "absolute"}, "loss must be one of 'log_loss', 'softmax', .*; got 'absolute'"),
        ({"penalty": "l3"}, "penalty must be one of .*; got 'l3'"),
        ({"learning_rate": "fast"}, "learning_rate must be one of .*; got 'fast'"),
        ({"alpha": -1.0}, "alpha must be a finite number >= 0; got -1.0"),
        ({"alpha": 0.0}, "alpha must be > 0"),
        ({"learning_rate": "constant", "eta0": 0.0}, "eta0"),
        ({"learning_rate": "pa1", "loss": "log_loss"}, "only works with loss 'hinge'"),
        ({"penalty": "elasticnet", "l1_ratio": None}, "l1_ratio must be set"),
        (
            {"penalty": "elasticnet", "l1_ratio": 2.0},
            "l1_ratio must be a finite number from 0 to 1; got 2.0",
        ),
        ({"max_iter": 0}, "max_iter"),
        ({"tol": -1.0}, "tol"),
        ({"power_t": "fast"}, "power_t"),
        ({"n_iter_no_change": 0}, "n_iter_no_change"),
        ({"average": -1}, "average"),
        ({"average": 2.5}, r"average must be .*; got 2.5"),
        ({"average": "yes"}, r"average must be .*; got 'yes'"),
        ({"n_jobs": 0}, "n_jobs must be None, a number of workers, .*; got 0"),
        ({"penalty": ["l1", "l2"]}, "penalty must be one of .*; got .'l1', 'l2'"),
        ({"loss": np.array(["hinge", "log_loss"])}, "loss must be one of .*; got array"),
        ({"fit_intercept": "yes"}, "fit_intercept"),
        ({"class_weight": {"class a": 2.0, "class z": 1.0}}, "not in class_weight"),
        ({"class_weight": "even"}, "class_weight"),
        ({"early_stopping": True, "validation_fraction": 1.5}, "validation_fraction"),
    ],
)
def test_wrong_settings_are_named(how, match):
    data = problem(K=3)
    model = SGD(**how)
    with pytest.raises(ValueError, match=match):
        model.fit(scaled(data), data.y)
    assert not hasattr(model, "coef_")


def test_a_mean_that_was_not_kept_is_not_made_up():
    data = problem(K=2)
    X = scaled(data)
    model = SGD(random_state=0).partial_fit(X, data.y, classes=data.classes)
    before = model.coef_.copy()
    with pytest.raises(ValueError, match="average: no mean of the weights so far"):
        model.set_params(average=True).partial_fit(X, data.y)
    np.testing.assert_array_equal(model.coef_, before)
    model.set_params(average=False, learning_rate="adagrad").partial_fit(X, data.y)


def test_wrong_rows_and_labels_are_named():
    data = problem(K=3)
    X = scaled(data)
    with pytest.raises(ValueError, match="at least 2 classes"):
        SGD().fit(X, np.ones(len(X)))
    with pytest.raises(ValueError, match="classes must be passed"):
        SGD().partial_fit(X, data.y)
    with pytest.raises(ValueError, match="greater than one"):
        SGD().partial_fit(X, data.y, classes=["class a"])
    with pytest.raises(ValueError, match="early_stopping should be False"):
        SGD(early_stopping=True).partial_fit(X, data.y, classes=data.classes)
    model = SGD().partial_fit(X, data.y, classes=data.classes)
    with pytest.raises(ValueError, match="do not exist in the initial classes"):
        model.partial_fit(X, np.where(data.y == "class a", "class q", data.y))
    with pytest.raises(ValueError, match="all zero"):
        model.partial_fit(X, data.y, sample_weight=np.zeros(len(X)))
    with pytest.raises(ValueError, match="coef_init does not match"):
        model.fit(X, data.y, coef_init=np.zeros((3, 7)))
    with pytest.raises(ValueError, match="intercept_init contains NaN"):
        model.fit(X, data.y, intercept_init=[np.nan, 0, 0])
    with pytest.raises(AttributeError, match="predict_proba") as problem_of_loss:
        model.predict_proba(X)
    assert "not available for loss='hinge'" in str(problem_of_loss.value.__cause__)
    with pytest.raises(ValueError, match="weights for validation set are all zero"):
        SGD(early_stopping=True, random_state=0).fit(X, data.y, sample_weight=_but_few(X, data.y))


def _but_few(X, y):
    """Weights of 0 for the rows that the seed 0 holds out."""
    from sklearn.model_selection import StratifiedShuffleSplit

    split = StratifiedShuffleSplit(test_size=0.1, random_state=0)
    w = np.ones(len(y))
    w[next(split.split(X, y))[1]] = 0.0
    return w


def test_epochs_that_did_not_suffice_are_warned_of():
    data = problem(K=3)
    with pytest.warns(ConvergenceWarning, match="Maximum number of iteration reached before convergence"):
        SGD(max_iter=1).fit(scaled(data), data.y)
