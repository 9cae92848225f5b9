"""Expectation and maximisation over passes: Gaussians with missing values, and mixtures."""

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from likelier import _core
from likelier.array_types import Floats
from likelier.data import Chunk, Source, by_gaps
from likelier.data.transforms import Units
from likelier.engines import SideState, reached, run
from likelier.families import Family
from likelier.families.covariance import precision
from likelier.families.em_acceleration import (
    FixedPoint,
    Point,
    Singular,
    definite,
    find_fixed_point,
    put_back,
    ridge_for,
    taken,
    too_close,
    varying,
)
from likelier.families.missing import (
    Completed,
    Sums,
    assembled,
    beginnings,
    expect,
    maximise,
    problems,
    ridged,
)
from likelier.families.mixture import Mixture, Owners, absorb, by_owner
from likelier.links import log_sum_exp
from likelier.model import Bayes, Query, log_of
from likelier.scores import Scores
from likelier.states import ColumnMoments, PatternMoments, Shape
from likelier.states.missing import members

# Expectation and maximisation in several passes, where one pass cannot keep all that is needed.


@dataclass
class CompleteRows:
    """The weight of rows that lack nothing, by class (K,)."""

    n: Floats

    @property
    def nbytes(self) -> int:
        return self.n.nbytes

    def update(self, chunk: Chunk) -> None:
        _, codes, w = members(by_gaps(chunk)[0])
        self.n = self.n + np.bincount(codes, w, len(self.n))

    def merge(self, other: Self) -> None:
        self.n = self.n + other.n


@dataclass
class Expectation:
    """The sums that rows with missing cells are expected to have: a state, so one pass for each step."""

    at: list[Point]  # of the columns that vary, one for each covariance
    columns: list[np.ndarray]  # which they are
    ridges: list[float]  # shares of the variances that were added
    var: list[Floats]  # these variances
    shape: Shape
    K: int
    p: int
    sums: list[Sums] | None = None

    @property
    def nbytes(self) -> int:
        return sum(one.cov.nbytes + one.mean.nbytes for one in self.at)

    def update(self, chunk: Chunk) -> None:
        rows = PatternMoments.start(self.K, self.p, self.shape).apart(chunk)
        parts = zip(problems(rows), self.columns, self.at, self.ridges, self.var, strict=True)
        new = [expect(part.take(at), here, ridge, var) for part, at, here, ridge, var in parts]
        self._add(new)

    def merge(self, other: Self) -> None:
        if other.sums is not None:
            self._add(other.sums)

    def _add(self, new: list[Sums]) -> None:
        if self.sums is None:
            self.sums = new
        else:
            self.sums = [a.plus(b) for a, b in zip(self.sums, new, strict=True)]


def completed_by_passes(source: Source, K: int, shape: Shape, beside: SideState | None = None) -> Completed:
    """What `families.completed` finds from statistics, without keeping any: a pass for each step.

    beside: what the first of these passes keeps besides.
    """
    columns = run(source, partial(ColumnMoments.start, K, source.p), beside)
    tied = shape == "tied"
    start = beginnings(columns, tied=tied)
    which = [varying(one) for one in start]
    begin = [taken(*each) for each in zip(start, which, strict=True)]
    end = _by_ridges(source, K, shape, begin, which)
    ends = [put_back(*each) for each in zip(end.ends, which, start, strict=True)]
    return assembled(end._replace(ends=ends), columns, tied=tied)


def _by_ridges(
    source: Source, K: int, shape: Shape, start: list[Point], which: list[np.ndarray]
) -> FixedPoint:
    """The end for all covariances, of which those that have none without it have a ridge."""
    ridges, complete = [0.0] * len(start), None
    while True:
        try:
            end = _maximised(source, K, shape, start, which, ridges)
            if end.converged or all(ridges):
                return end
            open_ = [k for k, ridge in enumerate(ridges) if not ridge]
        except Singular as found:
            open_ = [k for k in found.args if not ridges[k]]
            if not open_:
                raise too_close(max(len(one) for one in which)) from None
        if complete is None:
            complete = run(source, partial(CompleteRows, np.zeros(K))).n
        held = [complete.sum()] if shape == "tied" else list(complete)
        for k in open_:
            ridges[k] = ridge_for(len(which[k]), len(start[k].mean), float(held[k]))


