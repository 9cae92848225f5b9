"""Standard errors, tests and intervals of least-squares coefficients, and the table that shows them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, NamedTuple, Self, get_args

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpocon as pocon
from scipy.linalg.lapack import dpotrf as potrf
from scipy.linalg.lapack import dpotrs as potrs
from scipy.linalg.lapack import dtrcon as trcon
from scipy.special import fdtrc, stdtr, stdtrit

from likelier import _core, optional
from likelier.array_types import Floats, row_weights
from likelier.data import Block, Chunk, Dense, Source
from likelier.display import Displayable, Part, Table
from likelier.engines import run
from likelier.inference.clusters import Clusters, ClusterSums
from likelier.states import Equations
from likelier.states.least_squares import lengths
from likelier.threads import one_thread_if

# Coefficients as a table: what every summary prints.

Covariance = Literal["classical", "HC0", "HC1", "HC2", "HC3", "cluster"]
COVARIANCES = get_args(Covariance)
Columns = Mapping[str, Floats]  # by heading

TESTS = ("t", "z", "p", "LR p")  # of which three digits are enough


def interval(level: float) -> tuple[str, str]:
    """The headings of both ends."""
    tail = 50 * (1 - level)
    return f"{tail:g} %", f"{100 - tail:g} %"


def frame(names: Sequence[Any], columns: Columns) -> Any:
    """As a pandas frame."""
    pd = optional.pandas()

    return pd.DataFrame(dict(columns), index=list(names))


def cells(names: Sequence[str], columns: Columns) -> Table:
    """As they are shown: a row of headings, and one for each coefficient."""
    shown = [
        [f"{v:.3g}" if heading in TESTS else f"{v:.6g}" for v in values]
        for heading, values in columns.items()
    ]
    return Table([("", *columns), *zip(names, *shown, strict=True)])


def kind_of_errors(cov: Covariance, clusters: int) -> str:
    """How a summary names its standard errors."""
    return f"errors of {clusters} clusters" if cov == "cluster" else f"{cov} errors"


def wald(b: Floats, V: Floats) -> float:
    """bᵀ V⁺ b (Wald 1943), the columns first brought to one unit, on which it does not depend."""
    unit = np.sqrt(np.diagonal(V))
    unit = np.where(unit > 0, unit, 1.0)
    C = V / np.outer(unit, unit)
    if not np.isfinite(C).all():
        return np.nan
    return float((b / unit) @ np.linalg.pinv(C, hermitian=True) @ (b / unit))


def joint(b: Floats, V: Floats, tested: float, clusters: int) -> float:
    """Wald's statistic of all b, which fewer clusters than these do not determine."""
    return np.nan if 0 < clusters <= tested else wald(b, V)


# What a regression says beyond its coefficients: their errors, tests and intervals.


EPS = float(np.finfo(np.float64).eps)
WELL = 1e-10  # of a Gram matrix: 1 / its condition number, from which on refinement gives all digits
SMALL = 3e8  # operations: fewer are done before the threads of BLAS are awake


# ---- solving -------------------------------------------------------------------------------------
class Solution(NamedTuple):
    """b minimises |r - R b|², and is the shortest that does."""

    b: Floats  # (p, q), in the units of the rows
    rank: int
    # (0 or 1, p): of columns brought to unit length, the part that lies in what the rows do not determine
    free: Floats
    how: str = "qr"  # qr, cholesky (refined), svd, cg
    steps: int = 1


