"""Naive Bayes with a family for each column: what it picks, and that what it picked is one model."""

import copy
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.estimator_checks import parametrize_with_checks

import likelier as lk
from laws.parts import parts_of
from likelier.data import Chunk, Dense
from likelier.estimators.generative.family_choice import kind_of
from likelier.families import DiagonalGaussian
from likelier.states import Extent

WORDS = np.array(["red", "green", "blue", None], dtype=object)


def table(n: int = 400, seed: int = 0, gaps: float = 0.1) -> tuple[pd.DataFrame, np.ndarray]:
    """Columns of every kind; in each, one cell in ten is missing."""
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    columns = {
        "bell": rng.normal(y, 1.0),
        "bumps": np.where(rng.random(n) < 0.5, rng.normal(-3 - y, 0.3), rng.normal(3 + y, 0.3)),
        "colour": (y + rng.integers(2, size=n)) % 3,
        "truth": (rng.random(n) < 0.2 + 0.3 * y).astype(float),
    }
    gone = {name: rng.random(n) < gaps for name in columns}
    frame = pd.DataFrame({name: np.where(gone[name], np.nan, x) for name, x in columns.items()})
    frame["colour"] = WORDS[np.where(gone["colour"], 3, columns["colour"])]
    return frame, np.array(["a", "b", "c"])[y]


@pytest.fixture(scope="module")
def fitted() -> tuple[Any, pd.DataFrame, np.ndarray]:
    X, y = table()
    return lk.NaiveBayes().fit(X, y), X, y


# ---- the choice ----------------------------------------------------------------------------------
def test_a_column_gets_the_family_that_it_was_drawn_from(fitted):
    model, _, _ = fitted
    picked = {name: settled.family for name, settled in model.families_.items()}
    assert picked["bell"] == "gaussian"
    assert picked["bumps"] == "histogram"
    assert picked["colour"] == "categorical"


def test_the_selection_says_what_was_picked_and_by_how_much(fitted):
    model, X, _ = fitted
    assert [choice.column for choice in model.selection_] == list(X.columns)
    for choice in model.selection_:
        assert choice.losses[choice.picked] <= choice.losses["pooled"]
        assert choice.gain >= 0
        assert f"column {choice.column} ({choice.kind}): {choice.picked}" in str(choice)


def judged(x, y, family: str) -> float:
    """The loss of a column alone, each row told by a model that was fitted to all others."""
    loss = 0.0
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        model = lk.NaiveBayes({"x": family}).fit(pd.DataFrame({"x": x[rest]}), y[rest])
        P = model.predict_log_proba(pd.DataFrame({"x": x[[i]]}))
        loss -= P[0, np.flatnonzero(model.classes_ == y[i])[0]]
    return loss / len(y)


@pytest.mark.parametrize(
    ("make", "families", "rtol"),
    [
        (lambda y, rng: rng.normal(y, 1 + y), ["gaussian"], 1e-2),
        (lambda y, rng: (rng.random(len(y)) < 0.2 + 0.2 * y).astype(float), ["bernoulli"], 1e-9),
        (
            lambda y, rng: rng.poisson(1 + 4 * y) + 40 * (rng.random(len(y)) < 0.1),
            ["poisson", "geometric"],
            1e-2,
        ),
        (lambda y, rng: rng.gamma(2 + y, 1 + y), ["gamma", "exponential"], 1e-2),
        (lambda y, rng: rng.beta(1 + y, 2), ["beta"], 1e-2),
        (
            lambda y, rng: np.array(list("abcd"))[(y + rng.integers(2, size=len(y))) % 4],
            ["categorical"],
            1e-9,
        ),
    ],
    ids=["gaussian", "bernoulli", "counts", "positive", "shares", "categories"],
)
def test_losses_are_those_of_rows_left_out(make, families, rtol):
    """Where classes lend each other a variance or a mean, that of all rows does not leave the row out."""
    rng = np.random.default_rng(4)
    y = rng.integers(3, size=60)
    x = make(y, rng)
    (choice,) = lk.NaiveBayes().fit(pd.DataFrame({"x": x}), y).selection_
    for family in families:
        np.testing.assert_allclose(choice.losses[family], judged(x, y, family), rtol=rtol, err_msg=family)


