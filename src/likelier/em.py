"""Expectation and maximisation in several passes, where one pass cannot keep all that is needed."""

from dataclasses import dataclass
from functools import partial
from typing import Self

import numpy as np

from likelier.data import Chunk, Source, by_gaps
from likelier.engines import run
from likelier.families.climb import (
    Climbed,
    Point,
    Singular,
    climb,
    definite,
    put_back,
    ridge_for,
    taken,
    varying,
)
from likelier.families.covariance import precision
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
from likelier.states import ColumnMoments, PatternMoments, Shape
from likelier.states.moments import Floats
from likelier.states.patterns import members


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


def completed_by_passes(source: Source, K: int, shape: Shape) -> Completed:
    """What `families.completed` finds from statistics, without keeping any: a pass for each step."""
    columns = run(source, partial(ColumnMoments.start, K, source.p))
    tied = shape == "tied"
    start = beginnings(columns, tied=tied)
    which = [varying(one) for one in start]
    begin = [taken(*each) for each in zip(start, which, strict=True)]
    end = _by_ridges(source, K, shape, begin, which)
    ends = [put_back(*each) for each in zip(end.ends, which, start, strict=True)]
    return assembled(end._replace(ends=ends), columns, tied=tied)


def _by_ridges(
    source: Source, K: int, shape: Shape, start: list[Point], which: list[np.ndarray]
) -> Climbed:
    """The end for all covariances, of which those that have none without it have a ridge."""
    ridges, complete = [0.0] * len(start), None
    while True:
        try:
            end = _climbed(source, K, shape, start, which, ridges)
            if end.converged or all(ridges):
                return end
            open_ = [k for k, ridge in enumerate(ridges) if not ridge]
        except Singular as found:
            open_ = list(found.args)
        if complete is None:
            complete = run(source, partial(CompleteRows, np.zeros(K))).n
        held = [complete.sum()] if shape == "tied" else list(complete)
        for k in open_:
            ridges[k] = ridge_for(len(which[k]), len(start[k].mean), float(held[k]))


def _climbed(
    source: Source, K: int, shape: Shape, start: list[Point], which: list[np.ndarray], ridges: list[float]
) -> Climbed:
    var = [np.diagonal(one.cov) for one in start]

    def step(at: list[Point]) -> tuple[float, list[Point]]:
        if not all(definite(one.cov) for one in at):
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

    end = climb(step, [ridged(*each) for each in zip(start, ridges, var, strict=True)])
    return end._replace(
        ends=[ridged(one, -ridge, each) for one, ridge, each in zip(end.ends, ridges, var, strict=True)]
    )
