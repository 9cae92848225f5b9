"""What a fitted model computes, as plain data: the description from which every export is written.

A `Program` reads `Input`s (the columns that users have), makes numeric columns of them (`Column`), adds up
the terms of each class (`Sum`), and turns the scores into answers. Missing cells are NaN in the columns;
what each term makes of them is said at the term.
"""

from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from likelier.array_types import Floats

Indices = NDArray[np.intp]


class NotExpressible(ValueError):
    """A model, or a part of one, that an export cannot express."""


# Inputs: the columns of a table, as users have them.


@dataclass(frozen=True)
class Input:
    """A column of the table: its name, and what its cells are.

    A missing cell is NULL or NaN. A date is a point in time, or days since 1970.
    """

    name: str
    kind: Literal["number", "bool", "category", "date"] = "number"
    levels: tuple[Any, ...] = ()  # of categories
    zone: str | None = None  # of dates, by whose clock their parts are


# Columns: a number each, made of one input; NaN where it is missing.


@dataclass(frozen=True)
class Number:
    """((x - shift) / scale), `fill` where x is missing; missing outside of [low, high]; then over 2^power.

    whole: a number that is not whole is missing, too.
    """

    input: int
    part: str = ""  # of a date: "month", for one
    shift: float = 0.0
    scale: float = 1.0
    fill: float = np.nan
    low: float = -np.inf
    high: float = np.inf
    whole: bool = False
    power: int = 0

    @property
    def as_it_is(self) -> bool:
        """Whether it is the input, unless that is missing or outside of the limits."""
        return (self.part, self.shift, self.scale, self.power) == ("", 0.0, 1.0, 0)


@dataclass(frozen=True)
class Missing:
    """1 where the input is missing, 0 elsewhere; unseen: 1 also where it is none of the levels."""

    input: int
    unseen: bool = False


@dataclass(frozen=True)
class Indicator:
    """1 where the input is one of these levels; and where it is missing, or none of them, if so said."""

    input: int
    levels: tuple[int, ...]
    missing: bool = False
    unseen: bool = False


@dataclass(frozen=True)
class Code:
    """The code of the input's level; `unseen` where it is none of them, `missing` where it is missing."""

    input: int
    codes: tuple[float, ...]
    unseen: float = np.nan
    missing: float = np.nan


@dataclass(frozen=True)
class Bin:
    """How many of the rising cuts are below the number."""

    input: int
    cuts: Floats
    part: str = ""


Operation = Literal["same", "add", "subtract", "multiply", "divide", "power", "log", "exp", "sqrt", "abs"]


@dataclass(frozen=True)
class Computed:
    """An operation on columns and constants; missing where one of them is, or the result is not finite."""

    name: str  # of a term of a formula; none within another
    operation: Operation
    of: tuple["Column | float", ...]


Column = Number | Missing | Indicator | Code | Bin | Computed


# Terms: what they add to the score of each of K classes.


@dataclass(frozen=True)
class Linear:
    """Σ_j (c_kj + W_kj (f(x_j) - shift_j)), f(x) = 1[x > above] if there is a threshold.

    skip: a missing cell adds nothing. Without, a row in which a cell is missing has no score.
    """

    columns: Indices  # (q,)
    W: Floats  # (K, q)
    shift: Floats  # (q,)
    constant: Floats  # (K, q)
    skip: bool
    above: float | None = None

    def times(self, w: float) -> Self:
        return replace(self, W=w * self.W, constant=w * self.constant)


@dataclass(frozen=True)
class Squares:
    """Σ_j (c_kj - ½ ((x_j - m_kj) s_kj)²); a missing cell adds nothing."""

    columns: Indices  # (q,)
    mean: Floats  # (K, q)
    scale: Floats  # (K, q)
    constant: Floats  # (K, q)

    def times(self, w: float) -> Self:
        return replace(self, scale=np.sqrt(w) * self.scale, constant=w * self.constant)


@dataclass(frozen=True)
class Quadratic:
    """-½ |U_k (x - shift_k) - at_k|²; a row in which a cell is missing has no score."""

    columns: Indices  # (q,)
    shift: Floats  # (K, q), or (1, q) for all classes
    U: Floats  # (K, r, q), or (1, r, q) for all classes
    at: Floats  # (K, r)

    def times(self, w: float) -> Self:
        root = np.sqrt(w)
        return replace(self, U=root * self.U, at=root * self.at)


@dataclass(frozen=True)
class GaussianMarginal:
    """w ln N(what is there; m_k, Σ_k), of rows in which cells are missing.

    Directions whose standard deviation is at most `tol`, of standardised columns, are left out.
    """

    columns: Indices  # (q,)
    mean: Floats  # (K, q)
    cov: Floats  # (K, q, q), or (1, q, q) for all classes
    tol: float
    weight: float = 1.0

    def times(self, w: float) -> Self:
        return replace(self, weight=w * self.weight)


