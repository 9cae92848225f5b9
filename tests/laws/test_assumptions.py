"""What is said of assumptions is so: of data that meet them, of data that do not, in any units."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_iris, load_wine
from sklearn.tree import DecisionTreeClassifier

import likelier as lk
from laws.generators import SEEDS
from likelier.comparison import assumptions
from likelier.comparison.assumptions import check
from likelier.comparison.assumptions.sample import MOST_CLASSES, MOST_NUMBERS
from likelier.comparison.models import ModelTraits, classifiers
from likelier.comparison.rows import Rows, opened


def checked(X, y, **options):
    return check(opened(X, y), np.unique(y), **options)


def two_classes(seed, n=400, p=4):
    """Gaussian, independent, of one covariance: all that any model assumes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    return rng.normal(size=(n, p)) + np.outer(y, rng.normal(size=p)), y, rng


# ---- data that meet all of it --------------------------------------------------------------------
def test_what_holds_is_borne_out(monkeypatch):
    monkeypatch.setattr(assumptions, "linearity_of", lambda sample, seed: "it is another test's")
    seeds, models = 120, ("GaussianNB", "NaiveBayes", "LDA", "QDA", "MDA", "CategoricalNB")
    said = {model: Counter() for model in models}
    for seed in range(seeds):
        X, y, _ = two_classes(seed, n=250)
        verdicts = checked(X, y).verdicts
        for model in models:
            said[model][verdicts[model].verdict] += 1
    assert all(counts["supported"] >= 0.95 * seeds for counts in said.values()), said


def test_linear_log_odds_are_borne_out():
    for seed in range(10):
        X, y, _ = two_classes(seed, n=250)
        assert checked(X, y).verdicts["LogisticRegression"].verdict == "supported"


def test_a_line_with_gaussian_errors_is_borne_out():
    said = Counter()
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(150, 4))
        y = X @ rng.normal(size=4) + rng.normal(size=150)
        said[check(opened(X, y), None).verdicts["LinearRegression"].verdict] += 1
    assert said["supported"] >= 57, said


def test_departures_too_small_to_matter_are_passed_over_however_many_rows_there_are():
    X, y, rng = two_classes(0, n=20_000)
    X = X + 0.03 * X**2 + 0.3 * rng.normal(size=(len(X), 1))
    found = checked(X, y)
    assert (found.shapes.p < 1e-3).any()
    assert (found.pairs.p < 1e-3).any()
    assert found.verdicts["GaussianNB"].verdict == "supported"


# ---- data that do not ----------------------------------------------------------------------------
def skewed(X, y, rng):
    return np.exp(X), "GaussianNB", "skewed to the right in class"


def heavy(X, y, rng):
    return rng.standard_t(2, X.shape).clip(-20, 20) * (1 - 2 * (X > 0)), "QDA", "not Gaussian in some class"


def in_two_heaps(X, y, rng):
    return X + 4 * rng.choice([-1, 1], X.shape), "GaussianNB", "flat or has several peaks in class"


def of_two_values(X, y, rng):
    return X > 0, "MDA", "mostly one value, or one of two"


def dependent(X, y, rng):
    return X + 2 * rng.normal(size=(len(X), 1)), "NaiveBayes", "correlate with r = 0."


def spread_otherwise(X, y, rng):
    return X * np.where(y, 3.0, 1.0)[:, None], "LDA", "times as wide in class 1 as in class 0"


def turned_otherwise(X, y, rng):
    side = np.where(y, 1.0, -1.0)[:, None] * rng.normal(size=(len(X), 1))
    return (
        np.column_stack(
            [X[:, :1] + 2 * side, X[:, 1:2] + 2 * np.abs(side) * np.sign(side * (2 * y[:, None] - 1))]
        ),
        ("LDA"),
        "correlate otherwise in one class than in another",
    )


def ringed(X, y, rng):
    X = rng.normal(size=X.shape)
    X[:, 0] *= np.where(y, 4.0, 0.5)
    return X, "LogisticRegression", "the log odds bend, most in x0"


