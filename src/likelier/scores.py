"""Scores a_k(x): one number for each class and row. A model's scores are a sum of such terms.

Each term writes (or adds) its scores of a block of rows to Z (n, K) in one native pass.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from likelier import _core
from likelier.array_types import Floats
from likelier.data import CSR, BadCell, Chunk, Dense, NonFinite, by_gaps
from likelier.data.transforms import Units, block_in_units, log_units
from likelier.states.moments import refuse


class Term(Protocol):
    """Part of a score; K classes."""

    @property
    def K(self) -> int: ...

    def write(self, chunk: Chunk, Z: Floats, *, add: bool) -> None: ...

    def plus(self, constant: Floats) -> Self: ...

    def beside(self, others: Sequence[Any], /) -> Self | None:
        """One term whose classes are ours and those of `others`, of our kind; None: there is none."""


@dataclass(frozen=True)
class TermWithConstant:
    """Every kind of term has a constant per class."""

    by_class: ClassVar[tuple[str, ...]] = ()  # arrays with a row for each class; none: not to be joined
    shared: ClassVar[tuple[str, ...]] = ()  # arrays that all classes have in common

    b: Floats  # (K,)

    @property
    def K(self) -> int:
        return len(self.b)

    def plus(self, constant: Floats) -> Self:
        return replace(self, b=self.b + constant)

    def beside(self, others: Sequence[Any]) -> Self | None:
        """The arrays of each class one after another, if the others are the same."""
        every = (self, *others)
        if not self.by_class or not all(
            np.array_equal(getattr(self, name), getattr(o, name)) for name in self.shared for o in others
        ):
            return None
        joint = {name: np.concatenate([getattr(o, name) for o in every]) for name in self.by_class}
        return replace(self, **joint)


def turned(W: Floats) -> Floats:
    """W (K, p) with a row for each column, padded to whole vectors of classes."""
    K, p = W.shape
    found = np.zeros((p, -(-K // _core.lanes) * _core.lanes))
    found[:, :K] = W.T
    return found


@dataclass(frozen=True)
class Affine(TermWithConstant):
    """W (x - shift) + b. The shift keeps the digits of columns far from 0.

    W has a row for each class, or for the last ones alone: the first then score b, whatever x is.
    """

    by_class = ("b", "W")
    shared = ("shift",)

    W: Floats  # (q, p), q <= K
    shift: Floats  # (p,)

    def beside(self, others: Sequence[Any]) -> Self | None:
        return super(Affine, self._whole()).beside([other._whole() for other in others])

    def _whole(self) -> Self:
        """The same with a row of W for each class."""
        gone = len(self.b) - len(self.W)
        if gone == 0:
            return self
        return replace(self, W=np.concatenate([np.zeros((gone, self.W.shape[1])), self.W]))

    def write(self, chunk: Chunk, Z: Floats, *, add: bool) -> None:
        refuse(chunk, _core.affine(chunk.X.native(), self.W, self.b, self.shift, Z, add))


@dataclass(frozen=True)
class Additive(TermWithConstant):
    """b_k + Σ_j (c_kj + W_kj x_j) over the columns that are not missing; with a threshold, of 1[x > t]."""

    by_class = ("b", "W", "constant")
    shared = ("threshold",)

    W: Floats  # (K, p)
    constant: Floats  # (K, p)
    threshold: float = -np.inf  # x as it is

    @cached_property
    def _turned(self) -> tuple[Floats, Floats]:
        return turned(self.W), self.b + self.constant.sum(axis=1)

    def write(self, chunk: Chunk, Z: Floats, *, add: bool) -> None:
        X, c, t = chunk.X.native(), self.constant, self.threshold
        if isinstance(chunk.X, CSR):
            refuse(chunk, _core.sparse_affine(X, *self._turned, self.b, c, t, Z, add))
        else:
            refuse(chunk, _core.additive(X, self.W, c, self.b, t, Z, add))


@dataclass(frozen=True)
class Diagonal(TermWithConstant):
    """b_k - ½ Σ_j ((x_j - m_kj) s_kj)²."""

    by_class = ("b", "mean", "scale")

    mean: Floats  # (K, p)
    scale: Floats  # (K, p), 1 / standard deviation

    def write(self, chunk: Chunk, Z: Floats, *, add: bool) -> None:
        refuse(chunk, _core.diagonal(chunk.X.native(), self.mean, self.scale, self.b, Z, add))


@dataclass(frozen=True)
class DiagonalGaps(TermWithConstant):
    """b_k + Σ_j (c_kj - ½ ((x_j - m_kj) s_kj)²) over the columns that are not missing."""

    mean: Floats  # (K, p)
    scale: Floats  # (K, p)
    constant: Floats  # (K, p)

    def write(self, chunk: Chunk, Z: Floats, *, add: bool) -> None:
        X = chunk.X.native()
        refuse(chunk, _core.diagonal_gaps(X, self.mean, self.scale, self.constant, self.b, Z, add))


@dataclass(frozen=True)
class Quadratic(TermWithConstant):
    """b_k - ½ |U_k (x - shift) - at_k|², where at_k = U_k (m_k - shift)."""

    by_class = ("b", "U", "at")
    shared = ("shift",)

    shift: Floats  # (p,)
    U: Floats  # (K, p, p), upper triangular
    at: Floats  # (K, p)

    def write(self, chunk: Chunk, Z: Floats, *, add: bool) -> None:
        X = chunk.X.native()
        refuse(chunk, _core.quadratic(X, self.shift, self.U, self.at, self.b, Z, add))


@dataclass(frozen=True)
class CentredQuadratic(TermWithConstant):
    """The same for classes so far apart that one shift costs digits: each about its own mean."""

    by_class = ("b", "mean", "U")

    mean: Floats  # (K, p)
    U: Floats  # (K, p, p), upper triangular

    def write(self, chunk: Chunk, Z: Floats, *, add: bool) -> None:
        X, z, zero = chunk.X.native(), np.empty((len(Z), 1)), np.zeros((1, self.mean.shape[1]))
        for k in range(self.K):
            one = slice(k, k + 1)
            refuse(chunk, _core.quadratic(X, self.mean[k], self.U[one], zero, self.b[one], z, False))
            Z[:, k] = Z[:, k] + z[:, 0] if add else z[:, 0]


@dataclass(frozen=True)
class Whitened(TermWithConstant):
    """b_k - ½ |A (x - shift) - m_k|²: one whitening for all classes, then distances."""

    by_class = ("b", "mean")
    shared = ("A", "shift")

    A: Floats  # (r, p)
    shift: Floats  # (p,)
    mean: Floats  # (K, r), whitened

    def write(self, chunk: Chunk, Z: Floats, *, add: bool) -> None:
        U = np.empty((chunk.X.shape[0], len(self.A)))
        zero = np.zeros(len(self.A))
        refuse(chunk, _core.affine(chunk.X.native(), self.A, zero, self.shift, U, False))
        unit = np.ones_like(self.mean)
        _core.diagonal(Dense(U).native(), self.mean, unit, self.b, Z, add)


@dataclass(frozen=True)
class Among(TermWithConstant):
    """Scores of some of the columns alone."""

    columns: NDArray[np.intp]
    scores: "Scores"

    def write(self, chunk: Chunk, Z: Floats, *, add: bool) -> None:
        z = np.empty_like(Z)
        try:
            self.scores.write(chunk._replace(X=chunk.X.select(self.columns)), z)
        except BadCell as bad:
            raise bad.among(self.columns) from None
        z += self.b
        if add:
            Z += z
        else:
            Z[...] = z

    def beside(self, others: Sequence[Any]) -> Self | None:
        every = (self, *others)
        if not all(np.array_equal(self.columns, o.columns) for o in others):
            return None
        b = np.concatenate([o.b for o in every])
        return replace(self, b=b, scores=stacked([o.scores for o in every]))


@dataclass(frozen=True)
class InUnits(TermWithConstant):
    """Scores of columns that are counted in units of powers of two.

    density: of the columns as they are; without, up to a constant of each row, as posteriors need them.
    """

    units: Units  # (p,)
    scores: "Scores"
    density: bool

    def write(self, chunk: Chunk, Z: Floats, *, add: bool) -> None:
        z = np.empty_like(Z)
        self.scores.write(chunk._replace(X=block_in_units(chunk.X, self.units)), z)
        z += self.b
        if self.density:
            z -= log_units(chunk.X, self.units)[:, None]
        Z[...] = Z + z if add else z


@dataclass(frozen=True)
class Scores:
    """A sum of terms. `gaps`, if there is one, stands for all of them where cells are missing (NaN)."""

    terms: tuple[Term, ...]
    gaps: Term | None = None

    @property
    def K(self) -> int:
        return self.terms[0].K

    def plus(self, constant: Floats) -> Self:
        """With a constant (K,) added: log priors, for one."""
        first, *others = self.terms
        gaps = None if self.gaps is None else self.gaps.plus(constant)
        return replace(self, terms=(first.plus(constant), *others), gaps=gaps)

    def write(self, chunk: Chunk, Z: Floats) -> None:
        try:
            for i, term in enumerate(self.terms):
                term.write(chunk, Z, add=i > 0)
        except NonFinite as bad:
            if self.gaps is None or not np.isnan(bad.value):
                raise
            self._write_apart(chunk, Z, self.gaps)

    def _write_apart(self, chunk: Chunk, Z: Floats, gaps: Term) -> None:
        """Complete rows as ever: what they get must not depend on their neighbours."""
        whole, some, gone = by_gaps(chunk)
        for part, rows, scores in ((whole, ~gone, replace(self, gaps=None)), (some, gone, Scores((gaps,)))):
            z = np.empty((part.X.shape[0], Z.shape[1]))
            scores.write(part, z)
            Z[rows] = z


NEARER = -200  # the power of two by which rows are drawn towards 0


def write_comparable(scores: Scores, chunk: Chunk, Z: Floats) -> None:
    """Scores of densities of numbers, to be compared within each row.

    A row so far off that the squares of all classes overflow is drawn towards 0 until one does not: from
    afar classes compare alike at any distance.
    """
    scores.write(chunk, Z)
    first = Z[:, 0]
    if first.max(initial=0.0) < np.inf and first.min(initial=0.0) > -np.inf:  # of almost all tables
        return
    far = np.flatnonzero(~np.isfinite(Z[:, 0]))
    if len(far):  # a class that has no rows, or rows like these
        far = far[~np.isfinite(Z[far]).any(axis=1)]
    X = chunk.X.take(far).to_array() if len(far) else np.empty((0, 0))
    while len(far) and (np.abs(X) > 1).any():
        X = np.ldexp(X, NEARER)
        z = np.empty((len(far), Z.shape[1]))
        scores.write(Chunk(Dense(X)), z)
        Z[far] = z
        left = ~np.isfinite(z).any(axis=1) & (np.abs(X) > 1).any(axis=1)
        far, X = far[left], X[left]


@dataclass(frozen=True)
class StackedScores(TermWithConstant):
    """The scores of several models, K classes each, that no one kernel can write."""

    models: tuple[Scores, ...]

    def write(self, chunk: Chunk, Z: Floats, *, add: bool) -> None:
        ends = np.cumsum([0, *(model.K for model in self.models)])
        for model, start, stop in zip(self.models, ends, ends[1:], strict=False):
            z = np.empty((len(Z), model.K))
            model.write(chunk, z)
            z += self.b[start:stop]
            Z[:, start:stop] = Z[:, start:stop] + z if add else z


def stacked(models: Sequence[Scores]) -> Scores:
    """The scores of several models as those of one, V x K classes: one kernel call where it can be."""
    if len(models) == 1:
        return models[0]
    terms = []
    for first, *others in zip(*(model.terms for model in models), strict=False):
        alike = all(type(other) is type(first) for other in others)
        terms.append(first.beside(others) if alike else None)
    joined = tuple(term for term in terms if term is not None)
    one_by_one = StackedScores(np.zeros(sum(model.K for model in models)), tuple(models))
    if all(len(model.terms) == len(joined) for model in models):
        return Scores(joined, gaps=one_by_one)
    return Scores((one_by_one,))
