"""What a fit by maximum likelihood says beyond its weights: their errors, tests and intervals."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.special import chdtrc, ndtr, ndtri

from likelier.array_types import Floats
from likelier.display import Displayable, Part
from likelier.engines import run
from likelier.inference import least_squares
from likelier.inference.information import POWERS, Information, Meat, Root
from likelier.inference.least_squares import Covariance
from likelier.objective import Objective

EPS = float(np.finfo(np.float64).eps)


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
    cov : {"classical", "HC0", "HC1", "HC2", "HC3"}
        The estimator of the covariance of the coefficients.
    penalised : bool
        Whether the fit has a penalty.
    note : str
        Remarks on the fit.
    odds : str
        For binary problems, the class whose log odds the coefficients describe.
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

    @property
    def _columns(self) -> least_squares.Columns:
        ends = dict(zip(least_squares.interval(self.level), (self.low, self.high), strict=True))
        if self.penalised:
            return {"estimate": self.estimates, "posterior sd": self.errors, **ends}
        return {"estimate": self.estimates, "std. error": self.errors, "z": self.z, "p": self.p, **ends}

    def to_frame(self) -> Any:
        """The coefficients as a pandas data frame, one row each.

        Returns
        -------
        pandas.DataFrame
            Estimates, standard errors, z statistics, p-values and confidence intervals.
        """
        return least_squares.frame(self.names, self._columns)

    def _parts(self) -> list[Part]:
        kind = "approximate posterior" if self.penalised else f"{self.cov} errors"
        above = f"{self.n:g} rows, {self.parameters:.4g} parameters, {self.iterations} iterations; {kind}"
        above += f"; log odds of {self.odds}" if self.odds else ""
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

    @property
    def open(self) -> NDArray[np.bool_]:
        """Which b the rows do not determine."""
        return np.asarray(np.linalg.norm(self.away, axis=1) > 1e-6)

    def wald(self, some: NDArray[np.bool_]) -> float:
        """The test that these are all 0: of those combinations of them that the rows determine."""
        _, s, W = np.linalg.svd(self.away[some].T)
        E = W[(s > 1e-6).sum() :] / self.unit[some]
        return least_squares.wald(E @ self.b[some], E @ self.V[np.ix_(some, some)] @ E.T)


def likelihood_summary(
    found: Information, at: Point, rows: Objective | None, *, cov: Covariance, level: float
) -> tuple[LikelihoodSummary, NDArray[np.intp]]:
    """The summary, and the columns that the rows leave open; `rows` for errors that are not classical."""
    e = _estimate(found, at, rows, cov)
    n, penalised, first = float(found.n.sum()), bool(found.l2.any()), int(found.intercept)
    blocks = len(found.n) - 1
    slopes = np.tile(np.arange(len(e.b) // blocks) >= first, blocks)
    nothing = np.nan if penalised else 1.0  # a test of what a penalty has drawn to 0 says nothing
    df = e.used - first * blocks
    lr = nothing * 2 * (found.log_likelihood - found.null)
    wald = nothing * e.wald(slopes)
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
        penalised=penalised,
        note=" ".join(said for said, so in _notes(e, found, penalised=penalised) if so),
        odds=f"{at.classes[1]} against {at.classes[0]}" if len(at.classes) == 2 else "",
    )
    left_open = (e.open & slopes).reshape(blocks, -1).any(axis=0)
    return summary, np.flatnonzero(left_open) - first


def _estimate(found: Information, at: Point, rows: Objective | None, cov: Covariance) -> Estimate:
    """V = H⁻¹, (H + λ)⁻¹, or H⁻¹ M H⁻¹, in coordinates that know no free direction of softmax."""
    assert found.H is not None
    q, P = at.theta.shape
    Q = _differences(q)
    R = np.kron(Q, np.eye(P))  # (m, m')
    H, l2 = R.T @ found.H @ R, np.tile(found.l2[:P], Q.shape[1])
    V, free, unit = _inverse(H + np.diag(l2))
    doubt, half = _doubt(H + np.diag(l2), free, unit), None
    if doubt > SMALL and rows is not None:  # the square root has half as many digits to lose
        root = run(rows.source, partial(Root.start, rows.setting, at.theta, found.intercept)).R @ R
        half, free, unit = _inverse_of_root(np.vstack([root, np.diag(np.sqrt(l2))]))
        V, doubt = half @ half.T, 0.0
    used = float(np.einsum("ij,ji->", H, V)) if l2.any() else float(len(unit) - len(free))
    if cov != "classical":
        assert rows is not None
        n = found.n.sum()
        M = run(rows.source, partial(Meat.start, rows.setting, at.theta, R @ V @ R.T, POWERS[cov])).M
        V, half = V @ (R.T @ M @ R) @ V * (n / (n - used) if cov == "HC1" else 1.0), None
    theta = R.T @ at.theta.ravel()
    C = np.kron(_against_the_first(q) @ Q, _as_shown(at.shift, found.intercept))
    size = np.linalg.norm(C / unit, axis=1)
    shown = C @ V @ C.T if half is None else (C @ half) @ (C @ half).T
    return Estimate(C @ theta, shown, size, (C / unit) @ free.T / size[:, None], used, doubt)


def _inverse(A: Floats) -> tuple[Floats, Floats, Floats]:
    """A⁻¹; the directions (f, m) that A leaves open, in which it is 0 instead; their units (m,).

    Decided in units in which the diagonal is 1. A combination that is at a right angle to all open
    directions has the same variance by any inverse that A may have (Rao 1962).
    """
    unit = np.sqrt(np.maximum(np.diagonal(A), 0.0))
    unit = np.where(unit > 0, unit, 1.0)
    s, U = eigh(A / np.outer(unit, unit))
    kept = s > 4 * len(s) * EPS * s[-1]
    V = (U[:, kept] / s[kept]) @ U[:, kept].T / np.outer(unit, unit)
    return np.asarray(V), np.asarray(U[:, ~kept].T), unit


def _inverse_of_root(R: Floats) -> tuple[Floats, Floats, Floats]:
    """The same of A = RᵀR, but a half B of A⁻¹ = BBᵀ: what A has lost in rounding R may still have."""
    unit = np.linalg.norm(R, axis=0)
    unit = np.where(unit > 0, unit, 1.0)
    _, s, W = np.linalg.svd(R / unit, full_matrices=False)
    kept = s > 4 * len(s) * EPS * s[0]
    return np.asarray(W[kept].T / s[kept] / unit[:, None]), W[~kept], unit


def _doubt(A: Floats, free: Floats, unit: Floats) -> float:
    """What rounding may have made of A⁻¹, as a part of it: its condition, in columns of size 1, times ε."""
    there = np.flatnonzero(np.diagonal(A) > 0)  # not an intercept that the model lacks
    s = np.linalg.eigvalsh((A / np.outer(unit, unit))[np.ix_(there, there)])
    lost = len(free) > len(A) - len(there)
    return 1.0 if lost else float(len(s) * EPS * s[-1] / max(s[0], EPS * s[-1]))


SMALL = 1e-9  # of a variance: no more doubt than this is left where rows are at hand
SAID = 1e-4  # and where they are not, more than this is said


def _differences(q: int) -> Floats:
    """An orthonormal basis (q, q - 1) of what is left when one vector added to all rows of θ counts as
    nothing (Helmert 1876); of one row itself."""
    if q == 1:
        return np.eye(1)
    below = np.triu(np.ones((q, q - 1))) - np.diag(np.arange(1.0, q), -1)[:, : q - 1]
    return np.asarray(below / np.linalg.norm(below, axis=0))


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
    doubtful = SAID < e.doubt < 1
    return [(LAPLACE, penalised), (UNDONE, not found.converged), (ALIKE.format(e.doubt), doubtful)]


ALIKE = (
    "Columns are nearly alike: the errors may be wrong by a share of {:.0e}. summary(X, y) finds them from "
    "the rows to more digits."
)
LAPLACE = (
    "Approximate posterior (Laplace): the penalty is taken as a Gaussian prior about 0, intervals are "
    "those of the posterior at its peak; no tests."
)
UNDONE = "The solver had not converged: these are not the numbers of the maximum."
