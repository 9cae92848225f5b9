"""softmax, log_softmax, log_sum_exp and argmax against their twins, and the exponential inside them."""

from typing import Any

import numpy as np
import pytest

from kernels import twins

SIZES = [(n, K) for n in (0, 1, 63, 64, 65, 655, 1025) for K in (1, 2, 3, 6, 7, 8, 9, 13, 1025)]


def scores(n: int, K: int, spread: float = 5.0) -> np.ndarray:
    return spread * np.random.default_rng([n, K]).standard_normal((n, K))


def ask(core: Any, link: str, Z: np.ndarray) -> np.ndarray:
    """What a link makes of Z, in place or beside it."""
    Z = Z.copy()
    if link in ("softmax", "log_softmax"):
        getattr(core, link)(Z)
        return Z
    out = np.full(len(Z), -1, dtype=np.int64) if link == "argmax" else np.full(len(Z), np.nan)
    getattr(core, link)(Z, out)
    return out


@pytest.mark.parametrize("link", ["softmax", "log_softmax", "log_sum_exp"])
def test_links_equal_their_twin(core, link):
    for n, K in SIZES:
        Z = scores(n, K)
        expected = getattr(twins, link)(Z)
        np.testing.assert_allclose(
            ask(core, link, Z), expected, rtol=2e-13, atol=1e-14, err_msg=str((n, K))
        )


def test_argmax_is_the_first_of_the_largest(core):
    for n, K in SIZES:
        Z = np.round(scores(n, K, spread=1.0))  # many are equal
        np.testing.assert_array_equal(ask(core, "argmax", Z), Z.argmax(axis=1), err_msg=str((n, K)))


def test_probabilities_sum_to_1(core):
    P = ask(core, "softmax", scores(1000, 7, spread=100.0))
    assert (P >= 0).all()
    np.testing.assert_allclose(P.sum(axis=1), 1, rtol=1e-15)


def test_the_exponential_is_right_to_4_units_in_the_last_place(core):
    """softmax of (x, 0) is e^x / (1 + e^x)."""
    if np.finfo(np.longdouble).nmant <= 52:
        pytest.skip("no longer float to compare with")
    rng = np.random.default_rng(0)
    whole = np.arange(-1009, 0) * np.log(2)  # there the reduced argument is smallest, between them largest
    evenly = np.linspace(-700, 0, 20001)
    x = np.concatenate([evenly, rng.uniform(-700, 0, 20000), whole, whole + np.log(2) / 2])
    e = np.exp(x.astype(np.longdouble))
    expected = e / (1 + e)
    P = ask(core, "softmax", np.stack([x, np.zeros_like(x)], axis=1))[:, 0]
    off = np.abs(P - expected) / np.spacing(expected.astype(np.float64))
    assert off.max() <= 4, x[off.argmax()]


def test_the_exponential_ends_in_0(core):
    """No denormals: what is too small for a full float is 0."""
    x = np.array([-709.0, -745.0, -746.0, -1e3, -1e4, -1e300, -np.inf])
    P = ask(core, "softmax", np.stack([x, np.zeros_like(x)], axis=1))
    np.testing.assert_array_equal(P, np.stack([np.zeros_like(x), np.ones_like(x)], axis=1))


@pytest.mark.parametrize("size", [1e4, 1e300])
def test_large_scores_stay_finite(core, size):
    Z = np.array([[size, -size, 0.0], [-size, -size, -size], [size, size, -size], [0.0, -np.inf, -size]])
    P = ask(core, "softmax", Z)
    third, half = np.full(3, 1 / 3), [0.5, 0.5, 0.0]
    np.testing.assert_allclose(P, [[1, 0, 0], third, half, [1, 0, 0]], rtol=1e-15)
    total = [size, -size + np.log(3), size + np.log(2), 0]
    np.testing.assert_allclose(ask(core, "log_sum_exp", Z), total, rtol=1e-15)
    logs = ask(core, "log_softmax", Z)
    np.testing.assert_array_equal(np.isneginf(logs), np.isneginf(Z))
    np.testing.assert_allclose(logs[0], [0, -2 * size, -size], rtol=1e-15)


@pytest.mark.parametrize("link", ["softmax", "log_softmax", "log_sum_exp", "argmax"])
def test_rows_that_say_nothing_do_not_disturb_the_others(core, link):
    """All -inf, or NaN: no answer there, and the same answers elsewhere."""
    Z = scores(100, 7)
    wrong = {3: -np.inf, 4: np.nan, 50: np.inf, 99: np.nan}
    spoilt = Z.copy()
    for row, value in wrong.items():
        spoilt[row] = value
    spoilt[51, 3] = np.nan
    found, clean = ask(core, link, spoilt), ask(core, link, Z)
    fine = np.setdiff1d(np.arange(100), [*wrong, 51])
    np.testing.assert_array_equal(found[fine], clean[fine])
    if link == "argmax":
        assert ((found >= 0) & (found < 7)).all()
    else:
        assert np.isnan(found[[4, 51, 99]]).all()
    if link == "log_sum_exp":
        assert found[3] == -np.inf
