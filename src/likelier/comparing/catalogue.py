"""The models that a table is compared on: what each is given, and what it takes for granted."""

from dataclasses import dataclass, replace
from typing import Any, Literal

from sklearn.dummy import DummyClassifier, DummyRegressor

from likelier.comparing import preparing
from likelier.comparing.preparing import Diet
from likelier.estimators.categorical import CategoricalNB
from likelier.estimators.counts import BernoulliNB, ComplementNB, MultinomialNB, PoissonNB
from likelier.estimators.deprecated import settled
from likelier.estimators.kernel_density import KernelDensityClassifier
from likelier.estimators.linear_discriminant import LinearDiscriminantAnalysis
from likelier.estimators.logistic import LogisticRegression
from likelier.estimators.logistic_cv import LogisticRegressionCV
from likelier.estimators.margin import LinearSVC
from likelier.estimators.mixed_bayes import NaiveBayes
from likelier.estimators.mixture_discriminant import MixtureDiscriminantAnalysis
from likelier.estimators.naive_bayes import GaussianNB
from likelier.estimators.online import OnlineClassifier
from likelier.estimators.perceptron import Perceptron
from likelier.estimators.quadratic_discriminant import QuadraticDiscriminantAnalysis
from likelier.estimators.regression import LinearRegression, Ridge
from likelier.estimators.sgd_classifier import SGDClassifier


@dataclass(frozen=True)
class Nature:
    """What is known of a model before any row is seen."""

    kind: Literal["generative", "discriminative", "regression", ""] = ""
    models: str = ""  # the distribution, or what of it
    independent: str = ""  # which columns are taken to be independent
    boundary: str = ""


@dataclass(frozen=True)
class Entrant:
    """A model, not fitted; how columns are made ready for it; its nature."""

    name: str
    model: Any
    diet: Diet
    nature: Nature = Nature()
    online: bool = False  # learns row by row: mistakes over time are worth a look
    baseline: bool = False
    most_columns: int | None = None  # beyond which it would take too long
    most_gappy: int | None = None  # the same where numbers are missing
    most_cells: int | None = None  # to learn from, beyond which it gets a sample of the rows


NO = "no"
LINEAR, QUADRATIC, ANY_FORM = "linear", "quadratic", "any form"
SHARE = "p(C | x), log odds linear in x"
WIDEST = 1000  # columns that have covariances, or a choice of families each
GAPPY = 200  # of those that have covariances, where cells are missing: each pattern of gaps inverts them
KERNELS = 400_000  # cells that are kept: each answer is a sum over all of them


def baseline(*, numbers: bool) -> Entrant:
    """The answer that knows y alone."""
    if numbers:
        nature = Nature(models="the mean of the sample")
        return Entrant("(mean)", DummyRegressor(), preparing.nothing, nature, baseline=True)
    nature = Nature(models="each class as often as in the sample")
    model = DummyClassifier(strategy="prior")
    return Entrant("(majority class)", model, preparing.nothing, nature, baseline=True)


def classifiers() -> list[Entrant]:
    """All that suit some table of classes."""
    return [*_independent(), *_covaried(), _kernels(), *_discriminative()]


def _independent() -> list[Entrant]:
    """Naive Bayes: columns are independent in each class."""

    def each(name: str, model: Any, diet: Diet, models: str, boundary: str = LINEAR) -> Entrant:
        return Entrant(name, model, diet, Nature("generative", models, "in each class", boundary))

    chosen = each(
        "NaiveBayes", NaiveBayes(), preparing.table, "a family for each column", "as the families"
    )
    tenths = "categories; numbers in tenths"
    return [
        replace(chosen, most_columns=WIDEST),
        each("GaussianNB", GaussianNB(), preparing.numbers, "Gaussian columns", QUADRATIC),
        each("BernoulliNB", BernoulliNB(), preparing.truths, "columns true or false"),
        each("CategoricalNB", CategoricalNB(), preparing.bins, tenths, "linear in indicators"),
        each("MultinomialNB", MultinomialNB(), preparing.counts, "counts, given their sum"),
        each("ComplementNB", ComplementNB(), preparing.counts, "counts of all other classes"),
        each("PoissonNB", PoissonNB(), preparing.counts, "Poisson counts"),
    ]


def _covaried() -> list[Entrant]:
    """Gaussian classes, and mixtures of them."""

    def each(name: str, model: Any, diet: Diet, models: str, boundary: str) -> Entrant:
        nature = Nature("generative", models, NO, boundary)
        return Entrant(name, model, diet, nature, most_columns=WIDEST, most_gappy=GAPPY)

    LDA, QDA, MDA = LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis, MixtureDiscriminantAnalysis
    less = {"LDA": LDA(solver="lsqr", shrinkage="auto"), "QDA": QDA(solver="eigen", shrinkage="auto")}
    whole, numbers = preparing.numbers_and_indicators, preparing.numbers
    return [
        each("LDA", LDA(), whole, "Gaussian classes, one covariance", LINEAR),
        each("LDA, shrunk", less["LDA"], whole, "Gaussian classes, one shrunk covariance", LINEAR),
        each("QDA", QDA(), numbers, "Gaussian classes, a covariance each", QUADRATIC),
        each("QDA, shrunk", less["QDA"], numbers, "Gaussian classes, shrunk covariances", QUADRATIC),
        each("MDA", MDA(random_state=0), numbers, "a mixture of Gaussians for each class", ANY_FORM),
    ]


def _kernels() -> Entrant:
    nature = Nature("generative", "a kernel about every row", "within a kernel", ANY_FORM)
    model, diet = KernelDensityClassifier(), preparing.numbers
    return Entrant("KernelDensity", model, diet, nature, most_columns=WIDEST, most_cells=KERNELS)


def _discriminative() -> list[Entrant]:
    """A line, found by its loss."""

    def each(name: str, model: Any, diet: Diet, models: str = SHARE, *, online: bool = False) -> Entrant:
        return Entrant(name, model, diet, Nature("discriminative", models, NO, LINEAR), online=online)

    averaged = Perceptron(weights="average", random_state=0)
    steps = SGDClassifier(loss="log_loss", random_state=0)
    by_row = OnlineClassifier(passes=5, random_state=0)
    return [
        each("LogisticRegression", LogisticRegression(), preparing.design),
        each("LinearSVC", LinearSVC(), preparing.design, "no distribution: a margin"),
        each("Perceptron", averaged, preparing.design, "no distribution: mistakes", online=True),
        each("SGDClassifier", steps, preparing.design, online=True),
        each("OnlineClassifier", by_row, preparing.table_or_words, online=True),
    ]


def regressions() -> list[Entrant]:
    """All that suit a target of numbers."""
    nature = Nature("regression", "errors of one variance", NO, LINEAR)
    small = Nature("regression", "errors of one variance, small weights", NO, LINEAR)
    return [
        Entrant("LinearRegression", LinearRegression(), preparing.contrasts, nature),
        Entrant("Ridge", Ridge(), preparing.design, small),
    ]


def on_request() -> list[Entrant]:
    """Those that take part where they are named."""
    nature = Nature("discriminative", SHARE, NO, LINEAR)
    return [Entrant("LogisticRegressionCV", settled(LogisticRegressionCV()), preparing.design, nature)]
