"""The laws of a batch solver: one optimum, whoever finds it, and an honest account of the way there."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.svm import SVC

import likelier as lk
from laws.generators import SEEDS
from likelier.choose_solver import SOLVER_SPECS, chosen
from likelier.data import CSR, Arrays, Chunk, NonFinite, Source, block
from likelier.engines import run
from likelier.losses import Loss, criterion, hinge, logistic, softmaxed, squared, squared_hinge
from likelier.objective import Objective, shift_of
from likelier.penalties import ElasticNet, Penalty
from likelier.solvers import Iterate, Solution, gradient, newton, run_solver
from likelier.solvers.newton import Pairs
from likelier.states import Expansion, MaxRowSum, ScalingSums, Setting

# A new batch solver of smooth problems joins here.
EXACT = ["newton", "newton-cg", "lbfgs", "cg", "gradient"]
FIRST_ORDER = ["cg", "gradient"]
BATCH = [*EXACT, "iterative-scaling"]
every_exact = pytest.mark.parametrize("name", EXACT)
every_batch = pytest.mark.parametrize("name", BATCH)
few = settings(max_examples=max(5, settings.default.max_examples // 3))


# ---- problems ------------------------------------------------------------------------------------
def objective_of(
    X: Any, y: Any, loss: Loss, l2: float, *, w: Any = None, offset: Any = None, intercept: bool = True
) -> Objective:
    K = int(y.max()) + 1
    source = Arrays(X if isinstance(X, CSR) else block(X), y.astype(np.int32), w, offset=offset)
    q, p = (K if loss.by_class else 1), source.p
    shift = shift_of(source) if intercept else np.zeros(p)
    n = float(len(y) if w is None else w.sum())
    return Objective(source, Setting(loss, q, shift), ElasticNet.of(q, p, l2, 0.0), n, intercept)


MODELS: list[tuple[Loss, int]] = [(logistic, 2), (softmaxed, 3), (softmaxed, 10)]  # of probabilities
KINDS = [*MODELS, (squared_hinge, 2), (squared, 2)]
TRAITS = ["plain", "units", "twins", "far", "wide"]


@st.composite
def problems(draw: st.DrawFn, kinds: Any = KINDS, traits: Any = TRAITS) -> Objective:
    """Rows of random classes: any units, columns twice, far from 0, or more columns than rows."""
    loss, K = draw(st.sampled_from(kinds))
    trait = draw(st.sampled_from(traits))
    rng = np.random.default_rng(draw(SEEDS))
    n, p = (12, 20) if trait == "wide" else (draw(st.integers(30, 200)), draw(st.integers(1, 6)))
    y = rng.permutation(np.arange(n) % K)
    X = rng.standard_normal((n, p)) + rng.standard_normal((K, p))[y]
    if trait == "units":
        X *= 10 ** rng.uniform(-6, 6, p)
    if trait == "twins":
        X = np.hstack([X, X])
    if trait == "far":
        X += 1e6
    intercept = trait == "far" or draw(st.booleans())
    w = rng.uniform(0.1, 3, n) if draw(st.booleans()) else None
    shape = (n,) if not loss.by_class else (n, K)
    offset = rng.standard_normal(shape) if draw(st.booleans()) else None
    l2 = 10 ** draw(st.floats(-6, 0))
    return objective_of(X, y, loss, l2, w=w, offset=offset, intercept=intercept)


def solved(name: str, objective: Objective, *, tol: float = 1e-6, max_iter: int = 5000) -> Solution:
    method = SOLVER_SPECS[name].make(0, 1e-6)
    return run_solver(method, objective, np.zeros(objective.size), tol=tol, max_iter=max_iter)


def minimum(objective: Objective) -> Iterate:
    """By Newton's method, until rounding stops it."""
    return run_solver(newton, objective, np.zeros(objective.size), tol=1e-12, max_iter=200).last


