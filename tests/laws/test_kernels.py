"""What densities of kernels promise beyond the laws of all: bandwidths, gaps, leaving out, many points."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from scipy import stats
from scipy.special import logsumexp
from sklearn.datasets import load_iris, load_wine
from sklearn.neighbors import KernelDensity

import likelier as lk
from laws import test_densities as densities
from laws.generators import SEEDS
from likelier.data import Chunk, Dense
from likelier.families import Kernel, Kernels, ProductKernel
from likelier.families.kernel import MANY, Tabulated, scott, silverman

KDC = lk.KernelDensityClassifier
quiet = pytest.mark.filterwarnings("ignore::likelier.DegenerateWarning")


def fitted(family, X, y, w=None):
    state = family.stats(int(y.max()) + 1, X.shape[1])
    state.update(Chunk(Dense(X), y.astype(np.int32), w))
    return family.estimate(state)


def gappy(seed=0, n=60, p=3, share=0.3):
    """Correlated columns, cells missing at random, some rows with nothing in them."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = rng.standard_normal((n, p)) @ (np.eye(p) + 0.7) + y[:, None]
    X[rng.random((n, p)) < share] = np.nan
    X[5] = np.nan
    return X, y


# ---- what others have ----------------------------------------------------------------------------
@quiet
@pytest.mark.parametrize("h", [0.05, 0.4, 3.0])
@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_a_number_is_scikit_learns_bandwidth(load, h):
    X, y = load(return_X_y=True)
    X = X[:, :4]
    model = KDC(h).fit(X[::2], y[::2])
    expected = np.column_stack(
        [KernelDensity(bandwidth=h).fit(X[::2][y[::2] == k]).score_samples(X) for k in model.classes_]
    )
    found = model.predict_joint_log_proba(X) - np.log(model.class_prior_)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


