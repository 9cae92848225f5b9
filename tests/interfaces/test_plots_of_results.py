"""Pictures of results and of mixtures: what is drawn is what was found."""

import re
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.collections import LineCollection, PathCollection
from PIL import Image
from scipy.stats import binomtest
from sklearn import metrics
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine

import likelier as lk
from likelier.comparison.cross_validate import ReducedFolds, _order, grow_training_rows
from likelier.plot.axes import color
from likelier.plot.evaluation import wilson
from likelier.plot.mixture import climbed

pytestmark = pytest.mark.usefixtures("closed_figures")


@pytest.fixture(scope="module")
def wine():
    return load_wine(return_X_y=True, as_frame=True)


@pytest.fixture(scope="module")
def compared(wine):
    models = [lk.GaussianNB(), lk.LinearDiscriminantAnalysis(), lk.LinearSVC()]
    return lk.compare(wine[0], wine[1], models=models)


# ---- ROC and confusion -----------------------------------------------------------------------------
def test_roc_curves_are_scikit_learns():
    X, y = load_breast_cancer(return_X_y=True)
    model = lk.GaussianNB().fit(X[::2], y[::2])
    ax = lk.plot.roc({"naive Bayes": model}, X[1::2], y[1::2])
    found = lk.evaluate(model, X[1::2], y[1::2])
    (line,) = ax.get_lines()[1:]
    np.testing.assert_allclose(line.get_xydata(), np.column_stack(found.roc()[:2]))
    assert line.get_label() == f"naive Bayes (AUC {found.auc:.3f})"
    turned = lk.plot.roc(found, positive=0).get_lines()[1]
    assert np.trapezoid(turned.get_ydata(), turned.get_xdata()) == pytest.approx(found.auc)


def test_roc_of_held_out_rows(compared, wine):
    ax = lk.plot.roc(compared, positive=1)
    lines = {line.get_label().split(" (")[0]: line for line in ax.get_lines()[1:]}
    assert set(lines) == {r.model for r in compared.results if r.P is not None and not r.baseline}
    for name, line in lines.items():
        area = metrics.roc_auc_score(wine[1] == 1, compared.result(name).P[:, 1])
        assert np.trapezoid(line.get_ydata(), line.get_xdata()) == pytest.approx(area, rel=1e-12)
    with pytest.raises(ValueError, match="positive must be one of the classes"):
        lk.plot.roc(compared)


def test_roc_of_every_class(wine):
    model = lk.GaussianNB().fit(*wine)
    lines = lk.plot.roc(model, *wine).get_lines()[1:]
    assert [line.get_label()[0] for line in lines] == ["0", "1", "2"]


@pytest.mark.parametrize("normalize", [None, "true", "pred", "all"])
def test_confusion_matrices_are_scikit_learns(wine, normalize):
    X, y = wine
    model = lk.GaussianNB().fit(X[["hue"]], y)
    ax = lk.plot.confusion_matrix(model, X[["hue"]], y, normalize=normalize)
    theirs = metrics.confusion_matrix(y, model.predict(X[["hue"]]), normalize=normalize)
    shown = np.array([float(text.get_text()) for text in ax.texts]).reshape(3, 3)
    np.testing.assert_allclose(shown, theirs, atol=0 if normalize is None else 0.005)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("predicted class", "true class")


def test_many_classes_of_a_matrix_are_gathered():
    y = np.repeat(np.arange(30), np.arange(2, 32))
    model = lk.GaussianNB().fit(y[:, None] + np.linspace(0, 0.1, len(y))[:, None], y)
    ax = lk.plot.confusion_matrix(lk.evaluate(model, y[:, None].astype(float), y))
    assert [t.get_text() for t in ax.get_xticklabels()] == [*map(str, range(10, 30)), "others"]
    assert ax.images[0].get_array().shape[:2] == (21, 21)


def test_the_best_of_a_comparison_has_a_matrix(compared, wine):
    ax = lk.plot.confusion_matrix(compared)
    shown = np.array([float(text.get_text()) for text in ax.texts]).reshape(3, 3)
    np.testing.assert_array_equal(shown, compared.best.overall.confusion)


@pytest.mark.parametrize("draw", [lk.plot.roc, lk.plot.confusion_matrix])
def test_what_cannot_be_told_apart_is_refused(draw, wine, compared):
    model = lk.GaussianNB().fit(*wine)
    with pytest.raises(ValueError, match="give X and y"):
        draw(model)
    with pytest.raises(ValueError, match="X and y are for fitted classifiers"):
        draw(lk.evaluate(model, *wine), *wine)
    with pytest.raises(TypeError, match="not an evaluation"):
        draw(3)
    with pytest.raises(ValueError, match="normalize must be"):
        lk.plot.confusion_matrix(model, *wine, normalize="rows")


