"""The laws of averaged steps: one average, whoever takes them; from there the optimum, in few passes."""

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import SGDClassifier as Theirs

import likelier as lk
from laws.generators import SEEDS
from likelier.choose_solver import chosen
from likelier.data import Arrays, Chunk, Part, Source, block
from likelier.data.dask import collected
from likelier.data.transforms import StridedParts, Wrapped
from likelier.engines import run, serial
from likelier.estimators.discriminative.sgd import PartSGDState
from likelier.estimators.discriminative.sgd_base import OneVsRest, SGDState
from likelier.estimators.online.classifier import TrainedParts
from likelier.estimators.online.rows import BatchReader
from likelier.losses import Loss, hinge, logistic, softmaxed, squared_hinge
from likelier.objective import Objective, shift_of
from likelier.penalties import ElasticNet
from likelier.row_solvers import AveragedSGD, begun
from likelier.row_solvers.sklearn_sgd import SGDSettings
from likelier.solve import Terms, solve
from likelier.states import ColumnPowers, Setting
from likelier.streams.model import Online

CUTS = st.lists(st.integers(1, 59), min_size=1, max_size=4, unique=True).map(sorted)


@dataclass(frozen=True)
class Away(Wrapped):
    """Rows that are not in memory, in so many parts: it counts how often they are read."""

    pieces: int
    read: list[int]

    def parts(self, state_bytes: int) -> Sequence[Part]:
        assert isinstance(self.source, Arrays)
        n = len(self.source)
        cuts = [n * i // self.pieces for i in range(self.pieces + 1)]
        return [partial(self._read, *ends) for ends in pairwise(cuts)]

    def _read(self, start: int, stop: int) -> Iterator[Chunk]:
        self.read.append(stop - start)
        (whole,) = self.source.parts(1 << 40)[0]()
        yield whole.take(slice(start, stop))


def rows(seed: int, n: int = 60, p: int = 3, K: int = 2) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    W = rng.standard_normal((K, p))
    return X, (X @ W.T + rng.gumbel(size=(n, K))).argmax(axis=1)


def posed(X: Any, y: Any, loss: Loss, pieces: int, *, l2: float = 1e-3, l1: float = 0.0) -> Objective:
    near = Arrays(block(X), y.astype(np.int32))
    source: Source = Away(near, pieces, []) if pieces else near
    q = int(y.max()) + 1 if loss.by_class else 1
    penalty = ElasticNet.of(q, source.p, l2, l1)
    return Objective(source, Setting(loss, q, shift_of(near)), penalty, float(len(y)))


def passes(objective: Objective) -> float:
    """Over the rows, since this was asked last."""
    assert isinstance(objective.source, Away)
    found = sum(objective.source.read) / objective.n
    objective.source.read.clear()
    return found


# ---- the state -------------------------------------------------------------------------------------
def of_steps(X: Any, y: Any) -> Any:
    objective = posed(X, y, logistic, 0)
    theta = np.full(objective.size, 0.1)
    return partial(
        AveragedSGD.start, objective.setting, objective.penalty, theta
    ), lambda state: state.theta


def of_sgd_state(X: Any, y: Any, course: SGDSettings) -> Any:
    q, width = 1, X.shape[1] + 1
    mean = np.zeros((q, width)) if course.average else None
    squares = np.zeros((q, width)) if course.rate == "adagrad" else None
    begun = SGDState(np.full((q, width), 0.1), mean, squares, 1.0, np.zeros(2), 0)
    return (
        partial(PartSGDState.start, OneVsRest(course, 2, False, None, 1), begun, 3),
        lambda state: np.concatenate(
            [
                np.ravel(each)
                for each in vars(state.epochs_result.state).values()
                if each is not None and not isinstance(each, str)
            ]
        ),
    )


def of_online(X: Any, y: Any) -> Any:
    model = Online(lk.OnlineClassifier(bits=6)._settings(), [0, 1])
    names = tuple(str(j) for j in range(X.shape[1]))
    start = partial(TrainedParts.start, BatchReader(names, np.array([0, 1], dtype=np.int32)), model)
    return start, lambda state: state.model.state()["table"]


KINDS = {
    "steps": (of_steps, 1e-12),
    "strides": (partial(of_sgd_state, course=SGDSettings("hinge", average=1)), 1e-12),
    "adagrad": (partial(of_sgd_state, course=SGDSettings("log_loss", "adagrad", average=1)), 1e-12),
    "online": (of_online, 1e-5),  # in single precision
}
every_kind = pytest.mark.parametrize("kind", KINDS)


def states_of(kind: str, seed: int, cuts: list[int]) -> tuple[list[Any], Any, Any, float]:
    X, y = rows(seed)
    make, exact = KINDS[kind]
    start, seen = make(X, y)
    states = []
    for a, b in pairwise([0, *cuts, 60]):
        state = start()
        state.update(Chunk(block(X[a:b]), y[a:b].astype(np.int32), None, a))
        states.append(state)
    return states, start, seen, exact


@every_kind
@given(seed=SEEDS, cuts=CUTS)
def test_averages_merge_in_any_order(kind, seed, cuts):
    states, start, seen, exact = states_of(kind, seed, cuts)
    left = start()  # an identity
    for state in states:
        left.merge(copy.deepcopy(state))
    right = copy.deepcopy(states[-1])
    for state in reversed(states[:-1]):
        right.merge(copy.deepcopy(state))
    np.testing.assert_allclose(seen(left), seen(right), rtol=exact, atol=exact)


@given(seed=SEEDS, cuts=CUTS)
def test_an_average_is_the_mean_by_what_each_part_knows(seed, cuts):
    X, y = rows(seed)
    X[: cuts[0], 1] = 0.0  # a column that the first part never meets
    objective = posed(X, y, logistic, 0)
    setting = replace(objective.setting, shift=np.zeros(3))
    theta = np.full(objective.size, 0.1)
    top, below = np.zeros(4), np.zeros(4)
    whole = AveragedSGD.start(setting, objective.penalty, theta)
    for a, b in pairwise([0, *cuts, 60]):
        chunk = Chunk(block(X[a:b]), y[a:b].astype(np.int32), None, a)
        part = AveragedSGD.start(setting, objective.penalty, theta)
        part.update(chunk)
        alone = part.theta[0]
        known = np.append((X[a:b] ** 2).sum(axis=0), b - a)
        top, below = top + known * alone, below + known
        whole.merge(part)
    np.testing.assert_allclose(whole.theta[0], top / below, rtol=1e-12)
    assert whole.steps == 60 // (len(cuts) + 1)


def test_one_part_is_a_descent_in_an_order_of_its_own():
    X, y = rows(0)
    objective = posed(X, y, logistic, 0)
    one = AveragedSGD.start(objective.setting, objective.penalty, np.zeros(4), seed=5)
    chunk = Chunk(block(X), y.astype(np.int32), None, 0)
    one.update(chunk)
    other = AveragedSGD.start(objective.setting, objective.penalty, np.zeros(4), seed=6)
    other.update(chunk)
    assert not np.allclose(one.theta, other.theta)
    assert one.descent.steps == 60
    np.testing.assert_allclose(one.theta, one.descent.mean, rtol=1e-15)


def test_a_column_that_no_part_meets_stays_where_it_was():
    X, y = rows(0)
    X[:, 1] = 0.0
    objective = posed(X, y, logistic, 4)
    theta = np.array([0.0, 7.0, 0.0, 0.0])
    none = ElasticNet(np.zeros(4), np.zeros(4))
    found = run(
        objective.source,
        partial(AveragedSGD.start, replace(objective.setting, shift=np.zeros(3)), none, theta),
    )
    assert found.theta[0, 1] == 7.0
    assert found.theta[0, 0] != 0.0


@every_kind
def test_threads_are_serial_bit_for_bit(kind):
    X, y = rows(1)
    make, _ = KINDS[kind]
    start, seen = make(X, y)
    source = posed(X, y, logistic, 7).source
    np.testing.assert_array_equal(seen(run(source, start)), seen(serial(source, start)))


# ---- the way to the optimum ------------------------------------------------------------------------
@pytest.fixture
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is done for many rows is done for a thousand."""
    monkeypatch.setattr("likelier.solve.MANY", 1000)
    monkeypatch.setattr(import_module("likelier.row_solvers.averaged"), "MANY", 1000)


def wide(seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = sparse.random(2000, 3000, 0.01, "csr", rng=rng)
    return X, (X @ rng.standard_normal(3000) + 0.1 * rng.logistic(size=2000) > 0).astype(int)


PROBLEMS = {
    "two classes": (lambda: rows(0, 8000, 10), logistic),
    "seven": (lambda: rows(1, 16000, 6, 7), softmaxed),
    "margins": (lambda: rows(2, 8000, 10), squared_hinge),
    "wide": (lambda: wide(3), logistic),
}


WAYS = [(name, solver) for name in PROBLEMS for solver in ("auto", "newton", "lbfgs", "sgd")]
WAYS.remove(("wide", "newton"))  # a Hessian of 3001 weights takes long


@pytest.mark.parametrize(("name", "solver"), WAYS)
def test_rows_that_are_away_lead_to_the_same_optimum(name, solver, few_are_many):
    make, loss = PROBLEMS[name]
    X, y = make()
    near, away = posed(X, y, loss, 0), posed(X, y, loss, 32)
    nil, terms = np.zeros(near.size), Terms(1e-9, 1000)
    expected = solve(near, nil, chosen("newton" if name != "wide" else "lbfgs", near), terms)
    found = solve(away, nil, chosen(solver, away), terms)
    assert found.converged or "rounding" in found.reason
    size = np.linalg.norm(expected.last.theta)
    assert np.linalg.norm(found.last.theta - expected.last.theta) <= 1e-6 * size
    begun = "averaged" if name == "wide" or solver == "sgd" else "the solution for one of 16 parts"
    assert begun in found.why


@pytest.mark.parametrize("solver", ["newton", "lbfgs"])
def test_a_start_saves_passes(solver, few_are_many):
    away = posed(*rows(0, 20000, 10), logistic, 64)
    nil = np.zeros(away.size)
    solve(away, nil, chosen(solver, away), Terms(1e-4, 100, fresh=False))
    without = passes(away)
    vars(away).pop("_metric", None)
    solve(away, nil, chosen(solver, away), Terms(1e-4, 100))
    assert passes(away) <= 0.75 * without


def test_where_rows_are_few_for_the_weights_one_pass_finds_start_and_metric(few_are_many):
    X, y = wide(0)
    near, away = posed(X, y, logistic, 0), posed(X, y, logistic, 8)
    choice = chosen("auto", away)
    assert (choice.name, choice.then) == ("lbfgs", "")
    start, said = begun(away, np.zeros(away.size), measured=True)
    g = np.arange(away.size) + 1.0
    np.testing.assert_allclose(away.metric().solve(g), near.metric().solve(g), rtol=1e-12)
    assert said == "averaged steps"
    assert passes(away) == 1
    assert near.value(start[None])[0] < 0.9 * np.log(2)


@pytest.mark.parametrize("one_class", [False, True])
def test_parts_that_mislead_change_no_optimum(one_class, few_are_many, monkeypatch):
    X, y = rows(0, 8000, 4)
    order = np.argsort(y, kind="stable")
    if one_class:
        monkeypatch.setattr(StridedParts, "kept", lambda self, parts: parts[:2])
    near, away = posed(X, y, logistic, 0), posed(X[order], y[order], logistic, 32)
    away.setting = near.setting
    nil, terms = np.zeros(near.size), Terms(1e-8, 100)
    found = solve(away, nil, chosen("newton", away), terms)
    expected = solve(near, nil, chosen("newton", near), terms)
    np.testing.assert_allclose(found.last.theta, expected.last.theta, rtol=1e-6)
    assert ("begun" in found.why) != one_class


def test_some_parts_are_not_read():
    away = posed(*rows(0, 640), logistic, 64).source
    some = StridedParts(away, 16)
    assert len(some.parts(0)) == 4
    assert [chunk.first for part in some.parts(0) for chunk in part()] == [80, 240, 400, 560]
    assert away.read == [10] * 4
    assert len(StridedParts(posed(*rows(0), logistic, 3).source, 16).parts(0)) == 1


def test_l1_goes_on_by_proximal_steps():
    X, y = rows(4, 2000, 12)
    near, away = (posed(X, y, logistic, pieces, l2=0.0, l1=0.02) for pieces in (0, 8))
    nil = np.zeros(near.size)
    choice = chosen("sgd", away)
    assert choice.name == "averaged"
    assert "proximal" in choice.why
    found = solve(away, nil, choice, Terms(1e-8, 100))
    expected = solve(near, nil, chosen("proximal", near), Terms(1e-9, 100))
    np.testing.assert_allclose(found.last.theta, expected.last.theta, rtol=1e-5, atol=1e-8)
    assert (found.last.theta == 0).any()


def test_a_corner_is_met_by_epochs_of_averaged_steps():
    X, y = rows(5, 4000, 5)
    near, away = posed(X, y, hinge, 0), posed(X, y, hinge, 8)
    nil = np.zeros(near.size)
    choice = chosen("sgd", away)
    found = solve(away, nil, choice, Terms(1e-4, 100))
    assert choice.why.endswith("epochs of averaged steps")
    assert found.last.stuck
    assert "gained no more" in found.reason
    assert passes(away) == found.iterations + 1  # one for each epoch
    best = solve(near, nil, chosen("smoothing", near), Terms(1e-6, 100)).last.value
    assert best <= found.last.value <= best + 5e-3
    assert found.last.value == found.trace[:, 0].min()


# ---- estimators ------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any, Path]:
    """Three classes in eight row groups."""
    X, y = rows(6, 4000, 5, 3)
    folder = tmp_path_factory.mktemp("averaged")
    names = {f"x{j}": X[:, j] for j in range(5)}
    for K in (2, 3):
        held = pa.table(names | {"y": np.minimum(y, K - 1)})
        pq.write_table(held, folder / f"{K}.parquet", row_group_size=500)
    return X, y, folder


def accuracy(model: Any, X: Any, y: Any) -> float:
    rows = pa.table({f"x{j}": X[:, j] for j in range(5)}) if hasattr(model, "feature_names_in_") else X
    return float(model.score(rows, y))


def scanned(table: Any, K: int, *, there: bool, monkeypatch: Any) -> Any:
    """there: on a cluster, run by Dask's scheduler of this thread."""
    monkeypatch.setattr("likelier.data.files.scan.PART_BYTES", 8 * 5 * 500)
    source = lk.scan(table[2] / f"{K}.parquet", target="y")
    return replace(source, cluster=dask.get) if there else source


@pytest.mark.parametrize("loss", ["log_loss", "softmax", "squared_hinge", "squared_error"])
@pytest.mark.parametrize(("K", "weight"), [(2, None), (3, "balanced")])
def test_on_a_cluster_smooth_losses_reach_their_optimum(loss, K, weight, table, monkeypatch):
    source = scanned(table, K, there=True, monkeypatch=monkeypatch)
    model = lk.SGDClassifier(loss, alpha=1e-2, tol=1e-7, class_weight=weight, random_state=0).fit(source)
    X, y = table[0], np.minimum(table[1], K - 1)
    theta = np.column_stack([model.coef_, model.intercept_])
    np.testing.assert_allclose(slope_of(X, y, loss, theta, weight), 0.0, atol=1e-6)
    assert model.stop_reason_.startswith("steps in each part, averaged, then L-BFGS: gradient norm")
    assert model.converged_
    assert model.t_ == 4001


def slope_of(X: Any, y: Any, loss: str, theta: Any, weight: Any, alpha: float = 1e-2) -> Any:
    """The gradient of Σ c ℓ / n + α |w|²/2 by each row of θ, (q, p + 1)."""
    n, K = len(X), int(y.max()) + 1
    c = n / (K * np.bincount(y)) if weight else np.ones(K)
    A = np.column_stack([X, np.ones(n)])
    Z = A @ theta.T
    if loss == "softmax" and K > 2:
        P = np.exp(Z - Z.max(axis=1, keepdims=True))
        R = c[y][:, None] * (P / P.sum(axis=1, keepdims=True) - np.eye(K)[y])
    else:
        k = np.arange(1, 2) if K == 2 else np.arange(K)
        t = np.where(y[:, None] == k, 1.0, -1.0)
        m = t * Z
        slope = {
            "squared_hinge": -2 * np.maximum(1 - m, 0),
            "squared_error": m - 1,
        }.get(loss, -1 / (1 + np.exp(m)))
        w = c[y][:, None] if K == 2 else np.where(t > 0, c[k], 1.0)
        R = w * t * slope
    penalty = alpha * theta
    penalty[:, -1] = 0
    return R.T @ A / n + penalty


def test_on_a_cluster_the_objective_is_scikit_learns(table, monkeypatch):
    source = scanned(table, 2, there=True, monkeypatch=monkeypatch)
    X, y = table[0], np.minimum(table[1], 1)
    ours = lk.SGDClassifier("log_loss", alpha=1e-2, random_state=0).fit(source)
    theirs = Theirs("log_loss", alpha=1e-2, tol=1e-6, max_iter=200, average=True, random_state=0).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=0.01)


