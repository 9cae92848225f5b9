"""Inference: standard errors, tests, intervals, and whether a solution exists."""

from likelier.inference.information import Information
from likelier.inference.least_squares import (
    Covariance,
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
from likelier.inference.sparse_ridge import conjugate

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
