"""Densities as weighted sums: affine in some statistics of a row, and with a weight for each column."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from likelier import scores as terms
from likelier.array_types import Floats
from likelier.data import Chunk, Dense
from likelier.families.base import Independent, log_density
from likelier.families.categorical import Categories, Histograms, TableDensity
from likelier.families.counts import AffineColumns, Multinomials
from likelier.families.gamma_beta_dirichlet import Betas, Dirichlets, Gammas
from likelier.families.gaussian import LOG_2PI, Diagonal
from likelier.families.mixed import ConstantTerm, Mixed, SharedDensity
from likelier.scores import Among, Scores, TermWithConstant
from likelier.states.counts import Bins, codes_of

# Densities that are affine in some statistics T(x), as weights to read.

Statistics = Callable[[Floats], Any]


class AffineView(NamedTuple):
    """ln p(x | C_k) = W_k·T(x) + b_k, and a term that all classes share."""

    W: Floats  # (K, q)
    b: Floats  # (K,)
    statistics: Statistics  # rows (n, p) to T(x), (n, q)
    names: list[tuple[int, str]]  # of each statistic the column, and the rest of its name


@singledispatch
def reading_of(params: Any) -> AffineView | None:
    """None: no statistics in which it is affine are known."""
    return None


@reading_of.register(AffineColumns)
def _(params: AffineColumns) -> AffineView:
    return AffineView(params.W, params.constant.sum(axis=1), _whole, _plain(params.shape[1]))


@reading_of.register(Multinomials)
def _(params: Multinomials) -> AffineView:
    W = np.maximum(params.log_theta, np.log(np.finfo(np.float64).tiny))
    return AffineView(W, np.zeros(len(W)), _whole, _plain(params.shape[1]))


@reading_of.register(Categories)
def _(params: Categories) -> AffineView:
    names = [(j, f"={code}") for j, size in enumerate(params.sizes) for code in range(size)]
    return AffineView(params.log_p.T, np.zeros(params.shape[0]), lambda X: _one_hot(X, params.sizes), names)


@reading_of.register(Histograms)
def _(params: Histograms) -> AffineView:
    def statistics(X: Floats) -> Any:
        codes = np.stack(codes_of(params.bins, Chunk(Dense(X))).arrays, axis=1)
        return _one_hot(np.where(codes < 0, np.nan, codes), params.sizes)

    names = [(j, name) for j, bins in enumerate(params.bins) for name in _bin_names(bins)]
    return AffineView(params.log_p.T, np.zeros(params.shape[0]), statistics, names)


@reading_of.register(Gammas)
def _(params: Gammas) -> AffineView:
    W = np.hstack([-params.a / params.mean, params.a])
    names = [*_plain(params.shape[1]), *((j, " (ln)") for j in range(params.shape[1]))]
    return _by_point(params, W, lambda X: np.hstack([X, np.log(X)]), names, params.mean[0])


@reading_of.register(Betas)
def _(params: Betas) -> AffineView:
    W, p = np.hstack([params.a, params.b]), params.shape[1]
    names = [*((j, " (ln)") for j in range(p)), *((j, " (ln of 1 less it)") for j in range(p))]
    return _by_point(params, W, lambda X: np.hstack([np.log(X), np.log1p(-X)]), names, np.full(p, 0.5))


@reading_of.register(Dirichlets)
def _(params: Dirichlets) -> AffineView | None:
    p = params.shape[1]
    if params.rest.any() or params.whole != 1:
        return None  # a part of one: how much is left is a statistic, too
    names = [(j, " (ln)") for j in range(p)]
    return _by_point(params, params.alpha, np.log, names, np.full(p, 1 / p))


@reading_of.register(SharedDensity)
def _(params: SharedDensity) -> AffineView:
    return AffineView(np.empty((params.K, 0)), np.zeros(params.K), lambda X: np.empty((len(X), 0)), [])


def _bin_names(bins: Bins) -> list[str]:
    ends = [-np.inf, *bins.cuts, np.inf]
    every = zip(ends[:-1], ends[1:], bins.atoms, strict=True)
    return [f"={a:g}" if atom else f" in [{a:g}, {b:g})" for a, b, atom in every]


def _by_point(params: Any, W: Floats, T: Statistics, names: list[tuple[int, str]], x: Floats) -> AffineView:
    """With the constants that give one point its density."""
    return AffineView(W, log_density(params, x) - W @ T(x[None, :])[0], lambda X: T(_whole(X)), names)


def _plain(p: int) -> list[tuple[int, str]]:
    return [(j, "") for j in range(p)]


def _whole(X: Floats) -> Floats:
    """Refuse what is missing: a weight times nothing is not nothing."""
    if np.isnan(X).any():
        row, column = (int(i) for i in np.argwhere(np.isnan(X))[0])
        raise ValueError(
            f"row {row} has a missing value (column {column} of its family), and these statistics need "
            "complete rows: fill in missing values first, for example with impute."
        )
    return X


def _one_hot(codes: Floats, sizes: Any) -> Any:
    """1 where a row has a code, (n, Σ sizes); a missing cell has none, the last is for all beyond it."""
    known = ~np.isnan(codes)
    at = np.cumsum(sizes) - sizes + np.minimum(np.where(known, codes, 0), sizes - 1)
    ends = np.concatenate([[0], np.cumsum(known.sum(axis=1))])
    where = at[known].astype(np.int64)
    return sparse.csr_array((np.ones(ends[-1]), where, ends), shape=(len(codes), int(sizes.sum())))


# Scores in which the log density of each column has a weight: Σ_j w_j ln p_j(x_j | C_k).


@dataclass(frozen=True)
class TimesWeight(TermWithConstant):
    """b_k + w a_k(x): the scores of a density, times a weight."""

    weight: float
    scores: Scores

    def write(self, chunk: Chunk, Z: Floats, *, add: bool) -> None:
        z = np.empty_like(Z)
        self.scores.write(chunk, z)
        z *= self.weight
        z += self.b
        Z[...] = Z + z if add else z


@singledispatch
def weighted_scores(params: Any, w: Floats) -> Scores:
    """Σ_j w_j ln p_j(x_j | C_k) but for what all classes share, w (p,) all above 0.

    Columns that have one density together have one weight.
    """
    if isinstance(params, Independent):
        return _one_by_one(params, w)
    return Scores((TimesWeight(np.zeros(params.shape[0]), float(w[0]), _enough(params)),))


def _enough(params: Any) -> Scores:
    """The scores of a density, as far as they differ between classes."""
    cheaper: Scores | None = params.discriminants()
    return params.scores() if cheaper is None else cheaper


def _one_by_one(params: Any, w: Floats) -> Scores:
    """Columns that are independent, each with a term of its own."""
    zero, found = np.zeros(params.shape[0]), []
    for j, weight in enumerate(w.tolist()):
        column = np.array([j], dtype=np.intp)
        one = TimesWeight(zero, weight, _enough(params.marginal(column)))
        found.append(Among(zero, column, Scores((one,))))
    return Scores(tuple(found))


@weighted_scores.register
def _(params: Mixed, w: Floats) -> Scores:
    """Columns of weight 0 are left out, so that a density of 0 there does not matter."""
    zero, found = np.zeros(params.shape[0]), []
    for columns, density in params.groups:
        some = np.flatnonzero(w[columns] > 0)
        if len(some) == 0 or isinstance(density, SharedDensity):
            continue
        part = density if len(some) == len(columns) else density.marginal(some)
        found.append(Among(zero, columns[some], weighted_scores(part, w[columns[some]])))
    return Scores(tuple(found)) if found else Scores((ConstantTerm(zero),))


@weighted_scores.register
def _(params: TableDensity, w: Floats) -> Scores:
    scaled: Any = replace(params, log_p=params.log_p * np.repeat(w, params.sizes)[:, None])
    return _enough(scaled)


@weighted_scores.register
def _(params: Diagonal, w: Floats) -> Scores:
    scale = np.sqrt(w / params.var)
    constant = w * (-0.5 * np.log(params.var) - 0.5 * LOG_2PI)
    gaps = terms.DiagonalGaps(np.zeros(len(scale)), params.mean, scale, constant)
    return Scores((terms.Diagonal(constant.sum(axis=1), params.mean, scale),), gaps)


@weighted_scores.register
def _(params: AffineColumns, w: Floats) -> Scores:
    threshold = getattr(params, "threshold", None)
    above = -np.inf if threshold is None else threshold
    return Scores((terms.Additive(np.zeros(len(params.W)), params.W * w, params.constant * w, above),))


def weighted_reading(params: Any, w: Floats) -> AffineView | None:
    """The weighted log densities as weights of statistics; None: they are not affine in any."""
    found = reading_of(params)
    if found is None or isinstance(params, SharedDensity):
        return found
    if not isinstance(params, Independent | TableDensity):
        return found._replace(W=w[0] * found.W, b=w[0] * found.b)
    each = w[[j for j, _ in found.names]]
    b = sum(weight * _constant(params, j) for j, weight in enumerate(w.tolist()))
    return found._replace(W=found.W * each, b=np.asarray(b))


def _constant(params: Any, j: int) -> Floats:
    """b of one column, (K,)."""
    one = reading_of(params.marginal(np.array([j], dtype=np.intp)))
    assert one is not None
    return one.b