def _maximised(
    source: Source, K: int, shape: Shape, start: list[Point], which: list[np.ndarray], ridges: list[float]
) -> FixedPoint:
    var = [np.diagonal(one.cov) for one in start]
    indefinite: list[int] = []  # at the point of the last step

    def step(at: list[Point]) -> tuple[float, list[Point]]:
        indefinite[:] = [k for k, one in enumerate(at) if not definite(one.cov)]
        if indefinite:
            return -np.inf, at  # a point that is no covariance is less likely than any
        lost = [k for k, one in enumerate(at) if not ridges[k] and precision(one.cov) is None]
        if lost:
            raise Singular(*lost)
        state = partial(Expectation, at, which, ridges, var, shape, K, source.p)
        sums = run(source, state).sums
        assert sums is not None
        new = [maximise(one, here) for one, here in zip(sums, at, strict=True)]
        return sum(one.log_likelihood for one in sums), [
            ridged(*each) for each in zip(new, ridges, var, strict=True)
        ]

    try:
        end = find_fixed_point(step, [ridged(*each) for each in zip(start, ridges, var, strict=True)])
    except Singular as found:
        raise Singular(*(found.args or indefinite)) from None
    return end._replace(
        ends=[ridged(one, -ridge, each) for one, ridge, each in zip(end.ends, ridges, var, strict=True)]
    )


# Mixtures by EM: each step is one pass, which any engine can run, and one estimate of the family's.
#
# Expectation: r_m = p(m | x), the responsibilities of a chunk, computed, handed to the family's
# statistics as soft labels, and forgotten. Maximisation: what the family estimates from them (Dempster,
# Laird & Rubin 1977). A row whose class is known belongs to the components of that class alone.


@dataclass
class MixtureExpectation:
    """The statistics that rows are expected to have under a mixture, and ln p(rows): a state."""

    at: Bayes  # of M components and their weights
    joint: Scores
    owner: Owners | None  # the class of each component; None: rows have no labels
    stats: Any
    scale: float = 1.0  # of the weights of rows, as the statistics count them
    log_likelihood: float = 0.0
    weight: float = 0.0

    @property
    def nbytes(self) -> int:
        return int(self.stats.nbytes)

    def update(self, chunk: Chunk) -> None:
        if chunk.w is not None and not chunk.w.all():
            chunk = chunk.take(np.flatnonzero(chunk.w))  # a row without weight is absent
        n = chunk.X.shape[0]
        R, total = np.empty((n, self.joint.K)), np.empty(n)
        self.joint.write(chunk, R)
        if self.owner is not None:
            assert chunk.y is not None
            R[(chunk.y[:, None] >= 0) & (chunk.y[:, None] != self.owner)] = -np.inf
        _core.responsibilities(R, total)
        self.log_likelihood += float(total.sum() if chunk.w is None else chunk.w @ total)
        self.weight += float(n if chunk.w is None else chunk.w.sum())
        if self.scale != 1:
            R *= self.scale
        absorb(self.stats, chunk._replace(y=R), self.at.params)

    def merge(self, other: Self) -> None:
        self.stats.merge(other.stats)
        self.log_likelihood += other.log_likelihood
        self.weight += other.weight


@dataclass
class Weight:
    """The weight of all rows: a state."""

    total: float = 0.0

    @property
    def nbytes(self) -> int:
        return 0

    def update(self, chunk: Chunk) -> None:
        self.total += float(chunk.X.shape[0] if chunk.w is None else chunk.w.sum())

    def merge(self, other: Self) -> None:
        self.total += other.total


