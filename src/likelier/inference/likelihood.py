"""What a fit by maximum likelihood says beyond its weights: their errors, tests and intervals."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.special import chdtrc, ndtr, ndtri, xlogy

from likelier.data import Arrays, Chunk, block
from likelier.engines import run
from likelier.inference import table
from likelier.inference.separation import Separation
from likelier.inference.table import Covariance
from likelier.objective import Objective
from likelier.penalties import Penalty
from likelier.solvers import Solution, newton, run_solver
from likelier.states import Setting

Floats = NDArray[np.float64]

EPS = float(np.finfo(np.float64).eps)
KEPT = 1024  # parameters up to which a fit keeps the Hessian that its solver had: 8 MB
MOST = 10_000  # and up to which one is made when errors are asked for


# ---- what a fit keeps ----------------------------------------------------------------------------
@dataclass(frozen=True)
class Information:
    """What a likelihood fit leaves beside its weights θ: all that errors without rows need.

    H is Σ w ∂²ℓ/∂θ², without the penalty, at the θ that was found: Fisher's information (1922).
    """

    n: Floats  # (K,), the weight of each class
    log_likelihood: float
    null: float  # the same of a model without columns
    l2: Floats  # (m,), the penalty ½ Σ l2 θ² beside the summed loss
    l1: bool
    intercept: bool
    iterations: int
    converged: bool
    separation: Separation | None = None
    H: Floats | None = None  # (m, m); None: the solver knew none

    @classmethod
    def of(cls, objective: Objective, solution: Solution, separation: Separation | None) -> Self:
        """Of an end that is known already: no pass over rows, unless there are offsets."""
        last, n, penalty = solution.last, objective.n, objective.penalty
        assert objective.totals is not None
        kept = last.hessian is not None and objective.size <= KEPT
        return cls(
            objective.totals,
            -n * (last.value - penalty.value(last.theta)),
            null_log_likelihood(objective),
            n * penalty.l2,
            not penalty.smooth,
            objective.intercept,
            solution.iterations,
            solution.converged,
            separation,
            _curvature(objective, last.hessian) if kept and last.hessian is not None else None,
        )

    def again(self, objective: Objective, theta: Floats) -> Self:
        """The same with the Hessian of the rows of the fit, read once more; others are refused."""
        if objective.size > MOST:
            raise ValueError(
                f"errors of {objective.size} parameters need a matrix of as many rows and columns; "
                f"{MOST} are the most."
            )
        F, _, H = objective.hessian(theta.ravel())
        found = -objective.n * (F - objective.penalty.quadratic(theta.ravel()))
        n, before = objective.n, self.log_likelihood
        if not np.isclose(n, self.n.sum()) or abs(found - before) > 1e-7 * abs(before) + 1e-9 * n:
            raise ValueError(
                "X and y (and sample_weight and offset) are not the rows that were fitted: these are "
                f"{n:g} rows of log-likelihood {found:.6g}, those were {self.n.sum():g} of {before:.6g}."
            )
        return replace(self, H=_curvature(objective, H))


def _curvature(objective: Objective, H: Floats) -> Floats:
    """Of the summed loss alone, from the Hessian that solvers see."""
    H = objective.opened(H)
    H[np.diag_indices_from(H)] -= objective.penalty.l2
    H *= objective.n
    return H


def null_log_likelihood(objective: Objective) -> float:
    """Of the model that knows no column: Σ n_k ln(n_k / n), or n ln(1/K) without an intercept.

    With offsets the intercepts are sought, or there is nothing to seek.
    """
    n, setting, source = objective.n, objective.setting, objective.source
    assert objective.totals is not None
    if not (isinstance(source, Arrays) and source.offset is not None):
        shares = objective.totals / n if objective.intercept else np.full(1, 1 / len(objective.totals))
        return float(xlogy(objective.totals, shares).sum())
    # One column of zeros, of which no score depends.
    rows = replace(source, X=block(np.zeros((len(source), 1))), names=None)
    alone = replace(setting, shift=np.zeros(1))
    none = Penalty.of(setting.q, 1, 0.0, 0.0)
    bare = replace(objective, source=rows, setting=alone, penalty=none, passes=0, _gauge=None)
    start = np.zeros(bare.size)
    if not objective.intercept:
        return -n * float(bare.value(start)[0])
    return -n * run_solver(newton, bare, start, tol=1e-9, max_iter=50).last.value


# ---- errors that may differ from row to row ------------------------------------------------------
TILE = 4096  # rows, each as long as θ


@dataclass
class Meat:
    """Σ w g(h) s sᵀ, with s = ∂ℓ/∂θ of a row: between two inverses of H it is the covariance of θ,
    whatever the true one of the labels is (Huber 1967; White 1982).

    g is 1, 1/(1-h) or 1/(1-h)² for HC0, HC2 and HC3, with h = ℓ'' xᵀ H⁻¹ x, the leverage of the row in
    the last of the weighted least-squares problems (MacKinnon & White 1985; Pregibon 1981).
    """

    setting: Setting
    theta: Floats  # (q, p + 1)
    V: Floats  # (m, m)
    power: int  # of 1/(1-h)
    M: Floats

    @classmethod
    def start(cls, setting: Setting, theta: Floats, V: Floats, power: int) -> Self:
        return cls(setting, theta, V, power, np.zeros_like(V))

    @property
    def nbytes(self) -> int:
        return self.M.nbytes

    def update(self, chunk: Chunk) -> None:
        for start in range(0, chunk.X.shape[0], TILE):
            self._take(chunk.take(slice(start, start + TILE)))

    def _take(self, rows: Chunk) -> None:
        assert rows.y is not None
        loss, known = self.setting.loss, rows.y >= 0
        X = rows.X.to_array()[known] - self.setting.shift
        X = np.column_stack([X, np.ones(len(X))])
        Z, y = X @ self.theta.T, rows.y[known]
        if rows.offset is not None:
            Z += rows.offset[known].reshape(len(Z), -1)
        g = np.ones(len(X)) if rows.w is None else rows.w[known].copy()
        if self.power:
            room = 1 - loss.bend(Z, y)[:, 0, 0] * np.einsum("ni,ij,nj->n", X, self.V, X, optimize=True)
            tight = (g > 0) & (room <= 64 * EPS)
            if tight.any():
                row = rows.first + int(np.flatnonzero(known)[np.argmax(tight)])
                raise ValueError(
                    f"row {row} alone decides a coefficient (leverage 1): HC2 and HC3 do not exist; "
                    "HC0 and HC1 do."
                )
            g /= np.where(g > 0, room, 1.0) ** self.power
        S = (loss.slope(Z, y)[:, :, None] * X[:, None, :]).reshape(len(X), -1)  # (n, m)
        self.M += (S.T * g) @ S

    def merge(self, other: Self) -> None:
        self.M += other.M


POWERS = {"HC0": 0, "HC1": 0, "HC2": 1, "HC3": 2}


# ---- the table -----------------------------------------------------------------------------------
@dataclass(frozen=True)
class LikelihoodSummary:
    """A fit as a table: a row for each coefficient, and what holds for all of them.

    z = estimate / error; the likelihood-ratio test (Wilks 1938) and Wald's (1943) are of all coefficients
    but the intercepts at once. AIC = -2 ln L + 2k, BIC = -2 ln L + k ln n, with k the parameters or, under
    a penalty λ, the effective ones tr H (H + λ)⁻¹; then there are no tests: z, p and both are NaN.
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

    @property
    def _columns(self) -> table.Columns:
        ends = dict(zip(table.interval(self.level), (self.low, self.high), strict=True))
        if self.penalised:
            return {"estimate": self.estimates, "posterior sd": self.errors, **ends}
        return {"estimate": self.estimates, "std. error": self.errors, "z": self.z, "p": self.p, **ends}

    def to_frame(self) -> Any:
        """The coefficients as a pandas frame."""
        return table.frame(self.names, self._columns)

    def __str__(self) -> str:
        kind = "approximate posterior" if self.penalised else f"{self.cov} errors"
        above = f"{self.n:g} rows, {self.parameters:.4g} parameters, {self.iterations} iterations; {kind}"
        tests = (
            f"likelihood ratio χ²({self.df:.4g}) = {self.lr:.6g}, p {self.lr_p:.3g}; "
            f"Wald χ²({self.df:.4g}) = {self.wald:.6g}, p {self.wald_p:.3g}"
        )
        of_all = [
            f"log-likelihood {self.log_likelihood:.6g}, without columns {self.null_log_likelihood:.6g}",
            *([] if self.penalised else [tests]),
            f"pseudo-R² {self.mcfadden:.5f} (McFadden), {self.cox_snell:.5f} (Cox-Snell), "
            f"{self.nagelkerke:.5f} (Nagelkerke); AIC {self.aic:.2f}, BIC {self.bic:.2f}",
            *([self.note] if self.note else []),
        ]
        return "\n".join([above, *table.lines(self.names, self._columns), *of_all])


