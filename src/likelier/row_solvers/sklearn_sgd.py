"""Stochastic gradient descent over shuffled rows in memory, step for step as scikit-learn takes it."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from likelier import _core
from likelier.array_types import Floats
from likelier.data import CSR, Chunk, Dense
from likelier.data.errors import NonFinite
from likelier.row_solvers.sgd import adjoining

Ints = NDArray[np.int64]

LOSSES = (
    "log_loss",
    "softmax",
    "hinge",
    "squared_hinge",
    "perceptron",
    "squared_error",
    "modified_huber",
    "huber",
    "epsilon_insensitive",
    "squared_epsilon_insensitive",
)
RATES = ("constant", "optimal", "invscaling", "adaptive", "pa1", "pa2", "adagrad")
SPARSE_DECAY = 0.01  # of the intercept's steps, which every row of CSR moves, and other weights few
AT_ONCE = 50_000_000  # cells between two looks at what the user wants
FEW_CELLS = 1 << 15  # below which starting threads takes longer than the steps
IN_ORDER = 4_000_000  # cells, up to which sums are taken in scikit-learn's order, for the same bits


@dataclass(frozen=True)
class SGDSettings:
    """How steps are taken, and when there is an end to them.

    η_t = η₀ (constant, adaptive), 1 / (α (t₀ + t - 1)) (optimal; Bottou 2012), η₀ / t^power (invscaling),
    min(η₀, ℓ/‖x‖²) (pa1), ℓ / (‖x‖² + 1/2η₀) (pa2; Crammer et al. 2006), η₀ / √Σg² for each weight
    (adagrad; Duchi et al. 2011).
    """

    loss: str = "hinge"
    rate: str = "optimal"
    eta0: float = 0.01
    power: float = 0.5
    alpha: float = 1e-4
    strength: float = 1.0  # of the penalty, strength (l2 ‖w‖²/2 + l1 ‖w‖₁)
    l2: float = 1e-4
    l1: float = 0.0
    epsilon: float = 0.1
    average: int = 0  # from this turn on; 0: never
    intercept: bool = True
    shuffle: bool = True
    tol: float | None = 1e-3
    patience: int = 5
    still: bool = False  # an epoch without a step is the last
    diary: bool = False


class Rows(NamedTuple):
    """Rows with coded labels; `held` ones are not learned from: their score says when to stop."""

    X: Dense | CSR  # rows that adjoin
    codes: NDArray[np.int32]  # (n,), -1: of no class
    w: Floats | None = None  # (n,)
    held: NDArray[np.uint8] | None = None  # (n,)
    first: int = 0  # the number of the first row

    @classmethod
    def of(cls, chunk: Chunk, held: NDArray[np.uint8] | None = None) -> "Rows":
        assert chunk.y is not None
        return cls(adjoining(chunk.X), np.ascontiguousarray(chunk.y), chunk.w, held, chunk.first)

    @property
    def coded(self) -> int:
        """How many rows are of a class: the others have no turn."""
        return int(np.count_nonzero(self.codes >= 0))


@dataclass(frozen=True)
class SGDPoint:
    """Where steps continue: θ (q, p + 1), intercepts last; its mean and Σg², if wanted; the next turn.

    stepped: the same with all that is left over from the steps so far; those at other rows continue there
    to the bit, as if all rows were in memory.
    """

    theta: Floats
    mean: Floats | None = None
    squares: Floats | None = None
    t: float = 1.0
    stepped: _core.Stepped | None = None

    @classmethod
    def start(cls, q: int, p: int, settings: SGDSettings, theta: Floats | None = None) -> "SGDPoint":
        none = np.zeros((q, p + 1))
        return cls(
            none if theta is None else theta,
            none if settings.average else None,
            none if settings.rate == "adagrad" else None,
        )


@dataclass(frozen=True)
class EpochResult:
    """Where steps have led, and what was seen on the way, by epoch."""

    point: SGDPoint
    losses: Floats  # mean loss of each row before its step
    scores: Floats  # of the held rows, after the epoch
    mistakes: Ints  # rows with y z <= 0 before their step
    steps: Ints  # rows that moved the weights
    ended: bool  # whether nothing more was gained, rather than all epochs made
    turns: Ints  # with a diary: of each step its turn, from 1,
    rows: Ints  # and its row
    clipped: int  # steps whose slope was cut to 1e12: they diverge
    objective: float = 0.0  # of the last epoch: Σ of losses and, with a tolerance, of penalties


class Task(NamedTuple):
    """One problem on some rows: which class is positive, what the classes weigh, the seed of the order."""

    seed: int
    positive: int = 1
    by_class: tuple[float, ...] = (1.0, 1.0)  # the others', the positive one's; softmax: each class's


Watch = Callable[[float], None]  # after an epoch: its mean loss


class EpochCallback(Protocol):
    """Whoever is to know, after some epochs, all that can be known."""

    def at_once(self, rows: int) -> int:
        """How many epochs over so many rows it can be told of together."""

    def after(self, native: _core.Stochastic, /) -> None:
        """Epochs have been made."""


def result(
    rows: Rows,
    settings: SGDSettings,
    point: SGDPoint,
    task: Task,
    epochs: int,
    watch: Watch | None = None,
    told: EpochCallback | None = None,
) -> EpochResult:
    """Epochs of steps, at most so many."""
    if epochs == 0:
        none = np.empty(0, dtype=np.int64)
        return EpochResult(point, np.empty(0), np.empty(0), none, none, True, none, none, 0)
    native = _native(rows, settings, point, task)
    at_once = 1 if watch is not None else max(1, AT_ONCE // _cells(rows.X))
    if told is not None:
        at_once = min(at_once, told.at_once(len(rows.codes)))
    made = 0
    while made < epochs and not native.ended:
        native.run(min(at_once, epochs - made))
        if native.bad >= 0:
            _refuse(rows, native.bad, epoch=len(native.steps) + 1)
        made = len(native.steps)
        if told is not None:
            told.after(native)
        if watch is not None:
            watch(float(native.losses[-1]))
    return EpochResult(
        _point(native, point),
        native.losses,
        native.judged,
        native.mistakes,
        native.steps,
        native.ended,
        native.diary_turns,
        native.diary_rows,
        native.clipped,
        native.objective,
    )


def run_all_epochs(
    rows: Rows,
    settings_of_each: Sequence[SGDSettings],
    points: Sequence[SGDPoint],
    tasks: Sequence[Task],
    epochs: Sequence[int],
    workers: int,
    watch: Watch | None = None,
    told: Sequence[EpochCallback | None] | None = None,
) -> list[EpochResult]:
    """The same for several problems on the same rows, side by side."""
    told = [None] * len(tasks) if told is None else told

    def one(
        settings: SGDSettings, point: SGDPoint, task: Task, epochs: int, told: EpochCallback | None
    ) -> EpochResult:
        return result(rows, settings, point, task, epochs, watch, told)

    problems = list(zip(settings_of_each, points, tasks, epochs, told, strict=True))
    if min(workers, len(tasks)) == 1 or _cells(rows.X) < FEW_CELLS:
        return [one(*problem) for problem in problems]
    with ThreadPoolExecutor(min(workers, len(tasks))) as pool:
        return list(pool.map(lambda problem: one(*problem), problems))


def _native(rows: Rows, settings: SGDSettings, point: SGDPoint, task: Task) -> _core.Stochastic:
    sparse = isinstance(rows.X, CSR) and settings.rate != "adagrad"
    typical = np.sqrt(1 / np.sqrt(settings.alpha)) if settings.rate == "optimal" else 1.0
    q = len(point.theta)  # of two classes softmax has one score, too
    return _core.Stochastic(
        rows.X.native(),
        rows.codes,
        rows.w,
        rows.held,
        np.array(task.by_class, dtype=np.float64),
        point.theta,
        point.mean,
        point.squares,
        point.stepped,
        t=point.t,
        positive=task.positive,
        K=q,
        loss=LOSSES.index("log_loss" if q == 1 and settings.loss == "softmax" else settings.loss),
        epsilon=settings.epsilon,
        rate=RATES.index(settings.rate),
        eta0=settings.eta0,
        power=settings.power,
        alpha=settings.alpha,
        t0=1 / (typical * settings.alpha) if settings.rate == "optimal" else 0.0,
        strength=settings.strength,
        l2=settings.l2,
        l1=settings.l1,
        average=settings.average,
        intercept=settings.intercept,
        decay=SPARSE_DECAY if sparse else 1.0,
        shuffle=settings.shuffle,
        seed=task.seed,
        tol=-np.inf if settings.tol is None else settings.tol,
        patience=settings.patience,
        still=settings.still,
        diary=settings.diary,
        in_order=_cells(rows.X) <= IN_ORDER,
        # scikit-learn's score of held rows takes no refusal by the logistic loss for a right answer.
        refusal=0.0 if settings.loss == "log_loss" else 1.0,
    )


def _cells(X: Dense | CSR) -> int:
    n, p = X.shape
    return n * p if isinstance(X, Dense) else int(X.starts[-1] - X.starts[0]) + n


def _point(native: _core.Stochastic, before: SGDPoint) -> SGDPoint:
    theta = np.empty_like(before.theta)
    native.theta(theta)
    mean = squares = None
    if before.mean is not None:
        mean = np.empty_like(before.mean)
        native.mean(mean)
    if before.squares is not None:
        squares = np.empty_like(before.squares)
        native.squares(squares)
    return SGDPoint(theta, mean, squares, native.t, native.stepped())


def _refuse(rows: Rows, row: int, epoch: int) -> None:
    """Name the cell that is no number; if there is none, steps have grown out of all bounds."""
    _, columns = rows.X.rows(row, row + 1).where(lambda x: ~np.isfinite(x))
    if len(columns):
        column = int(columns[0])
        raise NonFinite(rows.first + row, column, rows.X.cell(row, column))
    raise ValueError(
        f"Floating-point under-/overflow occurred at epoch #{epoch}. Scaling input data with "
        f"StandardScaler or MinMaxScaler might help. (The score of row {rows.first + row} is no longer "
        "finite; smaller steps help too: a smaller eta0, a larger alpha.)"
    )
