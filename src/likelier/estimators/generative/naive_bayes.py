"""Naive Bayes for one kind of column: GaussianNB, and models of counts and booleans."""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from likelier import links
from likelier.array_types import Floats
from likelier.estimators import validation
from likelier.estimators.common import Contributions
from likelier.estimators.generative.base import AffineScores, Generative, Scaling, seen_only
from likelier.estimators.one_pass import Names
from likelier.estimators.sources import by_block
from likelier.families import (
    Bernoulli,
    Bernoullis,
    Complement,
    Diagonal,
    DiagonalGaussian,
    Family,
    Multinomial,
    Multinomials,
    Poisson,
    Poissons,
)
from likelier.model import Bayes, Unweighed, log_of

# Naive Bayes for counts and truths.

LEAST_ALPHA = 1e-10  # unless force_alpha


def lifted(estimator: Any) -> Iterator[str]:
    """What there is to say of an alpha that is raised."""
    if not estimator.force_alpha and np.min(estimator.alpha) < LEAST_ALPHA:
        yield (
            f"alpha too small will result in numeric errors, setting alpha = {LEAST_ALPHA:.1e}. Use "
            "`force_alpha=True` to keep alpha unchanged."
        )


def smoothing(alpha: Any) -> float | Floats:
    """alpha, a number from 0 on or an array of them, one for each column."""
    if np.ndim(alpha) == 0:
        return validation.number("alpha", alpha, 0.0)
    given = np.asarray(alpha, dtype=np.float64)
    if given.ndim != 1 or not np.isfinite(given).all():
        raise ValueError(f"alpha must be a number, or a list of finite numbers; got shape {given.shape}")
    if (given < 0).any():
        j = int(np.argmax(given < 0))
        raise ValueError(f"All values in alpha must be greater than 0. alpha[{j}] is {given[j]}.")
    return given


