"""Families of densities: statistics to parameters, parameters to scores, samples, marginals."""

from likelier.families.base import Conditioned, Family, Params, Range, Support, refuse_outside
from likelier.families.bernoulli import Bernoulli, Bernoullis
from likelier.families.beta import Beta, Betas
from likelier.families.categorical import Categorical, Categories
from likelier.families.counts import AffineColumns
from likelier.families.covaried import Full, FullGaussian, OneCovariance, Spanned, Tied, TiedGaussian
from likelier.families.dirichlet import Dirichlet, Dirichlets
from likelier.families.discriminants import Discriminants, by_eigen, by_least_squares, by_svd
from likelier.families.gamma import Gamma, Gammas
from likelier.families.gaussian import LOG_2PI, Diagonal, DiagonalGaussian
from likelier.families.histogram import Histogram, Histograms
from likelier.families.independent import Independent
from likelier.families.kernel import Kernel, ProductKernel
from likelier.families.kernels import Kernels
from likelier.families.missing import Completed, completed
from likelier.families.mixed import Group, Mixed, MixedFamily
from likelier.families.mixture import Mixture
from likelier.families.multinomial import Complement, Complements, Multinomial, Multinomials
from likelier.families.rates import (
    Exponential,
    Exponentials,
    Geometric,
    Geometrics,
    Poisson,
    Poissons,
)
from likelier.families.ridged import SHAPES, CovarianceType, ridged, variances_exceed

__all__ = [
    "LOG_2PI",
    "SHAPES",
    "AffineColumns",
    "Bernoulli",
    "Bernoullis",
    "Beta",
    "Betas",
    "Categorical",
    "Categories",
    "Complement",
    "Complements",
    "Completed",
    "Conditioned",
    "CovarianceType",
    "Diagonal",
    "DiagonalGaussian",
    "Dirichlet",
    "Dirichlets",
    "Discriminants",
    "Exponential",
    "Exponentials",
    "Family",
    "Full",
    "FullGaussian",
    "Gamma",
    "Gammas",
    "Geometric",
    "Geometrics",
    "Group",
    "Histogram",
    "Histograms",
    "Independent",
    "Kernel",
    "Kernels",
    "Mixed",
    "MixedFamily",
    "Mixture",
    "Multinomial",
    "Multinomials",
    "OneCovariance",
    "Params",
    "Poisson",
    "Poissons",
    "ProductKernel",
    "Range",
    "Spanned",
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
