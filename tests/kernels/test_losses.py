"""expand, loss_values and curvature_product against their twins; and the logarithm inside them."""

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest

from kernels import twins
from kernels.layouts import LAYOUTS, matrix, name_of

LOGISTIC, SOFTMAX, MISTAKES = 0, 1, 6
NAMES = ["logistic", "softmax", "hinge", "squared hinge", "perceptron", "squared"]
# (n, p, q) around the heights of tiles and panels, the widths of vectors, and what fits in registers.
BINARY = [(0, 3, 1), (1, 1, 1), (1, 9, 1), (63, 7, 1), (64, 8, 1), (65, 9, 1), (700, 50, 1), (130, 65, 1)]
SEVERAL = [(0, 2, 2), (1, 1, 2), (63, 9, 3), (65, 7, 4), (130, 8, 5), (200, 15, 7), (97, 3, 30)]
by_loss = pytest.mark.parametrize("loss", range(6), ids=NAMES)


def sizes(loss: int) -> list[tuple[int, int, int]]:
    return SEVERAL if loss == SOFTMAX else BINARY


class Problem(NamedTuple):
    X: np.ndarray
    rows: dict[str, Any]  # codes, weights, offset, loss, positive
    at: dict[str, np.ndarray]  # W, b, shift


@cache
def problem(loss: int, n: int, p: int, q: int, kind: str = "all") -> Problem:
    """Some rows have no code, some weigh nothing, half of the cells are 0; `plain`: nothing but codes."""
    rng = np.random.default_rng([loss, n, p, q])
    X = (rng.standard_normal((n, p)) * (rng.random((n, p)) < 0.5)).astype(np.float32).astype(np.float64)
    codes = rng.integers(-1, max(3, q) if q == 1 else q, n).astype(np.int32)
    weights, offset = rng.exponential(size=n) * (rng.random(n) < 0.9), rng.standard_normal((n, q))
    shift = rng.standard_normal(p)
    if kind == "plain":
        codes, weights, offset, shift = np.maximum(codes, 0), None, None, np.zeros(p)
    rows = {"codes": codes, "weights": weights, "offset": offset, "loss": loss, "positive": 1}
    at = {"W": rng.standard_normal((q, p)) / np.sqrt(p), "b": rng.standard_normal(q), "shift": shift}
    return Problem(X, rows, at)


def twin(of: Problem) -> tuple[float, np.ndarray, np.ndarray]:
    return twins.expansion(X=of.X, **of.rows, **of.at)


@cache
def expected(loss: int, n: int, p: int, q: int, kind: str = "all") -> tuple[float, np.ndarray, np.ndarray]:
    return twin(problem(loss, n, p, q, kind))


def expand(core: Any, X: Any, of: Problem, hessian: bool = True) -> tuple[float, np.ndarray, np.ndarray]:
    """f, g and H (None if not asked for), added to what was there before."""
    q, p = of.at["W"].shape
    m = q * (p + 1)
    before = 0.25
    f, g, H = np.full(1, before), np.full((q, p + 1), before), np.full((m, m), before)
    assert core.expand(X, **of.rows, **of.at, f=f, g=g, H=H if hessian else None) is None
    return f[0] - before, g - before, H - before


def values(core: Any, X: Any, of: Problem, W: np.ndarray, b: np.ndarray) -> np.ndarray:
    f = np.full(len(W), 0.25)
    at = {"W": np.ascontiguousarray(W), "b": np.ascontiguousarray(b), "shift": of.at["shift"]}
    assert core.loss_values(X, **of.rows, **at, f=f) is None
    return f - 0.25


def product(core: Any, X: Any, of: Problem, V: np.ndarray, v: np.ndarray) -> np.ndarray:
    out = np.full((len(V), V.shape[1] + 1), 0.25)
    assert core.curvature_product(X, **of.rows, **of.at, V=V, v=v, out=out) is None
    return out - 0.25


def close(ours: Any, theirs: Any, what: Any = "", rtol: float = 1e-12) -> None:
    room = rtol * max(1.0, np.abs(theirs).max(initial=0))
    np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=room, err_msg=str(what))


