"""The models that a table is compared on: what each is given, and what it takes for granted."""

from dataclasses import dataclass
from typing import Any, Literal

from likelier.comparing import preparing
from likelier.comparing.preparing import Diet
from likelier.estimators.categorical import CategoricalNB
from likelier.estimators.counts import BernoulliNB, ComplementNB, MultinomialNB, PoissonNB
from likelier.estimators.kernel_density import KernelDensityClassifier
from likelier.estimators.linear_discriminant import LinearDiscriminantAnalysis
from likelier.estimators.logistic import LogisticRegression
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


IN_CLASS = "in each class"
NO = "no"


def classifiers() -> list[Entrant]:
    """All that suit some table of classes."""
    linear, quadratic, any_form = "linear", "quadratic", "any form"
    share = "p(C | x), log odds linear in x"
    return [
        Entrant(
            "NaiveBayes",
            NaiveBayes(),
            preparing.table,
            Nature("generative", "a family for each column", IN_CLASS, "as the families have it"),
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
        ),
        Entrant(
            "LDA, shrunk",
            LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
            preparing.numbers_and_indicators,
            Nature("generative", "the same, covariance shrunk", NO, linear),
        ),
        Entrant(
            "QDA",
            QuadraticDiscriminantAnalysis(),
            preparing.numbers,
            Nature("generative", "Gaussian classes, a covariance each", NO, quadratic),
        ),
        Entrant(
            "QDA, shrunk",
            QuadraticDiscriminantAnalysis(solver="eigen", shrinkage="auto"),
            preparing.numbers,
            Nature("generative", "the same, covariances shrunk", NO, quadratic),
        ),
        Entrant(
            "MDA",
            MixtureDiscriminantAnalysis(random_state=0),
            preparing.numbers,
            Nature("generative", "a mixture of Gaussians for each class", NO, any_form),
        ),
        Entrant(
            "KernelDensity",
            KernelDensityClassifier(),
            preparing.numbers,
            Nature("generative", "a kernel about every row", "within a kernel", any_form),
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
            preparing.table,
            Nature("discriminative", share, NO, "linear in columns and categories"),
            online=True,
        ),
    ]


def regressions() -> list[Entrant]:
    """All that suit a target of numbers."""
    nature = Nature("regression", "errors of one variance", NO, "linear")
    small = Nature("regression", "errors of one variance, small weights", NO, "linear")
    return [
        Entrant("LinearRegression", LinearRegression(), preparing.design, nature),
        Entrant("Ridge", Ridge(), preparing.design, small),
    ]
