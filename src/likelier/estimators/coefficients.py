"""Checks of `cov`, `groups` and `level`, which all estimators with standard errors share."""

from typing import Any

from likelier.inference.least_squares import COVARIANCES


def check_errors(cov: str, groups: Any, level: float) -> None:
    """Raise if the errors that are asked for do not exist."""
    if cov not in COVARIANCES:
        raise ValueError(f"cov must be one of {', '.join(map(repr, COVARIANCES))}; got {cov!r}.")
    if (cov == "cluster") != (groups is not None):
        raise ValueError(
            "cov='cluster' requires groups=, the cluster of each row, and groups= requires cov='cluster'."
        )
    if not 0 < level < 1:
        raise ValueError(f"level must be a number between 0 and 1; got {level!r}.")


def table_terms(model: Any) -> dict[str, list[int]] | None:
    """The columns of the design matrix, if there is one, by the column or the term that they encode."""
    design = vars(model).get("_design")
    return None if design is None else design.by_name
