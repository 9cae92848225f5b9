"""Models that take mixed tables: what is learned of a table, and the design matrix that it becomes."""

from typing import Any

from likelier.data.design import Design
from likelier.estimators.design_matrix import DesignMatrix
from likelier.states.design_survey import DesignSettings


def fitted_design(estimator: Any) -> DesignMatrix:
    """The design matrix that the table of a fit became; only if it became one."""
    design: Design | None = vars(estimator).get("_design")
    if design is None:
        raise AttributeError(f"{type(estimator).__name__!r} object has no attribute 'design_'")
    return DesignMatrix._of(design, estimator._design_settings())


class TakesTables:
    """Estimators that turn a table of numbers, categories and dates into a design matrix by themselves."""

    encode: bool

    def _design_settings(self) -> DesignSettings:
        """How columns become those of the design matrix."""
        return DesignSettings()

    @property
    def design_(self) -> DesignMatrix:
        """The design matrix that the table of `fit` became; only if it became one."""
        return fitted_design(self)


GAUSSIAN = DesignSettings(drop="first", missing="keep", sparse=False)  # of covariances


class TakesTablesWithGaps(TakesTables):
    """The same for models with covariances, which integrate missing numbers out by themselves."""

    def _design_settings(self) -> DesignSettings:
        return GAUSSIAN
