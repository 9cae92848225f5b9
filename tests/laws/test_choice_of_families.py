"""What NaiveBayes() makes of ordinary tables: columns that matter count, whatever stands beside them."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2_contingency
from sklearn.naive_bayes import CategoricalNB

import likelier as lk

RNG = np.random.default_rng


def survey(seed: int, columns: int, levels: int, n: int = 1000) -> tuple[pd.DataFrame, np.ndarray]:
    """Answers to some questions, each of which depends on the class."""
    rng = RNG(seed)
    y = rng.integers(2, size=n)
    X = {}
    for j in range(columns):
        P = rng.dirichlet(np.full(levels, 2.0), 2)
        while abs(P[0] - P[1]).sum() < 0.3:
            P = rng.dirichlet(np.full(levels, 2.0), 2)
        X[f"q{j}"] = (rng.random(n)[:, None] > P.cumsum(axis=1)[y]).sum(axis=1).clip(max=levels - 1)
    return pd.DataFrame(X), y


def findings(seed: int, n: int = 366, p: int = 34, K: int = 6) -> tuple[pd.DataFrame, np.ndarray]:
    """Degrees 0 to 3 of many findings, most of them absent in most classes; some rows are severe cases."""
    rng = RNG(seed)
    y = rng.choice(K, n, p=[0.31, 0.17, 0.2, 0.13, 0.14, 0.05])
    present, common = rng.random((K, p)) < 0.3, rng.random(p) < 0.25
    degree = np.where(present[y], 1.9 + 0.5 * rng.normal(size=(K, p))[y], -1.2) + 1.5 * common
    degree += 0.5 * rng.normal(size=(n, 1)) + 0.6 * rng.normal(size=(n, p))
    X = np.clip(np.round(degree), 0, 3).astype(int)
    odd = rng.random((n, p)) < 0.02
    return pd.DataFrame(np.where(odd, rng.integers(0, 4, (n, p)), X)).add_prefix("f"), y


def symptoms(seed: int, odd: float, n: int = 732, p: int = 34, K: int = 6) -> tuple[np.ndarray, np.ndarray]:
    """Degrees 0 to 3, which a class has or, but for one cell in 1/odd, has not."""
    rng = RNG(seed)
    y = rng.choice(K, n, p=[0.31, 0.17, 0.2, 0.13, 0.14, 0.05])
    absent = np.array([1 - 3 * odd, odd, odd, odd])
    P = np.where((rng.random((K, p)) < 0.25)[:, :, None], rng.dirichlet([0.3, 1, 3, 2], (K, p)), absent)
    common = rng.random(p) < 0.2
    P[:, common] = rng.dirichlet([1, 2, 3, 1], int(common.sum()))
    X = (rng.random((n, p, 1)) > P.cumsum(axis=2)[y]).sum(axis=2).clip(max=3)
    return X.astype(float), y


def mixed(seed: int, n: int = 300) -> tuple[pd.DataFrame, np.ndarray]:
    """Columns of every kind; the last tells nothing."""
    rng = RNG(seed)
    y = rng.integers(3, size=n)
    X = pd.DataFrame({
        "number": rng.normal(y, 1.0 + y),
        "amount": rng.gamma(2 + y, 10.0),
        "count": rng.poisson(1 + y),
        "share": rng.beta(1 + y, 2),
        "truth": rng.random(n) < 0.2 + 0.3 * y,
        "degree": np.clip(rng.poisson(1 + y), 1, 5),
        "word": np.array(["a", "b", "c", "d"], dtype=object)[(y + rng.integers(3, size=n)) % 4],
    })  # fmt: skip
    return X.mask(rng.random(X.shape) < 0.05), y


def picked(model) -> dict[str, str]:
    return {choice.column: choice.picked for choice in model.selection_}


def loss(model, X, y) -> float:
    P = model.predict_log_proba(X)
    return -P[np.arange(len(y)), np.searchsorted(model.classes_, y)].mean()


# ---- columns that matter -------------------------------------------------------------------------
@pytest.mark.parametrize("as_what", ["booleans", "words", "numbers", "whole numbers"])
@pytest.mark.parametrize("n", [60, 500, 5000, 40_000])
def test_one_column_of_two_values_is_worth_what_it_tells(n, as_what):
    """p(y | x) = 0.9 or 0.1: nine of ten rows are right, however many there are."""
    rng = RNG(n)
    x = rng.random(n) < 0.5
    y = rng.random(n) < np.where(x, 0.9, 0.1)
    values = {
        "booleans": [False, True],
        "words": ["no", "yes"],
        "numbers": [-0.5, 0.25],
        "whole numbers": [3, 7],
    }[as_what]
    X = pd.DataFrame({"x": np.array(values, dtype=object if as_what == "words" else None)[x.astype(int)]})
    model = lk.NaiveBayes().fit(X, y)
    assert model.selection_[0].picked != "pooled"
    assert np.mean(model.predict(X) == y) == np.mean(x == y)
    assert abs(loss(model, X, y) - 0.325) < 4 / np.sqrt(n)


@pytest.mark.parametrize("kind", ["words", "numbers"])
@pytest.mark.parametrize(("columns", "levels"), [(1, 2), (1, 5), (2, 2), (2, 5), (3, 2), (3, 5)])
def test_surveys_are_told_as_well_as_by_frequencies(columns, levels, kind):
    for seed in range(10):
        X, y = survey(100 * columns + 10 * levels + seed, columns, levels)
        train, test = np.arange(len(y)) < 700, np.arange(len(y)) >= 700
        shown = X.astype(str).astype(object) if kind == "words" else X + 1
        model = lk.NaiveBayes().fit(shown[train], y[train])
        theirs = CategoricalNB(min_categories=levels).fit(X[train], y[train])
        assert model.score(shown[test], y[test]) >= theirs.score(X[test], y[test]) - 0.02
        for name in X:
            table = pd.crosstab(X[name][train], y[train])
            if chi2_contingency(table).pvalue < 1e-3:
                assert picked(model)[name] != "pooled", (seed, name, table)


def test_a_column_of_noise_is_pooled_far_more_often_than_not():
    rng = RNG(0)
    X, y = rng.standard_normal((400, 40)), rng.integers(2, size=400)
    model = lk.NaiveBayes().fit(X, y)
    assert sum(choice.picked == "pooled" for choice in model.selection_) >= 25


def test_a_dependent_column_that_is_pooled_is_told_of():
    """1500 categories of a row or two each drown the one that tells something."""
    rng = RNG(3)
    y = rng.integers(6, size=3000)
    frequent = rng.random(3000) < 0.2 + 0.1 * (y == 0)
    code = np.where(frequent, "x", [f"n{i}" for i in rng.integers(1500, size=3000)]).astype(object)
    with pytest.warns(lk.DegenerateWarning, match=r"column 'code' was pooled: .* χ² test .*\(p = "):
        model = lk.NaiveBayes().fit(pd.DataFrame({"code": code}), y)
    assert picked(model) == {"code": "pooled"}


# ---- what does not matter ------------------------------------------------------------------------
@pytest.mark.parametrize("seed", range(4))
def test_the_order_of_columns_does_not_choose(seed):
    X, y = mixed(seed)
    order = RNG(seed).permutation(X.columns)
    one, other = lk.NaiveBayes().fit(X, y), lk.NaiveBayes().fit(X[order], y)
    assert picked(one) == picked(other)
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X[order]), rtol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_a_column_of_noise_chooses_nothing_for_others(seed):
    X, y = mixed(seed)
    rng = RNG(100 + seed)
    noise = {"noise": rng.standard_normal(len(y)), "coin": rng.random(len(y)) < 0.5}
    noise["die"] = rng.integers(1, 7, len(y))
    alone = lk.NaiveBayes().fit(X, y)
    for name, values in noise.items():
        beside = picked(lk.NaiveBayes().fit(X.assign(**{name: values}), y))
        assert {column: beside[column] for column in X} == picked(alone), name


@pytest.mark.parametrize("seed", range(3))
def test_names_of_classes_and_the_order_of_rows_do_not_choose(seed):
    X, y = mixed(seed)
    order = RNG(seed).permutation(len(y))
    one = lk.NaiveBayes().fit(X, y)
    for other in (
        lk.NaiveBayes().fit(X, np.array(["z", "x", "y"])[y]),
        lk.NaiveBayes().fit(X.iloc[order], y[order]),
    ):
        assert picked(other) == picked(one)
        for a, b in zip(one.selection_, other.selection_, strict=True):
            np.testing.assert_allclose(list(a.losses.values()), list(b.losses.values()), rtol=1e-9)


def test_losses_of_a_column_are_its_own():
    """Another column changes none of them, were it ever so informative."""
    X, y = mixed(5)
    every = {choice.column: choice.losses for choice in lk.NaiveBayes().fit(X, y).selection_}
    for name in X:
        (alone,) = lk.NaiveBayes().fit(X[[name]], y).selection_
        assert list(alone.losses) == list(every[name])
        np.testing.assert_allclose(list(alone.losses.values()), list(every[name].values()), rtol=1e-12)


@pytest.mark.parametrize("n", [500, 20_000])
def test_files_and_frames_choose_the_same(n, tmp_path):
    X, y = mixed(1, n)
    frame = pl.from_pandas(X).with_columns(y=pl.Series(y))
    frame.write_parquet(tmp_path / "t.parquet", row_group_size=3000)
    frame.write_csv(tmp_path / "t.csv")
    one = lk.NaiveBayes().fit(pl.from_pandas(X), y)
    for name in ("t.parquet", "t.csv"):
        other = lk.NaiveBayes().fit(lk.scan(tmp_path / name, target="y"))
        assert picked(other) == picked(one), name
        np.testing.assert_allclose(
            other.predict_proba(lk.scan(tmp_path / name)), one.predict_proba(pl.from_pandas(X)), rtol=1e-9
        )


@pytest.mark.filterwarnings("ignore::likelier.SkippedWarning")  # 2 in a column of 0 and 1
@pytest.mark.parametrize("odd", [0.0, 0.001, 0.005, 0.02])
def test_the_choice_is_as_good_as_any_one_family_for_all(odd):
    """Of the rows left out none has a value that its class has never shown: fresh ones have."""
    behind = []
    for seed in range(6):
        X, y = symptoms(seed, odd)
        train, test = slice(0, 366), slice(366, None)
        ours, *others = (
            loss(lk.NaiveBayes(families).fit(X[train], y[train]), X[test], y[test])
            for families in ("auto", "histogram", "categorical", "poisson", "geometric", "gaussian")
        )
        behind.append(ours - min(others))
    assert max(behind) < 0.01
    assert np.mean(behind) < 0.002


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("units", [(-3, -3, -3, -3), (-600, 2, 400, -1), (5, -5, 0, 900)])
def test_the_unit_of_a_column_chooses_nothing_but_whether_it_holds_shares(units, seed):
    """A column may lie between 0 and 1 in one unit alone: beta is for these, all else for any."""
    rng = RNG(seed)
    y = rng.integers(3, size=400)
    X = np.column_stack([
        rng.gamma(2.0 + y), rng.exponential(1.0 + y), rng.normal(y, 1.0), np.exp(rng.normal(y, 0.5))
    ])  # fmt: skip
    one, other = lk.NaiveBayes().fit(X, y), lk.NaiveBayes().fit(np.ldexp(X, units), y)
    for a, b in zip(one.selection_, other.selection_, strict=True):
        assert {*a.losses} ^ {*b.losses} <= {"beta"}
        both = [name for name in a.losses if name in b.losses]
        np.testing.assert_allclose([a.losses[f] for f in both], [b.losses[f] for f in both], rtol=1e-9)
    if "beta" not in {c.picked for c in (*one.selection_, *other.selection_)}:
        assert [c.picked for c in other.selection_] == [c.picked for c in one.selection_]
        np.testing.assert_allclose(
            other.predict_proba(np.ldexp(X, units)), one.predict_proba(X), rtol=1e-7, atol=1e-9
        )


# ---- small whole numbers -------------------------------------------------------------------------
@pytest.mark.parametrize("low", [-2, 0, 1])
def test_small_whole_numbers_may_be_categories_and_stay_numbers(low):
    rng = RNG(2)
    y = rng.integers(2, size=600)
    x = np.where(y == 0, rng.choice([0, 4, 5], 600), rng.choice([1, 2, 3, 6], 600)) + low
    X = np.column_stack([x, rng.normal(y, 1.0)])
    model = lk.NaiveBayes().fit(X, y)
    assert model.selection_[0].picked in ("categorical", "histogram")
    assert "categorical" in model.selection_[0].losses
    named = lk.NaiveBayes({0: "categorical", 1: "gaussian"}).fit(X, y)
    asked = np.array([[np.nan, 0.0], [low + 5.0, np.nan], [low + 99.0, 0.0], [low + 0.5, 0.0]])
    filled = named.impute(asked)
    assert filled.dtype == np.float64
    assert filled[0, 0] in x
    np.testing.assert_array_equal(filled[1:, 0], asked[1:, 0])
    P = named.predict_proba(asked)
    np.testing.assert_array_equal(P[2], P[3])  # both are none of the values
    assert set(named.sample(50, random_state=0)[0][:, 0]) <= set(x)


@pytest.mark.filterwarnings("ignore::likelier.SkippedWarning")  # values that the training rows lack
@pytest.mark.parametrize("seed", range(3))
def test_many_small_whole_numbers_are_not_too_sure_in_sum(seed):
    X, y = findings(seed)
    train, test = np.arange(len(y)) % 3 > 0, np.arange(len(y)) % 3 == 0
    found = loss(lk.NaiveBayes().fit(X[train], y[train]), X[test], y[test])
    tables = loss(lk.NaiveBayes("histogram").fit(X[train], y[train]), X[test], y[test])
    assert found <= max(1.5 * tables, 0.05)


def test_what_is_said_of_a_column_of_three_values():
    x = np.tile([1.0, 2.5, 4.0], 40)
    model = lk.NaiveBayes("histogram").fit(x[:, None], np.arange(120) % 2)
    assert repr(model.families_[0]) == "histogram(3 values)"
    words = lk.NaiveBayes().fit(pd.DataFrame({"a": ["x", None] * 60}), np.arange(120) % 2)
    assert "(1 level)" in repr(words.families_["a"])


def test_a_column_without_a_cell_is_told_of():
    X = pd.DataFrame({"x": RNG(0).normal(size=60), "gone": np.nan})
    with pytest.warns(lk.DegenerateWarning, match="every cell of column 'gone' is missing"):
        lk.NaiveBayes().fit(X, np.arange(60) % 2)


# ---- classes of few rows -------------------------------------------------------------------------
def rare(seed: int, own: int, p: int, K: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Classes of Gaussian columns, the first with `own` rows to train on, the others with 40."""
    rng = RNG(seed)
    means, spread = 2 * rng.normal(size=(K, p)), rng.gamma(4, 0.25, (K, p))
    y = np.repeat(np.arange(K), [own, *[40] * (K - 1)])
    test = np.repeat(np.arange(K), [5, *[100] * (K - 1)])
    X, T = (means[k] + spread[k] * rng.normal(size=(len(k), p)) for k in (y, test))
    return X, y, T, test


