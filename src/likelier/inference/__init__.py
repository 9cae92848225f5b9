"""What fits say beyond their coefficients: errors, tests, intervals, and whether there is a solution."""

from likelier.inference.conjugate import conjugate
from likelier.inference.information import Information
from likelier.inference.least_squares import (
    Solution,
    Summary,
    bounded,
    penalised,
    ridge,
    singular_values,
    solve,
    summarise,
    target_fit,
)
from likelier.inference.likelihood import LikelihoodSummary
from likelier.inference.separation import Separation, separation_of
from likelier.inference.table import Covariance

__all__ = [
    "Covariance",
    "Information",
    "LikelihoodSummary",
    "Separation",
    "Solution",
    "Summary",
    "bounded",
    "conjugate",
    "penalised",
    "ridge",
    "separation_of",
    "singular_values",
    "solve",
    "summarise",
    "target_fit",
]