# ---- the twins -------------------------------------------------------------------------------------
def check(core: Any, size: tuple[int, int, int, int], kind: str, layout: Any = ("C", np.float64)) -> None:
    of, (f, g, H) = problem(*size, kind), expected(*size, kind)
    X, (q, p), rng = matrix(core, of.X, layout), of.at["W"].shape, np.random.default_rng(size)
    for hessian in (True, False):
        found = expand(core, X, of, hessian)
        close(found[0], f, size)
        close(found[1], g, size)
        if hessian:
            close(found[2], H, size)
    V, v = rng.standard_normal((q, p)), rng.standard_normal(q)
    step = np.column_stack([V, v])
    close(product(core, X, of, V, v), (H @ step.ravel()).reshape(q, p + 1), size)
    for T in (1, 3, 9):
        W, b = (of.at[name] + rng.standard_normal((T, *of.at[name].shape)) for name in ("W", "b"))
        theirs = [twin(of._replace(at={**of.at, "W": W[t], "b": b[t]}))[0] for t in range(T)]
        close(values(core, X, of, W, b), theirs, size)


@by_loss
@pytest.mark.parametrize("kind", ["all", "plain"])
def test_passes_equal_their_twin(core, loss, kind):
    for size in sizes(loss):
        check(core, (loss, *size), kind)


@by_loss
@pytest.mark.parametrize("layout", LAYOUTS, ids=name_of)
def test_every_layout_has_the_same_sums(core, loss, layout):
    for size in [sizes(loss)[1], *sizes(loss)[3:6]]:
        check(core, (loss, *size), "all", layout)


@pytest.mark.parametrize("kind", ["all", "plain"])
@pytest.mark.parametrize("layout", ["CSR, 32 bit", "CSR, 64 bit"])
def test_rows_that_store_little_have_the_same_sums(core, layout, kind):
    """Few cells a row: H is made of pairs of them."""
    of = problem(LOGISTIC, 300, 40, 1, kind)
    of = of._replace(X=of.X * (np.random.default_rng(0).random(of.X.shape) < 0.1))
    f, g, H = twin(of)
    found = expand(core, matrix(core, of.X, (layout, np.float64)), of)
    for ours, theirs in zip(found, (f, g, H), strict=True):
        close(ours, theirs)


def test_rows_wider_than_a_panel_is_high(core):
    """Panels hold several tiles then, the last of them not full."""
    for size in [(LOGISTIC, 330, 600, 1), (SOFTMAX, 330, 600, 2)]:
        found = expand(core, matrix(core, problem(*size).X), problem(*size))
        for ours, theirs in zip(found, expected(*size), strict=True):
            close(ours, theirs, size)


def test_mistakes_are_counted(core):
    """Their number is a loss without a slope: value only."""
    of = problem(LOGISTIC, 700, 50, 1)
    of = of._replace(rows={**of.rows, "loss": MISTAKES})
    X = matrix(core, of.X)
    close(values(core, X, of, of.at["W"][None], of.at["b"][None]), [twin(of)[0]])
    with pytest.raises(ValueError, match="no slope"):
        expand(core, X, of)
    with pytest.raises(ValueError, match="no slope"):
        product(core, X, of, of.at["W"], of.at["b"])


@pytest.mark.parametrize("number", [-1, 7])
def test_a_loss_that_there_is_not_is_refused(core, number):
    of = problem(LOGISTIC, 1, 1, 1)
    with pytest.raises(ValueError, match="from 0 to 6"):
        expand(core, matrix(core, of.X), of._replace(rows={**of.rows, "loss": number}))


# ---- laws ------------------------------------------------------------------------------------------
@by_loss
def test_slopes_and_bends_equal_difference_quotients(core, loss):
    """Away from the kinks, of which 40 rows at random have none within the step."""
    of = problem(loss, 40, 4, 3 if loss == SOFTMAX else 1)
    X, (q, p) = matrix(core, of.X), of.at["W"].shape
    theta, h = np.column_stack([of.at["W"], of.at["b"]]), 1e-5
    _, g, H = expand(core, X, of)
    for i in range(theta.size):
        step = np.zeros(theta.size)
        step[i] = h
        near = theta + np.stack([step, -step]).reshape(2, q, p + 1)
        up, down = values(core, X, of, near[:, :, :p], near[:, :, p])
        close((up - down) / (2 * h), g.ravel()[i], i, rtol=1e-7)
        ends = [of._replace(at={**of.at, "W": t[:, :p].copy(), "b": t[:, p].copy()}) for t in near]
        up, down = (expand(core, X, end, hessian=False)[1] for end in ends)
        close(((up - down) / (2 * h)).ravel(), H[i], i, rtol=1e-7)


