"""The laws of the perceptron: which weights it reports, as all of them made one by one; and its bounds."""

import pickle
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.utils.estimator_checks import parametrize_with_checks

import likelier as lk
from laws.generators import SEEDS

KINDS = ("last", "average", "voted", "random")
kinds = pytest.mark.parametrize("kind", KINDS)
EVERY = [lk.Perceptron(weights=kind) for kind in KINDS]


def exempt(estimator):
    """scikit-learn's own exempts its Perceptron from the first two."""
    steps = "the weight of a row scales its step: it is not the row so many times"
    failing = {f"check_sample_weight_equivalence_on_{kind}_data": steps for kind in ("dense", "sparse")}
    if estimator.weights == "average":  # and so with SGDClassifier(average=True)
        failing["check_class_weight_classifiers"] = "a mean of 35 epochs remembers the first"
    return failing


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(EVERY, expected_failed_checks=exempt)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


# ---- by brute force --------------------------------------------------------------------------------
@dataclass
class Made:
    """Every weight vector, after each turn, the one before the first included; and when mistakes were."""

    W: np.ndarray  # (T + 1, p + 1)
    at: list[int]  # turns, from 1 on
    epochs: int

    @property
    def average(self) -> np.ndarray:
        return self.W.mean(axis=0)

    def votes(self, X: np.ndarray) -> np.ndarray:
        Z = X @ self.W[:, :-1].T + self.W[:, -1]
        return np.sign(Z).mean(axis=1)


def made(
    X: Any, t: np.ndarray, epochs: int, *, w: Any = None, start: Any = None, bias: float = 1.0
) -> Made:
    """Freund and Schapire's algorithm, rows in order: w += y x wherever y w·x <= 0."""
    X = np.column_stack([X, np.full(len(t), bias)])
    now = np.zeros(X.shape[1]) if start is None else np.array(start, dtype=np.float64)
    every, at, epoch = [now], [], 0
    for epoch in range(1, epochs + 1):  # noqa: B007
        before = len(at)
        for i in range(len(t)):
            if t[i] * (X[i] @ now) <= 0:
                now = now + t[i] * (1.0 if w is None else w[i]) * X[i]
                at.append(len(every))
            every.append(now)
        if len(at) == before:
            break
    W = np.array(every)
    W[:, -1] *= bias  # of a coordinate `bias` the weight; of the score the intercept
    return Made(W, at, epoch)


@st.composite
def tables(draw, most=25):
    """Whole numbers, so that scores are exact, 0 among them; parted by a line or not."""
    rng = np.random.default_rng(draw(SEEDS))
    n, p = draw(st.integers(2, most)), draw(st.integers(1, 4))
    X = np.round(rng.standard_normal((n, p)) * draw(st.sampled_from([1.0, 4.0])))
    noise = draw(st.sampled_from([0.0, 2.0]))
    t = np.where(X[:, 0] + noise * rng.standard_normal(n) > draw(st.sampled_from([0.0, 1.0])), 1, -1)
    t[:2] = -1, 1
    return X, t, draw(st.integers(1, 6))


def fitted(X, y, epochs, kind="last", **how):
    """Rows in order, and no end but an epoch without a mistake."""
    model = lk.Perceptron(weights=kind, shuffle=False, tol=None, max_iter=epochs, **how)
    return model.fit(X, y)


@given(tables())
def test_last_and_average_are_those_of_all_vectors(data):
    X, t, epochs = data
    one = made(X, t, epochs)
    last, mean = fitted(X, t, epochs), fitted(X, t, epochs, "average")
    np.testing.assert_array_equal(np.append(last.coef_[0], last.intercept_), one.W[-1])
    np.testing.assert_allclose(
        np.append(mean.coef_[0], mean.intercept_), one.average, rtol=1e-12, atol=1e-12
    )
    for model in (last, mean):
        assert model.mistakes_ == len(one.at)
        assert model.n_iter_ == one.epochs
        turns, counts = model.mistake_curve_.T
        np.testing.assert_array_equal(counts, [np.sum(np.array(one.at) <= turn) for turn in turns])
        assert turns[-1] == len(one.W) - 1
        assert set(turns[:-1]) == {2**k for k in range(40) if 2**k < turns[-1]}