def solve(equations: Equations, tol: float = 0.0) -> Solution:
    """By back substitution; where the rank is deficient, the shortest of all solutions.

    The rank is that of R D⁻¹ = U S Vᵀ, whose columns have length 1: it does not depend on their units. A
    direction v is free if |R D⁻¹ v| is at most `tol` of the largest, or no more than rounding makes of 0:
    of the reflections, and of the numbers x themselves, which doubles hold to half a unit of their last
    place, however far from 0 they are.
    """
    R, r = equations.R, equations.r
    m, p = R.shape
    if m < p and tol == 0 and (b := _of_rows(equations, 0.0)) is not None:
        # The rank is m, or the Gram matrix would not have been so well conditioned.
        open_ = _open_columns(R)
        return Solution(b, m, open_[None], "cholesky")
    length = lengths(R)
    D = np.where(length > 0, length, 1.0)
    steps = 16 + np.sqrt(equations.rows) / 4
    size = equations.size / D
    if m == p and _surely_whole(R / D, EPS * (steps + np.sqrt(p) * size.max(initial=0.0) / 2), tol):
        return Solution(equations.in_units(solve_triangular(R, r)), p, np.zeros((0, p)))
    U, s, Vt = np.linalg.svd(R / D, full_matrices=False)
    rounding = EPS * (steps + np.abs(Vt) @ size / 2)
    kept = s > np.maximum(rounding, tol * s.max(initial=0.0))
    if kept.all() and m == p:
        return Solution(equations.in_units(solve_triangular(R, r)), p, np.zeros((0, p)))
    c = (U[:, kept].T @ r) / s[kept][:, None]
    free = np.sqrt(np.maximum(0, 1 - (Vt[kept] ** 2).sum(axis=0)))
    return Solution(_shortest(equations, Vt[kept], D, c), int(kept.sum()), free[None], "svd")


def _surely_whole(R: Floats, rounding: float, tol: float) -> bool:
    """Whether no singular value of a triangle with columns of length 1 can be as small as that.

    By an estimate of |R⁻¹|, p² steps, with a factor of 10 in hand for its being an estimate.
    """
    p = len(R)
    if not np.diagonal(R).all():
        return False
    inverse, info = trcon(R, norm="1")
    least = inverse * np.abs(R).sum(axis=0).max() / np.sqrt(p) / 10
    return bool(info == 0 and least > max(rounding, tol * np.sqrt(p)))


def _shortest(equations: Equations, Vt: Floats, D: Floats, c: Floats) -> Floats:
    """The shortest b, in the units of the rows, with Vᵀ D b = c: D V = Q T, b = Q T⁻ᵀ c.

    Lengths are compared in the units of the rows, which a power of 2 for all columns does not change.
    """
    p, k = equations.p, len(Vt)
    if k == 0:
        return np.zeros((p, c.shape[1]))
    power = equations.power
    most = int(power[:p].max())
    with np.errstate(under="ignore"):
        M = np.ldexp(D, power[:p] - most)[:, None] * Vt.T
    Q, T = np.linalg.qr(M)
    b = Q @ solve_triangular(T, c, trans="T")
    b[~equations.R.any(axis=0)] = 0.0  # constant columns, exactly
    return equations._replace(power=np.append(np.full(p, most), power[p:])).in_units(b)


def _open_columns(R: Floats) -> Floats:
    """Of n < p rows of full rank: every column that is not constant is open."""
    return np.asarray((R != 0).any(axis=0), dtype=np.float64)


def _of_rows(equations: Equations, alpha: float) -> Floats | None:
    """b = Rᵀ c with (R Rᵀ + α I) c = r, for fewer rows than columns; None where it would cost digits.

    The Gram matrix of the rows squares the condition number, and steps of refinement, each with residuals
    of the rows themselves, undo that (Björck 1987 on corrected seminormal equations), as long as the
    square is far from 1/ε.
    """
    equations, lam = _common_units(equations, alpha)
    R, r = equations.R, equations.r
    m = len(R)
    with one_thread_if(m * m * R.shape[1] < SMALL):
        K = R @ R.T
        K.flat[:: m + 1] += lam
        diagonal = np.diagonal(K)
        if m == 0 or not (diagonal > 0).all():
            return None
        S = 1 / np.sqrt(diagonal)
        K *= S
        K *= S[:, None]
        norm = np.abs(K).sum(axis=0).max()
        L, info = potrf(K, lower=True, overwrite_a=True, clean=False)
        if info != 0 or pocon(L, norm, uplo="L")[0] < WELL:
            return None
        b, c = np.zeros((R.shape[1], r.shape[1])), np.zeros_like(r)
        for _ in range(3):
            step = S[:, None] * potrs(L, S[:, None] * (r - R @ b - lam * c), lower=True)[0]
            b, c = b + R.T @ step, c + step
    return equations.in_units(b)


