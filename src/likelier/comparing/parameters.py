"""How many numbers a fit has found."""

from typing import Any

import numpy as np


def parameters(model: Any) -> int | None:
    """The numbers that a fitted model answers by, those that are free; None: it does not say.

    Of linear models all weights and intercepts that are not 0; of densities their parameters and the
    priors; a symmetric matrix counts once.
    """
    inner = getattr(model, "parameters_", None)
    if inner is not None:
        return int(inner)
    if hasattr(model, "coef_") and not hasattr(model, "covariance_"):
        coef, intercept = np.asarray(model.coef_), np.asarray(getattr(model, "intercept_", 0.0))
        return int(np.count_nonzero(coef) + np.count_nonzero(intercept))
    return None
