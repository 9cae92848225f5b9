"""Fitted estimators as those of scikit-learn that have the same name: `to_sklearn`."""

from collections.abc import Callable, Mapping
from importlib import import_module
from inspect import signature
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likelier.estimators import validation

# The classes that both libraries have, and which attributes make those of scikit-learn fitted.


class Peer(NamedTuple):
    """A class of scikit-learn that has the name of one of likelier's."""

    module: str
    fitted: tuple[str, ...]  # attributes that `fit` always sets
    optional: tuple[str, ...] = ()  # attributes that only some fits set
    words: Mapping[str, tuple[Any, ...]] = {}  # parameters of which it takes these values alone

    def load(self, name: str) -> Any:
        """The class."""
        return getattr(import_module(self.module), name)


_COUNTS = ("classes_", "feature_log_prob_", "class_log_prior_")
_COUNTED = ("class_count_", "feature_count_")
_LINES = ("classes_", "coef_", "intercept_", "n_iter_")
_PATH = ("converged_", "n_iter_", "lower_bound_", "lower_bounds_")
_SOLVERS = ("lbfgs", "liblinear", "newton-cg", "newton-cholesky", "sag", "saga")
_RATES = ("constant", "optimal", "invscaling", "adaptive", "pa1", "pa2")
_LINEAR, _NAIVE, _TEXT = "sklearn.linear_model", "sklearn.naive_bayes", "sklearn.feature_extraction.text"
_DISCRIMINANT = "sklearn.discriminant_analysis"

PEERS: dict[str, Peer] = {
    "GaussianNB": Peer(
        _NAIVE, ("classes_", "theta_", "var_", "class_prior_"), ("class_count_", "epsilon_")
    ),
    "BernoulliNB": Peer(_NAIVE, _COUNTS, _COUNTED),
    "MultinomialNB": Peer(_NAIVE, _COUNTS, _COUNTED),
    "ComplementNB": Peer(_NAIVE, _COUNTS, (*_COUNTED, "feature_all_")),
    "CategoricalNB": Peer(_NAIVE, (*_COUNTS, "n_categories_"), ("class_count_", "category_count_")),
    "LinearDiscriminantAnalysis": Peer(
        _DISCRIMINANT,
        ("classes_", "means_", "priors_", "coef_", "intercept_"),
        ("xbar_", "covariance_", "scalings_", "explained_variance_ratio_", "_n_features_out"),
    ),
    "QuadraticDiscriminantAnalysis": Peer(
        _DISCRIMINANT, ("classes_", "means_", "priors_", "scalings_", "rotations_"), ("covariance_",)
    ),
    "GaussianMixture": Peer(
        "sklearn.mixture",
        ("weights_", "means_", "covariances_", "precisions_", "precisions_cholesky_", *_PATH),
    ),
    "LogisticRegression": Peer(_LINEAR, _LINES, words={"solver": _SOLVERS}),
    "LogisticRegressionCV": Peer(
        _LINEAR,
        (*_LINES, "C_", "l1_ratio_", "Cs_", "scores_", "coefs_paths_"),
        ("l1_ratios_",),
        words={"solver": _SOLVERS},
    ),
    "LinearSVC": Peer("sklearn.svm", _LINES, words={"loss": ("hinge", "squared_hinge")}),
    "Perceptron": Peer(_LINEAR, _LINES, ("t_",)),
    "SGDClassifier": Peer(_LINEAR, _LINES, ("t_",), words={"learning_rate": _RATES}),
    "LinearRegression": Peer(_LINEAR, ("coef_", "intercept_"), ("rank_", "singular_")),
    "Ridge": Peer(_LINEAR, ("coef_", "intercept_"), ("n_iter_", "solver_")),
    "CountVectorizer": Peer(_TEXT, ("vocabulary_", "fixed_vocabulary_")),
    "HashingVectorizer": Peer(_TEXT, ()),
    "TfidfTransformer": Peer(_TEXT, (), ("idf_",)),
    "TfidfVectorizer": Peer(_TEXT, ("vocabulary_", "fixed_vocabulary_")),
}
OF_EVERY = ("n_features_in_", "feature_names_in_")


def to_sklearn(self: Any) -> Any:
    """The fitted model as the estimator of scikit-learn that has the same name.

    Its predictions are the same, and it has the attributes that scikit-learn's own methods read: it can be
    scored, sampled from, searched over and fitted again. Missing values, merging, marginal and conditional
    models stay behind.

    Returns
    -------
    model : estimator of scikit-learn
        A new fitted estimator; nothing is shared with this one. A model of a table with categories becomes
        a pipeline of its `DesignMatrix` and the estimator.

    Raises
    ------
    NotFittedError
        If the model is not fitted.
    TypeError
        If scikit-learn has no such estimator, or none with these settings.

    See Also
    --------
    likelier.from_sklearn : The way back.

    Examples
    --------
    >>> import likelier as lk
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> lk.GaussianNB().fit(X, y).to_sklearn().score(X, y)
    0.96
    """
    name = type(self).__name__
    if name == "LinearClassifier":
        return _of_weights(self)
    _refuse_without_peer(self, name)
    peer = PEERS[name]
    if name != "HashingVectorizer":  # which has nothing to learn
        _check_fitted(self, peer)
    new = peer.load(name)(**_parameters(self, name, peer))
    for each in (*peer.fitted, *peer.optional, *OF_EVERY):
        value = getattr(self, each, None)
        if value is not None:
            setattr(new, each, _own(value))
    if name in _FURTHER:
        _FURTHER[name](self, new)
    return new if vars(self).get("_design") is None else _after_design(self, new)