def _common_units(equations: Equations, alpha: float) -> tuple[Equations, float]:
    """The same with all columns divided by one power of 2, as lengths of b are compared in; and α."""
    p, power = equations.p, equations.power
    most, root = int(power[:p].max()), int(np.frexp(np.sqrt(alpha))[1])
    if alpha > 0 and root - most > 300:  # columns that are nothing beside the penalty
        most = root
    R = equations.R
    with np.errstate(under="ignore"):
        if (power[:p] != most).any():
            R = np.ldexp(R, power[:p] - most)
        lam = float(np.ldexp(alpha, -2 * most))
    return equations._replace(R=R, power=np.append(np.full(p, most), power[p:])), lam


def singular_values(equations: Equations) -> Floats:
    """Of the weighted rows, centred or not, largest first."""
    equations, _ = _common_units(equations, 0.0)
    R = equations.R
    with one_thread_if(R.size * min(R.shape) < SMALL):
        return np.asarray(np.ldexp(np.linalg.svd(R, compute_uv=False), equations.power[0]))


def ridge(equations: Equations, alpha: float) -> Solution:
    """With α|b|² added."""
    m, p = equations.R.shape
    none = np.zeros((0, p))
    if m >= p:
        return solve(penalised(equations, alpha))
    if (b := _of_rows(equations, alpha)) is not None:
        return Solution(b, p, none, "cholesky")
    alike, lam = _common_units(equations, alpha)
    U, s, Vt = np.linalg.svd(alike.R, full_matrices=False)
    if m == 0 or not lam > (EPS * s[0]) ** 2:  # beside such rows the penalty is nothing
        return solve(equations)
    b = Vt.T @ ((s / (s**2 + lam))[:, None] * (U.T @ alike.r))
    return Solution(alike.in_units(b), p, none, "svd")


def bounded(equations: Equations) -> Solution:
    """The same with no b below 0 (Lawson & Hanson 1974): rows or their triangle, the problem is one."""
    from scipy.optimize import nnls  # slow to load, and seldom wanted

    m, p = equations.R.shape
    if m == 0:  # one row, centred: nnls would return memory as it found it
        b = np.zeros((p, equations.r.shape[1]))
    else:
        b = np.column_stack([nnls(equations.R, r)[0] for r in equations.r.T])
    return Solution(equations.in_units(b), len(b), np.zeros((0, len(b))), "nnls")


def penalised(equations: Equations, alpha: float) -> Equations:
    """With α|b|² added: √α I below R, folded in (Golub 1965)."""
    (m, p), q = equations.R.shape, equations.r.shape[1]
    power, root = equations.power[:p], np.sqrt(alpha)
    extra = np.frexp(root)[1] - power
    extra = np.where(extra > 300, extra, 0)  # columns that are nothing beside the penalty
    R = np.zeros((p + q, p + q))
    with np.errstate(under="ignore"):
        above, below = np.ldexp(equations.R, -extra), np.ldexp(root, -power - extra)
    if m == p:  # the core's reflections are of rows whose diagonal is not negative
        turned = np.where(np.diagonal(above) < 0, -1.0, 1.0)[:, None]
        R[:p, :p], R[:p, p:] = turned * above, turned * equations.r
    else:
        _core.fold_factor(Dense(np.hstack([above, equations.r])).native(), R)
    _core.fold_factor(Dense(np.hstack([np.diag(below), np.zeros((p, q))])).native(), R)
    rest = equations.rest + (R[p:, p:] ** 2).sum(axis=0)
    size = np.hypot(np.ldexp(equations.size, -extra), below)
    power = np.append(power + extra, equations.power[p:])
    return equations._replace(R=R[:p, :p], r=R[:p, p:], rest=rest, size=size, power=power)