class Point(NamedTuple):
    """Weights about a shift, and what they are of."""

    theta: Floats  # (q, p + 1)
    shift: Floats  # (p,)
    columns: Sequence[str]
    classes: Sequence[str]


def likelihood_summary(
    found: Information, at: Point, rows: Objective | None, *, cov: Covariance, level: float
) -> tuple[LikelihoodSummary, NDArray[np.intp]]:
    """The summary, and the columns that the rows leave open; `rows` for errors that are not classical."""
    assert found.H is not None
    V, free, unit = _inverse(found.H, found.l2)
    n, intercepts, penalised = float(found.n.sum()), (len(found.n) - 1) * found.intercept, found.l2.any()
    used = float(np.einsum("ij,ji->", found.H, V)) if penalised else float(len(unit) - len(free))
    C, slopes = _contrasts(at, found.intercept)
    b = C @ at.theta.ravel()
    if cov != "classical":
        assert rows is not None
        M = run(rows.source, partial(Meat.start, rows.setting, at.theta, V, POWERS[cov])).M
        V = V @ M @ V * (n / (n - used) if cov == "HC1" else 1.0)
    Vb = C @ V @ C.T
    shaken = np.linalg.norm((C / unit) @ free.T, axis=1) > 1e-6 * np.linalg.norm(C / unit, axis=1)
    errors = np.where(shaken, np.nan, np.sqrt(np.maximum(np.diagonal(Vb), 0.0)))
    open_ = np.flatnonzero((shaken & slopes).reshape(max(len(at.theta) - 1, 1), -1).any(axis=0))
    nothing = np.nan if penalised else 1.0  # a test of what a penalty has drawn to 0 says nothing
    df = used - intercepts
    chi2 = nothing * 2 * (found.log_likelihood - found.null)
    wald = nothing * table.wald(b[slopes], Vb[np.ix_(slopes, slopes)])
    with np.errstate(divide="ignore", invalid="ignore"):  # an error of 0, a column that says nothing
        z = nothing * b / errors
    half = ndtri((1 + level) / 2) * errors
    explained = -np.expm1(-2 * (found.log_likelihood - found.null) / n)
    summary = LikelihoodSummary(
        names=_names(at, found.intercept),
        estimates=b,
        errors=errors,
        z=z,
        p=2 * ndtr(-np.abs(z)),
        low=b - half,
        high=b + half,
        n=n,
        parameters=used,
        log_likelihood=found.log_likelihood,
        null_log_likelihood=found.null,
        lr=chi2,
        lr_p=float(chdtrc(df, chi2)),
        wald=wald,
        wald_p=float(chdtrc(df, wald)),
        df=df,
        mcfadden=1 - found.log_likelihood / found.null,
        cox_snell=float(explained),
        nagelkerke=float(explained / -np.expm1(2 * found.null / n)),
        aic=-2 * found.log_likelihood + 2 * used,
        bic=-2 * found.log_likelihood + float(np.log(n)) * used,
        iterations=found.iterations,
        level=level,
        cov=cov,
        penalised=bool(penalised),
        note=" ".join(said for said, so in ((LAPLACE, penalised), (UNDONE, not found.converged)) if so),
    )
    return summary, open_ - found.intercept