def test_on_a_cluster_l1_leaves_few_weights(table, monkeypatch):
    source = scanned(table, 2, there=True, monkeypatch=monkeypatch)
    model = lk.SGDClassifier("log_loss", penalty="l1", alpha=0.05, tol=1e-8, random_state=0).fit(source)
    n = len(table[0])
    same = lk.LogisticRegression(l1_ratio=1.0, C=1 / (0.05 * n), tol=1e-9).fit(
        table[0], np.minimum(table[1], 1)
    )
    np.testing.assert_allclose(model.coef_, same.coef_, rtol=1e-5, atol=1e-8)
    assert "then proximal Newton" in model.stop_reason_


@pytest.mark.parametrize("loss", ["hinge", "perceptron", "modified_huber"])
def test_on_a_cluster_a_corner_is_averaged_and_said(loss, table, monkeypatch):
    source = scanned(table, 3, there=True, monkeypatch=monkeypatch)
    model = lk.SGDClassifier(loss, alpha=1e-2, average=True, random_state=0).fit(source)
    assert model.stop_reason_ == "nothing more was gained; steps in each part, averaged"
    near = lk.SGDClassifier(loss, alpha=1e-2, average=True, random_state=0).fit(table[0], table[1])
    assert accuracy(model, table[0], table[1]) > accuracy(near, table[0], table[1]) - 0.03
    assert model.n_iter_ < 50