# ---- one target ----------------------------------------------------------------------------------
@dataclass(frozen=True)
class Fit:
    """One target of a fit: estimates b (the intercept first, if there is one) and all that they rest on.

    With rows in orthonormal coordinates u, y = Σ u_k r_k + noise, and b = A r: its covariance is σ² A Aᵀ.
    Sums of squares are in units of 4^power.
    """

    b: Floats  # (m,)
    A: Floats  # (m, k)
    rss: float  # sum of squares left
    tss: float  # and of the target: about its mean if there is an intercept
    n: float
    used: float  # degrees of freedom: the rank and the intercept; with a penalty, fewer
    intercept: bool
    alpha: float
    shift: Floats  # (p + 1,) a row, and the means less that row
    gap: Floats  # (p + 1,)
    target: int
    power: int  # of 2: the target's unit

    @property
    def df(self) -> float:
        return self.n - self.used

    @property
    def per_df(self) -> float:
        """1 / df; NaN where none is left, and with it every error."""
        return 1 / self.df if self.df > 0 else np.nan


def target_fit(equations: Equations, target: int, *, intercept: bool, alpha: float, tol: float) -> Fit:
    """The fit of one target, with what its errors need."""
    e = equations.take(np.array([target]))
    m, p = e.R.shape
    power, unit = e.power[:p], int(e.power[p])
    # The inverse G that takes r to b comes out as the solutions for the columns of I.
    all_of = e._replace(
        r=np.hstack([e.r, np.eye(m)]),
        rest=np.zeros(1 + m),
        power=np.concatenate([power, [unit], np.zeros(m, dtype=np.int64)]),
    )
    solution = ridge(all_of, alpha) if alpha > 0 else solve(all_of, tol)
    b, G = solution.b[:, 0], solution.b[:, 1:]
    with np.errstate(under="ignore"):
        left = e.r[:, 0] - e.R @ np.ldexp(b, power - unit)
        hat = float(np.einsum("ij,ji->", e.R, np.ldexp(G, power[:, None]))) if alpha > 0 else 0.0
    rss = float(e.rest[0] + (left**2).sum())
    tss = float(e.rest[0] + (e.r**2).sum())
    used = hat if alpha > 0 else float(solution.rank)
    if intercept:
        mean, centre = e.mean[:p], e.mean[p]
        A = np.zeros((1 + p, 1 + m))
        A[0, 0], A[0, 1:], A[1:, 1:] = 1 / np.sqrt(e.n), -mean @ G, G
        b, G, used = np.append(centre - mean @ b, b), A, used + 1
    return Fit(b, G, rss, tss, e.n, used, intercept, alpha, e.shift, e.gap, target, unit)


def coordinates(fit: Fit, X: Block) -> Floats:
    """Rows in the orthonormal coordinates u of a fit: the variance of a prediction is σ² |u|²."""
    if not fit.intercept:
        return np.asarray(X.to_array() @ fit.A)
    rows = (X.to_array() - fit.shift[:-1]) - fit.gap[:-1]
    return np.column_stack([np.full(len(rows), 1 / np.sqrt(fit.n)), rows @ fit.A[1:, 1:]])


def residuals(fit: Fit, chunk: Chunk) -> Floats:
    """y less its prediction, of rows with known targets."""
    assert chunk.y is not None
    y = chunk.y[:, fit.target] if chunk.y.ndim == 2 else chunk.y
    if not fit.intercept:
        return np.asarray(y - chunk.X.to_array() @ fit.b)
    X = (chunk.X.to_array() - fit.shift[:-1]) - fit.gap[:-1]
    return np.asarray(((y - fit.shift[-1]) - fit.gap[-1]) - X @ fit.b[1:])


