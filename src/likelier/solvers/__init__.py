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
from likelier.solvers.cg import cg
from likelier.solvers.gradient import gradient, subgradient
from likelier.solvers.lbfgs import lbfgs
from likelier.solvers.metrics import DiagonalMetric, FullMetric
from likelier.solvers.newton import newton, solved
from likelier.solvers.newton_cg import newton_cg
from likelier.solvers.pocket import pocket
from likelier.solvers.proximal import proximal
from likelier.solvers.scaling import Halved, iterative_scaling
from likelier.solvers.smoothing import smoothing

__all__ = [
    "DiagonalMetric",
    "FullMetric",
    "Halved",
    "Iterate",
    "Metric",
    "Oracle",
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
