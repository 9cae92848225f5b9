"""Pictures of models: what is drawn is what they say."""

import itertools
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb
from matplotlib.contour import QuadContourSet
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import likelier as lk
from likelier.plot.axes import COLORS, MARKERS, color, marker

pytestmark = pytest.mark.usefixtures("closed_figures")


@pytest.fixture(scope="module")
def wine():
    return load_wine(return_X_y=True, as_frame=True)


def contours(ax, *, filled=False):
    """Level and points of each contour line."""
    sets = [each for each in ax.collections if isinstance(each, QuadContourSet) and each.filled == filled]
    pairs = [
        (level, path.vertices) for s in sets for level, path in zip(s.levels, s.get_paths(), strict=False)
    ]
    return [(level, at) for level, at in pairs if len(at)]


def bars_between(ax):
    """The ends of horizontal or vertical lines, in the order they were drawn: (n, 2, 2)."""
    found = [each.get_segments() for each in ax.collections if isinstance(each, LineCollection)]
    return [np.array(each) for each in found]


# ---- colours ---------------------------------------------------------------------------------------
# Machado, Oliveira & Fernandes (2009), without any of one kind of cone; of linear RGB.
BLIND = {
    "protan": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deutan": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritan": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}


def lab(rgb):
    """CIELAB of linear RGB."""
    xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]) @ rgb
    t = xyz / [0.9505, 1.0, 1.089]
    f = np.where(t > 0.008856, np.cbrt(t), 7.787 * t + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("style", ["default", "dark_background"])
@pytest.mark.parametrize("kind", [None, *BLIND])
def test_colours_are_told_apart_by_every_eye(kind, style):
    with plt.style.context(style):
        colors = [color(k) for k in range(len(COLORS))]
        ground = np.mean(to_rgb(plt.rcParams["axes.facecolor"]))
    seen = []
    for s in np.array(colors):
        assert abs(s - ground).max() > 0.4
        linear = np.where(s <= 0.04045, s / 12.92, ((s + 0.055) / 1.055) ** 2.4)
        seen.append(lab(np.clip(linear if kind is None else BLIND[kind] @ linear, 0, 1)))
    apart = [np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)]
    assert min(apart) > 10  # about 2 can just be told apart, side by side


def test_no_two_of_many_classes_look_alike():
    assert len({(color(k), marker(k)) for k in range(70)}) == 70
    assert len(set(COLORS)) + 1 == len(set(MARKERS))


@pytest.mark.parametrize("style", ["default", "dark_background"])
def test_boundaries_are_seen_on_any_ground(wine, style):
    X, y = wine[0][["hue", "alcohol"]], wine[1]
    with plt.style.context(style):
        ax = lk.plot.decision_regions(lk.GaussianNB().fit(X, y), X, y)
        line = next(each for each in ax.collections if isinstance(each, QuadContourSet)).get_edgecolor()[
            0, :3
        ]
        assert abs(line.mean() - np.mean(to_rgb(ax.get_facecolor()))) > 0.5
        assert abs(ax.images[0].get_array().mean() - np.mean(to_rgb(ax.get_facecolor()))) < 0.25


# ---- planes through more columns -------------------------------------------------------------------
def test_other_columns_of_a_generative_model_are_integrated_out(wine):
    X, y = wine
    model = lk.QuadraticDiscriminantAnalysis().fit(X, y)
    ax = lk.plot.decision_regions(model, X, y, columns=["flavanoids", "hue"])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("flavanoids", "hue")
    alone = model.marginal(["flavanoids", "hue"])
    for level, at in contours(ax):
        P = alone.predict_proba(pd.DataFrame(at, columns=["flavanoids", "hue"]))
        if level in (0.75, 0.9):
            assert np.abs(P - level).min(axis=1).max() < 0.02


@pytest.mark.parametrize("at", [None, {"alcohol": 14.0}])
def test_other_columns_of_any_model_are_held(wine, at):
    X, y = wine[0][["hue", "alcohol", "proline"]], (wine[1] == 1).astype(int)
    model = lk.LogisticRegression().fit(X, y)
    ax = lk.plot.decision_regions(model, X, y, columns=[0, 2], at=at)
    for level, points in contours(ax):
        rows = pd.DataFrame({"hue": points[:, 0], "alcohol": 0.0, "proline": points[:, 1]})
        rows["alcohol"] = X["alcohol"].mean() if at is None else 14.0
        np.testing.assert_allclose(model.predict_proba(rows)[:, 1], level, atol=0.02)