def refuse_other_rows(fit: Fit, n: float, rss: float) -> None:
    """Raise if rows leave other residuals than those of the fit."""
    before, tss = np.ldexp([fit.rss, fit.tss], 2 * fit.power)
    if not np.isclose(n, fit.n) or abs(rss - before) > 1e-6 * before + 1e-12 * tss:
        raise ValueError(
            "X and y (and sample_weight) are not the rows that were fitted: they leave other residuals."
        )


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
        fit, w = self.fit, row_weights(chunk.w, chunk.X.shape[0])
        U, e = coordinates(fit, chunk.X), residuals(fit, chunk)
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

    def merge(self, other: Self) -> None:
        self.n, self.rss, self.M = self.n + other.n, self.rss + other.rss, self.M + other.M


def errors_of(fit: Fit) -> Floats:
    """The classical standard errors, σ times the lengths of the rows of A."""
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(np.ldexp(np.sqrt(fit.rss * fit.per_df) * lengths(fit.A.T), fit.power))


@dataclass
class ClusterResiduals(ClusterSums):
    """Σ w e u of each cluster: their products are the meat where rows of a cluster depend on each other."""

    fit: Fit
    rss: float = 0.0

    @classmethod
    def start(cls, fit: Fit, clusters: Clusters) -> Self:
        return cls(clusters, np.zeros((clusters.count, fit.A.shape[1])), np.zeros(clusters.count), fit)

    def update(self, chunk: Chunk) -> None:
        w, e = row_weights(chunk.w, chunk.X.shape[0]), residuals(self.fit, chunk)
        self.rss += float(w @ e**2)
        self.add(chunk, (w * e)[:, None] * coordinates(self.fit, chunk.X))

    def merge(self, other: Self) -> None:
        super().merge(other)
        self.rss += other.rss


class RobustCovariance(NamedTuple):
    """The covariance of the estimates whatever the errors are, A M Aᵀ, and the degrees of freedom of t."""

    V: Floats
    df: float
    clusters: int = 0


def covariance(fit: Fit, kind: Covariance, rows: Source, clusters: Clusters | None) -> RobustCovariance:
    """Where errors differ from row to row, or depend on each other within clusters; from the rows again."""
    if kind == "cluster":
        assert clusters is not None
        found = run(rows, partial(ClusterResiduals.start, fit, clusters))
        refuse_other_rows(fit, float(found.n.sum()), found.rss)
        factor, G = found.correction(fit.n, fit.used)
        half = fit.A @ found.sums.T
        return RobustCovariance(factor * (half @ half.T), G - 1.0, G)
    power = {"HC0": 0, "HC1": 0, "HC2": 1, "HC3": 2}[kind]
    s = run(rows, lambda: Sandwich(fit, power))
    refuse_other_rows(fit, s.n, s.rss)
    return RobustCovariance(
        np.asarray((fit.n * fit.per_df if kind == "HC1" else 1.0) * (fit.A @ s.M @ fit.A.T)), fit.df
    )