def test_on_a_cluster_partial_fit_is_one_average(table, monkeypatch):
    source = scanned(table, 2, there=True, monkeypatch=monkeypatch)
    model = lk.SGDClassifier("log_loss", alpha=1e-2, random_state=0)
    model.partial_fit(source, classes=[0, 1]).partial_fit(source)
    assert model.stop_reason_ == "1 epochs made; steps in each part, averaged"
    assert model.t_ == 8001
    assert accuracy(model, table[0], np.minimum(table[1], 1)) > 0.6


def test_on_this_machine_files_are_stepped_through_in_their_order(table, monkeypatch):
    source = scanned(table, 2, there=False, monkeypatch=monkeypatch)
    model = lk.SGDClassifier("log_loss", random_state=0).fit(source)
    assert "averaged" not in model.stop_reason_


def test_what_does_not_converge_is_said(table, monkeypatch):
    source = scanned(table, 2, there=True, monkeypatch=monkeypatch)
    with pytest.warns(ConvergenceWarning, match="then L-BFGS: max_iter=2 steps done"):
        lk.SGDClassifier("log_loss", tol=1e-12, max_iter=2, random_state=0).fit(source)


@pytest.mark.parametrize("passes", [1, 2])
def test_online_models_learn_where_the_rows_are(passes, table, monkeypatch):
    source = scanned(table, 3, there=True, monkeypatch=monkeypatch)
    monkeypatch.setattr(TrainedParts, "nbytes", 0)
    model = lk.OnlineClassifier(bits=10, passes=passes, shuffle=False).fit(source)
    near = lk.OnlineClassifier(bits=10, passes=passes, shuffle=False).fit(table[0], table[1])
    assert accuracy(model, table[0], table[1]) > accuracy(near, table[0], table[1]) - 0.03
    assert model._model.state()["steps"] == near._model.state()["steps"] == passes * 4000
    np.testing.assert_array_equal(model._model.state()["counts"], near._model.state()["counts"])
    parts = []
    for part in source.coded(np.arange(3)).parts(0):
        for chunk in part():
            one = lk.OnlineClassifier(bits=10)
            one.partial_fit(_frame(chunk), chunk.y, classes=[0, 1, 2])
            parts.append(one)
    if passes == 1:
        same = lk.average(parts)
        np.testing.assert_allclose(
            model._model.state()["table"], same._model.state()["table"], rtol=1e-4, atol=1e-6
        )