def test_a_generative_model_is_held_where_it_is_asked_to(wine):
    X, y = wine[0].to_numpy()[:, :3], wine[1].to_numpy()
    model = lk.GaussianNB().fit(X, y)
    ax = lk.plot.probability_contours(model, X, y, label=0, columns=[0, 1], at={2: 3.0})
    for level, points in contours(ax):
        P = model.predict_proba(np.column_stack([points, np.full(len(points), 3.0)]))
        np.testing.assert_allclose(P[:, 0], level, atol=0.02)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_categories_are_held_at_the_commonest(frame):
    rng = np.random.default_rng(0)
    kind = np.where(rng.random(80) < 0.7, "a", "b")
    table = pd.DataFrame({"u": rng.normal(size=80), "kind": kind, "v": rng.normal(size=80)})
    y = (table.u + table.v + (kind == "b") > 0).astype(int).to_numpy()
    coded = make_column_transformer((OneHotEncoder(sparse_output=False), ["kind"]), remainder="passthrough")
    model = make_pipeline(coded, lk.LogisticRegression()).fit(frame(table.to_dict("list")), y)
    ax = lk.plot.decision_regions(model, frame(table.to_dict("list")), y, columns=["u", "v"])
    for level, points in contours(ax):
        rows = frame({"u": points[:, 0], "kind": ["a"] * len(points), "v": points[:, 1]})
        np.testing.assert_allclose(model.predict_proba(rows)[:, 1], level, atol=0.02)


def test_columns_are_known_by_name_in_any_order(wine):
    X, y = wine
    model = lk.QuadraticDiscriminantAnalysis().fit(X, y)
    turned = X[X.columns[::-1]]
    one, other = (lk.plot.decision_regions(model, rows, y, columns=["hue", "ash"]) for rows in (X, turned))
    np.testing.assert_array_equal(one.images[0].get_array(), other.images[0].get_array())
    one, other = (lk.plot.class_densities(model, rows, y, "hue") for rows in (X, turned))
    np.testing.assert_array_equal(one.get_lines()[0].get_ydata(), other.get_lines()[0].get_ydata())


def nullable(table):
    return pd.DataFrame(table).convert_dtypes()


@pytest.mark.parametrize("frame", [pd.DataFrame, nullable, pl.DataFrame, pa.table])
def test_frames_of_any_kind_with_gaps_are_drawn(frame):
    rng = np.random.default_rng(0)
    held = {
        "x": [None, *rng.normal(size=59).tolist()],
        "kind": [*["a", "b", None] * 20],
        "true": [*[True, False, True] * 20],
        "count": [None, *rng.integers(9, size=59).tolist()],
    }
    table, y = frame(held), np.arange(60) % 2
    model = lk.NaiveBayes({"x": "gaussian", "count": "poisson"}).fit(table, y)
    ax = lk.plot.decision_regions(model, table, y, columns=["x", "count"])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("x", "count")
    asked = lk.plot.probability_contours(model, table, columns=["x", "count"], label=1, at={"kind": "b"})
    for level, at in contours(asked):
        middle = at[np.abs(at[:, 1] - np.round(at[:, 1])) < 0.2]  # counts are whole: bands about them
        n = len(middle)
        kinds, truths, counts = ["b"] * n, [True] * n, np.abs(np.round(middle[:, 1])).astype(int).tolist()
        rows = frame({"x": middle[:, 0].tolist(), "kind": kinds, "true": truths, "count": counts})
        if n:
            np.testing.assert_allclose(model.predict_proba(rows)[:, 1], level, atol=0.03)
    bars = {name: len(lk.plot.class_densities(model, table, y, name).patches) for name in held}
    assert (bars["kind"], bars["true"]) == (4, 4)
    assert lk.plot.class_densities(model, table, y, "kind").get_xticklabels()[1].get_text() == "b"


def test_an_array_of_objects_keeps_its_kinds():
    X = np.array([[i % 5, "ab"[i % 2], float(i % 7)] for i in range(60)], dtype=object)
    y = np.arange(60) % 3
    model = lk.NaiveBayes({0: "gaussian", 2: "gaussian"}).fit(X, y)
    ax = lk.plot.decision_regions(model, X, y, columns=[0, 2], at={1: "b"})
    assert ax.get_xlabel() == "column 0"