@by_loss
def test_cuts_of_rows_add_up(core, loss):
    of = problem(loss, 700 if loss != SOFTMAX else 200, 15, 7 if loss == SOFTMAX else 1)
    whole = expand(core, matrix(core, of.X), of)
    parts = []
    for cut in np.split(np.arange(len(of.X)), [1, 64, 77, 150]):
        rows = {
            name: value[cut] if isinstance(value, np.ndarray) else value for name, value in of.rows.items()
        }
        parts.append(expand(core, matrix(core, of.X[cut]), of._replace(rows=rows)))
    for ours, theirs in zip(map(sum, zip(*parts, strict=True)), whole, strict=True):
        close(ours, theirs)


@by_loss
def test_a_weight_of_2_is_the_row_twice(core, loss):
    of = problem(loss, 65, 9, 3 if loss == SOFTMAX else 1, "plain")
    rows = {**of.rows, "weights": np.full(65, 2.0)}
    twice = {**of.rows, "codes": np.tile(of.rows["codes"], 2)}
    heavy = expand(core, matrix(core, of.X), of._replace(rows=rows))
    double = expand(core, matrix(core, np.tile(of.X, (2, 1))), of._replace(rows=twice))
    for ours, theirs in zip(heavy, double, strict=True):
        close(ours, theirs)


@by_loss
@pytest.mark.parametrize("layout", ["C", "CSR, 32 bit"])
def test_rows_that_do_not_count_may_have_any_score(core, loss, layout):
    """Infinite or none: nothing of it reaches the sums."""
    of = problem(loss, 130, 8, 3 if loss == SOFTMAX else 1, "plain")
    rng = np.random.default_rng(0)
    gone, offset, weights = rng.random(130) < 0.3, np.zeros((130, len(of.at["b"]))), np.ones(130)
    offset[gone] = np.resize([np.inf, -np.inf, np.nan], gone.sum())[:, None]
    weights[gone] = 0
    codes = np.where(gone, -1, of.rows["codes"]).astype(np.int32)
    kept = {**of.rows, "codes": of.rows["codes"][~gone].copy()}
    without = expand(core, matrix(core, of.X[~gone]), of._replace(X=of.X[~gone], rows=kept))
    X = matrix(core, of.X, (layout, np.float64))
    for change in ({"weights": weights}, {"codes": codes}):
        loud = of._replace(rows={**of.rows, **change, "offset": offset})
        for ours, theirs in zip(expand(core, X, loud), without, strict=True):
            close(ours, theirs)
        step = np.ones_like(of.at["W"]), np.ones_like(of.at["b"])
        m = np.ones(without[2].shape[0])
        close(product(core, X, loud, *step).ravel(), without[2] @ m)
        close(values(core, X, loud, of.at["W"][None], of.at["b"][None]), [without[0]])


# ---- extremes --------------------------------------------------------------------------------------
def one_row(core: Any, loss: int, b: np.ndarray, code: int) -> np.ndarray:
    """The loss of one row at scores b (T, q), one after another."""
    T, q = b.shape
    rows = {
        "codes": np.full(1, code, np.int32),
        "weights": None,
        "offset": None,
        "loss": loss,
        "positive": 1,
    }
    f = np.zeros(T)
    at = {"W": np.zeros((T, q, 1)), "b": b, "shift": np.zeros(1)}
    assert core.loss_values(matrix(core, np.zeros((1, 1))), **rows, **at, f=f) is None
    return f