def overdispersed(X, y, rng):
    return rng.negative_binomial(1, 0.2, X.shape), "PoissonNB", "times as much"


def bursting(X, y, rng):
    return rng.negative_binomial(1, 0.1, X.shape), "MultinomialNB", "not vary as independent draws do"


@pytest.mark.parametrize(
    "violate",
    [
        skewed,
        heavy,
        in_two_heaps,
        of_two_values,
        dependent,
        spread_otherwise,
        turned_otherwise,
        ringed,
        overdispersed,
        bursting,
    ],
)
@pytest.mark.parametrize("seed", [0, 1])
def test_violations_are_found_and_said(violate, seed):
    X, y, rng = two_classes(seed)
    X, model, words = violate(X, y, rng)
    found = checked(np.asarray(X, dtype=np.float64), y)
    assert found.verdicts[model].verdict == "violated"
    assert words in found.verdicts[model].why


def test_dependence_that_no_pair_shows_alone():
    X, y, rng = two_classes(0, n=240, p=15)
    found = checked(X + 0.4 * rng.normal(size=(len(X), 1)), y)
    assert not found.dependences()
    assert (found.pairs.sphericity < 1e-4).all()
    assert "depend a little on each other" in found.verdicts["GaussianNB"].why


def test_columns_that_cannot_bend_do_not():
    """Of two values a bend would be one more slope, and gain by being less penalised."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (120, 8))
    y = (X[:, :3].sum(axis=1) + 0.1 * rng.normal(size=120) > 1.5).astype(int)
    found = checked(X.astype(float), y)
    assert found.curvature.gain == 0
    assert found.verdicts["LogisticRegression"].verdict == "supported"


def test_columns_that_are_mostly_one_value_can_bend():
    X, y, rng = two_classes(0, n=1500, p=1)
    X = np.where(rng.uniform(size=(len(X), 1)) < 0.6, 0.0, rng.uniform(1, 9, X.shape))
    y = (np.abs(X[:, 0] - 5) < 2.5).astype(int)
    assert checked(X, y).verdicts["LogisticRegression"].verdict == "violated"


def test_a_plane_that_parts_nothing_is_said():
    X, y, rng = two_classes(0)
    found = checked(X + 3 * rng.normal(size=X.shape), y).verdicts["LinearSVC"]
    assert found.verdict == "doubtful"
    assert "where the commonest class alone leaves" in found.why


def test_few_rows_for_a_covariance_are_said():
    X, y, _ = two_classes(0, n=60, p=20)
    assert "which is few" in checked(X, y).verdicts["QDA"].why
    X, y, _ = two_classes(0, n=24, p=20)
    assert checked(X, y).verdicts["QDA"].verdict == "violated"


@pytest.mark.parametrize(
    ("target", "words"),
    [
        (lambda x, e: x[:, 0] ** 2 + e, "the target bends, most with x0"),
        (lambda x, e: x[:, 0] + e * np.exp(1.5 * x[:, 0]), "as wide where large values are expected"),
        (lambda x, e: x[:, 0] + np.exp(2 * e), "errors are not Gaussian"),
    ],
)
def test_residuals_that_are_no_noise_are_found(target, words):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3))
    found = check(opened(X, target(X, rng.normal(size=500))), None)
    assert found.verdicts["LinearRegression"].verdict == "violated"
    assert words in found.verdicts["LinearRegression"].why


def test_categories_that_depend_on_each_other_and_on_numbers():
    rng = np.random.default_rng(0)
    n = 600
    y = rng.choice(["no", "yes"], n)
    colour = rng.choice(["red", "green", "blue"], n)
    paint = np.where(rng.uniform(size=n) < 0.8, colour, "none")
    size = rng.normal(size=n) + 3 * (colour == "red")
    found = checked(pd.DataFrame({"colour": colour, "paint": paint, "size": size}), y)
    assert {(p.one, p.other): p.measure for p in found.dependences()} == {
        ("colour", "paint"): "V",
        ("size", "colour"): "η",
        ("size", "paint"): "η",
    }
    assert found.verdicts["CategoricalNB"].verdict == "violated"
    alone = checked(pd.DataFrame({"colour": colour, "size": rng.normal(size=n)}), y)
    assert alone.verdicts["NaiveBayes"].verdict == "supported"


# ---- units, order, names -------------------------------------------------------------------------
@settings(max_examples=6)
@given(seed=SEEDS, scale=st.floats(1e-8, 1e8), shift=st.floats(-1e3, 1e3))
def test_units_do_not_matter(seed, scale, shift):
    X, y, _ = two_classes(seed, n=120)
    X[:, 1] = np.exp(X[:, 1])
    one, other = checked(X, y), checked((X + shift) * scale, y)
    for name in ("skewness", "kurtosis", "distance"):
        np.testing.assert_allclose(
            getattr(one.shapes, name), getattr(other.shapes, name), rtol=1e-6, atol=1e-7
        )
    np.testing.assert_allclose(one.pairs.figure, other.pairs.figure, atol=1e-8)
    assert one.spread.box == pytest.approx(other.spread.box, rel=1e-6)
    assert one.curvature.log_loss == pytest.approx(other.curvature.log_loss, rel=1e-4)


@settings(max_examples=6)
@given(seed=SEEDS)
def test_order_of_columns_does_not_matter(seed):
    X, y, rng = two_classes(seed, n=150, p=6)
    X[:, 2:4] = np.exp(X[:, 2:4]) + X[:, :2]
    frame = pd.DataFrame(X, columns=list("abcdef"))
    turned = frame[rng.permutation(frame.columns)]
    one, other = checked(frame, y), checked(turned, y)
    assert {m: v.verdict for m, v in one.verdicts.items()} == {
        m: v.verdict for m, v in other.verdicts.items()
    }
    assert one.columns == other.columns
    assert one.spread.nats == pytest.approx(other.spread.nats)
    strengths = [{frozenset(p[:2]): p.strength for p in found.dependences(99)} for found in (one, other)]
    assert strengths[0] == pytest.approx(strengths[1])


@settings(max_examples=6)
@given(seed=SEEDS, share=st.floats(0.05, 0.5))
def test_missing_cells_are_left_out(seed, share):
    X, y, rng = two_classes(seed, n=300)
    holes = np.where(rng.uniform(size=X.shape) < share, np.nan, X)
    found = checked(holes, y)
    for k in (0, 1):
        np.testing.assert_array_equal(found.shapes.n[k], (~np.isnan(holes[y == k])).sum(axis=0))
        np.testing.assert_allclose(found.shapes.mean[k], np.nanmean(holes[y == k], axis=0))


# ---- every model, every table --------------------------------------------------------------------
def test_every_entrant_has_its_assumptions():
    X, y = load_wine(return_X_y=True)
    found = checked(X, y)
    assert set(found.verdicts) == {
        "(majority class)",
        *(candidate_model.name for candidate_model in classifiers()),
    }
    assert all(each.why and each.assumes for each in found.verdicts.values())


def test_a_comparison_has_its_checks_once():
    X, y = load_iris(return_X_y=True)
    models = {"mine": lk.GaussianNB(), "tree": DecisionTreeClassifier(max_depth=1)}
    comparison = lk.compare(X, y, models, cv=2)
    found = comparison.checks()
    assert comparison.checks() is found
    by_name = {result.model: found.of(result.model, result.traits) for result in comparison.results}
    assert by_name["mine"] == found.verdicts["GaussianNB"]
    assert by_name["tree"].verdict == "not checked"
    assert found.sentence("tree", ModelTraits()) == "tree: what it assumes is not known."


def test_wine_in_words():
    data = load_wine(as_frame=True)
    found = checked(data.data, data.target)
    assert found.columns["alcohol"] == "alcohol looks Gaussian in every class"
    assert found.columns["magnesium"] == "magnesium is skewed to the right in class 1 (skewness 2.1)"
    assert found.sentence("GaussianNB") == (
        "GaussianNB assumes that every column is Gaussian in each class, and independent of the others "
        "there. Violated: 11 of 13 columns depend strongly on another within classes: total_phenols and "
        "flavanoids correlate with r = 0.80 in class 0; what they share is counted twice; 3 of 13 columns "
        "are not Gaussian in some class: malic_acid is skewed to the right in class 0 (skewness 2.1) and "
        "magnesium is skewed to the right in class 1 (skewness 2.1)."
    )
    records = found.table()
    assert len(records) == 39
    assert records[0]["mean"] == pytest.approx(data.data.alcohol[data.target == 0].mean())


def test_adult_in_words(data_file):
    table = pd.read_csv(data_file("adult_train.csv.gz"), na_values=["?"], skipinitialspace=True)
    found = checked(table.iloc[:, :-1], table.iloc[:, -1].to_numpy())
    assert found.columns["capital_gain"] == "capital_gain is 0 in 92 % of rows"
    assert (
        "relationship and sex are associated in class >50K (Cramér's V = 0.85)"
        in found.dependences().values()
    )
    assert found.notes == ("checked on a sample of 20,000 rows",)
    for model in ("MDA", "KernelDensity"):
        assert "(capital_gain, capital_loss): no smooth density" in found.verdicts[model].why
    assert found.verdicts["KernelDensity"].verdict == "violated"
    assert "class >50K has 7,841 rows" in found.verdicts["KernelDensity"].why


def awkward():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 30)
    X = rng.normal(size=(60, 3))
    constant, empty, huge = X.copy(), X.copy(), X * 1e200
    constant[y == 0, 1] = 4.0
    empty[y == 1] = np.nan
    yield "constant in a class", Rows(opened(constant, y).columns, y)
    yield "empty in a class", Rows(opened(empty, y).columns, y)
    yield "huge", opened(huge, y)
    yield "twice", opened(np.hstack([X, X]), y)
    yield "one column", opened(X[:, :1], y)
    yield "few rows", opened(X[28:32], y[28:32])
    yield "weighted", Rows(opened(X, y).columns, y, w=(y == 0).astype(float))
    yield "sparse", opened(sparse.random_array((60, 40), density=0.1, rng=rng, format="csr"), y)
    yield "categories", opened(pd.DataFrame({"a": rng.choice(["u", "v"], 60)}), y)
    yield "text", opened(pd.DataFrame({"t": [f"some words of row {i} here" for i in range(60)]}), y)
    yield "two values", opened(np.column_stack([y, rng.integers(0, 2, 60)]), y)


@pytest.mark.parametrize("name", dict(awkward()))
def test_awkward_tables_get_an_answer(name):
    rows = dict(awkward())[name]
    found = check(rows, np.unique(rows.y))
    assert str(found).count("assumes") == len(found.verdicts)
    check(Rows(rows.columns, rows.y.astype(float), rows.w, rows.sparse), None).sentence("Ridge")


def test_one_column_depends_on_no_other():
    for name in ("one column", "categories"):
        rows = dict(awkward())[name]
        found = check(rows, np.unique(rows.y)).verdicts["NaiveBayes"]
        assert found[1:] == ("supported", "there are no two columns to depend on each other")


def test_of_words_nothing_is_said_that_was_not_looked_at():
    rows = dict(awkward())["text"]
    verdicts = check(rows, np.unique(rows.y)).verdicts
    assert {found.verdict for found in verdicts.values()} == {"not checked"}
    assert "words of a text depend on each other is not looked at" in verdicts["BernoulliNB"].why
    assert verdicts["KernelDensity"].why == "no column holds numbers"
    assert "each category or word has a weight of its own" in verdicts["LogisticRegression"].why


def test_constant_in_a_class_is_said():
    X, y, _ = two_classes(0)
    X[:100, 1], y[:100] = 4.0, 2
    assert checked(X, y).columns["x1"] == "x1 is always 4 in class 2"


def test_wide_tables_and_many_classes_are_bounded_and_said():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 600))
    y = rng.integers(0, 50, 500)
    X[:, 7] += y
    found = checked(X, y)
    assert len(found.names) == MOST_NUMBERS
    assert "x7" in found.names
    assert len(found.groups) <= MOST_CLASSES
    assert [note.split(" ")[1] for note in found.notes] == ["50", "600", "models"]
