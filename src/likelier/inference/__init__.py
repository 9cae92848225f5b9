"""What fits say beyond their coefficients: errors, tests, intervals, and whether there is a solution."""

from likelier.inference.least_squares import (
    Covariance,
    Solution,
    Summary,
    bounded,
    penalised,
    solve,
    summarise,
    target_fit,
)
from likelier.inference.likelihood import Information, LikelihoodSummary
from likelier.inference.separation import Separation, separation_of

__all__ = [
    "Covariance",
    "Information",
    "LikelihoodSummary",
    "Separation",
    "Solution",
    "Summary",
    "bounded",
    "penalised",
    "separation_of",
    "solve",
    "summarise",
    "target_fit",
]