@given(tables(), SEEDS)
def test_votes_are_those_of_all_vectors(data, seed):
    X, t, epochs = data
    others = np.round(3 * np.random.default_rng(seed).standard_normal((7, X.shape[1])))
    model = fitted(X, t, epochs, "voted")
    for rows in (X, others):
        expected = made(X, t, epochs).votes(rows)
        np.testing.assert_allclose(model.decision_function(rows), expected, rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(model.predict(rows), np.where(expected > 0, 1, -1))


@given(tables(), st.sampled_from(KINDS))
def test_sparse_rows_move_the_intercept_as_a_coordinate_of_a_tenth(data, kind):
    """scikit-learn's intercept steps are a hundredth for CSR: those of rows (x, 0.1)."""
    X, t, epochs = data
    one, model = made(X, t, epochs, bias=0.1), fitted(sparse.csr_array(X), t, epochs, kind)
    found = model.decision_function(sparse.csr_array(X))
    if kind == "voted":
        # A score may be 0 but for rounding, and then has a vote or has none.
        Z = X @ one.W[:, :-1].T + one.W[:, -1]
        assert (np.abs(found - one.votes(X)) <= (np.abs(Z) < 1e-9).mean(axis=1) + 1e-12).all()
        return
    possible = {"last": one.W[-1:], "average": one.average[None], "random": one.W}[kind]
    Z = X @ possible[:, :-1].T + possible[:, -1]
    assert np.abs(Z - found[:, None]).max(axis=0).min() < 1e-9


def test_a_random_vector_is_drawn_by_how_long_it_lasted():
    rng = np.random.default_rng(3)
    X = np.round(2 * rng.standard_normal((8, 2)))
    t = rng.choice([-1, 1], 8)
    one = made(X, t, 3)
    draws = [fitted(X, t, 3, "random", random_state=seed) for seed in range(600)]
    found = np.array([np.append(m.coef_[0], m.intercept_) for m in draws])
    vectors, lasted = np.unique(one.W, axis=0, return_counts=True)
    counts = np.array([(found == v).all(axis=1).sum() for v in vectors])
    assert counts.sum() == 600
    expected = 600 * lasted / lasted.sum()
    assert ((counts - expected) ** 2 / expected).sum() < 3 * len(vectors)
    np.testing.assert_array_equal(found[0], np.append(draws[0].coef_[0], draws[0].intercept_))


@given(tables(), st.sampled_from(KINDS), st.data())
def test_rows_in_batches_are_rows_at_once(data, kind, cuts):
    """partial_fit goes on with everything: weights, their mean, mistaken rows, counts, curve."""
    X, t, _ = data
    cut = cuts.draw(st.integers(1, len(t) - 1))
    parts = lk.Perceptron(weights=kind, shuffle=False)
    for rows in (slice(cut), slice(cut, None)):
        parts.partial_fit(X[rows], t[rows], classes=[-1, 1])
    whole = lk.Perceptron(weights=kind, shuffle=False).partial_fit(X, t, classes=[-1, 1])
    assert parts.mistakes_ == whole.mistakes_
    np.testing.assert_array_equal(parts.mistake_curve_, whole.mistake_curve_)
    if kind == "random":
        every = made(X, t, 1).W
        assert (np.append(parts.coef_[0], parts.intercept_) == every).all(axis=1).any()
    else:
        np.testing.assert_allclose(
            parts.decision_function(X), whole.decision_function(X), rtol=1e-12, atol=1e-12
        )


def test_steps_are_scaled_by_weights_and_turns_counted_in_rows():
    rng = np.random.default_rng(0)
    X = np.round(3 * rng.standard_normal((30, 2)))
    t = np.where(X[:, 0] + rng.standard_normal(30) > 0, 1, -1)
    w = rng.choice([0.0, 0.5, 2.0], 30)
    one = made(X, t, 2, w=w)
    for kind, expected in (("average", one.average), ("last", one.W[-1])):
        model = lk.Perceptron(weights=kind, shuffle=False, tol=None, max_iter=2).fit(X, t, sample_weight=w)
        np.testing.assert_allclose(np.append(model.coef_[0], model.intercept_), expected, atol=1e-12)
    voted = lk.Perceptron(weights="voted", shuffle=False, tol=None, max_iter=2).fit(X, t, sample_weight=w)
    np.testing.assert_allclose(voted.decision_function(X), one.votes(X), atol=1e-12)


@kinds
def test_a_class_whose_rows_all_weigh_nothing_is_absent(kind):
    X, y = load_iris(return_X_y=True)
    there = y != 0
    model = lk.Perceptron(weights=kind, max_iter=5, tol=None)
    found = clone(model).fit(X, y, sample_weight=there.astype(float))
    other = clone(model).fit(X[there], y[there], sample_weight=np.ones(there.sum()))
    np.testing.assert_array_equal(found.decision_function(X), other.decision_function(X))
    np.testing.assert_array_equal(found.mistake_curve_, other.mistake_curve_)


@kinds
def test_a_start_of_ones_own(kind):
    rng = np.random.default_rng(1)
    X = np.round(2 * rng.standard_normal((20, 3)))
    t = rng.choice([-1, 1], 20)
    start = np.array([1.0, -2.0, 0.0, 1.0])
    one = made(X, t, 2, start=start)
    model = lk.Perceptron(weights=kind, shuffle=False, tol=None, max_iter=2)
    model.fit(X, t, coef_init=start[:3], intercept_init=start[3])
    if kind == "voted":
        np.testing.assert_allclose(model.decision_function(X), one.votes(X), atol=1e-12)
    else:
        possible = {"last": one.W[-1:], "average": one.average[None], "random": one.W}[kind]
        found = np.append(model.coef_[0], model.intercept_)
        assert np.abs(possible - found).max(axis=1).min() < 1e-12


@kinds
def test_each_class_against_the_rest(kind):
    X, y = load_iris(return_X_y=True)
    model = lk.Perceptron(weights=kind, max_iter=3, tol=None, shuffle=False).fit(X, y)
    for k in range(3):
        t = np.where(y == k, 1, -1)
        alone = lk.Perceptron(weights=kind, max_iter=3, tol=None, shuffle=False).fit(X, t)
        assert model.class_mistakes_[k] == alone.mistakes_
        if kind != "random":
            np.testing.assert_allclose(
                model.decision_function(X)[:, k], alone.decision_function(X), rtol=1e-12
            )
    assert model.mistakes_ == model.class_mistakes_.sum()
    assert model.mistake_curve_[-1].tolist() == [450, *model.class_mistakes_]


def test_it_is_sgd_with_steps_of_1():
    X, y = load_iris(return_X_y=True)
    model = lk.Perceptron(max_iter=20, tol=None, random_state=5).fit(X, y)
    sgd = SGDClassifier(
        loss="perceptron",
        learning_rate="constant",
        eta0=1,
        penalty=None,
        max_iter=20,
        tol=None,
        random_state=5,
    ).fit(X, y)
    np.testing.assert_allclose(model.coef_, sgd.coef_, rtol=1e-9, atol=1e-9)


# ---- the end ---------------------------------------------------------------------------------------
@kinds
def test_an_epoch_without_a_mistake_is_the_last(kind):
    X = np.array([[2.0, 1.0], [1.0, 3.0], [-1.0, -2.0], [-3.0, 0.0]])
    model = lk.Perceptron(weights=kind, tol=None, max_iter=500).fit(X, [1, 1, 0, 0])
    assert model.n_iter_ < 10
    assert model.converged_
    assert "without a mistake" in model.stop_reason_
    assert lk.Perceptron(tol=None, max_iter=500).fit(X, [1, 1, 0, 0]).score(X, [1, 1, 0, 0]) == 1


def test_rows_that_weigh_nothing_do_not_delay_the_end(tmp_path):
    frame = pd.DataFrame({"x": [1.0, 2.0, -1.0, -2.0, 3.0], "y": [1, 1, 0, 0, 0], "w": [1, 1, 1, 1, 0]})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    source = lk.scan(tmp_path / "rows.csv", target="y", weight="w")
    model, whole = lk.Perceptron(tol=None, max_iter=50), lk.Perceptron(tol=None, max_iter=50)
    whole.fit(frame[["x"]], frame.y, sample_weight=frame.w)
    assert model.fit(source).n_iter_ == whole.n_iter_ < 10


def test_an_end_in_the_last_epoch_is_an_end():
    X, y = np.array([[1.0], [2.0], [-1.0], [-2.0]]), [1, 1, 0, 0]
    model = lk.Perceptron(max_iter=2).fit(X, y)  # without a warning
    assert model.n_iter_ == 2
    assert model.converged_


def test_epochs_that_do_not_suffice_are_said():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((100, 2)), rng.integers(2, size=100)
    with pytest.warns(ConvergenceWarning, match="2 epochs"):
        model = lk.Perceptron(max_iter=2).fit(X, y)
    assert not model.converged_


# ---- bounds ----------------------------------------------------------------------------------------
@given(tables(most=40), st.booleans(), st.booleans(), st.booleans(), st.sampled_from([0.5, 1.0, 3.0]))
def test_mistakes_are_within_the_bounds(data, dense, shuffled, intercept, eta0):
    X, t, epochs = data
    X = X if dense else sparse.csr_array(X)
    model = lk.Perceptron(
        shuffle=shuffled, fit_intercept=intercept, max_iter=epochs, tol=None, eta0=eta0, random_state=epochs
    ).fit(X, t)
    found = model.mistake_bound(X, t)
    assert found.mistakes == model.mistakes_ <= found.bound
    assert found.mistakes <= found.separable_bound
    assert found.epochs == model.n_iter_
    assert found.bound <= found.epochs * len(t)
    if np.isfinite(found.D):
        np.testing.assert_allclose(found.bound, ((found.R + found.D) / found.gamma) ** 2)
    # It is the least of all lines' bounds: no line that comes to mind has a smaller one.
    bias = 0.0 if not intercept else 1.0 if dense else 0.1
    A = np.column_stack([X if dense else X.toarray(), np.full(len(t), bias)])
    R = np.sqrt((A**2).sum(axis=1).max())
    assert found.R == pytest.approx(R)
    for v in np.random.default_rng(0).standard_normal((50, A.shape[1])) * np.logspace(-3, 1, 50)[:, None]:
        slack = np.sqrt(found.epochs * np.sum(np.maximum(1 - t * (A @ v), 0) ** 2))
        assert found.bound <= (R * np.linalg.norm(v) + slack) ** 2 * (1 + 1e-4)


def test_the_bound_of_two_points_by_hand():
    """x = ±2, y = ±1 without an intercept: R = 2, the margin is 2, so there is one mistake."""
    X, t = np.array([[2.0], [-2.0]]), np.array([1, -1])
    model = lk.Perceptron(fit_intercept=False).fit(X, t)
    found = model.mistake_bound(X, t)
    assert found.separable
    assert found.margin == pytest.approx(2, rel=1e-5)
    assert found.separable_bound == pytest.approx(1, rel=1e-5)
    assert found.mistakes == 1
    assert "(R/margin)²" in str(found)


def test_rows_held_out_are_presented_in_no_epoch_and_counted_in_the_bound():
    """Rows to learn from contradict each other, those held out do not: each epoch has all its mistakes."""
    y = np.tile([-1, 1], 10)
    split = StratifiedShuffleSplit(test_size=0.5, random_state=0)
    held = next(split.split(y[:, None], y))[1]
    X = np.tile([1.0, 0.0], (20, 1))
    X[held] = np.column_stack([np.zeros(10), y[held]])
    model = lk.Perceptron(
        early_stopping=True, validation_fraction=0.5, fit_intercept=False, tol=None, max_iter=50
    ).fit(X, y)
    found = model.mistake_bound(X, y)
    assert found.epochs == model.n_iter_ == 50
    assert found.mistakes <= found.bound
    assert model.t_ == 50 * 20 + 1  # as scikit-learn counts


def test_a_bound_that_is_met_is_not_missed_by_rounding():
    """Two rows at right angles, each a mistake: (R/γ)² is 2."""
    for a, b in np.random.default_rng(0).integers(1, 20, (20, 2)):
        X, t = np.array([[a, b], [-b, a]], dtype=np.float64), np.array([1, -1])
        found = lk.Perceptron(fit_intercept=False).fit(X, t).mistake_bound(X, t)
        assert found.mistakes == 2
        assert 2 <= found.bound == pytest.approx(2, rel=1e-4)
        assert 2 <= found.separable_bound == pytest.approx(2, rel=1e-4)


def test_other_rows_are_no_rows_for_a_bound():
    X, t = noisy()
    model = lk.Perceptron(shuffle=False, max_iter=6, tol=None).fit(X, t)
    with pytest.raises(ValueError, match=r"not the rows.*1200 were presented.* not a multiple of 7"):
        model.mistake_bound(X[:7], t[:7])
    with pytest.raises(ValueError, match=r"not the rows.*no order of these rows"):
        model.mistake_bound(np.abs(X[:2]) * [[1], [-1]] + [[1], [-1]], [1, -1])
    assert model.mistake_bound(X[:7], t[:7], epochs=6).mistakes is None


def test_rows_that_no_line_parts():
    """Exclusive or: D is not 0, and grows with the epochs."""
    X, t = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]]), np.array([-1, -1, 1, 1])
    bounds = []
    for epochs in (1, 10, 100):
        found = fitted(X, t, epochs).mistake_bound(X, t)
        assert not found.separable
        assert found.separable_bound == np.inf
        bounds.append(found.bound)
    assert bounds[0] < bounds[1] < bounds[2]


