"""Families of densities: statistics to parameters, parameters to scores, samples, marginals."""

from likelier.families.base import Conditioned, Family, Independent, Params, Range, Support, refuse_outside
from likelier.families.categorical import Categorical, Categories, Histogram, Histograms
from likelier.families.counts import (
    AffineColumns,
    Bernoulli,
    Bernoullis,
    Exponential,
    Exponentials,
    Geometric,
    Geometrics,
    Poisson,
    Poissons,
)
from likelier.families.dirichlet import Dirichlet, Dirichlets
from likelier.families.gamma_beta import Beta, Betas, Gamma, Gammas
from likelier.families.gaussian import (
    LOG_2PI,
    SHAPES,
    CovarianceType,
    Diagonal,
    DiagonalGaussian,
    Full,
    FullGaussian,
    OneCovariance,
    Spanned,
    Tied,
    TiedGaussian,
    ridged,
    variances_exceed,
)
from likelier.families.kernel import Kernel, ProductKernel
from likelier.families.kernel_terms import Kernels
from likelier.families.lda import Discriminants, by_eigen, by_least_squares, by_svd
from likelier.families.missing import Completed, completed
from likelier.families.mixed import Group, Mixed, MixedFamily
from likelier.families.mixture import Mixture
from likelier.families.multinomial import Complement, Complements, Multinomial, Multinomials

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