def test_a_column_that_tells_nothing_is_the_same_in_all_classes():
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"noise": rng.standard_normal(300), "signal": np.arange(300) % 2 + rng.random(300)})
    model = lk.NaiveBayes().fit(X, np.arange(300) % 2)
    assert model.families_["noise"].pooled
    assert not model.families_["signal"].pooled
    other = X.assign(noise=rng.standard_normal(300))
    np.testing.assert_array_equal(model.predict_proba(X), model.predict_proba(other))
    assert not np.allclose(model.score_samples(X), model.score_samples(other))


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([0.0, 1.0, np.nan], "booleans"),
        ([True, False, True], "booleans"),
        ([0, 3, 7], "counts"),
        ([0.2, 0.9, np.nan], "shares"),
        ([0.2, 1.5, 3.0], "positive numbers"),
        ([-1.0, 2.0, 0.5], "numbers"),
        ([-1, 2, 3], "numbers"),
        ([0.0, 0.5, 1.0], "numbers"),
        ([np.nan, np.nan, np.nan], "nothing"),
    ],
    ids=str,
)
def test_what_the_numbers_of_a_column_are(values, kind):
    extent = Extent.start(1)
    extent.update(Chunk(Dense(np.array(values)[:, None])))
    assert kind_of(extent, 0) == kind


def test_rows_without_weight_do_not_choose():
    X, y = table(200)
    odd = X.copy()
    odd.loc[:9, "bell"] = -1e6
    odd.loc[:9, "colour"] = "purple"
    w = np.where(np.arange(200) < 10, 0.0, 1.0)
    model, same = lk.NaiveBayes().fit(odd, y, sample_weight=w), lk.NaiveBayes().fit(X[10:], y[10:])
    np.testing.assert_allclose(model.predict_proba(X), same.predict_proba(X), rtol=1e-12)


def test_weights_mean_repetition_in_the_choice_too():
    X, y = table(120)
    w = np.random.default_rng(0).integers(1, 4, len(y))
    again = np.repeat(np.arange(len(y)), w)
    one = lk.NaiveBayes().fit(X, y, sample_weight=w)
    many = lk.NaiveBayes().fit(X.iloc[again], y[again])
    assert one.families_ == many.families_
    np.testing.assert_allclose(one.predict_proba(X), many.predict_proba(X), rtol=1e-10)


def test_the_order_of_rows_does_not_choose():
    X, y = table(300)
    order = np.random.default_rng(0).permutation(len(y))
    one, other = lk.NaiveBayes().fit(X, y), lk.NaiveBayes().fit(X.iloc[order], y[order])
    for a, b in zip(one.selection_, other.selection_, strict=True):
        np.testing.assert_allclose(list(a.losses.values()), list(b.losses.values()), rtol=1e-9)


@pytest.mark.filterwarnings("ignore::likelier.DegenerateWarning")
@parametrize_with_checks([lk.NaiveBayes()])
def test_scikit_learns_checks_pass(estimator, check):
    check(estimator)


# ---- one model -----------------------------------------------------------------------------------
def test_the_joint_is_the_sum_of_its_columns(fitted):
    model, X, _ = fitted
    found = model.contributions(X)
    joint = model.predict_joint_log_proba(X)
    np.testing.assert_allclose(found.values.sum(axis=2) + found.base, joint, rtol=1e-12, atol=1e-12)
    alone = model.marginal(["colour"])
    np.testing.assert_allclose(
        alone.predict_joint_log_proba(X[["colour"]]), found.values[:, :, 2] + found.base, rtol=1e-12
    )
    gone = X["colour"].isna().to_numpy()
    assert (found.values[gone, :, 2] == 0).all()


