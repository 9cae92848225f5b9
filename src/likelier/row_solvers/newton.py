"""Newton's method by rows in memory: truncated, in single precision; semismooth, for margin losses."""

from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from likelier import _core
from likelier.array_types import Floats
from likelier.data import CSR, Arrays, Block
from likelier.objective import Objective
from likelier.row_solvers.sgd import ContiguousRows
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


# Semismooth Newton for margin losses: the corner of a hinge is handled by its multipliers.

Line = _core.MarginLine | _core.SparseMarginLine

# Sparse rows are taken as any others if they have few columns, or not many and a larger share of their
# cells than this: a hinge takes more systems of equations, each by products of what is stored, than a
# squared one.
FEW_COLUMNS, MANY_COLUMNS = 64, 500
FULL = {"hinge": 1 / 8, "squared_hinge": 1 / 3}
ROUNDING = "no step, and no change of the multipliers, leads on: rounding has the last word"
ALONE = 300_000  # cells times lines, up to which a second thread takes longer to wake than it saves
SHARES = 4  # of the lines, for each thread: some take longer than others


def by_stored_cells(X: Block, loss: str) -> bool:
    """Whether rows are so sparse that products of what they store cost less than matrices of columns."""
    if not isinstance(X, CSR) or loss not in FULL:
        return False
    n, p = X.shape
    thin = int(X.starts[-1] - X.starts[0]) <= FULL[loss] * n * p
    return p > MANY_COLUMNS or (p > FEW_COLUMNS and thin)


def semismooth(objective: Objective, theta: Floats, *, tol: float = 1e-4) -> Iterator[Iterate]:
    """Newton's steps on a hinge whose corner is round, about multipliers that make it the hinge itself.

    It is the proximal point method on the dual problem (Rockafellar 1976), whose multipliers are minus the
    slopes of the rows; of the squared hinge it is Newton's method. The norm of the hinge is √(2 gap), gap
    that of rows and multipliers (Fenchel), which bounds F - F*; of the squared hinge Newton's decrement.
    """
    margins = Margins.of(objective)
    line = margins.line(objective.setting.positive, theta, tol)
    yield margins.seen(line)
    while not line.stuck:
        line.advance()
        yield margins.seen(line)


@dataclass(frozen=True)
class Margins:
    """The rows as all lines share them: of each class against the rest there is one."""

    native: _core.MarginRows | _core.SparseMarginRows
    cells: int
    scale: Floats | None  # (p,): columns in units that make the l2 penalty of all of them the same
    inverse: float  # 1/λ
    corner: bool  # the hinge's

    @classmethod
    def of(cls, objective: Objective) -> "Margins":
        source, setting = objective.source, objective.setting
        assert isinstance(source, Arrays)
        assert source.y is not None
        l2 = objective.penalty.l2[: setting.p]
        most = float(l2.max())
        scale = None if (l2 == most).all() else np.sqrt(most / l2)
        rows = ContiguousRows.of(source, setting)
        codes = np.ascontiguousarray(source.y, dtype=np.int32)
        offset = None if rows.offset is None else np.ascontiguousarray(rows.offset).reshape(-1)
        sparse = by_stored_cells(rows.X, setting.loss.name)
        native = (_core.SparseMarginRows if sparse else _core.MarginRows)(
            rows.X.native(), rows.shift, scale, codes, rows.w, offset, objective.intercept
        )
        cells = len(rows.X.values) if isinstance(rows.X, CSR) else len(codes) * (setting.p + 1)
        return cls(native, cells, scale, 1 / (most * objective.n), setting.loss.name == "hinge")

    def line(self, positive: int, theta: Floats, tol: float) -> Line:
        """One class against all others, step by step."""
        start = theta.copy()
        if self.scale is not None:
            start[:-1] /= self.scale
        if isinstance(self.native, _core.MarginRows):
            return _core.MarginLine(self.native, positive, self.inverse, self.corner, tol, start)
        return _core.SparseMarginLine(self.native, positive, self.inverse, self.corner, tol, start)

    def seen(self, line: Line) -> Iterate:
        theta = np.empty(self.native.width)
        line.theta(theta)
        if self.scale is not None:
            theta[:-1] *= self.scale
        return Iterate(theta, line.value, line.norm, line.step, stuck=ROUNDING if line.stuck else "")

    def lines(
        self, first: int, count: int, factors: Floats | None, tol: float, max_iter: int
    ) -> "LinesResult":
        """Those of the classes from `first` on; factors (count,): what each one's own rows weigh more."""
        theta = np.zeros((count, self.native.width))

        def some(a: int, b: int) -> tuple[Floats, NDArray[np.int64], NDArray[np.uint8]]:
            of = None if factors is None else factors[a:b]
            return self.native.solve(first + a, of, self.inverse, self.corner, tol, max_iter, theta[a:b])

        workers = min(cores(), count) if self.cells * count > ALONE else 1
        cuts = np.linspace(0, count, min(count, SHARES * workers if workers > 1 else 1) + 1).astype(int)
        if workers == 1:
            parts = [some(0, count)]
        else:
            with ThreadPoolExecutor(workers) as pool:
                parts = list(pool.map(some, cuts[:-1].tolist(), cuts[1:].tolist()))
        if self.scale is not None:
            theta[:, :-1] *= self.scale
        trace, lengths, ends = (np.concatenate(each) for each in zip(*parts, strict=True))
        return LinesResult(theta, trace.reshape(-1, 3), np.append(0, np.cumsum(lengths)), ends == STUCK)


STUCK = 2  # as the core says how a line has ended


@dataclass(frozen=True)
class LinesResult:
    """Lines that were followed to their ends, and how each came there."""

    theta: Floats  # (K, p + 1)
    trace: Floats  # (iterates of all lines, 3): objective, norm, step
    starts: NDArray[np.int64]  # (K + 1,): where in the trace each begins
    stuck: NDArray[np.bool_]  # (K,)

    @property
    def lengths(self) -> NDArray[np.int64]:
        return np.diff(self.starts)

    @property
    def norms(self) -> Floats:
        """Of each, at its end."""
        return np.asarray(self.trace[self.starts[1:] - 1, 1])

    def iterates(self, k: int) -> Iterator[Iterate]:
        """The way of line k, as a solver tells it; θ is that of its end throughout."""
        rows = self.trace[self.starts[k] : self.starts[k + 1]]
        for number, (value, norm, step) in enumerate(rows.tolist(), 1):
            stuck = ROUNDING if self.stuck[k] and number == len(rows) else ""
            yield Iterate(self.theta[k], value, norm, step, stuck=stuck)