def test_weights_are_scikit_learns():
    rng = np.random.default_rng(0)
    X, w = rng.standard_normal((50, 2)), rng.exponential(size=50)
    expected = KernelDensity(bandwidth=0.3).fit(X, sample_weight=w).score_samples(X)
    found = densities.log_density(fitted(ProductKernel(0.3), X, np.zeros(50, int), w), X)
    np.testing.assert_allclose(found[:, 0], expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", ["scott", "silverman"])
def test_one_column_is_scipys_density_at_the_same_bandwidth(name):
    x = np.random.default_rng(0).exponential(size=80)
    params = fitted(ProductKernel(name), x[:, None], np.zeros(80, int))
    theirs = stats.gaussian_kde(x, name)
    h = params.h[0, 0]
    np.testing.assert_allclose(h, theirs.factor * x.std(), rtol=1e-12)
    same = stats.gaussian_kde(x, h / x.std(ddof=1))
    grid = np.linspace(-1, 6, 50)
    found = densities.log_density(params, grid[:, None])[:, 0]
    np.testing.assert_allclose(found, same.logpdf(grid), rtol=1e-10)


# ---- bandwidths ----------------------------------------------------------------------------------
@pytest.mark.parametrize(("name", "factor"), [("scott", scott), ("silverman", silverman)])
def test_bandwidths_follow_rows_columns_and_deviations(name, factor):
    X, y = load_iris(return_X_y=True)
    h = fitted(ProductKernel(name), X[20:], y[20:]).h
    for k, n in enumerate((30, 50, 50)):
        own = X[20:][y[20:] == k]
        np.testing.assert_allclose(h[k], factor(np.array(n), 4) * own.std(axis=0), rtol=1e-12)


@quiet
@pytest.mark.parametrize("bandwidth", ["scott", "silverman", "cv"])
def test_units_do_not_matter(bandwidth):
    X, y = load_iris(return_X_y=True)
    units = np.array([1e3, 1e-4, 1.0, 7.0])
    P = KDC(bandwidth).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(KDC(bandwidth).fit(X * units, y).predict_proba(X * units), P, rtol=1e-7)


def left_out(x, h):
    """The mean of ln p(x_i) under all rows that differ from it, by hand."""
    a = -0.5 * ((x[:, None] - x) / h) ** 2 - np.log(h * np.sqrt(2 * np.pi))
    other = x[:, None] != x
    return np.mean(logsumexp(a, axis=1, b=other) - np.log(other.sum(axis=1)))


@given(seed=SEEDS)
def test_cross_validation_finds_the_likeliest_bandwidth(seed):
    rng = np.random.default_rng(seed)
    x = np.concatenate([rng.standard_normal(30), 20 + 0.2 * rng.standard_normal(40)])
    h = fitted(ProductKernel("cv"), x[:, None], np.zeros(70, int)).h[0, 0]
    best = left_out(x, h)
    for factor in 2.0 ** np.linspace(-6, 6, 49):
        assert left_out(x, h * factor) <= best + 1e-5


def test_values_that_repeat_do_not_drive_the_bandwidth_to_0():
    """Counted with the others, 30 rows of one value would be likeliest under a bandwidth of nothing."""
    rng = np.random.default_rng(0)
    x = np.round(rng.standard_normal(300), 1)
    one = fitted(ProductKernel("cv"), x[:, None], np.zeros(300, int)).h[0, 0]
    assert one >= 0.1 - 1e-9
    twice = fitted(ProductKernel("cv"), np.repeat(x, 2)[:, None], np.zeros(600, int)).h[0, 0]
    np.testing.assert_allclose(one, twice, rtol=5e-3)


def test_bandwidths_stop_at_the_resolution_of_the_data():
    """Pairs of neighbours far apart: the nearer kernels are to a point, the likelier; but no nearer."""
    x = np.repeat(1000.0 * np.arange(20), 2) + np.tile([0.0, 1e-3], 20)
    h = fitted(ProductKernel("cv"), x[:, None], np.zeros(40, int)).h[0, 0]
    assert h >= 1e-3 * (1 - 1e-9)


# ---- what is missing -----------------------------------------------------------------------------
def grid(params, columns, step=0.4):
    """Rows that fill the box of some columns, and the volume of each."""
    lines = []
    for j in columns:
        c, h = params.points[:, j], params.h[:, j]
        lines.append(np.arange(np.nanmin(c) - 8 * h.max(), np.nanmax(c) + 8 * h.max(), step * h.min()))
    mesh = np.stack(np.meshgrid(*lines, indexing="ij"), axis=-1).reshape(-1, len(columns))
    return mesh, np.prod([line[1] - line[0] for line in lines])


@pytest.mark.parametrize("share", [0.0, 0.3])
def test_two_columns_integrate_to_1_and_to_each_other(share):
    X, y = gappy(p=2, share=share)
    params = fitted(ProductKernel(), X, y)
    rows, volume = grid(params, [0, 1])
    f = np.exp(densities.log_density(params, rows)) * volume
    np.testing.assert_allclose(f.sum(axis=0), 1, rtol=1e-8)
    for j in (0, 1):
        points, _ = grid(params, [j])
        beside = np.empty((len(points), 2))
        for i, point in enumerate(points[::7, 0]):
            both, width = grid(params, [1 - j])
            asked = np.insert(both, j, point, axis=1)
            beside[i] = np.exp(densities.log_density(params, asked)).sum(axis=0) * width
        found = np.exp(densities.log_density(params.marginal(np.array([j])), points[::7]))
        np.testing.assert_allclose(found, beside[: len(found)], rtol=1e-7, atol=1e-12)


def test_a_column_alone_is_the_density_of_the_cells_that_are_there():
    X, y = gappy()
    params = fitted(ProductKernel(0.5), X, y)
    there = ~np.isnan(X[:, 1])
    alone = fitted(ProductKernel(0.5), X[there][:, [1]], y[there])
    x = np.linspace(-5, 5, 30)[:, None]
    found = densities.log_density(params.marginal(np.array([1])), x)
    np.testing.assert_allclose(found, densities.log_density(alone, x), rtol=1e-10)


def test_rows_with_gaps_obey_the_laws_of_conditions():
    X, y = gappy()
    params = fitted(ProductKernel(), X, y)
    x = np.array([0.3, -0.2, 1.0])
    rest, seen = params.condition({1: x[1]})
    joint = densities.log_density(params, x[None])
    np.testing.assert_allclose(densities.log_density(rest, x[None, [0, 2]]) + seen, joint, rtol=1e-10)
    again, more = rest.condition({0: x[0]})
    np.testing.assert_allclose(densities.log_density(again, x[None, [2]]) + seen + more, joint, rtol=1e-10)
    lacking = densities.log_density(params, np.array([[x[0], np.nan, x[2]]]))
    marginal = densities.log_density(params.marginal(np.array([0, 2])), x[None, [0, 2]])
    np.testing.assert_allclose(lacking, marginal, rtol=1e-10)


@pytest.mark.parametrize("share", [0.0, 0.3])
def test_missing_cells_are_filled_with_the_conditional_mean(share):
    X, y = gappy(share=share)
    params = fitted(ProductKernel(), X, y)
    row = np.array([[0.5, np.nan, 0.2], [0.5, 1.0, 0.2], [np.nan] * 3])
    P = np.array([[0.3, 0.7], [0.5, 0.5], [0.6, 0.4]])
    filled = params.fill(row, P)
    np.testing.assert_array_equal(filled[1], row[1])
    np.testing.assert_allclose(filled[2], P[2] @ params.expected, rtol=1e-12)
    x, _ = grid(params, [1], 0.1)
    rows = np.insert(np.tile([0.5, 0.2], (len(x), 1)), 1, x[:, 0], axis=1)
    f = np.exp(densities.log_density(params, rows))
    mean = (f * x).sum(axis=0) / f.sum(axis=0)
    np.testing.assert_allclose(filled[0], [0.5, P[0] @ mean, 0.2], rtol=1e-7)


def test_samples_have_the_moments_with_gaps_too():
    X, y = gappy()
    case = densities.Case("", ProductKernel(), lambda rng, y: X, densities.kernel_points)
    params = fitted(case.family, X, y)
    drawn = params.sample(np.zeros(40_000, int), np.random.default_rng(0))
    for j in range(3):
        points, volume = densities.kernel_points(params, j)
        f = volume * np.exp(densities.log_density(params.marginal(np.array([j])), points)[:, 0])
        mean, second = f @ points[:, 0], f @ points[:, 0] ** 2
        sd = np.sqrt(second - mean**2)
        assert abs(drawn[:, j].mean() - mean) < 5 * sd / 200
        assert abs(drawn[:, j].std() / sd - 1) < 0.05
    together = (~np.isnan(X[y == 0])).all(axis=1)
    apart = np.corrcoef(X[y == 0][together].T)[0, 1]
    assert 0 < np.corrcoef(drawn.T)[0, 1] < apart  # rows with gaps say less of that


COLUMN_LAWS = [
    densities.test_each_column_integrates_to_1,
    densities.test_samples_have_the_moments_of_the_density,
]


@pytest.mark.parametrize("law", COLUMN_LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("bandwidth", ["scott", "silverman", "cv", 0.3])
def test_products_of_kernels_obey_the_laws_of_columns(law, bandwidth):
    case = densities.Case("", ProductKernel(bandwidth), densities.gaussians, densities.kernel_points)
    law(case)


@quiet
def test_a_class_without_a_column_takes_it_from_all_rows():
    X, y = gappy(share=0.0)
    X[y == 1, 2] = np.nan
    model = KDC().fit(X, y)
    assert np.isfinite(model.predict_log_proba(X)).all()
    h = scott(np.array(29.0), 3) * np.nanstd(X[:, 2])
    np.testing.assert_allclose(model.bandwidth_[1, 2], h, rtol=1e-12)


# ---- many points of one column -------------------------------------------------------------------
def many(n=12_000, outliers=()):
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.standard_normal(n), 8 + 0.1 * rng.standard_normal(n // 2), outliers])
    return np.concatenate([x, rng.exponential(size=500)])[:, None], np.repeat([0, 1], [len(x), 500])


@pytest.mark.parametrize("bandwidth", ["scott", "cv", 0.03])
def test_many_points_are_as_good_as_all_to_a_millionth_of_the_largest_density(bandwidth):
    X, y = many(outliers=[1e4, -300.0] if bandwidth == 0.03 else [9.5, -7.0])
    params = fitted(Kernel(bandwidth), X, y).groups[0].params
    assert isinstance(params.scores().terms[0], Tabulated)
    h, x = params.h[0, 0], np.sort(X[y == 0, 0])
    asked = np.concatenate([x[::97], np.linspace(-20, 20, 801), [200.0, -1e5, 1e4, 1e7]])
    a = -0.5 * ((asked[:, None] - x) / h) ** 2 - np.log(h * np.sqrt(2 * np.pi)) - np.log(len(x))
    exact = logsumexp(a, axis=1)
    found = densities.log_density(params, asked[:, None])
    top = np.exp(exact.max())
    assert np.abs(np.exp(found[:, 0]) - np.exp(exact)).max() < 1e-6 * top
    near = exact > exact.max() - 30
    np.testing.assert_allclose(found[near, 0], exact[near], atol=1e-3)
    assert (np.abs(found[:, 0] - exact) < 1e-2 * (1 + np.abs(exact))).all()  # far off, too, of that order
    few = fitted(ProductKernel(float(params.h[1, 0])), X[y == 1], y[y == 1] - 1)
    np.testing.assert_allclose(found[:, 1], densities.log_density(few, asked[:, None])[:, 0], rtol=1e-10)


def test_a_table_integrates_to_1_and_knows_of_missing_cells():
    X, y = many()
    params = fitted(Kernel(), X[y == 0], y[y == 0])
    points, volume = densities.kernel_points(params, 0)
    np.testing.assert_allclose(volume @ np.exp(densities.log_density(params, points)), 1, rtol=1e-6)
    np.testing.assert_array_equal(densities.log_density(params, np.array([[np.nan]])), 0.0)
    again = densities.log_density(pickle.loads(pickle.dumps(params)), points)
    np.testing.assert_array_equal(again, densities.log_density(params, points))


def test_as_many_points_as_are_not_tabulated_are_exact():
    x = np.sort(np.random.default_rng(0).standard_normal(MANY))[:, None]
    params = fitted(Kernel(), x, np.zeros(MANY, int)).groups[0].params
    assert not isinstance(params.scores().terms[0], Tabulated)
    expected = KernelDensity(bandwidth=params.h[0, 0]).fit(x).score_samples(x)
    np.testing.assert_allclose(densities.log_density(params, x)[:, 0], expected, rtol=1e-9)


def test_points_far_apart_from_each_other_need_no_table():
    """A table of all that lies between would not fit: the sum itself answers."""
    x = np.cumsum(10.0 ** np.random.default_rng(0).uniform(0, 6, 3000))[:, None]
    params = fitted(Kernel(1e-3), x, np.zeros(3000, int)).groups[0].params
    found = densities.log_density(params, x[::100])
    np.testing.assert_allclose(found, -np.log(3000 * 1e-3 * np.sqrt(2 * np.pi)), rtol=1e-9)


@quiet
def test_a_large_model_of_one_column_is_saved_and_merged(tmp_path):
    X, y = many(3000)
    model = KDC().fit(X, y)
    lk.save(model, tmp_path / "model.lk")
    loaded = lk.load(tmp_path / "model.lk")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    parts = [KDC().fit(X[i::3], y[i::3]) for i in range(3)]
    np.testing.assert_allclose(lk.merge(parts).predict_proba(X), model.predict_proba(X), rtol=1e-10)


# ---- leaving one out -----------------------------------------------------------------------------
@quiet
@pytest.mark.parametrize("priors", [None, [0.2, 0.3, 0.5]])
def test_leaving_one_out_equals_fitting_without_it(priors):
    X, y = load_iris(return_X_y=True)
    X, y = X[::3, :3], y[::3]  # with rows that are equal
    X[7] = X[8]
    model = KDC(0.4, priors=priors).fit(X, y)
    inside, loss, wrong = [], [], []
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        without = KDC(0.4, priors=priors).fit(X[rest], y[rest])
        joint = without.predict_joint_log_proba(X[[i]])[0]
        inside.append((joint - np.log(without.class_prior_))[y[i]])
        loss.append(-without.predict_log_proba(X[[i]])[0, y[i]])
        wrong.append(without.predict(X[[i]])[0] != y[i])
    found = model.leave_one_out()
    np.testing.assert_allclose(found.log_likelihood, np.mean(inside), rtol=1e-10)
    np.testing.assert_allclose(found.log_loss, np.mean(loss), rtol=1e-10)
    assert found.error == np.mean(wrong)


def log_p(x, points, w, h):
    """ln p(x) of kernels about rows that lack cells, as the documentation defines it, by hand."""
    a = np.log(w / w.sum())
    for j in np.flatnonzero(~np.isnan(x)):
        k = -0.5 * ((x[j] - points[:, j]) / h[j]) ** 2 - np.log(h[j]) - 0.5 * np.log(2 * np.pi)
        gone = np.isnan(k)
        if gone.any():
            v = w[~gone]
            k[gone] = logsumexp(k[~gone], b=v / v.sum()) if len(v) else -np.inf
        a = a + k
    return logsumexp(a)


def rows_with_gaps(seed, share, ties=False):
    """Three classes of different sizes, weights far apart; values of few steps if there are to be ties."""
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1, 2], [40, 25, 12])
    X = rng.standard_normal((len(y), 3)) @ (np.eye(3) + 0.5) + y[:, None]
    X = np.round(X, 1) if ties else X
    X[rng.random(X.shape) < share] = np.nan
    X[[0, 40, 65]] = 0.5  # some row of each class is complete, and occurs twice
    X[[1, 41, 66]] = 0.5
    told = ~np.isnan(X).all(axis=1)
    return X[told], y[told], rng.exponential(size=int(told.sum())) + 0.01


def _same(X):
    """Which rows are equal, (n, n)."""
    return ((X[:, None] == X) | (np.isnan(X[:, None]) & np.isnan(X))).all(axis=2)


def mean_left_out(X, w, h):
    """The mean of ln p(x_i) under all rows that differ from it."""
    same = _same(X)
    z = [log_p(X[i], X[~same[i]], w[~same[i]], h) for i in range(len(X))]
    return np.average(z, weights=w)


@quiet
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.3, 0.6])
@pytest.mark.parametrize("seed", range(3))
def test_leaving_one_out_leaves_its_cells_out_of_the_columns_too(seed, share, ties):
    X, y, w = rows_with_gaps(seed, share, ties)
    w = np.where(
        (w < 1) & (_same(X).sum(axis=1) == 1), w, np.ceil(w)
    )  # what is left out is 1, or all of it
    model = KDC("scott").fit(X, y, sample_weight=w)
    inside, loss = [], []
    for i in range(len(y)):
        left = w.copy()
        left[i] = max(w[i] - 1, 0.0)
        on = left > 0
        each = [log_p(X[i], X[on & (y == k)], left[on & (y == k)], model.bandwidth_[k]) for k in range(3)]
        joint = np.array(each) + np.log(np.bincount(y, left) / left.sum())
        inside.append(each[y[i]])
        loss.append(logsumexp(joint) - joint[y[i]])
    found = model.leave_one_out()
    np.testing.assert_allclose(found.log_likelihood, np.average(inside, weights=w), rtol=1e-10)
    np.testing.assert_allclose(found.log_loss, np.average(loss, weights=w), rtol=1e-9)


