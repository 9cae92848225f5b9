"""Least squares, plain and with a penalty."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from likelier.estimators.least_squares import LeastSquares, Lines
from likelier.inference import Solution, bounded, penalised, solve
from likelier.states import Equations

Floats = NDArray[np.float64]


class LinearRegression(LeastSquares):
    """Ordinary least squares: the b that minimises Σ w (y - b₀ - b·x)² (Legendre 1805; Gauss 1809).

    Drop-in for scikit-learn's, with `partial_fit`, `merge` and `summary`. Solved by orthogonal reflections
    of the rows, whatever their number, never by way of XᵀX; where the columns depend on each other, the
    shortest solution, and a warning that names them. Directions of X, its columns brought to length 1, of
    at most `tol` times the largest count as none (in scikit-learn: of X in its own units). `copy_X` and
    `n_jobs` are accepted and have nothing to do: X is never changed, all cores are used.

    Examples
    --------
    >>> from likelier import LinearRegression
    >>> height = [[1.47], [1.60], [1.73], [1.83]]
    >>> model = LinearRegression().fit(height, [52.2, 58.5, 66.2, 74.4])
    >>> model.predict([[1.70]]).round(2)
    array([65.42])
    >>> print(model.summary())
    4 rows, 2 degrees of freedom left; classical errors
               estimate  std. error     t       p     2.5 %    97.5 %
    intercept  -38.2887     8.15486  -4.7  0.0425  -73.3763  -3.20116
    x0          61.0037     4.90361  12.4  0.0064   39.9052   82.1023
    R² 0.98724, adjusted 0.98086; residual standard deviation 1.32919
    F(1, 2) = 154.768, p 0.0064; AIC 14.86, BIC 13.63
    """

    assumes = "linear; errors of one variance"

    def __init__(
        self,
        *,
        fit_intercept: bool = True,
        copy_X: bool = True,
        tol: float = 1e-6,
        n_jobs: int | None = None,
        positive: bool = False,
    ) -> None:
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.tol = tol
        self.n_jobs = n_jobs
        self.positive = positive

    def _solve(self, equations: Equations) -> Solution:
        return bounded(equations) if self.positive else solve(equations, self._cut())

    def _cut(self) -> float:
        if not self.tol >= 0:
            raise ValueError(f"tol={self.tol!r}: it must not be negative")
        return float(self.tol)

    def _shown(self, model: Lines, statistics: Any, target: tuple[int, ...]) -> dict[str, Any]:
        flat = target == ()
        shown: dict[str, Any] = {"coef_": model.B[0] if flat else model.B, "intercept_": 0.0}
        shown["n_features_in_"] = model.B.shape[1]
        if self.fit_intercept:
            shown["intercept_"] = model.intercept[0] if flat else model.intercept
        if not self.positive:
            shown["rank_"] = model.solution.rank
        if not self.positive and statistics is not None:
            R = statistics.equations(centred=bool(self.fit_intercept)).R
            shown["singular_"] = np.linalg.svd(R, compute_uv=False)
        return shown


SOLVERS = ("auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs")


class Ridge(LeastSquares):
    """Least squares with a penalty: the b that minimises Σ w (y - b₀ - b·x)² + α|b|² (Hoerl &
    Kennard 1970).

    Drop-in for scikit-learn's, with `partial_fit`, `merge` and `summary`; `alpha` may be one per target.
    The intercept is never penalised. Whatever `solver` is asked for, the solution is the exact one, from
    the triangle of the rows with √α I below it; `max_iter`, `tol`, `random_state` and `copy_X` are accepted
    and have nothing to do.

    Examples
    --------
    >>> from likelier import Ridge
    >>> Ridge(alpha=1.0).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0]).coef_.round(3)
    array([0.667])
    """

    assumes = "linear; errors of one variance; small coefficients"

    def __init__(
        self,
        alpha: Any = 1.0,
        *,
        fit_intercept: bool = True,
        copy_X: bool = True,
        max_iter: int | None = None,
        tol: float = 1e-4,
        solver: Literal["auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs"] = "auto",
        positive: bool = False,
        random_state: Any = None,
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.solver = solver
        self.positive = positive
        self.random_state = random_state

    def _alphas(self, q: int) -> Floats:
        """One penalty for each target; the hyper-parameters are checked here."""
        if self.solver not in SOLVERS:
            raise ValueError(f"solver={self.solver!r}: it is one of {', '.join(SOLVERS)}")
        alpha = np.asarray(self.alpha, dtype=np.float64)
        if alpha.ndim > 1 or (alpha.ndim == 1 and alpha.size not in (1, q)):
            raise ValueError(
                f"Number of targets and number of penalties do not correspond: {alpha.size} != {q}. "
                "alpha is a number, or one for each target."
            )
        if not (np.isfinite(alpha) & (alpha >= 0)).all():
            raise ValueError(f"alpha={self.alpha!r}: it must be finite and not negative")
        return np.broadcast_to(alpha, q)

    def _alpha(self, target: int) -> float:
        return float(self._alphas(len(self._model.B))[target])

    def _solve(self, equations: Equations) -> Solution:
        solver = bounded if self.positive else solve
        alphas = self._alphas(equations.r.shape[1])
        b = np.empty_like(equations.r)
        found = []
        for alpha in np.unique(alphas):
            at = np.flatnonzero(alphas == alpha)
            some = equations.take(at)
            found.append(solver(penalised(some, alpha) if alpha > 0 else some))
            b[:, at] = found[-1].b
        return min(found, key=lambda one: one.rank)._replace(b=b)

    def _shown(self, model: Lines, statistics: Any, target: tuple[int, ...]) -> dict[str, Any]:
        # A single column of y leaves flat coefficients but not a flat intercept: so in scikit-learn.
        shown: dict[str, Any] = {"coef_": model.B[0] if len(model.B) == 1 else model.B, "intercept_": 0.0}
        if self.fit_intercept:
            shown["intercept_"] = model.intercept[0] if target == () else model.intercept
        steps = np.ones(len(model.B), dtype=np.int64)  # direct: one for each target
        # The names of scikit-learn's solvers are repeated as they were asked for.
        solver = "qr" if self.solver == "auto" else self.solver
        return shown | {"n_features_in_": model.B.shape[1], "n_iter_": steps, "solver_": solver}
