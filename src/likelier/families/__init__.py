"""Families of densities: statistics to parameters, parameters to scores, samples, marginals."""

from likelier.families.base import Conditioned, Family, Params
from likelier.families.covaried import Full, FullGaussian, Tied, TiedGaussian
from likelier.families.discriminants import Discriminants, by_eigen, by_least_squares, by_svd
from likelier.families.gaussian import LOG_2PI, Diagonal, DiagonalGaussian
from likelier.families.missing import Completed, completed

__all__ = [
    "LOG_2PI",
    "Completed",
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
    "completed",
]