# ---- calibration -----------------------------------------------------------------------------------
def test_classifiers_are_judged_by_the_rows_given():
    X, y = load_breast_cancer(return_X_y=True)
    models = {
        "one": lk.GaussianNB().fit(X[::2], y[::2]),
        "other": lk.LinearDiscriminantAnalysis().fit(X, y),
    }
    ax = lk.plot.calibration(models, X[1::2], y[1::2], groups=6)
    _, *lines = ax.get_lines()
    intervals = [each.get_segments() for each in ax.collections if isinstance(each, LineCollection)]
    for line, ends, (name, model) in zip(lines, intervals, models.items(), strict=True):
        found = lk.evaluate(model, X[1::2], y[1::2])
        points = found.calibration(6)
        np.testing.assert_array_equal(line.get_xydata(), np.column_stack([points.p, points.rate]))
        low, high = wilson(points.rate, points.weight)
        np.testing.assert_allclose(np.array(ends)[:, :, 1], np.column_stack([low, high]))
        assert line.get_label() == f"{name}: ECE {found.calibration_error:.4f}"
    alone = lk.plot.calibration(lk.evaluate(models["one"], X[1::2], y[1::2]), groups=6)
    np.testing.assert_array_equal(alone.get_lines()[1].get_xydata(), lines[0].get_xydata())
    (steps,) = alone.patches
    share = np.histogram(models["one"].predict_proba(X[1::2])[:, 1], 20, (0, 1))[0]
    np.testing.assert_allclose(steps.get_data()[0], 0.2 * share / share.max())


def test_a_comparison_shows_whoever_has_probabilities(compared):
    ax = lk.plot.calibration(compared)
    shown = {text.get_text().split(":")[0] for text in ax.get_legend().get_texts()}
    assert shown == {"GaussianNB", "LinearDiscriminantAnalysis"}  # the baseline would be a single point
    result = compared.result("GaussianNB")
    line = lk.plot.calibration(result, intervals=False).get_lines()[1]
    np.testing.assert_array_equal(line.get_ydata(), result.overall.calibration().rate)
    assert not lk.plot.calibration({"a": result}, intervals=False).collections


@given(st.integers(1, 500), st.floats(0, 1))
def test_intervals_are_wilsons(n, share):
    k = round(share * n)
    low, high = wilson(np.array([k / n]), np.array([float(n)]))
    expected = binomtest(k, n).proportion_ci(method="wilson")
    np.testing.assert_allclose([low[0], high[0]], expected, atol=1e-6)


def test_what_cannot_be_calibrated(compared, wine):
    X, y = wine
    with pytest.raises(ValueError, match="evaluated on rows; give X and y"):
        lk.plot.calibration(lk.GaussianNB().fit(X, y))
    with pytest.raises(ValueError, match="has been evaluated: X and y are for"):
        lk.plot.calibration(compared.result("GaussianNB"), X, y)
    with pytest.raises(ValueError, match="gives no probabilities"):
        lk.plot.calibration(compared.result("LinearSVC"))
    with pytest.raises(TypeError, match="a LinearRegression has no metrics"):
        lk.plot.calibration(lk.LinearRegression().fit(X, y))


# ---- learning_curve --------------------------------------------------------------------------------
def test_a_curve_ends_at_the_figure_of_the_comparison(compared):
    ax = lk.plot.learning_curve(compared, sizes=[30, 80, 142])
    for line in ax.get_lines()[:-1]:
        assert line.get_xdata().tolist() == [30, 80, 142]
        assert line.get_ydata()[-1] == compared.result(line.get_label()).mean("error")
    *_, baseline = ax.get_lines()
    assert baseline.get_ydata()[0] == compared.result("(majority class)").mean("error")
    assert len(ax.collections) == 3
    band = ax.collections[0].get_paths()[0].vertices[:, 1]
    best = compared.result(ax.get_lines()[0].get_label())
    assert band.max() >= best.mean("error") + best.error_of("error")


def test_figures_are_those_of_fits_to_fewer_rows(wine, compared):
    X, y = wine[0].to_numpy(), wine[1].to_numpy()
    found = grow_training_rows(compared, ["GaussianNB"], sizes=[40])
    assert np.isfinite(found.figures).all()
    assert found.figures.shape == (1, 1, 5)
    assert found.metric == "log_loss"
    again = lk.plot.learning_curve(lk.GaussianNB(), X, y, sizes=[40], metric="log-loss")
    assert again.get_lines()[0].get_ydata()[0] == found.mean[0, 0]
    assert again.get_ylabel() == "log-loss"