def test_one_column_has_strips_that_end_where_answers_change(wine):
    X, y = wine[0][["alcohol"]], wine[1]
    model = lk.QuadraticDiscriminantAnalysis().fit(X, y)
    ax = lk.plot.decision_regions(model, X, y)
    curves = [line for line in ax.get_lines() if len(line.get_xdata()) > 2]
    for k, line in enumerate(curves):
        at = pd.DataFrame({"alcohol": line.get_xdata()})
        np.testing.assert_array_equal(line.get_ydata(), model.predict_proba(at)[:, k])
    edges = [line.get_xdata()[0] for line in ax.get_lines() if len(line.get_xdata()) == 2]
    assert len(edges) == 2
    for edge in edges:
        beside = model.predict(pd.DataFrame({"alcohol": [edge - 0.02, edge + 0.02]}))
        assert beside[0] != beside[1]


@pytest.mark.parametrize("draw", [lk.plot.decision_regions, lk.plot.probability_contours])
def test_odd_rows_are_drawn(draw):
    X, y = load_digits(return_X_y=True)
    X = X[:, [20, 42]]
    model = lk.LinearDiscriminantAnalysis().fit(X, y)  # ten classes
    X = X.astype(float)
    X[0, 1] = np.nan
    ax = draw(model, X[y != 3], y[y != 3])  # one of them not there
    assert len(ax.get_legend().get_texts()) == 10
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        flat = np.column_stack([X[:50, 0], np.ones(50)])
        still = lk.GaussianNB().fit(flat, y[:50] % 2)
    assert np.isfinite(draw(still, flat, y[:50] % 2).get_ylim()).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "X has 13 columns, and one or two are drawn: choose them"),
        ({"columns": ["hue", "proline", "ash"]}, "columns must name one or two columns; got"),
        ({"columns": ["hue", "colour"]}, "no column named 'colour'; columns: 'alcohol', 'malic_acid'"),
        ({"columns": ["hue", "ash"], "at": {"ash": 2}}, "ash is drawn on an axis and cannot be held"),
    ],
)
def test_planes_that_are_none(wine, settings, message):
    model = lk.GaussianNB().fit(*wine)
    with pytest.raises(ValueError, match=message):
        lk.plot.decision_regions(model, *wine, **settings)


# ---- probability_contours --------------------------------------------------------------------------
def test_filled_contours_lie_at_their_levels(wine):
    X, y = wine[0][["hue", "alcohol"]], wine[1]
    model = lk.LogisticRegression().fit(X, y)
    mine = plt.figure().add_subplot()
    ax = lk.plot.probability_contours(model, X, label=2, levels=[0.2, 0.5, 0.8], ax=mine)
    assert ax is mine
    assert {level for level, _ in contours(ax)} == {0.2, 0.5, 0.8}
    for level, at in contours(ax):
        P = model.predict_proba(pd.DataFrame(at, columns=X.columns))
        np.testing.assert_allclose(P[:, 2], level, atol=0.01)
    (filled,) = (each for each in ax.collections if isinstance(each, QuadContourSet) and each.filled)
    shades = filled.get_facecolor()[:, :3].mean(axis=1)
    assert (np.diff(shades) < 0).all()  # the likelier, the darker
    assert ax.get_legend() is None  # no rows were given


def test_each_of_many_classes_has_contours_where_it_is_likelier_than_not(wine):
    X, y = wine[0][["hue", "alcohol"]], wine[1]
    ax = lk.plot.probability_contours(lk.GaussianNB().fit(X, y), X, y)
    assert {round(level, 1) for level, _ in contours(ax)} == {0.5, 0.6, 0.7, 0.8, 0.9}
    one = lk.plot.probability_contours(lk.GaussianNB().fit(X[["hue"]], y), X[["hue"]], y, label=1)
    assert [len(line.get_xdata()) for line in one.get_lines()] == [300]


def test_contours_that_there_are_not(wine):
    X, y = wine[0][["hue", "alcohol"]], wine[1]
    with pytest.raises(ValueError, match="LinearSVC gives no probabilities"):
        lk.plot.probability_contours(lk.LinearSVC().fit(X, y), X)
    model = lk.GaussianNB().fit(X, y)
    with pytest.raises(ValueError, match=r"label must be one of the classes \[0, 1, 2\]; got 7"):
        lk.plot.probability_contours(model, X, label=7)
    with pytest.raises(ValueError, match="at least two are needed"):
        lk.plot.probability_contours(model, X, levels=[0.5])


