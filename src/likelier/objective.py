"""Mean loss plus penalty over rows of any source: the `Oracle` of batch solvers."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from likelier import _core
from likelier.array_types import Floats
from likelier.data import CSR, Arrays, Block, Dense, Source
from likelier.data.transforms import (
    FAR,
    MarginOffset,
    StridedParts,
    StridedRows,
    Units,
    largest,
    needed,
    selected,
)
from likelier.engines import first_chunk, run
from likelier.losses import Loss
from likelier.penalties import ElasticNet, Penalty
from likelier.solvers import DiagonalMetric, FullMetric
from likelier.states import (
    ColumnPowers,
    Expansion,
    Gram,
    MaxRowSum,
    Product,
    ScalingSums,
    Setting,
    Squares,
    Values,
)

FULL_METRIC = 2000  # columns up to which the metric is a full matrix,
FULL_ANYWAY = 700  # the same where a problem turned out to be hard,
WORTH = 30  # if rows are in memory: and up to which it takes no longer than so many gradients


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
    promised: float = field(default=np.inf, init=False)  # see `know`
    _gauge: Floats | None = field(default=None, repr=False)  # (p + 1,)
    _recalled: tuple[Floats, Expansion] | None = field(default=None, init=False, repr=False)

    @property
    def size(self) -> int:
        return self.setting.q * (len(self.setting.shift) + 1)

    @property
    def width(self) -> int:
        return self.setting.p + 1

    @property
    def penalised(self) -> bool:
        return bool(self.penalty.l2.any()) or not self.penalty.smooth

    @property
    def held(self) -> bool:
        """Whether a penalty keeps the weights of every column finite."""
        each = self.penalty.l2 + self.penalty.l1
        return bool((each[: len(self.setting.shift)] > 0).all())

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

    def recall(self, theta: Floats, sums: Expansion) -> None:
        """Sums over rows that another pass has found: a gradient at θ costs no pass of its own."""
        self._recalled = theta, sums

    def known_value(self) -> float:
        """F(0), which needs no rows; with offsets it is not known."""
        source, setting = self.source, self.setting
        if isinstance(source, Arrays) and source.offset is not None:
            return np.inf
        return float(setting.loss.value(np.zeros((1, setting.q)), np.zeros(1, dtype=np.int32))[0])

    def _sums(self, theta: Floats, *, curved: bool) -> Expansion:
        if self._recalled is not None and not curved and np.array_equal(self._recalled[0], theta):
            return replace(self._recalled[1], g=self._recalled[1].g.copy())
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
                "Input X contains values so large that their sums of squares overflow: rescale "
                "such columns."
            )
        H /= self.n
        if not self.intercept:
            at = np.arange(self.setting.p, self.size, self.setting.p + 1)
            H[at] = H[:, at] = 0
        H.reshape(-1)[:: len(H) + 1] += self.penalty.l2  # its diagonal
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
        found = run(self.source, partial(ScalingSums.start, self.setting, self._shaped(theta)[0]))
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
        return float(run(self.source, partial(MaxRowSum.start, self.setting.shift)).most[0])

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

    def curvature(self, H: Floats) -> Floats:
        """Of the mean loss alone, from a Hessian as `hessian` gives it."""
        H = self.opened(H)
        H[np.diag_indices_from(H)] -= self.penalty.l2
        return H

    # ---- the metric --------------------------------------------------------------------------------
    def metric(self) -> FullMetric | DiagonalMetric:
        return self._metric

    @cached_property
    def _metric(self) -> FullMetric | DiagonalMetric:
        if not self.fully_measured:
            return DiagonalMetric(self.diagonal())
        self.passes += 1
        return self.measured(run(self.source, self.measuring))

    def measure_fully(self) -> None:
        """A full matrix, whatever it costs up to a size: where steps in a diagonal metric were too slow."""
        if not self.fully_measured and self.width <= FULL_ANYWAY:
            self.passes += 1
            self.know(self.measured(run(self.source, partial(Gram.about, self.setting.shift))))

    @property
    def measuring(self) -> Callable[[], Gram | Squares]:
        """What absorbs the rows for the metric."""
        return partial(Gram.about if self.fully_measured else Squares.start, self.setting.shift)

    @property
    def fully_measured(self) -> bool:
        """Whether the metric is a full matrix."""
        if not isinstance(self.source, Arrays) or self.width > FULL_METRIC:
            return self.width <= FULL_METRIC
        metric, gradient = costs(self.source, self.setting.q)
        return metric <= WORTH * gradient

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

    def metric_of(self, H: Floats) -> FullMetric:
        """By what is taken for the curvature of the mean loss, (m, m), which is used up."""
        H[np.diag_indices_from(H)] += self.penalty.l2
        self._close(H)
        return FullMetric.of(H, 1)

    def know(self, metric: FullMetric | DiagonalMetric, promised: float = np.inf) -> None:
        """The metric, found in another pass, or by some of the rows.

        promised: how far the optimum lies below the start, if it is as those rows have it; it may be less.
        """
        self._metric, self.promised = metric, promised

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
        unit = None if self.setting.unit is None else self.setting.unit[columns]
        setting = replace(self.setting, shift=self.setting.shift[columns], unit=unit)
        penalty = ElasticNet(self.penalty.l2[at], self.penalty.l1[at])
        source = selected(self.source, columns)
        return replace(self, source=source, setting=setting, penalty=penalty, passes=0, _gauge=None), at

    # ---- the same rows, other losses ---------------------------------------------------------------
    def under(self, loss: Loss) -> "Objective":
        """Of another loss, and no penalty."""
        none = np.zeros(self.size)
        return self._with(self.source, loss, ElasticNet(none, none))

    def with_margin_offset(self, loss: Loss, width: float) -> "Objective":
        """Of a loss of 1 + (m - 1) / width: at θ / width, times width, its value is F's at θ, so seen."""
        rows = MarginOffset(self.source, width, self.setting.positive)
        return self._with(rows, loss, ElasticNet(self.penalty.l2 * width, self.penalty.l1))

    def _with(self, source: Source, loss: Loss, penalty: Penalty) -> "Objective":
        setting = replace(self.setting, loss=loss)
        return replace(self, source=source, setting=setting, penalty=penalty, passes=0, _gauge=None)

    # ---- a beginning -------------------------------------------------------------------------------
    def sampled(self, apart: int) -> "Objective":
        """The same of a few rows from all over the source."""
        return self._of_few(StridedRows(self.source, apart))

    def thinned(self, apart: int) -> "Objective":
        """The same of a few parts: the others need not be read."""
        return self._of_few(StridedParts(self.source, apart))

    def _of_few(self, rows: Source) -> "Objective":
        """About a shift of their own, and with a prior on each weight that counts as one row.

        A column that is constant in these rows is then 0, and so is its weight: about another shift it
        would be a second intercept, and share in it by a weight of any size. The prior holds weights that
        few rows exaggerate, because those that have a rare column are all of one class.
        """
        setting = replace(self.setting, shift=shift_of(rows)) if self.intercept else self.setting
        found = run(rows, partial(ColumnPowers.start, setting.shift))
        l2 = np.tile(found.squares / max(found.count, 1.0), setting.q)
        penalty = ElasticNet(self.penalty.l2 + l2, self.penalty.l1)
        n = max(found.n, np.finfo(np.float64).tiny)
        few = replace(self, source=rows, setting=setting, penalty=penalty, n=n, totals=None)
        return replace(few, passes=0, _gauge=None)

    def carried(self, theta: Floats, other: "Objective") -> Floats:
        """θ of this problem as that of another about another shift: the scores stay the same."""
        T = theta.reshape(self.setting.q, -1).copy()
        T[:, -1] += T[:, :-1] @ (other.setting.shift - self.setting.shift)
        return T.ravel()


