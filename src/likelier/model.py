"""Fitted models: immutable records of parameters, and the two passes that fit and ask them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from likelier.data import Arrays, Chunk, Source
from likelier.engines import run
from likelier.families import Family, Params
from likelier.links import Link, log_softmax
from likelier.scores import Scores
from likelier.states import State, Survey

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Answers:
    """Prediction as a state: each chunk writes its rows of the shared `out`, and merging is done."""

    scores: Scores
    link: Link
    out: NDArray[Any]

    @property
    def nbytes(self) -> int:
        return 0

    def update(self, chunk: Chunk) -> None:
        n = chunk.X.shape[0]
        out = self.out[chunk.first : chunk.first + n]
        Z = out if self.link.dtype is None else np.empty((n, self.scores.K))
        self.scores.write(chunk, Z)
        self.link.apply(Z, out)

    def merge(self, other: Self) -> None:
        assert other.out is self.out


def ask(scores: Scores, rows: Arrays, link: Link) -> NDArray[Any]:
    """The answers to all rows, through `link`."""
    out = link.start(len(rows), scores.K)
    run(rows, lambda: Answers(scores, link, out))
    return out


def levels(source: Source) -> NDArray[Any]:
    """The classes of a source, sorted: the survey pass."""
    found = run(source, Survey).levels
    assert found is not None
    return found


def count(source: Source, family: Family, K: int, p: int) -> State:
    """The statistics of a source with coded labels: the pass that counts."""
    return run(source, partial(family.stats, K, p))


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

    @cached_property
    def joint(self) -> Scores:
        """ln p(x, C_k)."""
        return self.params.scores().plus(self.log_prior)

    @cached_property
    def posterior(self) -> Scores:
        """Scores whose softmax is p(C_k | x)."""
        return self.joint if self.discriminants is None else self.reweighed(self.log_prior)

    @property
    def prior(self) -> Floats:
        """p(C_k), (K,)."""
        return np.asarray(np.exp(self.log_prior))

    def reweighed(self, log_prior: Floats) -> Scores:
        """`posterior` under other priors."""
        return self.by_gaps(self.discriminants).plus(log_prior)

    def by_gaps(self, scores: Scores | None) -> Scores:
        """These scores; where cells are missing, and in place of none, the densities themselves."""
        densities = self.params.scores()
        return densities if scores is None else replace(scores, gaps=densities.gaps)

    def marginal(self, columns: NDArray[np.intp]) -> "Bayes":
        return Bayes(self.params.marginal(columns), self.log_prior)

    def condition(self, given: Mapping[int, float]) -> "Bayes":
        """Knowing some columns: the rest of them, and the classes as they look now."""
        params, seen = self.params.condition(given)
        Z = (seen + self.log_prior)[None, :]
        log_softmax.apply(Z, Z)
        return Bayes(params, Z[0])
