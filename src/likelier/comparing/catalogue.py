"""The models that a table is compared on: what each is given, and what it takes for granted."""

from dataclasses import dataclass
from typing import Any, Literal

from sklearn.dummy import DummyClassifier, DummyRegressor

from likelier.comparing import preparing
from likelier.comparing.preparing import Diet
from likelier.estimators.categorical import CategoricalNB
from likelier.estimators.counts import BernoulliNB, ComplementNB, MultinomialNB, PoissonNB
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
    """What is known of a model before any row is seen: the columns of the decks' comparison."""

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


IN_CLASS = "in each class"
NO = "no"
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
    linear, quadratic, any_form = "linear", "quadratic", "any form"
    share = "p(C | x), log odds linear in x"
    return [
        Entrant(
            "NaiveBayes",
            NaiveBayes(),
            preparing.table,
            Nature("generative", "a family for each column", IN_CLASS, "as the families"),
            most_columns=WIDEST,
        ),
        Entrant(
            "GaussianNB",
            GaussianNB(),
            preparing.numbers,
            Nature("generative", "Gaussian columns", IN_CLASS, quadratic),
        ),
        Entrant(
            "BernoulliNB",
            BernoulliNB(),
            preparing.truths,
            Nature("generative", "columns true or false", IN_CLASS, linear),
        ),
        Entrant(
            "CategoricalNB",
            CategoricalNB(),
            preparing.bins,
            Nature("generative", "categories; numbers in tenths", IN_CLASS, "linear in indicators"),
        ),
        Entrant(
            "MultinomialNB",
            MultinomialNB(),
            preparing.counts,
            Nature("generative", "counts, given their sum", IN_CLASS, linear),
        ),
        Entrant(
            "ComplementNB",
            ComplementNB(),
            preparing.counts,
            Nature("generative", "counts of all other classes", IN_CLASS, linear),
        ),
        Entrant(
            "PoissonNB",
            PoissonNB(),
            preparing.counts,
            Nature("generative", "Poisson counts", IN_CLASS, linear),
        ),
        Entrant(
            "LDA",
            LinearDiscriminantAnalysis(),
            preparing.numbers_and_indicators,
            Nature("generative", "Gaussian classes, one covariance", NO, linear),
            most_columns=WIDEST,
            most_gappy=GAPPY,
        ),
        Entrant(
            "LDA, shrunk",
            LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
            preparing.numbers_and_indicators,
            Nature("generative", "Gaussian classes, one shrunk covariance", NO, linear),
            most_columns=WIDEST,
            most_gappy=GAPPY,
        ),
        Entrant(
            "QDA",
            QuadraticDiscriminantAnalysis(),
            preparing.numbers,
            Nature("generative", "Gaussian classes, a covariance each", NO, quadratic),
            most_columns=WIDEST,
            most_gappy=GAPPY,
        ),
        Entrant(
            "QDA, shrunk",
            QuadraticDiscriminantAnalysis(solver="eigen", shrinkage="auto"),
            preparing.numbers,
            Nature("generative", "Gaussian classes, shrunk covariances", NO, quadratic),
            most_columns=WIDEST,
            most_gappy=GAPPY,
        ),
        Entrant(
            "MDA",
            MixtureDiscriminantAnalysis(random_state=0),
            preparing.numbers,
            Nature("generative", "a mixture of Gaussians for each class", NO, any_form),
            most_columns=WIDEST,
            most_gappy=GAPPY,
        ),
        Entrant(
            "KernelDensity",
            KernelDensityClassifier(),
            preparing.numbers,
            Nature("generative", "a kernel about every row", "within a kernel", any_form),
            most_columns=WIDEST,
            most_cells=KERNELS,
        ),
        Entrant(
            "LogisticRegression",
            LogisticRegression(),
            preparing.design,
            Nature("discriminative", share, NO, linear),
        ),
        Entrant(
            "LinearSVC",
            LinearSVC(),
            preparing.design,
            Nature("discriminative", "no distribution: a margin", NO, linear),
        ),
        Entrant(
            "Perceptron",
            Perceptron(weights="average", random_state=0),
            preparing.design,
            Nature("discriminative", "no distribution: mistakes", NO, linear),
            online=True,
        ),
        Entrant(
            "SGDClassifier",
            SGDClassifier(loss="log_loss", random_state=0),
            preparing.design,
            Nature("discriminative", share, NO, linear),
            online=True,
        ),
        Entrant(
            "OnlineClassifier",
            OnlineClassifier(passes=5),
            preparing.table_or_words,
            Nature("discriminative", share, NO, linear),
            online=True,
        ),
    ]


def regressions() -> list[Entrant]:
    """All that suit a target of numbers."""
    nature = Nature("regression", "errors of one variance", NO, "linear")
    small = Nature("regression", "errors of one variance, small weights", NO, "linear")
    return [
        Entrant("LinearRegression", LinearRegression(), preparing.contrasts, nature),
        Entrant("Ridge", Ridge(), preparing.design, small),
    ]


def on_request() -> list[Entrant]:
    """Those that take part where they are named."""
    nature = Nature("discriminative", "p(C | x), log odds linear in x", NO, "linear")
    return [Entrant("LogisticRegressionCV", LogisticRegressionCV(), preparing.design, nature)]
