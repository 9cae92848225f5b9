"""Models fitted separately, made one."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from likelier.estimators import validation
from likelier.estimators.one_pass import NamedModel
from likelier.estimators.online.classifier import OF_FIT, OnlineClassifier
from likelier.streams.model import averaged


def merge(models: Iterable[Any] | Mapping[str, Any], classes: Literal["union"] | None = None) -> Any:
    """Merge models that were fitted on different rows into the model of all these rows.

    The result equals, up to rounding, one fit to the rows of all models, in any order. It works for models
    whose fit depends on sums over rows: naive Bayes, discriminant analysis, kernel densities and least
    squares.

    Parameters
    ----------
    models : list of estimators or dict of str to estimator
        Fitted models of one class, with the same hyperparameters, columns and classes, and with their
        statistics. The names of a dict are used in error messages.
    classes : {"union"}, default=None
        "union" merges models whose classes differ; with None the classes must be the same.

    Returns
    -------
    estimator
        A new fitted model, which can be trained further and merged again.

    Raises
    ------
    TypeError
        If the models cannot be merged, such as logistic regression.
    ValueError
        If the models differ in their hyperparameters, columns or classes.

    See Also
    --------
    average : Approximate average of online models.
    save : Write a model, with its statistics, to a file.

    Examples
    --------
    >>> import likelier as lk
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> merged = lk.merge([lk.GaussianNB().fit(X[::2], y[::2]), lk.GaussianNB().fit(X[1::2], y[1::2])])
    >>> (merged.predict(X) == lk.GaussianNB().fit(X, y).predict(X)).all().item()
    True
    """
    if isinstance(models, Mapping):
        named = [NamedModel(str(name), model) for name, model in models.items()]
    else:
        if hasattr(models, "fit"):
            raise TypeError("merge takes a list of models: merge([a, b]), or a.merge(b)")
        named = [NamedModel(f"model {i}", model) for i, model in enumerate(models)]
    if not named:
        raise ValueError("models must have at least one model; got an empty list.")
    for one in named:
        _check_sum(one)
    return named[0].model._join(named, classes)


def _check_sum(one: NamedModel) -> None:
    """Refuse a model that is no function of sums over rows, and say what there is instead."""
    name, model = one
    if hasattr(model, "_join"):
        return
    if not hasattr(model, "fit"):
        raise TypeError(f"{name} is a {type(model).__name__}: merge takes models; load(path) reads one")
    raise TypeError(f"{name}: a {type(model).__name__} cannot be merged: {_instead(model)}")


def _instead(model: Any) -> str:
    if hasattr(model, "learn_one"):
        return "each of its steps depends on those before it. likelier.average(models) is an approximation."
    how = (
        "its fit is not a sum over rows. Fit to all rows: a source from likelier.scan may be of "
        "many files, "
        "and be read by a cluster, with .on(client)"
    )
    if hasattr(model, "partial_fit"):
        how += "; or continue training one model on the rows of each place by partial_fit"
    return f"{how}."


def average(models: Sequence[Any], weights: Sequence[float] | None = None) -> OnlineClassifier:
    """Average online models that were trained on different rows.

    This is an approximation, not the model that all rows would have given: each weight is the mean of the
    weights of the models, weighted by how much each model has learned about the feature.

    Parameters
    ----------
    models : list of OnlineClassifier
        Fitted models with the same settings and classes.
    weights : list of float, default=None
        The weight of each model. None weights them equally.

    Returns
    -------
    OnlineClassifier
        A new model, which can be trained further.

    Raises
    ------
    TypeError
        If one of the models is not an OnlineClassifier.

    See Also
    --------
    merge : Exact merging of models whose fit depends on sums over rows.

    Examples
    --------
    >>> import likelier as lk
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> halves = [lk.OnlineClassifier().fit(X[i::2], y[i::2]) for i in (0, 1)]
    >>> lk.average(halves).predict(X[:2]).shape
    (2,)
    """
    for i, model in enumerate(models):
        if not isinstance(model, OnlineClassifier):
            raise TypeError(
                f"average takes OnlineClassifiers, and model {i} is a {type(model).__name__}: "
                "likelier.merge joins models whose fit is a sum over rows, and exactly."
            )
        validation.fitted(model)
    average = averaged([model._model for model in models], weights)
    held = models[0].get_params(deep=False)
    found = OnlineClassifier.of(average, **{name: held[name] for name in OF_FIT})
    for name in ("n_features_in_", "feature_names_in_"):
        if name in vars(models[0]):
            setattr(found, name, getattr(models[0], name))
    return found
