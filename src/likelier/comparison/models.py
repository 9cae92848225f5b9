"""The candidate models of a comparison: what each one is given, and estimators that users add."""

import inspect
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import chain, count
from typing import Any, Literal

from sklearn.base import is_classifier, is_regressor
from sklearn.dummy import DummyClassifier, DummyRegressor

from likelier.comparison import prepare
from likelier.comparison.prepare import Diet, plain
from likelier.estimators.deprecated import settled
from likelier.estimators.discriminative.linear_svc import LinearSVC
from likelier.estimators.discriminative.logistic import LogisticRegression
from likelier.estimators.discriminative.logistic_cv import LogisticRegressionCV
from likelier.estimators.discriminative.perceptron import Perceptron
from likelier.estimators.discriminative.sgd import SGDClassifier
from likelier.estimators.generative.categorical_nb import CategoricalNB
from likelier.estimators.generative.discriminant import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from likelier.estimators.generative.kernel_density import KernelDensityClassifier
from likelier.estimators.generative.mixed_nb import NaiveBayes
from likelier.estimators.generative.mixture_discriminant import MixtureDiscriminantAnalysis
from likelier.estimators.generative.naive_bayes import (
    BernoulliNB,
    ComplementNB,
    GaussianNB,
    MultinomialNB,
    PoissonNB,
)
from likelier.estimators.linear_regression import LinearRegression, Ridge
from likelier.estimators.online.classifier import OnlineClassifier

# The models that a table is compared on: what each is given, and what it takes for granted.


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
        return Entrant("(mean)", DummyRegressor(), prepare.nothing, nature, baseline=True)
    nature = Nature(models="each class as often as in the sample")
    model = DummyClassifier(strategy="prior")
    return Entrant("(majority class)", model, prepare.nothing, nature, baseline=True)


def classifiers() -> list[Entrant]:
    """All that suit some table of classes."""
    return [*_independent(), *_covaried(), _kernels(), *_discriminative()]


def _independent() -> list[Entrant]:
    """Naive Bayes: columns are independent in each class."""

    def each(name: str, model: Any, diet: Diet, models: str, boundary: str = LINEAR) -> Entrant:
        return Entrant(name, model, diet, Nature("generative", models, "in each class", boundary))

    chosen = each("NaiveBayes", NaiveBayes(), prepare.table, "a family for each column", "as the families")
    tenths = "categories; numbers in tenths"
    return [
        replace(chosen, most_columns=WIDEST),
        each("GaussianNB", GaussianNB(), prepare.numbers, "Gaussian columns", QUADRATIC),
        each("BernoulliNB", BernoulliNB(), prepare.truths, "columns true or false"),
        each("CategoricalNB", CategoricalNB(), prepare.bins, tenths, "linear in indicators"),
        each("MultinomialNB", MultinomialNB(), prepare.counts, "counts, given their sum"),
        each("ComplementNB", ComplementNB(), prepare.counts, "counts of all other classes"),
        each("PoissonNB", PoissonNB(), prepare.counts, "Poisson counts"),
    ]


def _covaried() -> list[Entrant]:
    """Gaussian classes, and mixtures of them."""

    def each(name: str, model: Any, diet: Diet, models: str, boundary: str) -> Entrant:
        nature = Nature("generative", models, NO, boundary)
        return Entrant(name, model, diet, nature, most_columns=WIDEST, most_gappy=GAPPY)

    LDA, QDA, MDA = LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis, MixtureDiscriminantAnalysis
    less = {"LDA": LDA(solver="lsqr", shrinkage="auto"), "QDA": QDA(solver="eigen", shrinkage="auto")}
    whole, numbers = prepare.numbers_and_indicators, prepare.numbers
    return [
        each("LDA", LDA(), whole, "Gaussian classes, one covariance", LINEAR),
        each("LDA, shrunk", less["LDA"], whole, "Gaussian classes, one shrunk covariance", LINEAR),
        each("QDA", QDA(), numbers, "Gaussian classes, a covariance each", QUADRATIC),
        each("QDA, shrunk", less["QDA"], numbers, "Gaussian classes, shrunk covariances", QUADRATIC),
        each("MDA", MDA(random_state=0), numbers, "a mixture of Gaussians for each class", ANY_FORM),
    ]


def _kernels() -> Entrant:
    nature = Nature("generative", "a kernel about every row", "within a kernel", ANY_FORM)
    model, diet = KernelDensityClassifier(), prepare.numbers
    return Entrant("KernelDensity", model, diet, nature, most_columns=WIDEST, most_cells=KERNELS)


