"""The votes of a perceptron's weight vectors, against their twin, which makes each of them."""

from typing import Any

import numpy as np
import pytest

from kernels import twins
from kernels.layouts import DENSE, LAYOUTS, SPARSE, matrix, name_of

KEPT = [layout for layout in LAYOUTS if layout[0] in (*DENSE, *SPARSE)]


def whole(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Whole numbers, many of them 0: their sums are exact in any order, so that scores of 0 are, too."""
    return np.round(2 * rng.standard_normal(shape)) * (rng.random(shape) < 0.6)


def voters(rng: np.random.Generator, p: int, r: int, m: int) -> dict[str, Any]:
    return {
        "start": whole(rng, p),
        "intercept": float(rng.integers(-2, 3)),
        "rows": rng.integers(r, size=m),
        "steps": rng.choice([-2.0, -1.0, 0.5, 1.0], m),
        "lasting": rng.integers(0, 9, m + 1).astype(np.float64),
        "decay": float(rng.choice([0.0, 0.25, 1.0])),
    }


@pytest.mark.parametrize("layout", LAYOUTS, ids=name_of)
def test_votes_equal_their_twin_wherever_the_rows_lie(core, layout):
    for seed, (n, p, r, m) in enumerate([(1, 1, 1, 0), (1, 3, 1, 4), (67, 5, 9, 30), (130, 21, 40, 90)]):
        rng = np.random.default_rng(seed)
        X, kept, told = whole(rng, n, p), whole(rng, r, p), voters(rng, p, r, m)
        for other in KEPT[:: 1 if n == 67 else 5]:
            out = np.full(n, np.nan)
            native = (matrix(core, X, layout), matrix(core, kept, other))
            assert core.votes(*native, **told, out=out) is None
            np.testing.assert_array_equal(out, twins.votes(X, kept, **told))


def test_rows_too_wide_for_a_tile_are_polled_a_few_at_a_time(core):
    rng = np.random.default_rng(1)
    X, kept, told = whole(rng, 19, 5000), whole(rng, 6, 5000), voters(rng, 5000, 6, 12)
    out = np.empty(19)
    assert core.votes(matrix(core, X, KEPT[0]), matrix(core, kept, KEPT[0]), **told, out=out) is None
    np.testing.assert_array_equal(out, twins.votes(X, kept, **told))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_cell_that_is_no_number_is_found(core, bad):
    """Also where no mistaken row has that column."""
    rng = np.random.default_rng(2)
    X, kept, told = whole(rng, 100, 4), np.zeros((3, 4)), voters(rng, 4, 3, 5)
    X[71, 2] = bad
    for layout in (KEPT[0], KEPT[-1]):
        assert core.votes(
            matrix(core, X, layout), matrix(core, kept, layout), **told, out=np.empty(100)
        ) == (71, 2)