def test_a_bound_for_each_class():
    X, y = load_iris(return_X_y=True, as_frame=True)
    names = np.array(["a", "b", "c"])[y]
    model = lk.Perceptron(max_iter=20, tol=None).fit(X, names)
    found = model.mistake_bound(X, names)
    assert (found.mistakes <= found.bound).all()
    assert found.separable.tolist() == [True, False, False]
    table = found.to_frame()
    assert table.index.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(table["mistakes"], model.class_mistakes_)


def test_the_epochs_of_a_bound_may_be_given():
    X, t = np.array([[2.0], [-2.0], [1.0]]), np.array([1, -1, -1])
    model = lk.Perceptron(tol=None, max_iter=4, shuffle=False).fit(X, t)
    assert model.mistake_bound(X, t, epochs=50).bound > model.mistake_bound(X, t).bound
    assert model.mistake_bound(X, t, epochs=50).mistakes is None


@pytest.mark.parametrize(
    ("how", "fit", "why"),
    [
        ({"penalty": "l2"}, {}, "penalty"),
        ({"class_weight": "balanced"}, {}, "weights"),
        ({}, {"sample_weight": [1.0, 2.0, 1.0, 1.0]}, "weights"),
        ({}, {"coef_init": [1.0, 1.0]}, "start at 0"),
    ],
)
def test_what_a_bound_is_not_for(how, fit, why):
    X, y = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [3.0, 0.0]]), np.array([0, 0, 1, 1])
    model = lk.Perceptron(tol=None, max_iter=3, **how).fit(X, y, **fit)
    with pytest.raises(ValueError, match=why):
        model.mistake_bound(X, y)


