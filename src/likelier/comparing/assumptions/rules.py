"""What the models of the catalogue assume, and what is looked at for each."""

from likelier.comparing.assumptions.verdicts import (
    Look,
    even,
    gaussian,
    gaussian_errors,
    independent,
    independent_counts,
    independent_numbers,
    jointly_gaussian,
    linear,
    mixed_gaussians,
    multinomial,
    no_indicators,
    one_covariance,
    parted,
    poisson,
    rows_for_covariances,
    rows_for_density,
    says_nothing,
    smooth,
    straight,
    tells_nothing,
)

_LOG_ODDS = "that the log odds of classes are linear in the columns; of their distribution nothing"
_PLANE = "that a plane parts the classes well; of their distribution nothing"
_LINE = "that the target is linear in the columns, with errors of one variance, Gaussian for its intervals"

RULES: dict[str, tuple[str, tuple[Look, ...]]] = {
    "NaiveBayes": (
        "that columns are independent within each class; which distribution each has, the data choose",
        (independent,),
    ),
    "GaussianNB": (
        "that every column is Gaussian in each class, and independent of the others there",
        (gaussian, independent_numbers),
    ),
    "BernoulliNB": ("that columns, made true or false, are independent within each class", (independent,)),
    "CategoricalNB": (
        "that columns, numbers cut into tenths, are independent within each class",
        (independent,),
    ),
    "MultinomialNB": (
        "that the counts of a row are independent draws, by the shares of its class",
        (multinomial,),
    ),
    "ComplementNB": (
        "that the counts of a row are independent draws, by shares that all other classes have in common",
        (multinomial,),
    ),
    "PoissonNB": (
        "that counts are Poisson in each class, their variance being their mean, and independent",
        (poisson, independent_counts),
    ),
    "LDA": (
        "that each class is Gaussian, all of them with one covariance",
        (jointly_gaussian, one_covariance, no_indicators),
    ),
    "LDA, shrunk": (
        "that each class is Gaussian, all of them with one covariance, which few rows may tell of",
        (jointly_gaussian, one_covariance, no_indicators),
    ),
    "QDA": (
        "that each class is Gaussian with a covariance of its own, and has the rows to tell it",
        (jointly_gaussian, rows_for_covariances),
    ),
    "QDA, shrunk": (
        "that each class is Gaussian with a covariance of its own, which few rows may tell of",
        (jointly_gaussian,),
    ),
    "MDA": ("that each class is a mixture of a few Gaussians", (mixed_gaussians,)),
    "KernelDensity": (
        "that densities are smooth, and rows dense enough to show them",
        (smooth, rows_for_density),
    ),
    "LogisticRegression": (_LOG_ODDS, (linear,)),
    "LinearSVC": (_PLANE, (parted,)),
    "Perceptron": (_PLANE, (parted,)),
    "SGDClassifier": (_LOG_ODDS, (linear,)),
    "OnlineClassifier": (_LOG_ODDS, (linear,)),
    "LinearRegression": (_LINE, (straight, even, gaussian_errors)),
    "Ridge": (f"{_LINE}, and that slopes are small", (straight, even, gaussian_errors)),
    "(majority class)": ("that columns say nothing of the class", (says_nothing,)),
    "(mean)": ("that columns say nothing of the target", (tells_nothing,)),
}