# ---- class_densities -------------------------------------------------------------------------------
MODELS = [
    lk.GaussianNB(),
    lk.QuadraticDiscriminantAnalysis(),
    lk.MixtureDiscriminantAnalysis(random_state=0),
    lk.NaiveBayes("gamma"),
    lk.KernelDensityClassifier(),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_densities_are_those_of_the_model_and_of_the_rows(wine, model):
    X, y = wine[0][["flavanoids", "hue", "alcohol"]], wine[1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    ax = lk.plot.class_densities(model, X, y, "alcohol")
    assert ax.get_xlabel() == "alcohol"
    alone = model.marginal(["alcohol"])
    for k, line in enumerate(ax.get_lines()):
        x, density = line.get_data()
        joint = alone.predict_joint_log_proba(pd.DataFrame({"alcohol": x}))
        np.testing.assert_allclose(density, np.exp(joint[:, k]) / np.mean(y == k))
        assert np.trapezoid(density, x) == pytest.approx(1, abs=0.05)
    for k, drawn in enumerate(ax.patches):
        share, edges, _ = drawn.get_data()
        np.testing.assert_allclose(share, np.histogram(X.alcohol[y == k], edges, density=True)[0])


def test_categories_are_bars_and_their_probabilities_points():
    kind = np.array(["a", "b", "b", None, "c", "a", "b", "c"] * 5, dtype=object)
    table, y = pd.DataFrame({"kind": kind, "x": np.arange(40.0)}), np.repeat([0, 1], 20)
    y[:3] = 1
    model = lk.NaiveBayes({"x": "gaussian"}).fit(table, y)
    ax = lk.plot.class_densities(model, table, y, "kind")
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["a", "b", "c"]
    heights = np.array([bar.get_height() for bar in ax.patches]).reshape(2, 3)
    for k, line in enumerate(ax.get_lines()):
        there = [value for value in kind[y == k] if value is not None]
        np.testing.assert_allclose(heights[k], [there.count(level) / len(there) for level in "abc"])
        joint = model.marginal(["kind"]).predict_joint_log_proba(pd.DataFrame({"kind": list("abc")}))
        np.testing.assert_allclose(line.get_ydata(), np.exp(joint[:, k]) / np.mean(y == k))


def test_counts_are_bars_if_they_are_few_and_truths_two():
    rng = np.random.default_rng(0)
    y = np.arange(300) % 2
    X = rng.poisson(np.where(y, 6, 3)[:, None] * [1, 30])
    model = lk.PoissonNB().fit(X, y)
    few, many = (lk.plot.class_densities(model, X, y, j) for j in (0, 1))
    P = np.exp(model.marginal([0]).predict_joint_log_proba(np.arange(X[:, 0].max() + 1.0)[:, None]))
    np.testing.assert_allclose(few.get_lines()[1].get_ydata(), P[:, 1] * 2)
    assert len(few.get_lines()[0].get_xdata()) == X[:, 0].max() + 1
    assert many.get_lines()[0].get_ydata().sum() == pytest.approx(1, abs=0.01)  # at whole numbers alone
    told = lk.BernoulliNB(binarize=4).fit(X, y)
    ax = lk.plot.class_densities(told, X, y, 0)
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["≤ 4", "> 4"]
    shares = [bar.get_height() for bar in ax.patches]
    assert shares == [np.mean((X[y == k, 0] > 4) == above) for k in (0, 1) for above in (False, True)]


def test_values_that_are_common_have_probabilities_of_their_own():
    """Of a histogram: bars where there are few values; stems among the density where there are many."""
    rng = np.random.default_rng(0)
    y = np.arange(4000) % 2
    X = np.column_stack(
        [rng.integers(3, size=4000) + y, np.where(rng.random(4000) < 0.5, 0.0, rng.normal(size=4000))]
    )
    model = lk.NaiveBayes("histogram").fit(X, y)
    few, many = (lk.plot.class_densities(model, X, y, j) for j in (0, 1))
    shares = np.column_stack([line.get_ydata() for line in few.get_lines()])  # (values, K)
    values = np.arange(4.0)[:, None]  # a little of the mass is left for values between and beyond them
    np.testing.assert_allclose(shares, 2 * np.exp(model.marginal([0]).predict_joint_log_proba(values)))
    assert (0.85 < shares.sum(axis=0)).all()
    assert (shares.sum(axis=0) < 1).all()
    (stem,) = bars_between(many)[0]
    width = np.diff(many.patches[0].get_data()[1])[0]
    assert stem[0].tolist() == [0, 0]
    mass = 2 * np.exp(model.marginal([1]).predict_joint_log_proba([[0.0]])[0, 0])
    assert mass > 0.3
    assert stem[1, 1] * width == pytest.approx(mass)


def test_whole_numbers_have_bars_of_their_own_beside_a_curve():
    """A density of a column of counts: bars are centred on the counts, and as wide as 1."""
    rng = np.random.default_rng(0)
    y = np.arange(300) % 2
    X = rng.poisson(2 + y, size=(1, 300)).T.astype(float)
    ax = lk.plot.class_densities(lk.GaussianNB().fit(X, y), X, y)
    counts = np.arange(X.max() + 1)
    assert [tick.get_text() for tick in ax.get_xticklabels()] == [f"{value:g}" for value in counts]
    heights = np.array([bar.get_height() for bar in ax.patches]).reshape(2, -1)
    for k in (0, 1):
        shares = [np.mean(X[y == k, 0] == value) for value in counts]
        np.testing.assert_allclose(heights[k], shares)
    for line in ax.get_lines():  # densities integrate to about 1 in the units of the axis
        assert np.trapezoid(line.get_ydata(), line.get_xdata()) == pytest.approx(1, abs=0.12)


def test_categories_that_are_not_drawn_are_counted():
    names = [f"c{i % 30:02}" for i in range(300)] + ["c00"] * 20
    X = pd.DataFrame({"town": names})
    ax = lk.plot.class_densities(None, X, np.arange(320) % 2, "town")
    assert ax.get_xlabel() == "town (20 most frequent of 30 categories)"


def test_rows_alone_and_odd_ones():
    ax = lk.plot.class_densities(None, np.array([[1.0], [np.nan], [2.0], [1.5]]), ["a", "a", "b", "b"])
    assert len(ax.patches) == 2
    X = pd.DataFrame({"flat": np.ones(6), "x": [0.0, 0, 0, 1, 2, 3]})
    y = [0, 0, 0, 1, 1, 1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = lk.GaussianNB().fit(X, y)
    assert np.isfinite(lk.plot.class_densities(model, X, y, "flat").get_ylim()).all()
    spiked = lk.plot.class_densities(model, X, y, "x")  # of variance 0
    highest = max(bar.get_height() for bar in spiked.patches)
    assert spiked.get_ylim()[1] <= 3 * highest + 1e-9
    assert len(lk.plot.class_densities(model, X[3:], y[3:], "x").get_lines()) == 2  # rows of one class


def test_densities_that_there_are_not(wine):
    X, y = wine
    with pytest.raises(ValueError, match="LogisticRegression has no densities"):
        lk.plot.class_densities(
            lk.LogisticRegression(max_iter=5, solver="newton").fit(X[["hue"]], y), X[["hue"]], y
        )
    with pytest.raises(ValueError, match="counts given their sum"):
        lk.plot.class_densities(lk.MultinomialNB().fit(X, y), X, y, "hue")
    with pytest.raises(ValueError, match="column must be a single column; got"):
        lk.plot.class_densities(lk.GaussianNB().fit(X, y), X, y, ["hue", "ash"])
    with pytest.raises(ValueError, match="does not know: 9"):
        lk.plot.class_densities(lk.GaussianNB().fit(X, y), X, np.full(len(y), 9), "hue")


# ---- coefficients ----------------------------------------------------------------------------------
def drawn_weights(ax):
    """{name: weights}, a weight for each series."""
    names = [tick.get_text() for tick in ax.get_yticklabels()]
    series = [line.get_xdata() for line in ax.get_lines() if len(line.get_xdata()) == len(names)]
    return dict(zip(names, np.transpose(series), strict=True))


def test_weights_and_intervals_are_those_of_the_summary():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    model = lk.LinearRegression().fit(X, y)
    ax = lk.plot.coefficients(model, top=6)
    table = model.summary().to_frame()
    order = table.estimate[1:].abs().sort_values(ascending=False).index[:6]
    assert list(drawn_weights(ax)) == list(order)
    (ends,) = bars_between(ax)
    np.testing.assert_allclose(ends[:, 0, 0], table.loc[order, "2.5 %"])
    np.testing.assert_allclose(ends[:, 1, 0], table.loc[order, "97.5 %"])
    assert ax.get_xlabel() == "weight, 95 % interval"
    assert ax.get_title(loc="left") == "Coefficients: the 6 largest of 10"


def test_weights_of_more_classes_are_against_the_first(wine):
    X, y = (wine[0] - wine[0].mean()) / wine[0].std(), wine[1]
    model = lk.LogisticRegression().fit(X, y)
    ax = lk.plot.coefficients(model, top=13)
    for name, weights in drawn_weights(ax).items():
        W = model.coef_[:, list(X.columns).index(name)]
        np.testing.assert_allclose(weights, W[1:] - W[0], rtol=1e-6, atol=1e-9)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["1 against 0", "2 against 0"]
    assert len(bars_between(ax)) == 2


def test_rows_bring_intervals_that_a_solver_has_not_kept():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = (X - X.mean()) / X.std()
    model = lk.LogisticRegression(solver="lbfgs").fit(X, y)
    assert not bars_between(lk.plot.coefficients(model))
    assert bars_between(lk.plot.coefficients(model, X, y))
    chosen = lk.plot.coefficients(lk.LogisticRegression(l1_ratio=1.0, C=0.1).fit(X, y))
    assert not bars_between(chosen)
    assert chosen.get_xlabel() == "weight"


def test_weights_of_generative_models_and_others(wine):
    X, y = wine
    model = lk.LinearDiscriminantAnalysis().fit(X, y)
    weights = drawn_weights(lk.plot.coefficients(model, X, per_deviation=True, top=13))
    for name, drawn in weights.items():
        W = model.coef_[:, list(X.columns).index(name)]
        np.testing.assert_allclose(drawn, (W - W.mean()) * X[name].std(ddof=0))
    named = lk.NaiveBayes("bernoulli").fit((X > X.mean()).astype(int), y)
    assert set(drawn_weights(lk.plot.coefficients(named))) == set(X.columns)
    margins = lk.LinearSVC().fit(X.to_numpy()[:, :2], y == 1)
    assert list(drawn_weights(lk.plot.coefficients(margins))) in (["x0", "x1"], ["x1", "x0"])


def test_contributions_are_means_over_the_rows_of_each_class(wine):
    X, y = wine
    model = lk.GaussianNB().fit(X, y)
    C = model.contributions(X).values
    ax = lk.plot.coefficients(model, X, y, top=13)
    for name, drawn in drawn_weights(ax).items():
        j = list(X.columns).index(name)
        for k in range(3):
            own = C[y == k, :, j]
            gain = own[:, k] - np.delete(own, k, axis=1).mean(axis=1)
            assert drawn[k] == pytest.approx(gain.mean())
    assert len(bars_between(ax)) == 3
    one = lk.plot.coefficients(model, X[y == 1], y[y == 1])
    assert [text.get_text() for text in one.get_legend().get_texts()] == ["1"]


def test_targets_side_by_side():
    X, y = load_diabetes(return_X_y=True)
    ax = lk.plot.coefficients(lk.LinearRegression().fit(X, np.column_stack([y, -y])))
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["target 0", "target 1"]
    for weights in drawn_weights(ax).values():
        assert weights[0] == pytest.approx(-weights[1])


def test_weights_that_there_are_not(wine):
    X, y = wine
    with pytest.raises(ValueError, match="QuadraticDiscriminantAnalysis has no weights to read"):
        lk.plot.coefficients(lk.QuadraticDiscriminantAnalysis().fit(X, y))
    with pytest.raises(ValueError, match="depends on the rows: give X and y"):
        lk.plot.coefficients(lk.GaussianNB().fit(X, y))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        lk.plot.coefficients(lk.LogisticRegression().fit(X[["hue"]], y), X[["hue"]], y[:-1])
    with pytest.raises(ValueError, match=r"top must be an integer >= 1 .*; got 0"):
        lk.plot.coefficients(lk.LinearDiscriminantAnalysis().fit(X, y), top=0)
    with pytest.raises(ValueError, match="per_deviation needs X"):
        lk.plot.coefficients(lk.LinearDiscriminantAnalysis().fit(X, y), per_deviation=True)
