"""Fitted models of scikit-learn as estimators of likelier: `from_sklearn`."""

from collections.abc import Callable
from dataclasses import replace
from inspect import signature
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from likelier.array_types import Floats
from likelier.em import EMTrace, FittedMixture
from likelier.estimators.catalogue import MODELS
from likelier.estimators.discriminative.base import SolverTrace, Weights
from likelier.estimators.discriminative.logistic_cv import CrossValidatedWeights
from likelier.estimators.discriminative.perceptron import PerceptronState
from likelier.estimators.discriminative.sgd_base import SGDState
from likelier.estimators.generative import mixture_init
from likelier.estimators.generative.discriminant import LinearBayes
from likelier.estimators.linear_regression import LinearParams
from likelier.estimators.to_sklearn import OF_EVERY, PEERS
from likelier.families import (
    Bernoullis,
    Categories,
    Complements,
    Diagonal,
    Discriminants,
    Full,
    LinearOnly,
    Multinomials,
    Tied,
)
from likelier.inference import Solution
from likelier.model import Bayes, UnweightedBayes, log_of
from likelier.row_solvers.perceptron import Tally
from likelier.states import ColumnMoments, Counts

WHY = "it was fitted by scikit-learn"


class Read(NamedTuple):
    """What a fitted estimator is made of, read from one of scikit-learn's."""

    model: Any
    statistics: Any  # None: scikit-learn keeps none
    target: Any  # the classes; of a regression the shape of a row of y


def from_sklearn(fitted: Any) -> Any:
    """A fitted model of scikit-learn as the estimator of likelier that has the same name.

    Its predictions are the same. What likelier's estimators do besides, they then do as well: sampling,
    missing values, marginal and conditional models, other priors; and, where scikit-learn keeps the
    statistics of its rows (GaussianNB and the naive Bayes models of counts and categories), `partial_fit`
    and merging.

    Parameters
    ----------
    fitted : estimator of scikit-learn
        A fitted GaussianNB, BernoulliNB, MultinomialNB, ComplementNB, CategoricalNB,
        LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis, GaussianMixture, LogisticRegression,
        LogisticRegressionCV, LinearSVC, Perceptron, SGDClassifier, LinearRegression, Ridge,
        CountVectorizer, HashingVectorizer, TfidfTransformer or TfidfVectorizer; or a Pipeline, whose steps
        of these kinds are converted and whose other steps stay as they are.

    Returns
    -------
    model : estimator
        A new fitted estimator; nothing is shared with `fitted`.

    Raises
    ------
    NotFittedError
        If the model is not fitted.
    TypeError
        If likelier has no such estimator, or `fitted` is of a subclass, whose methods may differ.
    ValueError
        If attributes are missing that the installed version of scikit-learn sets.

    Notes
    -----
    LinearDiscriminantAnalysis(solver="svd") keeps no covariance unless `store_covariance` is set: such a
    model predicts and transforms, and has no density. LDA, QDA, mixtures, regressions and linear
    classifiers keep no statistics of their rows: they cannot be merged. SGDClassifier and Perceptron
    continue training with `partial_fit`, and count mistakes from there on.

    See Also
    --------
    likelier.GaussianNB.to_sklearn : The way back, which all estimators of these names have.

    Examples
    --------
    >>> import likelier as lk
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = load_iris(return_X_y=True)
    >>> even, odd = GaussianNB().fit(X[::2], y[::2]), GaussianNB().fit(X[1::2], y[1::2])
    >>> lk.merge([lk.from_sklearn(even), lk.from_sklearn(odd)]).class_count_
    array([50., 50., 50.])
    """
    name = _checked(fitted)
    if name == "Pipeline":
        return _pipeline(fitted)
    new = MODELS[name].load()(**_parameters(fitted, name))
    if name in _TEXT:
        _TEXT[name](fitted, new)
        return new
    read = _READ[name](fitted, new)
    names = getattr(fitted, "feature_names_in_", None)
    return new._publish(read.model, read.statistics, read.target, None if names is None else names.copy())


# What can be converted.