@quiet
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("share", [0.0, 0.2, 0.5])
@pytest.mark.parametrize("seed", range(2))
def test_cross_validated_bandwidths_of_rows_with_gaps_are_the_likeliest(seed, share, ties):
    X, y, w = rows_with_gaps(seed, share, ties)
    h = KDC("cv").fit(X, y, sample_weight=w).bandwidth_
    for k in range(3):
        own, weight = X[y == k], w[y == k]
        best = mean_left_out(own, weight, h[k])
        steps = [np.diff(np.unique(x[~np.isnan(x)])).min(initial=np.inf) for x in own.T]
        least = np.min(steps / h[k])
        for factor in 2.0 ** np.linspace(-5, 5, 21):
            if factor > least:
                assert mean_left_out(own, weight, h[k] * factor) <= best + 1e-4


@quiet
@pytest.mark.parametrize("share", [0.0, 0.3])
@pytest.mark.parametrize("bandwidth", ["cv", 0.7])
def test_the_scale_of_weights_does_not_matter_to_bandwidths(bandwidth, share):
    X, y, w = rows_with_gaps(1, share)
    one = KDC(bandwidth).fit(X, y, sample_weight=w)
    for k in (-300, -20, 1, 20, 30, 300):
        scaled = KDC(bandwidth).fit(X, y, sample_weight=w * 2.0**k)
        np.testing.assert_array_equal(scaled.bandwidth_, one.bandwidth_)
        np.testing.assert_allclose(scaled.predict_proba(X), one.predict_proba(X), rtol=1e-12)
    thrice = KDC(bandwidth).fit(X[:, :1], y, sample_weight=3e9 * w)
    np.testing.assert_allclose(
        thrice.bandwidth_, KDC(bandwidth).fit(X[:, :1], y, sample_weight=w).bandwidth_, rtol=1e-6
    )


