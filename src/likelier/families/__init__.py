"""Families of densities: statistics to parameters, parameters to scores, samples, marginals."""

from likelier.families.base import Conditioned, Family, Params, Range, Support, refuse_outside
from likelier.families.covaried import Full, FullGaussian, Tied, TiedGaussian
from likelier.families.discriminants import Discriminants, by_eigen, by_least_squares, by_svd
from likelier.families.gaussian import LOG_2PI, Diagonal, DiagonalGaussian
from likelier.families.independent import Independent
from likelier.families.missing import Completed, completed
from likelier.families.mixed import Group, Mixed, MixedFamily
from likelier.families.mixture import Mixture
from likelier.families.ridged import SHAPES, CovarianceType, ridged, variances_exceed

__all__ = [
    "LOG_2PI",
    "SHAPES",
    "Completed",
    "Conditioned",
    "CovarianceType",
    "Diagonal",
    "DiagonalGaussian",
    "Discriminants",
    "Family",
    "Full",
    "FullGaussian",
    "Group",
    "Independent",
    "Mixed",
    "MixedFamily",
    "Mixture",
    "Params",
    "Range",
    "Support",
    "Tied",
    "TiedGaussian",
    "by_eigen",
    "by_least_squares",
    "by_svd",
    "completed",
    "refuse_outside",
    "ridged",
    "variances_exceed",
]