@pytest.mark.parametrize("family", ["auto", "gaussian", "gamma", "beta", "histogram", "exponential"])
@pytest.mark.parametrize(("own", "p", "K"), [(1, 1, 2), (1, 6, 3), (2, 2, 2), (2, 10, 5)])
def test_a_class_of_one_or_two_rows_is_not_certain(family, own, p, K):
    for seed in range(8):
        X, y, T, test = rare(seed, own, p, K)
        if family in ("gamma", "exponential"):
            X, T = np.exp(X / 4), np.exp(T / 4)
        if family == "beta":
            X, T = 1 / (1 + np.exp(-X / 2)), 1 / (1 + np.exp(-T / 2))
        model = lk.NaiveBayes(family).fit(X, y)
        assert loss(model, T, test) < np.log(K) + 0.5


def test_next_to_a_class_of_one_row_it_is_as_likely_as_at_it():
    """The example that was certain at 3, and impossible at 3.01."""
    X = pd.DataFrame({"x": np.append(RNG(0).normal(size=40), 3.0)})
    model = lk.NaiveBayes().fit(X, ["a"] * 40 + ["b"])
    P = model.predict_proba(pd.DataFrame({"x": [2.9, 3.0, 3.01, 3.1]}))[:, 1]
    assert P.min() > 0.5
    assert np.ptp(P) < 0.1