@quiet
def test_a_row_with_the_only_cell_of_its_column_does_not_decide_the_bandwidth():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2))
    X[1:, 1] = np.nan
    model = KDC("cv").fit(X, np.zeros(40))
    expected = fitted(ProductKernel("cv"), X[1:, :1], np.zeros(39, int)).h[0, 0] / X[1:, 0].std()
    assert 0.5 < model.bandwidth_[0, 0] / X[:, 0].std() / expected < 2
    assert model.leave_one_out().log_likelihood == -np.inf


@quiet
def test_leaving_out_the_only_row_of_a_class_leaves_nothing():
    model = KDC(1.0).fit([[0.0], [1.0], [5.0]], [0, 0, 1])
    found = model.leave_one_out()
    assert found.log_likelihood == -np.inf
    assert found.log_loss == np.inf
    assert found.error == 1 / 3


@quiet
def test_leaving_out_can_be_tried_on_some_rows_and_needs_rows():
    X, y = load_iris(return_X_y=True)
    model = KDC().fit(X, y)
    assert model.leave_one_out(max_rows=40).rows == 40
    with pytest.raises(ValueError, match="max_rows must be an integer >= 1; got 0"):
        model.leave_one_out(max_rows=0)
    with pytest.raises(ValueError, match="needs the statistics"):
        model.marginal([0]).leave_one_out()


