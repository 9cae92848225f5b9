"""Least squares, plain and with a penalty."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from likelier.estimators import precision
from likelier.estimators.least_squares import LeastSquares, Lines
from likelier.inference import Solution, bounded, conjugate, penalised, ridge, singular_values, solve
from likelier.states import Equations, Gathered

Floats = NDArray[np.float64]


ROUNDING = 1e-6  # the default of `tol`, scikit-learn's: rounding errors alone decide the rank


class LinearRegression(LeastSquares):
    """Ordinary least squares: the b that minimises Σ w (y - b₀ - b·x)² (Legendre 1805; Gauss 1809).

    Drop-in for scikit-learn's, with `partial_fit`, `merge` and `summary`. Solved by orthogonal reflections
    of the rows, whatever their number, never by way of XᵀX; where the columns depend on each other, the
    shortest solution, and a warning that names them. The rank is that of X with columns of length 1, up to
    rounding errors; with a `tol` other than the default, directions of at most `tol` times the largest
    count as none (in scikit-learn always, and of X in its own units). `copy_X` and `n_jobs` are accepted
    and have nothing to do: X is never changed, all cores are used.

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
        return 0.0 if self.tol == ROUNDING else float(self.tol)

    def _shown(self, model: Lines, statistics: Any, target: tuple[int, ...]) -> dict[str, Any]:
        flat = target == ()
        shown: dict[str, Any] = {"coef_": model.coef(flat=flat), "intercept_": 0.0}
        shown["n_features_in_"] = model.B.shape[1]
        if self.fit_intercept:
            shown["intercept_"] = model.intercept[0] if flat else model.intercept
        if not self.positive:
            shown["rank_"] = model.solution.rank
        return shown

    @property
    def singular_(self) -> Floats:
        """The singular values of X, centred if there is an intercept; worked out when asked for."""
        if self.positive or getattr(self, "_statistics", None) is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute 'singular_'")
        found = singular_values(self._statistics.equations(centred=bool(self.fit_intercept)))
        shown = precision.shown(self._model, {"singular_": found}, self._single_shown)
        return np.asarray(shown["singular_"])


SOLVERS = ("auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs")


class Ridge(LeastSquares):
    """Least squares with a penalty: the b that minimises Σ w (y - b₀ - b·x)² + α|b|² (Hoerl &
    Kennard 1970).

    Drop-in for scikit-learn's, with `partial_fit`, `merge` and `summary`; `alpha` may be one per target.
    The intercept is never penalised. Whatever `solver` is asked for, the solution is the exact one: from
    the triangle of the rows with √α I below it, in the span of the rows where they are fewer than columns,
    and for sparse rows by a sparse Gram matrix or conjugate gradients, to eight digits or more (`solver_`
    says which). `max_iter`, `tol`, `random_state` and `copy_X` are accepted and have nothing to do.

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
        alphas = self._alphas(equations.r.shape[1])
        b = np.empty((equations.p, equations.r.shape[1]))
        found = []
        for alpha in np.unique(alphas):
            at = np.flatnonzero(alphas == alpha)
            found.append(self._solve_one(equations.take(at), float(alpha)))
            b[:, at] = found[-1].b
        return min(found, key=lambda one: one.rank)._replace(b=b)

    def _by_steps(self, statistics: Gathered) -> tuple[Solution, Equations] | None:
        alphas = self._alphas(statistics.q)
        rows = None if self.positive or not statistics.sparse else statistics.rows()
        return None if rows is None else conjugate(rows, alphas, centred=bool(self.fit_intercept))

    def _solve_one(self, equations: Equations, alpha: float) -> Solution:
        if self.positive:
            return bounded(penalised(equations, alpha) if alpha > 0 else equations)
        return ridge(equations, alpha) if alpha > 0 else solve(equations)

    def _shown(self, model: Lines, statistics: Any, target: tuple[int, ...]) -> dict[str, Any]:
        # A single column of y leaves flat coefficients but not a flat intercept: so in scikit-learn.
        shown: dict[str, Any] = {"coef_": model.coef(flat=len(model.B) == 1), "intercept_": 0.0}
        if self.fit_intercept:
            shown["intercept_"] = model.intercept[0] if target == () else model.intercept
        # A solver that was asked for by scikit-learn's name is repeated; else it is the one that the shape
        # of the table called for.
        solution = model.solution
        way = {"cg": "sparse_cg"}.get(solution.how, solution.how)
        steps = np.full(len(model.B), max(1, solution.steps), dtype=np.int64)
        shown |= {"n_iter_": steps, "solver_": way if self.solver == "auto" else self.solver}
        return shown | {"n_features_in_": model.B.shape[1]}
