"""Expectation and maximisation in several passes, where one pass cannot keep all that is needed."""

from dataclasses import dataclass
from functools import partial
from typing import Self

import numpy as np

from likelier.data import Chunk, Source
from likelier.engines import run
from likelier.families.climb import Point, climb, put_back, taken, varying
from likelier.families.missing import Completed, Sums, assembled, beginnings, expect, maximise, problems
from likelier.states import ColumnMoments, PatternMoments, Shape


@dataclass
class Expectation:
    """The sums that rows with missing cells are expected to have: a state, so one pass for each step."""

    at: list[Point]  # of the columns that vary, one for each covariance
    columns: list[np.ndarray]  # which they are
    shape: Shape
    K: int
    p: int
    sums: list[Sums] | None = None

    @property
    def nbytes(self) -> int:
        return sum(one.cov.nbytes + one.mean.nbytes for one in self.at)

    def update(self, chunk: Chunk) -> None:
        rows = PatternMoments.start(self.K, self.p, self.shape).apart(chunk)
        parts = zip(problems(rows), self.columns, self.at, strict=True)
        self._add([expect(part.take(columns), at) for part, columns, at in parts])

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

    def step(at: list[Point]) -> tuple[float, list[Point]]:
        sums = run(source, partial(Expectation, at, which, shape, K, source.p)).sums
        assert sums is not None
        new = [maximise(one, here) for one, here in zip(sums, at, strict=True)]
        return sum(one.log_likelihood for one in sums), new

    end = climb(step, [taken(*each) for each in zip(start, which, strict=True)])
    ends = [put_back(*each) for each in zip(end.ends, which, start, strict=True)]
    return assembled(end._replace(ends=ends), columns, tied=tied)