def _frame(chunk: Chunk) -> Any:
    X = chunk.X.to_array()
    return pa.table({f"x{j}": X[:, j] for j in range(X.shape[1])})


# ---- on a real cluster -----------------------------------------------------------------------------
@pytest.mark.parametrize(
    "model",
    [
        lk.SGDClassifier("log_loss", max_iter=2, random_state=0),
        lk.SGDClassifier("hinge", max_iter=2, tol=None, random_state=0),
        lk.OnlineClassifier(bits=8, random_state=0),
    ],
    ids=repr,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_averages_are_the_same_bits_whoever_takes_the_steps(model, client, table, monkeypatch):
    here = scanned(table, 2, there=True, monkeypatch=monkeypatch)
    one, other = clone(model).fit(here), clone(model).fit(here.on(client))
    rows = pa.table({f"x{j}": table[0][:, j] for j in range(5)})
    np.testing.assert_array_equal(one.decision_function(rows), other.decision_function(rows))


SHAPES = {"dense": (9000, 50, 2), "seven": (9000, 6, 7)}


def optimum(name: str, folder: Path) -> tuple[Any, Any, Any, Any]:
    """X and y, and a source of them, or collections."""
    X, y = wide(9) if name == "wide" else rows(7, *SHAPES[name])
    if name == "wide":
        blocks = [dask.delayed(X[i : i + 250]) for i in range(0, 2000, 250)]
        arrays = [da.from_delayed(each, (250, 3000), dtype=float, meta=X[:0]) for each in blocks]
        return X, y, da.concatenate(arrays), da.from_array(y, chunks=250)
    held = {f"x{j}": X[:, j] for j in range(X.shape[1])}
    pq.write_table(pa.table(held | {"y": y}), folder / "rows.parquet", row_group_size=1000)
    return X, y, lk.scan(folder / "rows.parquet", target="y"), None


@pytest.mark.parametrize("name", ["dense", "seven", "wide"])
def test_two_workers_find_the_optimum_of_one_machine(name, client, tmp_path, few_are_many, monkeypatch):
    X, y, there, labels = optimum(name, tmp_path)
    monkeypatch.setattr("likelier.data.files.scan.PART_BYTES", 8 * X.shape[1] * 1000)  # a row group
    there = there if name == "wide" else there.on(client)
    near = lk.LogisticRegression(C=0.1, tol=1e-9, max_iter=1000).fit(X, y)
    alpha = 10 / len(y)
    with client.as_current():
        one = lk.LogisticRegression(C=0.1, tol=1e-7, max_iter=1000).fit(there, labels)
        loss = "softmax" if name == "seven" else "log_loss"
        other = lk.SGDClassifier(loss, alpha=alpha, tol=1e-7, random_state=0).fit(there, labels)
    for model in (one, other):
        far = np.linalg.norm(model.coef_ - near.coef_) / np.linalg.norm(near.coef_)
        assert far <= 1e-6, (model, far)
    begun = "averaged steps" if name == "wide" else "the solution for one of 16 parts"
    assert one.solver_reason_.endswith(f"begun at {begun}")


def test_partitions_that_are_not_wanted_are_not_computed(monkeypatch):
    X, y = rows(0, 320)
    made = []

    def piece(i: int) -> Any:
        made.append(i)
        return X[10 * i : 10 * i + 10]

    blocks = [da.from_delayed(dask.delayed(piece)(i), (10, 3), dtype=float) for i in range(32)]
    with dask.config.set(scheduler="synchronous"):
        source = collected(da.concatenate(blocks), da.from_array(y, chunks=10)).coded(np.array([0, 1]))
        found = run(StridedParts(source, 16), partial(ColumnPowers.start, np.zeros(3)))
    assert (found.n, sorted(made)) == (20, [8, 24])


# ---- rows in an order ------------------------------------------------------------------------------
def levels_and_numbers(seed: int, K: int, n: int = 4000) -> tuple[Any, Any, Any]:
    """Two numbers, the indicators of a category, and labels of K classes; and the category."""
    rng = np.random.default_rng(seed)
    g = np.minimum(rng.geometric(0.35, n) - 1, 6) if seed % 2 else rng.integers(0, 7, n)
    X = np.column_stack([rng.standard_normal((n, 2)), g[:, None] == np.arange(1, 7)]).astype(float)
    Z = X[:, :2] @ rng.standard_normal((2, K)) * [0.5, 1, 2][seed % 3] + rng.standard_normal((7, K))[g]
    return X, (Z + rng.gumbel(size=(n, K))).argmax(axis=1), g


ORDERS = {
    "none": lambda X, y, g: np.arange(len(y)),
    "category": lambda X, y, g: np.argsort(g, kind="stable"),
    "label": lambda X, y, g: np.argsort(y, kind="stable"),
    "both": lambda X, y, g: np.lexsort((y, g)),
    "number": lambda X, y, g: np.argsort(X[:, 0]),
    "size": lambda X, y, g: np.argsort(np.abs(X[:, 0])),
    "rare last": lambda X, y, g: np.argsort(g == 6, kind="stable"),
    "rare first": lambda X, y, g: np.argsort(g != 6, kind="stable"),
}
PROMISED = 1e-8  # of F - F*: "about 5e-9" at tol=1e-4


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("solver", ["auto", "newton", "lbfgs", "averaged", "newton-cg", "cg", "gradient"])
def test_what_has_converged_is_at_the_optimum_whatever_the_order_of_rows(solver, order, few_are_many):
    for seed, l2 in enumerate((0.0, 1e-6, 1e-3, 0.0, 1e-6, 1e-3)):
        K = 2 + seed % 2
        X, y, g = levels_and_numbers(seed, K)
        at = ORDERS[order](X, y, g)
        loss = logistic if K == 2 else softmaxed
        near, away = posed(X, y, loss, 0, l2=l2), posed(X[at], y[at], loss, 40, l2=l2)
        nil = np.zeros(near.size)
        best = solve(near, nil, chosen("newton", near), Terms(1e-9, 200))
        found = solve(away, nil, chosen(solver, away), Terms(1e-4, 1000))
        assert best.converged
        assert found.converged, found.reason
        assert found.last.value - best.last.value <= PROMISED, (seed, l2)


def test_an_order_of_rows_costs_lbfgs_few_passes(few_are_many):
    """With a metric of some parts, in which columns are constant, it took four to ten times as many."""
    counted = {}
    for order in ORDERS:
        X, y, g = levels_and_numbers(0, 3)
        at = ORDERS[order](X, y, g)
        away = posed(X[at], y[at], softmaxed, 40, l2=1e-6)
        solve(away, np.zeros(away.size), chosen("lbfgs", away), Terms(1e-4, 1000))
        counted[order] = passes(away)
    assert max(counted.values()) <= 2.5 * counted["none"], counted


@pytest.mark.parametrize("kind", ["array", "parquet", "csv", "dask"])
@pytest.mark.parametrize("C", [np.inf, 1.0])
def test_sorted_rows_from_any_source_are_at_the_optimum(kind, C, few_are_many, tmp_path, monkeypatch):
    X, y, g = levels_and_numbers(1, 3)
    at = np.argsort(g, kind="stable")
    X, y = X[at], y[at]
    near = lk.LogisticRegression(C=C, solver="newton", tol=1e-9).fit(X, y)
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]).assign(y=y)
    monkeypatch.setattr("likelier.data.files.scan.PART_BYTES", 8 * X.shape[1] * 100)
    monkeypatch.setattr("likelier.data.chunk.PART_BYTES", 8 * X.shape[1] * 100)
    if kind == "parquet":
        frame.to_parquet(tmp_path / "rows.parquet", row_group_size=100)
    elif kind == "csv":
        frame.to_csv(tmp_path / "rows.csv", index=False)
    there: Any = {
        "array": lambda: (X, y),
        "dask": lambda: (da.from_array(X, chunks=(100, -1)), da.from_array(y, chunks=100)),
        "parquet": lambda: (lk.scan(tmp_path / "rows.parquet", target="y"),),
        "csv": lambda: (lk.scan(tmp_path / "rows.csv", target="y"),),
    }[kind]()
    for solver in ("lbfgs", "auto"):
        model = lk.LogisticRegression(C=C, solver=solver).fit(*there)
        assert model.converged_
        assert model.trace_[-1, 0] - near.trace_[-1, 0] <= PROMISED


