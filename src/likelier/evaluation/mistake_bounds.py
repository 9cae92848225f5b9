"""How many mistakes a perceptron can make: bounds that hold for rows in any order."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, NamedTuple, Self

import numpy as np

from likelier import _core, optional
from likelier.array_types import Floats
from likelier.data import CSR, Chunk, Dense, Source
from likelier.display import Displayable, Part, Table
from likelier.engines import run
from likelier.losses import squared_hinge
from likelier.objective import FULL_METRIC, Objective
from likelier.penalties import ElasticNet
from likelier.scores import Affine, Scores
from likelier.solvers import newton, newton_cg
from likelier.states import Setting

LEAST = 1e-12  # of t = D/R: margins below about a millionth of R are not looked for
ROUNDING = 1 + 1e-9  # of |v|, which is taken that much longer: a bound may be met by whole numbers


@dataclass(frozen=True, eq=False)
class MistakeBound(Displayable):
    """A bound on the mistakes of a perceptron, returned by `Perceptron.mistake_bound`; prints as a table.

    A perceptron makes at most ((R + D)/γ)² mistakes, and (R/margin)² if the classes are linearly
    separable. For binary problems the values are numbers; for K classes they have shape (K,), one problem
    for each class against the rest. Rows are (x, bias). γ = 1/|v| and D = γ √(Σ (1 - y v·x)₊²), the sum
    over presentations, are those of the v for which the bound is smallest; it holds for any v, so also
    where that v is known roughly (Freund & Schapire 1999). At v = 0 both are infinite, and the bound is the
    number of presentations.

    Attributes
    ----------
    classes : tuple of str
        The names of the problems.
    R : float or ndarray
        The largest norm of a row.
    gamma : float or ndarray
        The margin γ.
    D : float or ndarray
        The total violation of the margin.
    bound : float or ndarray
        ((R + D)/γ)², which is always valid.
    margin : float or ndarray
        The largest margin found with all rows on their side of the hyperplane (Novikoff 1962); 0 if no
        separating hyperplane was found.
    epochs : float or ndarray
        How often each row was presented.
    bias : float
        The coordinate that stands for the intercept.
    mistakes : int, ndarray or None
        The mistakes that the perceptron made.
    """

    classes: tuple[str, ...]  # of the problems
    R: Any  # the longest row
    gamma: Any
    D: Any
    bound: Any  # always valid
    margin: Any
    epochs: Any  # how often each row was presented
    bias: float  # the coordinate that stands for the intercept
    mistakes: Any = None

    @property
    def separable(self) -> Any:
        """Whether a separating hyperplane was found."""
        return self.margin > 0

    @property
    def separable_bound(self) -> Any:
        """(R/margin)², for any number of epochs; infinite if no separating hyperplane was found."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.separable, np.square(np.divide(self.R, self.margin)), np.inf)[()]

    @property
    def columns(self) -> dict[str, Floats]:
        """The columns of the table, by heading."""
        shown = {"epochs": self.epochs, "R": self.R, "γ": self.gamma, "D": self.D}
        shown |= {"((R + D)/γ)²": self.bound, "margin": self.margin, "(R/margin)²": self.separable_bound}
        if self.mistakes is not None:
            shown["mistakes"] = self.mistakes
        return {heading: np.atleast_1d(values).astype(np.float64) for heading, values in shown.items()}

    def to_frame(self) -> Any:
        """The table as a pandas data frame, one row per problem.

        Returns
        -------
        pandas.DataFrame
            Indexed by class.
        """
        pd = optional.pandas()

        return pd.DataFrame(self.columns, index=list(self.classes))

    def _parts(self) -> list[Part]:
        rows = [("", *self.columns)]
        for name, *values in zip(self.classes, *self.columns.values(), strict=True):
            rows.append((name, *(f"{v:.6g}" for v in values)))
        return [Table(rows, left=0)]


class BinaryProblem(NamedTuple):
    """One class against the rest."""

    name: str
    positive: int  # its code
    turns: int  # rows that had their turn, and
    mistakes: int  # how many of them were mistaken


def mistake_bound(
    source: Source, problems: Sequence[BinaryProblem], bias: float, epochs: float | None = None
) -> MistakeBound:
    """Bounds for each of the problems, of rows (x, bias) with coded labels; bias 0: there is none.

    epochs: how often each row is presented; None: as often as there were turns.
    """
    n, R2 = run(source, lambda: Extents(np.zeros(2))).found
    R = float(np.sqrt(R2 + bias**2))
    often = [_epochs(problem, int(n)) if epochs is None else epochs for problem in problems]
    found = [
        _least(_Ridge(source, int(n), E, R, bias, problem.positive))
        for problem, E in zip(problems, often, strict=True)
    ]

    def each(values: Sequence[Any]) -> Any:
        return values[0] if len(problems) == 1 else np.array(values)

    bounds = [min(one.bound, (R / one.margin) ** 2) if one.margin else one.bound for one in found]
    if epochs is None and any(
        problem.mistakes > bound for problem, bound in zip(problems, bounds, strict=True)
    ):
        raise _other_rows("no order of these rows leads to so many mistakes as were made")
    return MistakeBound(
        tuple(problem.name for problem in problems),
        each([R] * len(problems)),
        each([one.gamma for one in found]),
        each([one.D for one in found]),
        each([one.bound for one in found]),
        each([one.margin for one in found]),
        each(often),
        bias,
        each([problem.mistakes for problem in problems]) if epochs is None else None,
    )


def _other_rows(why: str) -> ValueError:
    return ValueError(
        f"these are not the rows that it was fitted to: {why}. Give all of them, rows that came in some "
        "batches only as often as they came; or say by epochs= how often each is to come."
    )