# ---- memory ----------------------------------------------------------------------------------------
def noisy(n=200, seed=0):
    rng = np.random.default_rng(seed)
    X = np.round(4 * rng.standard_normal((n, 3)))
    return X, np.where(X[:, 0] + 4 * rng.standard_normal(n) > 0, 1, -1)


def test_beyond_max_mistakes_the_latest_vote():
    X, t = noisy()
    one = made(X, t, 2)
    with pytest.warns(lk.DegenerateWarning, match="max_mistakes=10"):
        model = fitted(X, t, 2, "voted", max_mistakes=10)
    since = one.at[-10] - 1  # the turn after which ten mistakes were made: the vector of then still votes
    lasted = [turn for turn in range(len(one.W)) if turn >= one.at[-11]]
    assert since >= one.at[-11]
    Z = X @ one.W[lasted, :-1].T + one.W[lasted, -1]
    np.testing.assert_allclose(model.decision_function(X), np.sign(Z).mean(axis=1), atol=1e-12)
    assert model.mistakes_ == len(one.at)


def test_mistaken_rows_are_kept_once():
    X, t = noisy()
    model = fitted(X, t, 30, "voted")
    assert model.mistakes_ > 1000
    assert model._model.kept.shape[0] <= 200


@kinds
def test_it_is_saved_with_all_that_it_goes_on_from(kind, tmp_path):
    X, t = noisy()
    model = lk.Perceptron(weights=kind).partial_fit(X[:120], t[:120], classes=[-1, 1])
    lk.save(model, tmp_path / "m.lk")
    again = lk.load(tmp_path / "m.lk")
    both = [m.partial_fit(X[120:], t[120:]) for m in (model, again, pickle.loads(pickle.dumps(model)))]
    for other in both[1:]:
        np.testing.assert_array_equal(other.decision_function(X), model.decision_function(X))
        np.testing.assert_array_equal(other.mistake_curve_, model.mistake_curve_)
    lk.save(model, tmp_path / "lean.lk", statistics=False)
    np.testing.assert_array_equal(lk.load(tmp_path / "lean.lk").predict(X), model.predict(X))


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("voters/item/0/rows", lambda a: a + 10_000),
        ("voters/item/0/lasting", lambda a: -a),
        ("kept/columns", lambda a: a + 3),
        ("kept/starts", lambda a: a[::-1].copy()),
    ],
)
def test_voters_that_cannot_be_are_refused(part, change, tmp_path):
    """Kernels follow these numbers."""
    X, t = noisy()
    model = fitted(X, t, 2, "voted")
    model._model = spoil(model._model, part.split("/"), change)
    with pytest.raises(ValueError, match=r"cannot be saved: .*(contradict|is not)"):
        lk.save(model, tmp_path / "never.lk")