def test_cells_outside_the_support_contribute_nothing_and_are_no_statistics():
    X = np.random.default_rng(0).poisson(3, (40, 2)).astype(float)
    model = lk.NaiveBayes({0: "poisson", 1: "histogram"}).fit(X, np.arange(40) % 2)
    odd = X[:3].copy()
    odd[1, 0] = -1
    with pytest.warns(lk.SkippedWarning, match="1 of column 0"):
        found = model.contributions(odd)
    assert (found.values[1, :, 0] == 0).all()
    with pytest.warns(lk.SkippedWarning):
        joint = model.predict_joint_log_proba(odd)
    np.testing.assert_allclose(found.values.sum(axis=2) + found.base, joint, rtol=1e-12)
    with pytest.warns(lk.SkippedWarning), pytest.raises(ValueError, match="row 1 has a missing value"):
        model.statistics(odd)


def test_categories_have_the_smoothed_frequencies(fitted):
    """With one level more, for all that were not seen."""
    model, X, y = fitted
    alone = model.marginal(["colour"])
    for k, label in enumerate("abc"):
        own = X["colour"][y == label].dropna()
        for level in ("red", "green", "blue", "never seen"):
            p = ((own == level).sum() + 1) / (len(own) + 4)
            Z = alone.predict_joint_log_proba(pd.DataFrame({"colour": [level]}))
            np.testing.assert_allclose(Z[0, k] - np.log(alone.class_prior_[k]), np.log(p), rtol=1e-12)


def test_what_is_given_is_bayes_rule(fitted):
    model, X, _ = fitted
    x = X[["bell", "bumps", "colour", "truth"]].dropna().iloc[[5]]
    given = model.condition({"colour": x["colour"].item(), "bell": x["bell"].item()})
    np.testing.assert_allclose(
        given.predict_proba(x[["bumps", "truth"]]), model.predict_proba(x), rtol=1e-12
    )
    assert list(given.feature_names_in_) == ["bumps", "truth"]


def test_samples_look_like_rows(fitted):
    model, X, _ = fitted
    drawn, labels = model.sample(3000, random_state=0)
    frame = pd.DataFrame(drawn, columns=X.columns)
    assert set(frame["colour"]) == {"red", "green", "blue"}
    assert set(frame["truth"]) <= {0.0, 1.0}
    again = lk.NaiveBayes(families=model.families_).fit(frame, labels)
    assert np.abs(again.class_prior_ - model.class_prior_).max() < 0.05
    for name in ("bell", "truth"):
        for label in "abc":
            ours, theirs = frame[name][labels == label], X[name][fitted[2] == label]
            assert abs(ours.mean() - theirs.mean()) < 0.3


def test_missing_cells_are_filled_in_and_others_left(fitted):
    model, X, _ = fitted
    filled = model.impute(X)
    assert isinstance(filled, pd.DataFrame)
    there = X.notna().to_numpy()
    assert (filled.to_numpy(dtype=object)[there] == X.to_numpy(dtype=object)[there]).all()
    assert not filled.isna().any().any()
    odd = X.iloc[:1].assign(colour="never seen", bell=np.nan)
    assert model.impute(odd)["colour"].iloc[0] == "never seen"
    gone = X.iloc[:1].assign(bell=np.nan, colour=None, bumps=np.nan, truth=np.nan)
    expected = model.class_prior_ @ [X["bell"][y_ == fitted[2]].mean() for y_ in "abc"]
    np.testing.assert_allclose(model.impute(gone).iloc[0, 0], expected, rtol=1e-9)


