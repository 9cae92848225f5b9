"""Standard errors, tests and intervals of weights fitted by maximum likelihood."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, ndtr, ndtri

from likelier.array_types import Floats
from likelier.display import Displayable, Part
from likelier.inference import least_squares
from likelier.inference.clusters import Clusters
from likelier.inference.information import Information, weights_covariance
from likelier.inference.least_squares import Covariance, kind_of_errors
from likelier.objective import Objective


# ---- the table -----------------------------------------------------------------------------------
@dataclass(frozen=True)
class LikelihoodSummary(Displayable):
    """The result of `summary()` of a logistic regression: coefficients and statistics of the fit.

    z = estimate / error; the likelihood-ratio test (Wilks 1938) and Wald's (1943) are of all coefficients
    but the intercepts at once. AIC = -2 ln L + 2k, BIC = -2 ln L + k ln n, with k the parameters or, under
    a penalty λ, the effective ones tr H (H + λ)⁻¹; then there are no tests: z, p and both are NaN.

    Attributes
    ----------
    names : tuple of str
        The names of the coefficients.
    estimates : ndarray
        The coefficients.
    errors : ndarray
        Their standard errors; under a penalty, their posterior standard deviations.
    z : ndarray
        The z statistics.
    p : ndarray
        Their two-sided p-values.
    low : ndarray
        The lower ends of the confidence intervals.
    high : ndarray
        The upper ends of the confidence intervals.
    n : float
        The number of rows, or their total weight.
    parameters : float
        The number k of parameters, or of effective ones.
    log_likelihood : float
        The log-likelihood of the fit.
    null_log_likelihood : float
        The log-likelihood without the columns.
    lr : float
        The χ² statistic of the likelihood-ratio test.
    lr_p : float
        Its p-value.
    wald : float
        The χ² statistic of Wald's test.
    wald_p : float
        Its p-value.
    df : float
        The degrees of freedom of both tests.
    mcfadden : float
        McFadden's pseudo-R².
    cox_snell : float
        Cox and Snell's pseudo-R².
    nagelkerke : float
        Nagelkerke's pseudo-R².
    aic : float
        Akaike's information criterion.
    bic : float
        The Bayesian information criterion.
    iterations : int
        The number of iterations of the solver.
    level : float
        The confidence level of the intervals.
    cov : {"classical", "HC0", "HC1", "HC2", "HC3", "cluster"}
        The estimator of the covariance of the coefficients.
    penalised : bool
        Whether the fit has a penalty.
    note : str
        Remarks on the fit.
    odds : str
        For binary problems, the class whose log odds the coefficients describe.
    clusters : int
        The number of clusters, with `cov="cluster"`.
    exponentiated : bool
        Whether estimates, errors and intervals are of odds ratios, e to the power of the coefficients.
    """

    names: tuple[str, ...]
    estimates: Floats
    errors: Floats
    z: Floats
    p: Floats
    low: Floats
    high: Floats
    n: float
    parameters: float  # k
    log_likelihood: float
    null_log_likelihood: float
    lr: float  # χ² on `df`, as is Wald's
    lr_p: float
    wald: float
    wald_p: float
    df: float
    mcfadden: float
    cox_snell: float
    nagelkerke: float
    aic: float
    bic: float
    iterations: int
    level: float
    cov: Covariance
    penalised: bool = False
    note: str = ""
    odds: str = ""  # of two classes: which one's
    clusters: int = 0
    exponentiated: bool = False

    @property
    def _columns(self) -> least_squares.Columns:
        ends = dict(zip(least_squares.interval(self.level), (self.low, self.high), strict=True))
        what = {"odds ratio" if self.exponentiated else "estimate": self.estimates}
        if self.penalised:
            return {**what, "posterior sd": self.errors, **ends}
        return {**what, "std. error": self.errors, "z": self.z, "p": self.p, **ends}

    def to_frame(self) -> Any:
        """The coefficients as a pandas data frame, one row each.

        Returns
        -------
        pandas.DataFrame
            Estimates, standard errors, z statistics, p-values and confidence intervals.
        """
        return least_squares.frame(self.names, self._columns)

    def as_odds_ratios(self) -> "LikelihoodSummary":
        """The same for e to the power of each coefficient, with errors by the delta method."""
        with np.errstate(over="ignore"):
            ratios, low, high = np.exp(self.estimates), np.exp(self.low), np.exp(self.high)
            errors = ratios * self.errors
        return replace(self, estimates=ratios, errors=errors, low=low, high=high, exponentiated=True)

    def _parts(self) -> list[Part]:
        kind = "approximate posterior" if self.penalised else kind_of_errors(self.cov, self.clusters)
        above = f"{self.n:g} rows, {self.parameters:.4g} parameters, {self.iterations} iterations; {kind}"
        scale = "odds" if self.exponentiated else "log odds"
        above += f"; {scale} of {self.odds}" if self.odds else ""
        tests = (
            f"likelihood ratio χ²({self.df:.4g}) = {self.lr:.6g}, p {self.lr_p:.3g}; "
            f"Wald χ²({self.df:.4g}) = {self.wald:.6g}, p {self.wald_p:.3g}"
        )
        of_all = [
            f"log-likelihood {self.log_likelihood:.6g}, null model {self.null_log_likelihood:.6g}",
            *([] if self.penalised else [tests]),
            f"pseudo-R² {self.mcfadden:.5f} (McFadden), {self.cox_snell:.5f} (Cox-Snell), "
            f"{self.nagelkerke:.5f} (Nagelkerke); AIC {self.aic:.2f}, BIC {self.bic:.2f}",
            *([self.note] if self.note else []),
        ]
        return [above, least_squares.cells(self.names, self._columns), *of_all]


class Point(NamedTuple):
    """Weights about a shift, and what they are of."""

    theta: Floats  # (q, p + 1)
    shift: Floats  # (p,)
    columns: Sequence[str]
    classes: Sequence[str]
    unit: Floats | None = None  # (p,), of columns that were divided by it


class Estimate(NamedTuple):
    """Coefficients b as shown, each a combination of θ, and their covariance."""

    b: Floats
    V: Floats
    unit: Floats  # of each b
    away: Floats  # (b, f): how far each, in its unit, lies in directions that the rows leave open
    used: float  # parameters, or effective ones
    doubt: float  # the part of the variances that rounding may have changed
    groups: int  # clusters of rows, if errors are of clusters

    @property
    def open(self) -> NDArray[np.bool_]:
        """Which b the rows do not determine."""
        return np.asarray(np.linalg.norm(self.away, axis=1) > 1e-6)

    def wald(self, some: NDArray[np.bool_]) -> tuple[float, int]:
        """The test that these are all 0, of those combinations of them that the rows determine, and how
        many these are. Fewer clusters than these do not determine it."""
        _, s, W = np.linalg.svd(self.away[some].T)
        E = W[(s > 1e-6).sum() :] / self.unit[some]
        if self.groups and self.groups <= len(E):
            return np.nan, len(E)
        return least_squares.wald(E @ self.b[some], E @ self.V[np.ix_(some, some)] @ E.T), len(E)


def likelihood_summary(
    found: Information,
    at: Point,
    rows: Objective | None,
    *,
    cov: Covariance,
    level: float,
    clusters: Clusters | None = None,
) -> tuple[LikelihoodSummary, NDArray[np.intp]]:
    """The summary, and the columns that the rows leave open; `rows` for errors that are not classical."""
    e = estimate_of(found, at, rows, cov, clusters)
    n, penalised, first = float(found.n.sum()), bool(found.l2.any()), int(found.intercept)
    blocks = len(found.n) - 1
    slopes = np.tile(np.arange(len(e.b) // blocks) >= first, blocks)
    nothing = np.nan if penalised else 1.0  # a test of what a penalty has drawn to 0 says nothing
    df = e.used - first * blocks
    lr = nothing * 2 * (found.log_likelihood - found.null)
    wald = nothing * e.wald(slopes)[0]
    errors = np.where(e.open, np.nan, np.sqrt(np.maximum(np.diagonal(e.V), 0.0)))
    with np.errstate(divide="ignore", invalid="ignore"):  # an error of 0
        z = nothing * e.b / errors
    per = _per(at, found.intercept, blocks)
    half = ndtri((1 + level) / 2) * errors
    explained = -np.expm1(-2 * (found.log_likelihood - found.null) / n)
    summary = LikelihoodSummary(
        names=_names(at, found.intercept),
        estimates=e.b / per,
        errors=errors / per,
        z=z,
        p=2 * ndtr(-np.abs(z)),
        low=(e.b - half) / per,
        high=(e.b + half) / per,
        n=n,
        parameters=e.used,
        log_likelihood=found.log_likelihood,
        null_log_likelihood=found.null,
        lr=lr,
        lr_p=float(chdtrc(df, lr)),
        wald=wald,
        wald_p=float(chdtrc(df, wald)),
        df=df,
        mcfadden=1 - found.log_likelihood / found.null,
        cox_snell=float(explained),
        nagelkerke=float(explained / -np.expm1(2 * found.null / n)),
        aic=-2 * found.log_likelihood + 2 * e.used,
        bic=-2 * found.log_likelihood + float(np.log(n)) * e.used,
        iterations=found.iterations,
        level=level,
        cov=cov,
        clusters=e.groups,
        penalised=penalised,
        note=" ".join(said for said, so in _notes(e, found, penalised=penalised) if so),
        odds=f"{at.classes[1]} against {at.classes[0]}" if len(at.classes) == 2 else "",
    )
    left_open = (e.open & slopes).reshape(blocks, -1).any(axis=0)
    return summary, np.flatnonzero(left_open) - first


def estimate_of(
    found: Information, at: Point, rows: Objective | None, cov: Covariance, clusters: Clusters | None
) -> Estimate:
    """The coefficients as shown: of more than two classes, those of each less those of the first."""
    weights = weights_covariance(found, at.theta, rows, cov, clusters)
    shown = np.kron(_against_the_first(len(at.theta)), _as_shown(at.shift, found.intercept))
    C = np.asarray(shown, dtype=np.float64)
    V, away, size = weights.of(C)
    return Estimate(C @ weights.theta, V, size, away, weights.used, weights.doubt, weights.groups)


def _against_the_first(q: int) -> Floats:
    """Rows of θ less the first; of one row itself."""
    return np.eye(1) if q == 1 else np.column_stack([-np.ones(q - 1), np.eye(q - 1)])


def _as_shown(shift: Floats, intercept: bool) -> Floats:
    """[w, b] about a shift to the intercept at x = 0, if there is one, and w."""
    p = len(shift)
    shown = np.column_stack([np.vstack([-shift, np.eye(p)]), np.eye(p + 1)[0]])
    return shown if intercept else shown[1:]


def _per(at: Point, intercept: bool, blocks: int) -> Floats:
    """The unit of each coefficient as shown: 1 of intercepts."""
    unit = np.ones(len(at.columns)) if at.unit is None else at.unit
    return np.tile(np.append(np.ones(int(intercept)), unit), blocks)


def _names(at: Point, intercept: bool) -> tuple[str, ...]:
    each = [*(["intercept"] if intercept else []), *at.columns]
    if len(at.classes) == 2:
        return tuple(each)
    first, *others = at.classes
    return tuple(f"{first}→{other}: {name}" for other in others for name in each)


def _notes(e: Estimate, found: Information, *, penalised: bool) -> list[tuple[str, bool]]:
    doubtful = DOUBTFUL < e.doubt < 1
    return [(LAPLACE, penalised), (UNDONE, not found.converged), (ALIKE.format(e.doubt), doubtful)]


DOUBTFUL = 1e-4  # of a variance: more doubt than this is reported
ALIKE = (
    "Columns are nearly alike: the errors may be wrong by a share of {:.0e}. summary(X, y) finds them from "
    "the rows to more digits."
)
LAPLACE = (
    "Approximate posterior (Laplace): the penalty is taken as a Gaussian prior about 0, intervals are "
    "those of the posterior at its peak; no tests."
)
UNDONE = "The solver had not converged: these are not the numbers of the maximum."
