"""Fitted models: immutable records of parameters, and the two passes that fit and ask them."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from likelier.array_types import Floats, row_weights
from likelier.data import Chunk, Source
from likelier.data.errors import TooLarge
from likelier.data.transforms import Units, cluster_of, in_units, innermost
from likelier.engines import run
from likelier.engines.run import counting
from likelier.families import Params, Support
from likelier.links import Link, log_softmax, log_sum_exp
from likelier.scores import InUnits, Scores, write_comparable
from likelier.states import RowCount, StateGroup, Survey


@dataclass(frozen=True)
class Query:
    """What is asked of rows: scores, through a link. Cells outside a support count as missing."""

    scores: Scores
    link: Link
    support: Support | None = None
    impossible: bool = False  # whether rows may have a density of 0 in every class

    def start(self, n: int) -> NDArray[Any]:
        """Room for the answers to n rows."""
        return self.link.start(n, self.scores.K)

    def answer(self, chunk: Chunk, out: NDArray[Any]) -> list[int]:
        """Write the answers to `out`; returns the columns of the cells that were skipped."""
        skipped: list[int] = []
        if self.support is not None:
            cells = self.support.outside(chunk.X)
            if len(cells[0]):
                skipped = cells[1].tolist()
                chunk = chunk._replace(X=chunk.X.without(cells))
        Z = out if self.link.dtype is None else np.empty((len(out), self.scores.K))
        if self.link.compares and self.support is None:
            write_comparable(self.scores, chunk, Z)
        else:
            with np.errstate(over="ignore", invalid="ignore"):
                self.scores.write(chunk, Z)
            if not (Z.max(initial=-np.inf) < np.inf and Z[:, 0].min(initial=np.inf) > -np.inf):
                _refuse_overflow(chunk, Z, impossible=self.impossible or self.link is log_sum_exp)
        self.link.apply(Z, out)
        return skipped


LARGE = 1e100  # a cell above this is what made the scores of its row overflow


def _refuse_overflow(chunk: Chunk, Z: Floats, *, impossible: bool) -> None:
    """Raise at a row that a huge cell has left without a finite score: its posterior would be NaN."""
    defined = (Z < np.inf).all(axis=1) & (impossible | (Z > -np.inf).any(axis=1))
    lost = np.flatnonzero(~defined)
    if len(lost) == 0:
        return
    X = np.nan_to_num(np.abs(chunk.X.take(lost).to_array()))
    at, column = (int(i) for i in np.unravel_index(np.argmax(X), X.shape))
    if X[at, column] > LARGE:
        row = int(lost[at])
        raise TooLarge(chunk.first + row, column, chunk.X.cell(row, column))


@dataclass(frozen=True)
class PredictionState:
    """Prediction as a state: each chunk writes its rows of the shared `out`, and merging is done."""

    lasting: ClassVar[bool] = False  # what it finds is not in it: a journal cannot keep it

    question: Query
    out: NDArray[Any]
    skipped: Counter[int] = field(default_factory=Counter)

    @property
    def nbytes(self) -> int:
        return 0

    def update(self, chunk: Chunk) -> None:
        rows = slice(chunk.first, chunk.first + chunk.X.shape[0])
        if skipped := self.question.answer(chunk, self.out[rows]):
            self.skipped.update(skipped)

    def merge(self, other: Self) -> None:
        assert other.out is self.out
        self.skipped.update(other.skipped)


@dataclass
class PredictionPieces:
    """Prediction where the number of rows is not known: the answers to each chunk, in order."""

    question: Query
    pieces: list[NDArray[Any]] = field(default_factory=list)
    skipped: Counter[int] = field(default_factory=Counter)

    @property
    def nbytes(self) -> int:
        return 0

    def update(self, chunk: Chunk) -> None:
        out = self.question.start(chunk.X.shape[0])
        self.skipped.update(self.question.answer(chunk, out))
        self.pieces.append(out)

    def merge(self, other: Self) -> None:
        self.pieces += other.pieces
        self.skipped.update(other.skipped)


class Predictions(NamedTuple):
    """The answers to all rows, and how many cells of which columns were skipped."""

    out: NDArray[Any]
    skipped: Counter[int]


def ask(scores: Scores, rows: Source, link: Link, support: Support | None = None) -> Predictions:
    """The answers to all rows, through `link`."""
    question = Query(scores, link, support)
    if rows.rows is None or cluster_of(rows) is not None:  # elsewhere, there is no array to share
        found = run(rows, partial(PredictionPieces, question))
        return Predictions(np.concatenate([question.start(0), *found.pieces]), found.skipped)
    out = question.start(rows.rows)
    return Predictions(out, run(rows, lambda: PredictionState(question, out)).skipped)


@dataclass
class Targets:
    """y and weights, those of each chunk, in order."""

    pieces: list[tuple[NDArray[Any], Floats]] = field(default_factory=list)

    @property
    def nbytes(self) -> int:
        return 0

    def update(self, chunk: Chunk) -> None:
        assert chunk.y is not None
        self.pieces.append((chunk.y, row_weights(chunk.w, len(chunk.y))))

    def merge(self, other: Self) -> None:
        self.pieces += other.pieces


def targets(source: Source) -> tuple[NDArray[Any], Floats]:
    """y and the weights of all rows."""
    y, w = zip(*run(source, Targets).pieces, strict=True)
    return np.concatenate(y), np.concatenate(w)


def levels(source: Source) -> NDArray[Any]:
    """The classes of a source, sorted: the survey pass."""
    return surveyed(source)[0]


def surveyed(source: Source) -> tuple[NDArray[Any], int]:
    """The classes of a source, sorted, and how many rows it has."""
    both = partial(StateGroup.start, (Survey, RowCount))
    found, count = run(source.labels(), both, counting(source)).states
    assert found.levels is not None
    return found.levels, count.rows


def glimpse(source: Source) -> NDArray[Any] | None:
    """The classes that some rows from all over have; None: there are none, or the survey is as cheap."""
    look = getattr(innermost(source), "glimpse", None)
    try:
        found = None if look is None else look()
    except ValueError:  # what is wrong with a row, the survey of all rows says: of the first such row
        return None
    return found if found is not None and len(found) else None


def log_of(prior: Floats) -> Floats:
    """ln p(C_k)."""
    with np.errstate(divide="ignore"):  # a class not seen so far: ln 0 = -inf
        return np.asarray(np.log(prior))


@dataclass(frozen=True)
class Bayes:
    """p(C_k | x) ∝ p(C_k) p(x | C_k): the generative classifier."""

    params: Params
    log_prior: Floats  # (K,); as logarithms, so that no evidence makes a class impossible for good
    # ln p(x | C_k) up to a constant of each row, where that is cheaper: all that a posterior needs.
    discriminants: Scores | None = None
    typical: Any = None  # the `ReferenceScores` of the training rows, or a lazy one; None: not kept
    units: Units | None = None  # (p,), of the columns of params; None: they are as they are
    single: bool = False  # the rows were of single precision

    def __getstate__(self) -> dict[str, Any]:
        """What it is made of, not what it has worked out since; what it puts off is done first."""
        typical = getattr(self.typical, "scored", self.typical)
        return {f.name: getattr(self, f.name) for f in fields(self)} | {"typical": typical}

    @property
    def free(self) -> int:
        """How many numbers were free to be chosen: those of the densities, and all but one prior."""
        return self.params.free + len(self.log_prior) - 1

    @cached_property
    def joint(self) -> Scores:
        """ln p(x, C_k)."""
        return self._asked(self.params.scores().plus(self.log_prior), density=True)

    def _asked(self, scores: Scores, *, density: bool = False) -> Scores:
        """Scores of columns in our units as those of columns as they are."""
        if self.units is None:
            return scores
        return Scores((InUnits(np.zeros(scores.K), self.units, scores, density),))

    @cached_property
    def posterior(self) -> Scores:
        """Scores whose softmax is p(C_k | x)."""
        return self.with_priors(self.log_prior)

    @property
    def prior(self) -> Floats:
        """p(C_k), (K,)."""
        return np.asarray(np.exp(self.log_prior))

    def with_priors(self, log_prior: Floats) -> Scores:
        """`posterior` under other priors."""
        if self.discriminants is not None:
            return self.by_gaps(self.discriminants).plus(log_prior)
        cheaper = self.params.discriminants()
        return self._asked((self.params.scores() if cheaper is None else cheaper).plus(log_prior))

    def by_gaps(self, scores: Scores | None) -> Scores:
        """These scores; where cells are missing, and in place of none, the densities themselves."""
        densities = self.params.scores()
        return self._asked(densities if scores is None else replace(scores, gaps=densities.gaps))

    def marginal(self, columns: NDArray[np.intp]) -> "Bayes":
        units = None if self.units is None else self.units[columns]
        return Bayes(self.params.marginal(columns), self.log_prior, units=units)

    def condition(self, given: Mapping[int, float]) -> "Bayes":
        """Knowing some columns: the rest of them, and the classes as they look now."""
        units = self.units
        if units is not None:
            given = {j: float(in_units(np.array(x), units[j])) for j, x in given.items()}
            units = np.delete(units, list(given))
        params, seen = self.params.condition(given)
        Z = (seen + self.log_prior)[None, :]
        log_softmax.apply(Z, Z)
        return Bayes(params, Z[0], units=units)

    def inside(self, X: Floats) -> Floats:
        """Rows as the parameters count them."""
        return X if self.units is None else in_units(X, self.units)

    def outside(self, X: Floats, power: int = 1) -> Floats:
        """Numbers of columns, the last axis, or powers of them, as users do; too large: infinite."""
        if self.units is None:
            return X
        with np.errstate(over="ignore", under="ignore"):
            return np.asarray(np.ldexp(X, power * self.units))

    def covariance(self, cov: Floats) -> Floats:
        """Covariances (..., p, p) of our columns as those of columns as they are."""
        if self.units is None:
            return cov
        with np.errstate(over="ignore", under="ignore"):
            return np.asarray(np.ldexp(cov, self.units[:, None] + self.units))

    def sample(self, codes: NDArray[np.intp], rng: np.random.Generator) -> Floats:
        """A row of each of these classes."""
        return self.outside(self.params.sample(codes, rng))

    def fill(self, X: Floats, P: Floats) -> Floats:
        """X with what is expected for each missing cell, the classes weighed by P (n, K)."""
        return self.outside(self.params.fill(self.inside(X), P))

    def parts(self, X: Floats, parts: Callable[[Floats], Floats]) -> Floats:
        """What columns add to ln p(x | C_k), (n, K, p), by a function of rows in our units."""
        found = parts(self.inside(X))
        if self.units is None:
            return found
        return np.asarray(found - np.where(np.isnan(X), 0.0, np.log(2.0) * self.units)[:, None, :])


@dataclass(frozen=True)
class UnweightedBayes(Bayes):
    """Scores that are no likelihoods: the priors are known, and do not enter."""

    def with_priors(self, log_prior: Floats) -> Scores:
        return self.params.scores()

    def __getstate__(self) -> dict[str, Any]:
        """What it is made of, not what it has worked out since; what it puts off is done first."""
        typical = getattr(self.typical, "scored", self.typical)
        return {f.name: getattr(self, f.name) for f in fields(self)} | {"typical": typical}

    @cached_property
    def joint(self) -> Scores:
        return self.params.scores()
