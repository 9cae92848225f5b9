"""Semismooth Newton for margin losses: the corner of a hinge is handled by its multipliers."""

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
from likelier.solvers import Iterate
from likelier.threads import cores

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