def spoil(record, path, change):
    """The same record, one of its arrays changed."""
    if not path:
        return change(record)
    if path[0] == "item":
        at = int(path[1])
        return tuple(spoil(one, path[2:], change) if i == at else one for i, one in enumerate(record))
    return replace(record, **{path[0]: spoil(getattr(record, path[0]), path[1:], change)})


@kinds
def test_files_are_rows_in_order(kind, tmp_path):
    """Part by part: each goes on from where the one before it ended."""
    X, t = noisy()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    for i, rows in enumerate((slice(70), slice(70, None))):
        frame.assign(y=t)[rows].to_csv(tmp_path / f"{i}.csv", index=False)
    source = lk.scan(tmp_path / "*.csv", target="y")
    model, whole = fitted(source, None, 3, kind), fitted(frame, t, 3, kind)
    assert model.mistakes_ == whole.mistakes_
    np.testing.assert_array_equal(model.mistake_curve_, whole.mistake_curve_)
    if kind != "random":
        found = model.decision_function(frame)
        np.testing.assert_allclose(found, whole.decision_function(frame), rtol=1e-9, atol=1e-12)
    assert str(model.mistake_bound(source)) == str(whole.mistake_bound(frame, t))


# ---- bad input ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("how", "why"),
    [
        ({"weights": "best"}, r"weights must be .*; got 'best'"),
        ({"weights": "voted", "penalty": "l2"}, "penalty"),
        ({"weights": "random", "penalty": "l1"}, "penalty"),
        ({"weights": "average", "penalty": "l2"}, "SGDClassifier"),
        ({"max_mistakes": 0}, r"max_mistakes must be .*; got 0"),
        ({"eta0": 0.0}, r"eta0 must be .*; got 0.0"),
        ({"penalty": "l3"}, r"penalty must be .*; got 'l3'"),
        ({"max_iter": 0}, r"max_iter must be .*; got 0"),
        ({"tol": -1.0}, r"tol must be .*; got -1.0"),
    ],
)
def test_settings_that_are_none(how, why):
    X, t = noisy()
    with pytest.raises(ValueError, match=why):
        lk.Perceptron(**how).fit(X, t)