@pytest.mark.parametrize("family", ["auto", "gaussian", "histogram", "exponential"])
def test_a_class_of_equal_rows_is_not_certain(family):
    rng = RNG(1)
    X = np.concatenate([rng.exponential(size=(60, 2)), np.full((3, 2), 2.0)])
    model = lk.NaiveBayes(family).fit(X, [0] * 60 + [1] * 3)
    P = model.predict_proba([[2.0, 2.0], [2.0 + 1e-6, 2.0], [2.01, 2.0]])
    assert P.max() < 0.999
    np.testing.assert_allclose(P[0], P[2], atol=0.1)


@settings(deadline=None, max_examples=25)
@given(power=st.integers(-60, 60), seed=st.integers(0, 20), positive=st.booleans())
def test_powers_of_two_change_nothing(power, seed, positive):
    """But for numbers below 1, which may be shares, and above 2^52, all of which are whole."""
    X, y, T, _ = rare(seed, 2, 3, 3)
    if positive:
        X, T, power = 256 * np.exp(X), 256 * np.exp(T), abs(power)
    one, other = lk.NaiveBayes().fit(X, y), lk.NaiveBayes().fit(X * 2.0**power, y)
    assert [c.picked for c in one.selection_] == [c.picked for c in other.selection_]
    P = other.predict_proba(T * 2.0**power)
    np.testing.assert_allclose(P, one.predict_proba(T), rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("power", [-20, -60, -600])
def test_numbers_far_below_one_are_no_shares(power):
    """There a beta density is a gamma density: a unit so large must not change what is chosen."""
    X, y, T, _ = rare(1, 20, 3, 3)
    X, T = 8 * np.exp(X / 2), 8 * np.exp(T / 2)
    one, other = lk.NaiveBayes().fit(X, y), lk.NaiveBayes().fit(X * 2.0**power, y)
    assert [set(c.losses) for c in one.selection_] == [set(c.losses) for c in other.selection_]
    P = other.predict_proba(T * 2.0**power)
    np.testing.assert_allclose(P, one.predict_proba(T), rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("families", ["auto", "gaussian", "histogram", "gamma"])
@pytest.mark.parametrize("scale", [1.0, 1e-3])
def test_rows_of_next_to_no_weight_change_nothing(families, scale):
    """A weight of 1e-300 is as good as 0: it must not change how much other rows are smoothed."""
    X, y, T, _ = rare(2, 9, 3, 3)
    X, T = np.exp(X / 2), np.exp(T / 2)
    w = np.full(len(y), scale)
    one = lk.NaiveBayes(families).fit(X, y, sample_weight=w)
    more, labels = np.concatenate([X, X[:30]]), np.append(y, (y[:30] + 1) % 3)
    light = lk.NaiveBayes(families).fit(more, labels, sample_weight=np.append(w, np.full(30, 1e-300)))
    np.testing.assert_allclose(light.predict_proba(T), one.predict_proba(T), rtol=1e-9, atol=1e-12)


def test_lent_variances_leave_the_statistics_alone():
    """So that batches, merges and chunks are one fit, classes of one row or none among them."""
    X, y, T, _ = rare(3, 1, 4, 4)
    X, T = np.exp(X), np.exp(T)
    families = {0: "gaussian", 1: "gamma", 2: "histogram", 3: "exponential"}
    whole = lk.NaiveBayes(families).fit(X, y)
    batches = lk.NaiveBayes(whole.families_)
    for rows in np.array_split(RNG(0).permutation(len(y)), 5):
        batches.partial_fit(X[rows], y[rows], classes=np.arange(4))
    np.testing.assert_allclose(batches.predict_proba(T), whole.predict_proba(T), rtol=1e-9)
    parts = [lk.NaiveBayes(whole.families_).fit(X[i::2], y[i::2]) for i in range(2)]
    merged = lk.merge(parts, classes="union")
    np.testing.assert_allclose(merged.predict_proba(T), whole.predict_proba(T), rtol=1e-9)


# ---- weights -------------------------------------------------------------------------------------
@pytest.mark.parametrize("family", ["gaussian", "gamma", "histogram"])
def test_bins_and_lent_rows_are_rows_whatever_these_weigh(family):
    X, y, T, _ = rare(4, 20, 2, 3)
    X, T = np.exp(X / 3), np.exp(T / 3)
    one = lk.NaiveBayes(family).fit(X, y)
    light = lk.NaiveBayes(family).fit(X, y, sample_weight=np.full(len(y), 1 / len(y)))
    assert light.families_ == one.families_
    if family != "histogram":  # alpha is a number of rows
        np.testing.assert_allclose(light.predict_proba(T), one.predict_proba(T), rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("size", [1e300, 4e307])
def test_numbers_as_large_as_there_are_are_filled_in(size):
    X = np.clip(RNG(0).normal(size=(80, 2)), -3, 3) * size
    model = lk.NaiveBayes("histogram").fit(X, np.arange(80) % 2)
    filled = model.impute([[X[0, 0], np.nan], [np.nan, X[1, 1]]])
    assert np.isfinite(filled).all()
    small = lk.NaiveBayes("histogram").fit(X / size, np.arange(80) % 2)
    expected = small.impute([[X[0, 0] / size, np.nan], [np.nan, X[1, 1] / size]])
    np.testing.assert_allclose(filled / size, expected, rtol=1e-9)


@pytest.mark.parametrize("family", ["auto", "histogram", "gaussian"])
def test_weights_as_large_as_there_are(family):
    X, y = RNG(0).normal(size=(50, 2)), np.arange(50) % 2
    model = lk.NaiveBayes(family).fit(X, y, sample_weight=np.full(50, 1e300))
    assert np.isfinite(model.predict_proba(X)).all()
    with pytest.raises(ValueError, match=r"sample_weight .*so large"):
        lk.NaiveBayes(family).fit(X, y, sample_weight=np.full(50, 1e307))


def shared(n: int, p: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Skewed columns that all know the same of the class, and one that knows something else."""
    rng = RNG(seed)
    y = rng.integers(2, size=n)
    signal = rng.normal(size=n) + 0.8 * y
    X = np.exp(signal[:, None] + rng.normal(size=(n, p)))
    X[:, 0] = np.exp(rng.normal(size=n) + 0.5 * y)
    return X, y


def test_columns_that_share_what_they_know_say_less_each():
    X, y = shared(1500, 20, 0)
    T, test = shared(2000, 20, 1)
    model = lk.NaiveBayes().fit(X, y)
    coarse = [one for one in model.selection_ if one.picked == "coarse histogram"]
    assert len(coarse) >= 3
    assert all(len(model.families_[one.column].bins) <= 3 for one in coarse)
    assert "coarse histogram beside the other columns" in str(coarse[0])
    assert loss(model, T, test) < 0.9 * loss(lk.NaiveBayes("histogram").fit(X, y), T, test)
    again = lk.NaiveBayes(families=model.families_).fit(X, y)
    assert np.array_equal(again.predict_proba(T), model.predict_proba(T))


def test_columns_that_are_independent_keep_all_they_say():
    rng = RNG(0)
    y = rng.integers(2, size=3000)
    X = np.exp(rng.normal(size=(3000, 12)) + 0.3 * y[:, None])
    model = lk.NaiveBayes().fit(X, y)
    assert not any(one.picked == "coarse histogram" for one in model.selection_)