def _inverse(H: Floats, l2: Floats) -> tuple[Floats, Floats, Floats]:
    """(H + λ)⁻¹; the directions (f, m) that H + λ leaves open, in which it is 0 instead; their units (m,).

    Decided in units in which the diagonal is 1. A combination that is at a right angle to all open
    directions has the same variance by any inverse that H may have (Rao 1962).
    """
    A = H + np.diag(l2)
    unit = np.sqrt(np.maximum(np.diagonal(A), 0.0))
    unit = np.where(unit > 0, unit, 1.0)
    s, U = eigh(A / np.outer(unit, unit))
    kept = s > 4 * len(s) * EPS * s[-1]
    V = (U[:, kept] / s[kept]) @ U[:, kept].T / np.outer(unit, unit)
    return np.asarray(V), np.asarray(U[:, ~kept].T), unit


def _contrasts(at: Point, intercept: bool) -> tuple[Floats, NDArray[np.bool_]]:
    """C θ = coefficients as shown: of two classes themselves, of more less those of the first class.

    A block for each, the intercept, at x = 0, first. And which rows of C are no intercepts.
    """
    q, P = at.theta.shape
    one = np.zeros((P, P))
    one[0, -1], one[0, :-1], one[1:, :-1] = 1, -at.shift, np.eye(P - 1)
    one = one if intercept else one[1:]
    against = np.eye(1) if q == 1 else np.column_stack([-np.ones(q - 1), np.eye(q - 1)])
    slopes = np.tile(np.arange(len(one)) >= intercept, len(against))
    return np.kron(against, one), slopes


def _names(at: Point, intercept: bool) -> tuple[str, ...]:
    each = [*(["intercept"] if intercept else []), *at.columns]
    if len(at.classes) == 2:
        return tuple(each)
    first, *others = at.classes
    return tuple(f"{first}→{other}: {name}" for other in others for name in each)


LAPLACE = (
    "Approximate posterior (Laplace): the penalty is taken as a Gaussian prior about 0, intervals are "
    "those of the posterior at its peak; no tests."
)
UNDONE = "The solver had not converged: these are not the numbers of the maximum."