# ---- however rows come ---------------------------------------------------------------------------
def test_frames_objects_and_files_give_the_same(fitted, tmp_path):
    model, X, y = fitted
    P = model.predict_proba(X)
    polars = pl.from_pandas(X)
    as_objects = X.to_numpy(dtype=object)
    np.testing.assert_array_equal(lk.NaiveBayes().fit(polars, y).predict_proba(polars), P)
    np.testing.assert_array_equal(
        lk.NaiveBayes().fit(polars.to_arrow(), y).predict_proba(polars.to_arrow()), P
    )
    np.testing.assert_array_equal(lk.NaiveBayes().fit(as_objects, y).predict_proba(as_objects), P)
    polars.with_columns(y=pl.Series(y)).write_parquet(tmp_path / "t.parquet", row_group_size=50)
    polars.with_columns(y=pl.Series(y)).write_csv(tmp_path / "t.csv")
    for name in ("t.parquet", "t.csv"):
        source = lk.scan(tmp_path / name, target="y")
        found = lk.NaiveBayes().fit(source)
        assert found.families_ == model.families_, name
        np.testing.assert_allclose(found.predict_proba(lk.scan(tmp_path / name)), P, rtol=1e-12)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_numbers_as_categories_stay_numbers_in_files(kind, tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=200)
    frame = pl.DataFrame({"code": (y + rng.integers(3, size=200)) % 4, "x": rng.normal(y, 1.0)})
    getattr(frame.with_columns(y=pl.Series(y)), f"write_{kind}")(tmp_path / f"t.{kind}")
    source = lk.scan(tmp_path / f"t.{kind}", target="y")
    model = lk.NaiveBayes({"code": "categorical", "x": "gaussian"})
    P = model.fit(frame, y).predict_proba(frame)
    np.testing.assert_allclose(model.fit(source).predict_proba(source), P, rtol=1e-12)
    twice = model.partial_fit(source)
    both = lk.NaiveBayes(model.families).fit(pl.concat([frame, frame]), np.concatenate([y, y]))
    np.testing.assert_allclose(twice.predict_proba(source), both.predict_proba(frame), rtol=1e-12)


def test_batches_merges_and_threads_give_the_same(fitted):
    model, X, y = fitted
    P = model.predict_proba(X)
    batches = lk.NaiveBayes(families=model.families_)
    for rows in (slice(0, 1), slice(1, 150), slice(150, None)):
        batches.partial_fit(X[rows], y[rows], classes=["a", "b", "c"])
    np.testing.assert_allclose(batches.predict_proba(X), P, rtol=1e-12)
    parts = [lk.NaiveBayes(families=model.families_).fit(X[i::3], y[i::3]) for i in range(3)]
    np.testing.assert_allclose(lk.merge(parts).predict_proba(X), P, rtol=1e-12)
    with parts_of(256):
        np.testing.assert_allclose(lk.NaiveBayes().fit(X, y).predict_proba(X), P, rtol=1e-12)


CITIES = pd.DataFrame({"city": ["Rome", "Oslo", "Bonn"] * 50}), np.array([0, 1, 1] * 50)
LATER = pd.DataFrame({"city": ["Rome", "Paris", None, "Paris"] * 25}), np.array([0, 1, 1, 1] * 25)


@pytest.mark.parametrize("families", [{"city": "categorical"}, "auto"], ids=["named", "auto"])
def test_categories_that_the_first_rows_lacked_are_unknown_ones_later(families):
    first = lk.NaiveBayes(families).fit(*CITIES)
    more = copy.deepcopy(first).partial_fit(*LATER)
    other = lk.NaiveBayes(first.families_).fit(*LATER)
    merged = copy.deepcopy(first).merge(other)
    asked = pd.DataFrame({"city": ["Rome", "Oslo", "Paris", "Lima", None]})
    np.testing.assert_allclose(more.predict_proba(asked), merged.predict_proba(asked), rtol=1e-12)
    P = more.predict_proba(asked)
    np.testing.assert_array_equal(P[2], P[3])  # neither is one of the first rows' categories
    joint = np.array([75, 175]) * (np.array([0, 50]) + 1) / (np.array([75, 150]) + 4)
    np.testing.assert_allclose(P[2], joint / joint.sum(), rtol=1e-12)
    assert more.is_outlier(LATER[0]).shape == (100,)


