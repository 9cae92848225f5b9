"""Pictures, by what is on their axes."""

import subprocess
import sys

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression as Other

import likelier as lk

pytestmark = pytest.mark.usefixtures("closed_figures")


@pytest.fixture(scope="module")
def two():
    X, y = load_iris(return_X_y=True)
    return X[50:, 2:], np.array(["versicolor", "virginica"])[y[50:] - 1]


def curves(ax):
    """Level and points of each contour line."""
    sets = [each for each in ax.collections if isinstance(each, matplotlib.contour.QuadContourSet)]
    return [
        (level, path.vertices)
        for drawn in sets
        for level, path in zip(drawn.levels, drawn.get_paths(), strict=True)
    ]


# ---- loss_path -------------------------------------------------------------------------------------
@pytest.mark.parametrize("columns", [1, 2])
def test_every_path_goes_from_0_to_the_optimum(two, columns):
    X, y = two[0][:, :columns], two[1]
    ax = lk.plot.loss_path(X, y, solvers=("gradient", "newton", "lbfgs"), C=10.0)
    model = lk.LogisticRegression(C=10.0, fit_intercept=columns == 1, tol=1e-9).fit(X, y)
    optimum = model.coef_[0] if columns == 2 else [model.coef_[0, 0], model.intercept_[0]]
    lines = ax.get_lines()
    assert [line.get_label().split(":")[0] for line in lines] == ["gradient", "newton", "lbfgs"]
    for line in lines:
        path = line.get_xydata()
        np.testing.assert_array_equal(path[0], [0, 0])
        np.testing.assert_allclose(path[-1], optimum, rtol=1e-3)
        assert f"{len(path) - 1} step" in line.get_label()
        assert (path.min(axis=0) >= [ax.get_xlim()[0], ax.get_ylim()[0]]).all()
        assert (path.max(axis=0) <= [ax.get_xlim()[1], ax.get_ylim()[1]]).all()
    assert ax.get_ylabel() == ("intercept" if columns == 1 else "weight of column 1")


def test_steepest_descent_turns_at_right_angles(two):
    """As far as F falls along a line, the next gradient has no part in it."""
    X, y = two
    line, newton = lk.plot.loss_path((X - X.mean(axis=0)) / X.std(axis=0), y).get_lines()
    steps = np.diff(line.get_xydata(), axis=0)
    turns = (steps[1:] * steps[:-1]).sum(axis=1) / np.prod(
        [np.linalg.norm(s, axis=1) for s in (steps[1:], steps[:-1])], axis=0
    )
    assert len(steps) > 3
    assert np.abs(turns).max() < 0.2
    np.testing.assert_allclose(line.get_xydata()[-1], newton.get_xydata()[-1], rtol=1e-3)


@pytest.mark.parametrize("columns", [1, 2])
def test_contours_are_those_of_the_loss(two, columns):
    X, y = two[0][:, :columns], two[1]
    t, C = np.where(y == "virginica", 1, -1), 10.0
    ax = lk.plot.loss_path(X, y, C=C)
    drawn = [(level, at) for level, at in curves(ax) if len(at)]
    assert len(drawn) >= 5
    for level, at in drawn:
        z = at @ X.T if columns == 2 else at[:, :1] @ X.T + at[:, 1:]
        penalty = (at**2)[:, :columns].sum(axis=1) / (2 * C * len(t))
        F = np.logaddexp(0, -t * z).mean(axis=1) + penalty
        assert abs(np.median(F) - level) < 0.05 * level + 0.01


def test_names_of_a_frame_are_on_the_axes(two):
    ax = lk.plot.loss_path(
        pd.DataFrame(two[0], columns=["long", "wide"]), two[1], ax=plt.figure().add_subplot()
    )
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("weight of long", "weight of wide")


@pytest.mark.parametrize(
    ("columns", "classes", "message"),
    [(3, 2, "X must have two columns, of two weights, or one"), (2, 3, "y has 3 classes")],
)
def test_more_than_a_plane_is_refused(columns, classes, message):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=message):
        lk.plot.loss_path(X[y < classes, :columns], y[y < classes])


def test_one_solver_needs_no_list_and_none_is_refused(two):
    (line,) = lk.plot.loss_path(*two, solvers="newton").get_lines()
    assert line.get_label().startswith("newton")
    with pytest.raises(ValueError, match="solvers is empty"):
        lk.plot.loss_path(*two, solvers=())