def _check_fitted(model: Any, peer: Peer) -> None:
    if peer.module == _TEXT:  # these are scikit-learn's own, with other insides
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(model)
    else:
        validation.fitted(model)


def _refuse_without_peer(model: Any, name: str) -> None:
    if name not in PEERS or not type(model).__module__.startswith("likelier."):
        other = " Its to_linear().to_sklearn() predicts the same." if hasattr(model, "to_linear") else ""
        raise TypeError(
            f"{name} has no counterpart in scikit-learn, so that to_sklearn cannot convert it.{other}"
        )
    if name == "SGDClassifier" and model.loss == "softmax":
        raise TypeError(
            "SGDClassifier(loss='softmax') has no counterpart in scikit-learn, which knows no such loss; "
            "to_linear().to_sklearn() predicts the same."
        )
    if name == "Perceptron" and model.weights == "voted":
        raise TypeError(
            "Perceptron(weights='voted') has no counterpart in scikit-learn: it has no single weight "
            "vector. Fit it with weights='average', which is close to it."
        )


def _own(value: Any) -> Any:
    """A copy that shares no memory with the model."""
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, list):
        return [_own(each) for each in value]
    return {key: _own(each) for key, each in value.items()} if isinstance(value, dict) else value


def _parameters(model: Any, name: str, peer: Peer) -> dict[str, Any]:
    """The hyper-parameters that both have, in scikit-learn's words."""
    theirs = signature(peer.load(name)).parameters
    found = {each: value for each, value in model.get_params(deep=False).items() if each in theirs}
    for each, words in peer.words.items():
        if found[each] not in words:  # one of likelier's own: how it is fitted again, scikit-learn decides
            found[each] = theirs[each].default
    if name.startswith("LogisticRegression") and found["solver"] == "liblinear" and len(model.classes_) > 2:
        found["solver"] = theirs["solver"].default  # there it would be one class against the rest
    for each in ("priors", "class_prior"):
        if isinstance(found.get(each), Mapping):
            found[each] = np.array([found[each][label] for label in model.classes_])
    return found


# What attributes of the same name do not say.


def _axes(model: Any, new: Any) -> None:
    new._max_components = model._n_features_out


def _mixture(model: Any, new: Any) -> None:
    new.set_params(n_components=len(model.weights_), covariance_type=model.covariance_type_)


def _steps(model: Any, new: Any) -> None:
    """The weights that training continues with, beside their mean, which is shown."""
    state = model._statistics
    if state is None:
        new.t_ = getattr(new, "t_", 1.0)
        return
    mean = state.theta if state.mean is None else state.mean
    if getattr(new, "average", 0):
        new._standard_coef, new._standard_intercept = state.theta[:, :-1].copy(), state.theta[:, -1].copy()
        new._average_coef, new._average_intercept = mean[:, :-1].copy(), mean[:, -1].copy()


def _weighing(model: Any, new: Any) -> None:
    new._tfidf = model._tfidf.to_sklearn()


_FURTHER: dict[str, Callable[[Any, Any], None]] = {
    "LinearDiscriminantAnalysis": _axes,
    "GaussianMixture": _mixture,
    "SGDClassifier": _steps,
    "Perceptron": _steps,
    "TfidfVectorizer": _weighing,
}


def _after_design(model: Any, new: Any) -> Any:
    """A pipeline of the design matrix that the model makes of tables, and of what predicts from it."""
    from sklearn.pipeline import Pipeline

    design = model._design
    new.n_features_in_ = len(design.names)
    new.__dict__.pop("feature_names_in_", None)  # a design matrix comes without names
    return Pipeline([("design", model.design_), ("model", new)])


def _of_weights(model: Any) -> Any:
    """Given weights as a logistic regression: its scores and probabilities are made in the same way."""
    new = PEERS["LogisticRegression"].load("LogisticRegression")()
    new.coef_, new.intercept_ = model.coef_.copy(), model.intercept_.copy()
    new.classes_, new.n_features_in_ = model.classes_.copy(), model.n_features_in_
    new.n_iter_ = np.zeros(1, dtype=np.int32)
    names: NDArray[Any] | None = getattr(model, "feature_names_in_", None)
    if names is not None:
        new.feature_names_in_ = names.copy()
    return new
