"""What a regression says beyond its coefficients: their errors, tests and intervals."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.special import fdtrc, stdtr, stdtrit

from likelier.data import Chunk, Source
from likelier.engines import run
from likelier.inference import table
from likelier.inference.table import Covariance
from likelier.shown import Part, Shown
from likelier.states import Equations, Triangle
from likelier.states.qr import upper

Floats = NDArray[np.float64]

EPS = float(np.finfo(np.float64).eps)


# ---- solving -------------------------------------------------------------------------------------
class Solution(NamedTuple):
    """b = G r minimises |r - R b|², and is the shortest that does."""

    b: Floats  # (p, q)
    rank: int
    free: Floats  # (f, p) directions, in columns of unit length, that the rows do not determine


def solve(equations: Equations, tol: float = 0.0) -> Solution:
    """By back substitution; where the rank is deficient, D⁻¹ V S⁻¹ Uᵀ r less its part in the null space.

    The rank is that of R D⁻¹ = U S Vᵀ, whose columns have length 1: it does not depend on their units. A
    direction v is free if |R D⁻¹ v| is at most `tol` of the largest, or no more than rounding makes of 0:
    of the reflections, and of the numbers x themselves, which doubles hold to half a unit of their last
    place, however far from 0 they are. The null space, in the units of X, is D⁻¹ times those directions.
    """
    R, r = equations.R, equations.r
    length = np.linalg.norm(R, axis=0)
    D = np.where(length > 0, length, 1.0)
    U, s, Vt = np.linalg.svd(R / D)
    steps = 16 + np.sqrt(equations.n) / 4
    rounding = EPS * (steps + np.abs(Vt) @ (equations.size / D) / 2)
    kept = s > np.maximum(rounding, tol * s[0])
    if kept.all():
        return Solution(solve_triangular(R, r), len(s), Vt[:0])
    b = (Vt[kept].T / s[kept]) @ (U[:, kept].T @ r) / D[:, None]
    null = np.linalg.qr(Vt[~kept].T / D[:, None])[0]
    return Solution(b - null @ (null.T @ b), int(kept.sum()), Vt[~kept])


def bounded(equations: Equations) -> Solution:
    """The same with no b below 0 (Lawson & Hanson 1974): rows or their triangle, the problem is one."""
    from scipy.optimize import nnls  # slow to load, and seldom wanted

    b = np.column_stack([nnls(equations.R, r)[0] for r in equations.r.T])
    return Solution(b, len(b), np.zeros((0, len(b))))


def penalised(equations: Equations, alpha: float) -> Equations:
    """With α|b|² added: √α I below R, factored again (Golub 1965)."""
    p = len(equations.R)
    below = np.sqrt(alpha) * np.eye(p)
    above = np.hstack([equations.R, equations.r])
    R = upper(np.vstack([above, np.hstack([below, np.zeros_like(equations.r)])]))
    rest = equations.rest + (R[p:, p:] ** 2).sum(axis=0)
    return Equations(R[:p, :p], R[:p, p:], rest, np.hypot(equations.size, np.sqrt(alpha)), equations.n)


# ---- one target ----------------------------------------------------------------------------------
@dataclass(frozen=True)
class Fit:
    """One target of a fit: estimates b (the intercept first, if there is one) and all that they rest on.

    With rows in orthonormal coordinates u, y = Σ u_k r_k + noise, and b = A r: its covariance is σ² A Aᵀ.
    """

    b: Floats  # (m,)
    A: Floats  # (m, k)
    rss: float  # sum of squares left
    tss: float  # and of the target: about its mean if there is an intercept
    n: float
    used: float  # degrees of freedom: the rank and the intercept; with a penalty, fewer
    intercept: bool
    alpha: float
    triangle: Triangle
    target: int

    @property
    def df(self) -> float:
        return self.n - self.used

    @property
    def per_df(self) -> float:
        """1 / df; NaN where none is left, and with it every error."""
        return 1 / self.df if self.df > 0 else np.nan


def target_fit(triangle: Triangle, target: int, *, intercept: bool, alpha: float, tol: float) -> Fit:
    """The fit of one target, with what its errors need."""
    e = triangle.equations(centred=intercept)
    p = triangle.p
    r = e.r[:, [target]]
    # The inverse G that takes r to b comes out as the solutions for the columns of I.
    all_of = e._replace(r=np.hstack([r, np.eye(p)]), rest=np.zeros(1 + p))
    b, rank, _ = solve(penalised(all_of, alpha) if alpha > 0 else all_of, tol)
    b, G = b[:, 0], b[:, 1:]
    rss = float(e.rest[target] + ((r[:, 0] - e.R @ b) ** 2).sum())
    tss = float(e.rest[target] + (r**2).sum())
    used = float(np.trace(e.R @ G)) if alpha > 0 else float(rank)
    if intercept:
        mean, centre = triangle.mean[:p], triangle.mean[p + target]
        A = np.zeros((1 + p, 1 + p))
        A[0, 0], A[0, 1:], A[1:, 1:] = 1 / np.sqrt(e.n), -mean @ G, G
        b, G, used = np.append(centre - mean @ b, b), A, used + 1
    return Fit(b, G, rss, tss, e.n, used, intercept, alpha, triangle, target)


# ---- errors that may differ from row to row ------------------------------------------------------
@dataclass
class Sandwich:
    """Σ w e² g(h) u uᵀ over rows u in the orthonormal coordinates of a fit, h = |u|² being the leverage.

    Between A and Aᵀ it is the covariance of b whatever the variance of each row (White 1980); g is 1,
    1/(1-h) or 1/(1-h)² for HC0, HC2 and HC3 (MacKinnon & White 1985).
    """

    fit: Fit
    power: int  # of 1/(1-h)
    n: float = 0.0
    rss: float = 0.0
    M: Floats = field(default_factory=lambda: np.zeros(()))

    @property
    def nbytes(self) -> int:
        return self.fit.A.nbytes

    def update(self, chunk: Chunk) -> None:
        assert chunk.y is not None
        fit, w = self.fit, np.ones(chunk.X.shape[0]) if chunk.w is None else chunk.w
        U, e = self._coordinates(chunk)
        if not np.isfinite(e).all():
            row = chunk.first + int(np.argmin(np.isfinite(e)))
            raise ValueError(f"X or y contains NaN or infinity: row {row}.")
        room = 1 - (U**2).sum(axis=1)
        tight = (w > 0) & (room <= 64 * EPS)
        if self.power and tight.any():
            raise ValueError(
                f"row {chunk.first + int(np.argmax(tight))} alone decides a coefficient (leverage 1): HC2 "
                "and HC3 do not exist; HC0 and HC1 do."
            )
        g = w * e**2 / np.where(tight, 1.0, room) ** self.power
        self.merge(type(self)(fit, self.power, float(w.sum()), float(w @ e**2), (U.T * g) @ U))

    def _coordinates(self, chunk: Chunk) -> tuple[Floats, Floats]:
        """u and the residual of each row."""
        fit, t = self.fit, self.fit.triangle
        assert chunk.y is not None
        y = chunk.y[:, fit.target] if chunk.y.ndim == 2 else chunk.y
        if not fit.intercept:
            X = chunk.X.to_array()
            return X @ fit.A, y - X @ fit.b
        at = t.p + fit.target
        X = (chunk.X.to_array() - t.shift[: t.p]) - t.gap[: t.p]
        U = np.column_stack([np.full(len(X), 1 / np.sqrt(fit.n)), X @ fit.A[1:, 1:]])
        return U, ((y - t.shift[at]) - t.gap[at]) - X @ fit.b[1:]

    def merge(self, other: Self) -> None:
        self.n, self.rss, self.M = self.n + other.n, self.rss + other.rss, self.M + other.M


def covariance(fit: Fit, kind: Covariance, rows: Source | None) -> Floats:
    """The covariance of the estimates: σ² A Aᵀ, or A M Aᵀ from the rows once more."""
    if kind == "classical":
        return np.asarray(fit.rss * fit.per_df * (fit.A @ fit.A.T))
    assert rows is not None
    power = {"HC0": 0, "HC1": 0, "HC2": 1, "HC3": 2}[kind]
    s = run(rows, lambda: Sandwich(fit, power))
    if not np.isclose(s.n, fit.n) or abs(s.rss - fit.rss) > 1e-6 * fit.rss + 1e-12 * fit.tss:
        raise ValueError(
            "X and y (and sample_weight) are not the rows that were fitted: they leave other residuals."
        )
    return np.asarray((fit.n * fit.per_df if kind == "HC1" else 1.0) * (fit.A @ s.M @ fit.A.T))


# ---- the table -----------------------------------------------------------------------------------
@dataclass(frozen=True)
class Summary(Shown):
    """A fit as a table: a row for each coefficient, and what holds for all of them.

    t = estimate / error on `df` degrees of freedom; F tests all coefficients but the intercept at once.
    AIC = -2 ln L + 2k and BIC = -2 ln L + k ln n, with k the number of coefficients (as statsmodels has
    it; R counts σ as one more) and L the Gaussian likelihood at its maximum.
    """

    names: tuple[str, ...]
    estimates: Floats
    errors: Floats
    t: Floats
    p: Floats
    low: Floats
    high: Floats
    n: float
    df: float
    sigma: float  # the residual standard deviation
    r2: float
    adjusted_r2: float
    F: float
    F_df: tuple[float, float]
    F_p: float
    aic: float
    bic: float
    level: float
    cov: Covariance
    note: str = ""

    @property
    def _columns(self) -> table.Columns:
        headings = ("estimate", "std. error", "t", "p", *table.interval(self.level))
        values = (self.estimates, self.errors, self.t, self.p, self.low, self.high)
        return dict(zip(headings, values, strict=True))

    def to_frame(self) -> Any:
        """The coefficients as a pandas frame."""
        return table.frame(self.names, self._columns)

    def _parts(self) -> list[Part]:
        above = f"{self.n:g} rows, {self.df:.4g} degrees of freedom left; {self.cov} errors"
        of_all = (
            f"R² {self.r2:.5f}, adjusted {self.adjusted_r2:.5f}; "
            f"residual standard deviation {self.sigma:.6g}",
            f"F({self.F_df[0]:.4g}, {self.F_df[1]:.4g}) = {self.F:.6g}, p {self.F_p:.3g}; "
            f"AIC {self.aic:.2f}, BIC {self.bic:.2f}",
        )
        below = [self.note] if self.note else []
        return [above, table.cells(self.names, self._columns), *of_all, *below]


def summarise(
    fit: Fit, names: tuple[str, ...], *, cov: Covariance, rows: Source | None, level: float
) -> Summary:
    """The summary of a fit; `rows` are needed for errors other than the classical."""
    V = covariance(fit, cov, rows)
    errors = np.sqrt(np.diagonal(V))
    df, n, first, s2 = fit.df, fit.n, int(fit.intercept), fit.rss * fit.per_df
    with np.errstate(divide="ignore", invalid="ignore"):  # a perfect fit, or nothing to test with
        t = fit.b / errors
        half = stdtrit(df, (1 + level) / 2) * errors
        left = np.float64(fit.rss) / fit.tss
        tested = fit.used - first
        explained = (
            (fit.tss - fit.rss) / np.float64(s2)
            if cov == "classical"
            else table.wald(fit.b[first:], V[first:, first:])
        )
        F = explained / np.float64(tested)
        deviance = n * (np.log(2 * np.pi * fit.rss / n) + 1)  # -2 ln L
        return Summary(
            names=names,
            estimates=fit.b,
            errors=errors,
            t=t,
            p=2 * stdtr(df, -np.abs(t)),
            low=fit.b - half,
            high=fit.b + half,
            n=n,
            df=df,
            sigma=float(np.sqrt(s2)),
            r2=float(1 - left),
            adjusted_r2=float(1 - (n - first) * fit.per_df * left),
            F=float(F),
            F_df=(tested, df),
            F_p=float(fdtrc(tested, df, F)),
            aic=float(deviance + 2 * fit.used),
            bic=float(deviance + np.log(n) * fit.used),
            level=level,
            cov=cov,
            note=PENALISED if fit.alpha > 0 else "",
        )


PENALISED = (
    "Approximate: a penalty draws the estimates towards 0, and these errors leave that bias out; "
    "degrees of freedom are the trace of the hat matrix."
)