@pytest.mark.parametrize("columns", [[0, 0], [2], [0, 2]])
def test_a_loss_with_a_trough_is_drawn(two, columns):
    X = np.column_stack([two[0], np.ones(100)])[:, columns]
    ax = lk.plot.loss_path(X, two[1], C=np.inf, solvers="newton")
    assert np.isfinite([ax.get_xlim(), ax.get_ylim()]).all()


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.empty((0, 2)), "nothing to draw"),
        ([["a", 1]], "X must be numeric, but column 0 contains"),
        ([[np.inf, 1]], "infinity"),
    ],
)
def test_what_is_no_table_of_numbers_is_refused(two, X, message):
    for draw in (lk.plot.loss_path, lambda X, y: lk.plot.decision_regions(lk.GaussianNB().fit(*two), X, y)):
        with pytest.raises(ValueError, match=message):
            draw(X, two[1][: len(X)])


# ---- regions ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("model", [lk.LogisticRegression(), lk.GaussianNB(), Other()], ids=repr)
def test_contours_have_the_probability_that_they_say(two, model):
    ax = lk.plot.decision_regions(model.fit(*two), *two, levels=(0.2, 0.8))
    drawn = [(level, at) for level, at in curves(ax) if len(at)]
    assert {level for level, _ in drawn} == {0.2, 0.5, 0.8}
    for level, at in drawn:
        np.testing.assert_allclose(model.predict_proba(at)[:, 1], level, atol=0.01)


def test_margins_of_scores(two):
    model = lk.LinearSVC().fit(*two)
    ax = lk.plot.decision_regions(model, *two)
    assert {level for level, at in curves(ax) if len(at)} == {-1.0, 0.0, 1.0}
    for level, at in curves(ax):
        np.testing.assert_allclose(model.decision_function(at), level, atol=0.02)


def test_points_are_those_of_the_classes_and_colours_those_of_the_answers():
    X, y = load_iris(return_X_y=True)
    X = X[:, 2:]
    model = lk.LogisticRegression().fit(X, y)
    ax = lk.plot.decision_regions(model, X, y)
    points = [each for each in ax.collections if each.get_label() in ("0", "1", "2")]
    for k, each in enumerate(points):
        np.testing.assert_array_equal(each.get_offsets(), X[y == k])
    picture = ax.images[0].get_array()
    colors = {tuple(color) for color in np.unique(picture.reshape(-1, 3), axis=0)}
    assert len(colors) == 3
    for level, at in curves(ax):
        if level == 0.0 and len(at):  # a boundary: the two largest are the same
            P = np.sort(model.predict_proba(at), axis=1)
            np.testing.assert_allclose(P[:, -1], P[:, -2], atol=0.02)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_a_frame_is_asked_as_a_frame(two, frame):
    table = frame({"long": two[0][:, 0], "wide": two[0][:, 1]})
    ax = lk.plot.decision_regions(lk.LogisticRegression().fit(table, two[1]), table, two[1])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("long", "wide")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, y: (X[:, [0, 1, 0]], y), "one or two are drawn"),
        (lambda X, y: (X, y[:-1]), "y must have one label for each of the 100 rows; got shape"),
        (lambda X, y: (X, np.where(y == "virginica", "setosa", y)), "does not know: 'setosa'"),
    ],
)
def test_what_is_no_plane_is_refused(two, change, message):
    with pytest.raises(ValueError, match=message):
        lk.plot.decision_regions(lk.LogisticRegression().fit(*two), *change(*two))


def test_labels_are_the_same_as_those_of_the_model_not_only_alike(two):
    X, y = two[0], np.arange(100) % 2
    model = lk.LogisticRegression().fit(X, y)
    with pytest.raises(ValueError, match=r"does not know: '0', '1'; it knows 0, 1"):
        lk.plot.decision_regions(model, X, y.astype(str))
    ax = lk.plot.decision_regions(model, X, y.astype(float))
    assert sum(len(each.get_offsets()) for each in ax.collections if each.get_label() in ("0", "1")) == 100


def test_what_has_no_regions_says_why(two):
    X, y = two[0], np.arange(100) % 3
    with pytest.raises(NotFittedError):
        lk.plot.decision_regions(lk.LogisticRegression(), X, y)
    with pytest.raises(ValueError, match="is not a classifier"):
        lk.plot.decision_regions(lk.LinearRegression().fit(X, y), X, y)
    assert {
        level for level, _ in curves(lk.plot.decision_regions(lk.LinearSVC().fit(*two), *two, levels=2.0))
    } == {
        0,
        2,
    }
    with pytest.raises(ValueError, match="scores of 3 classes have none"):
        lk.plot.decision_regions(lk.LinearSVC().fit(X, y), X, y, levels=[-1, 1])


def test_without_matplotlib_it_is_said_what_to_install():
    code = (
        "import sys; sys.modules['matplotlib'] = sys.modules['matplotlib.pyplot'] = None\n"
        "import likelier as lk, numpy as np\n"
        "try:\n    lk.plot.loss_path(np.arange(6.0)[:, None], [0, 1, 0, 1, 0, 1])\n"
        "except ImportError as error:\n    print(error)"
    )
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert "pip install 'likelier[plot]'" in out


