"""Intervals for predictions of least squares, and joint tests of several of its coefficients."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, fdtrc, stdtrit

from likelier.array_types import Floats
from likelier.data import Block, Source
from likelier.inference.clusters import Clusters
from likelier.inference.least_squares import (
    Covariance,
    Fit,
    coordinates,
    covariance,
    frame,
    interval,
    joint,
    target_fit,
)
from likelier.inference.terms import Terms, TermTests
from likelier.states import Equations

OPEN = 1e-6  # of a row's length: the part in directions that the rows of the fit leave open


@dataclass(frozen=True)
class PredictionInterval:
    """The result of `prediction_interval()` of least squares: predictions and how far they may be off.

    With s² the residual variance and h the leverage of a row, the prediction has the standard error s√h,
    and a new observation lies about it with variance s²(1 + h); intervals are those of Student's t. Arrays
    have a column for each target if there are several.

    Attributes
    ----------
    mean : ndarray of shape (n,) or (n, q)
        The predictions: estimates of the mean of y at these rows.
    error : ndarray of shape (n,) or (n, q)
        Their standard errors.
    mean_low : ndarray of shape (n,) or (n, q)
        The lower ends of the confidence intervals of the mean.
    mean_high : ndarray of shape (n,) or (n, q)
        Their upper ends.
    low : ndarray of shape (n,) or (n, q)
        The lower ends of the intervals in which a new observation lies.
    high : ndarray of shape (n,) or (n, q)
        Their upper ends.
    level : float
        The level of the intervals.
    """

    mean: Floats
    error: Floats
    mean_low: Floats
    mean_high: Floats
    low: Floats
    high: Floats
    level: float

    def to_frame(self) -> Any:
        """As a pandas data frame, one row for each row of X.

        Returns
        -------
        pandas.DataFrame
            Predictions, standard errors and both intervals.

        Raises
        ------
        ValueError
            If there are several targets.
        """
        if self.mean.ndim > 1:
            raise ValueError(
                f"to_frame is for one target; these are {self.mean.shape[1]}: use the attributes."
            )
        a, b = interval(self.level)
        columns = {"prediction": self.mean, "std. error": self.error}
        columns |= {f"mean {a}": self.mean_low, f"mean {b}": self.mean_high}
        columns |= {f"observation {a}": self.low, f"observation {b}": self.high}
        return frame(range(len(self.mean)), columns)


def prediction_errors(fit: Fit, X: Block, level: float) -> tuple[Floats, Floats, Floats]:
    """The standard error of each prediction, and half the width of both intervals."""
    U = coordinates(fit, X)
    h = np.einsum("ij,ij->i", U, U)
    with np.errstate(over="ignore", under="ignore"):
        s = float(np.ldexp(np.sqrt(fit.rss * fit.per_df), fit.power))
    t = stdtrit(fit.df, (1 + level) / 2)
    return s * np.sqrt(h), t * s * np.sqrt(h), t * s * np.sqrt(1 + h)


def undetermined(equations: Equations, X: Block, *, intercept: bool, tol: float) -> NDArray[np.bool_]:
    """Rows that differ from those of the fit in a direction in which these do not vary."""
    R = equations.R
    length = np.sqrt(np.einsum("ij,ij->j", R, R))
    D = np.where(length > 0, length, 1.0)
    _, s, Vt = np.linalg.svd(R / D)
    kept = s > max(tol, 1e-10) * s.max(initial=0.0)
    free = np.vstack([Vt[: len(s)][~kept], Vt[len(s) :]])
    if not len(free):
        return np.zeros(X.shape[0], dtype=bool)
    rows = X.to_array()
    if intercept:
        p = equations.p
        rows = (rows - equations.shift[:p]) - equations.gap[:p]
    with np.errstate(under="ignore"):
        rows = np.ldexp(rows, -equations.power[: equations.p]) / D
    size = np.linalg.norm(rows, axis=1)
    return np.asarray(np.linalg.norm(rows @ free.T, axis=1) > OPEN * np.where(size > 0, size, 1.0))


# ---- tests of several coefficients at once -------------------------------------------------------
def regression_term_tests(
    equations: Equations,
    fit: Fit,
    terms: Terms,
    *,
    tol: float,
    cov: Covariance,
    rows: Source | None,
    clusters: Clusters | None,
) -> TermTests:
    """F of each term, and the likelihood ratio of the fits with and without it."""
    F, df, lr = np.full((3, len(terms)), np.nan)
    robust = None
    if cov != "classical":
        assert rows is not None
        robust = covariance(fit, cov, rows, clusters)
    first, residual = int(fit.intercept), fit.df if robust is None else robust.df
    with np.errstate(divide="ignore", invalid="ignore"):
        for i, at in enumerate(terms.values()):
            rss, used = _without(equations, fit, at, tol)
            df[i] = fit.used - used
            if df[i] <= 0:
                continue
            if robust is None:
                F[i] = (rss - fit.rss) / df[i] / (np.float64(fit.rss) * fit.per_df)
                lr[i] = fit.n * np.log(np.float64(rss) / fit.rss)
            else:
                places = at + first
                V = robust.V[np.ix_(places, places)]
                F[i] = joint(fit.b[places], V, df[i], robust.clusters) / df[i]
    return TermTests(
        names=tuple(terms),
        df=df,
        wald=F,
        wald_p=fdtrc(df, residual, F),
        lr=lr,
        lr_p=chdtrc(df, lr),
        residual_df=float(residual),
        cov=cov,
        clusters=0 if robust is None else robust.clusters,
    )


def _without(equations: Equations, fit: Fit, columns: NDArray[np.intp], tol: float) -> tuple[float, float]:
    """The residual sum of squares and the degrees of freedom of the fit without some columns."""
    p, q = equations.p, equations.r.shape[1]
    rest = np.setdiff1d(np.arange(p), columns)
    if not len(rest):
        return fit.tss, float(fit.intercept)
    at, m = np.append(rest, p + np.arange(q)), len(rest)
    T = np.asarray(np.linalg.qr(np.hstack([equations.R[:, rest], equations.r]), mode="r"))
    some = {name: getattr(equations, name)[at] for name in ("shift", "gap", "power")}
    fewer = equations._replace(
        R=T[:m, :m],
        r=T[:m, m:],
        rest=equations.rest + (T[m:, m:] ** 2).sum(axis=0),
        size=equations.size[rest],
        **some,
    )
    found = target_fit(fewer, fit.target, intercept=fit.intercept, alpha=0.0, tol=tol)
    return max(found.rss, fit.rss), found.used