def _checked(fitted: Any) -> str:
    """The name of its class, which is scikit-learn's and fitted."""
    from sklearn.pipeline import Pipeline
    from sklearn.utils.validation import check_is_fitted

    if isinstance(fitted, type):
        raise TypeError(f"from_sklearn takes a fitted model; got the class {fitted.__name__}.")
    cls = type(fitted)
    if cls is Pipeline:
        return "Pipeline"
    name = cls.__name__
    if cls.__module__.startswith("likelier."):
        raise TypeError(f"{name} is likelier's own already; from_sklearn takes models of scikit-learn.")
    if name not in PEERS or cls is not PEERS[name].load(name):
        raise TypeError(_refusal(cls))
    if name != "HashingVectorizer":
        check_is_fitted(fitted)
    missing = [each for each in PEERS[name].fitted if not hasattr(fitted, each)]
    if missing:
        import sklearn

        raise ValueError(
            f"this {name} has no attribute {missing[0]!r}, which scikit-learn {sklearn.__version__} sets "
            "in fit: it was fitted by another version, or its attributes were set by hand. Fit it again."
        )
    return name


def _refusal(cls: type) -> str:
    parents = [each for each in cls.__mro__[1:] if each.__name__ in PEERS]
    same = [each for each in parents if each is PEERS[each.__name__].load(each.__name__)]
    if same:
        return (
            f"{cls.__name__} is a subclass of scikit-learn's {same[0].__name__}, and its methods may "
            f"differ: from_sklearn takes a {same[0].__name__} itself."
        )
    return (
        f"{cls.__name__} has no counterpart in likelier; from_sklearn takes a Pipeline or one of "
        f"{', '.join(PEERS)}."
    )


def _parameters(fitted: Any, name: str) -> dict[str, Any]:
    """The hyper-parameters that both have."""
    ours = signature(MODELS[name].load()).parameters
    found = {each: value for each, value in fitted.get_params(deep=False).items() if each in ours}
    if (
        name.startswith("LogisticRegression")
        and found["solver"] == "liblinear"
        and len(fitted.classes_) > 2
    ):
        raise TypeError(
            f"{name}(solver='liblinear') of {len(fitted.classes_)} classes is one model for each class "
            "against the rest, which has no counterpart in likelier: fit it with another solver."
        )
    return found


def _pipeline(fitted: Any) -> Any:
    """The same steps, those that have a counterpart converted; they take each other's results as before."""
    from sklearn.pipeline import Pipeline

    def converted(step: Any) -> Any:
        known = type(step).__name__ in PEERS and type(step) is PEERS[type(step).__name__].load(
            type(step).__name__
        )
        return from_sklearn(step) if known or type(step) is Pipeline else step

    steps = [(name, converted(step)) for name, step in fitted.steps]
    if all(new is old for (_, new), (_, old) in zip(steps, fitted.steps, strict=True)):
        names = ", ".join(type(step).__name__ for _, step in fitted.steps)
        raise TypeError(f"no step of this Pipeline has a counterpart in likelier: {names}.")
    return Pipeline(steps, memory=fitted.memory, verbose=fitted.verbose)


def _array(value: Any) -> Floats:
    """A copy in double precision; `sparsify` has been undone."""
    found = value.toarray() if issparse(value) else value
    return np.array(found, dtype=np.float64, order="C")


def _single(value: Any) -> bool:
    """Whether the rows were of single precision."""
    return getattr(value, "dtype", None) == np.float32


# Naive Bayes: scikit-learn keeps the counts.


def _gaussian(fitted: Any, new: Any) -> Read:
    mean, var, n = _array(fitted.theta_), _array(fitted.var_), _array(fitted.class_count_)
    spread = np.maximum(var - float(fitted.epsilon_), 0.0)
    seen = np.repeat(n[:, None], mean.shape[1], axis=1)
    moments = ColumnMoments(n, seen, mean.copy(), spread * seen)
    params = Diagonal(mean, np.maximum(var, np.finfo(np.float64).tiny))
    model = Bayes(params, log_of(_array(fitted.class_prior_)), single=_single(fitted.theta_))
    return Read(model, moments, fitted.classes_.copy())


def _sums(fitted: Any, new: Any) -> Any:
    """What the counts of scikit-learn are the totals of."""
    K, p = fitted.feature_count_.shape
    state = new._family(fitted.classes_).stats(K, p)
    state.n, state.total = _array(fitted.class_count_), _array(fitted.feature_count_)
    return state


def _bernoulli(fitted: Any, new: Any) -> Read:
    log_yes = _array(fitted.feature_log_prob_)
    with np.errstate(divide="ignore"):
        log_no = np.log(-np.expm1(log_yes))
    params = Bernoullis(log_yes, log_no, None if new.binarize is None else float(new.binarize))
    model = Bayes(params, _array(fitted.class_log_prior_))
    return Read(model, _sums(fitted, new), fitted.classes_.copy())