@kinds
def test_a_cell_that_is_no_number_is_named(kind):
    X, t = noisy()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = lk.Perceptron(weights=kind, encode=False).fit(frame, t)
    frame.loc[17, "b"] = np.nan
    for ask in (model.predict, lambda X: clone(model).fit(X, t), lambda X: model.partial_fit(X, t)):
        with pytest.raises(ValueError, match=r"NaN.*'b'|'b'.*NaN"):
            ask(frame)


def test_one_class_is_not_enough():
    with pytest.raises(ValueError, match="one class"):
        lk.Perceptron().fit([[1.0], [2.0]], [1, 1])


def test_weights_of_another_kind_need_another_fit():
    X, t = noisy()
    model = lk.Perceptron().partial_fit(X, t, classes=[-1, 1])
    with pytest.raises(ValueError, match=r"weights='average'.*'last'"):
        model.set_params(weights="average").partial_fit(X, t)


def test_voters_take_rows_of_one_kind():
    """Dense rows move the intercept by 1, sparse ones by a hundredth."""
    X, t = noisy()
    model = lk.Perceptron(weights="voted").partial_fit(X[:99], t[:99], classes=[-1, 1])
    with pytest.raises(ValueError, match="Continue with rows of the same kind"):
        model.partial_fit(sparse.csr_array(X[99:]), t[99:])
    mixed = lk.Perceptron().partial_fit(X[:99], t[:99], classes=[-1, 1])
    mixed.partial_fit(sparse.csr_array(X[99:]), t[99:])
    with pytest.raises(ValueError, match="bounds hold"):
        mixed.mistake_bound(X, t)