# ---- rare columns ----------------------------------------------------------------------------------
@pytest.mark.parametrize("pieces", [0, 40])
@pytest.mark.parametrize("solver", ["newton", "lbfgs"])
def test_columns_that_a_few_rows_do_not_tell_of_start_at_0(solver, pieces, few_are_many):
    """A column that is constant among a few rows must not become their second intercept."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        n, L = 24_000, 20
        X = np.zeros((n, 2 + L))
        X[:, :2] = rng.standard_normal((n, 2))
        where = rng.permutation(n) if seed % 2 else np.arange(n)[::-1]
        for j in range(L):
            X[where[20 * j : 20 * j + 20], 2 + j] = 1
        y = (rng.random(n) < 1 / (1 + np.exp(0.3 - X[:, 0]))).astype(int)
        fits = []
        for objective in (posed(X, y, logistic, 0, l2=0.0), posed(X, y, logistic, pieces, l2=0.0)):
            fresh = bool(fits)  # the first is begun at 0
            terms = Terms(1e-5, 100, fresh=fresh)
            fits.append(solve(objective, np.zeros(objective.size), chosen(solver, objective), terms))
            assert fits[-1].converged
        cold, warm = fits
        np.testing.assert_allclose(warm.last.theta, cold.last.theta, atol=1e-3)
        if solver == "newton":
            assert warm.iterations <= cold.iterations
