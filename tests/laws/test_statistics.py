"""The laws of Statistics, which every family's keep, and that no more is asked of a third party's."""

import copy
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
import pandas as pd
import pytest

import likelier as lk
from likelier.data import Chunk, Dense, NonFinite
from likelier.families import (
    Bernoulli,
    Beta,
    Categorical,
    Complement,
    DiagonalGaussian,
    Dirichlet,
    Exponential,
    FullGaussian,
    Gamma,
    Geometric,
    Histogram,
    Independent,
    MixedFamily,
    Multinomial,
    Poisson,
    ProductKernel,
    Range,
    TiedGaussian,
    refuse_outside,
    ridged,
)
from likelier.scores import Scores, TermWithConstant
from likelier.states import Statistics
from likelier.states.base import Scaled
from likelier.states.counts import edges_of_each

K, P, N = 3, 2, 60


# ---- a family by somebody else: all that it takes ---------------------------------------------------
@dataclass
class Squares:
    """Weight n (K,), and of each column the weight of its cells and Σ x² (K, p)."""

    n: np.ndarray
    seen: np.ndarray
    squares: np.ndarray

    @property
    def nbytes(self) -> int:
        return sum(getattr(self, each.name).nbytes for each in fields(self))

    def update(self, chunk: Chunk) -> None:
        y, X = chunk.y, chunk.X.to_array()
        w = np.ones(len(X)) if chunk.w is None else chunk.w
        refuse_outside(RAYLEIGH, chunk if y.ndim == 2 else chunk.take(np.flatnonzero(y >= 0)))
        if np.isinf(X).any():
            row, column = np.argwhere(np.isinf(X))[0]
            raise NonFinite(chunk.first + row, column, X[row, column])
        R = (y if y.ndim == 2 else y[:, None] == np.arange(len(self.n))) * w[:, None]  # (n, K)
        self.n = self.n + R.sum(axis=0)
        self.seen = self.seen + R.T @ ~np.isnan(X)
        self.squares = self.squares + R.T @ np.nan_to_num(X**2)

    def merge(self, other: Self) -> None:
        self.n, self.seen = self.n + other.n, self.seen + other.seen
        self.squares = self.squares + other.squares

    def finite(self) -> bool:
        return bool(np.isfinite(self.squares).all() and np.isfinite(self.n).all())

    def mergeable(self, other: Any) -> bool:
        return isinstance(other, Squares)

    def widened(self, K: int, at: np.ndarray) -> Self:
        new = type(self)(*(np.zeros((K, *getattr(self, f.name).shape[1:])) for f in fields(self)))
        for each in fields(self):
            getattr(new, each.name)[at] = getattr(self, each.name)
        return new


RAYLEIGH = Range("Rayleigh", "numbers from 0 on", low=0.0)


@dataclass(frozen=True)
class Term(TermWithConstant):
    by_class = ("b", "v")
    v: np.ndarray

    def write(self, chunk: Chunk, Z: np.ndarray, *, add: bool) -> None:
        with np.errstate(divide="ignore"):
            parts = Rayleighs(self.v).each(chunk.X.to_array()[:, None, :])
        Z[...] = np.nansum(parts, axis=2) + self.b + (Z if add else 0.0)


