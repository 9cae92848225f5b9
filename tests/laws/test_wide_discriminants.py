"""Linear discriminant analysis of fewer rows than columns: rows are kept, and answers are as ever."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import likelier as lk
from likelier.families import Spanned, Tied, TiedGaussian
from likelier.states import Deviations

N, P, K = 60, 150, 3
pytestmark = pytest.mark.filterwarnings("ignore:.*vary in:likelier.DegenerateWarning")


def rows(seed=0, n=N, p=P):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, K, n)
    y[: 2 * K] = np.repeat(np.arange(K), 2)
    X = rng.normal(size=(n, p)) @ np.diag(np.exp(rng.normal(size=p))) + rng.normal(size=(K, p))[y]
    return X + 100 * rng.normal(size=p), y, rng.integers(0, 3, n).astype(float)


def assert_same(a, b, X, rtol=1e-9):
    for ours, theirs in (
        (a.decision_function(X), b.decision_function(X)),
        (a.score_samples(X), b.score_samples(X)),
        (a.coef_, b.coef_),
        (a.means_, b.means_),
        (a.transform(X), b.transform(X)),
    ):
        np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=rtol * np.abs(theirs).max())


def densities(X, y, w=None):
    """The same rows as rows and as a covariance."""
    found = []
    for kept in (True, False):
        family = TiedGaussian(tol=1e-4, rows=kept)
        stats = family.stats(K, X.shape[1])
        stats.update(lk.data.Chunk(lk.data.Dense(X), y.astype(np.int32), w))
        found.append(family.estimate(stats))
    assert isinstance(found[0], Spanned)
    assert isinstance(found[1], Tied)
    return found


@pytest.mark.parametrize("weighted", [False, True])
def test_chunks_merged_parts_files_and_whole_tables_agree(weighted, tmp_path):
    X, y, w = rows()
    w = w if weighted else None
    whole = lk.LinearDiscriminantAnalysis().fit(X, y, w)
    assert isinstance(whole._statistics.whole, Deviations)
    assert whole._statistics.whole.scatter is None
    cuts = np.array_split(np.random.default_rng(1).permutation(N), 7)
    in_steps, parts = lk.LinearDiscriminantAnalysis(), []
    for at in cuts:
        some = None if w is None else w[at]
        in_steps.partial_fit(X[at], y[at], classes=np.arange(K), sample_weight=some)
        fresh = lk.LinearDiscriminantAnalysis()
        parts.append(fresh.partial_fit(X[at], y[at], classes=np.arange(K), sample_weight=some))
    assert_same(in_steps, whole, X)
    assert_same(parts[0].merge(*parts[1:]), whole, X)
    table = pa.table({f"x{j}": X[:, j] for j in range(P)} | {"y": y} | ({} if w is None else {"w": w}))
    for i, part in enumerate((table.slice(0, 25), table.slice(25))):
        pq.write_table(part, tmp_path / f"{i}.parquet")
    scan = lk.scan(str(tmp_path / "*.parquet"), target="y", **({} if w is None else {"weight": "w"}))
    from_files = lk.LinearDiscriminantAnalysis().fit(scan)
    np.testing.assert_allclose(
        from_files.coef_, whole.coef_, rtol=1e-9, atol=1e-9 * np.abs(whole.coef_).max()
    )
    np.testing.assert_allclose(
        from_files.predict_proba(scan), whole.predict_proba(X), rtol=1e-9, atol=1e-12
    )


def test_weights_mean_repetition():
    X, y, w = rows()
    weighted = lk.LinearDiscriminantAnalysis().fit(X, y, w)
    at = np.repeat(np.arange(N), w.astype(int))
    assert_same(lk.LinearDiscriminantAnalysis().fit(X[at], y[at]), weighted, X)


def test_rows_become_a_scatter_when_they_are_as_many_as_columns():
    X, y, _ = rows(n=400)
    whole, in_steps = lk.LinearDiscriminantAnalysis().fit(X, y), lk.LinearDiscriminantAnalysis()
    for at in np.array_split(np.arange(400), 9):
        in_steps.partial_fit(X[at], y[at], classes=np.arange(K))
    assert in_steps._statistics.whole.scatter is not None
    assert_same(in_steps, whole, X)


def test_saved_models_go_on_where_they_were(tmp_path):
    X, y, _ = rows()
    model = lk.LinearDiscriminantAnalysis().fit(X[:40], y[:40])
    lk.save(model, tmp_path / "m.lk")
    back = lk.load(tmp_path / "m.lk")
    np.testing.assert_array_equal(back.predict_proba(X), model.predict_proba(X))
    assert_same(back.partial_fit(X[40:], y[40:]), lk.LinearDiscriminantAnalysis().fit(X, y), X)


def test_questions_have_the_answers_that_a_covariance_gives():
    X, y, w = rows()
    ours, theirs = densities(X, y, w)
    near = {"rtol": 1e-8, "atol": 1e-8 * np.abs(theirs.cov).max()}
    np.testing.assert_allclose(ours.cov, theirs.cov, **near)
    np.testing.assert_allclose(ours.variances, theirs.variances)
    assert ours.rank == theirs.rank == len(ours.whitening)
    F = ours._factors.F
    np.testing.assert_allclose(F @ F.T, theirs.cov, **near)
    np.testing.assert_allclose(ours.whitening @ theirs.cov @ ours.whitening.T, np.eye(ours.rank), atol=1e-8)
    np.testing.assert_allclose(ours.whitened(ours.mean), ours.mean @ ours.whitening.T, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(ours.directions(np.eye(ours.rank)), ours.whitening, rtol=1e-6, atol=1e-9)
    some, rest = np.arange(0, 20), np.arange(20, P)
    for columns in (some, rest):
        np.testing.assert_allclose(ours.marginal(columns).cov, theirs.marginal(columns).cov, **near)
    given = dict.fromkeys(range(20), 90.0)
    a, b = ours.condition(given), theirs.condition(given)
    np.testing.assert_allclose(a.params.cov, b.params.cov, rtol=1e-6, atol=1e-7 * np.abs(theirs.cov).max())
    np.testing.assert_allclose(a.params.mean, b.params.mean, rtol=1e-7)
    np.testing.assert_allclose(a.log_given, b.log_given, rtol=1e-8)


def test_missing_cells_of_rows_to_answer_are_integrated_out():
    X, y, _ = rows()
    G = np.where(np.random.default_rng(3).random(X.shape) < 0.02, np.nan, X)
    ours, theirs = densities(X, y)
    P_ = np.full((N, K), 1 / K)
    Z = np.empty((2, N, K))
    for params, z in zip((ours, theirs), Z, strict=True):
        params.scores().write(lk.data.Chunk(lk.data.Dense(G)), z)
    np.testing.assert_allclose(Z[0], Z[1], rtol=1e-8)
    np.testing.assert_allclose(ours.fill(G, P_), theirs.fill(G, P_), rtol=1e-7)
    np.testing.assert_allclose(ours.parts(G), theirs.parts(G), rtol=1e-6, atol=1e-6)


def test_missing_cells_of_training_rows_are_as_in_a_covariance():
    X, y, _ = rows(n=120, p=70)
    X[:5, 3] = np.nan
    ours = lk.LinearDiscriminantAnalysis().fit(X, y)
    theirs = lk.LinearDiscriminantAnalysis(solver="lsqr").fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-6, atol=1e-9)


def test_directions_that_all_but_vanish_are_left_out():
    X, y, _ = rows()
    X[:, 1] = X[:, 0] * (1 + 1e-9)
    X[1] = X[0] + 1e-9 * X[1]
    X[:, 2] = 5.0
    y[1] = y[0]
    with pytest.warns(lk.DegenerateWarning, match="constant: x2|constant: 2"):
        model = lk.LinearDiscriminantAnalysis().fit(X, y)
    ours, theirs = densities(X, y)
    assert ours.rank == theirs.rank == model._model.params.rank < N - K
    assert np.isfinite(model.predict_proba(X)).all()


MEMORY = """
import resource, sys, warnings
import numpy as np
import likelier as lk
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X, y = rng.normal(size=(100, 12000)), rng.integers(0, 2, 100)
lk.LinearDiscriminantAnalysis().fit(X[:20, :100], y[:20]).predict(X[:20, :100])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
lk.LinearDiscriminantAnalysis().fit(X, y).predict_proba(X)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss has another unit elsewhere")
def test_memory_is_that_of_the_rows():
    found = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True)
    assert int(found.stdout) < 200_000  # KB; X has 9600, and a covariance of its columns 1 150 000
