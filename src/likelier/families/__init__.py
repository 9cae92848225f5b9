"""Families of densities: statistics to parameters, parameters to scores, samples, marginals."""

from likelier.families.base import Conditioned, Family, Params, Range, Support, refuse_outside
from likelier.families.beta import Beta, Betas
from likelier.families.covaried import Full, FullGaussian, Tied, TiedGaussian
from likelier.families.dirichlet import Dirichlet, Dirichlets
from likelier.families.discriminants import Discriminants, by_eigen, by_least_squares, by_svd
from likelier.families.gamma import Gamma, Gammas
from likelier.families.gaussian import LOG_2PI, Diagonal, DiagonalGaussian
from likelier.families.independent import Independent
from likelier.families.missing import Completed, completed
from likelier.families.mixed import Group, Mixed, MixedFamily

__all__ = [
    "LOG_2PI",
    "Beta",
    "Betas",
    "Completed",
    "Conditioned",
    "Diagonal",
    "DiagonalGaussian",
    "Dirichlet",
    "Dirichlets",
    "Discriminants",
    "Family",
    "Full",
    "FullGaussian",
    "Gamma",
    "Gammas",
    "Group",
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
