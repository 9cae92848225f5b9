"""Solvers: they see a problem through its `Oracle`, and no data."""

from likelier.solvers.base import (
    DiagonalMetric,
    FullMetric,
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
from likelier.solvers.first_order import ScalingOracle, cg, gradient, iterative_scaling, subgradient
from likelier.solvers.hinge import pocket, smoothing
from likelier.solvers.newton import lbfgs, newton, newton_cg, solved
from likelier.solvers.proximal import proximal

__all__ = [
    "DiagonalMetric",
    "FullMetric",
    "Iterate",
    "Metric",
    "Oracle",
    "ScalingOracle",
    "Solution",
    "Solver",
    "Watch",
    "cg",
    "enough",
    "gradient",
    "iterative_scaling",
    "lbfgs",
    "newton",
    "newton_cg",
    "pocket",
    "proximal",
    "run_solver",
    "shorter",
    "smoothing",
    "solved",
    "subgradient",
]