def test_the_logarithm_is_good_to_the_last_place(core):
    """ln(1 + e^-m) to 2 units, over all that it ranges over: e by one, the logarithm by another."""
    rng = np.random.default_rng(0)
    m = np.concatenate(
        [np.linspace(-60, 700, 20001), rng.uniform(-2, 40, 20000), 10 ** rng.uniform(-9, 1, 5000)]
    )
    exact = np.log1p(np.exp(-np.abs(m).astype(np.longdouble))) + np.maximum(-m, 0)
    off = np.abs(one_row(core, LOGISTIC, m[:, None], 1) - exact) / np.spacing(exact.astype(np.float64))
    assert off.max() <= 2, m[off.argmax()]


@pytest.mark.parametrize("q", [2, 3, 7, 30, 1000])
def test_the_logarithm_of_a_sum_is_good_to_the_last_place(core, q):
    """Scores that are equal: ln q, as ln(1 + (q - 1)) is."""
    b = np.repeat(np.linspace(-5, 5, 7)[:, None], q, axis=1)
    np.testing.assert_allclose(one_row(core, SOFTMAX, b, q - 1), np.log(q), rtol=3e-16)


def test_small_losses_of_the_likeliest_class_keep_their_digits(core):
    b = np.array([[d, 0.0, -1.0] for d in (10.0, 50.0, 300.0, 700.0)])
    exact = np.log1p(np.exp(b[:, 1:] - b[:, :1]).sum(axis=1))
    np.testing.assert_allclose(one_row(core, SOFTMAX, b, 0), exact, rtol=1e-15)


@by_loss
@pytest.mark.parametrize("size", [1e4, 1e100])
def test_large_scores_stay_finite(core, loss, size):
    q = 3 if loss == SOFTMAX else 1
    of = problem(loss, 65, 9, q)
    of = of._replace(at={**of.at, "W": size * of.at["W"], "b": size * of.at["b"]})
    X, (f, g, H) = matrix(core, of.X), twin(of)
    found = expand(core, X, of)
    assert all(np.isfinite(part).all() for part in found)
    for ours, theirs in zip(found, (f, g, H), strict=True):
        close(ours, theirs, rtol=1e-11)


def test_columns_far_from_0_lose_no_digits(core):
    """About a shift among the cells, what is far away is as what is near."""
    near = problem(LOGISTIC, 700, 50, 1)
    whole = near._replace(X=np.round(near.X * 1024) / 1024)
    far = whole._replace(X=whole.X + 2.0**30, at={**whole.at, "shift": np.full(50, 2.0**30)})
    near = whole._replace(at={**whole.at, "shift": np.zeros(50)})
    for ours, theirs in zip(
        expand(core, matrix(core, far.X), far), expand(core, matrix(core, near.X), near), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)


# ---- cells that are not finite ---------------------------------------------------------------------
def refused(core: Any, kernel: str, X: Any, of: Problem) -> Any:
    q, p = of.at["W"].shape
    m, f, g = q * (p + 1), np.zeros(1), np.zeros((q, p + 1))
    if kernel == "loss_values":
        at = {**of.at, "W": of.at["W"][None], "b": of.at["b"][None]}
        return core.loss_values(X, **of.rows, **at, f=f)
    if kernel == "curvature_product":
        return core.curvature_product(X, **of.rows, **of.at, V=of.at["W"], v=of.at["b"], out=g)
    return core.expand(X, **of.rows, **of.at, f=f, g=g, H=np.zeros((m, m)) if kernel == "hessian" else None)


@pytest.mark.parametrize("kernel", ["gradient", "hessian", "loss_values", "curvature_product"])
@pytest.mark.parametrize("layout", LAYOUTS, ids=name_of)
def test_the_first_cell_that_is_not_finite_is_named(core, kernel, layout):
    """Also in a row that does not count; whatever else is wrong further on."""
    cells = [(0, 0), (3, 8), (63, 1), (64, 8), (129, 0)]
    for q in (1, 3):
        of = problem(SOFTMAX if q > 1 else LOGISTIC, 130, 9, q)
        rows = {**of.rows, "codes": of.rows["codes"].copy()}
        rows["codes"][[3, 64]] = -1
        for i, first in enumerate(cells):
            X = of.X.copy()
            X[first] = [np.nan, np.inf, -np.inf][i % 3]
            for later in cells[i + 1 :]:
                X[later] = [np.inf, -np.inf, np.nan][i % 3]
            found = refused(core, kernel, matrix(core, X, layout), of._replace(rows=rows))
            assert found == first