# ---- the optimum ---------------------------------------------------------------------------------
@every_exact
@few
@given(objective=problems())
def test_every_solver_reaches_the_optimum(name, objective):
    found, best = solved(name, objective), minimum(objective)
    gap = found.last.value - best.value
    if name in FIRST_ORDER and not found.converged:
        # Where all rows are fitted, H is l2 at the least and M is not: steps are counted in thousands.
        assert found.reason.startswith("max_iter=5000 ")
        assert gap <= 1e-5
        return
    assert found.converged, found.reason
    assert gap <= 1e-8 * max(1.0, best.value)
    _, g, H = objective.hessian(found.last.theta)
    units = np.sqrt(np.diagonal(H))
    decrement = g / units @ np.linalg.lstsq(H / np.outer(units, units), g / units)[0]
    assert decrement <= 1e-7
    if not objective.intercept:
        assert not found.last.theta.reshape(objective.setting.q, -1)[:, -1].any()


@every_exact
def test_sparse_rows_of_more_columns_than_a_matrix_may_have(name, monkeypatch):
    """Where the metric is a diagonal, and there is no Hessian but for the judge."""
    monkeypatch.setattr("likelier.objective.FULL_METRIC", 10)
    rng = np.random.default_rng(0)
    X = sparse.random_array((300, 40), density=0.1, rng=rng, format="csr")
    y = (X @ rng.standard_normal(40) + rng.standard_normal(300) > 0).astype(int)
    rows = CSR(X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32), 40)
    objective = objective_of(rows, y, logistic, 1e-3)
    found = solved(name, objective)
    assert found.converged
    assert found.last.value - minimum(objective).value <= 1e-9