@dataclass(frozen=True)
class Rayleighs(Independent):
    """p(x) = x/v exp(-x²/2v)."""

    v: np.ndarray

    @property
    def support(self) -> Range:
        return RAYLEIGH

    @property
    def expected(self) -> np.ndarray:
        return np.sqrt(np.pi / 2 * self.v)

    def scores(self) -> Scores:
        return Scores((Term(np.zeros(len(self.v)), self.v),))

    def each(self, x: np.ndarray) -> np.ndarray:
        return np.log(x) - np.log(self.v) - x**2 / (2 * self.v)

    def sample(self, codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return rng.rayleigh(np.sqrt(self.v[codes]))


@dataclass(frozen=True)
class Rayleigh:
    """The family: what is counted, and what follows from it."""

    least: float = 1e-9

    def stats(self, K: int, p: int) -> Squares:
        return Squares(np.zeros(K), np.zeros((K, p)), np.zeros((K, p)))

    def estimate(self, stats: Squares) -> Rayleighs:
        every = stats.squares.sum(axis=0) / np.maximum(stats.seen.sum(axis=0), 1)
        own = stats.squares / np.where(stats.seen > 0, stats.seen, 1)
        return Rayleighs(np.maximum(np.where(stats.seen > 0, own, every) / 2, self.least))


# ---- every family's statistics ------------------------------------------------------------------------
def rows(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Numbers between 0 and 1, labels, and weights."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.01, 0.99, (N, P))
    return X, rng.integers(0, K, N).astype(np.int32), rng.integers(0, 4, N) / 2


def whole(X: np.ndarray) -> np.ndarray:
    return np.floor(X * 4)


def shares(X: np.ndarray) -> np.ndarray:
    return X / X.sum(axis=1, keepdims=True)


def of_histogram() -> Any:
    return Histogram(tuple(edges_of_each(rows()[0], np.ones(N), [5, 5])))


FAMILIES: dict[str, tuple[Any, Any]] = {  # a new family joins here, with rows that it takes
    "diagonal": (DiagonalGaussian(), None),
    "tied": (TiedGaussian(), None),
    "tied, of rows": (TiedGaussian(rows=True), None),
    "tied, by class": (TiedGaussian(by_class=True), None),
    "tied, auto": (TiedGaussian("auto"), None),
    "full": (FullGaussian(), None),
    "full, auto": (FullGaussian("auto"), None),
    "ridged": (ridged("diag", 1e-3), None),
    "spherical": (ridged("spherical", 1e-3), None),
    "bernoulli": (Bernoulli(1.0, 0.5), None),
    "multinomial": (Multinomial(1.0), whole),
    "complement": (Complement(1.0, False), whole),
    "poisson": (Poisson(1.0), whole),
    "geometric": (Geometric(1.0), whole),
    "exponential": (Exponential(1.0), None),
    "gamma": (Gamma(), None),
    "beta": (Beta(), None),
    "dirichlet": (Dirichlet(), shares),
    "categorical": (Categorical(None, 1.0, False, 0), whole),
    "kernel": (ProductKernel("scott"), None),
    "mixed": (MixedFamily(((np.array([1]), Gamma()), (np.array([0]), DiagonalGaussian()))), None),
    "somebody else's": (Rayleigh(), None),
}


@pytest.fixture(params=[*FAMILIES, "histogram"])
def case(request: pytest.FixtureRequest) -> tuple[Any, np.ndarray]:
    if request.param == "histogram":
        return of_histogram(), rows()[0]
    family, made = FAMILIES[request.param]
    return family, rows()[0] if made is None else made(rows()[0])


def counted(family: Any, X: np.ndarray, y: np.ndarray, w: np.ndarray, classes: int = K) -> Any:
    state = family.stats(classes, X.shape[1])
    state.update(Chunk(Dense(X), y, w))
    return state


def log_density(params: Any, X: np.ndarray) -> np.ndarray:
    Z = np.empty((len(X), params.shape[0]))
    params.scores().write(Chunk(Dense(X)), Z)
    return Z


def test_they_are_what_the_protocol_says(case):
    family, X = case
    _, y, w = rows()
    state = counted(family, X, y, w)
    assert isinstance(state, Statistics)
    np.testing.assert_allclose(state.n, np.bincount(y, w, K), rtol=1e-12)
    assert state.finite()
    assert state.nbytes >= 0
    assert not family.stats(K, P).n.any()
    assert isinstance(Scaled(np.zeros(P, dtype=np.int32), state), Statistics)


def test_what_is_merged_is_what_all_rows_have(case):
    family, X = case
    _, y, w = rows()
    total, half = counted(family, X[:25], y[:25], w[:25]), counted(family, X[25:], y[25:], w[25:])
    assert total.mergeable(half)
    kept = copy.deepcopy(half)
    total.merge(half)
    every = counted(family, X, y, w)
    np.testing.assert_allclose(total.n, every.n)
    Z = log_density(family.estimate(every), X)
    np.testing.assert_allclose(log_density(family.estimate(total), X), Z, rtol=1e-8, atol=1e-8)
    np.testing.assert_array_equal(half.n, kept.n)


def test_only_what_counts_the_same_is_mergeable(case):
    family, X = case
    _, y, w = rows()
    state = counted(family, X, y, w)
    assert not state.mergeable(None)
    for other, made in FAMILIES.values():
        like = counted(other, rows()[0] if made is None else made(rows()[0]), y, w)
        if type(like) is not type(state):
            assert not state.mergeable(like)


def test_more_classes_change_nothing_of_those_that_were_there(case):
    family, X = case
    _, y, w = rows()
    state, at = counted(family, X, y, w), np.array([0, 2, 4])
    wider = state.widened(5, at)
    np.testing.assert_array_equal(wider.n[at], state.n)
    assert not wider.n[[1, 3]].any()
    assert wider.finite()
    direct = counted(family, X, at[y].astype(np.int32), w, classes=5)
    assert state.mergeable(direct)  # how many classes there are does not matter: they are widened
    assert wider.mergeable(direct)
    np.testing.assert_allclose(wider.n, direct.n)
    both, twice = copy.deepcopy(wider), copy.deepcopy(direct)
    both.merge(direct)
    twice.merge(direct)
    np.testing.assert_allclose(both.n, twice.n)
    np.testing.assert_array_equal(state.n, counted(family, X, y, w).n)  # which stay as they are


def test_weights_beyond_all_numbers_are_found(case):
    family, X = case
    _, y, _ = rows()
    with np.errstate(over="ignore", invalid="ignore"):
        state = counted(family, X, y, np.full(N, 1e308))
    assert not state.finite()


# ---- a family by somebody else is used wherever one of ours is ------------------------------------------
def positive(n: int = 300) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(3)
    y = rng.choice(["a", "b", "c"], n)
    scale = np.array([1.0, 2.0, 5.0])[np.searchsorted(["a", "b", "c"], y)]
    return pd.DataFrame({"u": rng.rayleigh(scale), "v": rng.rayleigh(2.0, n), "g": rng.normal(size=n)}), y


def own() -> lk.NaiveBayes:
    return lk.NaiveBayes({("u", "v"): Rayleigh(), "g": "gaussian"})


def test_it_is_estimated_and_asked_by_the_formula():
    X, y = positive()
    found = lk.NaiveBayes({("u", "v"): Rayleigh()}).fit(X[["u", "v"]], y)
    v = np.array([[(X[c][y == k] ** 2).mean() / 2 for c in "uv"] for k in "abc"])
    W = X[["u", "v"]].to_numpy()[:, None, :]
    ours = (np.log(W) - np.log(v) - W**2 / (2 * v)).sum(axis=2)
    prior = np.log([(y == k).mean() for k in "abc"])
    np.testing.assert_allclose(found.predict_joint_log_proba(X[["u", "v"]]), ours + prior, rtol=1e-9)
    assert own().fit(X, y).score(X, y) > 0.5


@pytest.mark.filterwarnings("ignore:NaiveBayes. all rows are of class c")
def test_missing_cells_files_batches_and_merged_models_agree(tmp_path):
    X, y = positive()
    X.iloc[::7, 0] = np.nan
    X.to_csv(tmp_path / "rows.csv", index=False)
    X.assign(y=y)[:150].to_csv(tmp_path / "1.csv", index=False)
    X.assign(y=y)[150:].to_csv(tmp_path / "2.csv", index=False)
    held = own().fit(X, y)
    of_files = own().fit(lk.scan([tmp_path / "1.csv", tmp_path / "2.csv"], target="y"))
    halves = [own().fit(X[:150], y[:150]), own().fit(X[150:], y[150:])]
    batches = own().partial_fit(X[:100], y[:100], classes=["a", "b", "c"]).partial_fit(X[100:], y[100:])
    P = held.predict_proba(X)
    assert np.isfinite(P).all()
    for other in (of_files, halves[0].merge(halves[1]), batches):
        np.testing.assert_allclose(other.predict_proba(X), P, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(of_files.predict_proba(lk.scan(tmp_path / "rows.csv")), P, rtol=1e-9)
    assert not held.impute(X).isna().any(axis=None)
    two = own().fit(X[y != "c"], y[y != "c"])
    union = two.merge(own().fit(X[y == "c"], y[y == "c"]), classes="union")
    np.testing.assert_allclose(union.predict_proba(X), P, rtol=1e-9, atol=1e-12)


def test_mixtures_and_classes_of_it_are_fitted():
    X, y = positive()
    U = X[["u"]].to_numpy()
    mixture = lk.Mixture(2, families=Rayleigh(), random_state=0, max_iter=300).fit(U)
    assert (np.diff(mixture.trace_["log_likelihood"]) > -1e-9).all()
    classes = lk.BayesClassifier(Rayleigh()).fit(U, y)
    assert classes.densities_.v.shape == (3, 1)
    some = np.where(np.arange(len(y)) % 3 == 0, None, y)
    found = lk.MixtureDiscriminantAnalysis(1, families=Rayleigh(), random_state=0).fit(U, some)
    assert found.score(U, y) > 0.4


def test_cells_that_it_cannot_have_are_refused_and_named():
    X, y = positive()
    with pytest.raises(ValueError, match=r"row 4, column 0 \('u'\) is -1; Rayleigh takes numbers"):
        own().fit(X.assign(u=np.where(np.arange(len(X)) == 4, -1.0, X["u"])), y)


def test_a_file_of_it_is_refused_and_says_why(tmp_path):
    """What somebody else's class is, a file cannot say: it would have to run their code to load it."""
    X, y = positive()
    with pytest.raises(ValueError, match=r"Rayleigh.*A custom family needs its own code to be loaded"):
        lk.save(own().fit(X, y), tmp_path / "model.lk")
    assert not (tmp_path / "model.lk").exists()