@pytest.mark.parametrize("kind", ["last", "average", "random"])
def test_the_others_are_lines(kind):
    X, t = noisy()
    model = lk.Perceptron(weights=kind).fit(X, t)
    np.testing.assert_array_equal(model.to_linear().predict(X), model.predict(X))
    parts = model.contributions(X)
    Z = parts.values.sum(axis=2) + parts.base
    np.testing.assert_allclose(Z[:, 1] - Z[:, 0], model.decision_function(X), rtol=1e-12, atol=1e-9)
    np.testing.assert_array_equal(model.sparsify().densify().coef_, model.coef_)


@kinds
def test_a_warm_fit_goes_on_with_all_that_was_counted(kind):
    X, t = noisy()
    whole = fitted(X, t, 6, kind)
    model = fitted(X, t, 3, kind, warm_start=True).fit(X, t)
    assert model.mistakes_ == whole.mistakes_
    np.testing.assert_array_equal(model.mistake_curve_, whole.mistake_curve_)
    np.testing.assert_allclose(
        model.decision_function(X), whole.decision_function(X), rtol=1e-9, atol=1e-12
    )


def test_bounds_of_more_columns_than_a_hessian_is_made_of():
    rng = np.random.default_rng(0)
    X = sparse.random_array((40, 2500), density=0.01, rng=rng, format="csr")
    y = rng.integers(2, size=40)
    found = fitted(X, y, 9).mistake_bound(X, y)
    assert found.separable
    assert found.mistakes <= found.bound <= found.separable_bound * (1 + 1e-6)


def test_voters_have_no_weights_to_show():
    X, t = noisy()
    model = lk.Perceptron(weights="voted").fit(X, t)
    assert not hasattr(model, "coef_")
    with pytest.raises(AttributeError) as told:
        model.to_linear()
    assert "no single weight vector" in str(told.value.__cause__)