def test_families_of_groups_and_of_users_can_be_handed_on():
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    X = rng.standard_normal((200, 6)) + y[:, None]
    X[:, 1] += X[:, 0]
    X[:, 3] -= X[:, 2]
    own = DiagonalGaussian(0.1)
    model = lk.NaiveBayes({(0, 1): "gaussian-full", (3, 2): "gaussian-full", 4: own}).fit(X, y)
    assert list(model.families_) == [(0, 1), (3, 2), 4, 5]
    again = lk.NaiveBayes(model.families_).fit(X, y)
    assert again.families_ == model.families_
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    parts = [lk.NaiveBayes(model.families_).fit(X[i::3], y[i::3]) for i in range(3)]
    np.testing.assert_allclose(lk.merge(parts).predict_proba(X), model.predict_proba(X), rtol=1e-12)
    named = lk.NaiveBayes({("a", "b"): "gaussian-full"}).fit(pd.DataFrame(X[:, :2], columns=["a", "b"]), y)
    assert list(named.families_) == [("a", "b")]


def test_saved_models_are_the_same(fitted, tmp_path):
    model, X, y = fitted
    lk.save(model, tmp_path / "m.lk")
    again = lk.load(tmp_path / "m.lk")
    assert again.families_ == model.families_
    assert again.selection_ == model.selection_
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    more = copy.deepcopy(model).partial_fit(X, y)
    np.testing.assert_array_equal(again.partial_fit(X, y).predict_proba(X), more.predict_proba(X))
    settled = lk.NaiveBayes(families=model.families_).fit(X, y)
    lk.save(settled, tmp_path / "s.lk")
    assert lk.load(tmp_path / "s.lk").families == model.families_


def test_cross_validation_equals_fitting_anew(fitted):
    model, X, y = fitted
    fixed = lk.NaiveBayes(families=model.families_)
    found = fixed.cross_validate(X, y, cv=4, param_grid={"alpha": [0.1, 5.0]})
    losses = np.zeros((2, 4))
    for f, (train, test) in enumerate(StratifiedKFold(4).split(X, y)):
        for v, alpha in enumerate([0.1, 5.0]):
            anew = lk.NaiveBayes(families=model.families_, alpha=alpha).fit(X.iloc[train], y[train])
            P = anew.predict_log_proba(X.iloc[test])
            losses[v, f] = -P[np.arange(len(test)), np.searchsorted(anew.classes_, y[test])].mean()
    np.testing.assert_allclose(found.scores["log_loss"], losses, rtol=1e-10)


def test_families_chosen_by_the_rows_held_out_are_told_of():
    """Of noise with many columns, those are kept that agree with the labels by chance."""
    X, y = np.random.default_rng(0).standard_normal((60, 5)), np.arange(60) % 2
    with pytest.warns(lk.DegenerateWarning, match="families of 5 columns were chosen by all rows"):
        lk.NaiveBayes().cross_validate(X, y)
    lk.NaiveBayes("gaussian").cross_validate(X, y)


def test_a_comparison_does_not_let_the_rows_held_out_choose():
    X, y = np.random.default_rng(0).standard_normal((100, 200)), np.arange(100) % 2
    with pytest.warns(lk.DegenerateWarning, match="chosen by all rows"):
        assert lk.NaiveBayes().cross_validate(X, y, cv=2).scores["error"].mean() < 0.25
    for rows in (X, pd.DataFrame(X).add_prefix("x"), pl.DataFrame(X)):
        found = lk.compare(rows, y, {"naive": lk.NaiveBayes()}, cv=2).to_frame()
        assert found.loc["naive", "error"] > 0.4


