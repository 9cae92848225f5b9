"""Fitted models: immutable records of parameters, and the two passes that fit and ask them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from likelier.data import Chunk, Source
from likelier.engines import run
from likelier.families import Params
from likelier.links import Link, log_softmax
from likelier.scores import Scores
from likelier.states import Survey

Floats = NDArray[np.float64]


def _answer(scores: Scores, link: Link, chunk: Chunk, out: NDArray[Any]) -> None:
    Z = out if link.dtype is None else np.empty((len(out), scores.K))
    scores.write(chunk, Z)
    link.apply(Z, out)


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
        _answer(self.scores, self.link, chunk, self.out[chunk.first : chunk.first + n])

    def merge(self, other: Self) -> None:
        assert other.out is self.out


@dataclass
class Pieces:
    """Prediction where the number of rows is not known: the answers to each chunk, in order."""

    scores: Scores
    link: Link
    pieces: list[NDArray[Any]] = field(default_factory=list)

    @property
    def nbytes(self) -> int:
        return 0

    def update(self, chunk: Chunk) -> None:
        out = self.link.start(chunk.X.shape[0], self.scores.K)
        _answer(self.scores, self.link, chunk, out)
        self.pieces.append(out)

    def merge(self, other: Self) -> None:
        self.pieces += other.pieces


def ask(scores: Scores, rows: Source, link: Link) -> NDArray[Any]:
    """The answers to all rows, through `link`."""
    if rows.rows is None:
        found = run(rows, lambda: Pieces(scores, link)).pieces
        return np.concatenate([link.start(0, scores.K), *found])
    out = link.start(rows.rows, scores.K)
    run(rows, lambda: Answers(scores, link, out))
    return out


@dataclass
class Targets:
    """y and weights, those of each chunk, in order."""

    pieces: list[tuple[NDArray[Any], Floats]] = field(default_factory=list)

    @property
    def nbytes(self) -> int:
        return 0

    def update(self, chunk: Chunk) -> None:
        assert chunk.y is not None
        self.pieces.append((chunk.y, np.ones(len(chunk.y)) if chunk.w is None else chunk.w))

    def merge(self, other: Self) -> None:
        self.pieces += other.pieces


def targets(source: Source) -> tuple[NDArray[Any], Floats]:
    """y and the weights of all rows."""
    y, w = zip(*run(source, Targets).pieces, strict=True)
    return np.concatenate(y), np.concatenate(w)


def levels(source: Source) -> NDArray[Any]:
    """The classes of a source, sorted: the survey pass."""
    found = run(source.labels(), Survey).levels
    assert found is not None
    return found


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