def costs(source: Arrays, q: int) -> tuple[float, float]:
    """Of a full metric and of a gradient, in multiplications; rows of few scores wait for their cells."""
    n, p = len(source), source.p
    cells = len(source.X.values) / max(n, 1) if isinstance(source.X, CSR) else p  # of a row
    return PASS + n * cells**2 / 2 + p**3 / 3, PASS + n * cells * (4 * q + 8)


PASS = 3e5  # multiplications in the time that a pass takes beside its rows


def shift_of(source: Source) -> Floats:
    """A vector near the means of the columns; 0 for CSR, which has to stay sparse."""
    seen = glance(source)
    return mean_near(None if isinstance(seen.X, CSR) else seen.X.to_array(), seen.w, source.p)


def mean_near(rows: Floats | None, w: Floats | None, p: int) -> Floats:
    """The means of some rows, of which some columns may have none; None: sparse rows, which stay so."""
    if rows is None:
        return np.zeros(p)
    with np.errstate(all="ignore"):
        off = rows - rows[0]  # exact if a column is constant
        # Not by BLAS, which would wake its threads for it.
        mean = rows[0] + (off.mean(axis=0) if w is None else np.einsum("i,ij->j", w, off) / w.sum())
    return np.where(np.isfinite(mean), mean, 0.0)