def _multinomial(fitted: Any, new: Any) -> Read:
    sums = _sums(fitted, new)
    length = np.divide(sums.total.sum(axis=1), sums.n, out=np.zeros_like(sums.n), where=sums.n > 0)
    model = Bayes(Multinomials(_array(fitted.feature_log_prob_), length), _array(fitted.class_log_prior_))
    return Read(model, sums, fitted.classes_.copy())


def _complement(fitted: Any, new: Any) -> Read:
    params = Complements(_array(fitted.feature_log_prob_))
    model = UnweightedBayes(params, _array(fitted.class_log_prior_))
    return Read(model, _sums(fitted, new), fitted.classes_.copy())


NEVER = float(np.log(1e-300))  # ln of a probability of 0, as tables have it


def _categorical(fitted: Any, new: Any) -> Read:
    counts, log_p = (
        np.ascontiguousarray(np.concatenate([_array(one).T for one in each]))
        for each in (fitted.category_count_, fitted.feature_log_prob_)
    )
    levels = np.array([each.shape[1] for each in fitted.category_count_], dtype=np.int64)
    params = Categories(np.maximum(log_p, NEVER), levels, unknown=False)
    state = Counts(_array(fitted.class_count_), counts, levels.copy(), "room")
    return Read(Bayes(params, _array(fitted.class_log_prior_)), state, fitted.classes_.copy())


# Gaussian classes and mixtures: parameters, and no statistics.


def _linear_discriminant(fitted: Any, new: Any) -> Read:
    mean, log_prior = _array(fitted.means_), np.log(_array(fitted.priors_))
    W, b = _array(fitted.coef_), _array(fitted.intercept_)
    if len(W) == 1:  # of two classes, where the first scores 0
        W, b = np.vstack([np.zeros_like(W), W]), np.append(0.0, b - (log_prior[1] - log_prior[0]))
    else:
        b = b - log_prior
    centre = _array(fitted.xbar_) if hasattr(fitted, "xbar_") else np.zeros(W.shape[1])
    axes = hasattr(fitted, "scalings_")
    lines = Discriminants(
        centre,
        W,
        b + W @ centre,
        np.zeros_like(centre),
        _array(fitted.scalings_) if axes else None,
        _array(fitted.explained_variance_ratio_) if axes else None,
    )
    known = hasattr(fitted, "covariance_")
    params = Tied(mean, _array(fitted.covariance_)) if known else LinearOnly(mean)
    model = LinearBayes(params, log_prior, lines.scores(), single=_single(fitted.coef_), lines=lines)
    return Read(model, None, fitted.classes_.copy())


def _quadratic_discriminant(fitted: Any, new: Any) -> Read:
    pairs = zip(fitted.rotations_, fitted.scalings_, strict=True)
    cov = np.stack([(_array(R) * _array(s)) @ _array(R).T for R, s in pairs])
    params = Full.of(_array(fitted.means_), (cov + np.swapaxes(cov, 1, 2)) / 2, floor=float(new.tol))
    model = Bayes(params, np.log(_array(fitted.priors_)), single=_single(fitted.means_))
    return Read(model, None, fitted.classes_.copy())


def _mixture(fitted: Any, new: Any) -> Read:
    shape = fitted.covariance_type
    params = mixture_init.gaussians(_array(fitted.means_), _array(fitted.covariances_), shape)
    path = _array(fitted.lower_bounds_)
    way = EMTrace(path, np.zeros(len(path), dtype=np.bool_), bool(fitted.converged_), WHY)
    model = FittedMixture(
        params, log_of(_array(fitted.weights_)), single=_single(fitted.means_), shape=shape, way=way
    )
    return Read(model, None, np.arange(len(fitted.weights_)))


# Linear models: weights.


def _trace(fitted: Any) -> SolverTrace:
    """A row for each iteration, of which nothing is known but how many they were."""
    steps = int(np.max(fitted.n_iter_))
    solver = str(getattr(fitted, "solver", type(fitted).__name__))
    return SolverTrace(np.full((steps + 1, 3), np.nan), steps < fitted.max_iter, WHY, solver, WHY)


def _weights(fitted: Any, new: Any) -> Read:
    W = _array(fitted.coef_)
    b = np.broadcast_to(_array(fitted.intercept_), len(W)).copy()
    model = Weights(W, b, np.zeros(W.shape[1]), _trace(fitted), _single(fitted.coef_))
    return Read(model, None, fitted.classes_.copy())


