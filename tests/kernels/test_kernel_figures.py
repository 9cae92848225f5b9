"""figures against its twin in NumPy, and what it refuses."""

from typing import Any

import numpy as np
import pytest

HALF = 2048  # levels of p up to 1/2; then as many of 1 - p
LEAST = 1e-15


def twin(P: np.ndarray, codes: np.ndarray, w: np.ndarray, K: int) -> tuple[np.ndarray, ...]:
    """totals (6,), classes (K, 3) and bins (2 HALF, 3)."""
    keep = (codes >= 0) & (w > 0)
    P, codes, w = P[keep], codes[keep], w[keep]
    rows = np.arange(len(P))
    P = np.hstack([P, np.zeros((len(P), K - P.shape[1]))])
    best, own = P.argmax(axis=1), P[rows, codes]
    Y = codes[:, None] == np.arange(K)
    wrong = w * (best != codes)
    totals = [
        len(P),
        w.sum(),
        -w @ np.log(np.maximum(own, LEAST)),
        wrong.sum(),
        w @ ((P - Y) ** 2).sum(axis=1),
        w @ (own < LEAST),
    ]
    classes = np.stack([w @ Y, w @ P, wrong @ Y], axis=1)
    event = best if K > 2 else np.ones(len(P), dtype=int)
    p = P[rows, event]
    others = P.copy()
    others[rows, event] = 0
    rest = others.sum(axis=1)
    upper = p >= rest if K > 2 else p > rest
    fraction, exponent = np.frexp(np.maximum(np.minimum(p, rest), 2.0**-33))  # 2^exponent fraction
    level = np.minimum(64 * (exponent + 32) + np.floor((fraction - 0.5) * 128).astype(int), HALF - 1)
    bins = np.zeros((2 * HALF, 3))
    place = np.where(upper, 2 * HALF - 1 - level, level)
    np.add.at(bins, (place, (codes == event).astype(int)), w)
    np.add.at(bins, (place, 2), w * p)
    return np.array(totals), classes, bins


def ask(
    core: Any, P: np.ndarray, codes: np.ndarray, w: np.ndarray | None, K: int
) -> tuple[np.ndarray, ...]:
    sums = np.zeros(6), np.zeros((K, 3)), np.zeros((core.figure_bins, 3))
    assert core.figures(P, codes, w, *sums) == -1
    return sums


def drawn(n: int, q: int, K: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sharp and vague probabilities, some of them 0, 1 or equal; codes from -1 to K - 1; weights."""
    rng = np.random.default_rng([n, q, K])
    P = rng.dirichlet(np.full(q, 0.3), n)
    P[::7] = 1 / q
    P[1::7] = np.eye(q)[rng.integers(0, q, len(P[1::7]))]
    P[2::7, 0], P[2::7, 1:] = 1 - 1e-13, 1e-13 / (q - 1)
    w = rng.choice([0.0, 0.5, 1.0, 3.0], n)
    return P, rng.integers(-1, K, n).astype(np.int32), w


@pytest.mark.parametrize(("q", "K"), [(2, 2), (2, 3), (3, 3), (3, 5), (40, 41)])
@pytest.mark.parametrize("n", [0, 1, 1000])
def test_sums_equal_their_twin(core, n, q, K):
    assert core.figure_bins == 2 * HALF
    P, codes, w = drawn(n, q, K)
    for weights in (w, None):
        found = ask(core, P, codes, weights, K)
        for each, expected in zip(
            found, twin(P, codes, np.ones(n) if weights is None else w, K), strict=True
        ):
            np.testing.assert_allclose(each, expected, rtol=1e-12, atol=1e-12)


def test_levels_are_narrow_and_in_order(core):
    """A bin spans at most 1/64 of min(p, 1 - p), down to 2^-33."""
    everywhere = np.geomspace(2.0**-33, 0.5, 151)[:-1]
    small = np.sort(
        np.concatenate([everywhere, np.linspace(0.24, 0.28, 100), np.linspace(1e-4, 1.1e-4, 50)])
    )
    p = np.concatenate([small, 0.5 + (0.5 - small[::-1])])
    found = []
    for each in p:
        _, _, bins = ask(core, np.array([[1 - each, each]]), np.zeros(1, np.int32), None, 2)
        found.append(int(bins[:, 0].argmax()))
    assert (np.diff(found) >= 0).all()
    assert found[0] == 0
    assert found[-1] == 2 * HALF - 1
    q = np.minimum(p, 1 - p)
    for each in np.unique(found):
        inside = q[np.array(found) == each]
        assert np.ptp(inside) <= inside.max() / 64


@pytest.mark.parametrize(
    ("row", "weight"),
    [
        ([np.nan, 0.5], 1.0),
        ([0.5, 0.6], 1.0),
        ([1.5, -0.5], 1.0),
        ([np.inf, 0.0], 1.0),
        ([0.5, 0.5], -1.0),
        ([0.5, 0.5], np.nan),
        ([0.5, 0.5], np.inf),
    ],
)
def test_a_row_that_cannot_be_judged_is_named_and_nothing_is_added(core, row, weight):
    P, codes, w = np.full((5, 2), 0.5), np.zeros(5, np.int32), np.ones(5)
    P[3], w[3] = row, weight
    sums = np.zeros(6), np.zeros((2, 3)), np.zeros((core.figure_bins, 3))
    assert core.figures(P, codes, w, *sums) == 3
    assert all((each == 0).all() for each in sums)
    codes[3] = -1  # unlabelled: whatever it says
    assert core.figures(P, codes, w, *sums) == -1
    assert sums[0][0] == 4


def test_arrays_that_do_not_fit_are_refused(core):
    P, codes = np.full((5, 2), 0.5), np.zeros(5, np.int32)
    fit = {"totals": np.zeros(6), "classes": np.zeros((2, 3)), "bins": np.zeros((core.figure_bins, 3))}
    wrong = {"totals": np.zeros(5), "classes": np.zeros((1, 3)), "bins": np.zeros((core.figure_bins, 2))}
    for name, each in wrong.items():
        with pytest.raises(ValueError, match="not those of these rows"):
            core.figures(P, codes, None, **fit | {name: each})
    for rows in ((P[:4], codes, None), (P, codes, np.ones(4))):
        with pytest.raises(ValueError, match="not of the same rows"):
            core.figures(*rows, **fit)
    with pytest.raises(ValueError, match="a code is larger"):
        core.figures(P, codes + 2, None, **fit)
