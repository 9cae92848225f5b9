"""Classical classifiers and least squares: of all rows at once, in batches or merged, with one result."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

# By its name, for this module belongs to no layer: all of them import it.
_WHERE = {
    **import_module("likelier.estimators.catalogue").public(),
    "AsyncClient": "likelier.service.client",
    "Client": "likelier.service.client",
    "ClippedWarning": "likelier.streams.model",
    "DegenerateWarning": "likelier.data",
    "Pending": "likelier.streams.delayed",
    "SeparationWarning": "likelier.data",
    "SkippedWarning": "likelier.data",
    "average": "likelier.estimators.merge",
    "compare": "likelier.comparison",
    "evaluate": "likelier.estimators.evaluate",
    "fit_spark": "likelier.spark",
    "from_sklearn": "likelier.estimators.from_sklearn",
    "load": "likelier.saving.models",
    "merge": "likelier.estimators.merge",
    "progressive": "likelier.evaluation.progressive",
    "save": "likelier.saving.models",
    "scan": "likelier.data.files.scan",
    "scan_folder": "likelier.data.files.folder",
    "spark_udf": "likelier.spark",
    "to_c": "likelier.estimators.exports",
    "to_python": "likelier.estimators.exports",
    "to_onnx": "likelier.estimators.to_onnx",
}

if TYPE_CHECKING:
    from likelier import plot as plot
    from likelier.comparison import compare as compare
    from likelier.data import DegenerateWarning as DegenerateWarning
    from likelier.data import SeparationWarning as SeparationWarning
    from likelier.data import SkippedWarning as SkippedWarning
    from likelier.data.files.folder import scan_folder as scan_folder
    from likelier.data.files.scan import scan as scan
    from likelier.estimators.design_matrix import DesignMatrix as DesignMatrix
    from likelier.estimators.discriminative.linear_svc import LinearSVC as LinearSVC
    from likelier.estimators.discriminative.logistic import LogisticRegression as LogisticRegression
    from likelier.estimators.discriminative.logistic_cv import LogisticRegressionCV as LogisticRegressionCV
    from likelier.estimators.discriminative.perceptron import Perceptron as Perceptron
    from likelier.estimators.discriminative.sgd import SGDClassifier as SGDClassifier
    from likelier.estimators.evaluate import evaluate as evaluate
    from likelier.estimators.exports import to_c as to_c
    from likelier.estimators.exports import to_python as to_python
    from likelier.estimators.from_sklearn import from_sklearn as from_sklearn
    from likelier.estimators.generative.bayes import BayesClassifier as BayesClassifier
    from likelier.estimators.generative.categorical_nb import CategoricalNB as CategoricalNB
    from likelier.estimators.generative.discriminant import (
        LinearDiscriminantAnalysis as LinearDiscriminantAnalysis,
    )
    from likelier.estimators.generative.discriminant import (
        QuadraticDiscriminantAnalysis as QuadraticDiscriminantAnalysis,
    )
    from likelier.estimators.generative.kernel_density import (
        KernelDensityClassifier as KernelDensityClassifier,
    )
    from likelier.estimators.generative.mixed_nb import NaiveBayes as NaiveBayes
    from likelier.estimators.generative.mixture import GaussianMixture as GaussianMixture
    from likelier.estimators.generative.mixture import Mixture as Mixture
    from likelier.estimators.generative.mixture_discriminant import (
        MixtureDiscriminantAnalysis as MixtureDiscriminantAnalysis,
    )
    from likelier.estimators.generative.naive_bayes import BernoulliNB as BernoulliNB
    from likelier.estimators.generative.naive_bayes import ComplementNB as ComplementNB
    from likelier.estimators.generative.naive_bayes import GaussianNB as GaussianNB
    from likelier.estimators.generative.naive_bayes import MultinomialNB as MultinomialNB
    from likelier.estimators.generative.naive_bayes import PoissonNB as PoissonNB
    from likelier.estimators.linear_regression import LinearRegression as LinearRegression
    from likelier.estimators.linear_regression import Ridge as Ridge
    from likelier.estimators.merge import average as average
    from likelier.estimators.merge import merge as merge
    from likelier.estimators.online.classifier import OnlineClassifier as OnlineClassifier
    from likelier.estimators.text.classifier import TextClassifier as TextClassifier
    from likelier.estimators.text.vectorizers import CountVectorizer as CountVectorizer
    from likelier.estimators.text.vectorizers import HashingVectorizer as HashingVectorizer
    from likelier.estimators.text.vectorizers import TfidfTransformer as TfidfTransformer
    from likelier.estimators.text.vectorizers import TfidfVectorizer as TfidfVectorizer
    from likelier.estimators.to_onnx import to_onnx as to_onnx
    from likelier.evaluation.progressive import progressive as progressive
    from likelier.saving.models import load as load
    from likelier.saving.models import save as save
    from likelier.service.client import AsyncClient as AsyncClient
    from likelier.service.client import Client as Client
    from likelier.spark import fit_spark as fit_spark
    from likelier.spark import spark_udf as spark_udf
    from likelier.streams.delayed import Pending as Pending
    from likelier.streams.model import ClippedWarning as ClippedWarning

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