def _discriminative() -> list[Entrant]:
    """A line, found by its loss."""

    def each(name: str, model: Any, diet: Diet, models: str = SHARE, *, online: bool = False) -> Entrant:
        return Entrant(name, model, diet, Nature("discriminative", models, NO, LINEAR), online=online)

    averaged = Perceptron(weights="average", random_state=0)
    steps = SGDClassifier(loss="log_loss", random_state=0)
    by_row = OnlineClassifier(passes=5, random_state=0)
    return [
        each("LogisticRegression", LogisticRegression(), prepare.design),
        each("LinearSVC", LinearSVC(), prepare.design, "no distribution: a margin"),
        each("Perceptron", averaged, prepare.design, "no distribution: mistakes", online=True),
        each("SGDClassifier", steps, prepare.design, online=True),
        each("OnlineClassifier", by_row, prepare.table_or_words, online=True),
    ]


def regressions() -> list[Entrant]:
    """All that suit a target of numbers."""
    nature = Nature("regression", "errors of one variance", NO, LINEAR)
    small = Nature("regression", "errors of one variance, small weights", NO, LINEAR)
    return [
        Entrant("LinearRegression", LinearRegression(), prepare.contrasts, nature),
        Entrant("Ridge", Ridge(), prepare.design, small),
    ]


def on_request() -> list[Entrant]:
    """Those that take part where they are named."""
    nature = Nature("discriminative", SHARE, NO, LINEAR)
    return [Entrant("LogisticRegressionCV", settled(LogisticRegressionCV()), prepare.design, nature)]


# Who takes part in a comparison: likelier's models by name, and estimators of any kind.

Models = Mapping[str, Any] | Sequence[Any]


def entered(models: Models | None, also: Models, *, numbers: bool) -> list[Entrant]:
    """All that take part beside the baseline; models: None stands for all of likelier's that suit."""
    suited = regressions() if numbers else classifiers()
    first = suited if models is None else _listed(models, suited)
    return _told_apart([*first, *_listed(also, suited)])


def _listed(models: Models, suited: Sequence[Entrant]) -> list[Entrant]:
    if isinstance(models, str):
        models = [models]
    if isinstance(models, Mapping):
        return [_other(name, model) for name, model in models.items()]
    return [_named(m, suited) if isinstance(m, str) else _other(type(m).__name__, m) for m in models]


def _named(name: str, suited: Sequence[Entrant]) -> Entrant:
    """One of likelier's, by its name in the table or that of its class."""
    known = [*suited, *on_request()]
    by = {_bare(type(entrant.model).__name__): entrant for entrant in reversed(known)}
    by |= {_bare(entrant.name): entrant for entrant in known}
    if _bare(name) not in by:
        near = get_close_matches(_bare(name), by, n=1)
        hint = f" Did you mean {by[near[0]].name}?" if near else ""
        raise ValueError(f"models: {name!r} is none of {'; '.join(one.name for one in known)}.{hint}")
    return by[_bare(name)]


def _bare(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _other(name: str, model: Any) -> Entrant:
    """An estimator: one of likelier's gets what is listed; any other numbers, indicators and words."""
    if inspect.isclass(model):
        raise TypeError(f"{name} is a class: hand in an estimator, as in {model.__name__}()")
    if not hasattr(model, "fit") or not (is_classifier(model) or is_regressor(model)):
        raise TypeError(f"{name}: a {type(model).__name__} is no classifier or regression")
    for known in [*classifiers(), *regressions(), *on_request()]:
        if type(known.model) is type(model):
            return replace(known, name=name, model=model)
    return Entrant(name, model, plain, Nature())


def _told_apart(entrants: Iterable[Entrant]) -> list[Entrant]:
    """Each under a name of its own: with the package that it is from, or else numbered."""
    found: dict[str, Entrant] = {}
    for entrant in entrants:
        first = found.get(entrant.name, entrant)
        base = entrant.name
        if _package(first) != _package(entrant):
            base = f"{base} ({_package(entrant)})"
        name = next(name for name in chain([base], (f"{base} {i}" for i in count(2))) if name not in found)
        found[name] = replace(entrant, name=name)
    return list(found.values())


def _package(entrant: Entrant) -> str:
    return type(entrant.model).__module__.partition(".")[0]
