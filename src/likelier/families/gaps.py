"""Densities of what is there, where cells of a row are missing: the rest is integrated out, exactly."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from likelier import _core
from likelier.data import Chunk, Dense, refuse_cells
from likelier.families.base import Floats, Params
from likelier.families.covariance import deviations, exceeds, precision, upper_whitenings
from likelier.scores import Based, Scores
from likelier.states.moments import refuse


class Fillable(Params, Protocol):
    """Parameters that can also say what to expect of some columns, knowing others."""

    def expect(self, rest: NDArray[np.intp], given: NDArray[np.intp], X: Floats) -> Floats:
        """E[x_rest | x_given, C_k] of rows X (n, given): (K, n, rest)."""


def by_pattern(X: Floats) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]]:
    """Rows that lack the same columns: their numbers, the columns that they have, those that they lack."""
    codes, first = _core.code_bytes(np.packbits(np.isnan(X), axis=1))
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes, minlength=len(first)))
    for i, rows in enumerate(np.split(order, ends[:-1])):
        gone = np.isnan(X[first[i]])
        yield rows, np.flatnonzero(~gone), np.flatnonzero(gone)


def share_out(parts: Floats, Z: Floats, X: Floats) -> None:
    """Give the cells of each row that are there equal shares of what their parts (n, K, p) lack of Z."""
    there = ~np.isnan(X)
    each = (Z - parts.sum(axis=2)) / np.maximum(there.sum(axis=1), 1)[:, None]
    parts += np.where(there[:, None, :], each[:, :, None], 0.0)


@dataclass(frozen=True)
class Marginals:
    """What any density offers: for each pattern, the density of the columns that it has."""

    params: Fillable

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # not what was kept

    @cached_property
    def _scores(self) -> dict[bytes, Scores]:
        return {}

    def _of(self, here: NDArray[np.intp]) -> Scores:
        """Kept for the next chunk, if they are not too many. (Threads share them: one may clear them.)"""
        key = here.tobytes()
        found = self._scores.get(key)
        if found is None:
            found = self.params.marginal(here).scores()
            if len(self._scores) >= 4096:
                self._scores.clear()
            self._scores[key] = found
        return found

    def write(self, chunk: Chunk, b: Floats, Z: Floats, *, add: bool) -> None:
        X = chunk.X.to_array()
        refuse_cells(X, gaps=True, first=chunk.first)
        for rows, here, _ in by_pattern(X):
            some = np.zeros((len(rows), len(b)))
            if len(here):
                self._of(here).write(Chunk(Dense(np.ascontiguousarray(X[np.ix_(rows, here)]))), some)
            Z[rows] = some + b + (Z[rows] if add else 0.0)

    def fill(self, X: Floats, P: Floats) -> Floats:
        """X with E[x_j | what is there] for what is missing, the classes weighed by P (n, K)."""
        refuse_cells(X, gaps=True)
        out = X.copy()
        for rows, here, gone in by_pattern(X):
            if len(gone):
                each = self.params.expect(gone, here, X[np.ix_(rows, here)])  # (K, n, m)
                out[np.ix_(rows, gone)] = np.einsum("nk,knm->nm", P[rows], each)
        return out


@dataclass(frozen=True)
class GaussianMarginals(Marginals):
    """The same for Gaussians, natively: a small factor for each pattern, made once and kept."""

    cov: Floats  # (K, p, p), or (1, p, p) that all classes share
    tol: float = 0.0  # deviations, of standardised columns, up to which a direction counts as none

    @cached_property
    def _varying(self) -> NDArray[np.intp]:
        """Columns with a variance: of the others a density says nothing."""
        return np.flatnonzero((np.diagonal(self.cov, axis1=1, axis2=2) > 0).all(axis=0))

    @cached_property
    def _native(self) -> tuple[_core.GappyGaussians, Floats] | None:
        """With ln p(x)'s own constant (K,). None where a covariance is all but singular.

        What exceeds tol in all columns does so in any of them (Cauchy's interlacing).
        """
        at = self._varying
        cov = np.ascontiguousarray(self.cov[:, at[:, None], at])
        if not all(exceeds(S / np.outer(sd, sd), self.tol**2) for S in cov for sd in [deviations(S)]):
            return None
        inverses = [precision(S) for S in cov] if len(at) else [None]
        found = [each for each in inverses if each is not None]
        if len(found) < len(inverses):
            return None
        mean = self._mean[:, at]
        (K, p), shift = mean.shape, mean.mean(axis=0)
        U, log_det = upper_whitenings(cov)
        if np.abs(U @ (mean - shift)[:, :, None]).max() > 1e5:  # deviations: one shift costs digits
            return None
        constant = np.broadcast_to(-0.5 * (log_det + p * np.log(2 * np.pi)), K)
        core = _core.GappyGaussians(mean - shift, shift, U, np.stack([each[0] for each in found]))
        return core, constant

    @property
    def _mean(self) -> Floats:
        mean: Floats = self.params.mean  # type: ignore[attr-defined]
        return mean

    def write(self, chunk: Chunk, b: Floats, Z: Floats, *, add: bool) -> None:
        if self._native is None:
            return super().write(chunk, b, Z, add=add)
        core, constant = self._native
        if len(self._varying) < chunk.X.shape[1]:
            chunk = chunk._replace(X=Dense(chunk.X.to_array()[:, self._varying]))
        refuse(chunk, core.scores(chunk.X.native(), b + constant, Z, add))
        return None

    def fill(self, X: Floats, P: Floats) -> Floats:
        if self._native is None:
            return super().fill(X, P)
        refuse_cells(X, gaps=True)
        out = np.where(np.isnan(X), P @ self._mean, X)
        some, filled = Dense(X[:, self._varying]), np.empty((len(X), len(self._varying)))
        self._native[0].fill(some.native(), np.ascontiguousarray(P), filled)
        out[:, self._varying] = filled
        return out


@dataclass(frozen=True)
class Gaps(Based):
    """ln p(what is there | C_k) + b_k."""

    law: Marginals

    def write(self, chunk: Chunk, Z: Floats, *, add: bool) -> None:
        self.law.write(chunk, self.b, Z, add=add)