@given(st.integers(0, 2**32 - 1), st.integers(2, 4), st.integers(1, 60))
def test_fewer_rows_are_part_of_more_and_have_the_classes_in_proportion(seed, K, size):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat(np.arange(K), rng.integers(20, 60, size=K)))
    number = (np.arange(len(y)) % 3).astype(np.int32)
    order = _order(y, np.arange(K), seed)
    small, large = (ReducedFolds(None, number, 3, order=order, size=s).split(1) for s in (size, size + 10))
    assert set(small[0]) <= set(large[0])
    assert len(small[0]) == min(size, (number != 1).sum())
    assert not set(large[0]) & set(large[1])
    shares = np.bincount(y[order[:size]], minlength=K) - size * np.bincount(y) / len(y)
    assert np.abs(shares).max() <= K


def test_numbers_are_learned_too_and_a_curve_is_drawn_again():
    X, y = load_diabetes(return_X_y=True)
    ax = lk.plot.learning_curve({"plain": lk.LinearRegression(), "ridge": lk.Ridge()}, X, y, cv=3)
    assert ax.get_ylabel() == "RMSE"
    sizes = ax.get_lines()[0].get_xdata()
    assert len(sizes) == 7
    assert sizes[-1] == 294  # of 442, those that the largest fold leaves
    found = grow_training_rows(lk.compare(X, y, models=[lk.Ridge()], cv=3), metric="r2")
    mine = plt.figure().gca()
    assert lk.plot.learning_curve(found, ax=mine) is mine
    np.testing.assert_array_equal(mine.get_lines()[0].get_ydata(), found.mean[0])


def test_curves_that_there_are_not(compared, wine):
    with pytest.raises(ValueError, match="150 rows are more than the 142"):
        lk.plot.learning_curve(compared, sizes=[150])
    with pytest.raises(ValueError, match=r"sizes must be integers >= 2 \(numbers of rows\); got \[0\.5\]"):
        lk.plot.learning_curve(compared, sizes=[0.5])
    with pytest.raises(ValueError, match=r"metric must be one of 'error', .*; got 'rmse'"):
        lk.plot.learning_curve(compared, metric="rmse")
    with pytest.raises(ValueError, match="give X and y"):
        lk.plot.learning_curve(lk.GaussianNB())
    with pytest.raises(ValueError, match="a Comparison already contains its rows"):
        lk.plot.learning_curve(compared, *wine)
    with pytest.raises(ValueError, match="none of LinearSVC has a finite log_loss"):
        lk.plot.learning_curve([lk.LinearSVC()], *wine, metric="log_loss", sizes=[100])


# ---- responsibilities ------------------------------------------------------------------------------
@pytest.mark.parametrize("shape", ["full", "tied", "diag", "spherical"])
def test_components_are_drawn_at_one_and_two_deviations(shape):
    X, _ = load_iris(return_X_y=True, as_frame=True)
    model = lk.GaussianMixture(2, covariance_type=shape, random_state=0).fit(X)
    ax = lk.plot.responsibilities(model, X, columns=["petal length (cm)", "petal width (cm)"])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("petal length (cm)", "petal width (cm)")
    lines = [line.get_xydata() for line in ax.get_lines()]
    cov = {
        "full": lambda m: model.covariances_[m][2:, 2:],
        "tied": lambda m: model.covariances_[2:, 2:],
        "diag": lambda m: np.diag(model.covariances_[m][2:]),
        "spherical": lambda m: model.covariances_[m] * np.eye(2),
    }[shape]
    for number, line in enumerate(lines):
        radius, m = divmod(number, 2)
        z = line - model.means_[m, 2:]
        np.testing.assert_allclose((z @ np.linalg.inv(cov(m)) * z).sum(axis=1), (radius + 1) ** 2)
    points = next(each for each in ax.collections if isinstance(each, PathCollection))
    R = model.predict_proba(X)  # by all four columns
    mixed = R @ [color(0), color(1)]
    np.testing.assert_allclose(points.get_facecolor()[:, :3], mixed, atol=1e-12)


def test_components_of_classes_and_of_one_column():
    X, y = load_iris(return_X_y=True)
    model = lk.MixtureDiscriminantAnalysis({0: 1, 1: 2, 2: 1}, random_state=0).fit(X[:, [2]], y)
    ax = lk.plot.responsibilities(model, X[:, [2]])
    labels = [line.get_label().split(":")[0] for line in ax.get_lines()]
    assert labels == ["0, 0", "1, 0", "1, 1", "2, 0", "all"]
    x, total = ax.get_lines()[-1].get_data()
    np.testing.assert_allclose(total, np.exp(model.score_samples(x[:, None])))
    parts = [line.get_ydata() for line in ax.get_lines()[:-1]]
    P = model.predict_proba(x[:, None])
    np.testing.assert_allclose(parts[1] + parts[2], P[:, 1] * total, atol=1e-12)


