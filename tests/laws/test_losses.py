"""The laws of losses and penalties: derivatives are those of the value, and nothing overflows."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.special import expit, softmax

from laws.generators import SEEDS
from likelier.losses import (
    LOSSES,
    Loss,
    criterion,
    hinge,
    logistic,
    mistakes,
    softmaxed,
    squared,
    squared_hinge,
)
from likelier.penalties import ElasticNet, Penalty

every_loss = pytest.mark.parametrize("loss", LOSSES.values(), ids=list(LOSSES))
every_bend = pytest.mark.parametrize(
    "loss", [loss for loss in LOSSES.values() if loss.curved], ids=lambda x: x.name
)
CORNERS = {"hinge": 1.0, "perceptron": 0.0, "squared_hinge": 1.0}  # of the value, or of its slope


def rows_of(loss: Loss, seed: int, size: float = 3.0) -> tuple[Any, Any]:
    """Scores (n, q), none close to a corner, and codes."""
    rng = np.random.default_rng(seed)
    K = 2 if not loss.by_class else 4
    Z, y = size * rng.standard_normal((30, (K if loss.by_class else 1))), rng.integers(0, K, 30)
    if loss.name in CORNERS:
        near = np.abs(np.abs(Z[:, 0]) - CORNERS[loss.name]) < 0.01
        Z[near] += 0.1
    return Z, y


def nudged(Z: Any, k: int, by: float) -> Any:
    step = np.zeros(Z.shape[1])
    step[k] = by
    return Z + step


# ---- derivatives ---------------------------------------------------------------------------------
@every_loss
@given(seed=SEEDS)
def test_slopes_are_difference_quotients_of_the_value(loss, seed):
    Z, y = rows_of(loss, seed)
    gradient, h = loss.gradient(Z, y), 1e-5
    assert gradient.shape == Z.shape
    for k in range(Z.shape[1]):
        quotient = (loss.value(nudged(Z, k, h), y) - loss.value(nudged(Z, k, -h), y)) / (2 * h)
        np.testing.assert_allclose(gradient[:, k], quotient, atol=1e-7)


@every_bend
@given(seed=SEEDS)
def test_bends_are_difference_quotients_of_the_slope(loss, seed):
    Z, y = rows_of(loss, seed)
    curvature, h = loss.curvature(Z, y), 1e-5
    assert curvature.shape == (*Z.shape, Z.shape[1])
    for k in range(Z.shape[1]):
        quotient = (loss.gradient(nudged(Z, k, h), y) - loss.gradient(nudged(Z, k, -h), y)) / (2 * h)
        np.testing.assert_allclose(curvature[:, :, k], quotient, atol=1e-7)


@every_bend
@given(seed=SEEDS)
def test_no_bend_is_above_the_bound(loss, seed):
    Z, y = rows_of(loss, seed)
    s = np.linalg.eigvalsh(loss.curvature(Z, y))
    assert s.min() >= -1e-12
    assert s.max() <= loss.bound + 1e-12


@every_loss
@given(seed=SEEDS, share=st.floats(0, 1))
def test_losses_are_convex_and_lie_above_their_tangents(loss, seed, share):
    Z, y = rows_of(loss, seed)
    other, _ = rows_of(loss, seed + 1)
    between = loss.value(share * Z + (1 - share) * other, y)
    assert (between <= share * loss.value(Z, y) + (1 - share) * loss.value(other, y) + 1e-12).all()
    tangent = loss.value(Z, y) + ((other - Z) * loss.gradient(Z, y)).sum(axis=1)
    assert (loss.value(other, y) >= tangent - 1e-10).all()


# ---- the ends ------------------------------------------------------------------------------------
@every_loss
def test_all_is_finite_far_out(loss):
    K = 2 if loss.by_class else 1
    for z in (-1e4, 1e4):
        Z = np.full((2, K), 0.0)
        Z[:, -1] = z
        y = np.array([0, 1])
        for found in (loss.value(Z, y), loss.gradient(Z, y), loss.curvature(Z, y)):
            assert np.isfinite(found).all()
        right = int(z > 0)
        if loss is not squared:
            assert loss.value(Z, y)[right] == 0
        assert loss.value(Z, y)[1 - right] >= 1e4


def test_logistic_loss_keeps_its_digits_where_it_is_small():
    y = np.ones(1, dtype=np.int32)
    assert logistic.value(np.array([[40.0]]), y)[0] == pytest.approx(np.exp(-40), rel=1e-12)
    assert logistic.gradient(np.array([[40.0]]), y)[0, 0] == pytest.approx(-np.exp(-40), rel=1e-12)


def test_values_by_hand():
    m = np.array([-2.0, 0.0, 0.5, 1.0, 3.0])
    Z, y = m[:, None], np.ones(5, dtype=np.int32)
    by_hand = {
        hinge: [3, 1, 0.5, 0, 0],
        squared_hinge: [9, 1, 0.25, 0, 0],
        criterion: [2, 0, 0, 0, 0],
        squared: [4.5, 0.5, 0.125, 0, 2],
        mistakes: [1, 1, 0, 0, 0],
    }
    for loss, values in by_hand.items():
        np.testing.assert_allclose(loss.value(Z, y), values)
        np.testing.assert_allclose(loss.value(-Z, 1 - y), values)  # the other class, mirrored
    assert (
        criterion.gradient(np.zeros((1, 1)), np.array([1]))[0, 0] == -1
    )  # a row on the boundary is a mistake
    assert criterion.gradient(np.zeros((1, 1)), np.array([0]))[0, 0] == 1
    assert hinge.gradient(np.ones((1, 1)), np.array([1]))[0, 0] == -1


# ---- the link ------------------------------------------------------------------------------------
@given(seed=SEEDS)
def test_losses_of_probability_are_minus_the_log_of_their_link(seed):
    Z, y = rows_of(softmaxed, seed)
    P = softmax(Z, axis=1)
    np.testing.assert_allclose(softmaxed.value(Z, y), -np.log(P[np.arange(30), y]), rtol=1e-9)
    np.testing.assert_allclose(softmaxed.gradient(Z, y), P - np.eye(4)[y], atol=1e-12)
    Z, y = rows_of(logistic, seed)
    P = expit(Z[:, 0])
    np.testing.assert_allclose(logistic.value(Z, y), -np.log(np.where(y == 1, P, 1 - P)), rtol=1e-9)
    np.testing.assert_allclose(logistic.gradient(Z, y)[:, 0], P - y, atol=1e-12)


@given(seed=SEEDS)
def test_two_scores_of_which_one_is_0_are_the_logistic_loss(seed):
    Z, y = rows_of(logistic, seed)
    both = np.column_stack([np.zeros(30), Z])
    np.testing.assert_allclose(softmaxed.value(both, y), logistic.value(Z, y), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(softmaxed.gradient(both, y)[:, 1], logistic.gradient(Z, y)[:, 0], atol=1e-12)


# ---- penalties -----------------------------------------------------------------------------------
vectors = hnp.arrays(np.float64, 6, elements=st.floats(-10, 10))


def penalty_of(l2: float, l1: float) -> Penalty:
    return ElasticNet.of(2, 2, l2, l1, np.array([1.0, 3.0]))


@given(v=vectors, scale=st.floats(0.1, 100), l1=st.floats(0, 3))
def test_prox_is_the_least_of_its_objective(v, scale, l1):
    """0 is a subgradient at the prox: scale (θ - v) + l1 sign θ, where θ ≠ 0; else within ± l1."""
    penalty = penalty_of(0.0, l1)
    theta = penalty.corner_prox(v, np.full(6, scale))
    np.testing.assert_allclose(penalty.residual(theta, scale * (theta - v)), 0, atol=1e-9 * (1 + scale))


@given(v=vectors, seed=SEEDS, l1=st.floats(0, 3))
def test_no_point_nearby_is_better_than_the_prox(v, seed, l1):
    penalty = penalty_of(0.0, l1)

    def cost(theta: Any) -> float:
        return float(((theta - v) ** 2).sum() / 2 + 0.7 * penalty.value(theta))

    best = penalty.corner_prox(v, np.full(6, 1 / 0.7))
    for scale in (1e-3, 1.0):
        other = best + scale * np.random.default_rng(seed).standard_normal(6)
        assert cost(best) <= cost(other) + 1e-9


@given(theta=vectors)
def test_the_penalty_is_what_it_says_and_never_on_an_intercept(theta):
    penalty = penalty_of(0.5, 0.25)
    w = theta.reshape(2, 3)[:, :2]
    bears = np.array([1.0, 3.0])
    assert penalty.value(theta) == pytest.approx((0.25 * bears * w**2 + 0.25 * bears * np.abs(w)).sum())
    assert penalty.l1[[2, 5]].tolist() == penalty.l2[[2, 5]].tolist() == [0, 0]
    assert not penalty.smooth
    assert penalty_of(1.0, 0.0).smooth