# ---- progress --------------------------------------------------------------------------------------
class Frequencies:
    """The share of each label so far."""

    def __init__(self):
        self.n = {}

    def predict_proba_one(self, x):
        return {label: n / sum(self.n.values()) for label, n in self.n.items()}

    def learn_one(self, x, y):
        self.n[y] = self.n.get(y, 0) + 1


def labels(values, **settings):
    return lk.progressive(Frequencies(), [({}, y) for y in values], window=10, **settings)


def test_the_line_of_mistakes_ends_at_all_of_them():
    found = labels(["b", "b", "a"] * 15)
    late = labels(["b", "b", "a"] * 15, delay=10)
    lines = lk.plot.mistakes({"now": found, "late": late}).get_lines()
    np.testing.assert_array_equal(lines[0].get_xdata(), [0, 10, 20, 30, 40, 45])
    for line, each, name in zip(lines, (found, late), ("now", "late"), strict=True):
        assert line.get_ydata()[0] == 0
        assert line.get_ydata()[-1] == each.mistakes
        assert line.get_label().startswith(f"{name}: {each.mistakes:g} mistakes")
    ax = plt.figure().gca()
    assert lk.plot.mistakes(found, ax=ax) is ax


@pytest.mark.parametrize("first", ["a", "b"])
def test_calibration_is_of_the_larger_of_two_labels(first):
    """In whichever order they came."""
    found = labels([first, *["a", "a", "a", "b"] * 20])
    ax = lk.plot.calibration(found, groups=5)
    diagonal, points = ax.get_lines()
    np.testing.assert_array_equal(diagonal.get_xydata(), [[0, 0], [1, 1]])
    expected = found.figures.calibration(5, positive=found.classes.index("b"))
    np.testing.assert_array_equal(points.get_xydata(), np.column_stack([expected.p, expected.rate]))
    assert ax.get_xlabel() == "predicted probability of b"
    share = expected.weight @ expected.rate / expected.weight.sum()
    assert share == pytest.approx((20 + (first == "b")) / 81)
    other = lk.plot.calibration(found, groups=5, positive="a").get_lines()[1]
    np.testing.assert_allclose(other.get_xydata(), 1 - points.get_xydata()[::-1])


def test_calibration_is_of_the_second_of_labels_without_an_order():
    assert lk.plot.calibration(labels([1, "a", 1])).get_xlabel() == "predicted probability of a"


def test_calibration_of_more_classes_is_that_of_the_likeliest():
    found = labels(["a", "b", "c"] * 20)
    ax = lk.plot.calibration(found)
    np.testing.assert_array_equal(ax.get_lines()[1].get_xdata(), found.figures.calibration().p)
    assert ax.get_xlabel() == "probability of the predicted class"


def test_progress_that_cannot_be_drawn():
    for draw in (lk.plot.mistakes, lk.plot.calibration):
        with pytest.raises(ValueError, match="evaluated on no row"):
            draw(labels([]))
        with pytest.raises(ValueError, match="nothing to draw"):
            draw({})
        with pytest.raises(TypeError, match="a int has no metrics"):
            draw(5)
    with pytest.raises(
        ValueError, match=r"positive must be one of the classes \['a', 'b'\] of the model; got 'z'"
    ):
        lk.plot.calibration(labels(["a", "b"]), positive="z")


# ---- mistakes ----------------------------------------------------------------------------------------
def test_mistakes_are_drawn_as_they_were_counted_and_below_their_bounds():
    X, y = load_iris(return_X_y=True)
    model = lk.Perceptron(max_iter=5, tol=None).fit(X, y)
    found = model.mistake_bound(X, y)
    *lines, _ = (line.get_xydata() for line in lk.plot.mistakes(model, bound=found).get_lines())
    for k, (drawn, level) in enumerate(zip(lines[::2], lines[1::2], strict=True)):
        np.testing.assert_array_equal(drawn, model.mistake_curve_[:, [0, 1 + k]])
        assert drawn[-1, 1] <= level[0, 1] == found.bound[k]
    two = lk.Perceptron().fit(X[50:], y[50:])
    ax = lk.plot.mistakes(two)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "2 against the rest",
        "always mistaken",
    ]


def test_a_bound_is_what_mistake_bound_returned():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(TypeError, match=r"bound must be what mistake_bound\(X, y\) .*; got True"):
        lk.plot.mistakes(lk.Perceptron().fit(X, y), bound=True)


def test_a_model_that_counts_no_mistakes_has_none_to_draw(two):
    with pytest.raises(ValueError, match="no mistake_curve_"):
        lk.plot.mistakes(lk.LogisticRegression().fit(*two))