@every_batch
def test_files_are_rows_like_any_others(name, tmp_path):
    """Weights from Parquet, in several parts, are those from arrays."""
    X, y = load_iris(return_X_y=True)
    table = pa.table({f"x{j}": X[:, j] for j in range(4)} | {"y": y})
    pq.write_table(table, tmp_path / "iris.parquet", row_group_size=40)
    tol = 3e-2 if name == "iterative-scaling" else 1e-7
    model = lk.LogisticRegression(solver=name, tol=tol, max_iter=1000)
    read = model.fit(lk.scan(tmp_path / "iris.parquet", target="y"))
    W, b, steps = read.coef_, read.intercept_, read.n_iter_
    model.fit(X, y)
    np.testing.assert_allclose(W, model.coef_, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(b, model.intercept_, rtol=1e-4, atol=1e-6)
    assert steps > 0


# ---- the account ---------------------------------------------------------------------------------
@every_batch
@pytest.mark.parametrize("K", [2, 3])
def test_the_trace_says_what_happened(name, K):
    X, y = load_wine(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    objective = objective_of(X[y < K], y[y < K], logistic if K == 2 else softmaxed, 1e-2)
    seen = []
    method, start = SOLVER_SPECS[name].make(0, 1e-3), np.zeros(objective.size)
    how: dict[str, Any] = {"tol": 1e-3, "max_iter": 3000}
    found = run_solver(method, objective, start, **how, watch=lambda k, at: seen.append((k, at.value)))
    assert found.converged
    assert "<= tol" in found.reason
    F, norm, step = found.trace.T
    assert seen == list(enumerate(F))
    assert len(F) == found.iterations + 1
    assert F[0] == pytest.approx(np.log(K))
    # Truncated Newton passes over rows in single precision where the gradient it asks for allows that.
    rel = 1e-7 if name == "newton-cg" else 1e-14
    assert F[-1] == found.last.value == pytest.approx(objective.value(found.last.theta[None])[0], rel=rel)
    assert norm[-1] <= 1e-3 < norm[:-1].min()
    assert step[0] == 0 < step[1:].min()
    assert (np.diff(F) < 1e-15).all()  # all of these descend
    short = run_solver(method, objective, start, tol=1e-3, max_iter=2)
    assert (short.iterations, short.converged) == (2, False)
    assert short.reason.startswith("max_iter=2 steps done, gradient norm ")
    np.testing.assert_array_equal(short.trace, found.trace[:3])


@every_batch
def test_no_step_is_asked_for_and_none_is_made(name):
    X, y = load_iris(return_X_y=True)
    objective = objective_of(X, y, softmaxed, 1e-2)
    found = solved(name, objective, max_iter=0)
    assert found.iterations == 0
    np.testing.assert_array_equal(found.last.theta, 0)
    assert objective.passes <= 3


@every_batch
def test_where_rounding_ends_it_the_reason_says_so(name):
    X, y = load_iris(return_X_y=True)
    found = solved(name, objective_of(X[:100], y[:100], logistic, 1.0), tol=0.0, max_iter=3000)
    assert not found.converged or found.last.norm == 0
    assert "rounding" in found.reason or "max_iter" in found.reason or found.converged
    assert found.last.norm <= 1e-6


@every_batch
def test_an_interrupt_leaves_the_estimator_as_it_was(name, monkeypatch):
    X, y = load_iris(return_X_y=True)
    model = lk.LogisticRegression(solver=name, max_iter=1000, tol=1e-2).fit(X[:100], y[:100])
    earlier = 0 if name == "newton-cg" else 3  # passes: of rows in memory it asks for one, at its end
    before, left = dict(vars(model)), iter([False] * earlier + [True])
    state = ScalingSums if name == "iterative-scaling" else Expansion
    absorb = state.update

    def update(self: Any, chunk: Chunk) -> None:
        if next(left):
            raise KeyboardInterrupt
        absorb(self, chunk)

    monkeypatch.setattr(state, "update", update)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert vars(model) == before
    monkeypatch.undo()
    assert model.predict(X[:100]).tolist() == y[:100].tolist()


@every_batch
def test_the_same_run_gives_the_same_bits(name):
    X, y = load_wine(return_X_y=True)
    objective = objective_of(X, y, softmaxed, 1e-3)
    first, second = (solved(name, replace(objective), tol=1e-3, max_iter=50) for _ in range(2))
    np.testing.assert_array_equal(first.trace, second.trace)
    np.testing.assert_array_equal(first.last.theta, second.last.theta)


@pytest.mark.parametrize("name", [name for name in BATCH if name != "gradient"])
def test_a_loss_with_a_corner_is_refused_with_those_that_can(name):
    objective = objective_of(np.eye(4), np.array([0, 1, 0, 1]), hinge, 1e-2)
    with pytest.raises(ValueError, match=r"does not fit here: .*Those that do: .*gradient"):
        chosen(name, objective)
    assert chosen("gradient", objective).name == "gradient"


def test_iterative_scaling_is_for_probabilities():
    with pytest.raises(ValueError, match="losses log_loss, softmax"):
        chosen("iterative-scaling", objective_of(np.eye(4), np.array([0, 1, 0, 1]), squared_hinge, 1e-2))


# ---- passes --------------------------------------------------------------------------------------
def test_pairs_of_lbfgs_turn_a_gradient_as_two_loops_do():
    """(Nocedal & Wright, algorithm 7.4), also after the oldest pairs were dropped."""
    rng, m, memory = np.random.default_rng(0), 30, 5
    A = rng.normal(size=(m, m))
    A = A @ A.T + np.eye(m)
    M = np.diagonal(A)
    pairs, kept = Pairs(m, memory), []
    for _ in range(4 * memory + 3):
        s, g = rng.normal(size=(2, m))
        pairs.add(s, A @ s, A @ s / M)
        kept = [*kept, (s, A @ s)][-memory:]
        q, alphas = g.copy(), []
        for s, r in reversed(kept):
            alphas.append(s @ q / (s @ r))
            q -= alphas[-1] * r
        s, r = kept[-1]
        B = q / M * (s @ r) / (r @ (r / M))
        for (s, r), alpha in zip(kept, reversed(alphas), strict=True):
            B += (alpha - r @ B / (s @ r)) * s
        np.testing.assert_allclose(pairs.turned(g, g / M), B, rtol=1e-8, atol=1e-10)


def test_lbfgs_needs_few_passes():
    """Correlated columns, condition 1e4: in the metric that is no matter, and a step is a pass."""
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.standard_normal((30, 30)))[0]
    X = rng.standard_normal((2000, 30)) * np.logspace(0, -2, 30) @ turn
    z = X @ rng.standard_normal(30)
    y = (2 * z / z.std() - 3 + rng.logistic(size=2000) > 0).astype(int)
    objective = objective_of(X, y, logistic, 1 / 2000)
    found = solved("lbfgs", objective, tol=1e-3, max_iter=100)
    passes = objective.passes
    assert found.converged
    assert found.last.value - minimum(objective).value < 1e-6
    assert passes <= 13
    assert passes <= found.iterations + 4


# ---- gradient descent ----------------------------------------------------------------------------
@dataclass
class Parabola:
    """θ², in a metric."""

    M: float = 2.0
    penalty: Penalty = ElasticNet(np.zeros(1), np.zeros(1))  # noqa: RUF009
    size: int = 1

    def value(self, thetas: Any) -> Any:
        return thetas[:, 0] ** 2

    def gradient(self, theta: Any) -> tuple[float, Any]:
        return float(theta[0] ** 2), 2 * theta

    def hessian(self, theta: Any) -> tuple[float, Any, Any]:
        return (*self.gradient(theta), np.full((1, 1), 2.0))

    def product(self, theta: Any, v: Any) -> Any:
        return 2 * v

    def metric(self) -> Any:
        return self

    bounds = True

    def solve(self, g: Any) -> Any:
        return g / self.M


def thetas(iterates: Iterator[Iterate], count: int) -> list[float]:
    return [float(at.theta[0]) for _, at in zip(range(count), iterates, strict=False)]


def test_gradient_descent_worked_by_hand():
    """θ² from -1 with η = 0.2: -0.6, then -0.36; with the step of its curvature, 0 at once."""
    start, fixed = np.array([-1.0]), Parabola(M=5.0)  # η = 1 in this metric is 0.2
    assert thetas(gradient(fixed, start), 3) == pytest.approx([-1, -0.6, 0])
    at = start
    for expected in (-0.6, -0.36):
        at = np.array(thetas(gradient(fixed, at), 2)[1:])
        assert at[0] == pytest.approx(expected)
    assert thetas(gradient(Parabola(), start), 2) == pytest.approx([-1, 0])


@pytest.mark.parametrize("name", ["bc", "iris", "noise"])
def test_subgradient_descent_approaches_the_minimum_of_the_hinge(name):
    X, y = separate(name)
    objective = objective_of(X, y, hinge, 1 / len(y))
    found = solved("gradient", objective, tol=2e-2, max_iter=3000)
    peer = SVC(kernel="linear", tol=1e-8).fit(X, y)
    w = peer.coef_[0]
    best = objective.value(np.append(w, peer.intercept_[0] + w @ objective.setting.shift)[None])[0]
    gap = found.last.value - best
    assert found.converged
    assert -1e-6 <= gap <= 1e-3
    assert gap <= 5 * found.last.norm**2 / 2  # δ is no wishful thinking
    assert (np.diff(found.trace[:, 0]) <= 0).all()  # the best so far
    assert found.last.value == pytest.approx(objective.value(found.last.theta[None])[0], rel=1e-14)


def separate(name: str) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    if name == "noise":
        X = rng.standard_normal((300, 5))
        return X, (X[:, 0] + 2 * rng.standard_normal(300) > 0).astype(int)
    X, y = load_breast_cancer(return_X_y=True) if name == "bc" else load_iris(return_X_y=True)
    X, y = (X, y) if name == "bc" else (X[y > 0], y[y > 0] - 1)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def errors(objective: Objective, theta: Any) -> int:
    source, shift = objective.source, objective.setting.shift
    assert isinstance(source, Arrays)
    z = (source.X.to_array() - shift) @ theta[:-1] + theta[-1]
    return int(((z > 0) != (source.y == 1)).sum())


def test_the_perceptron_criterion_ends_where_rows_are_told_apart():
    X, y = load_iris(return_X_y=True)
    objective = objective_of(X[:100], y[:100], criterion, 0.0)
    found = solved("gradient", objective, max_iter=500)
    assert found.converged
    assert found.last.norm == 0
    assert errors(objective, found.last.theta) == 0
    assert found.last.theta.any()


def test_the_perceptron_criterion_keeps_the_fewest_mistakes():
    X, y = separate("iris")
    objective = objective_of(X, y, criterion, 0.0)
    made = []
    for _, at in zip(
        range(300), SOLVER_SPECS["gradient"].make(0, 1e-6)(objective, np.zeros(5)), strict=False
    ):
        made.append(errors(objective, at.theta))
    assert made == sorted(made, reverse=True)
    assert made[-1] <= 2 < 50 == made[0]


# ---- iterative scaling ---------------------------------------------------------------------------
@few
@given(objective=problems(kinds=MODELS))
def test_iterative_scaling_never_climbs(objective):
    found = solved("iterative-scaling", objective, max_iter=30)
    F = found.trace[:, 0]
    assert (np.diff(F) <= 1e-15 * F[:-1] * 10).all()
    assert len(F) > 1
    assert found.converged or F[-1] < F[0] or "rounding" in found.reason
    if not objective.intercept:
        assert not found.last.theta.reshape(objective.setting.q, -1)[:, -1].any()


@pytest.mark.parametrize("kind", MODELS[:2], ids=["two classes", "three"])
def test_iterative_scaling_approaches_the_optimum_of_a_mild_problem(kind):
    loss, K = kind
    rng = np.random.default_rng(1)
    y = np.arange(200) % K
    X = rng.uniform(-1, 1, (200, 2)) + 0.5 * rng.standard_normal((K, 2))[y]
    objective = objective_of(X, y, loss, 1e-2)
    found = solved("iterative-scaling", objective, tol=1e-5, max_iter=3000)
    best = minimum(objective)
    assert found.converged
    assert found.last.value - best.value <= 1e-8
    np.testing.assert_allclose(found.last.theta, best.theta, atol=1e-4)


def test_a_step_of_iterative_scaling_balances_each_weight():
    """E⁺ e^{Mδ} - E⁻ e^{-Mδ} + λ(w + δ) = what was seen, with sums written out."""
    rng = np.random.default_rng(2)
    X, y, w = rng.standard_normal((50, 3)), rng.integers(0, 2, 50), rng.uniform(0.5, 2, 50)
    objective = objective_of(X, y, logistic, 0.1, w=w)
    method = SOLVER_SPECS["iterative-scaling"].make(0, 1e-6)
    before, after = (at.theta for _, at in zip(range(2), method(objective, np.ones(4)), strict=False))
    A = np.column_stack([X - objective.setting.shift, np.ones(50)])
    P = 1 / (1 + np.exp(-A @ before))
    up, down = (w * P / w.sum()) @ np.maximum(A, 0), (w * P / w.sum()) @ np.maximum(-A, 0)
    M, l2 = np.abs(A).sum(axis=1).max(), np.array([0.1, 0.1, 0.1, 0])
    d = after - before
    np.testing.assert_allclose(
        up * np.exp(M * d) - down * np.exp(-M * d) + l2 * after, (w * (y == 1) / w.sum()) @ A, rtol=1e-10
    )


def sums_of(source: Source, setting: Setting, theta: Any) -> list[Any]:
    halves = run(source, partial(ScalingSums.start, setting, theta))
    return [
        halves.f,
        halves.g,
        halves.up,
        halves.down,
        run(source, partial(MaxRowSum.start, setting.shift)).most,
    ]


@pytest.mark.parametrize("loss", [logistic, softmaxed], ids=["logistic", "softmax"])
def test_halves_are_sums_over_rows_in_any_layout_and_cut(loss, monkeypatch):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((60, 4)) * (rng.random((60, 4)) < 0.5)
    y = rng.integers(-1, 2 if loss is logistic else 3, 60).astype(np.int32)
    w, q = rng.integers(0, 3, 60).astype(float), (3 if loss.by_class else 1)
    setting, theta = Setting(loss, q, np.zeros(4)), rng.standard_normal((q, 5))
    whole = sums_of(Arrays(block(X), y, w), setting, theta)
    plain = run(Arrays(block(X), y, w), partial(Expansion.start, setting, theta, curved=False))
    np.testing.assert_allclose(whole[0], plain.f)
    np.testing.assert_allclose(whole[1], plain.g)
    counts = np.where(y >= 0, w, 0).astype(int)
    repeated = Arrays(block(np.repeat(X, counts, axis=0)), np.repeat(y, counts))
    found = sparse.csr_array(X)
    rows = CSR(found.data, found.indices.astype(np.int32), found.indptr.astype(np.int32), 4)
    monkeypatch.setattr("likelier.data.chunk.PART_BYTES", 200)
    for source in (repeated, Arrays(rows, y, w), Arrays(block(np.asfortranarray(X)), y, w)):
        for one, other in zip(sums_of(source, setting, theta), whole, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("layout", ["dense", "sparse"])
def test_halves_refuse_cells_that_are_no_numbers(layout):
    X = np.eye(3)
    X[1, 1] = np.nan
    found = sparse.csr_array(X)
    rows = CSR(found.data, found.indices, found.indptr, 3) if layout == "sparse" else block(X)
    chunk = Chunk(rows, np.array([0, 1, 0], dtype=np.int32), first=10)
    setting = Setting(logistic, 1, np.zeros(3))
    for state in (ScalingSums.start(setting, np.zeros((1, 4))), MaxRowSum.start(setting.shift)):
        with pytest.raises(NonFinite) as caught:
            state.update(chunk)
        assert (caught.value.row, caught.value.column) == (11, 1)


# ---- equivalences --------------------------------------------------------------------------------
@given(seed=SEEDS)
def test_newtons_step_is_weighted_least_squares(seed):
    """θ - H⁻¹g is least squares with weights D = P(1 - P) to the working response z + (t - P) / D."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((80, 3)), rng.permutation(np.arange(80) % 2)
    objective = objective_of(X, y, logistic, 0.0)
    start = 0.3 * rng.standard_normal(4)
    iterates = newton(objective, start)
    next(iterates)
    ahead = next(iterates)
    A = np.column_stack([X - objective.setting.shift, np.ones(80)])
    z = A @ start
    P = 1 / (1 + np.exp(-z))
    D = P * (1 - P)
    root = np.sqrt(D)
    exact = np.linalg.lstsq(root[:, None] * A, root * (z + (y - P) / D))[0]
    np.testing.assert_allclose(ahead.theta, start + ahead.step * (exact - start), rtol=1e-8, atol=1e-10)


def test_boundaries_of_lda_and_logistic_regression_agree_as_rows_grow():
    """Gaussian classes with one covariance: both estimate the same w, b; the distance shrinks as 1/√n."""
    rng = np.random.default_rng(4)
    mix = np.array([[1.0, 0.0, 0.0], [0.5, 1.0, 0.0], [-0.3, 0.2, 0.8]])
    apart = []
    for n in (300, 3000, 30000, 300000):
        y = rng.integers(0, 2, n)
        X = rng.standard_normal((n, 3)) @ mix.T + np.array([1.0, -0.5, 0.5]) * y[:, None]
        models = lk.LogisticRegression(C=np.inf), lk.LinearDiscriminantAnalysis()
        one, other = (np.append(model.fit(X, y).coef_[0], model.intercept_) for model in models)
        apart.append(np.linalg.norm(one - other))
    assert apart[-1] < 0.01
    assert apart[-1] < 0.2 * apart[0]
