"""Mean loss plus penalty over rows of any source: the `Oracle` of batch solvers."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Self

import numpy as np
from numpy.typing import NDArray

from likelier.data import CSR, Arrays, Chunk, Source
from likelier.data.selected import selected
from likelier.data.spread import Spread, Thinned
from likelier.data.zoomed import Zoomed
from likelier.engines import first_chunk, run
from likelier.losses import Loss
from likelier.penalties import Penalty
from likelier.solvers import DiagonalMetric, FullMetric
from likelier.states import Expansion, Gram, Halves, Product, Reach, Setting, Squares, Values

Floats = NDArray[np.float64]

FULL_METRIC = 2000  # columns up to which the metric is a full matrix


@dataclass
class Objective:
    """F(θ) = (1/n) Σ w ℓ(Z, y) + Σ_j ½ l2_j θ_j²; its l1 part is left to the solver. θ is flat, (m,).

    n is the weight of all rows, so that tolerances do not depend on how many there are.
    """

    source: Source  # labels coded
    setting: Setting
    penalty: Penalty
    n: float
    intercept: bool = True  # else its entries of θ stay 0
    totals: Floats | None = None  # (K,), the weight of each class, where it is of use
    passes: int = 0
    _gauge: Floats | None = field(default=None, repr=False)  # (p + 1,)

    @property
    def size(self) -> int:
        return self.setting.m

    @property
    def width(self) -> int:
        return self.setting.p + 1

    @property
    def penalised(self) -> bool:
        return bool(self.penalty.l2.any() or self.penalty.l1.any())

    def _shaped(self, theta: Floats) -> Floats:
        return np.ascontiguousarray(theta).reshape(-1, self.setting.q, self.setting.p + 1)

    def value(self, thetas: Floats) -> Floats:
        self.passes += 1
        f = run(self.source, partial(Values.start, self.setting, self._shaped(thetas))).f
        return np.asarray(f / self.n + [self.penalty.quadratic(theta) for theta in np.atleast_2d(thetas)])

    def gradient(self, theta: Floats) -> tuple[float, Floats]:
        f, g, _ = self._expand(theta, curved=False)
        return f, g

    def hessian(self, theta: Floats) -> tuple[float, Floats, Floats]:
        f, g, H = self._expand(theta, curved=True)
        assert H is not None
        self._close(H)
        return f, g, H

    def nearby(self, theta: Floats) -> tuple[float, Floats, Floats, bool]:
        return *self.hessian(theta), True

    def _sums(self, theta: Floats, *, curved: bool) -> Expansion:
        self.passes += 1
        return run(
            self.source, partial(Expansion.start, self.setting, self._shaped(theta)[0], curved=curved)
        )

    def _expand(self, theta: Floats, *, curved: bool) -> tuple[float, Floats, Floats | None]:
        found = self._sums(theta, curved=curved)
        f = float(found.f[0]) / self.n + self.penalty.quadratic(theta)
        if not self.intercept:
            found.g[:, -1] = 0
        g = found.g.ravel() / self.n + self.penalty.l2 * theta
        if found.H is None:
            return f, g, None
        return f, g, self._curvature(found.H)

    def _curvature(self, H: Floats) -> Floats:
        """Of the objective, from the sum over rows, which is used up."""
        if not np.isfinite(H).all():  # at no θ is it more than a multiple of XᵀX
            raise ValueError(
                "Input X contains values so large that their sums of squares overflow: divide such columns."
            )
        H /= self.n
        if not self.intercept:
            at = np.arange(self.setting.p, self.size, self.setting.p + 1)
            H[at] = H[:, at] = 0
        H[np.diag_indices_from(H)] += self.penalty.l2
        return H

    def product(self, theta: Floats, v: Floats) -> Floats:
        self.passes += 1
        V = self._shaped(v)[0]
        Hv = run(self.source, partial(Product.start, self.setting, self._shaped(theta)[0], V)).Hv
        if not self.intercept:
            Hv[:, -1] = 0
        return np.asarray(Hv.ravel() / self.n + self.penalty.l2 * v)

    # ---- for iterative scaling ---------------------------------------------------------------------
    def halves(self, theta: Floats) -> tuple[float, Floats, Floats, Floats]:
        self.passes += 1
        found = run(self.source, partial(Halves.start, self.setting, self._shaped(theta)[0]))
        f = float(found.f[0]) / self.n + self.penalty.quadratic(theta)
        if not self.intercept:
            found.g[:, -1] = found.up[:, -1] = 0
        g, up, down = (part.ravel() / self.n for part in (found.g, found.up, found.down))
        return f, g + self.penalty.l2 * theta, up, down

    def centred(self, theta: Floats) -> Floats:
        T = theta.reshape(self.setting.q, -1)
        return theta if len(T) == 1 else (T - T.mean(axis=0)).ravel()

    def reach(self) -> float:
        self.passes += 1
        return float(run(self.source, partial(Reach.start, self.setting.shift)).most[0])

    # ---- the free direction of softmax -------------------------------------------------------------
    def _close(self, H: Floats) -> None:
        """Adding one vector to all rows of θ changes no probability: give that direction a curvature.

        The gradient has no part in it (at rows that sum to 0, under an equal penalty), so no step has.
        Where a penalty holds the direction it may have, and there the curvature is what it is.
        """
        q, P = self.setting.q, self.setting.p + 1
        if q == 1:
            if not self.intercept:
                H[-1, -1] = 1
            return
        blocks = H.reshape(q, P, q, P)
        if self._gauge is None:
            D = np.einsum("kjkj->j", blocks) / q
            held = (self.penalty.l1[:P] > 0) | (self.penalty.l2[:P] > 1e-6 * D)
            self._gauge = np.where(held, 0.0, np.where(D > 0, D, 1.0))
        at = np.arange(P)
        blocks[:, at, :, at] += (self._gauge / q)[:, None, None]
        if not self.intercept:
            k = np.arange(q)
            blocks[k, -1, k, -1] += 1

    def opened(self, H: Floats) -> Floats:
        """A Hessian as `hessian` gives it, with the free direction open again."""
        q, P = self.setting.q, self.setting.p + 1
        H = H.copy()
        blocks = H.reshape(q, P, q, P)
        if self._gauge is not None:
            at = np.arange(P)
            blocks[:, at, :, at] -= (self._gauge / q)[:, None, None]
        if not self.intercept:
            blocks[:, -1] = blocks[:, :, :, -1] = 0
        return H

    # ---- the metric --------------------------------------------------------------------------------
    def metric(self) -> FullMetric | DiagonalMetric:
        return self._metric

    @cached_property
    def _metric(self) -> FullMetric | DiagonalMetric:
        if self.width > FULL_METRIC:
            return DiagonalMetric(self.diagonal())
        self.passes += 1
        return self.measured(run(self.source, self.measuring))

    @property
    def measuring(self) -> Callable[[], Gram | Squares]:
        """What absorbs the rows for the metric."""
        full = self.width <= FULL_METRIC
        return partial(Gram.about if full else Squares.start, self.setting.shift)

    def measured(self, found: Gram | Squares) -> FullMetric | DiagonalMetric:
        """bound · (1/n) Σ w x xᵀ + l2, or its diagonal where that is too large."""
        if isinstance(found, Squares):
            return DiagonalMetric(self._bounds(found))
        assert found.H is not None
        M = self._bound * found.H / self.n
        if not self.intercept:  # else solving would move it, though its gradient is 0
            M[-1] = M[:, -1] = 0
        M[np.diag_indices_from(M)] += self.penalty.l2[: self.width]
        return FullMetric.of(M, self.setting.q)

    def know(self, metric: FullMetric | DiagonalMetric) -> None:
        """The metric, found in another pass, or by some of the rows."""
        self._metric = metric

    @property
    def _bound(self) -> float:
        return min(self.setting.loss.bound, 1.0 if self.setting.q == 1 else 0.5)

    def diagonal(self) -> Floats:
        return self._diagonal

    @cached_property
    def _diagonal(self) -> Floats:
        self.passes += 1
        return self._bounds(run(self.source, partial(Squares.start, self.setting.shift)))

    def _bounds(self, found: Squares) -> Floats:
        each = np.tile(self._bound * found.total / self.n, self.setting.q) + self.penalty.l2
        return np.where(each > 0, each, 1.0)

    # ---- fewer columns -----------------------------------------------------------------------------
    def restricted(self, columns: NDArray[np.intp]) -> tuple["Objective", NDArray[np.intp]]:
        """The problem that is left where all other columns have weight 0, and its entries of θ."""
        row = np.append(columns, self.setting.p)
        at = (np.arange(self.setting.q)[:, None] * self.width + row).ravel()
        setting = replace(self.setting, shift=self.setting.shift[columns])
        penalty = Penalty(self.penalty.l2[at], self.penalty.l1[at])
        source = selected(self.source, columns)
        return replace(self, source=source, setting=setting, penalty=penalty, passes=0, _gauge=None), at

    # ---- the same rows, other losses ---------------------------------------------------------------
    def under(self, loss: Loss) -> "Objective":
        """Of another loss, and no penalty."""
        none = np.zeros(self.size)
        return self._with(self.source, loss, Penalty(none, none))

    def zoomed(self, loss: Loss, width: float) -> "Objective":
        """Of a loss of 1 + (m - 1) / width: at θ / width, times width, its value is F's at θ, so seen."""
        rows = Zoomed(self.source, width, self.setting.positive)
        return self._with(rows, loss, Penalty(self.penalty.l2 * width, self.penalty.l1))

    def _with(self, source: Source, loss: Loss, penalty: Penalty) -> "Objective":
        setting = replace(self.setting, loss=loss)
        return replace(self, source=source, setting=setting, penalty=penalty, passes=0, _gauge=None)

    # ---- a beginning -------------------------------------------------------------------------------
    def sampled(self, apart: int) -> "Objective":
        """The same of a few rows from all over the source."""
        rows = Spread(self.source, apart)
        n = max(run(rows, Labelled).n, np.finfo(np.float64).tiny)
        return replace(self, source=rows, n=n, totals=None, passes=0, _gauge=None)

    def thinned(self, apart: int) -> "Objective":
        """The same of a few parts: the others need not be read. That all weigh alike is good enough."""
        rows = Thinned(self.source, apart)
        n = self.n * len(rows.parts(0)) / len(self.source.parts(0))
        return replace(self, source=rows, n=n, totals=None, passes=0, _gauge=None)


@dataclass
class Labelled:
    """The weight of all rows that have a label: a state."""

    n: float = 0.0

    @property
    def nbytes(self) -> int:
        return 0

    def update(self, chunk: Chunk) -> None:
        assert chunk.y is not None
        there = chunk.y >= 0
        self.n += float(there.sum() if chunk.w is None else chunk.w[there].sum())

    def merge(self, other: Self) -> None:
        self.n += other.n


def shift_of(source: Source) -> Floats:
    """A vector near the means of the columns; 0 for CSR, which has to stay sparse."""
    chunk = first_chunk(source)
    X, w = chunk.X, chunk.w
    if isinstance(X, CSR):
        return np.zeros(source.p)
    if isinstance(source, Arrays):
        n = len(source)
        at = np.arange(0, n, max(1, n // 1000), dtype=np.intp)
        X, w = source.X.take(at), None if source.w is None else source.w[at]
    w = np.ones(X.shape[0]) if w is None else w
    with np.errstate(all="ignore"):
        mean = w @ X.to_array() / w.sum()
    return np.where(np.isfinite(mean), mean, 0.0)