class Smoothed(AffineScores):
    """Parameters out of sums, to which alpha is added: what scikit-learn's count models share."""

    alpha: Any
    force_alpha: bool
    fit_prior: bool
    class_prior: Any

    @abstractmethod
    def _smoothed(self, alpha: float | Floats) -> Family:
        """The family, with this alpha."""

    def _family(self, K: int) -> Family:
        for name in ("force_alpha", "fit_prior"):
            validation.truth(name, getattr(self, name))
        alpha = smoothing(self.alpha)
        return self._smoothed(alpha if self.force_alpha else np.maximum(alpha, LEAST_ALPHA))

    def _log_prior(self, n: Floats) -> Floats:
        if self.class_prior is not None:
            return log_of(validation.priors_of(self.class_prior, len(n), strict=False))
        return log_of(n / n.sum()) if self.fit_prior else np.full(len(n), -np.log(len(n)))

    def _model_of(self, statistics: Any) -> Bayes:
        K, p = statistics.total.shape
        if np.ndim(self.alpha) == 1 and len(self.alpha) != p:
            raise ValueError(
                "When alpha is an array, it should contains `n_features`. "
                f"Got {len(self.alpha)} elements instead of {p}."
            )
        return Bayes(self._family(K).estimate(statistics), self._log_prior(statistics.n))

    def _shown(self, model: Bayes, statistics: Any | None, target: NDArray[Any]) -> dict[str, Any]:
        shown = super()._shown(model, statistics, target)
        shown |= {"feature_log_prob_": self._log_prob(model), "class_log_prior_": model.log_prior}
        if statistics is not None:
            shown |= {"class_count_": statistics.n.copy(), "feature_count_": statistics.total.copy()}
        return shown

    @abstractmethod
    def _log_prob(self, model: Any) -> Floats:
        """What scikit-learn shows as feature_log_prob_."""

    def _settings(self) -> Iterator[str]:
        yield from lifted(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags


class Counts(Smoothed):
    """Rows of counts, none of them negative."""

    @property
    def decision_function(self) -> Callable[[Any], Floats]:
        """Scores of the classes, (n, K); of two classes a_1 - a_0, (n,).

        There only once fitted: scikit-learn's check of such functions hands negative numbers to whatever
        model has one.
        """
        validation.fitted(self)
        return super().decision_function

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags


class BernoulliNB(Smoothed):
    """Bernoulli naive Bayes: a_k(x) = ln p(C_k) + Σ_j x_j ln p_kj + (1 - x_j) ln(1 - p_kj).

    Drop-in for scikit-learn's. Columns are truths: x_j > binarize; binarize=None: they are 0 or 1, and
    anything else is refused. The scores are affine in them: `coef_` is ln p/(1 - p), and `to_linear()`
    predicts the same of rows of 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> from likelier import BernoulliNB
    >>> X, y = np.array([[1, 0], [1, 1], [0, 1], [0, 1]]), np.array([0, 0, 1, 1])
    >>> BernoulliNB().fit(X, y).predict_proba([[1, 0], [np.nan, 1]]).round(3)
    array([[0.857, 0.143],
           [0.4  , 0.6  ]])
    """

    assumes = "generative; columns that are true or false, independent in each class; linear boundary"

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        binarize: float | None = 0.0,
        fit_prior: bool = True,
        class_prior: Any = None,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.binarize = binarize
        self.fit_prior = fit_prior
        self.class_prior = class_prior

    def _smoothed(self, alpha: float | Floats) -> Bernoulli:
        threshold = None if self.binarize is None else validation.number("binarize", self.binarize, 0.0)
        return Bernoulli(alpha, threshold)

    def _log_prob(self, model: Any) -> Floats:
        assert isinstance(model.params, Bernoullis)
        return model.params.log_yes


class MultinomialNB(Counts):
    """Multinomial naive Bayes: a_k(x) = ln p(C_k) + Σ_j x_j ln θ_kj, x_j how often word j is in the text.

    Drop-in for scikit-learn's. A row is N draws, N = Σ_j x_j being given; `score_samples` is the exact
    ln p(x | N), number of orders included; `predict_joint_log_proba` leaves that out, as scikit-learn does.

    Examples
    --------
    >>> import numpy as np
    >>> from likelier import MultinomialNB
    >>> X, y = np.array([[3, 0, 1], [2, 1, 0], [0, 2, 2], [0, 3, 1]]), np.array([0, 0, 1, 1])
    >>> MultinomialNB().fit(X, y).predict_proba([[1, 0, 0], [0, 2, 0]]).round(3)
    array([[0.868, 0.132],
           [0.119, 0.881]])
    """

    assumes = "generative; a row is draws of words, the chances those of its class; linear boundary"

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: Any = None,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior

    def _smoothed(self, alpha: float | Floats) -> Family:
        return Multinomial(alpha)

    @by_block
    def predict_joint_log_proba(self, X: Any) -> Floats:
        """Σ_j x_j ln θ_kj + ln p(C_k), (n, K): ln p(x, C_k) but for the number of orders of the draws."""
        return self._ask(X, "posterior", links.identity)

    def _log_prob(self, model: Any) -> Floats:
        assert isinstance(model.params, Multinomials)
        return model.params.log_theta


class NoDensity:
    """In place of a method: there is none, and `hasattr` says so."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type) -> NoReturn:
        raise AttributeError(f"{owner.__name__} has weights, and no density: it has no {self.name!r}")


class ComplementNB(Counts):
    """Complement naive Bayes: a_k(x) = -Σ_j x_j ln θ̃_kj, θ̃_k from the words of all other classes.

    Drop-in for scikit-learn's (Rennie, Shih, Teevan and Karger 2003). No density and no priors: what needs
    these, from `sample` to `score_samples`, it has not. A missing cell adds nothing to any class.

    Examples
    --------
    >>> import numpy as np
    >>> from likelier import ComplementNB
    >>> X, y = np.array([[3, 0, 1], [2, 1, 0], [0, 2, 2], [0, 3, 1]]), np.array([0, 0, 1, 1])
    >>> ComplementNB().fit(X, y).predict([[1, 0, 0], [0, 2, 0]])
    array([0, 1])
    """

    assumes = "words of all other classes tell against a class; linear boundary"

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: Any = None,
        norm: bool = False,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.norm = norm

    score_samples: Any = NoDensity()
    sample: Any = NoDensity()
    impute: Any = NoDensity()
    marginal: Any = NoDensity()
    condition: Any = NoDensity()
    adapt_priors: Any = NoDensity()
    is_outlier: Any = NoDensity()

    @by_block
    def predict(self, X: Any) -> NDArray[Any]:  # type: ignore[override]
        """The class of the largest score."""
        codes = self._ask(X, "posterior", links.argmax)
        return np.asarray(self._target[codes])

    @by_block
    def predict_proba(self, X: Any) -> Floats:  # type: ignore[override]
        """The softmax of the scores, (n, K): an order of the classes, and no more."""
        return self._ask(X, "posterior", links.softmax)

    @by_block
    def predict_log_proba(self, X: Any) -> Floats:  # type: ignore[override]
        """Its logarithm."""
        return self._ask(X, "posterior", links.log_softmax)

    def _smoothed(self, alpha: float | Floats) -> Complement:
        return Complement(alpha, validation.truth("norm", self.norm))

    def _model_of(self, statistics: Any) -> Bayes:
        found = super()._model_of(statistics)
        return Unweighed(found.params, found.log_prior)

    def _offset(self, model: Bayes) -> Floats:
        return np.zeros(len(model.log_prior))

    def _log_prob(self, model: Any) -> Floats:
        weights: Floats = model.params.W
        return weights

    def _shown(self, model: Bayes, statistics: Any | None, target: NDArray[Any]) -> dict[str, Any]:
        shown = super()._shown(model, statistics, target)
        if statistics is not None:
            shown["feature_all_"] = statistics.total.sum(axis=0)
        return shown


class PoissonNB(AffineScores):
    """Poisson naive Bayes: a_k(x) = ln p(C_k) + Σ_j x_j ln λ_kj - λ_kj - ln x_j!.

    Columns are counts of their own, independent in each class. A rate is (Σx + α m) / (n + α), m the mean
    of all classes: alpha is a number of rows (or one for each column) that are like those of all classes.

    Examples
    --------
    >>> import numpy as np
    >>> from likelier import PoissonNB
    >>> X, y = np.array([[3, 0], [2, 1], [0, 2], [1, 5]]), np.array([0, 0, 1, 1])
    >>> PoissonNB().fit(X, y).predict_proba([[2, 0], [0, 3]]).round(2)
    array([[0.93, 0.07],
           [0.06, 0.94]])
    """

    assumes = "generative; Poisson counts, independent in each class; linear boundary"

    def __init__(self, *, alpha: Any = 1.0, priors: Any = None) -> None:
        self.alpha = alpha
        self.priors = priors

    def _family(self, K: int) -> Poisson:
        return Poisson(smoothing(self.alpha))

    def _model_of(self, statistics: Any) -> Bayes:
        K, p = statistics.total.shape
        if np.ndim(self.alpha) == 1 and len(self.alpha) != p:
            raise ValueError(f"alpha lists {len(self.alpha)} numbers for {p} columns")
        if self.priors is None:
            prior = statistics.n / statistics.n.sum()
        else:
            prior = seen_only(validation.priors_of(self.priors, K), statistics.n)
        return Bayes(self._family(K).estimate(statistics), log_of(prior))

    def _shown(self, model: Bayes, statistics: Any | None, target: NDArray[Any]) -> dict[str, Any]:
        assert isinstance(model.params, Poissons)
        shown = super()._shown(model, statistics, target)
        shown |= {"rate_": model.params.rate, "class_prior_": model.prior}
        if statistics is not None:
            shown["class_count_"] = statistics.n.copy()
        return shown

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.classifier_tags.poor_score = True
        return tags


# Naive Bayes: columns independent given the class.


class GaussianNB(Generative):
    """Gaussian naive Bayes: a_k(x) = ln p(C_k) + Σ_j ln N(x_j; m_kj, v_kj).

    Drop-in for scikit-learn's, with sparse input, merging, sampling and conditional questions. To every
    variance is added `epsilon_`, `var_smoothing` times the largest column variance of all rows so far:
    one fit and many `partial_fit`s agree.

    Examples
    --------
    >>> from likelier import GaussianNB
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GaussianNB().fit(X, y)
    >>> model.predict(X[[0, 70]])
    array([0, 2])
    >>> model.condition({2: 5.0}).predict_proba([[5.8, 3.0, 1.8]]).round(2)
    array([[0.  , 0.11, 0.89]])
    """

    assumes = "generative; Gaussian columns, independent in each class; quadratic boundary"
    _single_shown = frozenset({"class_count_", "class_prior_", "epsilon_", "theta_", "var_"})
    _single_answers = frozenset({"predict_proba", "predict_log_proba", "predict_joint_log_proba"})

    def __init__(self, *, priors: Any = None, var_smoothing: float = 1e-9) -> None:
        self.priors = priors
        self.var_smoothing = var_smoothing

    def _family(self, K: int) -> DiagonalGaussian:
        return DiagonalGaussian(validation.number("var_smoothing", self.var_smoothing, 0.0))

    def _scaling(self) -> Scaling:
        return "together" if self.var_smoothing else "column"

    def _model_of(self, statistics: Any) -> Bayes:
        K = len(statistics.n)
        if self.priors is None:
            prior = statistics.n / statistics.n.sum()
        else:
            prior = seen_only(validation.priors_of(self.priors, K), statistics.n)
        return Bayes(self._family(K).estimate(statistics), log_of(prior))

    def _shown(self, model: Bayes, statistics: Any | None, target: NDArray[Any]) -> dict[str, Any]:
        params = model.params
        assert isinstance(params, Diagonal)
        shown = super()._shown(model, statistics, target)
        theta, var = model.outside(params.mean), model.outside(params.var, 2)
        shown |= {"theta_": theta, "var_": var, "class_prior_": model.prior}
        if statistics is not None:
            shown["class_count_"] = statistics.n.copy()
            floor = self._family(len(statistics.n)).floor(statistics)
            # With smoothing, all columns are in one unit.
            shown["epsilon_"] = float(model.outside(np.full(params.shape[1], floor), 2)[0])
        return shown

    def _remarks(self, model: Bayes, statistics: Any, target: NDArray[Any], names: Names) -> Iterator[str]:
        yield from super()._remarks(model, statistics, target, names)
        still = (statistics.S == 0) & (statistics.seen > 0)  # (K, p)
        if still.any():
            k = int(still.any(axis=1).argmax())
            columns = np.flatnonzero(still[k])
            yield (
                f"in class {target[k]}, {len(columns)} of {still.shape[1]} columns do not vary "
                f"({validation.named(names, columns)}): "
                "their variance there is epsilon_, a small share of the "
                "largest. Drop columns that are constant, or raise var_smoothing."
            )

    def contributions(self, X: Any) -> Contributions:
        """ln N(x_j; m_kj, v_kj), (n, K, p), beside ln p(C_k): together they are ln p(x, C_k).

        A missing cell contributes 0.
        """
        validation.fitted(self)
        params = self._model.params
        assert isinstance(params, Diagonal)
        rows = validation.dense_rows(self, X, gaps=True)
        return Contributions.of(self, self._model.parts(rows, params.parts), self._model.log_prior)
