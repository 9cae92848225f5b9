"""Scores in which the log density of each column has a weight: Σ_j w_j ln p_j(x_j | C_k)."""

from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any

import numpy as np

from likelier import scores as terms
from likelier.array_types import Floats
from likelier.data import Chunk
from likelier.families.affine_view import AffineView, reading_of
from likelier.families.base import Independent
from likelier.families.categorical import TableDensity
from likelier.families.counts import AffineColumns
from likelier.families.gaussian import LOG_2PI, Diagonal
from likelier.families.mixed import ConstantTerm, Mixed, SharedDensity
from likelier.scores import Among, Scores, TermWithConstant


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