def units_of(source: Source, l2: Floats, some: Floats) -> Units | None:
    """The units of columns that are far from 1 in size, or whose l2 penalty (p,) is; None: there are none.

    By all rows where these are few, else by some of them, whose cells are at most `some` (p,). Penalties
    count, so that neither they nor the squares of cells overflow: the larger of the two has size 1.
    """
    if isinstance(source, Arrays) and isinstance(source.X, CSR) and _stored_ordinary(source.X, l2):
        return None
    found = needed(np.maximum(some, np.sqrt(l2)), together=False)
    if not isinstance(source, Arrays) or len(source) * source.X.row_bytes > FEW_BYTES:
        return found
    if found is None and some.all() and _ordinary(source.X):  # other rows make no column smaller
        return None
    return needed(np.maximum(largest(source.X), np.sqrt(l2)), together=False)


def _ordinary(X: Block) -> bool:
    """Whether no cell is so large that its column needs a unit."""
    if not isinstance(X, Dense) or X.array.dtype.kind != "f":
        return False
    if X.array.flags.c_contiguous:  # one native pass, where the largest and the smallest would be two
        squares = np.empty(len(X.array))
        _core.square_norms(X.native(), np.zeros(X.array.shape[1]), squares)
        return bool(squares.max(initial=0.0) < 2.0 ** (2 * FAR))
    return max(float(X.array.max(initial=0.0)), -float(X.array.min(initial=0.0))) < 2.0**FAR


def _stored_ordinary(X: CSR, l2: Floats) -> bool:
    """Whether no stored cell and no penalty is so far from 1 that any column needs a unit."""
    cells = np.abs(X.values[X.starts[0] : X.starts[-1]])
    ends = (cells.min(initial=1.0), cells.max(initial=1.0), np.sqrt(l2.min()), np.sqrt(l2.max()))
    return all(2.0**-FAR <= end < 2.0**FAR for end in ends)


FEW_BYTES = 8_000_000  # of X, that are all looked at
SOME_ROWS, SOME_CELLS, FEWEST_ROWS = 1000, 100_000, 32  # that are glanced at


class RowGlance(NamedTuple):
    """Some rows, and their weights."""

    X: Block
    w: Floats | None


def glance(source: Source) -> RowGlance:
    """Some rows and their weights: of those in memory some from all over, else the first."""
    if not isinstance(source, Arrays) or isinstance(source.X, CSR):
        chunk = first_chunk(source)
        return RowGlance(chunk.X, chunk.w)
    some = min(SOME_ROWS, max(FEWEST_ROWS, SOME_CELLS // max(1, source.p)))
    at = slice(0, None, max(1, len(source) // some))
    return RowGlance(source.X.take(at), None if source.w is None else source.w[at])
