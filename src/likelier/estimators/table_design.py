"""Models that take mixed tables: the design matrix that the table of a fit became."""

from typing import Any

from likelier.data.design import Design
from likelier.estimators.design_matrix import DesignMatrix
from likelier.states.design_survey import DesignSettings


def fitted_design(estimator: Any) -> DesignMatrix:
    """The design matrix that the table of `fit` became; only if it became one."""
    design: Design | None = vars(estimator).get("_design")
    if design is None:
        raise AttributeError(f"{type(estimator).__name__!r} object has no attribute 'design_'")
    return DesignMatrix._of(design, estimator._design_settings())


def dense_settings(_: Any) -> DesignSettings:
    """How tables become design matrices for covariances: dense, of full rank, missing numbers kept."""
    return DesignSettings(drop="first", missing="keep", sparse=False)