def test_components_of_counts_are_drawn_at_counts():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.poisson(4, 100), rng.poisson(30, 100)])[:, None]
    ax = lk.plot.responsibilities(lk.Mixture(2, families="poisson", random_state=0).fit(X), X)
    x, total = ax.get_lines()[-1].get_data()
    assert (x == np.round(x)).all()
    assert x[0] >= 0
    assert total.sum() == pytest.approx(1, abs=0.01)
    two = np.column_stack([X, X])
    plane = lk.plot.responsibilities(lk.Mixture(2, families="poisson", random_state=0).fit(two), two)
    assert len(plane.get_legend().get_texts()) == 2  # no Gaussians: colours alone


def test_what_has_no_components(wine):
    X, y = wine
    for model in (lk.GaussianNB().fit(X, y), lk.LinearRegression().fit(X, y)):
        with pytest.raises(ValueError, match="has no components"):
            lk.plot.responsibilities(model, X)
    with pytest.raises(ValueError, match="X has 13 columns, and one or two are drawn"):
        lk.plot.responsibilities(lk.GaussianMixture(2, random_state=0).fit(X), X)


# ---- em_steps --------------------------------------------------------------------------------------
def test_steps_are_those_of_the_mixture(wine):
    X = wine[0][["flavanoids", "alcohol"]].to_numpy()
    found = climbed(X, 3, 12, None, 1)
    way = np.array([step.log_likelihood for step in found])
    assert len(found) == 13
    assert (np.diff(way) > 0).all()
    first = found[0].parts.params
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = lk.GaussianMixture(
            3,
            weights_init=np.full(3, 1 / 3),
            means_init=first.mean,
            precisions_init=np.linalg.inv(first.cov),
            tol=0,
            max_iter=12,
        ).fit(X)
    np.testing.assert_allclose(model.lower_bounds_, way[:-1], rtol=1e-5)
    np.testing.assert_allclose(model.predict_proba(X), found[-1].R, atol=1e-4)


@pytest.mark.parametrize("columns", [["alcohol"], ["alcohol", "hue"]])
def test_a_film_has_a_frame_for_every_step(wine, tmp_path, columns):
    X = wine[0][columns].copy()
    X.iloc[3, 0] = np.nan
    film = lk.plot.em_steps(X, 2, steps=3, path=tmp_path / "em.gif")
    with Image.open(tmp_path / "em.gif") as picture:
        assert picture.n_frames == len(film.steps) == 4
    axes = plt.subplots(1, 2)[1]
    film = lk.plot.em_steps(X, 2, steps=3, path=tmp_path / "em.html", ax=axes)
    assert [ax.get_xlabel() for ax in axes] == ["alcohol", "step"]
    line = axes[1].get_lines()[1]
    np.testing.assert_array_equal(line.get_ydata(), [step.log_likelihood for step in film.steps])
    page = (tmp_path / "em.html").read_text()
    assert len(re.findall(r"'iVBOR\w", page)) == 4
    assert not re.search(r"(src|href)\s*=\s*[\"']|https?://|url\(", re.sub(r"'iVBOR[^']*'", "", page))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["em.gif", "em.html"]


def test_films_that_there_are_not(wine, tmp_path):
    X = wine[0][["alcohol", "hue"]]
    with pytest.raises(ValueError, match=r"path must end in \.gif or \.html; got"):
        lk.plot.em_steps(X, path=tmp_path / "em.mp4")
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        lk.plot.em_steps(X, path=tmp_path / "no" / "em.gif")
    with pytest.raises(ValueError, match="one or two columns to be drawn; got 13"):
        lk.plot.em_steps(wine[0])
    with pytest.raises(ValueError, match="at least 3 different rows for 3 components; got 2"):
        lk.plot.em_steps(np.array([[1.0], [2.0]]), 3)
    with pytest.raises(ValueError, match="means must be finite and have shape"):
        lk.plot.em_steps(X, 2, means=[[1, 2]])
    with pytest.raises(ValueError, match="ax must be two axes"):
        lk.plot.em_steps(X, 2, steps=1, ax=plt.figure().gca())


def test_a_film_that_is_not_written_is_shown_by_whoever_keeps_it():
    X = pd.DataFrame({"x": [1.0, 2.0, 2.5, 9.0, 9.5, 10.0]})
    film = lk.plot.em_steps(X, 2, means=[[2.0], [9.0]])
    film._draw_frame(len(film.steps) - 1)
    film._draw_was_started = True
    assert film.steps[-1].R.argmax(axis=1).tolist() == [0, 0, 0, 1, 1, 1]
