"""Covariances of four shapes as scikit-learn shows them, and as users hand them in."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from likelier.families import Diagonal, Full, Tied
from likelier.model import Bayes

Floats = NDArray[np.float64]
Gaussians = Full | Tied | Diagonal

# reg_covar acts where a variance is not this much above it: elsewhere it takes some 1e-6 off ln p(x).
NEAR = 1e3


def no_variance(reg_covar: float) -> str:
    """What is said of a component that has collapsed."""
    return (
        f"a component does not vary in some direction: its variance there is reg_covar={reg_covar:g}, or "
        "as little. It has collapsed onto a few rows, or columns are constant or depend on each other. Use "
        "fewer components, more starts (n_init), another covariance_type, or a larger reg_covar."
    )


def covariances(params: Any, shape: str) -> Floats:
    """(M, p, p), tied (p, p), diag (M, p), spherical (M,)."""
    if isinstance(params, Diagonal):
        return params.var[:, 0].copy() if shape == "spherical" else params.var
    cov: Floats = params.cov
    return cov


def outside(model: Bayes, values: Floats, power: int) -> Floats:
    """Powers of the columns as users count them, where all columns are in one unit."""
    if model.units is None:
        return values
    with np.errstate(over="ignore", under="ignore"):
        return np.ldexp(values, power * int(model.units[0]))


def root_precisions(cov: Floats, shape: str) -> Floats:
    """Upper triangular L⁻ᵀ with Σ = LLᵀ; of variances 1/√v."""
    if shape in ("diag", "spherical"):
        return np.asarray(1 / np.sqrt(cov))
    try:
        each = [
            solve_triangular(np.linalg.cholesky(S), np.eye(len(S)), lower=True).T
            for S in cov.reshape(-1, *cov.shape[-2:])
        ]
    except np.linalg.LinAlgError:
        raise ValueError(
            "Fitting the mixture model failed because some components have ill-defined empirical "
            "covariance (for instance caused by singleton or collapsed samples). Try to decrease the "
            "number of components, increase reg_covar, or scale the input data."
        ) from None
    return np.stack(each).reshape(cov.shape)


def precisions(roots: Floats, shape: str) -> Floats:
    """Σ⁻¹ from its roots."""
    if shape in ("diag", "spherical"):
        return np.asarray(roots**2)
    return np.asarray(roots @ np.swapaxes(roots, -1, -2))


def free_parameters(shape: str, M: int, p: int) -> int:
    """Of covariances, means and weights."""
    cov = {"full": M * p * (p + 1) // 2, "tied": p * (p + 1) // 2, "diag": M * p, "spherical": M}
    return cov[shape] + M * p + M - 1


# ---- in ------------------------------------------------------------------------------------------
def _checked(name: str, given: Any, size: tuple[int, ...]) -> Floats:
    values = np.asarray(given, dtype=np.float64)
    if values.shape != size:
        raise ValueError(f"The parameter '{name}' should have the shape of {size}, but got {values.shape}")
    if not np.isfinite(values).all():
        raise ValueError(f"The parameter '{name}' contains NaN or infinity.")
    return values


def weights_of(given: Any, M: int) -> Floats:
    """Weights of components: not negative, their sum 1."""
    weights = _checked("weights", given, (M,))
    if (weights < 0).any() or (weights > 1).any():
        raise ValueError(
            "The parameter 'weights' should be in the range [0, 1], but got max value "
            f"{weights.max():.5f}, min value {weights.min():.5f}"
        )
    if abs(1 - weights.sum()) > 1e-8:
        raise ValueError(
            f"The parameter 'weights' should be normalized, but got sum(weights) = {weights.sum():.5f}"
        )
    return weights


def means_of(given: Any, M: int, p: int) -> Floats:
    """Means of components."""
    return _checked("means", given, (M, p))


def covariances_of(given: Any, shape: str, M: int, p: int) -> Floats:
    """Covariances from the precisions that a user hands in."""
    sizes = {"full": (M, p, p), "tied": (p, p), "diag": (M, p), "spherical": (M,)}
    values = _checked(f"{shape} precision", given, sizes[shape])
    if shape in ("diag", "spherical"):
        if (values <= 0).any():
            raise ValueError(f"'{shape} precision' should be positive")
        return np.asarray(1 / values)
    for one in values.reshape(-1, p, p):
        if not np.allclose(one, one.T) or not (np.linalg.eigvalsh(one) > 0).all():
            raise ValueError(f"'{shape} precision' should be symmetric, positive-definite")
    inverse = np.linalg.inv(values)
    return np.asarray((inverse + np.swapaxes(inverse, -1, -2)) / 2)


def gaussians(mean: Floats, cov: Floats, shape: str) -> Gaussians:
    """Parameters from means and covariances of a shape."""
    match shape:
        case "full":
            return Full.of(mean, cov)
        case "tied":
            return Tied(mean, cov)
        case "spherical":
            return Diagonal(mean, np.repeat(cov[:, None], mean.shape[1], axis=1))
    return Diagonal(mean, cov)
