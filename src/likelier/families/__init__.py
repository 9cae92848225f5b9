"""Families of densities: statistics to parameters, parameters to scores, samples, marginals."""

from likelier.families.base import Conditioned, Family, Params, Range, Support, refuse_outside
from likelier.families.covaried import Full, FullGaussian, Tied, TiedGaussian
from likelier.families.discriminants import Discriminants, by_eigen, by_least_squares, by_svd
from likelier.families.gaussian import LOG_2PI, Diagonal, DiagonalGaussian
from likelier.families.independent import Independent
from likelier.families.kernel import Kernel, ProductKernel
from likelier.families.kernels import Kernels
from likelier.families.missing import Completed, completed
from likelier.families.mixed import Group, Mixed, MixedFamily

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
    "Group",
    "Independent",
    "Kernel",
    "Kernels",
    "Mixed",
    "MixedFamily",
    "Params",
    "ProductKernel",
    "Range",
    "Support",
    "Tied",
    "TiedGaussian",
    "by_eigen",
    "by_least_squares",
    "by_svd",
    "completed",
    "refuse_outside",
]