# ---- what rows leave open ------------------------------------------------------------------------
def test_few_rows_in_many_columns_are_warned_of_with_a_figure():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((200, 10)), np.arange(200) % 2
    with pytest.warns(lk.DegenerateWarning, match=r"by 0\.\d+ nats a row.*200 rows are few.*10 columns"):
        KDC().fit(X, y)


def test_rows_that_suffice_are_not_warned_of():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 2))
    y = (X**2).sum(axis=1) > 1.4
    assert KDC().fit(X, y).leave_one_out().error < 0.05


def test_a_class_that_does_not_vary_has_the_bandwidth_of_all_rows():
    X, y = np.array([[0.0, 1.0], [1.0, 2.0], [3.0, 4.0], [5.0, 3.0]]), np.array([0, 0, 0, 1])
    with pytest.warns(lk.DegenerateWarning, match="in class 1, 2 of 2 columns do not vary"):
        model = KDC().fit(X, y)
    np.testing.assert_allclose(model.bandwidth_[1], X.std(axis=0), rtol=1e-12)
    assert np.isfinite(model.predict_log_proba(X)).all()


def test_a_constant_column_says_nothing_and_is_named():
    X, y = load_iris(return_X_y=True)
    with pytest.warns(lk.DegenerateWarning, match="column 2 does not vary at all"):
        model = KDC(bandwidth="cv").fit(np.column_stack([X[:, :2], np.full(150, 3.3)]), y)
    np.testing.assert_array_equal(model.bandwidth_[:, 2], 1.0)


@quiet
def test_a_number_leaves_nothing_open():
    X, y = np.array([[0.0], [1.0], [1.0]]), np.array([0, 1, 1])
    np.testing.assert_allclose(KDC(0.5).fit(X, y).predict_proba([[0.5]]), [[1 / 3, 2 / 3]], rtol=1e-12)


def test_kernels_are_of_gaussian_shape_only_and_hold_their_points():
    params = fitted(ProductKernel(), np.array([[2.0], [1.0], [2.0]]), np.array([0, 0, 0]))
    assert isinstance(params, Kernels)
    np.testing.assert_array_equal(params.points, [[1.0], [2.0]])
    np.testing.assert_allclose(np.exp(params.log_w), [1 / 3, 2 / 3])