# ---- the table -----------------------------------------------------------------------------------
@dataclass(frozen=True)
class Summary(Displayable):
    """The result of `summary()` of least squares: coefficients and statistics of the fit.

    t = estimate / error on `df` degrees of freedom; F tests all coefficients but the intercept at once.
    AIC = -2 ln L + 2k and BIC = -2 ln L + k ln n, with k the number of coefficients (as statsmodels has
    it; R counts σ as one more) and L the Gaussian likelihood at its maximum.

    Attributes
    ----------
    names : tuple of str
        The names of the coefficients.
    estimates : ndarray
        The coefficients.
    errors : ndarray
        Their standard errors.
    t : ndarray
        The t statistics.
    p : ndarray
        Their two-sided p-values.
    low : ndarray
        The lower ends of the confidence intervals.
    high : ndarray
        The upper ends of the confidence intervals.
    n : float
        The number of rows, or their total weight.
    df : float
        The residual degrees of freedom.
    sigma : float
        The residual standard deviation.
    r2 : float
        The coefficient of determination R².
    adjusted_r2 : float
        R², adjusted for the number of coefficients.
    F : float
        The F statistic of all coefficients but the intercept.
    F_df : tuple of float
        Its degrees of freedom.
    F_p : float
        Its p-value.
    aic : float
        Akaike's information criterion.
    bic : float
        The Bayesian information criterion.
    level : float
        The confidence level of the intervals.
    cov : {"classical", "HC0", "HC1", "HC2", "HC3", "cluster"}
        The estimator of the covariance of the coefficients.
    note : str
        Remarks on the fit.
    clusters : int
        The number G of clusters, with `cov="cluster"`. t and F then have G - 1 degrees of freedom.

    Examples
    --------
    >>> import likelier as lk
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> found = lk.LinearRegression().fit(X, y).summary()
    >>> round(found.adjusted_r2, 3)
    0.507
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
    clusters: int = 0

    @property
    def _columns(self) -> Columns:
        headings = ("estimate", "std. error", "t", "p", *interval(self.level))
        values = (self.estimates, self.errors, self.t, self.p, self.low, self.high)
        return dict(zip(headings, values, strict=True))

    def to_frame(self) -> Any:
        """The coefficients as a pandas data frame, one row each.

        Returns
        -------
        pandas.DataFrame
            Estimates, standard errors, t statistics, p-values and confidence intervals.
        """
        return frame(self.names, self._columns)

    def _parts(self) -> list[Part]:
        above = f"{self.n:g} rows, {self.df:.4g} residual degrees of freedom; "
        above += kind_of_errors(self.cov, self.clusters)
        of_all = (
            f"R² {self.r2:.5f}, adjusted {self.adjusted_r2:.5f}; "
            f"residual standard deviation {self.sigma:.6g}",
            f"F({self.F_df[0]:.4g}, {self.F_df[1]:.4g}) = {self.F:.6g}, p {self.F_p:.3g}; "
            f"AIC {self.aic:.2f}, BIC {self.bic:.2f}",
        )
        below = [self.note] if self.note else []
        return [above, cells(self.names, self._columns), *of_all, *below]


def summarise(
    fit: Fit,
    names: tuple[str, ...],
    *,
    cov: Covariance,
    rows: Source | None,
    level: float,
    clusters: Clusters | None = None,
) -> Summary:
    """The summary of a fit; `rows` are needed for errors other than the classical."""
    n, first, s2, tested = fit.n, int(fit.intercept), fit.rss * fit.per_df, fit.used - int(fit.intercept)
    with np.errstate(divide="ignore", invalid="ignore"):  # a perfect fit, or nothing to test with
        left = np.float64(fit.rss) / fit.tss
        if cov == "classical":
            errors, df, groups = errors_of(fit), fit.df, 0
            explained = float((fit.tss - fit.rss) / np.float64(s2))
        else:
            assert rows is not None
            V, df, groups = covariance(fit, cov, rows, clusters)
            errors = np.sqrt(np.diagonal(V))
            explained = joint(fit.b[first:], V[first:, first:], tested, groups)
        t = fit.b / errors
        half = stdtrit(df, (1 + level) / 2) * errors
        F = explained / np.float64(tested)
        deviance = n * (np.log(2 * np.pi * fit.rss / n) + 2 * fit.power * np.log(2) + 1)  # -2 ln L
        return Summary(
            names=names,
            estimates=fit.b,
            errors=errors,
            t=t,
            p=2 * stdtr(df, -np.abs(t)),
            low=fit.b - half,
            high=fit.b + half,
            n=n,
            df=fit.df,
            sigma=float(np.ldexp(np.sqrt(s2), fit.power)),
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
            clusters=groups,
        )


PENALISED = (
    "Approximate: a penalty draws the estimates towards 0, and these errors leave that bias out; "
    "degrees of freedom are the trace of the hat matrix."
)
