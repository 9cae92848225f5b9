"""Stochastic gradient descent: a step at every row, and the mean of the iterates."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from likelier import _core
from likelier.array_types import Floats
from likelier.data import CSR, Arrays, Chunk, Dense
from likelier.data.errors import NonFinite
from likelier.data.matrix import Block
from likelier.objective import Objective
from likelier.penalties import Penalty
from likelier.solvers import Iterate
from likelier.states import Setting

# Rows as the native row loops take them.


class ContiguousRows(NamedTuple):
    """Rows that adjoin in memory, with labels and weights: those without a label weigh nothing."""

    X: Dense | CSR
    shift: Floats  # (p,)
    codes: NDArray[np.int32]  # (n,); for one score 1 and 0
    w: Floats | None  # (n,)
    offset: Floats | None  # (n, q)
    squares: Floats  # (n,), ‖x - shift‖²

    @classmethod
    def of(cls, source: Arrays, setting: Setting, scale: Floats | None = None) -> "ContiguousRows":
        """All rows of a source, their columns times `scale`."""
        (chunk,) = source.parts(len(source) * source.X.row_bytes)[0]()
        return cls.from_chunk(chunk, setting, scale)

    @classmethod
    def from_chunk(cls, chunk: Chunk, setting: Setting, scale: Floats | None = None) -> "ContiguousRows":
        """The rows of one chunk."""
        assert chunk.y is not None
        X, shift = adjoining(chunk.X), setting.shift
        if scale is not None:
            X, shift = _scaled(X, scale), shift * scale
        squares = np.empty(X.shape[0])
        _core.square_norms(X.native(), shift, squares)
        if not np.isfinite(squares).all():
            _refuse(chunk)
        codes = chunk.y if setting.q > 1 else (chunk.y == setting.positive).astype(np.int32)
        w = chunk.w
        if (chunk.y < 0).any():
            w = np.where(chunk.y < 0, 0.0, 1.0 if w is None else w)
            codes = np.maximum(codes, 0)
        return cls(X, shift, codes, w, chunk.offset, squares)


def adjoining(X: Block) -> Dense | CSR:
    """The same, its rows runs of memory."""
    if isinstance(X, CSR):
        return X
    if isinstance(X, Dense) and X.array.flags.c_contiguous:
        return X
    return Dense(np.ascontiguousarray(X.array if isinstance(X, Dense) else X.to_array()))


def _scaled(X: Dense | CSR, scale: Floats) -> Dense | CSR:
    with np.errstate(invalid="ignore"):  # cells that are no numbers are refused where they are squared
        if isinstance(X, CSR):
            return CSR(X.values * scale[X.columns], X.columns, X.starts, X.p)
        return Dense(X.array * scale)


def _refuse(chunk: Chunk) -> None:
    """Name the first cell that is not a number; there is none where a square was too large."""
    rows, columns = chunk.X.where(lambda x: ~np.isfinite(x))
    if len(rows):
        row, column = int(rows[0]), int(columns[0])
        raise NonFinite(chunk.first + row, column, chunk.X.cell(row, column))


def on_line(*shape: int) -> Floats:
    """Zeros that begin on a cache line: a column's weights then straddle no more of them than they must."""
    size, line = int(np.prod(shape)), 8
    room = np.zeros(size + line)
    first = (-room.ctypes.data // room.itemsize) % line
    return room[first : first + size].reshape(shape)


# Stochastic gradient descent: a step at every row, and the mean of where they led.


HEAVY = 20  # times the mean weight: rows up to it move weights in full proportion


@dataclass(frozen=True)
class LearningRate:
    """η_t = rate / (1 + t/horizon)^power; rate None: what the losses' curvature and the rows allow.

    scaled: each column in units of its own typical size, so that those of any scale learn alike.
    """

    rate: float | None = None
    power: float = 0.5
    horizon: float = 1e3
    scaled: bool = True


@dataclass
class Descent:
    """A fold: weights that each chunk of rows moves, in the order of its rows.

    W -= η_t w ℓ'(z) x, then the proximal step of the penalty (Robbins & Monro 1951; Bottou 2010). The
    mean of the iterates weighs step t in proportion to about t (Shamir & Zhang 2013).
    """

    setting: Setting
    penalty: Penalty
    theta: Floats  # (q, p + 1)
    mean: Floats  # (q, p + 1)
    squares: Floats  # (p,), Σ x² of each column,
    cells: Floats  # (p,), and of how many cells
    intercept: bool = True
    pace: LearningRate = LearningRate()
    steps: int = 0

    @classmethod
    def start(
        cls,
        setting: Setting,
        penalty: Penalty,
        theta: Floats,
        *,
        intercept: bool = True,
        pace: LearningRate | None = None,
    ) -> Self:
        T = np.array(theta, dtype=np.float64).reshape(setting.q, -1)
        none = np.zeros(setting.p)
        return cls(setting, penalty, T, T.copy(), none, none.copy(), intercept, pace or LearningRate())

    def update(self, chunk: Chunk) -> float:
        """A step at each row: the losses that they had before it, added up."""
        self.survey(chunk)
        rows = ContiguousRows.from_chunk(chunk, self.setting, self.scale())
        return self.run(rows, np.arange(chunk.X.shape[0]))

    def survey(self, chunk: Chunk) -> None:
        """How large the cells of each column are."""
        squares, cells = column_squares(chunk, self.setting.shift)
        self.squares += squares
        self.cells += cells

    def scale(self) -> Floats | None:
        """1 / the typical size of a column's cells, of those that are stored."""
        if not self.pace.scaled:
            return None
        with np.errstate(divide="ignore", invalid="ignore"):
            scale = np.sqrt(self.cells / self.squares)
        return np.where(np.isfinite(scale), scale, 1.0)

    def run(self, rows: ContiguousRows, order: NDArray[np.int64]) -> float:
        """Steps at these rows, whose columns are times `scale()`, in this order."""
        setting, scale = self.setting, self.scale()
        p, q = setting.p, setting.q
        s = np.ones(p) if scale is None else scale
        width = 1 if q == 1 else -(-q // _core.lanes) * _core.lanes
        W, mean = on_line(p + 1, width), on_line(p + 1, width)
        W[:, :q] = self.theta.T
        W[:-1] /= s[:, None]
        bound = setting.loss.bound if np.isfinite(setting.loss.bound) else 0.0
        loss, steps = _core.sgd_epoch(
            rows.X.native(),
            rows.shift,
            rows.codes,
            rows.w,
            rows.offset,
            order,
            rows.squares,
            setting.loss.number,
            q,
            self._rate(rows, bound),
            self.pace.power,
            self.pace.horizon,
            bound,
            self.intercept,
            self.penalty.l2[:p] * s**2,
            self.penalty.l1[:p] * s,
            _every(rows.X),
            self.steps,
            W,
            mean,
        )
        W[:-1] *= s[:, None]
        mean[:-1] *= s[:, None]
        self.theta = W[:, :q].T.copy()
        if steps > self.steps:
            share = 2 * (steps - self.steps) / (2 * steps - self.steps)
            self.mean = self.mean + share * (mean[:, :q].T - self.mean)
        self.steps = steps
        return loss

    def _rate(self, rows: ContiguousRows, bound: float) -> float:
        if self.pace.rate is not None:
            return self.pace.rate
        heavy = 1.0 if rows.w is None else max(1.0, min(rows.w.max(), HEAVY * rows.w.mean()))
        return float(1 / ((bound or 1.0) * (float(rows.squares.mean()) + 1) * heavy))


def column_squares(chunk: Chunk, shift: Floats) -> tuple[Floats, Floats]:
    """Σ (x - shift)² over the cells of each column (p,), of CSR those that are stored; and their number."""
    X, p = chunk.X, len(shift)
    if isinstance(X, CSR):
        at = slice(X.starts[0], X.starts[-1])
        squares = np.square(X.values[at], dtype=np.float64)
        columns = X.columns[at]
        counts = np.bincount(columns, squares > 0, p)
        return np.asarray(np.bincount(columns, squares, p), dtype=np.float64), counts.astype(np.float64)
    with np.errstate(over="ignore"):  # what is too large is refused by the metric
        return np.square(X.to_array() - shift).sum(axis=0), np.full(p, float(X.shape[0]))


def _every(X: object) -> int:
    """Rows between steps of the penalty, which touch all weights: as much work again as the rows are."""
    if not isinstance(X, CSR):
        return 1
    n, p = X.shape
    return max(1, -(-p * n // max(1, int(X.starts[-1] - X.starts[0]))))


def sgd(
    objective: Objective, theta: Floats, *, pace: LearningRate | None = None, seed: int = 0
) -> Iterator[Iterate]:
    """Epochs of `Descent` over shuffled rows. An iterate is the mean of them, with the value of a pass."""
    source, setting = objective.source, objective.setting
    assert isinstance(source, Arrays)
    n = len(source)
    (chunk,) = source.parts(n * source.X.row_bytes)[0]()
    pace = LearningRate(horizon=float(n)) if pace is None else pace
    descent = Descent.start(setting, objective.penalty, theta, intercept=objective.intercept, pace=pace)
    descent.survey(chunk)
    rows = ContiguousRows.from_chunk(chunk, setting, descent.scale())
    order = np.arange(n)
    yield seen(objective, theta, 0.0)
    for number in count(1):
        _core.deal(order, (seed << 32) + number)
        descent.run(rows, order)
        yield seen(objective, descent.mean.ravel(), 1.0)


def seen(objective: Objective, theta: Floats, step: float) -> Iterate:
    """Where θ is; a loss with a corner has no gradient norm to stop by."""
    f, g = objective.gradient(theta)
    value = f + float(objective.penalty.l1 @ np.abs(theta))
    if not objective.setting.loss.smooth:
        return Iterate(theta, value, np.inf, step)
    g = objective.penalty.residual(theta, g)
    return Iterate(theta, value, float(np.sqrt(g @ objective.metric().solve(g))), step)
