"""Families of densities: statistics to parameters, parameters to scores, samples, marginals."""

from likelier.families.base import Conditioned, Family, Params, Range, Support, refuse_outside
from likelier.families.categorical import Categorical, Categories
from likelier.families.covaried import Full, FullGaussian, Tied, TiedGaussian
from likelier.families.discriminants import Discriminants, by_eigen, by_least_squares, by_svd
from likelier.families.gaussian import LOG_2PI, Diagonal, DiagonalGaussian
from likelier.families.histogram import Histogram, Histograms
from likelier.families.independent import Independent
from likelier.families.missing import Completed, completed
from likelier.families.mixed import Group, Mixed, MixedFamily

__all__ = [
    "LOG_2PI",
    "Categorical",
    "Categories",
    "Completed",
    "Conditioned",
    "Diagonal",
    "DiagonalGaussian",
    "Discriminants",
    "Family",
    "Full",
    "FullGaussian",
    "Group",
    "Histogram",
    "Histograms",
    "Independent",
    "Mixed",
    "MixedFamily",
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
]
