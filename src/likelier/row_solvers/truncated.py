"""Truncated Newton on rows in memory: passes in single precision, the end by doubles."""

from collections import deque
from collections.abc import Iterator

import numpy as np

from likelier import _core
from likelier.array_types import Floats
from likelier.data import CSR, Arrays
from likelier.objective import Objective
from likelier.solvers import Iterate, newton_cg
from likelier.solvers.first_order import ratio
from likelier.threads import cores

Native = _core.DenseNewton | _core.SparseNewton

LOSSES = ("log_loss", "softmax")
CELLS = 1 << 25  # of dense rows, up to which a copy of floats is no burden
# Of the gradient, what conjugate gradients leave of it; and where the optimum is far, more than this share
# of F below, and directions take many products.
FINE, ROUGH, FAR = 0.1, 0.5, 0.1
MOST = 200  # products for one direction
LEVEL = 1e-4  # of F: a step that promises less is as long as Newton says
SHORT, LONG = 0.5, 2.0  # steps after which directions may be shorter, or longer
STALLED = 0.7  # of the norm before it, where single precision may be at its end
BEYOND = 4.0  # of κ gᵀM⁻¹g, κ that of the last directions: more than was found to be left


def truncated(objective: Objective, theta: Floats, *, tol: float = 1e-4) -> Iterator[Iterate]:
    """θ += t d, H d ≈ -g by conjugate gradients (Dembo, Eisenstat & Steihaug 1982), t where F is level.

    Directions are made by products of a copy of the rows in single precision, in the metric of the
    Hessian's diagonal and of what the last direction told of it. So are gradients, until they are small:
    from then on they are the objective's own, and it is these that end a fit, unless rounding is bounded
    and the bound small. The norm is √(-gᵀd), about √(gᵀH⁻¹g). Where single precision does not do, the
    objective's products continue.
    """
    native = native_rows(objective)
    if native is None:
        yield from newton_cg(objective, theta)
        return
    theta = objective.centred(theta)
    native.place(theta)
    value, gradient = native.expand(), None
    size, exact, length = native.size, False, 0.0
    kappas, norm, radius = deque([1.0], maxlen=3), np.inf, np.inf
    while True:
        guess = guessed(kappas, size)
        if gradient is None and guess + native.rounding <= tol:  # as sure as by doubles
            yield Iterate(theta, value, guess + native.rounding, length)
        if guess <= tol:
            exact = True
        if exact:
            before = value if gradient is not None else np.inf
            value, gradient = objective.gradient(theta)
            if not value <= before + 4 * np.finfo(np.float64).eps * abs(before):
                break
            size = native.correct(gradient)
            guess = guessed(kappas, size)
            if guess <= tol:
                yield Iterate(theta, value, guess, length, gradient)
        share = ROUGH if native.paired and norm**2 > FAR * value else FINE
        decrement = native.direction(share, radius, MOST)
        if not decrement > 0:
            break
        before_that, norm = norm, float(np.sqrt(decrement / (1 - share**2)))
        if native.reach <= radius and native.products < MOST:
            kappas.append(ratio(decrement, size))
        else:  # cut short, it tells less than there is to gain
            norm = max(norm, 2 * tol)
        if norm <= tol and not exact and length == 0:  # the start is to be seen as it is
            exact = True
            continue
        if exact or norm > tol:
            yield Iterate(theta, value, norm, length, gradient)
        near = norm**2 <= LEVEL * value
        exact = exact or norm <= tol or (near and norm > STALLED * before_that)
        length = native.search(near)
        radius = radius_after(radius, native.reach, length)
        theta = _placed(objective, native)
        ahead = native.expand()
        if not ahead <= value + 1e-6 * abs(value):
            break
        value = value if exact else ahead
        size = native.size
    yield from newton_cg(objective, theta)


def guessed(kappas: deque[float], size: float) -> float:
    """The gradient norm, by what the last directions have made of gᵀM⁻¹g."""
    return float(np.sqrt(BEYOND * max(kappas) * size))


def _placed(objective: Objective, native: Native) -> Floats:
    """θ after a step, with the free direction of softmax taken out again.

    The gradient has no part in that direction, but the steps of a diagonal metric and of floats have.
    """
    theta = np.empty(objective.size)
    native.theta(theta)
    theta = objective.centred(theta)
    native.place(theta)
    return theta


def radius_after(radius: float, reach: float, length: float) -> float:
    """How far the next direction may go: about as far as the Hessian was found to hold."""
    if length < SHORT:
        return length * reach
    return max(radius, LONG * length * reach)


def takes_rows(objective: Objective) -> bool:
    """Whether the rows are such as the native solver copies, whatever their cells are."""
    source, setting = objective.source, objective.setting
    if not isinstance(source, Arrays) or setting.loss.name not in LOSSES or not objective.penalty.smooth:
        return False
    return isinstance(source.X, CSR) or len(source) * source.p <= CELLS


def native_rows(objective: Objective) -> Native | None:
    """The rows as the native solver has them; None: it cannot take them."""
    source, setting = objective.source, objective.setting
    if not takes_rows(objective):
        return None
    assert isinstance(source, Arrays)
    assert source.y is not None
    offset = None if source.offset is None else np.ascontiguousarray(source.offset).reshape(-1, setting.q)
    native = (_core.SparseNewton if isinstance(source.X, CSR) else _core.DenseNewton)(
        source.X.native(),
        setting.shift,
        np.ascontiguousarray(source.y, dtype=np.int32),
        source.w,
        offset,
        setting.positive,
        setting.loss.number,
        setting.q,
        np.ascontiguousarray(objective.penalty.l2[: setting.p + 1]),
        objective.n,
        objective.intercept,
        cores(),
    )
    return native if native.fits else None