def _stochastic(fitted: Any, new: Any) -> Read:
    read = _weights(fitted, new)
    shown = np.column_stack([read.model.W, read.model.b])
    theta, mean = shown, None
    if getattr(fitted, "average", False):
        moving = _array(fitted._standard_coef).reshape(read.model.W.shape)
        theta, mean = np.column_stack([moving, _array(fitted._standard_intercept)]), shown
    state = SGDState(theta.copy(), mean, None, float(fitted.t_), np.zeros(len(fitted.classes_)), 0)
    if type(fitted).__name__ == "Perceptron":
        state = PerceptronState.begun("last", state, plain=False)
        state = replace(state, tallies=(Tally(passed=int(fitted.t_) - 1),) * len(theta))
    return read._replace(statistics=state)


def _cross_validated(fitted: Any, new: Any) -> Read:
    """Of both shapes that scikit-learn's attributes may have."""
    weights = _weights(fitted, new).model
    Cs = _array(fitted.Cs_)
    legacy = isinstance(fitted.coefs_paths_, dict)
    if legacy:
        paths = np.stack([_array(each) for each in fitted.coefs_paths_.values()], axis=-2)
        scores, steps = _array(next(iter(fitted.scores_.values()))), np.asarray(fitted.n_iter_)[0]
        if scores.ndim == 2:  # without an axis for ratios
            paths, scores, steps = paths[:, :, None], scores[:, :, None], steps[:, :, None]
        paths, scores, steps = (np.swapaxes(each, 1, 2) for each in (paths, scores, steps))
    else:
        paths, scores, steps = _array(fitted.coefs_paths_), _array(fitted.scores_), fitted.n_iter_
    C, ratio = np.ravel(fitted.C_)[0], np.ravel(fitted.l1_ratio_)[0]
    ratios = np.array([0.0 if each is None else each for each in np.ravel(fitted.l1_ratios_)], dtype=float)
    model = CrossValidatedWeights(
        **vars(weights),
        Cs=Cs,
        ratios=ratios,
        paths=np.ascontiguousarray(paths),
        trials=np.ascontiguousarray(scores),
        steps=np.ascontiguousarray(steps, dtype=np.int32),
        C=float(C),
        ratio=0.0 if ratio is None else float(ratio),
    )
    return Read(model, None, fitted.classes_.copy())


def _regression(fitted: Any, new: Any) -> Read:
    B = np.atleast_2d(_array(fitted.coef_))
    at = np.broadcast_to(_array(fitted.intercept_), len(B)).copy()
    flat = np.ndim(fitted.coef_) == 1 and np.ndim(fitted.intercept_) == 0
    rank, how = getattr(fitted, "rank_", None), str(getattr(fitted, "solver_", "qr"))
    solution = Solution(
        B.T.copy(), B.shape[1] if rank is None else int(rank), np.empty((0, B.shape[1])), how
    )
    model = LinearParams(B, at, np.zeros(B.shape[1]), at.copy(), solution, _single(fitted.coef_))
    return Read(model, None, () if flat else (len(B),))


_READ: dict[str, Callable[[Any, Any], Read]] = {
    "GaussianNB": _gaussian,
    "BernoulliNB": _bernoulli,
    "MultinomialNB": _multinomial,
    "ComplementNB": _complement,
    "CategoricalNB": _categorical,
    "LinearDiscriminantAnalysis": _linear_discriminant,
    "QuadraticDiscriminantAnalysis": _quadratic_discriminant,
    "GaussianMixture": _mixture,
    "LogisticRegression": _weights,
    "LogisticRegressionCV": _cross_validated,
    "LinearSVC": _weights,
    "Perceptron": _stochastic,
    "SGDClassifier": _stochastic,
    "LinearRegression": _regression,
    "Ridge": _regression,
}


# Vectorisers: likelier's are scikit-learn's, with other insides.


def _vocabulary(fitted: Any, new: Any) -> None:
    new.vocabulary_ = {str(term): int(column) for term, column in fitted.vocabulary_.items()}
    new.fixed_vocabulary_ = fitted.fixed_vocabulary_


def _frequencies(fitted: Any, new: Any) -> None:
    for each in ("idf_", *OF_EVERY):
        if hasattr(fitted, each):
            setattr(new, each, np.copy(fitted.idf_) if each == "idf_" else getattr(fitted, each))


def _weighed_vocabulary(fitted: Any, new: Any) -> None:
    _vocabulary(fitted, new)
    new._tfidf = from_sklearn(fitted._tfidf)


def _nothing(fitted: Any, new: Any) -> None:
    """Hashing learns nothing."""


_TEXT: dict[str, Callable[[Any, Any], None]] = {
    "CountVectorizer": _vocabulary,
    "HashingVectorizer": _nothing,
    "TfidfTransformer": _frequencies,
    "TfidfVectorizer": _weighed_vocabulary,
}
