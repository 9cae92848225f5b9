"""Solvers: they see a problem through its `Oracle`, and no data."""

from likelier.solvers.base import (
    Iterate,
    Metric,
    Oracle,
    Solution,
    Solver,
    Watch,
    enough,
    run_solver,
    shorter,
)
from likelier.solvers.newton import newton, solved

__all__ = [
    "Iterate",
    "Metric",
    "Oracle",
    "Solution",
    "Solver",
    "Watch",
    "enough",
    "newton",
    "run_solver",
    "shorter",
    "solved",
]