def _epochs(problem: BinaryProblem, n: int) -> int:
    """How often each of n rows was presented."""
    epochs, rest = divmod(problem.turns, n)
    if rest or not epochs:
        raise _other_rows(f"{problem.turns} were presented, which is not a multiple of {n}")
    return epochs


@dataclass
class Extents:
    """How many rows there are, and the largest |x|²."""

    found: Floats  # (2,)

    @property
    def nbytes(self) -> int:
        return self.found.nbytes

    def update(self, chunk: Chunk) -> None:
        X = chunk.X if isinstance(chunk.X, CSR) else Dense(chunk.X.to_array())
        n, p = X.shape
        squares = np.empty(n)
        _core.square_norms(X.native(), np.zeros(p), squares)
        self.found = np.array([self.found[0] + n, np.max(squares, initial=self.found[1])])

    def merge(self, other: Self) -> None:
        self.found = np.array([self.found[0] + other.found[0], max(self.found[1], other.found[1])])


@dataclass
class Margins:
    """The least margin y v·x, and Σ (1 - y v·x)₊²."""

    scores: Scores  # v·x
    positive: int
    least: float = np.inf
    slack: float = 0.0

    @property
    def nbytes(self) -> int:
        return 0

    def update(self, chunk: Chunk) -> None:
        Z = np.empty((chunk.X.shape[0], 1))
        self.scores.write(chunk, Z)
        m = np.where(chunk.y == self.positive, 1.0, -1.0) * Z[:, 0]
        self.least = float(np.min(m, initial=self.least))
        self.slack += float(np.sum(np.maximum(1 - m, 0.0) ** 2))

    def merge(self, other: Self) -> None:
        self.least = min(self.least, other.least)
        self.slack += other.slack


class Separator(NamedTuple):
    """A v, by all that a bound needs of it."""

    theta: Floats  # (p + 1,)
    length: float  # |v|
    slack: float  # √(Σ (1 - y v·x)₊²), over presentations
    least: float  # margin y v·x of a row

    @property
    def gamma(self) -> float:
        return 1 / self.length

    @property
    def margin(self) -> float:
        return max(self.least, 0.0) / self.length if self.length else 0.0

    def root(self, R: float) -> float:
        """R|v| + |(1 - y v·x)₊|: mistakes are at most its square."""
        return R * self.length + self.slack


class Bound(NamedTuple):
    """What is reported of a problem."""

    gamma: float
    D: float
    bound: float
    margin: float


def _least(ridge: "_Ridge") -> Bound:
    """The least root over v, on the way from large t to small; then nearer, by t = slack / (R|v|).

    (a + b)² = min over t of a² (1 + t) + b² (1 + 1/t): for each t a squared hinge with a penalty on |v|²,
    smooth and strongly convex. Its v go from 0 to the line with the largest margin, if there is one, as t
    goes to 0, and the root has one valley on the way. The t that is best for the last v is never worse.
    """
    R, nothing = ridge.R, Bound(np.inf, np.inf, float(ridge.turns), 0.0)
    if R == 0:
        return nothing
    way: list[Separator] = []
    for k in range(-2, 13):
        way.append(ridge.line(10.0**-k))
        if k > -2 and 0 < way[-1].margin <= (1 + 1e-6) * way[-2].margin:
            break
    best = min(way, key=lambda line: line.root(R))
    margin = max(line.margin for line in way)
    ridge.theta = best.theta
    for _ in range(40):
        if best.length == 0:
            break
        line = ridge.line(max(best.slack / (R * best.length), LEAST))
        gain = 1 - line.root(R) / best.root(R)
        if gain > 0:
            best, margin = line, max(margin, line.margin)
        if gain < 1e-5:
            break
    if best.length == 0 or best.root(R) ** 2 >= ridge.turns:  # v = 0 says as much
        return nothing._replace(margin=margin)
    return Bound(best.gamma, best.gamma * best.slack, best.root(R) ** 2, margin)


class _Ridge:
    """min over v of (1/n) Σ (1 - y v·x)₊² + (R² t/(n E)) |v|², from where the last one ended."""

    def __init__(self, source: Source, n: int, E: float, R: float, bias: float, positive: int) -> None:
        setting = Setting(squared_hinge, 1, np.zeros(source.p), positive)
        none = np.zeros(setting.m)
        self.R, self.epochs, self.turns = R, E, n * E
        self.objective = Objective(source, setting, ElasticNet(none, none), n, bias > 0)
        # b = bias · v's last coordinate.
        self.units = np.append(np.ones(source.p), bias**-2.0 if bias else 0.0)
        self.unit = 2 * R**2 / self.turns
        self.theta = none

    def line(self, t: float) -> Separator:
        self.objective.penalty = ElasticNet(self.unit * t * self.units, np.zeros_like(self.units))
        vars(self.objective).pop("_metric", None)
        for iterate in islice(self._steps(), 60):
            self.theta = iterate.theta
            if iterate.norm**2 <= 1e-8 * iterate.value or iterate.stuck:
                break
        return self._seen()

    def _steps(self) -> Iterator[Any]:
        method = newton if self.objective.size <= FULL_METRIC else newton_cg
        return method(self.objective, self.theta)

    def _seen(self) -> Separator:
        theta, positive = self.theta, self.objective.setting.positive
        term = Affine(theta[-1:], theta[None, :-1].copy(), np.zeros(len(theta) - 1))
        found = run(self.objective.source, partial(Margins, Scores((term,)), positive))
        length = float(np.sqrt(self.units @ theta**2)) * ROUNDING
        return Separator(theta, length, float(np.sqrt(found.slack * self.epochs)), found.least)
