"""Classical classifiers and least squares: rows whole, in batches or fitted apart, with one answer."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

_WHERE = {
    "CategoricalNB": "likelier.estimators.categorical",
    "BernoulliNB": "likelier.estimators.counts",
    "ComplementNB": "likelier.estimators.counts",
    "BayesClassifier": "likelier.estimators.bayes",
    "ClippedWarning": "likelier.streams.model",
    "DegenerateWarning": "likelier.data",
    "GaussianMixture": "likelier.estimators.mixture",
    "GaussianNB": "likelier.estimators.naive_bayes",
    "KernelDensityClassifier": "likelier.estimators.kernel_density",
    "LinearDiscriminantAnalysis": "likelier.estimators.linear_discriminant",
    "LogisticRegression": "likelier.estimators.logistic",
    "LinearSVC": "likelier.estimators.margin",
    "LogisticRegressionCV": "likelier.estimators.logistic_cv",
    "LinearRegression": "likelier.estimators.regression",
    "NaiveBayes": "likelier.estimators.mixed_bayes",
    "MultinomialNB": "likelier.estimators.counts",
    "OnlineClassifier": "likelier.estimators.online",
    "Pending": "likelier.streams.pending",
    "Perceptron": "likelier.estimators.perceptron",
    "PoissonNB": "likelier.estimators.counts",
    "Mixture": "likelier.estimators.mixture",
    "MixtureDiscriminantAnalysis": "likelier.estimators.mixture_discriminant",
    "QuadraticDiscriminantAnalysis": "likelier.estimators.quadratic_discriminant",
    "Ridge": "likelier.estimators.regression",
    "SGDClassifier": "likelier.estimators.sgd_classifier",
    "SeparationWarning": "likelier.data",
    "SkippedWarning": "likelier.data",
    "average": "likelier.estimators.merging",
    "compare": "likelier.comparing",
    "evaluate": "likelier.estimators.evaluating",
    "load": "likelier.saving.models",
    "merge": "likelier.estimators.merging",
    "progressive": "likelier.evaluation.progressive",
    "scan": "likelier.data.files",
    "save": "likelier.saving.models",
}

if TYPE_CHECKING:
    from likelier import plot as plot
    from likelier.comparing import compare as compare
    from likelier.data import DegenerateWarning as DegenerateWarning
    from likelier.data import SeparationWarning as SeparationWarning
    from likelier.data import SkippedWarning as SkippedWarning
    from likelier.data.files import scan as scan
    from likelier.estimators.bayes import BayesClassifier as BayesClassifier
    from likelier.estimators.categorical import CategoricalNB as CategoricalNB
    from likelier.estimators.counts import BernoulliNB as BernoulliNB
    from likelier.estimators.counts import ComplementNB as ComplementNB
    from likelier.estimators.counts import MultinomialNB as MultinomialNB
    from likelier.estimators.counts import PoissonNB as PoissonNB
    from likelier.estimators.evaluating import evaluate as evaluate
    from likelier.estimators.kernel_density import KernelDensityClassifier as KernelDensityClassifier
    from likelier.estimators.linear_discriminant import (
        LinearDiscriminantAnalysis as LinearDiscriminantAnalysis,
    )
    from likelier.estimators.logistic import LogisticRegression as LogisticRegression
    from likelier.estimators.logistic_cv import LogisticRegressionCV as LogisticRegressionCV
    from likelier.estimators.margin import LinearSVC as LinearSVC
    from likelier.estimators.merging import average as average
    from likelier.estimators.merging import merge as merge
    from likelier.estimators.mixed_bayes import NaiveBayes as NaiveBayes
    from likelier.estimators.mixture import GaussianMixture as GaussianMixture
    from likelier.estimators.mixture import Mixture as Mixture
    from likelier.estimators.mixture_discriminant import (
        MixtureDiscriminantAnalysis as MixtureDiscriminantAnalysis,
    )
    from likelier.estimators.naive_bayes import GaussianNB as GaussianNB
    from likelier.estimators.online import OnlineClassifier as OnlineClassifier
    from likelier.estimators.perceptron import Perceptron as Perceptron
    from likelier.estimators.quadratic_discriminant import (
        QuadraticDiscriminantAnalysis as QuadraticDiscriminantAnalysis,
    )
    from likelier.estimators.regression import LinearRegression as LinearRegression
    from likelier.estimators.regression import Ridge as Ridge
    from likelier.estimators.sgd_classifier import SGDClassifier as SGDClassifier
    from likelier.evaluation.progressive import progressive as progressive
    from likelier.saving.models import load as load
    from likelier.saving.models import save as save
    from likelier.streams.model import ClippedWarning as ClippedWarning
    from likelier.streams.pending import Pending as Pending

__all__ = [*_WHERE, "plot"]


def __getattr__(name: str) -> Any:
    # A name is imported when it is first used: `import likelier` itself loads nothing.
    if name in _WHERE:
        value = getattr(import_module(_WHERE[name]), name)
        globals()[name] = value
        return value
    if name == "plot":
        return import_module("likelier.plot")
    if name == "__version__":
        from importlib.metadata import version

        return version("likelier")
    raise AttributeError(f"module 'likelier' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
