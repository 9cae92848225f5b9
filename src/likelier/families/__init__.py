"""Families of densities: statistics to parameters, parameters to scores, samples, marginals."""

from likelier.families.base import Conditioned, Family, Params
from likelier.families.discriminants import Discriminants, by_eigen, by_least_squares, by_svd
from likelier.families.gaussian import (
    Diagonal,
    DiagonalGaussian,
    Full,
    FullGaussian,
    Tied,
    TiedGaussian,
)

__all__ = [
    "Conditioned",
    "Diagonal",
    "DiagonalGaussian",
    "Discriminants",
    "Family",
    "Full",
    "FullGaussian",
    "Params",
    "Tied",
    "TiedGaussian",
    "by_eigen",
    "by_least_squares",
    "by_svd",
]
