"""The covariance of columns that lack few cells: a fixed point of expectation and maximisation."""

from typing import Any, NamedTuple

import numpy as np
import pytest

WELL, TOL, MOST = 1e-9, 1e-12, 1000
CONVERGED, SINGULAR = 0, 2


class System(NamedTuple):
    """Rows of m columns regressed on others: R₀, G and Q, with X 0 where cells are missing."""

    n: float
    ridge: float
    X: np.ndarray
    gone: np.ndarray
    R: np.ndarray
    G: np.ndarray
    Q: np.ndarray


def system(seed: int, m: int, rows: int, ridge: float = 0.0, complete: int = 60) -> System:
    """Complete rows with a scatter, and incomplete ones of which a regression explains a part."""
    rng = np.random.default_rng(seed)
    mix = np.eye(m) + 0.5 * rng.uniform(-1, 1, (m, m))
    whole = rng.standard_normal((complete, m)) @ mix
    X, gone = rng.standard_normal((rows, m)) @ mix, rng.random((rows, m)) < 0.4
    gone[np.arange(rows), rng.integers(0, m, rows)] = True
    Z, Y = 0.3 * rng.standard_normal((rows, 2)) / np.sqrt(rows), 0.3 * rng.standard_normal((m, 2))
    return System(
        float(complete + rows), ridge, np.where(gone, 0.0, X), gone,
        whole.T @ whole, Z @ (whole.T @ whole @ Y / complete).T, np.eye(rows) - Z @ Z.T,
    )  # fmt: skip


def climbed(core: Any, s: System) -> tuple[np.ndarray, np.ndarray, int, int]:
    row, column = (each.astype(np.int32) for each in np.nonzero(s.gone))
    which, code = np.unique(s.gone, axis=0, return_inverse=True)
    pull, cross = s.G - s.Q @ s.X, s.X.T @ s.G
    cov, cells = np.empty_like(s.R), np.empty(len(row))
    end, steps = core.climb_cells(
        s.n, s.ridge, WELL, row, column, s.Q, s.Q[row[:, None], row], pull,
        s.R - cross - cross.T + s.X.T @ s.Q @ s.X,
        np.append(0, np.cumsum(which.sum(axis=1))).astype(np.int64), np.nonzero(which)[1].astype(np.int32),
        np.bincount(code.ravel()).astype(float), MOST, TOL, cov, cells,
    )  # fmt: skip
    return cov, cells, end, steps


def completed(s: System, cov: np.ndarray) -> np.ndarray:
    """The rows that make tr Ψ⁻¹R(V) least."""
    inverse, (row, column) = np.linalg.inv(cov), np.nonzero(s.gone)
    H = s.Q[row[:, None], row] * inverse[column[:, None], column]
    V = s.X.copy()
    V[row, column] = np.linalg.solve(H, ((s.G - s.Q @ s.X) @ inverse)[row, column])
    return V


def successor(s: System, cov: np.ndarray) -> np.ndarray:
    """One step, row by row."""
    inverse, V = np.linalg.inv(cov), completed(s, cov)
    cross = V.T @ s.G
    R = s.R - cross - cross.T + V.T @ s.Q @ V + s.n * s.ridge * np.eye(len(cov))
    for gone in s.gone:
        at = np.ix_(np.flatnonzero(gone), np.flatnonzero(gone))
        R[at] += np.linalg.inv(inverse[at])
    return (R + R.T) / (2 * s.n)


@pytest.mark.parametrize("ridge", [0.0, 1e-3])
@pytest.mark.parametrize(
    ("m", "rows"), [(1, 1), (1, 9), (2, 5), (3, 30), (4, 4), (5, 17), (8, 40), (9, 23), (17, 60)]
)
def test_the_end_is_its_own_successor(core, m, rows, ridge):
    s = system(m + rows, m, rows, ridge)
    cov, cells, end, steps = climbed(core, s)
    assert end == CONVERGED
    assert steps < 200
    np.testing.assert_allclose(cov, successor(s, cov), rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(cells, completed(s, cov)[s.gone], rtol=1e-8, atol=1e-9)
    np.testing.assert_array_equal(cov, cov.T)
    assert np.linalg.eigvalsh(cov).min() > 0


@pytest.mark.parametrize("m", [2, 5])
def test_a_scatter_that_is_singular_has_no_end_but_with_a_ridge(core, m):
    """Complete rows leave nothing in one direction, which all incomplete rows lack a part of."""
    s = system(m, m, 6, complete=m - 1)
    assert climbed(core, s)[2] == SINGULAR
    assert climbed(core, s._replace(ridge=1e-3))[2] == CONVERGED