# ---- weights to read -----------------------------------------------------------------------------
def every_family(n: int = 300) -> tuple[np.ndarray, np.ndarray, dict[Any, str]]:
    """Columns of every family that is affine in some statistics."""
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=n)
    columns = [
        rng.dirichlet([1, 2, 3], n),
        rng.beta(1 + y, 2)[:, None],
        rng.gamma(1 + y, 2.0)[:, None],
        rng.exponential(1 + y)[:, None],
        rng.poisson(1 + y)[:, None],
        rng.geometric(0.3, n)[:, None],
        (rng.random(n) < 0.3)[:, None],
        rng.poisson([1, 2, 3], (n, 3)),
        rng.standard_normal((n, 1)),
        rng.integers(4, size=(n, 1)),
    ]
    families: dict[Any, str] = {(0, 1, 2): "dirichlet", (9, 10, 11): "multinomial"}
    names = ["beta", "gamma", "exponential", "poisson", "geometric", "bernoulli"]
    families |= {3 + j: name for j, name in enumerate(names)}
    return np.hstack(columns), y, families | {12: "histogram", 13: "categorical"}


@pytest.mark.parametrize("K", [2, 3])
def test_weights_of_the_statistics_predict_the_same(K):
    X, y, families = every_family()
    X, y = X[y < K], y[y < K]
    model = lk.NaiveBayes(families).fit(X, y)
    T = model.statistics(X)
    assert T.shape == (len(X), len(model.statistic_names_)) == (len(X), model.coef_.shape[1])
    linear = model.to_linear()
    np.testing.assert_array_equal(linear.predict(T), model.predict(X))
    np.testing.assert_allclose(linear.predict_proba(T), model.predict_proba(X), rtol=1e-10)
    Z = T @ model.coef_.T + model.intercept_
    expected = model.decision_function(X)
    if K == 3:
        Z, expected = Z - Z[:, :1], expected - expected[:, :1]
    np.testing.assert_allclose(Z, expected.reshape(Z.shape), rtol=1e-9, atol=1e-9)


def test_statistics_have_names_of_their_columns():
    X, y = table()
    some = lk.NaiveBayes({"colour": "categorical", "truth": "bernoulli"}).fit(X[["colour", "truth"]], y)
    assert sorted(some.statistic_names_) == [
        "colour unknown",
        "colour=blue",
        "colour=green",
        "colour=red",
        "truth",
    ]


def test_curved_scores_have_no_weights(fitted):
    model, _, _ = fitted
    assert not hasattr(model, "coef_")
    with pytest.raises(AttributeError, match="not affine in statistics of column 'bell'"):
        model.to_linear()


def test_every_family_answers_every_question():
    """In one model: all families by their names, with gaps."""
    X, y, families = every_family()
    X = np.hstack([X, np.random.default_rng(1).standard_normal((len(X), 3))])
    families |= {(14, 15): "gaussian-full", 16: "kernel"}
    gappy = X.copy()
    gappy[np.random.default_rng(2).random(X.shape) < 0.1] = np.nan
    gappy[:, :3], gappy[:, 9:12] = X[:, :3], X[:, 9:12]  # of whole groups only
    model = lk.NaiveBayes(families).fit(gappy, y)
    assert model.families_[16].family == "kernel"
    for rows in (X, gappy):
        assert np.isfinite(model.score_samples(rows)).all()
        np.testing.assert_allclose(model.predict_proba(rows).sum(axis=1), 1)
        found = model.contributions(rows)
        joint = model.predict_joint_log_proba(rows)
        np.testing.assert_allclose(found.values.sum(axis=2) + found.base, joint, rtol=1e-9, atol=1e-9)
    drawn, _ = model.sample(50, random_state=0)
    assert np.isfinite(model.predict_joint_log_proba(drawn)).any(axis=1).all()
    assert not pd.isna(pd.DataFrame(model.impute(gappy))).any().any()
    assert model.condition({4: 2.0, 12: 0.1}).predict_proba(np.delete(X, [4, 12], axis=1)).shape == (300, 3)
    assert model.marginal([3, 13, 14]).predict_proba(X[:, [3, 13, 14]]).shape == (300, 3)
    assert model.is_outlier(gappy, 0.1).sum() <= 30
    parts = [lk.NaiveBayes(model.families_).fit(gappy[i::2], y[i::2]) for i in range(2)]
    assert parts[0].families_ == parts[1].families_