@dataclass
class Likelihood:
    """ln p(rows) and their weight: a state."""

    question: Query
    total: float = 0.0
    weight: float = 0.0

    @property
    def nbytes(self) -> int:
        return 0

    def update(self, chunk: Chunk) -> None:
        if chunk.w is not None and not chunk.w.all():
            chunk = chunk.take(np.flatnonzero(chunk.w))  # a row without weight is absent
        scores = np.empty(chunk.X.shape[0])
        self.question.answer(chunk, scores)
        self.total += float(scores.sum() if chunk.w is None else chunk.w @ scores)
        self.weight += float(len(scores) if chunk.w is None else chunk.w.sum())

    def merge(self, other: Self) -> None:
        self.total += other.total
        self.weight += other.weight


def _expected(
    owner: Owners | None, family: Family, M: int, p: int, at: Bayes, joint: Scores, scale: float
) -> MixtureExpectation:
    return MixtureExpectation(at, joint, owner, family.stats(M, p), scale)


@dataclass(frozen=True)
class EMProblem:
    """Rows, and the mixture that is to be fitted to them."""

    source: Source  # y: nothing, or codes of classes, -1 where not known
    family: Family
    M: int
    owner: Owners | None = None
    log_prior: Floats | None = None  # (K,), of the classes, where it is given
    beside: SideState | None = None  # what each step keeps of the rows besides

    def expect(self, at: Bayes, scale: float = 1.0) -> MixtureExpectation:
        """One pass."""
        start = partial(_expected, self.owner, self.family, self.M, self.source.p, at, at.joint, scale)
        return run(self.source, start, self.beside)

    def log_likelihood(self, at: Bayes) -> float:
        """ln p(rows) / n under a mixture: one pass. Rows have no labels."""
        seen = run(self.source, partial(Likelihood, Query(at.joint, log_sum_exp, at.params.support)))
        return seen.total / seen.weight

    def maximise(self, stats: Any) -> Bayes:
        """The most likely components and weights for these statistics."""
        log_weight = log_of(stats.n / stats.n.sum())
        if self.log_prior is not None and self.owner is not None:
            own = by_owner(log_weight[None, :], self.owner, len(self.log_prior))[0]
            log_weight = log_weight + (self.log_prior - own)[self.owner]
        return Bayes(self.family.estimate(stats), log_weight)


@dataclass(frozen=True)
class EMTrace:
    """What EM did: ln p(rows) / n before each step, and whether more than the rows decided it.

    That is a floor that held a variance up, or pseudo-counts on whose account rows became less likely.
    """

    log_likelihood: Floats = field(default_factory=lambda: np.empty(0))  # (s,)
    floored: NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, dtype=np.bool_))  # (s,)
    converged: bool = False
    reason: str = "no step was asked for"

    @property
    def last(self) -> float:
        return float(self.log_likelihood[-1]) if len(self.log_likelihood) else -np.inf


class EMResult(NamedTuple):
    """Where EM came to."""

    model: Bayes
    stats: Any
    way: EMTrace


Watch = Callable[[int, float, Bayes], None]  # the step, its mean log-likelihood, where it led


@dataclass(frozen=True)
class StoppingRule:
    """When EM stops: once the mean log-likelihood changes by less than `tol`, or after `max_iter` steps."""

    tol: float
    max_iter: int
    floor_acts: Callable[[Any], bool] = lambda params: False  # of parameters
    smoothed: bool = False  # maximisation counts more than the rows: a step may make these less likely
    watch: Watch = lambda step, log_likelihood, at: None

    def __call__(self, problem: EMProblem, start: Bayes, before: float = -np.inf) -> EMResult:
        """EM from `start`; before: the mean log-likelihood that the first step is compared with."""
        at, stats, way = start, None, EMTrace()
        for step in range(1, self.max_iter + 1):
            seen = problem.expect(at)
            stats, at = seen.stats, problem.maximise(seen.stats)
            mean = seen.log_likelihood / seen.weight
            self.watch(step, mean, at)
            reached("log-likelihood", mean)
            if self.smoothed and mean < before and len(way.floored):
                way.floored[-1] = True
            converged = abs(mean - before) < self.tol
            before = mean
            way = EMTrace(
                np.append(way.log_likelihood, mean),
                np.append(way.floored, self.floor_acts(at.params)),
                converged,
                self._reason(converged, mean),
            )
            if converged or not np.isfinite(mean):
                break
        return EMResult(at, stats, way)

    def _reason(self, converged: bool, mean: float) -> str:
        if converged:
            return f"the mean log-likelihood changed by less than tol={self.tol:g}"
        if not np.isfinite(mean):
            return "a row is impossible under every component"
        return f"max_iter={self.max_iter} steps were taken"