@dataclass(frozen=True)
class IfComplete:
    """One sum for rows in which none of the columns is missing, another for all others."""

    columns: Indices
    complete: "Sum"
    gaps: "Sum"

    def times(self, w: float) -> Self:
        return replace(self, complete=self.complete.times(w), gaps=self.gaps.times(w))


@dataclass(frozen=True)
class Lookup:
    """A row of a table by the code of the cell: `unseen` beyond its end, `missing` where there is none."""

    column: int
    table: Floats  # (L, K)
    unseen: Floats  # (K,)
    missing: Floats  # (K,)

    def times(self, w: float) -> Self:
        return replace(self, table=w * self.table, unseen=w * self.unseen, missing=w * self.missing)


@dataclass(frozen=True)
class Bins:
    """The row of a table that belongs to the bin of the number: the count of cuts that are at most it.

    A missing cell adds nothing.
    """

    column: int
    cuts: Floats  # (B - 1,), rising
    table: Floats  # (B, K)

    def times(self, w: float) -> Self:
        return replace(self, table=w * self.table)


@dataclass(frozen=True)
class Ratios:
    """Σ_j (c_kj + A_kj d + B_kj e), d = u/o_j - 1, e = d - ln(u/o_j), u = x or, `complement`, 1 - x.

    A missing cell adds nothing. d and e are cut at ±1e290.
    """

    columns: Indices  # (q,)
    origin: Floats  # (q,)
    A: Floats  # (K, q)
    B: Floats  # (K, q)
    constant: Floats  # (K, q)
    complement: bool = False

    def times(self, w: float) -> Self:
        return replace(self, A=w * self.A, B=w * self.B, constant=w * self.constant)


@dataclass(frozen=True)
class Draws:
    """Σ_j x_j ln(θ_kj / Σ_i θ_ki) over the cells that are there, i among them; θ sums to 1."""

    columns: Indices  # (q,)
    log_theta: Floats  # (K, q)
    weight: float = 1.0

    def times(self, w: float) -> Self:
        return replace(self, weight=w * self.weight)


@dataclass(frozen=True)
class Dirichlet:
    """ln of Dirichlet densities but for what classes share: Σ_j α_kj ln(u_j/m_kj) + b_k.

    u are the cells over their sum, m_k = α_k/A_k. Cells that are not above 0 are missing; all cells are if
    their sum is not `whole` to one in a million. If a cell is missing, or columns are but some of those of
    the density (rest > 0), the density is that of the cells that are there and of what is left as one more.
    """

    columns: Indices  # (q,)
    alpha: Floats  # (K, q)
    rest: Floats  # (K,), α of columns that are not among these
    whole: float
    weight: float = 1.0

    def times(self, w: float) -> Self:
        return replace(self, weight=w * self.weight)


@dataclass(frozen=True)
class LogSumExp:
    """w ln Σ_m e^{z_m} over the components m of each class."""

    owner: Indices  # (M,), the class of each component, rising
    components: "Sum"  # of M of them
    weight: float = 1.0

    def times(self, w: float) -> Self:
        return replace(self, weight=w * self.weight)


Term = (
    Linear
    | Squares
    | Quadratic
    | GaussianMarginal
    | IfComplete
    | Lookup
    | Bins
    | Ratios
    | Draws
    | Dirichlet
    | LogSumExp
)


@dataclass(frozen=True)
class Sum:
    """b_k and all that terms add to it."""

    bias: Floats  # (K,); -inf: a class that is impossible
    terms: tuple[Any, ...] = ()

    @property
    def K(self) -> int:
        return len(self.bias)

    def plus(self, other: "Sum") -> "Sum":
        return Sum(self.bias + other.bias, (*self.terms, *other.terms))

    def times(self, w: float) -> "Sum":
        return Sum(w * self.bias, tuple(term.times(w) for term in self.terms))


# Programs: from inputs to answers.

# From scores to answers: e^z / Σ e^z; σ(z) over their sum; z cut at ±1, (z + 1) / 2 over their sum (of two
# classes by the difference of their scores); no probabilities, labels alone; the scores are the targets.
Answer = Literal["softmax", "sigmoids", "clipped", "labels", "targets"]


@dataclass(frozen=True)
class Program:
    """All that a fitted model computes of a row."""

    model: str  # the class of the estimator
    inputs: tuple[Input, ...]
    columns: tuple[Column, ...]
    scores: Sum
    answer: Answer
    classes: tuple[Any, ...] = ()  # of a classifier, one for each score
    # Whether a row so far off that no class has a finite score is drawn towards 0 until one has.
    draws_near: bool = False

    @property
    def K(self) -> int:
        return self.scores.K

    @property
    def probable(self) -> bool:
        """Whether it has probabilities."""
        return self.answer in ("softmax", "sigmoids", "clipped")