@dataclass(frozen=True)
class Selection:
    """Mixtures that were fitted to the same rows, to choose one of them."""

    n_components: NDArray[np.int64]  # (t,)
    covariance_type: tuple[str, ...]
    log_likelihood: Floats  # (t,), mean, of the mixtures as they were fitted
    bic: Floats  # (t,)
    converged: NDArray[np.bool_]  # (t,)
    aic: Floats | None = None  # (t,); None: a file of an earlier version


@dataclass(frozen=True)
class FittedMixture(Bayes):
    """A fitted mixture: components in place of classes, and how they were found."""

    shape: str = field(kw_only=True)  # of the covariances; "": of another family
    way: EMTrace = field(kw_only=True, default_factory=EMTrace)
    selection: Selection | None = field(kw_only=True, default=None)

    def counted_in(self, units: Units | None, shift: float, n: float) -> Self:
        """The same, its columns in these units, whose ln for n rows is `shift` on average."""
        if units is None:
            return self
        way = replace(self.way, log_likelihood=self.way.log_likelihood - shift)
        table = self.selection
        if table is not None:
            worse, aic = 2 * n * shift, table.aic
            table = replace(table, log_likelihood=table.log_likelihood - shift, bic=table.bic + worse)
            table = replace(table, aic=None if aic is None else aic + worse)
        return replace(self, units=units, way=way, selection=table)

    @property
    def free(self) -> int:
        """As of any model; a sphere's one variance stands in all columns, and counts once."""
        M, p = getattr(self.params, "components", self.params).shape
        return super().free - (M * (p - 1) if self.shape == "spherical" else 0)

    def marginal(self, columns: NDArray[np.intp]) -> "FittedMixture":
        less = super().marginal(columns)
        return FittedMixture(less.params, less.log_prior, units=less.units, shape=self.shape)

    def condition(self, given: Mapping[int, float]) -> "FittedMixture":
        less = super().condition(given)
        return FittedMixture(less.params, less.log_prior, units=less.units, shape=self.shape)


@dataclass
class Stepwise:
    """Statistics that fade: what stepwise EM updates (Cappé & Moulines 2009).

    s ← (1 - η) s + η s', s' what a batch is expected to have, a row's worth of each. Only the ratio of the
    two counts, so rather than to fade what is there, new rows weigh more.
    """

    stats: Any
    batches: int = 0

    POWER: ClassVar[float] = 0.7  # between ½ and 1: the way ends, and wherever it started

    @property
    def n(self) -> Floats:
        n: Floats = self.stats.n
        return n

    @property
    def nbytes(self) -> int:
        return int(self.stats.nbytes)

    def finite(self) -> bool:
        """False if squares or weights have overflowed."""
        return bool(self.stats.finite())

    def mergeable(self, other: Any) -> bool:
        """Never: what a batch is expected to have depends on all batches before it."""
        return False

    def step(self, problem: EMProblem, at: Bayes, weight: float) -> tuple[Self, float]:
        """With one more batch, of rows that weigh so much; and its mean log-likelihood before that."""
        rate = (self.batches + 3) ** -self.POWER
        seen = problem.expect(at, rate / (1 - rate) * float(self.n.sum()) / weight)
        total = copy.deepcopy(self.stats)
        total.merge(seen.stats)
        return type(self)(total, self.batches + 1), seen.log_likelihood / seen.weight


def by_class(model: Bayes, owner: Owners, K: int) -> Bayes:
    """Components with weights of their own as K classes, each a mixture."""
    log_prior = by_owner(model.log_prior[None, :], owner, K)[0]
    own = np.where(np.isfinite(log_prior), log_prior, 0.0)
    return Bayes(Mixture(model.params, model.log_prior - own[owner], owner), log_prior)
